#include "confine/parts.h"

#include "base/wire.h"

#include <string.h>

#define MAX_STATUS ((size_t)1 << 16)

static const char *const property_names[CONFINE_PROPERTIES] = {
    [CONFINE_WRITES] = "writes",
    [CONFINE_READS] = "reads",
    [CONFINE_EXEC] = "exec",
    [CONFINE_NETWORK] = "network",
    [CONFINE_SIGNALS] = "signals",
    [CONFINE_MEMORY] = "memory",
    [CONFINE_KILL] = "kill",
    [CONFINE_PROTECTED] = "protected",
    [CONFINE_SECRETS] = "secrets",
    [CONFINE_CODE] = "code",
};

/* What stands behind each property; `needs` must all work. */
enum mechanism {
    LANDLOCK = 1 << 0,
    SECCOMP = 1 << 1,
    RLIMIT = 1 << 2,
    DEATHSIG = 1 << 3,
    VIEW = 1 << 4,
};

static const enum mechanism property_needs[CONFINE_PROPERTIES] = {
    [CONFINE_WRITES] = LANDLOCK | SECCOMP,
    [CONFINE_READS] = LANDLOCK,
    [CONFINE_EXEC] = SECCOMP,
    [CONFINE_NETWORK] = SECCOMP,
    [CONFINE_SIGNALS] = SECCOMP,
    [CONFINE_MEMORY] = RLIMIT,
    [CONFINE_KILL] = DEATHSIG | SECCOMP,
    [CONFINE_PROTECTED] = VIEW | SECCOMP,
    [CONFINE_SECRETS] = VIEW | SECCOMP,
    [CONFINE_CODE] = SECCOMP,
};

const char *confine_property_name(enum confine_property property)
{
    return property_names[property];
}

static int mechanism_error(const struct confine_status *status, enum mechanism m)
{
    switch (m) {
    case LANDLOCK:
        return status->landlock_error;
    case SECCOMP:
        return status->seccomp_error;
    case RLIMIT:
        return status->memory_error;
    case DEATHSIG:
        return status->parent_error;
    case VIEW:
        return status->view_error;
    }
    return 0;
}

static const char *mechanism_name(const struct confine_status *status, enum mechanism m)
{
    switch (m) {
    case LANDLOCK:
        return "landlock";
    case SECCOMP:
        return "seccomp";
    case RLIMIT:
        return "rlimit";
    case DEATHSIG:
        return "parent-death-signal";
    case VIEW:
        return status->view_error && status->view_failed ? status->view_failed : "mounts";
    }
    return "";
}

static bool mechanisms_hold(const struct confine_status *status,
        enum confine_property property, struct buf *by)
{
    enum mechanism needs = property_needs[property];
    if (status->is_independent)
        needs &= ~(unsigned)DEATHSIG;
    bool first = true;
    for (unsigned m = LANDLOCK; m <= VIEW; m <<= 1) {
        if (!(needs & m))
            continue;
        int error = mechanism_error(status, (enum mechanism)m);
        if (error) {
            buf_clear(by);
            buf_addf(by, "no %s: %s", mechanism_name(status, (enum mechanism)m),
                    strerror(error));
            return false;
        }
        buf_addf(by, "%s%s", first ? "" : "+", mechanism_name(status, (enum mechanism)m));
        first = false;
    }
    return true;
}

bool confine_holds(const struct confine_status *status, enum confine_property property,
        struct buf *by)
{
    auto_buf reason = BUF(256);
    bool holds = mechanisms_hold(status, property, &reason);
    if (holds && property == CONFINE_CODE)
        buf_add(&reason,
                status->needs_seal ? STR(", sealed after the imports") : STR("+mounts"));
    if (holds && property == CONFINE_WRITES && status->landlock_abi < 3 &&
            !status->no_truncates) {
        buf_clear(&reason);
        buf_addf(&reason, "Landlock ABI %d cannot stop a file outside from being emptied",
                status->landlock_abi);
        holds = false;
    } else if (holds && property == CONFINE_MEMORY && status->no_memory_limit) {
        buf_clear(&reason);
        buf_add(&reason, STR("no limit in this build or configuration"));
        holds = false;
    } else if (holds && status->canary_escaped & 1u << property) {
        buf_clear(&reason);
        buf_add(&reason, STR("a trial got through although the kernel had agreed"));
        holds = false;
    }
    if (by)
        buf_add(by, buf_str(&reason));
    return holds;
}

/* Does it mean anything for this process? */
static bool confine_applies(
        const struct confine_status *status, enum confine_property property)
{
    if (property == CONFINE_CODE)
        return status->is_interpreter;
    return status->wants_view ||
           (property != CONFINE_PROTECTED && property != CONFINE_SECRETS);
}

bool confine_holds_all(const struct confine_status *status)
{
    for (enum confine_property p = 0; p < CONFINE_PROPERTIES; p++)
        if (confine_applies(status, p) && !confine_holds(status, p, NULL))
            return false;
    return true;
}

/* What the person who runs the machine can do about a missing mechanism. */
static const char *remedy(const struct confine_status *status, enum confine_property p)
{
    if (property_needs[p] & LANDLOCK && status->landlock_error)
        return "use Linux 5.13 or newer, with 'landlock' in the lsm= boot parameter";
    if (property_needs[p] & LANDLOCK && status->landlock_abi < 3 && !status->no_truncates)
        return "use Linux 6.2 or newer";
    if (property_needs[p] & VIEW && status->view_error)
        return "use Linux 5.12 or newer, and allow user namespaces (see paddock doctor)";
    if (property_needs[p] & SECCOMP && status->seccomp_error)
        return "use a kernel with CONFIG_SECCOMP_FILTER, and allow seccomp(2)";
    return NULL;
}

static json_t *problem(
        const struct confine_status *status, enum confine_property p, struct str why)
{
    auto_buf line = BUF(512);
    buf_addf(&line, "'%s' is not held by the kernel: %.*s", property_names[p],
            STR_ARG(why));
    const char *help = remedy(status, p);
    if (help)
        buf_addf(&line, "; %s", help);
    return json_text(buf_str(&line));
}

static const char *trial(const struct confine_status *status, enum confine_property p)
{
    if (!(status->canary_tried >> p & 1))
        return "none";
    return status->canary_escaped >> p & 1 ? "got through" : "refused";
}

json_t *confine_status_json(const struct confine_status *status)
{
    json_t *properties = json_object(), *problems = json_array();
    for (enum confine_property p = 0; p < CONFINE_PROPERTIES; p++) {
        if (!confine_applies(status, p))
            continue;
        auto_buf by = BUF(256);
        bool holds = confine_holds(status, p, &by);
        json_object_set_new(properties, property_names[p],
                json_pack("{s:b, s:o, s:s}", "held", holds, "by", json_text(buf_str(&by)),
                        "trial", trial(status, p)));
        if (!holds && (p != CONFINE_MEMORY || memory_limit_possible()))
            json_array_append_new(problems, problem(status, p, buf_str(&by)));
    }
    if (status->privileges_error)
        json_array_append_new(
                problems, json_sprintf("privileges were not all dropped: %s",
                                  strerror(status->privileges_error)));
    return json_pack("{s:i, s:o, s:o}", "landlock_abi", status->landlock_abi,
            "properties", properties, "problems", problems);
}

bool confine_send_ready(
        int socket, const struct confine_status *status, struct error *err)
{
    auto_buf text = BUF(MAX_STATUS);
    json_auto_t *json = confine_status_json(status);
    json_write(json, &text);
    const struct wire_message m = { WIRE_READY, 1, { buf_str(&text) } };
    return wire_send(socket, &m, err);
}
