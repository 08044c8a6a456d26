/*
 * metrics.h - what a server counts, and that as text for Prometheus (version 0.0.4).
 *
 * Plain counters in one struct; who has something to count does so with one line, which
 * does nothing if there is no struct.  What can be asked for at any time (processes,
 * sessions) is not counted but asked for when the text is made: `metrics_gauges`.
 *
 * No label holds what a client chose: tools are those of the table (tool.h), and a rule
 * is told without the paths in it.  A rule may come from a worker, so it is an outside
 * text: secrets are masked, and there are at most METRICS_MAX_RULES different ones.
 *
 * To add a series: its field, a line that counts, its lines in metrics-text.c, and its
 * line in paddock(1).
 */
#ifndef TOOL_METRICS_H
#define TOOL_METRICS_H

#include "base/str.h"
#include "session/census.h"

#define METRICS_TYPE       "text/plain; version=0.0.4; charset=utf-8"
#define METRICS_MAX_TEXT   ((size_t)1 << 20)
#define METRICS_MAX_TOOLS  24  /* at least one more than there are in the table */
#define METRICS_MAX_RULES  200 /* all further ones are "other" */
#define METRICS_RULE_BYTES 200 /* of a label */
#define METRICS_BUCKETS    16

extern const uint64_t metrics_bucket_us[METRICS_BUCKETS]; /* inclusive, rising */

/* How a call ended; what comes first here is told if more than one is true. */
enum metrics_outcome {
    METRICS_CANCELLED, /* by the client, or it is gone */
    METRICS_TIMEOUT,   /* its time was up */
    METRICS_REFUSED,   /* a rule has refused something in it, or all of it */
    METRICS_ERROR,
    METRICS_OK,
    METRICS_OUTCOMES
};

struct metrics_tool {
    uint64_t calls[METRICS_OUTCOMES];
    uint64_t durations[METRICS_BUCKETS + 1]; /* calls in each; the last: longer */
    uint64_t duration_us;                    /* of all */
};

struct metrics_rule {
    char *text; /* as it stands in the label, not escaped */
    uint64_t hash, count;
};

struct metrics {
    struct metrics_tool tools[METRICS_MAX_TOOLS]; /* as in the table; the last: others */
    size_t last_tool;                             /* the next call is often of the same */
    struct metrics_rule rules[METRICS_MAX_RULES];
    size_t rule_count;
    uint64_t other_rules;
    uint64_t cut_bytes;
    int64_t started; /* s since 1970 */
};

struct metrics *metrics_create(void);
void metrics_destroy(struct metrics *m);

/* A call that has ended. */
struct metrics_call {
    struct str tool;
    enum metrics_outcome outcome;
    bool has_run; /* it was given to somebody to do, and took `duration_us` */
    uint64_t duration_us;
    struct str rule; /* that refused, with or without its place; "": none did */
    uint64_t cut_bytes;
};

/* Nothing, if `m` is NULL. */
void metrics_call(struct metrics *m, const struct metrics_call *call);

/* How a rule is told, for metrics_call(); at most METRICS_RULE_BYTES are appended. */
void metrics_rule_text(struct str rule, struct buf *out);

/* How things stand; borrowed. */
struct metrics_gauges {
    const uint64_t *answers; /* by HTTP status, from 100 on */
    size_t answer_count;
    size_t connections;
    struct census shell, files, python;
    size_t waiting_turns;             /* calls (session/turns.h) */
    size_t sessions, sessions_asleep; /* the second are among the first */
    uint64_t audit_failures;
};

/* Append all series. */
void metrics_write(
        const struct metrics *m, const struct metrics_gauges *now, struct buf *out);

/* Append one value of a label, escaped, without the quotes. */
void metrics_write_label(struct str value, struct buf *out);

#endif
