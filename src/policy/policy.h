/*
 * policy.h - the effective policy of one server: what the configuration says, checked,
 * with the place where each line was said.
 *
 * policy/config/config.h reads it once at start; nothing changes it afterwards.
 * Everything here lives in one arena.  Tables are arrays in the order in which they
 * decide ("first match wins").  Who asks it: paths.h (files), command.h (programs),
 * environ.h (variables).
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "base/arena.h"
#include "base/str.h"
#include "policy/origin.h"

struct pyre;       /* policy/pyre/pyre.h */
struct toml_value; /* policy/config/toml.h */

/* A regular expression of Python's `re`, compiled. */
struct policy_regex {
    struct str text;
    struct pyre *pattern;
    struct origin origin;
};

struct policy_regexes {
    const struct policy_regex *items;
    size_t count;
};

struct policy_text {
    struct str text;
    struct origin origin;
};

struct policy_texts {
    const struct policy_text *items;
    size_t count;
};

enum import_kind {
    IMPORT_DENIED,
    IMPORT_ALLOWED,
    IMPORT_PIP,  /* `value` is the distribution's name */
    IMPORT_PATH, /* `value` is a folder, relative to the workspace as written */
};

struct policy_import {
    struct str name;
    enum import_kind kind;
    struct str value;
    struct origin origin;
};

/* An entry of writable_paths or readable_paths. */
struct policy_path {
    struct str text; /* as written */
    struct str path; /* real and absolute; "" for "*" */
    struct origin origin;
};

enum guard_disposition {
    GUARD_DENY_AGENT,
    GUARD_DENY_ALL,
    GUARD_READ_ONLY,
    GUARD_WORKSPACE,
    GUARD_ALLOW,
};

const char *guard_disposition_name(enum guard_disposition disposition); /* "deny-all" */

struct policy_guard {
    struct policy_regex regex;
    enum guard_disposition disposition;
};

/* Why a folder is write-protected whatever the other rules say. */
enum protected_kind {
    PROTECTED_POLICY,  /* .pyddock, but not .pyddock/tmp */
    PROTECTED_PACKAGE, /* a workspace package of [imports] */
    PROTECTED_SCRIPTS, /* programs of a path-like [shell.*] command lie there */
    PROTECTED_PROGRAM, /* paddock's own files */
    PROTECTED_LOG,     /* the debug log, a file in .pyddock/tmp */
    PROTECTED_SERVER,  /* the program of an MCP server, and files that it is given */
};

struct policy_protected {
    enum protected_kind kind;
    struct str path;   /* real and absolute as far as it exists */
    struct str except; /* PROTECTED_POLICY: what is below this folder is free; else "" */
    struct origin origin;
};

enum audit_disposition {
    AUDIT_FS,
    AUDIT_FS_WRITE,
    AUDIT_FS_WRITE_PAIR,
    AUDIT_AGENT_DENY,
    AUDIT_NETWORK,
    AUDIT_SHELL,
    AUDIT_OBSERVE,
    AUDIT_ALLOW,
    AUDIT_SQLITE_CONNECT,
};

struct policy_audit {
    struct str event; /* may end with '*' */
    enum audit_disposition disposition;
    struct origin origin;
};

enum policy_mode { MODE_DENY, MODE_ALLOW };

struct policy_restriction {
    struct str name;
    enum policy_mode mode;
    struct policy_regexes module_allow, module_deny, class_allow, class_deny;
    struct origin origin;
};

enum env_default { ENV_INHERIT, ENV_INERT, ENV_SNAPSHOT };

struct policy_env {
    enum env_default fallback;     /* for variables that no rule names; `default` */
    struct origin fallback_origin; /* .file NULL: nobody set it */
    struct policy_regexes deny;    /* fullmatch, ignoring case */
    struct policy_regexes pass;    /* the same: variables of ours that look secret and are
                                      handed on nevertheless */
};

enum arg_paths { ARG_PATHS_WORKSPACE, ARG_PATHS_PROTECTED, ARG_PATHS_NONE };

/* What the kernel lets a command do: `sandbox`. */
enum policy_sandbox {
    SANDBOX_WORKSPACE, /* writes in the writable paths and its own temporary folder */
    SANDBOX_NONE,      /* what the user may do */
};

/* [shell.NAME] */
struct policy_shell {
    struct str name;
    struct policy_regex command;
    bool command_given; /* false: it is the default, ^NAME$ */
    enum policy_mode mode;
    struct policy_regexes allow, deny;
    enum arg_paths arg_paths;
    struct policy_env env;
    enum policy_sandbox sandbox;
    bool network;                 /* default true */
    struct policy_path *writable; /* `writable_paths` of the section: more than the
                                     workspace, for caches */
    size_t writable_count;
    struct origin origin;
};

struct policy_message { /* [deny_messages] */
    struct policy_regex regex;
    struct str text;
};

struct policy_mcp_tool {
    struct policy_regex regex;
    bool allowed;
};

/* `argument = "regex"`; an argument that is not given is judged as "". */
struct policy_mcp_argument {
    struct str name; /* NUL-terminated, without another NUL */
    struct policy_regex regex;
};

struct policy_mcp_rule { /* a line of [mcp.NAME.arguments] */
    struct policy_regex tool;
    const struct policy_mcp_argument *arguments;
    size_t argument_count;
};

struct policy_mcp { /* [mcp.NAME] */
    struct str name, description;
    const struct policy_mcp_tool *tools;
    size_t tool_count;
    const struct policy_mcp_rule *rules;
    size_t rule_count;
    struct policy_texts variables; /* that ${NAME} in its definition may name; none:
                                      nothing is replaced there */
    unsigned keep_alive_s;         /* 0: each call has a server of its own */
    enum policy_sandbox sandbox;   /* SANDBOX_NONE by default: it is the user's program */
    bool network;                  /* default true */
    struct origin origin;
};

/* [audit_log], which is off unless it has a path. */
struct policy_audit_log {
    struct str path;    /* absolute, outside everything that an agent may write; or "" */
    uint64_t max_bytes; /* of one file before it is rotated */
    unsigned keep;      /* rotated files */
    bool arguments;     /* whole arguments instead of their hash */
    struct origin origin;
};

/* [tools]: of pyddock serve; paddock serve has them all. */
struct policy_tools {
    bool run;
};

struct policy {
    struct str workspace;      /* absolute, links as they were written */
    struct str workspace_real; /* resolved */
    struct str home;           /* resolved; "" if there is none */
    const char *base;          /* what `origin.file` says for the base: "built-in", ... */
    const char *overlay;       /* the same for what is laid over it, or NULL */
    unsigned timeout_ms, max_timeout_ms;
    struct origin timeout_origin, max_timeout_origin;
    struct policy_import *imports;
    size_t import_count;
    struct policy_path *writable, *readable;
    size_t writable_count, readable_count;
    bool readable_all; /* "*" is among the readable paths */
    struct policy_guard *guards;
    size_t guard_count;
    struct policy_protected *protected;
    size_t protected_count, protected_cap; /* protect.h adds to it */
    struct policy_texts block_calls, block_attributes;
    struct policy_audit *audit;
    size_t audit_count;
    struct policy_restriction *restrictions;
    size_t restriction_count;
    struct policy_texts import_overrides; /* those that are true */
    struct policy_shell *shells;
    size_t shell_count;
    bool has_shell; /* a [shell.*] section exists */
    struct policy_env env;
    struct policy_message *messages;
    size_t message_count;
    struct policy_mcp *mcp;
    size_t mcp_count;
    struct policy_audit_log audit_log;
    struct policy_tools tools;
    const struct toml_value *source; /* all that was read, as one tree */
    struct policy_texts warnings;    /* what has no effect, and such; for people */
};

#endif
