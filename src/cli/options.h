/*
 * options.h - the command line of mcpath.
 *
 * Options may stand anywhere, as `--name value` or `--name=value`; `--` ends them.  What
 * comes out is checked: nothing later has to ask whether a value makes sense.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "cli/http-options.h"
#include "cli/location.h"

#define OPTIONS_MAX_OUTPUT  10000000      /* the greatest --max-output */
#define OPTIONS_MAX_STEPS   1000000000000 /* the greatest --max-steps */
#define OPTIONS_MAX_DEPTH   100000        /* the greatest --max-depth */
#define OPTIONS_MAX_MEMORY  2048          /* the greatest --max-memory, in MiB */
#define OPTIONS_MAX_TIMEOUT 86400         /* the greatest --timeout, in seconds */

struct mount {
    struct str at; /* "/mnt/NAME" */
    struct location location;
};

struct mcpath_options {
    bool help, version; /* one of them was given: nothing else was looked at */
    struct location root;
    bool read_only;
    const char **deny; /* NULL-terminated */
    size_t deny_count;
    struct mount *mounts;
    size_t mount_count;
    unsigned max_output; /* characters */
    unsigned timeout_ms;
    uint64_t max_steps; /* 0: the shell's own limit; these three */
    unsigned max_depth, max_memory_mib;
    struct http_options http;
};

/* `argv[0]` is not looked at.  ERR_INVALID, or ERR_UNSUPPORTED from location_parse(). */
MUST_CHECK bool mcpath_options_parse(int argc, char **argv, struct arena *arena,
        struct mcpath_options *out, struct error *err);

#endif
