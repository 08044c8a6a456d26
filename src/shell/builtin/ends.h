/*
 * ends.h - what head and tail share: their options, headers, and a queue that keeps the
 * last lines or bytes of a stream.
 */
#ifndef SHELL_BUILTIN_ENDS_H
#define SHELL_BUILTIN_ENDS_H

#include "shell/builtin/input.h"

struct ends {
    struct cmd *c;
    uint64_t count;
    bool bytes;      /* count bytes, not lines */
    bool from_start; /* tail +K */
    bool from_end;   /* head -K */
    bool headers, follow;
    char end; /* of a line */
};

extern const struct cmd_opt head_options[];
extern const struct cmd_opt tail_options[];

/* Reads the options of head or tail; false: the status is 1. */
bool ends_parse(struct cmd *c, bool is_tail, struct ends *e);

/* "==> name <==" where it is wanted; `first`: no empty line before. */
bool ends_header(const struct ends *e, const char *name, bool first);

/*
 * Bytes that wait: those of the last `count` lines (or bytes) seen.  What falls out at
 * the front goes to stdout if `emit`.  False: stdout failed, or too much to keep.
 */
struct queue {
    const struct ends *e;
    struct buf bytes;
    size_t start;   /* the first byte still kept */
    uint64_t lines; /* complete lines kept */
    bool emit;
};

bool queue_add(struct queue *q, struct str data);
struct str queue_kept(struct queue *q);

#endif
