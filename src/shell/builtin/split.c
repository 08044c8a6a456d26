#include "shell/builtin/input.h"
#include "shell/builtin/number.h"
#include "shell/builtin/quote.h"

enum { OPT_SUFFIX = 256, OPT_NUMERIC, OPT_HEX, OPT_VERBOSE };

static const struct cmd_opt options[] = {
    { 'a', "suffix-length", ARG_REQUIRED, "N", "suffixes of length N (2)" },
    { OPT_SUFFIX, "additional-suffix", ARG_REQUIRED, "SUFFIX", "append SUFFIX to names" },
    { 'b', "bytes", ARG_REQUIRED, "SIZE", "SIZE bytes each" },
    { 'C', "line-bytes", ARG_REQUIRED, "SIZE", "whole lines, at most SIZE bytes each" },
    { 'd', NULL, ARG_NONE, NULL, "suffixes are numbers: 00, 01" },
    { OPT_NUMERIC, "numeric-suffixes", ARG_OPTIONAL, "FROM",
            "the same, starting at FROM" },
    { 'x', NULL, ARG_NONE, NULL, "suffixes are hexadecimal numbers" },
    { OPT_HEX, "hex-suffixes", ARG_OPTIONAL, "FROM", "the same, starting at FROM" },
    { 'e', "elide-empty-files", ARG_NONE, NULL, "with -n: no empty files" },
    { 'l', "lines", ARG_REQUIRED, "N", "N lines each (1000)" },
    { 'n', "number", ARG_REQUIRED, "CHUNKS",
            "so many files: N by size, l/N without splitting lines, r/N in turn" },
    { 't', "separator", ARG_REQUIRED, "SEP", "lines end with SEP" },
    { OPT_VERBOSE, "verbose", ARG_NONE, NULL, "print a line for each file" },
    { 0 },
};

#define MAX_FILES 512 /* open at once, for r/N */

struct split {
    struct cmd *c;
    int how; /* l, b, C, n (by size), L (l/N), r (r/N) */
    uint64_t size;
    const char *prefix, *suffix, *digits;
    size_t suffix_len;
    bool fixed_len, verbose, no_empty;
    uint64_t next; /* number of the next file */
    char end;
    struct stream *out; /* NULL: none is open */
    uint64_t used;      /* bytes or lines in it */
};

/* aa .. yz, zaaa .. zyzz and so on: the suffix grows, and still sorts. */
static bool find_name(struct split *s, uint64_t number, char **out)
{
    size_t base = strlen(s->digits), len = s->suffix_len, prefix = 0;
    uint64_t most = 1;
    for (size_t i = 0; i < len && most <= UINT64_MAX / base; i++)
        most *= base;
    while (!s->fixed_len && number >= most / base * (base - 1)) {
        number -= most / base * (base - 1);
        prefix++;
        len += 1;
        if (most > UINT64_MAX / base)
            break;
        most *= base;
    }
    if (number >= most) {
        cmd_err(s->c, "output file suffixes exhausted");
        return false;
    }
    auto_buf text = BUF(65536);
    buf_add(&text, str_of(s->prefix));
    for (size_t i = 0; i < prefix; i++)
        buf_addc(&text, s->digits[base - 1]);
    char *digits = buf_reserve(&text, len);
    if (!digits)
        return false;
    for (size_t i = len; i--; number /= base)
        digits[i] = s->digits[number % base];
    text.len += len;
    buf_add(&text, str_of(s->suffix));
    *out = arena_cstr(s->c->arena, buf_str(&text));
    return true;
}

static bool close_file(struct split *s)
{
    bool ok = !s->out || stream_flush(s->out);
    if (!ok)
        cmd_err(s->c, "write error: %s", errno_text(stream_error(s->out)));
    stream_unref(s->out);
    s->out = NULL;
    s->used = 0;
    return ok;
}

static bool create(struct split *s, struct stream **out)
{
    struct arena_mark mark = arena_mark(s->c->arena);
    char *name;
    if (!find_name(s, s->next++, &name))
        return false;
    int errnum = cmd_create(s->c, name, VFS_WRITE | VFS_TRUNCATE, out);
    if (errnum)
        cmd_err(s->c, "%s: %s", quote_maybe(s->c, name), errno_text(errnum));
    bool ok = !errnum &&
              (!s->verbose || cmd_printf(s->c, "creating file %s\n", quote(s->c, name)));
    arena_rewind(s->c->arena, mark);
    return ok;
}

static bool open_next(struct split *s)
{
    struct stream *out;
    if (!close_file(s) || !create(s, &out))
        return false;
    s->out = out;
    return true;
}

static bool put(struct split *s, struct str data)
{
    if (!s->out && !open_next(s))
        return false;
    return stream_write(s->out, data);
}

static bool by_bytes(struct split *s, struct stream *in)
{
    struct str view;
    while (cmd_tick(s->c) && stream_peek(in, &view)) {
        if (s->used == s->size && !close_file(s))
            return false;
        uint64_t room = s->size - s->used;
        view = str_sub(view, 0, room < SIZE_MAX ? (size_t)room : SIZE_MAX);
        if (!put(s, view))
            return false;
        s->used += view.len;
        stream_consume(in, view.len);
    }
    return true;
}

static bool by_lines(struct split *s, struct stream *in)
{
    struct str view;
    while (cmd_tick(s->c) && stream_peek(in, &view)) {
        if (s->used == s->size && !close_file(s))
            return false;
        const char *at = memchr(view.data, s->end, view.len);
        view = str_sub(view, 0, at ? (size_t)(at - view.data) + 1 : view.len);
        if (!put(s, view))
            return false;
        s->used += at != NULL;
        stream_consume(in, view.len);
    }
    return true;
}

/* Whole lines, as many as fit; a line that is too long is cut. */
static bool by_line_bytes(struct split *s, struct stream *in)
{
    struct str line;
    bool ended;
    while (input_line(s->c, in, s->end, &line, &ended)) {
        line.len += ended;
        if (s->used && line.len > s->size - s->used && !close_file(s))
            return false;
        while (line.len) {
            size_t len =
                    line.len < s->size - s->used ? line.len : (size_t)(s->size - s->used);
            if (!put(s, str_sub(line, 0, len)))
                return false;
            s->used += len;
            line = str_from(line, len);
            if (s->used == s->size && !close_file(s))
                return false;
        }
    }
    return true;
}

/* Lines in turn to each of the files, which are all open. */
static bool in_turn(struct split *s, struct stream *in)
{
    struct stream **outs = arena_zalloc(s->c->arena, (size_t)s->size * sizeof(*outs));
    bool ok = true, ended;
    struct str line;
    for (uint64_t i = 0; ok && i < s->size; i++)
        ok = create(s, &outs[i]);
    for (uint64_t i = 0; ok && input_line(s->c, in, s->end, &line, &ended);
            i = (i + 1) % s->size)
        ok = stream_write(outs[i], (struct str){ line.data, line.len + ended });
    for (uint64_t i = 0; i < s->size; i++) {
        ok = ok && stream_flush(outs[i]);
        stream_unref(outs[i]);
    }
    return ok;
}

/* Copy up to byte `until` of the input; with `lines` on to the end of the line. */
static bool copy_until(
        struct split *s, struct stream *in, uint64_t *at, uint64_t until, bool lines)
{
    struct str view;
    char last = s->end;
    while ((*at < until || (lines && last != s->end)) && cmd_tick(s->c) &&
            stream_peek(in, &view)) {
        size_t len = view.len;
        if (*at < until) {
            len = view.len < until - *at ? view.len : (size_t)(until - *at);
        } else {
            const char *end = memchr(view.data, s->end, view.len);
            len = end ? (size_t)(end - view.data) + 1 : view.len;
        }
        view = str_sub(view, 0, len);
        if (!put(s, view))
            return false;
        last = view.data[view.len - 1];
        *at += len;
        stream_consume(in, len);
    }
    return true;
}

/* N files of nearly equal size; that needs to know the size before. */
static bool by_number(struct split *s, struct stream *in)
{
    struct vfs_stat st;
    struct vfile *f = stream_vfile(in);
    if (!f || vfile_stat(f, &st) || st.type != VFS_FILE) {
        cmd_err(s->c, "cannot determine file size");
        return false;
    }
    uint64_t at = 0, each = st.size / s->size, more = st.size % s->size, until = 0;
    for (uint64_t i = 0; i < s->size && cmd_tick(s->c); i++) {
        /* By lines, the last chunk has what does not divide. */
        until += each + (s->how == 'n' && i < more);
        if (i + 1 == s->size)
            until = st.size;
        if ((!s->no_empty && !open_next(s)) ||
                !copy_until(s, in, &at, until, s->how == 'L') || !close_file(s))
            return false;
    }
    return true;
}

static bool split_input(struct split *s, struct stream *in)
{
    switch (s->how) {
    case 'b':
        return by_bytes(s, in);
    case 'C':
        return by_line_bytes(s, in);
    case 'r':
        return in_turn(s, in);
    case 'n':
    case 'L':
        return by_number(s, in);
    default:
        return by_lines(s, in);
    }
}

static bool set_how(
        struct split *s, int how, const char *what, const char *text, const char *value)
{
    if (s->how) {
        cmd_err(s->c, "cannot split in more than one way");
        return !try_help(s->c, 1);
    }
    s->how = how;
    if (number_size(str_of(text), &s->size) && s->size &&
            (how != 'r' || s->size <= MAX_FILES))
        return true;
    cmd_err(s->c, "invalid number of %s: %s", what, quote(s->c, value));
    return false;
}

static bool set_chunks(struct split *s, const char *value)
{
    bool lines = !strncmp(value, "l/", 2), turn = !strncmp(value, "r/", 2);
    const char *number = lines || turn ? value + 2 : value;
    return set_how(s, lines ? 'L' : turn ? 'r' : 'n', "chunks", number, value);
}

static bool set_digits(struct split *s, const char *digits, const char *from)
{
    s->digits = digits;
    if (!from)
        return true;
    s->fixed_len = true;
    if (number_plain(str_of(from), &s->next))
        return true;
    cmd_err(s->c, "%s: invalid start value for numerical suffix", quote(s->c, from));
    return false;
}

static bool set_suffix_len(struct split *s, const char *value)
{
    uint64_t len;
    if (!number_plain(str_of(value), &len) || len > 100) {
        cmd_err(s->c, "invalid suffix length: %s", quote(s->c, value));
        return false;
    }
    s->fixed_len = len != 0;
    s->suffix_len = len ? (size_t)len : s->suffix_len;
    return true;
}

static bool set_names(struct split *s, int key, const char *value)
{
    switch (key) {
    case 'a':
        return set_suffix_len(s, value);
    case 'd':
    case OPT_NUMERIC:
        return set_digits(s, "0123456789", value);
    case 'x':
    case OPT_HEX:
        return set_digits(s, "0123456789abcdef", value);
    case OPT_SUFFIX:
        s->suffix = value;
        if (!strchr(value, '/'))
            return true;
        cmd_err(s->c, "invalid suffix %s, contains directory separator",
                quote(s->c, value));
        return !try_help(s->c, 1);
    default:
        return false;
    }
}

static bool set_option(struct split *s, int key, const char *value)
{
    switch (key) {
    case 'b':
        return set_how(s, 'b', "bytes", value, value);
    case 'C':
        return set_how(s, 'C', "bytes", value, value);
    case 'l':
        return set_how(s, 'l', "lines", value, value);
    case 'n':
        return set_chunks(s, value);
    case 'e':
        return s->no_empty = true;
    case 't':
        s->end = *value == '\\' && value[1] == '0' ? 0 : *value;
        return true;
    case OPT_VERBOSE:
        return s->verbose = true;
    default:
        return set_names(s, key, value);
    }
}

/* split -5 is split -l5. */
static void rewrite_old(struct cmd *c)
{
    for (int i = 1; i < c->argc && strcmp(c->argv[i], "--"); i++) {
        const char *arg = c->argv[i];
        if (arg[0] == '-' && arg[1] && !arg[1 + strspn(arg + 1, "0123456789")])
            c->argv[i] = arena_printf(c->arena, "-l%s", arg + 1);
        else if (arg[0] == '-' && arg[1] && !arg[2] && strchr("abClnt", arg[1]))
            i++;
    }
}

static int run(struct split *s)
{
    struct cmd *c = s->c;
    const char *name = c->argc ? c->argv[0] : "-";
    struct stream *in;
    if (c->argc > 2)
        return extra_operand(c, c->argv[2]);
    s->prefix = c->argc > 1 ? c->argv[1] : "x";
    if (!s->how)
        s->size = 1000;
    int errnum = cmd_open(c, name, true, &in);
    if (errnum) {
        cmd_err(c, "cannot open %s for reading: %s", quote(c, name), errno_text(errnum));
        return 1;
    }
    bool ok = split_input(s, in);
    ok = close_file(s) && ok;
    if (stream_error(in)) {
        input_failed(c, INPUT_PLAIN, name, stream_error(in));
        ok = false;
    }
    stream_unref(in);
    return ok ? 0 : 1;
}

static int cmd_split(struct cmd *c)
{
    struct split s = { .c = c,
        .suffix = "",
        .digits = "abcdefghijklmnopqrstuvwxyz",
        .suffix_len = 2,
        .end = '\n' };
    rewrite_old(c);
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        if (!set_option(&s, k, o.value))
            return 1;
    return run(&s);
}

const struct command command_split = {
    "split",
    cmd_split,
    options,
    "[OPTION]... [FILE [PREFIX]]",
    "Cut a file into several.",
    0,
};
