#include "shell/builtin/interval.h"
#include "shell/builtin/quote.h"
#include "shell/state.h"

static const struct cmd_opt options[] = { { 0 } };

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
        double seconds = 0;
        if (!interval_parse(c->argv[i], &seconds)) {
            cmd_err(c, "invalid time interval %s", quote(c, c->argv[i]));
            ok = false;
        }
        total += seconds;
    }
    if (!ok)
        return try_help(c, 1);
    if (total > INTERVAL_MAX)
        total = INTERVAL_MAX;
    bool unused UNUSED = sched_sleep(c->shell->sched, (int64_t)(total * 1e9));
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
