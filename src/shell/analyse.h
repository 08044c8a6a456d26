/*
 * analyse.h - what a script would start and open, as far as its text says.
 *
 * One walk over a parsed tree; nothing is run, opened or expanded.  Listed are the simple
 * commands of all branches, functions, subshells, substitutions of commands and processes
 * (those in here-documents, patterns and arithmetic too); what literal text becomes a
 * script of its own (`bash -c`, here-documents that bash reads, eval, trap, alias,
 * mapfile -C); and for what starts another command (xargs, find -exec, timeout, env,
 * nice, command, builtin, exec ...) that command as well, after the one that starts it.
 *
 * It says what is written, not what will happen: a command may never be reached, or be
 * reached a thousand times.  What it cannot see it tells as `unknown`, with four
 * exceptions: a file that is sourced may change the folder; an expansion among find's
 * words is never taken for an -exec; text may turn into code inside a value (a subscript
 * with a substitution that arithmetic finds in a variable, PS4); and an alias may change
 * what a later line says.
 */
#ifndef SHELL_ANALYSE_H
#define SHELL_ANALYSE_H

#include "base/arena.h"
#include "base/budget.h"
#include "shell/ast.h"

#define ANALYSE_MAX_WORDS ((size_t)50000)    /* of all that is listed together */
#define ANALYSE_MAX_BYTES ((size_t)16 << 20) /* of their text */
#define ANALYSE_MAX_DEPTH 16                 /* scripts in scripts, commands in find's */

struct analyse_word {
    struct str text; /* literal: quotes removed, and a NUL behind it; else as written */
    bool is_literal; /* false: only known at run time */
    bool is_single;  /* exactly one argument, whatever its value */
};

enum analyse_kind {
    ANALYSE_BUILTIN,
    ANALYSE_FUNCTION, /* of this script */
    ANALYSE_MAYBE, /* a function or alias, if defined by then; else what has that name */
    ANALYSE_PROGRAM, /* none of these: a program, or a script found by its path */
    ANALYSE_DYNAMIC, /* the name is only known at run time */
};

struct analyse_assign {
    struct str name;
    struct analyse_word value;
};

/* Where something would happen, as far as `cd` is followed: one with a literal folder,
 * and behind it only what runs if it succeeded (`cd sub && make`, `cd sub || exit`). */
struct analyse_folder {
    bool is_known;
    struct str path; /* known: from where the script starts, or absolute; "": there */
    uint32_t line;   /* not known: since the command of this line; 0: never */
};

struct analyse_command {
    enum analyse_kind kind;
    const struct analyse_word *words;     /* the name first */
    size_t count;                         /* at least 1 */
    const struct analyse_assign *assigns; /* before the name; by env too */
    size_t assign_count;
    bool gets_more; /* who starts it adds arguments: xargs */
    struct analyse_folder folder;
    bool is_elsewhere;   /* but in another one: env -C, find -execdir */
    const char *via;     /* "": as written; else what has it: "xargs", "eval", ... */
    uint32_t line;       /* from 1; of text in text: where the outer command is */
    uint32_t defined_at; /* FUNCTION, MAYBE: the line of its definition */
};

enum analyse_open {
    ANALYSE_READ,
    ANALYSE_WRITE,  /* created or emptied */
    ANALYSE_APPEND, /* created or added to */
    ANALYSE_READ_WRITE,
};

/* Duplicated descriptors, here-documents and here-strings open no file. */
struct analyse_redirect {
    struct analyse_word target;
    enum analyse_open how;
    struct analyse_folder folder; /* that a relative target is in */
    bool is_device; /* one of the shell's own: /dev/null, /dev/stderr, ... */
    uint32_t line;
};

/* Code that is not in the tree. */
struct analyse_unknown {
    const char *what; /* "script in a file", "script from input", ...: static text */
    struct str text;  /* as written, or "" */
    uint32_t line;
};

struct analysis {
    struct analyse_command *commands;
    size_t count, cap;
    struct analyse_redirect *redirects;
    size_t redirect_count, redirect_cap;
    struct analyse_unknown *unknown;
    size_t unknown_count, unknown_cap;
};

/*
 * All of `*out` lives in `arena`, in order of lines.  Text in text that is no script is
 * among the unknown.  ERR_LIMIT: more than the limits above, or `budget` is used up.
 */
MUST_CHECK bool script_analyse(const struct script *script, struct budget *budget,
        struct arena *arena, struct analysis *out, struct error *err);

/* The same of one command that is no text any more: it first, then what it starts.  No
 * function is known, and what its words are a script of is not looked into. */
MUST_CHECK bool command_analyse(const struct analyse_word *words, size_t count,
        struct budget *budget, struct arena *arena, struct analysis *out);

#endif
