#include "base/budget.h"

#include <stdio.h>

bool budget_stop(struct budget *b, enum budget_stop why)
{
    if (b->stop == BUDGET_OK)
        b->stop = why;
    return false;
}

bool budget_stopped_slow(struct budget *b)
{
    if (b->alarm && *b->alarm)
        return budget_stop(b, (enum budget_stop) * b->alarm);
    if (b->stop == BUDGET_OK)
        budget_stop(b, BUDGET_STEPS);
    return false;
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
        snprintf(text, size, "stopped: a value became too large (limit %llu MiB)",
                (unsigned long long)(b->max_memory >> 20));
        break;
    case BUDGET_DEPTH:
        snprintf(text, size, "stopped: recursion limit of %u levels exceeded",
                b->max_depth);
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
