/*
 * budget.h - the one check that every loop on input makes.
 *
 * A call gets a budget: steps, bytes of output, and a flag that a signal handler sets
 * when the deadline passed or the client cancelled.  A loop calls budget_spend() once a
 * turn (or once for n turns); when it answers false the loop ends, whatever it was doing,
 * and everybody above it ends too.  Only the first reason is kept.
 *
 * A budget may be nested in another (budget_nest): it ends with the outer one or at a
 * deadline of its own, and takes its steps from the outer one in small slices, so that
 * the clock is read once per slice.  What ends at the inner deadline ends alone.
 */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include "base/error.h"

#include <signal.h>

enum budget_stop {
    BUDGET_OK,
    BUDGET_STEPS,  /* too many turns of loops */
    BUDGET_OUTPUT, /* wrote too much */
    BUDGET_MEMORY, /* an expansion, a variable, a sort without a spill became too big */
    BUDGET_HEAP,   /* the process has no memory left (base.h) */
    BUDGET_DEPTH,  /* recursion: functions, subshells, source */
    BUDGET_TASKS,  /* stages, jobs and substitutions running at once */
    BUDGET_TIME,   /* the deadline passed */
    BUDGET_CANCELLED, /* the client asked us to stop */
};

struct budget {
    uint64_t steps;        /* still allowed */
    uint64_t max_steps;    /* what it began with, for the message */
    uint64_t max_memory;   /* ceiling of one value, in bytes */
    unsigned max_depth;    /* functions, subshells, source, eval, nested */
    unsigned timeout_ms;   /* for the message; the clock is a timer of the owner */
    enum budget_stop stop; /* the first reason, or BUDGET_OK */
    /* Set by a signal handler to an enum budget_stop; NULL: no clock, no cancel. */
    volatile sig_atomic_t *alarm;
    struct budget *outer; /* NULL: not nested */
    int64_t deadline_ns;  /* of a nested one, on the monotonic clock; 0: none */
};

bool budget_spend_slow(struct budget *b, uint64_t steps);
bool budget_nested_stopped(struct budget *b);

/* True while there is budget left.  Cheap: an addition and two compares. */
static inline bool budget_spend(struct budget *b, uint64_t steps)
{
    if (LIKELY(b->stop == BUDGET_OK && b->steps >= steps && !(b->alarm && *b->alarm))) {
        b->steps -= steps;
        return true;
    }
    return budget_spend_slow(b, steps);
}

/* Stop for `why` (kept if it is the first).  Returns false. */
bool budget_stop(struct budget *b, enum budget_stop why);

static inline bool budget_stopped(struct budget *b)
{
    return b->stop != BUDGET_OK || (b->alarm && *b->alarm) ||
           (b->outer && budget_nested_stopped(b));
}

/* A budget within `outer` that ends after `ns` nanoseconds (0: no deadline); give what is
 * left of it back with budget_unnest(). */
struct budget budget_nest(struct budget *outer, int64_t ns);

/* Return the unspent steps.  True if it ended by its own deadline; any other reason to
 * stop is passed on to the outer one. */
bool budget_unnest(struct budget *b);

/* The earliest deadline of `b` and those around it; 0: there is none. */
int64_t budget_deadline(const struct budget *b);

/* "stopped after 55 s (limit: time; ...)": names the limit and how it can be changed. */
void budget_describe(const struct budget *b, char *text, size_t size);

#endif
