/*
 * str.h - text: `struct str` looks at bytes, `struct buf` collects them.
 *
 * A str is a borrowed view: pointer and length, no NUL promised, never freed.  A buf owns
 * its bytes, keeps a NUL after them, and has a ceiling.  Going over the ceiling sets
 * `full` and drops the rest, so a builder appends freely and asks once, at the end,
 * whether it all fitted.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include "base/error.h"

#include <string.h>

struct arena;

struct str {
    const char *data;
    size_t len;
};

#define STR(literal) ((struct str){ "" literal, sizeof(literal) - 1 })
#define STR_ARG(s)   (int)(s).len, (s).data /* for "%.*s" */

static inline struct str str_of(const char *text)
{
    return (struct str){ text, strlen(text) };
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && (!a.len || !memcmp(a.data, b.data, a.len));
}

static inline bool str_is(struct str a, const char *text)
{
    return str_eq(a, str_of(text));
}

bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);

/* Byte order, shorter first: what strcmp is to C strings. */
int str_cmp(struct str a, struct str b);

/* The bytes with a NUL after them, to be freed by the caller. */
char *str_copy(struct str s) __attribute__((malloc));

/* The part of `s` from `from` on; both ends are clamped. */
struct str str_from(struct str s, size_t from);
struct str str_sub(struct str s, size_t from, size_t len);

/* Cut `*rest` at the first `sep`: returns the part before it, or all of it. */
struct str str_cut(struct str *rest, char sep);

/* How often `c` occurs. */
size_t str_count(struct str s, char c);

/* Which of the words it is: an index, or `count` if it is none of them. */
size_t str_which(struct str s, const char *const *words, size_t count);

/* A whole decimal number with optional sign and nothing else; false if it is none. */
bool str_int(struct str s, int64_t *out);

/* The other direction, at the end of `text`. */
enum { STR_INT_MAX = 24 };
struct str str_of_int(int64_t n, char text[STR_INT_MAX]);

struct buf {
    char *data; /* NULL until the first byte */
    size_t len, cap, max;
    bool full;
};

#define BUF(ceiling) ((struct buf){ .max = (ceiling) })
#define auto_buf     AUTO(buf_finish) struct buf

void buf_finish(struct buf *b);
void buf_clear(struct buf *b); /* keeps the memory */
void buf_add(struct buf *b, struct str s);
void buf_addc(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);
void buf_add_hex(struct buf *b, const void *bytes, size_t count);
void buf_add_shown(struct buf *b, struct str s); /* '?' for what is not to reach a line */
void buf_add_escaped(struct buf *b, struct str s); /* the same as "\x0a", to tell names */
void buf_add_u32(struct buf *b, uint32_t n);       /* little-endian, for wire.c */

/* Room for `n` more bytes: a place to write to (then add to len), or NULL when full. */
char *buf_reserve(struct buf *b, size_t n);

static inline struct str buf_str(const struct buf *b)
{
    return (struct str){ b->data ? b->data : "", b->len };
}

#endif
