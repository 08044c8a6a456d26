/*
 * environ.h - the environment of a command: a snapshot of ours, less what is secret or
 * ours alone, with the overrides that the rules let pass.
 *
 * The snapshot leaves out VIRTUAL_ENV, VIRTUAL_ENV_PROMPT, PYTHONPATH, whatever starts
 * with PADDOCK_, and what looks like a secret by its name (TOKEN, SECRET, PASSWORD, ...)
 * or by the shape of its value, unless `pass` of [env] or of the section names it.  PATH
 * loses the folders that are relative or where an agent may write, LD_PRELOAD, BASH_ENV
 * and their like are left out if they lead there.  TMPDIR is the command's own /tmp, or
 * .pyddock/tmp without a sandbox.  PWD is the folder that the command starts in.
 */
#ifndef POLICY_ENVIRON_H
#define POLICY_ENVIRON_H

#include "policy/refusal.h"

struct env_override {
    struct str name, value; /* "" removes the variable */
};

/* Does a variable look as if its value was secret? */
bool env_is_secret(struct str name, struct str value);

/* PATH; where there is none, as with some clients that are no shells, the usual folders.
 */
struct str env_path(char *const *environment);

/* `environment`: "NAME=value", NULL-terminated.  `section` may be NULL. */
const char **env_snapshot(const struct policy *policy, const struct policy_shell *section,
        char *const *environment, struct arena *arena);

/* The snapshot with overrides, for a command that starts in `cwd`; false: one of them is
 * refused. */
MUST_CHECK bool env_build(const struct policy *policy, const struct policy_shell *section,
        const char **snapshot, const struct env_override *overrides, size_t count,
        struct str cwd, struct arena *arena, const char ***out, struct refusal *why);

#endif
