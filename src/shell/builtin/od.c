#include "shell/builtin/input.h"
#include "shell/builtin/number.h"
#include "shell/builtin/quote.h"

#include <stdio.h>

static const struct cmd_opt options[] = {
    { 'A', "address-radix", ARG_REQUIRED, "RADIX",
            "of addresses: d, o, x, or n for none" },
    { 'a', NULL, ARG_NONE, NULL, "the same as -t a: named characters" },
    { 'b', NULL, ARG_NONE, NULL, "the same as -t o1" },
    { 'c', NULL, ARG_NONE, NULL, "the same as -t c: characters or escapes" },
    { 'd', NULL, ARG_NONE, NULL, "the same as -t u2" },
    { 'f', NULL, ARG_NONE, NULL, "the same as -t fF" },
    { 'i', NULL, ARG_NONE, NULL, "the same as -t d4" },
    { 'j', "skip-bytes", ARG_REQUIRED, "N", "skip N bytes of the input first" },
    { 'l', NULL, ARG_NONE, NULL, "the same as -t d8" },
    { 'N', "read-bytes", ARG_REQUIRED, "N", "show at most N bytes" },
    { 'o', NULL, ARG_NONE, NULL, "the same as -t o2" },
    { 's', NULL, ARG_NONE, NULL, "the same as -t d2" },
    { 't', "format", ARG_REQUIRED, "TYPE",
            "a c d[SIZE] f[SIZE] o[SIZE] u[SIZE] x[SIZE], with z the text after it" },
    { 'v', "output-duplicates", ARG_NONE, NULL, "equal lines too, instead of *" },
    { 'w', "width", ARG_OPTIONAL, "N", "N bytes a line (32 without N; 16 by default)" },
    { 'x', NULL, ARG_NONE, NULL, "the same as -t x2" },
    { 0 },
};

#define MAX_FORMATS 16
#define MAX_WIDTH   65536

struct format {
    char kind; /* a c d f o u x */
    size_t size;
    int width; /* of a number, without the blank before it */
    int pad;   /* blanks more for a whole line, so that formats line up */
    bool text;
};

struct od {
    struct cmd *c;
    struct format formats[MAX_FORMATS];
    size_t count;
    char radix;
    uint64_t skip, limit, address;
    size_t width; /* bytes of a line */
    bool all;     /* -v */
    struct buf last;
    bool has_last, starred;
};

static int number_width(char kind, size_t size)
{
    static const unsigned char octal[] = { 3, 6, 0, 11, 0, 0, 0, 22 },
                               decimal[] = { 3, 5, 0, 10, 0, 0, 0, 20 };
    switch (kind) {
    case 'a':
    case 'c':
        return 3;
    case 'x':
        return (int)(2 * size);
    case 'o':
        return octal[size - 1];
    case 'f':
        return size == 4 ? 15 : 24;
    case 'd':
        return decimal[size - 1] + 1 - (size == 8);
    default:
        return decimal[size - 1];
    }
}

/* The SIZE after a type: a number or a letter; 0: none is possible. */
static size_t read_size(char kind, const char **at)
{
    static const char letters[] = "CSILFD";
    static const unsigned char sizes[] = { 1, 2, 4, 8, 4, 8 };
    const char *found = **at ? strchr(letters, **at) : NULL;
    if (found) {
        ++*at;
        return sizes[found - letters];
    }
    size_t digits = strspn(*at, "0123456789");
    uint64_t size = kind == 'f' ? 8 : 4;
    if (digits && !number_plain((struct str){ *at, digits }, &size))
        return 0;
    *at += digits;
    bool known = kind == 'f' ? size == 4 || size == 8
                             : size == 1 || size == 2 || size == 4 || size == 8;
    return known ? (size_t)size : 0;
}

static bool add_formats(struct od *od, const char *text)
{
    for (const char *at = text; *at;) {
        struct format f = { .kind = *at, .size = 1 };
        if (!strchr("acdfoux", *at)) {
            cmd_err(od->c, "invalid character '%c' in type string %s", *at,
                    quote(od->c, text));
            return false;
        }
        at++;
        if (f.kind != 'a' && f.kind != 'c' && !(f.size = read_size(f.kind, &at))) {
            cmd_err(od->c, "invalid type string %s", quote(od->c, text));
            return false;
        }
        f.text = *at == 'z';
        at += f.text;
        f.width = number_width(f.kind, f.size);
        if (od->count == MAX_FORMATS) {
            cmd_err(od->c, "too many types");
            return false;
        }
        od->formats[od->count++] = f;
    }
    return true;
}

/* All formats take as much place for a line as the widest. */
static void line_up(struct od *od)
{
    int widest = 0;
    for (size_t i = 0; i < od->count; i++) {
        struct format *f = &od->formats[i];
        f->pad = (int)(od->width / f->size) * (f->width + 1);
        widest = f->pad > widest ? f->pad : widest;
    }
    for (size_t i = 0; i < od->count; i++)
        od->formats[i].pad = widest - od->formats[i].pad;
}

static const char *char_text(char kind, unsigned char byte, char out[8])
{
    static const char names[][4] = { "nul", "soh", "stx", "etx", "eot", "enq", "ack",
        "bel", "bs", "ht", "nl", "vt", "ff", "cr", "so", "si", "dle", "dc1", "dc2", "dc3",
        "dc4", "nak", "syn", "etb", "can", "em", "sub", "esc", "fs", "gs", "rs", "us",
        "sp" };
    static const char escapes[] = "\0\a\b\t\n\v\f\r", letters[] = "0abtnvfr";
    if (kind == 'a') {
        byte &= 127;
        if (byte <= 32)
            return names[byte];
        if (byte == 127)
            return "del";
        snprintf(out, 8, "%c", byte);
        return out;
    }
    const char *at = memchr(escapes, byte, sizeof(escapes) - 1);
    if (at)
        snprintf(out, 8, "\\%c", letters[at - escapes]);
    else
        snprintf(out, 8, byte >= 32 && byte < 127 ? "%c" : "%03o", byte);
    return out;
}

static uint64_t load(const char *at, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, at, size); /* little-endian, as the machines are that this runs on */
    return value;
}

static int64_t sign_extend(uint64_t value, size_t size)
{
    unsigned shift = 64 - 8 * (unsigned)size;
    return (int64_t)(value << shift) >> shift;
}

static void add_float(const char *at, const struct format *f, int width, struct buf *out)
{
    if (f->size == 4) {
        float value;
        memcpy(&value, at, sizeof(value));
        buf_addf(out, "%*.8g", width, (double)value);
    } else {
        double value;
        memcpy(&value, at, sizeof(value));
        buf_addf(out, "%*.17g", width, value);
    }
}

static void add_item(const struct format *f, const char *at, int width, struct buf *out)
{
    char text[8];
    switch (f->kind) {
    case 'a':
    case 'c':
        buf_addf(out, "%*s", width, char_text(f->kind, (unsigned char)*at, text));
        break;
    case 'd':
        buf_addf(out, "%*lld", width, (long long)sign_extend(load(at, f->size), f->size));
        break;
    case 'f':
        add_float(at, f, width, out);
        break;
    case 'o':
        buf_addf(out, "%*s%0*llo", width - f->width, "", f->width,
                (unsigned long long)load(at, f->size));
        break;
    case 'x':
        buf_addf(out, "%*s%0*llx", width - f->width, "", f->width,
                (unsigned long long)load(at, f->size));
        break;
    default:
        buf_addf(out, "%*llu", width, (unsigned long long)load(at, f->size));
        break;
    }
}

/* Blanks before item `i` of `n`: the line's are spread evenly. */
static int pad_of(const struct format *f, size_t i, size_t n)
{
    int left = (int)(n - i), all = (int)n;
    return f->pad * left / all - f->pad * (left - 1) / all;
}

/* One format of a line; `block` has zeros after the end of `len`. */
static void add_line(const struct od *od, const struct format *f, const char *block,
        size_t len, struct buf *out)
{
    size_t n = od->width / f->size;
    for (size_t i = 0; i < n; i++) {
        int width = f->width + 1 + pad_of(f, i, n);
        if (i * f->size < len)
            add_item(f, block + i * f->size, width, out);
        else if (f->text)
            buf_addf(out, "%*s", width, "");
    }
    if (f->text) {
        buf_add(out, STR("  >"));
        for (size_t i = 0; i < len; i++)
            buf_addc(out, block[i] >= 32 && block[i] < 127 ? block[i] : '.');
        buf_addc(out, '<');
    }
    buf_addc(out, '\n');
}

static void add_address(const struct od *od, struct buf *out)
{
    unsigned long long address = od->address;
    if (od->radix == 'o')
        buf_addf(out, "%07llo", address);
    else if (od->radix == 'd')
        buf_addf(out, "%07llu", address);
    else if (od->radix == 'x')
        buf_addf(out, "%06llx", address);
}

static bool show(struct od *od, const char *block, size_t len)
{
    struct str bytes = { block, len };
    auto_buf out = BUF(1 << 24);
    bool same = !od->all && od->has_last && len == od->width &&
                str_eq(bytes, buf_str(&od->last));
    if (same && od->starred) {
        od->address += len;
        return true;
    }
    if (same) {
        buf_add(&out, STR("*\n"));
    } else {
        for (size_t i = 0; i < od->count; i++) {
            if (!i)
                add_address(od, &out);
            else
                buf_addf(&out, "%*s",
                        od->radix == 'n'   ? 0
                        : od->radix == 'x' ? 6
                                           : 7,
                        "");
            add_line(od, &od->formats[i], block, len, &out);
        }
        buf_clear(&od->last);
        buf_add(&od->last, bytes);
        od->has_last = true;
    }
    od->starred = same;
    od->address += len;
    return cmd_put(od->c, buf_str(&out));
}

static bool dump(struct od *od, struct inputs *in)
{
    char *block = arena_zalloc(od->c->arena, od->width + 16);
    size_t len = 0;
    uint64_t skip = od->skip, left = od->limit;
    while (left && inputs_next(in)) {
        struct str view;
        while (left && cmd_tick(od->c) && stream_peek(in->stream, &view)) {
            size_t want =
                    skip ? (size_t)(skip < view.len ? skip : view.len) : od->width - len;
            view = str_sub(view, 0, want < left || skip ? want : (size_t)left);
            if (skip) {
                skip -= view.len;
            } else {
                memcpy(block + len, view.data, view.len);
                len += view.len;
                left -= view.len;
            }
            stream_consume(in->stream, view.len);
            if (len == od->width) {
                if (!show(od, block, len))
                    return false;
                len = 0;
            }
        }
    }
    if (skip) {
        cmd_err(od->c, "cannot skip past end of combined input");
        in->status = 1;
        return true;
    }
    if (in->status && !in->opened)
        return true;
    memset(block + len, 0, od->width - len);
    if (len && !show(od, block, len))
        return false;
    auto_buf end = BUF(64);
    add_address(od, &end);
    if (od->radix != 'n')
        buf_addc(&end, '\n');
    return cmd_put(od->c, buf_str(&end));
}

static bool set_number(struct od *od, int key, const char *value, uint64_t *out)
{
    char *end;
    if (value[0] == '0' && (value[1] == 'x' || value[1] == 'X')) {
        *out = strtoull(value, &end, 16);
        if (!*end && value[2])
            return true;
    } else if (number_size(str_of(value), out)) {
        return true;
    }
    cmd_err(od->c, "invalid -%c argument %s", key, quote(od->c, value));
    return false;
}

static bool set_width(struct od *od, const char *value)
{
    uint64_t width = 32;
    if (value && !set_number(od, 'w', value, &width))
        return false;
    if (!width || width > MAX_WIDTH) {
        cmd_err(od->c, "invalid -w argument %s", quote(od->c, value));
        return false;
    }
    od->width = (size_t)width;
    return true;
}

static bool set_option(struct od *od, int key, const char *value)
{
    static const char *const named[] = { "aa", "bo1", "cc", "du2", "ffF", "id4", "ld8",
        "oo2", "sd2", "xx2" };
    for (size_t i = 0; i < ARRAY_LEN(named); i++)
        if (key == named[i][0])
            return add_formats(od, named[i] + 1);
    switch (key) {
    case 'A':
        if (strchr("doxn", value[0]) && value[0] && !value[1]) {
            od->radix = value[0];
            return true;
        }
        cmd_err(od->c,
                "invalid output address radix '%s'; it must be one character from [doxn]",
                value);
        return false;
    case 'j':
        return set_number(od, key, value, &od->skip);
    case 'N':
        return set_number(od, key, value, &od->limit);
    case 't':
        return add_formats(od, value);
    case 'v':
        return od->all = true;
    case 'w':
        return set_width(od, value);
    default:
        return false;
    }
}

static int cmd_od(struct cmd *c)
{
    struct od od = {
        .c = c, .radix = 'o', .limit = UINT64_MAX, .width = 16, .last = BUF(MAX_WIDTH)
    };
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        if (!set_option(&od, k, o.value))
            return 1;
    if (!od.count && !add_formats(&od, "o2"))
        return 1;
    size_t unit = 1;
    for (size_t i = 0; i < od.count; i++)
        unit = od.formats[i].size > unit ? od.formats[i].size : unit;
    if (od.width % unit) {
        cmd_err(c, "warning: invalid width %zu; using %zu instead", od.width, unit);
        od.width = unit;
    }
    line_up(&od);
    od.address = od.skip;
    struct inputs in = inputs_open(c);
    bool ok = dump(&od, &in);
    buf_finish(&od.last);
    return ok ? in.status : inputs_stop(&in);
}

const struct command command_od = {
    "od",
    cmd_od,
    options,
    "[OPTION]... [FILE]...",
    "Show the bytes of files as numbers and characters.",
    0,
};
