#include "shell/builtin/number.h"
#include "shell/builtin/quote.h"

#include <unistd.h>

enum { OPT_ALL = 256, OPT_IGNORE };

static const struct cmd_opt options[] = {
    { OPT_ALL, "all", ARG_NONE, NULL, "all processors of the machine" },
    { OPT_IGNORE, "ignore", ARG_REQUIRED, "N", "leave out N of them" },
    { 0 },
};

static int cmd_nproc(struct cmd *c)
{
    uint64_t ignore = 0;
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (k == CMD_BAD)
            return 1;
        if (k == OPT_IGNORE && !number_plain(str_of(o.value), &ignore)) {
            cmd_err(c, "invalid number: %s", quote(c, o.value));
            return 1;
        }
    }
    if (c->argc)
        return extra_operand(c, c->argv[0]);
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t n = count > 0 ? (uint64_t)count : 1;
    n = n > ignore ? n - ignore : 1;
    return cmd_printf(c, "%llu\n", (unsigned long long)n) ? 0 : 1;
}

const struct command command_nproc = {
    "nproc",
    cmd_nproc,
    options,
    "[OPTION]...",
    "Print how many processors there are.",
    0,
};
