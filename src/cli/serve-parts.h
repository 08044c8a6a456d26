/*
 * serve-parts.h - what a server consists of, whatever its clients reach it by: the tools
 * that it offers, and who works for them.
 */
#ifndef CLI_SERVE_PARTS_H
#define CLI_SERVE_PARTS_H

#include "cli/serve.h"
#include "protocol/mcp.h"

struct serve_parts {
    uv_loop_t loop;
    struct mcp_server server;
    struct toolset *tools;
    char *worker,
            *launcher;   /* programs; the second is NULL if nothing is to be started */
    struct peers *peers; /* NULL: no other server may be called */
    struct interpreter *interpreter; /* NULL: no tool needs it */
    struct door *door;               /* of shells; NULL: they start no programs */
    struct dispatch_config dispatch; /* for a client; without its name */
    interpreter_renew_fn *renew;
    void *renew_user;
};

/* What can fail; the loop is there afterwards. */
MUST_CHECK bool serve_parts_prepare(
        struct serve_parts *p, const struct serve_config *config, struct error *err);

/* The rest; `p->renew` is set.  Text lives in `arena`. */
void serve_parts_open(
        struct serve_parts *p, const struct serve_config *config, struct arena *arena);

/* After the last dispatch is destroyed; the loop must turn once more. */
void serve_parts_close(struct serve_parts *p);

/* After the loop has ended, or what serve_parts_prepare() had done when it failed. */
void serve_parts_finish(struct serve_parts *p);

/* SIGHUP, SIGINT, SIGTERM; what would end us by writing is no signal any more. */
#define SERVE_SIGNALS 3
void serve_watch_signals(
        uv_loop_t *loop, uv_signal_t *watchers, uv_signal_cb on_signal, void *user);
void serve_unwatch_signals(uv_signal_t *watchers);

#endif
