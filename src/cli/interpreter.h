/*
 * interpreter.h - what run_python needs of this machine: the program paddock-python, what
 * it is told of the workspace, who starts commands for a snippet, and the packages of the
 * workspace.
 */
#ifndef CLI_INTERPRETER_H
#define CLI_INTERPRETER_H

#include "policy/command.h"
#include "tool/run_python.h"

struct audit;
struct interpreter;

/* Everything is borrowed and outlives it. */
struct interpreter_request {
    const char *name; /* "pyddock", for people */
    const struct policy *policy;
    const struct path_policy *paths;
    const struct command_policy *commands;
    const char *launcher; /* paddock-launch; NULL: snippets start no commands, and nothing
                             is installed */
    struct peers *peers;  /* whose tools snippets may call; NULL: there are none */
    struct audit *audit;
    bool hashes;   /* of files that are replaced, for the audit log */
    bool installs; /* packages that are missing */
};

/* What an interpreter is to be told has changed: time for run_python_renew(). */
typedef void interpreter_renew_fn(void *user);

struct interpreter *interpreter_open(uv_loop_t *loop,
        const struct interpreter_request *request, interpreter_renew_fn *renew,
        void *user);

/* For run_python; valid until interpreter_close(). */
const struct run_python_config *interpreter_config(const struct interpreter *i);

/* After everything that uses it.  The loop must run on until its handles are closed. */
void interpreter_close(struct interpreter *i);

/* All that a helper gets to know of our environment: "NAME=value", NULL-terminated. */
const char *const *helper_env(struct arena *arena);

#endif
