/*
 * policy-script.h - `paddock policy test --script`: what the policy says to each command
 * and each redirect of a script.
 *
 * The script is taken apart in a paddock-worker, confined as any; what comes back is a
 * list of words, and nothing of it is run or expanded here either.
 */
#ifndef CLI_POLICY_SCRIPT_H
#define CLI_POLICY_SCRIPT_H

#include "policy/command.h"

struct policy_script {
    const char *file; /* "-": standard input */
    const char *cwd;  /* where it would start; NULL: the workspace */
    bool json;
    const struct policy *policy;
    const struct path_policy *paths;
    struct command_policy *commands;
};

/* The exit status: 0 if nothing in it would be refused. */
int policy_script_test(const struct policy_script *s, struct arena *arena);

/* policy.c: what it says of one question, for all. */
json_t *policy_refusal_json(const struct refusal *why);
int policy_report_refusal(bool json, const struct refusal *why); /* the exit status */

/* The rule of `section` that let a command with these arguments through. */
void policy_write_rule(const struct policy_shell *section, const struct str *args,
        size_t count, struct buf *out, struct origin *origin);

void policy_print_json(json_t *value); /* takes it over */

#endif
