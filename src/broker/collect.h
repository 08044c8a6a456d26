/*
 * collect.h - the first and the last part of a stream of any length, in bounded memory.
 */
#ifndef BROKER_COLLECT_H
#define BROKER_COLLECT_H

#include "base/str.h"

struct collector {
    struct buf head; /* its ceiling is what is kept of the start */
    char *ring;      /* what came last; NULL until the head is full */
    size_t ring_size;
    uint64_t beyond;       /* bytes that came after the head */
    uint64_t beyond_lines; /* newlines among them */
};

void collector_init(struct collector *c, size_t head_bytes, size_t tail_bytes);
void collector_finish(struct collector *c);
void collector_add(struct collector *c, struct str bytes);

/* What came last, after the head, in order; once, at the end. */
struct str collector_tail(struct collector *c);

/* Bytes between the two, and newlines among them. */
uint64_t collector_dropped(const struct collector *c);
uint64_t collector_dropped_lines(const struct collector *c);

#endif
