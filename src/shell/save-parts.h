/*
 * save-parts.h - what writing a shell and reading it again share; for the worker too,
 * which adds the files of memory roots.
 */
#ifndef SHELL_SAVE_PARTS_H
#define SHELL_SAVE_PARTS_H

#include "shell/exec.h"
#include "shell/parse.h"
#include "shell/save.h"

#include <time.h>

#define SAVE_SECOND INT64_C(1000000000)

enum { SAVE_READONLY = 1, SAVE_EXPORTED = 2 }; /* of functions */

/* Append any bytes as JSON: a string, or {"bytes":"..."} with a character U+0000..U+00FF
 * for each if they are no UTF-8. */
void save_text(struct str s, struct buf *out);

/* The same read; false: `value` is none.  In `arena` if it is not just borrowed. */
MUST_CHECK bool load_text(const json_t *value, struct arena *arena, struct str *out);

/* Whether a shell could be made of this. */
MUST_CHECK bool load_check(struct str text, struct error *err);

/* ns of the clock that $SECONDS goes by. */
static inline int64_t save_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * SAVE_SECOND + t.tv_nsec;
}

#endif
