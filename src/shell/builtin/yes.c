#include "shell/builtin/quote.h"

static const struct cmd_opt options[] = { { 0 } };

static int cmd_yes(struct cmd *c)
{
    struct cmd_options o = cmd_options(c);
    if (cmd_next(&o) != CMD_END)
        return 1;
    auto_buf line = BUF(SIZE_MAX / 4), block = BUF(SIZE_MAX / 4);
    for (int i = 0; i < c->argc; i++) {
        buf_add(&line, i ? STR(" ") : STR(""));
        buf_add(&line, str_of(c->argv[i]));
    }
    if (!c->argc)
        buf_addc(&line, 'y');
    buf_addc(&line, '\n');
    do
        buf_add(&block, buf_str(&line));
    while (block.len < 16384);
    while (cmd_tick(c) && cmd_put(c, buf_str(&block)))
        ;
    return 1;
}

const struct command command_yes = {
    "yes",
    cmd_yes,
    options,
    "[STRING]...",
    "Print a line again and again, until nobody reads any more.",
    0,
};
