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

static enum metrics_outcome outcome_of(const struct audit_call *call, bool timed_out)
{
    if (timed_out)
        return METRICS_TIMEOUT;
    if (!strcmp(call->decision, "deny"))
        return METRICS_REFUSED;
    return call->is_error ? METRICS_ERROR : METRICS_OK;
}

/* A call that was done. */
static void record(const struct recorder *to, const struct audit_call *call,
        bool timed_out, uint64_t cut_bytes)
{
    const struct metrics_call counted = { .tool = call->tool,
        .outcome = outcome_of(call, timed_out),
        .has_run = true,
        .duration_us = call->duration_us,
        .rule = call->rule,
        .cut_bytes = cut_bytes };
    metrics_call(to->metrics, &counted);
    audit_call(to->audit, call);
}

/* A number of an outside text. */
static uint64_t count_at(const json_t *object, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(object, key));
    return n > 0 ? (uint64_t)n : 0;
}

static void take_notes(
        const struct recorder *to, struct audit_call *call, const json_t *notes)
{
    const json_t *writes = json_object_get(notes, "writes");
    call->decision = decision_of(notes);
    call->rule = json_get_str(notes, "rule", STR(""));
    call->writes = json_is_array(writes) ? writes : NULL;
    call->writes_left_out = count_at(notes, "writes_left_out");
    record_events(to->audit, json_object_get(notes, "events"));
}

void record_worker_call(
        const struct recorder *to, struct audit_call *call, struct str notes)
{
    struct error err;
    json_auto_t *json = NULL;
    if (!to->audit && !to->metrics)
        return;
    if (!notes.len) {
        call->decision = "allow";
        call->rule = STR("");
        record(to, call, false, 0);
        return;
    }
    if (!json_parse(notes, &json, &err))
        json = NULL;
    take_notes(to, call, json);
    record(to, call, json_is_true(json_object_get(json, "timed_out")),
            count_at(json, "cut"));
}

void record_snippet_call(const struct recorder *to, struct audit_call *call,
        const struct snippet_outcome *outcome)
{
    take_notes(to, call, outcome->notes);
    record(to, call, outcome->timed_out, outcome->cut_bytes);
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

void record_shell_call(const struct recorder *to, struct audit_call *call,
        const struct shell_outcome *outcome)
{
    call->decision = outcome->refused ? "deny" : "allow";
    call->rule = outcome->rule;
    call->exit_status = outcome->exit_status == SHELL_NO_STATUS ? AUDIT_NO_EXIT
                                                                : outcome->exit_status;
    record(to, call, outcome->timed_out, outcome->cut_bytes);
}

void record_mcp_call(const struct recorder *to, struct audit_call *call,
        const struct mcp_outcome *outcome)
{
    call->decision = outcome->refused ? "deny" : "allow";
    call->rule = outcome->rule;
    record(to, call, outcome->timed_out, outcome->cut_bytes);
}

void record_refused_call(
        const struct recorder *to, struct audit_call *call, struct str why)
{
    /* No rule of the policy: it does not fit the schema, or there are too many. */
    metrics_call(to->metrics,
            &(struct metrics_call){
                    .tool = call->tool, .outcome = METRICS_ERROR, .rule = STR("") });
    call->decision = "deny";
    call->rule = why;
    call->is_error = true;
    call->exit_status = AUDIT_NO_EXIT;
    audit_call(to->audit, call);
}

void record_cancelled_call(const struct recorder *to, struct audit_call *call)
{
    metrics_call(to->metrics, &(struct metrics_call){ .tool = call->tool,
                                      .outcome = METRICS_CANCELLED,
                                      .has_run = true,
                                      .duration_us = call->duration_us,
                                      .rule = STR("") });
    call->decision = "allow";
    call->rule = STR("");
    call->is_error = true;
    call->cancelled = true;
    call->exit_status = AUDIT_NO_EXIT;
    audit_call(to->audit, call);
}
