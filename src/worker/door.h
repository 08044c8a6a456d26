/*
 * door.h - the worker's end of the server's door: real programs for the shell.
 *
 * What is asked and told is in session/door-request.h.  A program that nobody waits for
 * any more is forgotten when its end is told, or when the call is over.
 */
#ifndef WORKER_DOOR_H
#define WORKER_DOOR_H

#include "shell/program.h"

struct door;

/* `fd`: the socket; `null`: /dev/null.  Both stay open as long as the door. */
struct door *door_create(int fd, int null);

/* For shell_options. */
struct programs *door_programs(struct door *d);

/* The rule by which a program was refused in this call, or "". */
struct str door_rule(const struct door *d);

/* A call has ended: the server ends what was started for it, and tells nothing more. */
void door_end_call(struct door *d);

void door_destroy(struct door *d); /* NULL is fine */

#endif
