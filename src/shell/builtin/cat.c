#include "shell/builtin/input.h"
#include "shell/builtin/number.h"
#include "shell/builtin/quote.h"

enum marks {
    SHOW_NUMBERS = 1 << 0,
    SHOW_FILLED = 1 << 1, /* number lines that are not empty */
    SHOW_ENDS = 1 << 2,
    SHOW_TABS = 1 << 3,
    SHOW_CONTROLS = 1 << 4,
    SQUEEZE = 1 << 5,
};

struct cat {
    struct cmd *c;
    unsigned marks;
    uint64_t number;
    unsigned newlines; /* how many were just seen; 1 at the start of a line */
    bool pending_cr;   /* before a newline it is shown by -E */
};

static const struct cmd_opt options[] = {
    { 'A', "show-all", ARG_NONE, NULL, "the same as -vET" },
    { 'b', "number-nonblank", ARG_NONE, NULL, "number the lines that are not empty" },
    { 'e', NULL, ARG_NONE, NULL, "the same as -vE" },
    { 'E', "show-ends", ARG_NONE, NULL, "show $ at the end of each line" },
    { 'n', "number", ARG_NONE, NULL, "number all lines" },
    { 's', "squeeze-blank", ARG_NONE, NULL, "print repeated empty lines once" },
    { 't', NULL, ARG_NONE, NULL, "the same as -vT" },
    { 'T', "show-tabs", ARG_NONE, NULL, "show tabs as ^I" },
    { 'u', NULL, ARG_NONE, NULL, "(ignored)" },
    { 'v', "show-nonprinting", ARG_NONE, NULL, "show other characters as ^X and M-X" },
    { 0 },
};

static void add_visible(unsigned char byte, struct buf *out)
{
    if (byte >= 128) {
        buf_add(out, STR("M-"));
        byte -= 128;
    }
    if (byte < 32)
        buf_addf(out, "^%c", byte + 64);
    else if (byte == 127)
        buf_add(out, STR("^?"));
    else
        buf_addc(out, (char)byte);
}

static void add_number(struct cat *cat, struct buf *out)
{
    char text[64];
    buf_add(out, number_column(++cat->number, 6, '\t', text));
}

static void add_newline(struct cat *cat, struct buf *out)
{
    if (cat->pending_cr)
        buf_add(out, STR("^M"));
    cat->pending_cr = false;
    if (++cat->newlines > 2 && (cat->marks & SQUEEZE)) {
        cat->newlines = 2;
        return;
    }
    if (cat->newlines > 1 && (cat->marks & SHOW_NUMBERS) && !(cat->marks & SHOW_FILLED))
        add_number(cat, out);
    buf_add(out, cat->marks & SHOW_ENDS ? STR("$\n") : STR("\n"));
}

static void add_byte(struct cat *cat, char ch, struct buf *out)
{
    if (ch == '\n') {
        add_newline(cat, out);
        return;
    }
    if (cat->newlines && (cat->marks & SHOW_NUMBERS))
        add_number(cat, out);
    cat->newlines = 0;
    if (cat->pending_cr)
        buf_addc(out, '\r');
    cat->pending_cr =
            ch == '\r' && (cat->marks & SHOW_ENDS) && !(cat->marks & SHOW_CONTROLS);
    if (cat->pending_cr)
        return;
    if (ch == '\t')
        buf_add(out, cat->marks & SHOW_TABS ? STR("^I") : STR("\t"));
    else if (cat->marks & SHOW_CONTROLS)
        add_visible((unsigned char)ch, out);
    else
        buf_addc(out, ch);
}

/* Length of what can be copied as it is: the rest of a line that is already begun. */
static size_t plain_run(const struct cat *cat, struct str view)
{
    if (cat->newlines || cat->pending_cr ||
            (cat->marks & (SHOW_CONTROLS | SHOW_TABS | SHOW_ENDS)))
        return 0;
    const char *at = memchr(view.data, '\n', view.len);
    return at ? (size_t)(at - view.data) : view.len;
}

static bool cat_marked(struct cat *cat, struct stream *s)
{
    auto_buf out = BUF(SIZE_MAX);
    struct str view;
    while (cmd_tick(cat->c) && stream_peek(s, &view)) {
        view = str_sub(view, 0, 8192); /* so that `out` stays small */
        buf_clear(&out);
        for (size_t i = 0; i < view.len;) {
            size_t run = plain_run(cat, str_from(view, i));
            buf_add(&out, str_sub(view, i, run));
            i += run;
            if (i < view.len)
                add_byte(cat, view.data[i++], &out);
        }
        stream_consume(s, view.len);
        if (!cmd_put(cat->c, buf_str(&out)))
            return false;
    }
    return true;
}

static bool same_file(struct stream *a, struct stream *b)
{
    struct vfs_stat x, y;
    return stream_vfile(a) && stream_vfile(b) && !vfile_stat(stream_vfile(a), &x) &&
           !vfile_stat(stream_vfile(b), &y) && x.dev == y.dev && x.ino == y.ino && x.size;
}

static unsigned marks_of(int key)
{
    switch (key) {
    case 'A':
        return SHOW_CONTROLS | SHOW_ENDS | SHOW_TABS;
    case 'b':
        return SHOW_NUMBERS | SHOW_FILLED;
    case 'e':
        return SHOW_CONTROLS | SHOW_ENDS;
    case 'E':
        return SHOW_ENDS;
    case 'n':
        return SHOW_NUMBERS;
    case 's':
        return SQUEEZE;
    case 't':
        return SHOW_CONTROLS | SHOW_TABS;
    case 'T':
        return SHOW_TABS;
    case 'v':
        return SHOW_CONTROLS;
    default:
        return 0;
    }
}

static int cmd_cat(struct cmd *c)
{
    struct cat cat = { .c = c, .newlines = 1 };
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (k == CMD_BAD)
            return 1;
        cat.marks |= marks_of(k);
    }
    struct inputs in = inputs_open(c);
    while (inputs_next(&in)) {
        if (same_file(in.stream, c->out)) {
            cmd_err(c, "%s: input file is output file", quote_maybe(c, in.name));
            in.status = 1;
            continue;
        }
        if (!(cat.marks ? cat_marked(&cat, in.stream)
                        : copy_bytes(c, in.stream, UINT64_MAX)))
            in.next = in.count;
    }
    if (cat.pending_cr && !cmd_putc(c, '\r'))
        return 1;
    return in.status;
}

const struct command command_cat = {
    "cat",
    cmd_cat,
    options,
    "[OPTION]... [FILE]...",
    "Print files one after the other.",
    0,
};
