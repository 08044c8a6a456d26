/*
 * interpreter.h - paddock-python of this machine, and what it is told of a workspace.
 */
#ifndef CLI_INTERPRETER_H
#define CLI_INTERPRETER_H

#include "policy/paths.h"

struct interpreter {
    char *program;       /* NULL: it is not installed; interpreter_finish() frees it */
    const char *missing; /* then: what that means, and what to do */
    struct str setup, network_setup; /* JSON of policy/python-setup.h */
};

struct interpreter_request {
    const struct policy *policy;
    const struct path_policy *paths;
    bool events, hashes; /* as in policy/python-setup.h */
};

/* All but the program is in `arena`. */
void interpreter_find(const struct interpreter_request *request, struct arena *arena,
        struct interpreter *out);
void interpreter_finish(struct interpreter *i);

/* All that a helper gets to know of our environment: "NAME=value", NULL-terminated. */
const char *const *helper_env(struct arena *arena);

#endif
