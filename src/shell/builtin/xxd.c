#include "shell/builtin/dump.h"
#include "shell/builtin/quote.h"

#include <ctype.h>

#define MAX_COLUMNS 256

static const struct cmd_opt options[] = {
    { 'c', "cols", ARG_REQUIRED, "COLS", "COLS bytes for each line (16; -p 30; -i 12)" },
    { 'g', "groupsize", ARG_REQUIRED, "BYTES", "a blank after BYTES bytes (2)" },
    { 'i', "include", ARG_NONE, NULL, "as a C array" },
    { 'l', "len", ARG_REQUIRED, "LEN", "at most LEN bytes" },
    { 'p', "plain", ARG_NONE, NULL, "digits only" },
    { 'r', "revert", ARG_NONE, NULL, "from such a dump back to bytes" },
    { 's', "seek", ARG_REQUIRED, "OFFSET", "leave out the first OFFSET bytes" },
    { 'u', "uppercase", ARG_NONE, NULL, "capital letters as digits" },
    { 0 },
};

struct xxd {
    struct cmd *c;
    struct stream *out; /* NULL: stdout */
    bool plain, include, revert, upper;
    uint64_t skip, max, columns, group;
};

static bool put(struct xxd *x, struct buf *text)
{
    bool ok = x->out ? stream_write(x->out, buf_str(text)) : cmd_put(x->c, buf_str(text));
    buf_clear(text);
    return ok;
}

static void add_hex(const struct xxd *x, unsigned char byte, struct buf *out)
{
    buf_addf(out, x->upper ? "%02X" : "%02x", byte);
}

static void add_line(const struct xxd *x, uint64_t at, const unsigned char *bytes,
        size_t len, struct buf *out)
{
    buf_addf(out, "%08llx: ", (unsigned long long)at);
    for (size_t i = 0; i < x->columns; i++) {
        if (i < len)
            add_hex(x, bytes[i], out);
        else
            buf_add(out, STR("  "));
        if (x->group && (i + 1) % x->group == 0)
            buf_addc(out, ' ');
    }
    if (!x->group || x->columns % x->group)
        buf_addc(out, ' ');
    buf_addc(out, ' ');
    for (size_t i = 0; i < len; i++)
        buf_addc(out, bytes[i] >= ' ' && bytes[i] < 127 ? (char)bytes[i] : '.');
    buf_addc(out, '\n');
}

static int dump(struct xxd *x, struct dump *in)
{
    unsigned char bytes[MAX_COLUMNS];
    auto_buf out = BUF(1 << 20);
    uint64_t at = x->skip;
    for (size_t len; (len = dump_read(in, bytes, (size_t)x->columns)); at += len) {
        if (!x->plain)
            add_line(x, at, bytes, len, &out);
        for (size_t i = 0; x->plain && i < len; i++)
            add_hex(x, bytes[i], &out);
        if (x->plain)
            buf_addc(&out, '\n');
        if (!put(x, &out))
            return 1;
    }
    return in->in.status;
}

static void add_identifier(const char *name, struct buf *out)
{
    if (isdigit((unsigned char)*name))
        buf_add(out, STR("__"));
    for (; *name; name++)
        buf_addc(out, isalnum((unsigned char)*name) ? *name : '_');
}

static int include(struct xxd *x, struct dump *in)
{
    unsigned char bytes[MAX_COLUMNS];
    auto_buf out = BUF(1 << 20);
    const char *name =
            x->c->argc && !input_is_stdin(x->c->argv[0]) ? x->c->argv[0] : NULL;
    unsigned long long size = 0;
    if (name) {
        buf_add(&out, STR("unsigned char "));
        add_identifier(name, &out);
        buf_add(&out, STR("[] = {\n"));
    }
    for (size_t len; (len = dump_read(in, bytes, (size_t)x->columns)); size += len) {
        for (size_t i = 0; i < len; i++)
            buf_addf(&out, x->upper ? "%s0X%02X" : "%s0x%02x",
                    i      ? ", "
                    : size ? ",\n  "
                           : "  ",
                    bytes[i]);
        if (!put(x, &out))
            return 1;
    }
    if (size)
        buf_addc(&out, '\n');
    if (name) {
        buf_add(&out, STR("};\nunsigned int "));
        add_identifier(name, &out);
        buf_addf(&out, "_len = %llu;\n", size);
    }
    return put(x, &out) ? in->in.status : 1;
}

static int hex_value(char ch)
{
    const char *digits = "0123456789abcdef";
    const char *at = ch ? strchr(digits, tolower((unsigned char)ch)) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Pairs of digits up to something else; `gap`: two blanks end it too (the text column).
 */
static void add_pairs(struct str s, bool gap, uint64_t max, struct buf *out)
{
    for (size_t i = 0; i + 1 < s.len && max;) {
        int high = hex_value(s.data[i]), low = hex_value(s.data[i + 1]);
        if (high >= 0 && low >= 0) {
            buf_addc(out, (char)(high << 4 | low));
            i += 2;
            max--;
        } else if (isspace((unsigned char)s.data[i]) && !(gap && s.data[i + 1] == ' ')) {
            i++;
        } else {
            break;
        }
    }
}

/* What lies between two lines is filled with zeros. */
static bool revert_line(struct xxd *x, struct str line, uint64_t *at, struct buf *out)
{
    uint64_t offset = 0;
    size_t i = 0;
    for (; i < line.len && hex_value(line.data[i]) >= 0 && i < 16; i++)
        offset = offset << 4 | (uint64_t)hex_value(line.data[i]);
    if (!i || i >= line.len || line.data[i] != ':')
        return true;
    if (offset < *at || offset - *at > ((uint64_t)1 << 30)) {
        cmd_err(x->c, "sorry, cannot seek backwards.");
        return false;
    }
    for (; *at < offset; ++*at)
        buf_addc(out, 0);
    struct str rest = str_from(line, i + 1);
    while (rest.len && rest.data[0] == ' ')
        rest = str_from(rest, 1);
    size_t before = out->len;
    add_pairs(rest, true, x->columns, out);
    *at += out->len - before;
    return true;
}

static int revert(struct xxd *x, struct dump *in)
{
    auto_buf out = BUF(x->c->budget->max_memory);
    struct str line;
    uint64_t at = 0;
    while (inputs_next(&in->in))
        while (input_line(x->c, in->in.stream, '\n', &line, NULL)) {
            if (x->plain)
                add_pairs(line, false, UINT64_MAX, &out);
            else if (!revert_line(x, line, &at, &out))
                return 1;
            if (!put(x, &out))
                return 1;
        }
    return in->in.status;
}

static bool set_option(struct xxd *x, int key, const char *value)
{
    uint64_t *number = key == 'c'   ? &x->columns
                       : key == 'g' ? &x->group
                       : key == 'l' ? &x->max
                       : key == 's' ? &x->skip
                                    : NULL;
    x->plain |= key == 'p';
    x->include |= key == 'i';
    x->revert |= key == 'r';
    x->upper |= key == 'u';
    if (number && !dump_number(value + (key == 's' && *value == '+'), number)) {
        cmd_err(x->c, "invalid number %s", quote(x->c, value));
        return false;
    }
    return key != CMD_BAD;
}

static int run(struct xxd *x)
{
    struct dump in = dump_open(x->c, x->max);
    int status = 4;
    if (x->revert)
        status = revert(x, &in);
    else if (!dump_skip(&in, x->skip))
        cmd_err(x->c, "Sorry, cannot seek.");
    else
        status = x->include ? include(x, &in) : dump(x, &in);
    return status;
}

/* Its long options may have one dash. */
static void shorten(struct cmd *c)
{
    static const char *const words[] = { "-cols", "-groupsize", "-include", "-len",
        "-plain", "-postscript", "-ps", "-revert", "-seek", "-uppercase" };
    for (int i = 1; i < c->argc; i++)
        for (size_t k = 0; k < ARRAY_LEN(words); k++)
            if (!strcmp(c->argv[i], words[k]))
                c->argv[i] = arena_cstr(c->arena, (struct str){ words[k], 2 });
}

static int cmd_xxd(struct cmd *c)
{
    shorten(c);
    struct xxd x = { .c = c, .max = UINT64_MAX, .group = 2 };
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        if (!set_option(&x, k, o.value))
            return 1;
    if (!x.columns)
        x.columns = x.plain ? 30 : x.include ? 12 : 16;
    if (x.columns > MAX_COLUMNS) {
        cmd_err(c, "invalid number of columns (max. %d).", MAX_COLUMNS);
        return 1;
    }
    if (c->argc > 2)
        return extra_operand(c, c->argv[2]);
    if (c->argc > 1) {
        int errnum = cmd_create(c, c->argv[1], VFS_TRUNCATE, &x.out);
        if (errnum) {
            cmd_err(c, "%s: %s", c->argv[1], errno_text(errnum));
            return 3;
        }
        c->argc = 1;
    }
    int status = run(&x);
    if (x.out && !stream_flush(x.out))
        status = 3;
    stream_unref(x.out);
    return status;
}

const struct command command_xxd = {
    "xxd",
    cmd_xxd,
    options,
    "[OPTION]... [INFILE [OUTFILE]]",
    "Show bytes as hexadecimal digits, or make bytes of such a dump.",
    0,
};
