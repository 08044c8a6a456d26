/*
 * commands.h - programs that Python code starts, by way of the broker in the server
 * (session/door-request.h): this process may start none.
 *
 * Beneath the library's subprocess, so that all of it works as ever, for whoever uses it:
 * fork_exec, waitpid and kill are functions (replace.h) that ask the broker.  It
 * decides on the bytes that it gets.  A "pid" is the number of such a command, larger
 * than any of the kernel's.
 */
#ifndef PYTHON_COMMANDS_H
#define PYTHON_COMMANDS_H

#include "python/guard.h"

/* Replace them; once, after the library has been loaded.  False: an exception
 * is set. */
MUST_CHECK bool commands_init(void);

#endif
