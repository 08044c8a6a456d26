#include "shell/builtin/input.h"
#include "shell/builtin/number.h"
#include "shell/builtin/quote.h"

static const struct cmd_opt options[] = {
    { 'b', "bytes", ARG_NONE, NULL, "count bytes, not columns" },
    { 's', "spaces", ARG_NONE, NULL, "break at blanks" },
    { 'w', "width", ARG_REQUIRED, "WIDTH", "instead of 80" },
    { 0 },
};

struct fold {
    struct cmd *c;
    bool bytes, spaces;
    uint64_t width;
};

/* The column after `ch` at `column`. */
static uint64_t next_column(const struct fold *f, uint64_t column, char ch)
{
    if (f->bytes)
        return column + 1;
    if (ch == '\b')
        return column ? column - 1 : 0;
    if (ch == '\r')
        return 0;
    return ch == '\t' ? column + 8 - column % 8 : column + 1;
}

/* Where to break `s` when the byte at `at` does not fit. */
static size_t break_at(const struct fold *f, struct str s, size_t at)
{
    for (size_t i = at; f->spaces && i--;)
        if (s.data[i] == ' ' || s.data[i] == '\t')
            return i + 1;
    return at;
}

static bool fold_line(const struct fold *f, struct str line, bool ended)
{
    uint64_t column = 0;
    size_t i = 0;
    while (i < line.len && cmd_tick(f->c)) {
        uint64_t next = next_column(f, column, line.data[i]);
        if (next <= f->width || !i) {
            column = next;
            i++;
            continue;
        }
        size_t len = break_at(f, line, i);
        if (!cmd_put(f->c, str_sub(line, 0, len)) || !cmd_putc(f->c, '\n'))
            return false;
        line = str_from(line, len);
        column = 0;
        i = 0;
    }
    return cmd_put(f->c, line) && (!ended || cmd_putc(f->c, '\n'));
}

/* fold -3 is fold -w3. */
static void rewrite_old(struct cmd *c)
{
    for (int i = 1; i < c->argc && strcmp(c->argv[i], "--"); i++) {
        const char *arg = c->argv[i];
        if (arg[0] == '-' && arg[1] >= '0' && arg[1] <= '9')
            c->argv[i] = arena_printf(c->arena, "-w%s", arg + 1);
        else if (!strcmp(arg, "-w") || !strcmp(arg, "--width"))
            i++;
    }
}

static int cmd_fold(struct cmd *c)
{
    struct fold f = { .c = c, .width = 80 };
    rewrite_old(c);
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (k == CMD_BAD)
            return 1;
        f.bytes |= k == 'b';
        f.spaces |= k == 's';
        if (k == 'w' && (!number_plain(str_of(o.value), &f.width) || !f.width)) {
            cmd_err(c, "invalid number of columns: %s", quote(c, o.value));
            return 1;
        }
    }
    struct inputs in = inputs_open(c);
    while (inputs_next(&in)) {
        struct str line;
        bool ended;
        while (input_line(c, in.stream, '\n', &line, &ended))
            if (!fold_line(&f, line, ended))
                return inputs_stop(&in);
    }
    return in.status;
}

const struct command command_fold = {
    "fold",
    cmd_fold,
    options,
    "[OPTION]... [FILE]...",
    "Break long lines.",
    0,
};
