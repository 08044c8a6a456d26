/*
 * cli.h - the command lines: one file a subcommand, or a face of the program.
 *
 * Each takes what stands after its name, with the name itself as argv[0], and returns the
 * exit status: 0, 1 for what cannot be done, 2 for a line that makes no sense.  It says
 * so in one line on stderr.  To add one: a file, a line here, a line in the table of
 * main.c.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/str.h"

struct tool_extension;

int cli_mcpath(int argc, char **argv);  /* serve a folder over MCP */
int cli_pyddock(int argc, char **argv); /* the other face: serve, run */
int cli_serve(int argc, char **argv);   /* serve a workspace with all tools */
int cli_policy(int argc, char **argv);  /* show, check or try a policy */
int cli_doctor(int argc, char **argv);  /* what this machine lets us enforce */
int cli_shell(int argc, char **argv);   /* the virtual shell, from a terminal or a pipe */
int cli_call(int argc, char **argv);    /* one tool call over the real protocol */

/* mcpath with tools of the caller's own beside its two (tool/extension.h). */
int cli_mcpath_with(int argc, char **argv, const struct tool_extension *more);

/* Text for the person at the terminal, on stdout; only for programs that do not serve. */
void cli_print(struct str text);

/* "NAME: message" and the hint on stderr; returns `status`. */
int cli_fail(const char *name, int status, const struct error *err);

#endif
