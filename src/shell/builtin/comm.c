#include "shell/builtin/input.h"
#include "shell/builtin/quote.h"

enum { OPT_CHECK = 256, OPT_NO_CHECK, OPT_OUTPUT, OPT_TOTAL };

static const struct cmd_opt options[] = {
    { '1', NULL, ARG_NONE, NULL, "leave out lines only in FILE1" },
    { '2', NULL, ARG_NONE, NULL, "leave out lines only in FILE2" },
    { '3', NULL, ARG_NONE, NULL, "leave out lines in both" },
    { OPT_CHECK, "check-order", ARG_NONE, NULL, "fail at once if a file is not sorted" },
    { OPT_NO_CHECK, "nocheck-order", ARG_NONE, NULL, "do not mind that" },
    { OPT_OUTPUT, "output-delimiter", ARG_REQUIRED, "STR",
            "what is between columns (TAB)" },
    { OPT_TOTAL, "total", ARG_NONE, NULL, "print how many lines each column has" },
    { 'z', "zero-terminated", ARG_NONE, NULL, "lines end with NUL" },
    { 0 },
};

struct side {
    struct stream *in;
    const char *name;
    struct str line; /* valid while `has_line` */
    struct buf last; /* the line before, for the order */
    bool has_line, has_last, disordered;
};

struct comm {
    struct cmd *c;
    bool hide[3], check, no_check, total;
    const char *between;
    char end;
    uint64_t counts[3];
    struct side sides[2];
    bool unpaired; /* then order is worth a complaint */
    bool failed;
};

static void report_order(struct comm *m, int which)
{
    struct side *side = &m->sides[which];
    if (side->disordered || m->no_check || !(m->check || m->unpaired))
        return;
    side->disordered = true;
    cmd_err(m->c, "file %d is not in sorted order", which + 1);
    m->failed = true;
}

static void advance(struct comm *m, int which)
{
    struct side *side = &m->sides[which];
    buf_clear(&side->last);
    buf_add(&side->last, side->line);
    side->has_last = side->has_line;
    side->has_line = input_line(m->c, side->in, m->end, &side->line, NULL);
    if (side->has_last && side->has_line && str_cmp(buf_str(&side->last), side->line) > 0)
        report_order(m, which);
}

/* `column` 0, 1 or 2, after as many delimiters as columns are shown before it. */
static bool show(struct comm *m, int column, struct str line)
{
    m->counts[column]++;
    if (m->hide[column])
        return true;
    for (int i = 0; i < column; i++)
        if (!m->hide[i] && !cmd_put(m->c, str_of(m->between)))
            return false;
    return cmd_put(m->c, line) && cmd_putc(m->c, m->end);
}

static bool compare(struct comm *m)
{
    struct side *a = &m->sides[0], *b = &m->sides[1];
    advance(m, 0);
    advance(m, 1);
    while (a->has_line || b->has_line) {
        int order = !a->has_line ? 1 : !b->has_line ? -1 : str_cmp(a->line, b->line);
        m->unpaired |= order != 0;
        if (!show(m, order < 0 ? 0 : order > 0 ? 1 : 2, order > 0 ? b->line : a->line))
            return false;
        if (order <= 0)
            advance(m, 0);
        if (order >= 0 && !(m->check && m->failed))
            advance(m, 1);
        if (m->check && m->failed)
            return false;
    }
    if (m->failed && !m->check)
        cmd_err(m->c, "input is not in sorted order");
    return !budget_stopped(m->c->budget);
}

static bool open_side(struct comm *m, int which)
{
    struct side *side = &m->sides[which];
    side->name = m->c->argv[which];
    side->last = BUF(m->c->budget->max_memory);
    int errnum = cmd_open(m->c, side->name, true, &side->in);
    if (errnum)
        cmd_err(m->c, "%s: %s", quote_maybe(m->c, side->name), errno_text(errnum));
    return !errnum;
}

static bool read_failed(struct comm *m, int which)
{
    struct side *side = &m->sides[which];
    int errnum = side->in ? stream_error(side->in) : 0;
    if (errnum)
        input_failed(m->c, INPUT_PLAIN, side->name, errnum);
    return errnum;
}

static bool run(struct comm *m)
{
    if (!open_side(m, 0) || !open_side(m, 1) || !compare(m))
        return false;
    if (read_failed(m, 0) || read_failed(m, 1))
        return false;
    if (m->total && !cmd_printf(m->c, "%llu%s%llu%s%llu%stotal%c",
                            (unsigned long long)m->counts[0], m->between,
                            (unsigned long long)m->counts[1], m->between,
                            (unsigned long long)m->counts[2], m->between, m->end))
        return false;
    return !m->failed;
}

static int cmd_comm(struct cmd *c)
{
    struct comm m = { .c = c, .between = "\t", .end = '\n' };
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (k == CMD_BAD)
            return 1;
        if (k >= '1' && k <= '3')
            m.hide[k - '1'] = true;
        m.check |= k == OPT_CHECK;
        m.no_check |= k == OPT_NO_CHECK;
        m.total |= k == OPT_TOTAL;
        m.between = k == OPT_OUTPUT ? o.value : m.between;
        m.end = k == 'z' ? 0 : m.end;
    }
    if (!c->argc)
        return missing_operand(c);
    if (c->argc < 2) {
        cmd_err(c, "missing operand after %s", quote(c, c->argv[0]));
        return try_help(c, 1);
    }
    if (c->argc > 2)
        return extra_operand(c, c->argv[2]);
    bool ok = run(&m);
    for (int i = 0; i < 2; i++) {
        stream_unref(m.sides[i].in);
        buf_finish(&m.sides[i].last);
    }
    return ok ? 0 : 1;
}

const struct command command_comm = {
    "comm",
    cmd_comm,
    options,
    "[OPTION]... FILE1 FILE2",
    "Compare two sorted files line by line.",
    0,
};
