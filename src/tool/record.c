#include "tool/record.h"

#include <unistd.h>

#define MAX_EVENTS 2000 /* of one call */

static const char *decision_of(const json_t *object)
{
    struct str said = json_get_str(object, "decision", STR("allow"));
    return str_is(said, "deny") ? "deny" : "allow";
}

static void record_event(struct audit *a, const json_t *event)
{
    const char *name = json_string_value(json_object_get(event, "event"));
    if (!name)
        return;
    const struct audit_event e = { .event = name,
        .decision = decision_of(event),
        .caller = "AGENT",
        .pid = getpid(),
        .detail = json_get_str(event, "detail", STR("")) };
    audit_event(a, &e);
}

static void record_events(struct audit *a, const json_t *events)
{
    size_t count = json_array_size(events);
    for (size_t i = 0; i < count && i < MAX_EVENTS; i++)
        record_event(a, json_array_get(events, i));
}

void record_noted_call(struct audit *a, struct audit_call *call, const json_t *notes)
{
    const json_t *writes = json_object_get(notes, "writes");
    call->decision = decision_of(notes);
    call->rule = json_get_str(notes, "rule", STR(""));
    call->writes = json_is_array(writes) ? writes : NULL;
    json_int_t more = json_integer_value(json_object_get(notes, "writes_left_out"));
    call->writes_left_out = more > 0 ? (uint64_t)more : 0;
    record_events(a, json_object_get(notes, "events"));
    audit_call(a, call);
}

void record_worker_call(struct audit *a, struct audit_call *call, struct str notes)
{
    struct error err;
    json_auto_t *json = NULL;
    if (!a)
        return;
    if (notes.len && !json_parse(notes, &json, &err))
        json = NULL;
    record_noted_call(a, call, json);
}

/* The word of the object that is among these, or the last of them. */
static const char *word_at(
        const json_t *object, const char *key, const char *const *words, size_t count)
{
    size_t which = str_which(json_get_str(object, key, STR("")), words, count);
    return words[which < count ? which : count - 1];
}

void record_python_event(struct audit *a, const json_t *event)
{
    static const char *const decisions[] = { "allow", "import-exempt", "observe",
        "deny" },
                             *const callers[] = { "AGENT", "TRUSTED", "IMPORT", "OTHER" };
    struct str name = json_get_str(event, "event", STR(""));
    json_int_t pid = json_integer_value(json_object_get(event, "pid"));
    if (!audit_wants_events(a) || !name.len || memchr(name.data, '\0', name.len))
        return;
    const struct audit_event e = { .event = name.data,
        .decision = word_at(event, "decision", decisions, ARRAY_LEN(decisions)),
        .caller = word_at(event, "caller", callers, ARRAY_LEN(callers)),
        .pid = pid > 0 && pid <= INT32_MAX ? (int)pid : getpid(),
        .detail = json_get_str(event, "detail", STR("")) };
    audit_event(a, &e);
}

void record_shell_call(
        struct audit *a, struct audit_call *call, const struct shell_outcome *outcome)
{
    call->decision = outcome->refused ? "deny" : "allow";
    call->rule = outcome->rule;
    call->exit_status = outcome->exit_status == SHELL_NO_STATUS ? AUDIT_NO_EXIT
                                                                : outcome->exit_status;
    audit_call(a, call);
}

void record_mcp_call(
        struct audit *a, struct audit_call *call, const struct mcp_outcome *outcome)
{
    call->decision = outcome->refused ? "deny" : "allow";
    call->rule = outcome->rule;
    audit_call(a, call);
}

void record_refused_call(struct audit *a, struct audit_call *call, struct str rule)
{
    call->decision = "deny";
    call->rule = rule;
    call->is_error = true;
    call->exit_status = AUDIT_NO_EXIT;
    audit_call(a, call);
}

void record_cancelled_call(struct audit *a, struct audit_call *call)
{
    call->decision = "allow";
    call->rule = STR("");
    call->is_error = true;
    call->cancelled = true;
    call->exit_status = AUDIT_NO_EXIT;
    audit_call(a, call);
}
