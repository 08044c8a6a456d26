/*
 * python-broker.h - subprocess of a snippet, the server's end: decides as run_shell does,
 * starts what is allowed with the snippet's own descriptors, and tells how it ended.
 *
 * One socket a run (SOCK_SEQPACKET), python-request.h says what travels on it.  Whoever
 * sends what is malformed, an id that was there before or not exactly the three
 * descriptors is not listened to any more, and his commands are killed; so they are when
 * the socket closes and when the run is over.
 */
#ifndef SESSION_PYTHON_BROKER_H
#define SESSION_PYTHON_BROKER_H

#include "policy/command.h"
#include "session/python.h"

#define PYTHON_MAX_COMMANDS 16    /* at once, of one run */
#define PYTHON_MAX_REQUESTS 20000 /* of one run, granted or not */

struct audit;
struct python_broker;

/* Everything is borrowed and outlives it. */
struct python_broker_config {
    uv_loop_t *loop;
    const char *launcher; /* paddock-launch, from helper_find() */
    const struct policy *policy;
    const struct path_policy *paths;
    const struct command_policy *commands;
    struct audit *audit; /* told of each decision; NULL: nobody is */
};

struct python_broker *python_broker_create(const struct python_broker_config *config);

/* For python_config; the `broker_user` is the broker.  It outlives all runs. */
extern const struct python_broker_fns python_broker_fns;

/* How many commands run now; for tests. */
size_t python_broker_commands(const struct python_broker *b);

void python_broker_destroy(struct python_broker *b);

#endif
