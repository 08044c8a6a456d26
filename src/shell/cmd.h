/*
 * cmd.h - what a builtin command is, and what it is handed.
 *
 * A command is one file in shell/builtin/ with a function `cmd_NAME` and its options; it
 * is listed in table.c.  It has no globals, allocates from its arena, touches files
 * through cmd_open() and the vfs only, reads `in`, writes `out` and `err`, and returns
 * its exit status.  A loop over input calls cmd_tick() once a turn and ends when that is
 * false; a failed cmd_put() ends the command too (status 141 is filled in by the shell).
 *
 * Messages are GNU's, through cmd_err(): "NAME: message\n" on stderr.
 */
#ifndef SHELL_CMD_H
#define SHELL_CMD_H

#include "base/arena.h"
#include "base/budget.h"
#include "shell/stream.h"
#include "vfs/vfs.h"

struct shell;

struct cmd {
    const char *name; /* argv[0], which may be a path: "/bin/ls" */
    const struct command *command;
    int argc;
    char **argv;                   /* NULL-terminated; argv[0] is the name */
    struct stream *in, *out, *err; /* never NULL; a closed fd fails with EBADF */
    struct vfs *vfs;
    struct vpath cwd;
    struct arena *arena; /* ends with the command */
    struct budget *budget;
    struct shell *shell; /* for builtins that are part of the language */
    bool out_failed;     /* a write to `out` failed (stream_error says why) */
};

typedef int cmd_fn(struct cmd *c);

enum cmd_flags {
    CMD_SPECIAL = 1 << 0, /* a POSIX special builtin */
    CMD_SHELL = 1 << 1,   /* changes the shell's state: must not run in a copy of it */
    CMD_BUILTIN = 1 << 2, /* bash has it inside: --help only when alone; when its reader
                             is gone, the whole stage ends */
    CMD_ASSIGNS = 1 << 3, /* its arguments may be assignments (declare, export, ...) */
    CMD_PREFIX = 1 << 4,  /* its operands are another command (xargs, env): a --help among
                             them is not its own */
};

struct command {
    const char *name;
    cmd_fn *run;
    const struct cmd_opt
            *options;    /* ends with {0}; NULL: the command parses argv itself */
    const char *usage;   /* "[OPTION]... [FILE]...": what --help says first */
    const char *summary; /* one sentence for --help */
    enum cmd_flags flags;
};

/* NULL if there is none. */
const struct command *command_find(struct str name);
const struct command *command_at(size_t i); /* sorted by name; NULL past the end */

/* The offered name nearest to `name` (one or two edits away), or NULL. */
const char *command_nearest(const char *name);

enum cmd_arg { ARG_NONE, ARG_REQUIRED, ARG_OPTIONAL };

struct cmd_opt {
    int key; /* the letter, or a number above 255 for a long option without one */
    const char *name; /* without "--"; NULL: none */
    enum cmd_arg arg;
    const char *arg_name; /* for --help, "NUM" */
    const char *help;     /* NULL: understood, but not listed */
};

/*
 * Walks argv as GNU getopt_long does: options anywhere unless `stop_early`, bundles,
 * attached values, --long, --long=V, unique prefixes, "--" ends.  --help was already
 * answered by the shell.  Afterwards the operands are c->argv[0..c->argc) in order (the
 * name is gone).
 *   struct cmd_options o = cmd_options(c);
 *   for (int k; (k = cmd_next(&o)) != CMD_END;)
 *       switch (k) { case 'n': ...o.value...; case CMD_BAD: return 1; }
 */
#define CMD_END (-1)
#define CMD_BAD '?' /* reported already */

struct cmd_options {
    struct cmd *cmd;
    const struct command *command;
    bool stop_early;    /* set before the first cmd_next(): stop at the first operand */
    const char *value;  /* the option's argument, or NULL */
    int index, out;     /* where in argv; how many operands were kept */
    const char *bundle; /* rest of a bundle being walked */
};
struct cmd_options cmd_options(struct cmd *c);
int cmd_next(struct cmd_options *o);

/* "Usage: NAME ...", the summary, the options; on stdout.  Returns 0. */
int cmd_help(struct cmd *c, const struct command *command);

/* "NAME: ..." and a newline on stderr. */
void cmd_err(struct cmd *c, const char *fmt, ...) PRINTF(2, 3);

/* "NAME: SUBJECT: strerror(errnum)" on stderr. */
void cmd_err_file(struct cmd *c, const char *subject, int errnum);

/* False when stdout can take no more: return from the command. */
MUST_CHECK bool cmd_put(struct cmd *c, struct str s);
MUST_CHECK bool cmd_putc(struct cmd *c, char ch);
MUST_CHECK bool cmd_printf(struct cmd *c, const char *fmt, ...) PRINTF(2, 3);

/* Spend one step; false: stop now (limit, timeout or cancelled). */
static inline bool cmd_tick(struct cmd *c)
{
    return budget_spend(c->budget, 1);
}

/*
 * A command whose recursion is as deep as its input asks this once a level: the stack it
 * runs on is small, and a script may have used most of it.  False: the limit of depth
 * has ended the call.
 */
MUST_CHECK bool cmd_may_recurse(struct cmd *c);

/*
 * Open for reading: "-" is stdin when `dash_is_stdin`; /dev/null, /dev/zero, /dev/random,
 * /dev/urandom, /dev/stdin, /dev/stdout, /dev/stderr, /dev/tty and /dev/fd/N are the
 * shell's own.  Returns 0 or an errno; the caller unrefs `*out`.
 */
MUST_CHECK int cmd_open(
        struct cmd *c, const char *path, bool dash_is_stdin, struct stream **out);

/* The same for writing. */
MUST_CHECK int cmd_create(
        struct cmd *c, const char *path, enum vfs_open_flags flags, struct stream **out);

/* Is this absolute path one of the shell's own devices? */
bool cmd_is_device(struct str path);

/* An operand as a path of this command's cwd. */
MUST_CHECK int cmd_path(struct cmd *c, const char *text, struct vpath *out);

/* The value of an exported or plain variable, or NULL. */
const char *cmd_env(struct cmd *c, const char *name);

/* "NAME=value" of every exported variable, in the arena. */
char **cmd_environment(struct cmd *c, size_t *count);

/*
 * Run another command (builtin or function) with its own argv and streams, as xargs, find
 * -exec, env and timeout do; it sees a copy of the shell's state, in the directory
 * c->cwd.  127: not found.
 */
int cmd_run(struct cmd *c, int argc, char **argv, struct stream *in, struct stream *out,
        struct stream *err);

#endif
