/*
 * parts.h - what the deputies share: looking at one call and changing its plan.
 */
#ifndef POLICY_DEPUTY_PARTS_H
#define POLICY_DEPUTY_PARTS_H

#include "policy/deputy/deputy.h"
#include "policy/deputy/options.h"

struct deputy_call {
    const struct policy *policy;
    const struct path_policy *paths;
    struct arena *arena;
    struct command_plan *plan;
    struct refusal *why;
    const char *name;       /* "git" */
    const struct str *args; /* without the program's name */
    size_t count;
    struct str cwd; /* that its arguments are relative to; real */
};

void deputy_begin(struct deputy_call *call, const char *name);

/* Fill the refusal: what it is about, and what to do instead ("" for nothing).  False. */
bool deputy_refuse(const struct deputy_call *call, const char *rule, const char *hint,
        const char *fmt, ...) PRINTF(4, 5);

/* Where a file argument ends, links followed; false: refused. */
MUST_CHECK bool deputy_resolve(
        const struct deputy_call *call, struct str path, struct str *out);

/*
 * A file that the program would read or write because an argument says so.  It must lie
 * in the workspace to be read, where an agent may write to be written, and no guard may
 * forbid it.  "-" is fine.  `option` is for the message: "--output".
 */
MUST_CHECK bool deputy_file_allowed(const struct deputy_call *call, struct str path,
        enum path_use use, struct str option);

/* Is this canonical path the workspace or in it? */
bool deputy_in_workspace(const struct deputy_call *call, struct str canonical);

/* Refuse what every deputy refuses: options that run something or lead elsewhere, and
 * files that may not be read or written. */
MUST_CHECK bool deputy_option_allowed(
        const struct deputy_call *call, const struct option_word *word);

/* The same before the command, where an option that is not known is refused too. */
MUST_CHECK bool deputy_own_option_allowed(
        const struct deputy_call *call, const struct option_word *word);

/* The environment of the plan.  Drop first: it makes the plan's own copy. */
const char *deputy_env_get(const struct deputy_call *call, const char *name);
typedef bool deputy_drop_fn(struct str name);
void deputy_env_drop(const struct deputy_call *call, deputy_drop_fn *drop);
void deputy_env_set(const struct deputy_call *call, const char *name, const char *value);
void deputy_env_append(const struct deputy_call *call, const char **lines, size_t count);

/* The arguments of the plan; `at` counts as in `call->args`. */
void deputy_arg_insert(const struct deputy_call *call, size_t at, const char *arg);
void deputy_arg_replace(const struct deputy_call *call, size_t at, const char *arg);

/* Append a line to the notes of the plan. */
void deputy_note(const struct deputy_call *call, const char *fmt, ...) PRINTF(2, 3);

/* Append to a NULL-terminated list in the plan, such as `writable`. */
void deputy_list_add(
        const struct deputy_call *call, const char ***list, const char *item);

deputy_fn deputy_git, deputy_p4, deputy_docker;
deputy_text_fn deputy_git_text, deputy_p4_text, deputy_docker_text;
deputy_plain_fn deputy_git_plain;

#endif
