/*
 * python-world.h - paddock-python as its server has it: a zygote of one policy, and
 * children that each run one snippet, for tests of what they can reach.
 *
 * The policy is the built-in one with more modules, in the workspace of a machine.h.
 */
#ifndef TESTS_PYTHON_WORLD_H
#define TESTS_PYTHON_WORLD_H

#include "machine.h"

#include "base/json.h"
#include "base/wire.h"
#include "broker/spawn.h"

struct python_world_options {
    const char *program; /* a paddock-python */
    bool network;
    const char *variable; /* one more of the snippets' environment, or NULL */
    const char *policy;   /* TOML that is added to the policy, or NULL */
    const char *library;  /* folder in the workspace where a lib.so is put, or NULL */
};

struct python_world {
    struct machine machine; /* for its tree only */
    struct helper zygote;
    struct wire_reader reader;
    const struct python_world_options *options;
};

/* A shared library of this machine. */
const char *python_world_library(void);

/* Fails the test if it cannot be started; the options live on. */
void python_world_begin(struct python_world *w, const struct python_world_options *o);
void python_world_end(struct python_world *w);

/* One child, which waits for its snippet. */
struct python_child {
    pid_t pid;
    int control, broker, out, err; /* the last two: files without names */
    struct wire_reader reader;
    json_t *status; /* what it holds */
    json_t *notes;  /* of its reply, or NULL: there was none */
    char *result;   /* NULL: none */
    char *output;   /* of both streams, once it has ended */
    int wait_status;
};

void python_child_begin(struct python_world *w, struct python_child *c);
void python_child_send(struct python_child *c, const char *code, unsigned timeout_ms);
void python_child_kill(const struct python_child *c);

/* Its reply, then its end. */
void python_child_wait(struct python_world *w, struct python_child *c);
void python_child_finish(struct python_child *c);

/* All of the above. */
void python_child_run(struct python_world *w, const char *code, struct python_child *c);

/* What does its status say of a property? */
bool python_child_holds(const struct python_child *c, const char *property);

#endif
