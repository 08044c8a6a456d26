/*
 * arena.h - memory that is freed all at once.
 *
 * One arena per call, per parsed script, per configuration: what a function makes "in
 * `arena`" lives as long as that, and nobody frees it piece by piece.  Functions can be
 * deferred to the end (close a file, drop a reference).  A mark lets a loop give back
 * what its last turn used.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/str.h"

struct arena;

struct arena_mark {
    void *chunk;
    size_t used;
    void *deferred;
};

struct arena *arena_create(void);
void arena_destroy(
        struct arena *a); /* runs what was deferred, last first; NULL is fine */

void *arena_alloc(struct arena *a, size_t size);  /* 16-byte aligned, not cleared */
void *arena_zalloc(struct arena *a, size_t size); /* cleared */

/* A NUL-terminated copy. */
struct str arena_str(struct arena *a, struct str s);
char *arena_cstr(struct arena *a, struct str s);
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF(2, 3);

/* Call `fn(p)` when the arena is destroyed. */
void arena_defer(struct arena *a, void (*fn)(void *), void *p);

/* Give back everything allocated since the mark, and run what was deferred since then. */
struct arena_mark arena_mark(const struct arena *a);
void arena_rewind(struct arena *a, struct arena_mark mark);

/* Bytes of the chunks in use. */
size_t arena_size(const struct arena *a);

void arena_auto_destroy(struct arena **a);
#define auto_arena AUTO(arena_auto_destroy) struct arena

#endif
