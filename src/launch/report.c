#include "launch/report.h"

#include "base/json.h"

#include <string.h>

#define LANDLOCK_HOLDS_TRUNCATE 3
#define LANDLOCK_HOLDS_SIGNALS  6

struct property {
    const char *name;
    bool held;
    const char *by; /* the mechanisms, or why not */
};

struct report {
    const struct view_status *view;
    const struct child_held *held;
    json_t *properties, *problems;
    char no_view[160], no_landlock[160];
};

static void add(struct report *r, const struct property *p)
{
    json_object_set_new(r->properties, p->name,
            json_pack("{s:b, s:s}", "held", p->held, "by", p->by));
    if (!p->held)
        json_array_append_new(r->problems,
                json_sprintf("'%s' is not held by the kernel: %s", p->name, p->by));
}

static bool has_view(const struct report *r)
{
    return !r->view->error;
}

static const char *both(
        bool first, bool second, const char *one, const char *two, const char *together)
{
    return first && second ? together : first ? one : two;
}

static void describe_view(struct report *r)
{
    snprintf(r->no_view, sizeof(r->no_view), "no mounts of its own (%s: %s)",
            r->view->failed ? r->view->failed : "-", strerror(r->view->error));
    if (r->held->landlock_error)
        snprintf(r->no_landlock, sizeof(r->no_landlock), "no landlock: %s",
                strerror(r->held->landlock_error));
    else
        snprintf(r->no_landlock, sizeof(r->no_landlock), "Landlock ABI %d is too old",
                r->held->landlock_abi);
}

static void add_files(struct report *r)
{
    bool mounts = has_view(r);
    bool landlock = r->held->landlock_abi >= LANDLOCK_HOLDS_TRUNCATE;
    bool held = mounts || landlock;
    const char *by =
            held ? both(mounts, landlock, "mounts", "landlock", "mounts+landlock")
                 : r->no_landlock;
    add(r, &(struct property){ "writes", held, by });
    by = mounts ? "mounts" : r->no_view;
    add(r, &(struct property){ "metadata", mounts, by });
    add(r, &(struct property){ "protected", mounts, by });
    add(r, &(struct property){ "hidden", mounts, by });
    add(r, &(struct property){ "tmp", mounts, by });
}

static void add_network(struct report *r, const struct job *job)
{
    bool space = r->view->has_network, filter = !r->held->seccomp_error;
    const char *by = both(
            space, filter, "network namespace", "seccomp", "network namespace+seccomp");
    if (job->network) {
        json_object_set_new(r->properties, "network",
                json_pack("{s:b, s:s}", "held", false, "by", "allowed"));
        by = has_view(r) ? "mounts" : r->no_view;
        add(r, &(struct property){ "sockets", has_view(r), by });
        return;
    }
    if (!space && !filter)
        by = strerror(r->held->seccomp_error);
    add(r, &(struct property){ "network", space || filter, by });
    add(r, &(struct property){ "sockets", filter, filter ? "seccomp" : by });
}

static void add_processes(struct report *r, const struct job *job)
{
    bool space = r->view->has_pids && r->view->has_proc;
    bool landlock = r->held->landlock_abi >= LANDLOCK_HOLDS_SIGNALS;
    const char *by =
            both(space, landlock, "pid namespace", "landlock", "pid namespace+landlock");
    if (job->sandboxed)
        add(r, &(struct property){ "signals", space || landlock,
                       space || landlock ? by : r->no_landlock });
    if (r->view->has_pids)
        add(r, &(struct property){ "kill", true, "pid namespace" });
    else if (landlock)
        add(r, &(struct property){ "kill", true, "subreaper+landlock" });
    else
        add(r, &(struct property){ "kill", false,
                       "what it starts is looked for, but may kill who does" });
}

static void add_errors(struct report *r)
{
    const struct {
        const char *what;
        int error;
    } errors[] = {
        { "system calls are not filtered", r->held->seccomp_error },
        { "privileges were not all dropped", r->held->privileges_error },
        { "limits were not all set", r->held->limits_error },
    };
    for (size_t i = 0; i < ARRAY_LEN(errors); i++)
        if (errors[i].error)
            json_array_append_new(r->problems,
                    json_sprintf("%s: %s", errors[i].what, strerror(errors[i].error)));
}

void report_write(const struct job *job, const struct view_status *view,
        const struct child_held *held, struct buf *out)
{
    struct report r = {
        .view = view, .held = held, .properties = json_object(), .problems = json_array()
    };
    describe_view(&r);
    if (job->sandboxed) {
        add_files(&r);
        add_network(&r, job);
    }
    add_processes(&r, job);
    add_errors(&r);
    json_auto_t *json = json_pack("{s:b, s:i, s:o, s:o}", "sandboxed", job->sandboxed,
            "landlock_abi", held->landlock_abi, "properties", r.properties, "problems",
            r.problems);
    json_write(json, out);
}
