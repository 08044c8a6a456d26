/*
 * exec.h - what the files that run commands share: exec.c (compound commands),
 * run-simple.c (simple commands), run-redirect.c, run-pipeline.c, run-cond.c, trap.c,
 * jobs.c.
 */
#ifndef SHELL_EXEC_H
#define SHELL_EXEC_H

#include "shell/expand.h"
#include "shell/state.h"

/* What running one more level may need; PCRE2 takes up to 90 KiB for a pattern. */
#define EXEC_STACK_MIN ((size_t)128 << 10)

/* May one more function, subshell, eval or sourced file begin?  False: the budget was
 * stopped.  Paired with exec_leave(). */
MUST_CHECK bool exec_enter(struct shell *sh);
void exec_leave(struct shell *sh);

/* Parse text that is to run in `sh`; reports failures and sets status 2.  The caller
 * unrefs. */
MUST_CHECK bool exec_parse(struct shell *sh, struct str text, struct str name,
        uint32_t first_line, struct script **out);

/* Run `text` as the whole script of a fresh shell, with its EXIT trap and jobs.  `file`
 * is where it was read from, or "". */
int exec_main(struct shell *sh, struct str text, struct str name, struct str file);

/* Run a file as execve would: a script by the command that its `#!` names (a shell if it
 * names none).  Anything else: a message, and 126 or 127. */
int exec_file(struct shell *sh, int argc, char **argv);

/* The first (executable) file called `name` in a folder of $PATH, in sh->arena, or NULL.
 */
char *exec_search_path(struct shell *sh, const char *name, bool executable);

/* $LINENO and $BASH_COMMAND, which a trap sees as its trigger left them. */
static inline void exec_position(
        struct shell *sh, const struct node *n, struct str command)
{
    sh->is_miscalculated = false;
    if (sh->in_trap)
        return;
    sh->line = n->pos.line;
    sh->command_text = command;
}

/* A command that `set -e` and the ERR trap look at has ended; returns sh->status. */
int exec_finish(struct shell *sh, int status);

/* PIPESTATUS of a command that is no pipeline. */
void exec_set_pipe_status(struct shell *sh, int status);

int exec_simple(struct shell *sh, const struct node *n);
int exec_pipeline(struct shell *sh, const struct node *n);
int exec_background(struct shell *sh, const struct node *n);
int exec_cond(struct shell *sh, const struct node *n);
void cond_forget_regex(struct shell *sh);

/* Run a builtin on the shell's descriptors, and flush what it wrote. */
int exec_builtin(struct shell *sh, const struct command *command, int argc, char **argv);

/* Look `argv[0]` up and run it; `no_functions` for `command` and `builtin`.  127 and a
 * message: not found. */
int exec_lookup(struct shell *sh, int argc, char **argv, bool no_functions);

/*
 * run-program.c: run a real program, on the shell's descriptors.  False: nobody knows one
 * of that name, and nothing was said.  A refusal is status 126.
 */
MUST_CHECK bool exec_program(struct shell *sh, int argc, char **argv, int *status);

/* The same program, only asked for.  True: it is refused, which was said; status 126. */
MUST_CHECK bool exec_program_is_refused(
        struct shell *sh, int argc, char **argv, char *const *env, size_t env_count);

/*
 * refuse-early.c: is a stage of the pipeline, a compound command, or the simple command
 * whose words have become `args`, refused before anything of it has an effect, and before
 * its redirections do?  Said once; the status is 126.
 *
 * That is known where the words of what runs first in the stage are, and nothing else
 * would run in it.  All other programs are refused when they are about to start.
 */
MUST_CHECK bool exec_pipeline_is_refused(struct shell *sh, const struct node *n);
MUST_CHECK bool exec_compound_is_refused(struct shell *sh, const struct node *n);
MUST_CHECK bool exec_command_is_refused(
        struct shell *sh, const struct node *n, const struct fields *args);

/* Can the word's expansion change nothing in the shell and end nothing (but a script that
 * has `set -u`)? */
bool exec_is_pure(const struct word *w);

/* "NAME=value": what a program is given of the exported variables, in sh->arena. */
char **exec_program_environment(struct shell *sh, size_t *count);

/* The file of a program that may be run by its name, or as that file; "": there is none.
 */
struct str exec_program_file(const struct shell *sh, const char *name);

/* A script that may be run by its name or as that file, in sh->arena; NULL: none. */
const char *exec_script_file(struct shell *sh, const char *name);

/* Is there anything that `name` would run, but for functions? */
bool exec_is_known(struct shell *sh, const char *name);

/* A builtin by name, or as /bin/NAME; NULL: there is none. */
const struct command *exec_find_builtin(const char *name);

/* Append to the fields of a command, in sh->arena. */
void exec_push(struct shell *sh, struct fields *f, char *item);

/* careful.c: is it a recursive rm below a variable without a value?  Says so. */
bool exec_is_careless(struct shell *sh, const struct node *n, const struct fields *args);

struct saved_args {
    char **args;
    int count;
    struct arg_block *block;
};
void args_enter(
        struct shell *sh, size_t count, char *const *items, struct saved_args *saved);
void args_leave(struct shell *sh, const struct saved_args *saved);
void args_shift(struct shell *sh, int n); /* 0 <= n <= $# */
void args_unref(struct arg_block *block);

/* What a list of one command comes down to; NULL stays NULL. */
const struct node *exec_unwrap(const struct node *n);

/* The end of a subshell: its EXIT trap, its jobs; returns its status. */
int exec_end_subshell(struct shell *sub);

/* The frames of `sub` are its own from now on: it may outlive the function it is in. */
void exec_own_frames(struct shell *sub);

struct saved_fd {
    struct saved_fd *next;
    int fd;
    struct stream *stream; /* what was there before */
};

/* Left to right; what was there is put before `*saved` (begin with NULL).  False: the
 * message was written, and what was done is still to be undone. */
MUST_CHECK bool redirect_apply(struct shell *sh, const struct redirect *redirects,
        size_t count, struct saved_fd **saved);
void redirect_undo(struct shell *sh, struct saved_fd *saved);
void redirect_keep(struct saved_fd *saved);

/* Put `s` (borrowed) at `fd`, remembering what was there. */
void redirect_put(struct shell *sh, int fd, struct stream *s, struct saved_fd **saved);

/* Is it `NAME` alone as in $(<file)? The one redirect, or NULL. */
const struct redirect *redirect_lone_read(const struct node *n);

void trap_run(struct shell *sh, enum shell_trap which);

/* Signal n has come for `sh`, which runs: its trap, or its end with 128 + n. */
void trap_signal(struct shell *sh, int n);

/* Those that have come for it while others ran. */
void trap_pending(struct shell *sh);
static inline bool trap_is_set(const struct shell *sh, enum shell_trap which)
{
    return sh->traps && sh->traps[which] && !sh->in_trap &&
           !(sh->trap_mask & 1u << which);
}
void trap_set(struct shell *sh, enum shell_trap which, const char *text); /* NULL: none */
void trap_free(struct shell *sh);
void trap_fork(struct shell *sub); /* what a subshell keeps */

/* Run all jobs to their end.  jobs_close() also closes what leads to lingering process
 * substitutions (`exec > >(cmd)`), waits for those, and forgets everything. */
void jobs_finish(struct shell *sh);
void jobs_close(struct shell *sh);
void substitutions_close(struct shell *sh);

/* The command ends that may have started process substitutions after `before`. */
void substitutions_end(struct shell *sh, struct substitution *before);

/* `set -x`: "+ a b" on stderr. */
void xtrace_args(struct shell *sh, size_t count, char *const *args);
void xtrace_text(struct shell *sh, struct str text);
void xtrace_arith(struct shell *sh, const struct arith_expr *e); /* "(( a ))" */
/* "[[ left op right ]]", or "[[ op left ]]" if `right` is NULL. */
void xtrace_cond(struct shell *sh, bool negated, struct str left, const char *op,
        struct str right);
void xtrace_assign(struct shell *sh, const struct assign *a, struct str value);
void xtrace_array(struct shell *sh, const struct assign *a); /* as it is written */

#endif
