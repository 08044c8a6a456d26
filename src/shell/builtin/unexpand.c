#include "shell/builtin/input.h"
#include "shell/builtin/tabs.h"

enum { OPT_FIRST = 256 };

static const struct cmd_opt options[] = {
    { 'a', "all", ARG_NONE, NULL, "all blanks, not only those before the text" },
    { OPT_FIRST, "first-only", ARG_NONE, NULL, "only those before the text" },
    { 't', "tabs", ARG_REQUIRED, "LIST",
            "tab stops: N for every N columns (8), or a list; implies -a" },
    { 0 },
};

/* A row of blanks from column `from` to `to`. */
static void add_blanks(const struct tabs *tabs, uint64_t from, uint64_t to,
        bool one_space, struct buf *out)
{
    uint64_t stop;
    if (one_space) { /* a single space before text is worth no tab */
        buf_addc(out, ' ');
        return;
    }
    while (tabs_next(tabs, from, &stop) && stop <= to) {
        buf_addc(out, '\t');
        from = stop;
    }
    for (; from < to; from++)
        buf_addc(out, ' ');
}

static void unexpand_line(
        const struct tabs *tabs, bool all, struct str line, struct buf *out)
{
    uint64_t column = 0, from = 0, stop;
    size_t spaces = 0; /* of the row of blanks before here */
    bool tab = false, text = false;
    for (size_t i = 0; i <= line.len; i++) {
        char ch = i < line.len ? line.data[i] : 0;
        bool blank = i < line.len && (ch == ' ' || ch == '\t') && (all || !text);
        if (blank) {
            from = spaces || tab ? from : column;
            tab |= ch == '\t';
            spaces += ch == ' ';
            column = ch == '\t' && tabs_next(tabs, column, &stop) ? stop : column + 1;
            continue;
        }
        if (spaces || tab)
            add_blanks(tabs, from, column, spaces == 1 && !tab && text, out);
        spaces = 0;
        tab = false;
        if (i == line.len)
            break;
        text = true;
        column += ch == '\b' ? (uint64_t) - (int64_t)(column != 0) : 1;
        buf_addc(out, ch);
    }
}

static int cmd_unexpand(struct cmd *c)
{
    struct tabs tabs = { 0 };
    bool all = false, first = false;
    tabs_rewrite_old(c);
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (k == CMD_BAD || (k == 't' && !tabs_parse(c, o.value, &tabs)))
            return 1;
        all |= k == 'a' || k == 't';
        first |= k == OPT_FIRST;
    }
    tabs_finish(&tabs);
    auto_buf out = BUF(c->budget->max_memory);
    struct inputs in = inputs_open(c);
    while (inputs_next(&in)) {
        struct str line;
        bool ended;
        while (input_line(c, in.stream, '\n', &line, &ended)) {
            buf_clear(&out);
            unexpand_line(&tabs, all && !first, line, &out);
            if (ended)
                buf_addc(&out, '\n');
            if (!cmd_put(c, buf_str(&out)))
                return inputs_stop(&in);
        }
    }
    return in.status;
}

const struct command command_unexpand = {
    "unexpand",
    cmd_unexpand,
    options,
    "[OPTION]... [FILE]...",
    "Replace rows of blanks by tabs.",
    0,
};
