/*
 * output.h - lines for who started us, which may be slow to read them.
 */
#ifndef BRIDGE_OUTPUT_H
#define BRIDGE_OUTPUT_H

#include "base/json.h"

/* With more than that waiting nothing more is fetched. */
#define OUTPUT_HIGH_WATER ((size_t)1 << 20)

struct output {
    int fd;
    struct buf waiting;
    size_t sent;    /* bytes of `waiting` */
    bool is_broken; /* nobody reads any more */
};

/* The descriptor becomes one that does not block; it stays the caller's. */
void output_init(struct output *o, int fd);
void output_finish(struct output *o);

/* A JSON text: line breaks in it, which can only stand between its parts, become spaces.
 */
void output_add(struct output *o, struct str json);
void output_add_json(struct output *o, const json_t *json);

/* Write what can be written now. */
void output_flush(struct output *o);

static inline size_t output_waiting(const struct output *o)
{
    return o->waiting.len - o->sent;
}

#endif
