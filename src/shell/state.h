/*
 * state.h - the inside of a shell, for the files of shell/ and for the builtins that are
 * part of the language (cd, set, read, ...).  Other commands need only cmd.h.
 *
 * A subshell is a `struct shell` of its own, made by shell_fork(): variables and
 * functions are copy-on-write, so that it costs nothing; it shares vfs, scheduler and
 * budget.
 */
#ifndef SHELL_STATE_H
#define SHELL_STATE_H

#include "base/arena.h"
#include "shell/ast.h"
#include "shell/cmd.h"
#include "shell/sched.h"
#include "shell/shell.h"
#include "shell/vars.h"

#define SHELL_FDS 256 /* descriptors 0..255 */
#define SHELL_MAX_SECONDS \
    INT64_C(2000000000) /* $SECONDS can be set to, and its negative */

enum shell_flow {
    FLOW_NONE,
    FLOW_BREAK,    /* `flow_count` loops still to leave */
    FLOW_CONTINUE, /* the same, then go on with the last */
    FLOW_RETURN,   /* leave the function or sourced file */
    FLOW_EXIT,     /* leave the (sub)shell: exit, set -e, set -u, ${x:?} */
    FLOW_DISCARD, /* an expansion failed: give up the line, go on with the next one of the
                     script; a subshell ends with status 1 */
};

/* set -o NAME, in the order of $-. */
enum shell_set {
    SET_ALLEXPORT = 1 << 0, /* a */
    SET_ERREXIT = 1 << 1,   /* e */
    SET_NOGLOB = 1 << 2,    /* f */
    SET_NOEXEC = 1 << 3,    /* n */
    SET_NOUNSET = 1 << 4,   /* u */
    SET_VERBOSE = 1 << 5,   /* v */
    SET_XTRACE = 1 << 6,    /* x */
    SET_NOCLOBBER = 1 << 7, /* C */
    SET_PIPEFAIL = 1 << 8,
    SET_ERRTRACE = 1 << 9,   /* E */
    SET_FUNCTRACE = 1 << 10, /* T */
    SET_POSIX = 1 << 11,
    SET_BRACEEXPAND = 1 << 12, /* B, on by default */
    SET_PHYSICAL = 1 << 13,    /* P: cd and pwd resolve links */
};

enum shell_shopt {
    SHOPT_NULLGLOB = 1 << 0,
    SHOPT_FAILGLOB = 1 << 1,
    SHOPT_DOTGLOB = 1 << 2,
    SHOPT_GLOBSTAR = 1 << 3,
    SHOPT_NOCASEGLOB = 1 << 4,
    SHOPT_NOCASEMATCH = 1 << 5,
    SHOPT_EXTGLOB = 1 << 6, /* only shown: the patterns always work */
    SHOPT_LASTPIPE = 1 << 7,
    SHOPT_INHERIT_ERREXIT = 1 << 8,
    SHOPT_EXPAND_ALIASES = 1 << 9,
    SHOPT_XPG_ECHO = 1 << 10,
    SHOPT_LOCALVAR_INHERIT = 1 << 11,
    SHOPT_CDABLE_VARS = 1 << 12,
    SHOPT_EXECFAIL = 1 << 13,
    SHOPT_SHIFT_VERBOSE = 1 << 14,
    SHOPT_VARREDIR_CLOSE = 1 << 15,
    SHOPT_NO_PATSUB = 1 << 16,     /* patsub_replacement is off */
    SHOPT_NO_SOURCEPATH = 1 << 17, /* sourcepath is off */
};

struct function {
    struct str name;
    struct script *script; /* keeps `body` alive */
    const struct node *body;
    struct str file; /* for BASH_SOURCE */
    bool is_readonly, is_exported;
    int refs;
};

/* Functions by name; shared copy-on-write between subshells.  NULL is an empty one. */
struct functions;
struct function *functions_find(const struct functions *f, struct str name);
struct functions *functions_fork(struct functions *f);
void functions_destroy(struct functions *f);
void functions_set(struct functions **f, struct str name, struct script *script,
        const struct node *body, struct str file);
bool functions_unset(struct functions **f, struct str name);
/* One that may be marked, for this shell alone; NULL: no such function. */
struct function *functions_own(struct functions **f, struct str name);
/* Those that are exported, or NULL. */
struct functions *functions_exported(const struct functions *f);
/* Sorted, in `arena`. */
void functions_names(const struct functions *f, struct arena *arena, struct str **names,
        size_t *count);
struct function *function_ref(struct function *f);
void function_unref(struct function *f);

/* Positional parameters: shared by the shells forked while they were in force. */
struct arg_block {
    int refs;
    char *items[]; /* $0, $1, ..., NULL */
};

enum shell_trap {
    TRAP_EXIT, /* also what `trap 0` names */
    TRAP_ERR,
    TRAP_DEBUG,
    TRAP_RETURN,
    TRAP_SIGNAL, /* TRAP_SIGNAL + n: signal n (kept and shown; nothing sends one) */
    TRAP_COUNT = TRAP_SIGNAL + 65,
};

struct frame { /* one per function call or sourced file: FUNCNAME, caller, local */
    struct frame *parent;
    struct str function; /* "source" for a file, "main" at the top */
    struct str file;     /* where the function was defined; "environment": in no file */
    uint32_t call_line;
    bool keeps_set; /* `local -`: `set` is what the options were */
    uint64_t set;
    bool is_file; /* the outermost one: the script was read from `file` */
};

struct ifs;
struct job;
struct last_regex;
struct programs;
struct substitution;

/* A background job's leave to have programs, shared by all that is part of the job. */
struct turn {
    struct turn *next; /* among those that wait */
    bool is_taken;
    unsigned waiters;
};

struct shell {
    struct vfs *vfs;
    struct sched *sched;
    struct budget *budget; /* of the current run; shared with the subshells */
    struct shell *parent;  /* NULL: the session's shell */
    struct shell *session; /* the outermost one */
    bool is_fresh;         /* not a copy of its parent: the session, or `bash` in it */
    const char *name;      /* before messages */
    /* Of the session: */
    struct programs *programs;    /* NULL: no program is a command... */
    const char *elsewhere;        /* ...and what starts programs, or NULL */
    const char *const *first_env; /* what it began with, or NULL */

    struct vars *vars;
    struct functions *functions;
    struct str *aliases; /* name, text, name, text, ... */
    size_t alias_count, alias_cap;
    unsigned alias_changes;      /* how often they, or whether they count, changed */
    struct vpath cwd;            /* its text belongs to the shell */
    uint64_t set;                /* enum shell_set, and idle ones (setopt.h) */
    uint64_t shopt;              /* enum shell_shopt, and idle ones */
    char **args;                 /* $1.. ; args[0] is $0; NULL-terminated */
    int arg_count;               /* $# */
    struct arg_block *arg_block; /* holds `args` */

    struct stream *fds[SHELL_FDS]; /* NULL: closed */
    int fd_top;                    /* all at or above are closed */
    struct stream *closed;         /* stands for a closed one: EBADF */

    int status;            /* $? */
    bool is_miscalculated; /* this command met a mistake in an expression: `set -e` does
                              not end the script for the line that is given up */
    bool captured;         /* a command substitution ran since this command began */
    int *pipe_status;      /* PIPESTATUS */
    size_t pipe_status_count, pipe_status_cap;
    struct buf last_arg; /* $_ */
    enum shell_flow flow;
    int flow_count;
    int loop_depth;
    unsigned depth;       /* functions, subshells, eval, source nested */
    unsigned errexit_off; /* >0: inside a condition, && || or !: set -e does not end it */
    struct frame *frame;
    size_t base_scope;       /* vars_depth() outside all functions */
    struct script *script;   /* being run */
    struct arena *arena;     /* scratch of the running command; marked and rewound */
    uint32_t line;           /* $LINENO */
    int64_t started_ns;      /* $SECONDS */
    uint32_t random;         /* state of $RANDOM ... */
    uint32_t last_random;    /* ... what it was last ... */
    int random_pid;          /* ... and the shell that has seeded it */
    struct str command_text; /* $BASH_COMMAND; lives in its script */
    struct str *dirs;        /* pushd: below the current one, the top is last */
    size_t dir_count, dir_cap;
    size_t getopts_at;     /* in the word of $OPTIND: the next letter; 0: at its start */
    int64_t getopts_index; /* the $OPTIND that getopts left */
    int pid;               /* $BASHPID; of the session: $$ */
    int next_pid;          /* of the session: for the next subshell */
    int last_background;   /* $! */
    char **traps;          /* by enum shell_trap; NULL: none at all */
    char **outer_traps;    /* of the shell around, for `trap -p`; until one is set here */
    uint64_t pending;      /* 1 << n - 1: signal n is to be taken when a command ends */
    unsigned stage_depth;  /* a simple command that is a stage runs at this depth */
    bool in_trap;
    unsigned trap_mask; /* 1 << TRAP_ERR...: not inherited by this function */
    bool changed_umask; /* a subshell did: the one before comes back at its end */
    uint32_t outer_umask;
    bool called_exit;                   /* the flow is FLOW_EXIT because of `exit` */
    bool keep_redirects;                /* `exec` without a command: do not restore */
    struct job *jobs;                   /* jobs.c; of this shell alone */
    struct turn *turn;                  /* of the job that this is part of; NULL: none */
    struct turn *waiting_turns;         /* of the session, the longest waiting first */
    size_t turns_taken;                 /* of the session */
    struct substitution *substitutions; /* alive until the command ends */
    struct substitution *lingering;     /* those that `exec` kept open */
    int trace_level; /* nested $( ): how many + before what `set -x` shows */
    const struct assign *const *arg_assigns; /* by argv index, see CMD_ASSIGNS; or NULL */
    struct buf spare_text, spare_marks;      /* for the next expansion */
    struct ifs *ifs;               /* $IFS as it was last looked at; NULL: never */
    struct last_regex *last_regex; /* run-cond.c; NULL: none */
};

/* A subshell; ends with shell_join().  Nothing it does changes `sh`. */
struct shell *shell_fork(struct shell *sh);

/* The same, but as a program started by `sh` would begin: it has only the directory, the
 * descriptors, what is exported and the ignored signals.  `name`: for its messages. */
struct shell *shell_fork_fresh(struct shell *sh, const char *name);
void shell_free(struct shell *sub);

/* Run one node; returns and sets the status.  Look at sh->flow afterwards. */
int exec_node(struct shell *sh, const struct node *n);

/* Run `text` as `eval` does, or a file as `source` does, in this shell; its lines are
 * counted from `first_line`. */
int exec_text(struct shell *sh, struct str text, struct str name, uint32_t first_line);

/* Run a body in a subshell with stdout captured (for $(...)). */
MUST_CHECK bool exec_capture(struct shell *sh, const struct node *body, struct buf *out);

/* Start a process substitution; returns the path to give to the command: "/dev/fd/63". */
MUST_CHECK bool exec_process_substitution(struct shell *sh, const struct node *body,
        bool writer, struct arena *arena, struct str *path);

/* Run builtin or function `argv` with these streams; 127 if there is none. */
int exec_argv(struct shell *sh, int argc, char **argv, struct stream *in,
        struct stream *out, struct stream *err);

/* "NAME: line N: ..." on the shell's stderr. */
void shell_err(struct shell *sh, const char *fmt, ...) PRINTF(2, 3);

/* The script (or subshell) must end: FLOW_EXIT with this status.  Returns false. */
bool shell_exit(struct shell *sh, int status);

/* The rest of the script's current line is dropped (a failed expansion or assignment).
 * Returns false. */
bool shell_discard(struct shell *sh, int status);

static inline bool shell_is_ending(const struct shell *sh)
{
    return sh->flow != FLOW_NONE || budget_stopped(sh->budget);
}

/* The stream of descriptor `fd`, never NULL. */
static inline struct stream *shell_fd(const struct shell *sh, int fd)
{
    return fd >= 0 && fd < SHELL_FDS && sh->fds[fd] ? sh->fds[fd] : sh->closed;
}

/* Put a stream (taken over; NULL closes) at `fd`. */
void shell_set_fd(struct shell *sh, int fd, struct stream *s);

/* Replace $1.. (copied). */
void shell_set_positional(struct shell *sh, size_t count, char *const *items);

/* Special parameters ($?, $#, $-, $LINENO, $RANDOM, PIPESTATUS ...) in `arena`; false if
 * `name` is none of them. */
bool shell_special(
        struct shell *sh, struct str name, struct arena *arena, struct str *out);

/* The same for special arrays (PIPESTATUS FUNCNAME BASH_SOURCE BASH_LINENO DIRSTACK ...):
 * their elements from index 0 on. */
bool shell_special_array(struct shell *sh, struct str name, struct arena *arena,
        struct str **values, size_t *count);

/* An assignment to RANDOM, SECONDS and other names whose value is not stored: true if it
 * was one of them and is done.  For expand_assign() and `read`, before vars_set(). */
bool shell_special_assign(struct shell *sh, struct str name, struct str value);

#endif
