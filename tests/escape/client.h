/* client.h - the real worker program, started as the server starts it, for tests. */
#ifndef TESTS_CLIENT_H
#define TESTS_CLIENT_H

#include "base/json.h"
#include "base/wire.h"
#include "broker/spawn.h"
#include "policy/setup.h"

struct client {
    struct helper worker;
    struct wire_reader reader;
    json_t *status; /* what it said when it was ready */
    json_t *notes;  /* of the last reply, or NULL */
    char *text;     /* of the last reply */
};

/* Starts $PADDOCK_WORKER; `root` becomes descriptor 4.  Fails the test if it cannot. */
void client_start(struct client *c, const struct setup *setup, int root);
void client_finish(struct client *c);

/* A call and its reply; true: it is an error.  Takes over `args`. */
bool client_call(struct client *c, const char *tool, json_t *args);

/* `run` with a command: the text must begin with `text`. */
void client_expect_run(struct client *c, const char *command, const char *text);

#endif
