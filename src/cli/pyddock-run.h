/*
 * pyddock-run.h - `pyddock run`: one snippet from the command line, in the sandbox of
 * run_python.
 */
#ifndef CLI_PYDDOCK_RUN_H
#define CLI_PYDDOCK_RUN_H

/* As the functions of cli.h; the status is that of the snippet, 128 and the number of the
 * signal that killed it. */
int pyddock_run(int argc, char **argv);

#endif
