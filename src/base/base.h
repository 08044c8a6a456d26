/*
 * base.h - the few words every file uses: attributes, cleanup, allocation.
 *
 * Memory that runs out ends the process: size is bounded by ceilings (str.h, budget.h),
 * so a failed malloc is a fault of ours or of the machine, never an input to handle.
 */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include <assert.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define MUST_CHECK     __attribute__((warn_unused_result))
#define PRINTF(f, a)   __attribute__((format(printf, f, a)))
#define UNUSED         __attribute__((unused))
#define NORETURN       __attribute__((noreturn))
#define AUTO(fn)       __attribute__((cleanup(fn)))
#define ARRAY_LEN(a)   (sizeof(a) / sizeof((a)[0]))
#define LIKELY(cond)   __builtin_expect(!!(cond), 1)
#define UNLIKELY(cond) __builtin_expect(!!(cond), 0)

/* An automatic variable that cleans up after itself: `auto_free char *p = NULL;`. */
#define auto_free AUTO(base_auto_free)
#define auto_fd   AUTO(base_auto_close)

/* Hand the pointer on and forget it, so that its auto_free does nothing. */
#define TAKE(p)                    \
    ({                             \
        __typeof__(p) take_ = (p); \
        (p) = NULL;                \
        take_;                     \
    })

/* Like malloc and friends, but abort instead of returning NULL. */
void *xmalloc(size_t size) __attribute__((malloc));
void *xcalloc(size_t count, size_t size) __attribute__((malloc));
void *xrealloc(void *p, size_t size) MUST_CHECK;
char *xstrdup(const char *text) __attribute__((malloc));

/*
 * Keep `size` bytes back for the moment when there is no memory left.  The allocation
 * that fails then gets them and sets `*flag` to `value` (unless it is set already), so
 * that a process under a limit can unwind instead of abort.  Asked again, it makes good
 * what was used; false: there is not that much.
 */
bool memory_reserve(size_t size, volatile sig_atomic_t *flag, int value);

/*
 * Make room for one more element in a growing array: `items`, `count`, `cap` are lvalues.
 *   GROW(list->items, list->count, list->cap);
 *   list->items[list->count++] = item;
 */
#define GROW(items, count, cap)                                    \
    do {                                                           \
        if ((count) >= (cap)) {                                    \
            (cap) = (cap) ? (cap)*2 : 8;                           \
            (items) = xrealloc((items), (cap) * sizeof(*(items))); \
        }                                                          \
    } while (0)

/* Closes `*fd` unless it is negative, and sets it to -1; keeps errno. */
void close_fd(int *fd);

void base_auto_free(void *pp);
void base_auto_close(int *fd);

#endif
