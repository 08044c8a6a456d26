#include "base/budget.h"

#include <stdio.h>
#include <time.h>

#define SLICE 256 /* steps between two looks at the clock */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

bool budget_stop(struct budget *b, enum budget_stop why)
{
    if (b->stop == BUDGET_OK)
        b->stop = why;
    return false;
}

bool budget_nested_stopped(struct budget *b)
{
    if (b->deadline_ns && now_ns() >= b->deadline_ns)
        budget_stop(b, BUDGET_TIME);
    else if (budget_stopped(b->outer))
        budget_stop(b, b->outer->stop);
    return b->stop != BUDGET_OK;
}

/* Take the next slice from the outer budget. */
static bool refill(struct budget *b, uint64_t steps)
{
    if (budget_nested_stopped(b))
        return false;
    if (!budget_spend(b->outer, steps + SLICE))
        return budget_stop(b, b->outer->stop);
    b->steps += SLICE;
    return true;
}

bool budget_spend_slow(struct budget *b, uint64_t steps)
{
    if (b->alarm && *b->alarm)
        return budget_stop(b, (enum budget_stop) * b->alarm);
    if (b->stop != BUDGET_OK)
        return false;
    return b->outer ? refill(b, steps) : budget_stop(b, BUDGET_STEPS);
}

struct budget budget_nest(struct budget *outer, int64_t ns)
{
    struct budget b = *outer;
    b.steps = 0;
    b.outer = outer;
    b.deadline_ns = ns > 0 ? now_ns() + ns : 0;
    return b;
}

bool budget_unnest(struct budget *b)
{
    b->outer->steps += b->steps;
    b->steps = 0;
    bool by_alarm = b->alarm && *b->alarm;
    bool by_deadline = b->stop == BUDGET_TIME && b->deadline_ns && !by_alarm &&
                       !budget_stopped(b->outer);
    if (b->stop != BUDGET_OK && !by_deadline)
        budget_stop(b->outer, b->stop);
    return by_deadline;
}

int64_t budget_deadline(const struct budget *b)
{
    int64_t earliest = 0;
    for (; b; b = b->outer)
        if (b->deadline_ns && (!earliest || b->deadline_ns < earliest))
            earliest = b->deadline_ns;
    return earliest;
}

void budget_describe(const struct budget *b, char *text, size_t size)
{
    switch (b->stop) {
    case BUDGET_OK:
        snprintf(text, size, "not stopped");
        break;
    case BUDGET_STEPS:
        snprintf(text, size, "stopped: limit of %llu steps exceeded (endless loop?)",
                (unsigned long long)b->max_steps);
        break;
    case BUDGET_OUTPUT:
        snprintf(text, size, "stopped: output limit exceeded");
        break;
    case BUDGET_MEMORY:
        snprintf(text, size,
                "stopped: a value, or the variables together, became too large (limit "
                "%llu MiB)",
                (unsigned long long)(b->max_memory >> 20));
        break;
    case BUDGET_HEAP:
        snprintf(text, size,
                "stopped: out of memory (what is kept at once: variables, "
                "arrays, unsorted lines)");
        break;
    case BUDGET_DEPTH:
        snprintf(text, size, "stopped: recursion limit of %u levels exceeded",
                b->max_depth);
        break;
    case BUDGET_TASKS:
        snprintf(
                text, size, "stopped: limit of stages and jobs running at once exceeded");
        break;
    case BUDGET_TIME:
        snprintf(text, size, "stopped: time limit of %u.%03u s exceeded",
                b->timeout_ms / 1000, b->timeout_ms % 1000);
        break;
    case BUDGET_CANCELLED:
        snprintf(text, size, "stopped: cancelled by the client");
        break;
    }
}
