/*
 * serve.h - a server from start to end: for one client on stdin and stdout, or for many
 * over HTTP.
 */
#ifndef CLI_SERVE_H
#define CLI_SERVE_H

#include "cli/interpreter.h"
#include "policy/setup.h"
#include "tool/dispatch.h"

struct http_options;

struct serve_config {
    const char *instructions;  /* for the model */
    const struct setup *setup; /* its local roots have descriptors of this process */
    struct toolset_config tools;
    const struct path_policy *paths;          /* these three: NULL with mcpath */
    const struct command_policy *commands;    /* what run_shell asks */
    const struct interpreter_request *python; /* its launcher is found here */
    struct audit *audit;
    const struct http_options *http; /* NULL: stdio */
};

/* Serve until the client goes or a signal says so; every child is gone by then.  False:
 * it could not start. */
MUST_CHECK bool serve_stdio(const struct serve_config *config, struct error *err);

/* The same over HTTP, until a signal says so.  Its options passed http_options_check().
 */
MUST_CHECK bool serve_http(const struct serve_config *config, struct error *err);

/* One of the two, as the configuration says. */
MUST_CHECK bool serve(const struct serve_config *config, struct error *err);

#endif
