/*
 * python-setup.h - what paddock-python is told once, before its first snippet; both ends
 * use this file, so that the format has one home.
 *
 *   {"paths":{...}, "policy":{...}, "sys_path":["/w/.pyddock/venv/lib/..."],
 *    "trusted":["/w/.pyddock/venv/lib/..."], "env":["HOME=/home/u"], "network":false,
 *    "events":false, "hashes":false, "mcp":false,
 *    "shims":[{"name":"weather","path":"/w/.pyddock/import-overrides/weather.py",
 *              "text":"..."}]}
 */
#ifndef POLICY_PYTHON_SETUP_H
#define POLICY_PYTHON_SETUP_H

#include "policy/paths.h"

/* A module of [import_overrides] that is read from a file. */
struct python_shim {
    struct str name, path, text;
};

struct python_setup {
    const struct path_policy *paths;
    const struct policy *policy; /* its parts about Python, see python-policy.h */
    const struct str *sys_path;  /* before what the interpreter finds by itself */
    size_t sys_path_count;
    const struct str *trusted; /* folders whose code is trusted, beside the library's */
    size_t trusted_count;
    const char *const *env; /* "NAME=value", NULL-terminated: that of the snippets */
    const struct python_shim *shims;
    size_t shim_count;
    bool network; /* sockets are there; what may use them says [audit] */
    bool events;  /* each use of a file is told (`serve --debug`) */
    bool hashes;  /* of files that are replaced, before and after */
    bool mcp;     /* there are other MCP servers whose tools may be called */
};

/* Append the JSON. */
void python_setup_write(const struct python_setup *s, struct buf *out);

/* ERR_INVALID: not this format.  Everything in `out` lives in `arena`. */
MUST_CHECK bool python_setup_parse(struct str json, struct arena *arena,
        struct python_setup *out, struct error *err);

#endif
