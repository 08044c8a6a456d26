/*
 * lines.h - bytes to lines, whatever pieces they come in.
 *
 * A line ends with LF or CR LF; lines of only white space are dropped.  A line longer
 * than the ceiling is skipped to its end and reported once.
 */
#ifndef BASE_LINES_H
#define BASE_LINES_H

#include "base/str.h"

struct lines {
    struct buf partial; /* the start of a line whose end has not come */
    size_t max_bytes;
    bool skipping; /* inside a line that is too long */
    void (*line)(void *user, struct str line);
    void (*too_long)(void *user);
    void *user;
};

void lines_init(struct lines *l, size_t max_bytes,
        void (*line)(void *user, struct str line), void (*too_long)(void *user),
        void *user);
void lines_finish(struct lines *l);

void lines_add(struct lines *l, struct str bytes);

/* No more bytes come: what stands there without an end is a line too. */
void lines_end(struct lines *l);

#endif
