#include "tool/time-limit.h"

#include "tool/describe.h"

static void refuse(double seconds, double most, struct buf *why)
{
    buf_add(why, STR("timeout "));
    describe_seconds(seconds, why);
    buf_add(why, seconds > 0 ? STR("s exceeds maximum ")
                             : STR("s must be positive, and at most "));
    describe_seconds(most, why);
    buf_addc(why, 's');
}

bool time_limit_read(const struct policy *policy, const json_t *args,
        unsigned *timeout_ms, struct buf *why)
{
    const json_t *given = json_object_get(args, "timeout");
    double most = policy->max_timeout_ms / 1e3, seconds = json_number_value(given);
    if (!json_is_number(given)) {
        bool fits = policy->timeout_ms < policy->max_timeout_ms;
        *timeout_ms = fits ? policy->timeout_ms : policy->max_timeout_ms;
        return true;
    }
    if (seconds <= 0 || seconds > most) {
        refuse(seconds, most, why);
        return false;
    }
    *timeout_ms = seconds < 0.001 ? 1 : (unsigned)(seconds * 1e3);
    return true;
}

void time_limit_tell(const struct policy *policy, const char *what, unsigned timeout_ms,
        struct buf *out)
{
    buf_addf(out, "TimeoutError: the %s did not end within its limit of ", what);
    describe_seconds(timeout_ms / 1e3, out);
    buf_add(out, STR("s and was stopped, with all that it had started. "));
    if (timeout_ms >= policy->max_timeout_ms) {
        buf_add(out, STR("No call gets more: let it do less at a time.\n"));
        return;
    }
    buf_add(out, STR("Pass a larger 'timeout' (at most "));
    describe_seconds(policy->max_timeout_ms / 1e3, out);
    buf_add(out, STR("s) if it needs more time.\n"));
}
