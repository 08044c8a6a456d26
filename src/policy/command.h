/*
 * command.h - may this program be started with these arguments, and how?
 *
 * Decided on the argument vector, never on command text: the first [shell.*] section
 * whose `command` matches, its deny patterns, its allow patterns, the paths among the
 * arguments, the working directory, the environment, and for git, p4 and docker what
 * their flags, configuration and environment would make them start (deputy/deputy.h). The
 * answer is a plan that the broker carries out.
 */
#ifndef POLICY_COMMAND_H
#define POLICY_COMMAND_H

#include "policy/environ.h"
#include "policy/paths.h"

struct command_request {
    struct str command;
    const struct str *args;
    size_t arg_count;
    struct str cwd; /* relative to the workspace, or absolute; "" is the workspace */
    const struct env_override *env;
    size_t env_count;
};

struct command_plan {
    const struct policy_shell *section; /* that allowed it */
    const char *
            *argv; /* NULL-terminated: interpreter mapping done, deputies neutralised */
    const char
            *program; /* absolute; NULL: not found (then `argv[0]` is what is missing) */
    const char **env; /* NULL-terminated, "NAME=value" */
    const char *cwd;  /* absolute, real */
    enum policy_sandbox sandbox;
    bool network;
    bool trusted; /* may read what only trusted programs may (deny-agent guards) */
    /* Folders that are protected from agents but that this very command may write, such
     * as `.git` for `git commit`; and what stays read-only in them. */
    const char **writable, **read_only; /* NULL-terminated, absolute */
    const char **visible; /* the same: sockets that it needs, which else are hidden */
    /* Arguments for the same program, NULL-terminated, to be run before and with nothing
     * to write; NULL: nothing is asked.  If it ends well and prints anything, that are
     * protected files which the command would change, and it is not started. */
    const char **asks_first;
    struct str notes;     /* lines for who asked: what was not run, ...; or "" */
    struct str if_failed; /* what the kernel may have denied it; or "" */
};

/*
 * What decides commands; made once.  `environment` is the server's own, NULL-terminated.
 */
struct command_policy;
struct command_policy *command_policy_create(const struct policy *policy,
        const struct path_policy *paths, char *const *environment, struct arena *arena);

/* False: refused, `why` says so (deny messages included).  The plan lives in `arena`. */
MUST_CHECK bool command_decide(const struct command_policy *p,
        const struct command_request *request, struct arena *arena,
        struct command_plan *out, struct refusal *why);

/* Where the programs are that a section is for by one plain name, `^git$`; those that are
 * not there are left out. */
void command_files(const struct command_policy *p, struct arena *arena,
        const struct str **out, size_t *out_count);

/* An argument pattern as it is shown: `status(\s|$)` is how a policy says "the word
 * status", and the word is enough. */
struct str command_pattern(const struct policy_regex *pattern);

#endif
