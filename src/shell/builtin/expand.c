#include "shell/builtin/input.h"
#include "shell/builtin/tabs.h"

static const struct cmd_opt options[] = {
    { 'i', "initial", ARG_NONE, NULL, "only tabs before the text of a line" },
    { 't', "tabs", ARG_REQUIRED, "LIST",
            "tab stops: N for every N columns (8), or a list" },
    { 0 },
};

static bool expand_line(struct cmd *c, const struct tabs *tabs, bool initial,
        struct str line, struct buf *out)
{
    uint64_t column = 0, stop;
    bool blank = true; /* only blanks so far */
    for (size_t i = 0; i < line.len; i++) {
        char ch = line.data[i];
        if (ch == '\t' && (blank || !initial)) {
            if (!tabs_next(tabs, column, &stop))
                stop = column + 1;
            if (stop - column > c->budget->max_memory)
                return budget_stop(c->budget, BUDGET_MEMORY);
            for (; column < stop; column++)
                buf_addc(out, ' ');
            continue;
        }
        blank = blank && (ch == ' ' || ch == '\t');
        column += ch == '\b' ? (uint64_t) - (int64_t)(column != 0) : 1;
        buf_addc(out, ch);
    }
    return !out->full;
}

static int cmd_expand(struct cmd *c)
{
    struct tabs tabs = { 0 };
    bool initial = false;
    tabs_rewrite_old(c);
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (k == CMD_BAD || (k == 't' && !tabs_parse(c, o.value, &tabs)))
            return 1;
        initial |= k == 'i';
    }
    tabs_finish(&tabs);
    auto_buf out = BUF(c->budget->max_memory);
    struct inputs in = inputs_open(c);
    while (inputs_next(&in)) {
        struct str line;
        bool ended;
        while (input_line(c, in.stream, '\n', &line, &ended)) {
            buf_clear(&out);
            if (!expand_line(c, &tabs, initial, line, &out))
                return inputs_stop(&in);
            if (ended)
                buf_addc(&out, '\n');
            if (!cmd_put(c, buf_str(&out)))
                return inputs_stop(&in);
        }
    }
    return in.status;
}

const struct command command_expand = {
    "expand",
    cmd_expand,
    options,
    "[OPTION]... [FILE]...",
    "Replace tabs by spaces.",
    0,
};
