/*
 * lanes.h - sixteen bytes looked at in one step.
 */
#ifndef BASE_LANES_H
#define BASE_LANES_H

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define LANES 16

typedef unsigned char lanes_t __attribute__((vector_size(LANES)));

static inline lanes_t lanes_load(const char *p)
{
    lanes_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline lanes_t lanes_all(char c)
{
    return (lanes_t){ 0 } + (unsigned char)c;
}

/* Bit i: lane i is not zero.  Lanes are 0 or 0xff, as comparisons make them. */
static inline unsigned lanes_mask(lanes_t v)
{
#ifdef __SSE2__
    return (unsigned)_mm_movemask_epi8((__m128i)v);
#else
    unsigned mask = 0;
    for (unsigned i = 0; i < LANES; i++)
        mask |= (unsigned)(v[i] >> 7) << i;
    return mask;
#endif
}

#endif
