#include "shell/builtin/input.h"
#include "shell/builtin/number.h"

static const struct cmd_opt options[] = {
    { 'a', "all", ARG_NONE, NULL, "the whole file (as always here)" },
    { 'f', "print-file-name", ARG_NONE, NULL, "with the name of the file" },
    { 'n', "bytes", ARG_REQUIRED, "MIN", "at least MIN characters (4)" },
    { 't', "radix", ARG_REQUIRED, "RADIX", "with the offset in o, d or x" },
    { 'o', NULL, ARG_NONE, NULL, "-t o" },
    { 0 },
};

struct strings {
    struct cmd *c;
    uint64_t min;
    char radix; /* 0: none */
    bool names;
};

static bool put_start(const struct strings *s, const char *name, uint64_t at)
{
    unsigned long long n = at;
    if (s->names && !cmd_printf(s->c, "%s: ", name))
        return false;
    return !s->radix || cmd_printf(s->c,
                                s->radix == 'x'   ? "%7llx "
                                : s->radix == 'd' ? "%7llu "
                                                  : "%7llo ",
                                n);
}

/* What was gathered is a string if it is long enough; the rest of a long one follows. */
static bool strings_stream(const struct strings *s, const char *name, struct stream *in)
{
    auto_buf run = BUF(1 << 20);
    struct str view;
    uint64_t at = 0;
    bool open = false; /* the start of this string was written */
    while (cmd_tick(s->c) && stream_peek(in, &view)) {
        size_t len = view.len < 4096 ? view.len : 4096;
        for (size_t i = 0; i < len; i++, at++) {
            char ch = view.data[i];
            if ((ch >= ' ' && ch < 127) || ch == '\t') {
                buf_addc(&run, ch);
                if (!open && run.len >= s->min) {
                    open = true;
                    if (!put_start(s, name, at + 1 - run.len))
                        return false;
                }
                continue;
            }
            if (open)
                buf_addc(&run, '\n');
            if (open && !cmd_put(s->c, buf_str(&run)))
                return false;
            open = false;
            buf_clear(&run);
        }
        stream_consume(in, len);
        if (open && !cmd_put(s->c, buf_str(&run)))
            return false;
        if (open)
            buf_clear(&run);
    }
    if (open)
        buf_addc(&run, '\n');
    return !open || cmd_put(s->c, buf_str(&run));
}

static int cmd_strings(struct cmd *c)
{
    struct strings s = { .c = c, .min = 4 };
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (k == CMD_BAD)
            return 1;
        s.names |= k == 'f';
        if (k == 't' || k == 'o')
            s.radix = k == 'o' ? 'o' : *o.value;
        if (k == 'n' &&
                (!number_plain(str_of(o.value), &s.min) || !s.min || s.min > 1 << 19)) {
            cmd_err(c, "invalid minimum string length %s", o.value);
            return 1;
        }
    }
    struct inputs in = inputs_open(c);
    while (inputs_next(&in))
        if (!strings_stream(&s, input_is_stdin(in.name) ? "{standard input}" : in.name,
                    in.stream))
            break;
    return in.status | c->out_failed;
}

const struct command command_strings = {
    "strings",
    cmd_strings,
    options,
    "[OPTION]... [FILE]...",
    "Print the runs of printable characters in files.",
    0,
};
