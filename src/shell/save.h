/*
 * save.h - a shell put into bytes between two runs, and made from them again.
 *
 * What a later run could see is kept: directory, variables with their attributes,
 * functions, aliases, options, traps, positional parameters, $? and the like.  (A
 * function is printed and parsed again, so its $LINENO counts the lines of that.)  Open
 * descriptors are not kept: a shell that has some cannot be saved.  Nor can one that
 * could not be made again, which is tried: better awake than lost.  The bytes are JSON:
 *
 *   {"version":1,"cwd":"/src","vars":[...],"functions":[...],...}
 *
 * They come from outside: whoever kept them may have changed them.  A shell that is made
 * from any bytes at all can do no more than one that a script has brought there.
 */
#ifndef SHELL_SAVE_H
#define SHELL_SAVE_H

#include "base/json.h"
#include "base/str.h"

#define SHELL_SAVE_VERSION 1
#define SHELL_SAVE_MAX     ((size_t)4 << 20) /* bytes */

struct shell;

/* Append the state.  ERR_UNSUPPORTED: something is in it that cannot be kept (an open
 * descriptor that is no file, ...); ERR_LIMIT: it would be longer than SHELL_SAVE_MAX.
 * The message says what; `out` is as it was. */
MUST_CHECK bool shell_save(struct shell *sh, struct buf *out, struct error *err);

/* A shell that has run nothing becomes the one that was saved.  ERR_INVALID: `state` is
 * none, or of another version; the shell is then as it was. */
MUST_CHECK bool shell_load(struct shell *sh, const json_t *state, struct error *err);

#endif
