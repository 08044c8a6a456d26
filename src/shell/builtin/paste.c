#include "shell/builtin/input.h"
#include "shell/builtin/quote.h"

static const struct cmd_opt options[] = {
    { 'd', "delimiters", ARG_REQUIRED, "LIST", "what to print between, in turn (TAB)" },
    { 's', "serial", ARG_NONE, NULL, "one file after the other, each in one line" },
    { 'z', "zero-terminated", ARG_NONE, NULL, "lines end with NUL" },
    { 0 },
};

struct paste {
    struct cmd *c;
    char *delimiters; /* -1 in `used`: \0, nothing */
    bool *is_empty;
    size_t count;
    char end;
    int status;
};

/* \n, \t, \\ and \0 (nothing) in the list. */
static bool parse_delimiters(struct paste *p, const char *list)
{
    size_t len = strlen(list);
    p->delimiters = arena_alloc(p->c->arena, len + 1);
    p->is_empty = arena_zalloc(p->c->arena, len + 1);
    for (const char *at = list; *at; at++) {
        char ch = *at;
        if (ch == '\\') {
            static const char letters[] = "0bfnrtv\\", values[] = "\0\b\f\n\r\t\v\\";
            const char *found = at[1] ? strchr(letters, at[1]) : NULL;
            if (!at[1]) {
                cmd_err(p->c, "delimiter list ends with an unescaped backslash: %s",
                        list);
                return false;
            }
            ch = found ? values[found - letters] : at[1];
            p->is_empty[p->count] = at[1] == '0';
            at++;
        }
        p->delimiters[p->count++] = ch;
    }
    if (!p->count) {
        p->is_empty[0] = true;
        p->count = 1;
    }
    return true;
}

static void add_delimiter(const struct paste *p, size_t n, struct buf *out)
{
    if (!p->is_empty[n % p->count])
        buf_addc(out, p->delimiters[n % p->count]);
}

static bool paste_serial(struct paste *p)
{
    struct inputs in = inputs_open(p->c);
    auto_buf out = BUF(SIZE_MAX / 4);
    bool ok = true;
    while (inputs_next(&in)) {
        struct str line;
        buf_clear(&out);
        for (size_t n = 0; ok && input_line(p->c, in.stream, p->end, &line, NULL); n++) {
            if (n)
                add_delimiter(p, n - 1, &out);
            buf_add(&out, line);
            ok = cmd_put(p->c, buf_str(&out));
            buf_clear(&out);
        }
        if (!ok || !cmd_putc(p->c, p->end))
            in.next = in.count;
    }
    p->status |= in.status;
    return ok;
}

struct column {
    struct stream *in; /* NULL: at its end */
    const char *name;
};

static bool open_columns(struct paste *p, struct column *columns, int count)
{
    for (int i = 0; i < count; i++) {
        int errnum = cmd_open(p->c, columns[i].name, true, &columns[i].in);
        if (errnum) {
            columns[i].in = NULL;
            cmd_err(p->c, "%s: %s", quote_maybe(p->c, columns[i].name),
                    errno_text(errnum));
            return false;
        }
    }
    return true;
}

static void close_column(struct paste *p, struct column *column)
{
    int errnum = stream_error(column->in);
    if (errnum) {
        input_failed(p->c, INPUT_PLAIN, column->name, errnum);
        p->status = 1;
    }
    stream_unref(column->in);
    column->in = NULL;
}

/* One line made of a line of each; false: all are at their end. */
static bool paste_line(
        struct paste *p, struct column *columns, int count, struct buf *out)
{
    bool any = false;
    for (int i = 0; i < count; i++) {
        struct str line;
        if (i)
            add_delimiter(p, (size_t)i - 1, out);
        if (columns[i].in && input_line(p->c, columns[i].in, p->end, &line, NULL)) {
            any = true;
            buf_add(out, line);
        } else if (columns[i].in) {
            close_column(p, &columns[i]);
        }
    }
    return any;
}

static bool paste_parallel(struct paste *p)
{
    struct inputs in = inputs_open(p->c); /* for the names alone */
    struct column *columns =
            arena_zalloc(p->c->arena, (size_t)in.count * sizeof(*columns));
    auto_buf out = BUF(SIZE_MAX / 4);
    for (int i = 0; i < in.count; i++)
        columns[i].name = in.names[i];
    bool ok = open_columns(p, columns, in.count);
    p->status |= !ok;
    while (ok && paste_line(p, columns, in.count, &out)) {
        buf_addc(&out, p->end);
        ok = cmd_put(p->c, buf_str(&out));
        buf_clear(&out);
    }
    for (int i = 0; i < in.count; i++)
        stream_unref(columns[i].in);
    return ok;
}

static int cmd_paste(struct cmd *c)
{
    struct paste p = { .c = c, .end = '\n' };
    const char *list = "\t";
    bool serial = false;
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (k == CMD_BAD)
            return 1;
        list = k == 'd' ? o.value : list;
        serial |= k == 's';
        p.end = k == 'z' ? 0 : p.end;
    }
    if (!parse_delimiters(&p, list))
        return 1;
    bool ok = serial ? paste_serial(&p) : paste_parallel(&p);
    return ok ? p.status : 1;
}

const struct command command_paste = {
    "paste",
    cmd_paste,
    options,
    "[OPTION]... [FILE]...",
    "Print lines of several files side by side.",
    0,
};
