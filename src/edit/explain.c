/* How two texts with the same skeleton differ, in words. */
#include "edit/internal.h"

enum reason {
    INDENTATION,
    TRAILING,
    INNER,
    BLANK_LINES,
    LINE_ENDING,
    CHARACTER,
    LETTER_CASE,
    REASONS,
};

struct explanation {
    struct str text, old_text;
    const char *old_name; /* of the argument */
    size_t a, b;          /* in `old_text`, in `text` */
    size_t line, column;  /* of `b`, from 1 */
    bool at_start;        /* nothing but filler on this line so far */
    size_t seen[REASONS];
    struct buf *out;
};

/* Only the first of its kind is told in full. */
static bool is_first(struct explanation *x, enum reason why)
{
    if (x->seen[why]++)
        return false;
    buf_addc(x->out, '\n');
    return true;
}

/* "4 spaces", "1 tab and 2 spaces", "nothing", "U+00A0 (no-break space)". */
static void show_blanks(struct str run, struct buf *out)
{
    if (!run.len) {
        buf_addf(out, "nothing");
        return;
    }
    int parts = 0;
    for (size_t at = 0; at < run.len && parts < 4; parts++) {
        uint32_t code = glyph_at(run, at).code;
        size_t count = 0;
        while (at < run.len && glyph_at(run, at).code == code) {
            at += glyph_at(run, at).len;
            count++;
        }
        buf_addf(out, "%s", parts ? " and " : "");
        if (code == ' ' || code == '\t') {
            buf_addf(out, "%zu %s%s", count, code == ' ' ? "space" : "tab",
                    count == 1 ? "" : "s");
            continue;
        }
        show_glyph(code, out);
        if (count > 1)
            buf_addf(out, " %zu times", count);
    }
}

static void show_both(struct explanation *x, struct str there, struct str wanted)
{
    buf_addf(x->out, "the file has ");
    show_blanks(there, x->out);
    buf_addf(x->out, ", %s has ", x->old_name);
    show_blanks(wanted, x->out);
    buf_addf(x->out, ".");
}

/* Blanks between two visible characters of a line, or before its first one. */
static void compare_inside(struct explanation *x, struct str wanted, struct str there)
{
    enum reason why = x->at_start ? INDENTATION : INNER;
    if (str_eq(wanted, there) || !is_first(x, why))
        return;
    if (why == INDENTATION)
        buf_addf(x->out, "Indentation of line %zu: ", x->line);
    else
        buf_addf(x->out, "Line %zu, column %zu: ", x->line, x->column);
    show_both(x, there, wanted);
}

static size_t count_breaks(struct str run)
{
    size_t n = 0;
    for (size_t i = 0; i < run.len; i++)
        n += run.data[i] == '\n' ||
             (run.data[i] == '\r' && (i + 1 == run.len || run.data[i + 1] != '\n'));
    return n;
}

static struct str cut_line(struct str *rest, struct str *eol)
{
    size_t at = 0;
    while (at < rest->len && rest->data[at] != '\n' && rest->data[at] != '\r')
        at++;
    size_t len = at < rest->len;
    if (str_starts(str_from(*rest, at), STR("\r\n")))
        len = 2;
    struct str line = str_sub(*rest, 0, at);
    *eol = str_sub(*rest, at, len);
    *rest = str_from(*rest, at + len);
    return line;
}

static const char *eol_name(struct str eol)
{
    return eol.len == 2 ? "CRLF" : str_is(eol, "\r") ? "CR" : "LF";
}

/* Filler with the same number of line breaks on both sides. */
static void compare_across(struct explanation *x, struct str wanted, struct str there)
{
    size_t line = x->line;
    while (wanted.len || there.len) {
        struct str eol_a, eol_b;
        struct str a = cut_line(&wanted, &eol_a), b = cut_line(&there, &eol_b);
        if (!eol_a.len && !eol_b.len) {
            size_t here = x->line;
            x->line = line;
            x->at_start = true;
            compare_inside(x, a, b);
            x->line = here;
            return;
        }
        if (!str_eq(a, b) && is_first(x, TRAILING)) {
            buf_addf(x->out, "End of line %zu: ", line);
            show_both(x, b, a);
        }
        if (!str_eq(eol_a, eol_b) && is_first(x, LINE_ENDING))
            buf_addf(x->out, "Line %zu ends with %s in the file, with %s in %s.", line,
                    eol_name(eol_b), eol_name(eol_a), x->old_name);
        line++;
    }
}

static void compare_filler(struct explanation *x, struct str wanted, struct str there)
{
    size_t breaks_a = count_breaks(wanted), breaks_b = count_breaks(there);
    if (str_eq(wanted, there))
        return;
    if (!breaks_a && !breaks_b) {
        compare_inside(x, wanted, there);
    } else if (breaks_a == breaks_b) {
        compare_across(x, wanted, there);
    } else if (is_first(x, BLANK_LINES)) {
        buf_addf(x->out, "After line %zu: the file has %zu line break%s, %s has %zu.",
                x->line, breaks_b, breaks_b == 1 ? "" : "s", x->old_name, breaks_a);
    }
}

static struct str take_filler(struct str text, size_t *at)
{
    size_t from = *at;
    while (*at < text.len) {
        struct glyph g = glyph_at(text, *at);
        if (!g.filler)
            break;
        *at += g.len;
    }
    return str_sub(text, from, *at - from);
}

static void pass_filler(struct explanation *x, struct str there)
{
    size_t breaks = count_breaks(there);
    x->line += breaks;
    if (breaks) {
        x->column = 1;
        x->at_start = true;
    }
    for (size_t at = 0; at < there.len;) {
        struct glyph g = glyph_at(there, at);
        x->column += g.code != '\n' && g.code != '\r';
        at += g.len;
    }
}

static void compare_glyphs(struct explanation *x, struct glyph wanted, struct glyph there)
{
    if (wanted.code == there.code)
        return;
    bool letter = wanted.code < 0x80 && there.code < 0x80;
    if (!is_first(x, letter ? LETTER_CASE : CHARACTER))
        return;
    buf_addf(x->out, "Line %zu, column %zu: the file has ", x->line, x->column);
    show_glyph(there.code, x->out);
    buf_addf(x->out, ", %s has ", x->old_name);
    show_glyph(wanted.code, x->out);
    buf_addf(x->out, letter ? " (letter case)." : ".");
}

/* "..." on one side may stand for one character on the other. */
static size_t glyph_width(struct str text, size_t at, struct glyph g, struct glyph other)
{
    return other.code == 0x2026 && g.code == '.' && at + 3 <= text.len ? 3 : g.len;
}

static void tell_repeats(struct explanation *x)
{
    size_t more = 0;
    for (size_t i = 0; i < REASONS; i++)
        more += x->seen[i] ? x->seen[i] - 1 : 0;
    if (more)
        buf_addf(
                x->out, "\n(and %zu more such difference%s)", more, more == 1 ? "" : "s");
}

/* As much of the filler behind the last character as `wanted` speaks about. */
static struct str clip_filler(struct str there, struct str wanted)
{
    size_t breaks = count_breaks(wanted);
    bool ends_line = breaks && strchr("\r\n", wanted.data[wanted.len - 1]);
    struct str rest = there, eol;
    for (size_t i = 0; i < breaks; i++)
        cut_line(&rest, &eol);
    struct str tail = ends_line ? STR("") : cut_line(&rest, &eol);
    size_t end = ends_line ? there.len - rest.len
                           : (size_t)(tail.data + tail.len - there.data);
    return str_sub(there, 0, end);
}

/* What `old_text` begins with matters where the file has only blanks there too. */
static void compare_lead(struct explanation *x, size_t start, size_t from)
{
    struct str wanted = take_filler(x->old_text, &x->a);
    size_t end = start;
    struct str there = take_filler(x->text, &end);
    x->at_start = end == from;
    if (x->at_start && !count_breaks(wanted) && !str_ends(there, wanted))
        compare_inside(x, wanted, there);
}

static void step(struct explanation *x)
{
    struct glyph a = glyph_at(x->old_text, x->a), b = glyph_at(x->text, x->b);
    compare_glyphs(x, a, b);
    x->a += glyph_width(x->old_text, x->a, a, b);
    x->b += glyph_width(x->text, x->b, b, a);
    x->column++;
    x->at_start = false;
    struct str wanted = take_filler(x->old_text, &x->a);
    struct str there = take_filler(x->text, &x->b);
    if (x->a == x->old_text.len)
        there = clip_filler(there, wanted);
    compare_filler(x, wanted, there);
    pass_filler(x, there);
}

static struct explanation begin(const struct miss *m, size_t at, struct buf *out)
{
    return (struct explanation){ .text = m->text,
        .old_text = m->old_text,
        .old_name = m->words->old_name,
        .b = at,
        .line = line_number(m->text, at, m->main),
        .column = 1,
        .out = out };
}

static void compare_rest(struct explanation *x)
{
    while (x->a < x->old_text.len && x->b < x->text.len)
        step(x);
    tell_repeats(x);
}

void explain_difference(const struct miss *m, size_t from, struct buf *out)
{
    size_t start = line_start(m->text, from, m->main);
    struct explanation x = begin(m, from, out);
    for (size_t at = start; at < from; x.column++)
        at += glyph_at(m->text, at).len;
    compare_lead(&x, start, from);
    compare_rest(&x);
}

void explain_line(const struct miss *m, size_t at, struct buf *out)
{
    struct explanation x = begin(m, at, out);
    struct str wanted = take_filler(x.old_text, &x.a);
    struct str there = take_filler(x.text, &x.b);
    x.at_start = true;
    compare_inside(&x, wanted, there);
    pass_filler(&x, there);
    compare_rest(&x);
}
