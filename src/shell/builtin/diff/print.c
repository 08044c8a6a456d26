#include "shell/builtin/diff/diff.h"

#include "base/datetime.h"

static bool put_line(struct diff *d, const struct diff_file *f, size_t i, struct str mark)
{
    struct cmd *c = d->c;
    if (!cmd_tick(c) || !cmd_put(c, mark) || !cmd_put(c, f->lines[i]) ||
            !cmd_putc(c, '\n'))
        return false;
    return i + 1 < f->count || !f->no_newline ||
           cmd_put(c, STR("\\ No newline at end of file\n"));
}

static bool put_lines(struct diff *d, const struct diff_file *f, size_t from, size_t to,
        struct str mark)
{
    for (; from < to; from++)
        if (!put_line(d, f, from, mark))
            return false;
    return true;
}

static bool put_range(struct diff *d, size_t start, size_t count)
{
    if (count > 1)
        return cmd_printf(d->c, "%zu,%zu", start + 1, start + count);
    return cmd_printf(d->c, "%zu", start + count);
}

static bool print_normal(
        struct diff *d, const struct diff_pair *pair, const struct linediff_hunk *h)
{
    char letter = !h->count[0] ? 'a' : !h->count[1] ? 'd' : 'c';
    if (h->is_ignored)
        return true;
    return put_range(d, h->start[0], h->count[0]) && cmd_putc(d->c, letter) &&
           put_range(d, h->start[1], h->count[1]) && cmd_putc(d->c, '\n') &&
           put_lines(d, &pair->files[0], h->start[0], h->start[0] + h->count[0],
                   STR("< ")) &&
           (letter != 'c' || cmd_put(d->c, STR("---\n"))) &&
           put_lines(
                   d, &pair->files[1], h->start[1], h->start[1] + h->count[1], STR("> "));
}

/* A name that has blanks, quotes or control bytes in it is written as C would. */
static void add_name(const char *name, struct buf *out)
{
    bool plain = true;
    for (const char *p = name; *p; p++)
        plain = plain && (unsigned char)*p > ' ' && *p != '"' && *p != '\\' && *p != 127;
    if (plain) {
        buf_add(out, str_of(name));
        return;
    }
    buf_addc(out, '"');
    for (const char *p = name; *p; p++)
        if (*p == '"' || *p == '\\')
            buf_addf(out, "\\%c", *p);
        else if ((unsigned char)*p < ' ' || *p == 127)
            buf_addf(out, "\\%03o", (unsigned char)*p);
        else
            buf_addc(out, *p);
    buf_addc(out, '"');
}

static bool put_name(
        struct diff *d, const struct diff_pair *pair, int i, const char *mark)
{
    const struct diff_file *f = &pair->files[i];
    if (d->labels[i])
        return cmd_printf(d->c, "%s %s\n", mark, d->labels[i]);
    auto_buf line = BUF(65536);
    buf_addf(&line, "%s ", mark);
    add_name(f->name, &line);
    buf_addc(&line, '\t');
    datetime_format(
            STR("%Y-%m-%d %H:%M:%S.%N %z"), datetime_from_ns(f->mtime_ns), false, &line);
    buf_addc(&line, '\n');
    return cmd_put(d->c, buf_str(&line));
}

static bool print_unified(
        struct diff *d, const struct diff_pair *pair, const struct linediff_view *v)
{
    const struct diff_file *a = &pair->files[0], *b = &pair->files[1];
    auto_buf head = BUF(256);
    buf_add(&head, STR("@@ -"));
    linediff_add_range(v->from[0], v->to[0], &head);
    buf_add(&head, STR(" +"));
    linediff_add_range(v->from[1], v->to[1], &head);
    buf_add(&head, STR(" @@\n"));
    if (!cmd_put(d->c, buf_str(&head)))
        return false;
    size_t at = v->from[0];
    for (const struct linediff_hunk *h = v->first; h <= v->last; h++) {
        size_t end[2] = { h->start[0] + h->count[0], h->start[1] + h->count[1] };
        if (!put_lines(d, a, at, h->start[0], STR(" ")) ||
                !put_lines(d, a, h->start[0], end[0], STR("-")) ||
                !put_lines(d, b, h->start[1], end[1], STR("+")))
            return false;
        at = end[0];
    }
    return put_lines(d, a, at, v->to[0], STR(" "));
}

static bool put_context_range(struct diff *d, const char *mark, size_t from, size_t to)
{
    if (to - from > 1)
        return cmd_printf(d->c, "%s %zu,%zu %s%c\n", mark, from + 1, to, mark, *mark);
    return cmd_printf(d->c, "%s %zu %s%c\n", mark, to, mark, *mark);
}

/* One side of a context hunk; nothing at all if that side has no change. */
static bool print_context_side(struct diff *d, const struct diff_pair *pair,
        const struct linediff_view *v, int side)
{
    const struct diff_file *f = &pair->files[side];
    bool any = false;
    for (const struct linediff_hunk *h = v->first; h <= v->last; h++)
        any |= h->count[side] > 0;
    if (!any)
        return true;
    size_t at = v->from[side];
    for (const struct linediff_hunk *h = v->first; h <= v->last; h++) {
        size_t end = h->start[side] + h->count[side];
        struct str mark = h->count[!side] ? STR("! ") : side ? STR("+ ") : STR("- ");
        if (!put_lines(d, f, at, h->start[side], STR("  ")) ||
                !put_lines(d, f, h->start[side], end, mark))
            return false;
        at = end;
    }
    return put_lines(d, f, at, v->to[side], STR("  "));
}

static bool print_context(
        struct diff *d, const struct diff_pair *pair, const struct linediff_view *v)
{
    return cmd_put(d->c, STR("***************\n")) &&
           put_context_range(d, "***", v->from[0], v->to[0]) &&
           print_context_side(d, pair, v, 0) &&
           put_context_range(d, "---", v->from[1], v->to[1]) &&
           print_context_side(d, pair, v, 1);
}

static bool print_views(struct diff *d, const struct diff_pair *pair,
        const struct linediff_hunk *hunks, size_t count)
{
    bool unified = d->style == DIFF_UNIFIED, named = false;
    for (const struct linediff_hunk *h = hunks, *end = hunks + count; h < end;) {
        if (h->is_ignored) {
            h++;
            continue;
        }
        struct linediff_view v =
                linediff_view_at(h, end, d->context, pair->files[0].count);
        if (!named && (!put_name(d, pair, 0, unified ? "---" : "***") ||
                              !put_name(d, pair, 1, unified ? "+++" : "---")))
            return false;
        named = true;
        if (!(unified ? print_unified(d, pair, &v) : print_context(d, pair, &v)))
            return false;
        h = v.last + 1;
    }
    return true;
}

bool diff_print(struct diff *d, const struct diff_pair *pair,
        const struct linediff_hunk *hunks, size_t count)
{
    if (d->style != DIFF_NORMAL)
        return print_views(d, pair, hunks, count);
    for (size_t i = 0; i < count; i++)
        if (!print_normal(d, pair, &hunks[i]))
            return false;
    return true;
}
