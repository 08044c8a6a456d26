#include "shell/builtin/input.h"
#include "shell/builtin/quote.h"
#include "shell/builtin/ranges.h"

enum { OPT_COMPLEMENT = 256, OPT_OUTPUT };

static const struct cmd_opt options[] = {
    { 'b', "bytes", ARG_REQUIRED, "LIST", "print only these bytes" },
    { 'c', "characters", ARG_REQUIRED, "LIST", "the same" },
    { 'd', "delimiter", ARG_REQUIRED, "DELIM", "what is between fields, instead of TAB" },
    { 'f', "fields", ARG_REQUIRED, "LIST", "print only these fields" },
    { 'n', NULL, ARG_NONE, NULL, "(ignored)" },
    { OPT_COMPLEMENT, "complement", ARG_NONE, NULL, "print all but these" },
    { 's', "only-delimited", ARG_NONE, NULL, "leave out lines without delimiter" },
    { OPT_OUTPUT, "output-delimiter", ARG_REQUIRED, "STRING", "what to print between" },
    { 'z', "zero-terminated", ARG_NONE, NULL, "lines end with NUL" },
    { 0 },
};

struct cut {
    struct cmd *c;
    int kind; /* b, c or f */
    const char *list;
    struct ranges ranges;
    char delimiter, end;
    bool has_delimiter, complement, only_delimited;
    struct str output; /* data NULL: the delimiter, or nothing for bytes */
};

static void cut_bytes(const struct cut *cut, struct str line, struct buf *out)
{
    bool first = true;
    for (size_t i = 0; i < cut->ranges.count; i++) {
        const struct range *r = &cut->ranges.items[i];
        if (r->first > line.len)
            break;
        if (!first && cut->output.data)
            buf_add(out, cut->output);
        first = false;
        size_t last = r->last < line.len ? (size_t)r->last : line.len;
        buf_add(out, str_sub(line, (size_t)r->first - 1, last - (size_t)r->first + 1));
    }
}

/* False: the line is not printed at all. */
static bool cut_fields(const struct cut *cut, struct str line, struct buf *out)
{
    struct str between =
            cut->output.data ? cut->output : (struct str){ &cut->delimiter, 1 };
    size_t range = 0, count = cut->ranges.count;
    bool first = true, more = true;
    if (!line.len || !memchr(line.data, cut->delimiter, line.len)) {
        buf_add(out, line);
        return !cut->only_delimited;
    }
    for (uint64_t number = 1; more && range < count; number++) {
        const char *at = memchr(line.data, cut->delimiter, line.len);
        size_t len = at ? (size_t)(at - line.data) : line.len;
        more = at != NULL;
        if (number >= cut->ranges.items[range].first) {
            if (!first)
                buf_add(out, between);
            first = false;
            buf_add(out, str_sub(line, 0, len));
        }
        range += number == cut->ranges.items[range].last;
        line = str_from(line, len + more);
    }
    return true;
}

static bool cut_stream(const struct cut *cut, struct stream *in)
{
    auto_buf out = BUF(SIZE_MAX / 4);
    struct str line;
    while (input_line(cut->c, in, cut->end, &line, NULL)) {
        bool print = true;
        if (cut->kind == 'f')
            print = cut_fields(cut, line, &out);
        else
            cut_bytes(cut, line, &out);
        if (print)
            buf_addc(&out, cut->end);
        else
            buf_clear(&out);
        if (!cmd_put(cut->c, buf_str(&out)))
            return false;
        buf_clear(&out);
    }
    return true;
}

static bool usage(struct cut *cut, const char *message)
{
    cmd_err(cut->c, "%s", message);
    try_help(cut->c, 1);
    return false;
}

static bool set_option(struct cut *cut, int key, const char *value)
{
    switch (key) {
    case 'b':
    case 'c':
    case 'f':
        if (cut->list)
            return usage(cut, "only one list may be specified");
        cut->kind = key;
        cut->list = value;
        return true;
    case 'd':
        if (*value && value[1])
            return usage(cut, "the delimiter must be a single character");
        cut->delimiter = *value;
        return cut->has_delimiter = true;
    case 's':
        return cut->only_delimited = true;
    case 'z':
        cut->end = 0;
        return true;
    case OPT_COMPLEMENT:
        return cut->complement = true;
    case OPT_OUTPUT:
        cut->output = *value ? str_of(value) : (struct str){ "", 1 };
        return true;
    default:
        return key != CMD_BAD;
    }
}

static bool check(struct cut *cut)
{
    struct error err;
    if (!cut->list)
        return usage(cut, "you must specify a list of bytes, characters, or fields");
    if (cut->kind != 'f' && cut->has_delimiter)
        return usage(
                cut, "an input delimiter may be specified only when operating on fields");
    if (cut->kind != 'f' && cut->only_delimited)
        return usage(cut, "suppressing non-delimited lines makes sense\n\tonly when "
                          "operating on fields");
    if (ranges_parse(str_of(cut->list), cut->kind == 'f' ? "field" : "byte/character",
                cut->complement, cut->output.data != NULL && cut->kind != 'f',
                &cut->ranges, &err))
        return true;
    return usage(cut, err.message);
}

static int cmd_cut(struct cmd *c)
{
    struct cut cut = { .c = c, .delimiter = '\t', .end = '\n' };
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        if (!set_option(&cut, k, o.value))
            return 1;
    if (!check(&cut))
        return 1;
    struct inputs in = inputs_open(c);
    while (inputs_next(&in))
        if (!cut_stream(&cut, in.stream))
            in.next = in.count;
    free(cut.ranges.items);
    return in.status;
}

const struct command command_cut = {
    "cut",
    cmd_cut,
    options,
    "OPTION... [FILE]...",
    "Print selected parts of each line.",
    0,
};
