#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>

#define FIRST_CHUNK ((size_t)4096)
#define MAX_CHUNK   ((size_t)1 << 20)
#define ALIGN       ((size_t)16)

struct chunk {
    struct chunk *prev;
    size_t used, cap;
    _Alignas(16) char bytes[];
};

struct deferred {
    struct deferred *prev;
    void (*fn)(void *);
    void *p;
};

struct arena {
    struct chunk *last;
    struct chunk
            *spare; /* given back last: a loop at the end of a chunk needs it again */
    struct deferred *deferred;
    size_t size;
    size_t next_chunk;
};

struct arena *arena_create(void)
{
    struct arena *a = xcalloc(1, sizeof(*a));
    a->next_chunk = FIRST_CHUNK;
    return a;
}

void arena_destroy(struct arena *a)
{
    if (!a)
        return;
    arena_rewind(a, (struct arena_mark){ 0 });
    free(a->spare);
    free(a);
}

static struct chunk *new_chunk(struct arena *a, size_t size)
{
    size_t cap = a->next_chunk;
    if (a->next_chunk < MAX_CHUNK)
        a->next_chunk *= 2;
    if (cap < size)
        cap = size;
    struct chunk *c = xmalloc(sizeof(*c) + cap);
    c->cap = cap;
    return c;
}

static struct chunk *add_chunk(struct arena *a, size_t size)
{
    struct chunk *c =
            a->spare && a->spare->cap >= size ? TAKE(a->spare) : new_chunk(a, size);
    c->prev = a->last;
    c->used = 0;
    a->last = c;
    a->size += sizeof(*c) + c->cap;
    return c;
}

void *arena_alloc(struct arena *a, size_t size)
{
    size = (size + ALIGN - 1) & ~(ALIGN - 1);
    struct chunk *c = a->last;
    if (!c || size > c->cap - c->used)
        c = add_chunk(a, size);
    void *p = c->bytes + c->used;
    c->used += size;
    return p;
}

void *arena_zalloc(struct arena *a, size_t size)
{
    return memset(arena_alloc(a, size), 0, size);
}

char *arena_cstr(struct arena *a, struct str s)
{
    char *p = arena_alloc(a, s.len + 1);
    if (s.len)
        memcpy(p, s.data, s.len);
    p[s.len] = 0;
    return p;
}

struct str arena_str(struct arena *a, struct str s)
{
    return (struct str){ arena_cstr(a, s), s.len };
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *p = arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
    p[0] = 0;
    if (n >= 0)
        vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

void arena_defer(struct arena *a, void (*fn)(void *), void *p)
{
    struct deferred *d = arena_alloc(a, sizeof(*d));
    *d = (struct deferred){ a->deferred, fn, p };
    a->deferred = d;
}

struct arena_mark arena_mark(const struct arena *a)
{
    return (struct arena_mark){ a->last, a->last ? a->last->used : 0, a->deferred };
}

/* Keep the largest one; the others go to the system. */
static void give_back(struct arena *a, struct chunk *c)
{
    bool keep = c->cap <= MAX_CHUNK && (!a->spare || a->spare->cap < c->cap);
    free(keep ? a->spare : c);
    if (keep)
        a->spare = c;
}

void arena_rewind(struct arena *a, struct arena_mark mark)
{
    while (a->deferred != mark.deferred) {
        struct deferred *d = a->deferred;
        a->deferred = d->prev;
        d->fn(d->p);
    }
    while (a->last != mark.chunk) {
        struct chunk *c = a->last;
        a->last = c->prev;
        a->size -= sizeof(*c) + c->cap;
        give_back(a, c);
    }
    if (a->last)
        a->last->used = mark.used;
}

size_t arena_size(const struct arena *a)
{
    return a->size;
}

void arena_auto_destroy(struct arena **a)
{
    arena_destroy(*a);
}
