/*
 * setup.h - what a worker is told once, before its first call.
 *
 * The server prints it (the JSON of WIRE_SETUP) and the worker parses it; both ends use
 * this file, so that the format has one home:
 *
 *   {"name":"mcpath","read_only":false,"deny":["*.bak"],"max_output":30000,
 *    "timeout_ms":55000,
 *    "roots":[{"at":"/","kind":"local","fd":4,"host_path":"/srv/project"},
 *             {"at":"/mnt/scratch","kind":"memory"}]}
 *
 * The descriptors are O_PATH directories that the worker was started with.
 *
 * With "paths" (policy/paths.h) it is the view of the whole machine: one local root, "/",
 * judged by that policy, and the workspace is the current folder.  "deny" is not used
 * then.
 */
#ifndef POLICY_SETUP_H
#define POLICY_SETUP_H

#include "policy/paths.h"

#define SETUP_FIRST_ROOT_FD 4 /* 3 is the socket to the server */
#define SETUP_MAX_ROOTS     64

enum setup_root_kind { SETUP_LOCAL, SETUP_MEMORY };

struct setup_root {
    struct str at; /* "/" or "/mnt/NAME" */
    enum setup_root_kind kind;
    int fd;               /* local: the directory; else -1 */
    struct str host_path; /* local: where it is, for people; never shown to the agent */
};

struct setup {
    struct str name; /* of the server: "mcpath" */
    bool read_only;
    const struct str *deny; /* added to the built-in rules */
    size_t deny_count;
    unsigned max_output; /* characters of one result; never 0 */
    unsigned timeout_ms; /* wall time of one call; never 0 */
    /* Limits of one call; 0: what the shell has by itself. */
    uint64_t max_steps;
    unsigned max_depth, max_memory_mib;
    const struct setup_root *roots; /* the first is "/" */
    size_t root_count;
    const struct path_policy *paths; /* NULL: the roots are all there is */
    bool events;                     /* each use of a file is noted (`serve --debug`) */
    bool hashes;                     /* of files that are replaced, before and after */
    bool programs;                   /* there is a tool run_shell beside the shell */
    int door; /* the socket where the shell asks for programs; 0: it has none */
    const struct str *files; /* of programs that it may ask for by their names */
    size_t file_count;
};

/* Append the JSON. */
void setup_write(const struct setup *s, struct buf *out);

/* ERR_INVALID: not this format.  Everything in `out` lives in `arena`. */
MUST_CHECK bool setup_parse(
        struct str json, struct arena *arena, struct setup *out, struct error *err);

#endif
