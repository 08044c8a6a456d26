#include "base/utf8.h"
#include "shell/builtin/input.h"
#include "shell/builtin/quote.h"
#include "shell/builtin/width.h"

enum column { LINES, WORDS, CHARS, BYTES, LONGEST, COLUMNS };

struct counts {
    uint64_t n[COLUMNS];
};

struct wc {
    struct cmd *c;
    bool show[COLUMNS];
    int width;
    struct counts total;
};

/* A file being counted; a character may be cut by the end of a view. */
struct scan {
    struct counts *counts;
    uint64_t column;
    bool in_word;
};

static const struct cmd_opt options[] = {
    { 'c', "bytes", ARG_NONE, NULL, "count bytes" },
    { 'm', "chars", ARG_NONE, NULL, "count characters" },
    { 'l', "lines", ARG_NONE, NULL, "count newlines" },
    { 256, "files0-from", ARG_REQUIRED, "FILE",
            "read the names of the files, each ended by a NUL, from FILE" },
    { 'L', "max-line-length", ARG_NONE, NULL, "the widest line, in columns" },
    { 'w', "words", ARG_NONE, NULL, "count words" },
    { 0 },
};

static uint64_t count_newlines(struct str s)
{
    uint64_t n = 0;
    const char *at = s.data, *stop = s.data + s.len;
    /* Short lines: a plain loop that the compiler makes wide beats memchr. */
    for (; stop - at >= 128; at += 128) {
        unsigned char hits = 0;
        for (int i = 0; i < 128; i++)
            hits += at[i] == '\n';
        n += hits;
    }
    for (; at < stop; at++)
        n += *at == '\n';
    return n;
}

static void end_of_line(struct scan *s, bool reset)
{
    if (s->column > s->counts->n[LONGEST])
        s->counts->n[LONGEST] = s->column;
    s->column = reset ? 0 : s->column;
}

static void add_ascii(struct scan *s, unsigned char ch)
{
    if (ch > ' ' && ch < 0x7f) {
        s->column++;
        s->counts->n[WORDS] += !s->in_word;
        s->in_word = true;
        return;
    }
    if (ch == '\n' || ch == '\r' || ch == '\f')
        end_of_line(s, true);
    else if (ch == '\t')
        s->column += 8 - s->column % 8;
    else if (ch == ' ')
        s->column++;
    s->in_word = s->in_word && !(ch == ' ' || (ch >= '\t' && ch <= '\r'));
    s->counts->n[LINES] += ch == '\n';
}

static void add_wide(struct scan *s, uint32_t code)
{
    int width = char_width(code);
    s->column += width > 0 ? (uint64_t)width : 0;
    if (char_is_space(code)) {
        s->in_word = false;
    } else if (width >= 0) {
        s->counts->n[WORDS] += !s->in_word;
        s->in_word = true;
    }
}

/* Everything but an unfinished character at the end; returns what was used. */
static size_t scan_text(struct scan *s, struct str view, bool at_end)
{
    size_t i = 0;
    while (i < view.len) {
        unsigned char ch = (unsigned char)view.data[i];
        if (ch < 0x80) {
            add_ascii(s, ch);
            s->counts->n[CHARS]++;
            i++;
            continue;
        }
        if (view.len - i < 4 && !at_end)
            break;
        uint32_t code;
        size_t len = utf8_decode(str_from(view, i), &code);
        if (len)
            add_wide(s, code);
        s->counts->n[CHARS] += len != 0;
        i += len ? len : 1;
    }
    return i;
}

/* Lines and bytes alone: no need to look at each byte. */
static void count_simple(struct wc *wc, struct stream *s, struct counts *counts)
{
    struct str view;
    while (cmd_tick(wc->c) && stream_peek(s, &view)) {
        counts->n[LINES] += wc->show[LINES] ? count_newlines(view) : 0;
        counts->n[BYTES] += view.len;
        stream_consume(s, view.len);
    }
}

static void count_stream(struct wc *wc, struct stream *s, struct counts *counts)
{
    if (!wc->show[WORDS] && !wc->show[CHARS] && !wc->show[LONGEST]) {
        count_simple(wc, s, counts);
        return;
    }
    struct scan scan = { .counts = counts };
    struct str view;
    size_t want = 1;
    while (cmd_tick(wc->c) && stream_peek_more(s, want, &view)) {
        size_t used = scan_text(&scan, view, view.len < want);
        counts->n[BYTES] += used;
        stream_consume(s, used);
        want = used < view.len ? view.len - used + 4 : 1;
    }
    end_of_line(&scan, false);
}

static bool print_counts(struct wc *wc, const struct counts *counts, const char *name)
{
    const char *space = "";
    for (int i = 0; i < COLUMNS; i++) {
        if (!wc->show[i])
            continue;
        if (!cmd_printf(
                    wc->c, "%s%*llu", space, wc->width, (unsigned long long)counts->n[i]))
            return false;
        space = " ";
    }
    return cmd_printf(wc->c, "%s%s\n", name ? " " : "", name ? name : "");
}

static void add_total(struct counts *total, const struct counts *counts)
{
    for (int i = 0; i < LONGEST; i++)
        total->n[i] += counts->n[i];
    if (counts->n[LONGEST] > total->n[LONGEST])
        total->n[LONGEST] = counts->n[LONGEST];
}

/* 0, or the errno of a failed stat; stdin that is no file answers type FIFO. */
static int stat_operand(struct cmd *c, const char *name, struct vfs_stat *st)
{
    if (!input_is_stdin(name)) {
        struct vpath path;
        int errnum = cmd_path(c, name, &path);
        return errnum ? errnum : vfs_stat(c->vfs, path, VFS_FOLLOW, st);
    }
    st->type = VFS_FIFO;
    return stream_vfile(c->in) ? vfile_stat(stream_vfile(c->in), st) : 0;
}

/* Wide enough for the sum of the files' sizes; 7 if something has no size. */
static int column_width(struct wc *wc, const struct inputs *in)
{
    int columns = 0, least = 1, width = 1;
    for (int i = 0; i < COLUMNS; i++)
        columns += wc->show[i];
    if (in->count == 1 && columns == 1)
        return 1;
    uint64_t sum = 0;
    for (int i = 0; i < in->count && cmd_tick(wc->c); i++) {
        struct vfs_stat st;
        if (stat_operand(wc->c, in->names[i], &st))
            continue;
        if (st.type == VFS_FILE)
            sum += st.size;
        else
            least = 7;
    }
    for (; sum >= 10; sum /= 10)
        width++;
    return width < least ? least : width;
}

/* The names in a file; false when it could not be read. */
static bool read_names(struct wc *wc, const char *list, struct inputs *in)
{
    struct cmd *c = wc->c;
    if (c->argc) {
        cmd_err(c, "extra operand %s", quote(c, c->argv[0]));
        cmd_err(c, "file operands cannot be combined with --files0-from");
        try_help(c, 1);
        return false;
    }
    struct stream *s;
    int errnum = cmd_open(c, list, true, &s);
    if (errnum) {
        cmd_err(c, "cannot open %s for reading: %s", quote(c, list), errno_text(errnum));
        return false;
    }
    char **names = NULL;
    size_t count = 0, cap = 0;
    struct str name;
    while (input_line(c, s, 0, &name, NULL)) {
        GROW(names, count, cap);
        names[count++] = arena_cstr(c->arena, name);
    }
    stream_unref(s);
    in->names = names;
    in->count = (int)count;
    arena_defer(c->arena, free, names);
    return true;
}

static bool parse_options(struct wc *wc, const char **list)
{
    struct cmd_options o = cmd_options(wc->c);
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        static const char letters[] = "lwmcL"; /* in the order of enum column */
        const char *at = k < 256 ? strchr(letters, k) : NULL;
        if (k == CMD_BAD)
            return false;
        if (at)
            wc->show[at - letters] = true;
        else
            *list = o.value;
    }
    for (int i = 0; i < COLUMNS; i++)
        if (wc->show[i])
            return true;
    wc->show[LINES] = wc->show[WORDS] = wc->show[BYTES] = true;
    return true;
}

static int cmd_wc(struct cmd *c)
{
    struct wc wc = { .c = c };
    const char *list = NULL;
    if (!parse_options(&wc, &list))
        return 1;
    struct inputs in = inputs_open(c);
    if (list && !read_names(&wc, list, &in))
        return 1;
    bool named = c->argc || list;
    wc.width = column_width(&wc, &in);
    while (inputs_next(&in)) {
        struct counts counts = { 0 };
        count_stream(&wc, in.stream, &counts);
        add_total(&wc.total, &counts);
        int errnum = stream_error(in.stream);
        if (errnum) {
            input_failed(c, in.style, in.name, errnum);
            stream_clear_error(in.stream);
            in.status = 1;
        }
        if (!print_counts(&wc, &counts, named ? in.name : NULL))
            in.next = in.count;
    }
    if (in.count > 1 && !print_counts(&wc, &wc.total, "total"))
        return 1;
    return in.status;
}

const struct command command_wc = {
    "wc",
    cmd_wc,
    options,
    "[OPTION]... [FILE]...",
    "Count the lines, words and bytes of each file.",
    0,
};
