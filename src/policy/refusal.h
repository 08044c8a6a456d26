/*
 * refusal.h - why something may not be done, for who asked: what, which rule, where the
 * rule is set, what to do instead.
 *
 * Filled by paths.h, command.h and environ.h.  A refusal decided nothing yet done: it is
 * always made before the first effect.
 */
#ifndef POLICY_REFUSAL_H
#define POLICY_REFUSAL_H

#include "policy/policy.h"

struct refusal {
    char code[40];   /* stable, for programs: "guard", "write-protected", ... */
    struct buf what; /* one line: "writing '/w/.git/config' is not permitted" */
    struct buf rule; /* as it stands: "[filesystem.guards] '/\.git/' = \"read-only\"" */
    struct origin origin; /* .file NULL: the rule is built in and has no line */
    struct buf hint;      /* one or more sentences, or "" */
};

void refusal_init(struct refusal *r);
void refusal_finish(struct refusal *r);
void refusal_clear(struct refusal *r);
#define auto_refusal AUTO(refusal_finish) struct refusal

/* Clear it and say which kind it is; the texts are then appended.  `origin` may be NULL.
 */
void refusal_begin(struct refusal *r, const char *code, const struct origin *origin);

/* Append three lines: what, "Rule: ... (FILE:LINE)", hint.  No newline at the end. */
void refusal_write(const struct refusal *r, struct buf *out);

/* Append the rule with its place, as records tell it; without a rule, the code. */
void refusal_write_rule(const struct refusal *r, struct buf *out);

/* "(.pyddock/pyddock.toml:12)", "(built-in policy, line 12)", or "(always)" for a rule
 * that no policy can change. */
void origin_write(const struct origin *origin, struct buf *out);

#endif
