/*
 * utf8.h - UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, up to
 * U+10FFFF.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/str.h"

/*
 * Length of the valid sequence at the start of `s` (1..4), and its code point; 0 if the
 * bytes there are not valid UTF-8 or `s` is empty.
 */
size_t utf8_decode(struct str s, uint32_t *code);

/* Write `code` as UTF-8; returns the length, 1..4. */
size_t utf8_write(uint32_t code, char out[4]);

/* Bytes at the start of `s` that are UTF-8. */
size_t utf8_valid_len(struct str s);

static inline bool utf8_valid(struct str s)
{
    return utf8_valid_len(s) == s.len;
}

/* Characters in `s`, each bad byte counting as one. */
size_t utf8_count(struct str s);

/* Bytes of the first `chars` characters of `s` (all of it if it has fewer). */
size_t utf8_offset(struct str s, size_t chars);

/*
 * How long a text is for a model that reads it, which is what replies are limited by: a
 * character counts for one, but from three bytes on (East Asian scripts, emoji) for as
 * many as it has bytes.
 */
size_t utf8_cost(struct str s);

/* Bytes of the longest start of `s` that costs no more than `cost`. */
size_t utf8_cost_offset(struct str s, size_t cost);

/* Bytes of the longest end of `s` that costs no more than `cost`. */
size_t utf8_cost_tail(struct str s, size_t cost);

/* Append `s`, each maximal bad part (W3C practice) replaced by U+FFFD. */
void utf8_repair(struct str s, struct buf *out);

#endif
