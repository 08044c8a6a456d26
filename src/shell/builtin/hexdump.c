#include "shell/builtin/dump.h"

#define LINE 16

static const struct cmd_opt options[] = {
    { 'C', "canonical", ARG_NONE, NULL, "bytes and characters" },
    { 'n', "length", ARG_REQUIRED, "LENGTH", "at most LENGTH bytes" },
    { 's', "skip", ARG_REQUIRED, "OFFSET", "leave out the first OFFSET bytes" },
    { 'v', "no-squeezing", ARG_NONE, NULL, "no '*' for lines that repeat" },
    { 0 },
};

static void add_canonical(const unsigned char *bytes, size_t len, struct buf *out)
{
    for (size_t i = 0; i < LINE; i++) {
        buf_addf(out, i % 8 ? " " : "  ");
        if (i < len)
            buf_addf(out, "%02x", bytes[i]);
        else
            buf_add(out, STR("  "));
    }
    buf_add(out, STR("  |"));
    for (size_t i = 0; i < len; i++)
        buf_addc(out, bytes[i] >= ' ' && bytes[i] < 127 ? (char)bytes[i] : '.');
    buf_addc(out, '|');
}

static void add_words(const unsigned char *bytes, size_t len, struct buf *out)
{
    for (size_t i = 0; i < LINE; i += 2) {
        if (i < len)
            buf_addf(out, " %04x", bytes[i] | (i + 1 < len ? bytes[i + 1] << 8 : 0));
        else
            buf_add(out, STR("     "));
    }
}

struct hexdump {
    struct cmd *c;
    bool canonical, all_lines;
    uint64_t skip, max;
};

static bool run(const struct hexdump *h, struct dump *in)
{
    unsigned char bytes[LINE], before[LINE];
    bool any = false, repeats = false;
    auto_buf out = BUF(4096);
    unsigned long long at = h->skip;
    if (!dump_skip(in, h->skip))
        return true;
    for (size_t len; (len = dump_read(in, bytes, LINE)); at += len) {
        bool same = any && len == LINE && !h->all_lines && !memcmp(bytes, before, LINE);
        any = true;
        if (!same) {
            buf_addf(&out, h->canonical ? "%08llx" : "%07llx", at);
            (h->canonical ? add_canonical : add_words)(bytes, len, &out);
            buf_addc(&out, '\n');
        } else if (!repeats) {
            buf_add(&out, STR("*\n"));
        }
        repeats = same;
        memcpy(before, bytes, LINE);
        if (!cmd_put(h->c, buf_str(&out)))
            return false;
        buf_clear(&out);
    }
    if (any)
        buf_addf(&out, h->canonical ? "%08llx\n" : "%07llx\n", at);
    return cmd_put(h->c, buf_str(&out));
}

static int cmd_hexdump(struct cmd *c)
{
    struct hexdump h = { .c = c, .max = UINT64_MAX };
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (k == CMD_BAD)
            return 1;
        h.canonical |= k == 'C';
        h.all_lines |= k == 'v';
        if ((k == 'n' || k == 's') &&
                !dump_number(o.value, k == 'n' ? &h.max : &h.skip)) {
            cmd_err(c, "%s: bad value", o.value);
            return 1;
        }
    }
    struct dump in = dump_open(c, h.max);
    bool ok = run(&h, &in);
    int status = in.in.status;
    if (status && !in.in.opened)
        cmd_err(c, "all input file arguments failed");
    return ok ? status : 1;
}

const struct command command_hexdump = {
    "hexdump",
    cmd_hexdump,
    options,
    "[OPTION]... [FILE]...",
    "Show bytes as hexadecimal numbers.",
    0,
};
