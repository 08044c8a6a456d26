#include "shell/builtin/quote.h"

#include <math.h>
#include <time.h>

static const struct cmd_opt options[] = { { 0 } };

/* NUMBER[smhd] in seconds; negative: it is none. */
static double parse_interval(const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || !(seconds >= 0))
        return -1;
    if (*end && end[1])
        return -1;
    switch (*end) {
    case 0:
    case 's':
        return seconds;
    case 'm':
        return seconds * 60;
    case 'h':
        return seconds * 3600;
    case 'd':
        return seconds * 86400;
    default:
        return -1;
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int cmd_sleep(struct cmd *c)
{
    double total = 0;
    bool ok = true;
    struct cmd_options o = cmd_options(c);
    if (cmd_next(&o) != CMD_END)
        return 1;
    if (!c->argc)
        return missing_operand(c);
    for (int i = 0; i < c->argc; i++) {
        double seconds = parse_interval(c->argv[i]);
        if (seconds < 0) {
            cmd_err(c, "invalid time interval %s", quote(c, c->argv[i]));
            ok = false;
        }
        total += seconds;
    }
    if (!ok)
        return try_help(c, 1);
    /* In short steps, so that the deadline and a cancellation are seen. */
    for (double left, end = now() + total; (left = end - now()) > 0 && cmd_tick(c);) {
        double step = left < 0.02 ? left : 0.02;
        nanosleep(&(struct timespec){ .tv_nsec = (long)(step * 1e9) }, NULL);
    }
    return 0;
}

const struct command command_sleep = {
    "sleep",
    cmd_sleep,
    options,
    "NUMBER[SUFFIX]...",
    "Wait for so many seconds (s), minutes (m), hours (h) or days (d).",
    0,
};
