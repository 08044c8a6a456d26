/*
 * output.h - the text of a run result: what a terminal would show, cut to a ceiling.
 *
 * Text goes in as it is written, stdout and stderr in one order; however much comes, only
 * the text that can be shown is kept: the first two thirds of the ceiling and the last
 * third, as utf8_cost() measures it.  Bytes that are not UTF-8 become U+FFFD, and a cut
 * never splits a character.  Escape sequences are left as they are
 * (those of programs are gone by then: shell/run-program.c).
 */
#ifndef WORKER_OUTPUT_H
#define WORKER_OUTPUT_H

#include "base/str.h"

#define OUTPUT_DEFAULT_MAX 30000

struct output {
    size_t max;      /* by utf8_cost() */
    struct buf head; /* the first two thirds of `max` */
    struct buf rest; /* what came after; its front is dropped from time to time */
    size_t head_cost, rest_cost;
    bool head_full;
    /* From the front of `rest`. */
    uint64_t dropped_bytes, dropped_chars, dropped_lines;
    char partial[4]; /* a character that has not come whole yet */
    size_t partial_len;
};

/* `max` as above; 0 means OUTPUT_DEFAULT_MAX. */
void output_init(struct output *o, size_t max);
void output_finish(struct output *o);

void output_add(struct output *o, struct str bytes);

/* Append the result to `out`: the text, a note in the middle if some was left out, and
 * `[exit N]` unless the status is 0.  The output is then complete: add no more. */
void output_write(struct output *o, int status, struct buf *out);

/* All three in one, for text that is already there. */
void output_format(struct str bytes, size_t max, int status, struct buf *out);

#endif
