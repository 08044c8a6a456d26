/*
 * worker.h - the program that does the work of one session, seen from inside.
 *
 * main.c confines the process and then answers calls with the tools of this table.
 */
#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include "policy/setup.h"
#include "shell/shell.h"
#include "worker/notes.h"

#include <jansson.h>

struct worker {
    const struct setup *setup;
    struct vfs *vfs;
    struct shell *shell; /* lives from call to call */
    struct door *door;   /* NULL: no programs */
    volatile sig_atomic_t *alarm;
    struct notes notes; /* of the call that runs */
};

/* Do the work and append what the client is shown.  Returns isError: the tool could not
 * do its work, and the text says why. */
typedef bool worker_tool_fn(
        struct worker *w, const json_t *args, struct arena *arena, struct buf *text);

worker_tool_fn worker_run;  /* run a command line in the shell */
worker_tool_fn worker_edit; /* replace text in a file */

/* The shell as bytes, and made from them in a worker that has run nothing (shell/save.h);
 * not for clients. */
worker_tool_fn worker_shell_save, worker_shell_load;

/* One file or tree, by host-like paths (worker/fs.h). */
worker_tool_fn worker_fs_append, worker_fs_delete, worker_fs_find, worker_fs_grep,
        worker_fs_readfile, worker_fs_stat, worker_fs_str_replace;

/* paddock-worker --shell ...: the shell for a person or a pipe instead of a server. */
int worker_shell_main(int argc, char **argv);

/* paddock-worker --analyse: the script on stdin, taken apart and not run, as JSON. */
int worker_analyse_main(void);

#endif
