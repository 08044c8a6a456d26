/* base64 and base32: groups of bytes as groups of letters. */
#include "shell/builtin/input.h"
#include "shell/builtin/number.h"
#include "shell/builtin/quote.h"

#define WRAP 76

static const struct cmd_opt options[] = {
    { 'd', "decode", ARG_NONE, NULL, "from letters to bytes" },
    { 'i', "ignore-garbage", ARG_NONE, NULL,
            "when decoding, pass over other characters" },
    { 'w', "wrap", ARG_REQUIRED, "COLS", "lines of COLS characters (76); 0: one line" },
    { 0 },
};

struct codec {
    struct cmd *c;
    const char *letters;
    unsigned bits;         /* of a letter */
    size_t bytes, symbols; /* of a group */
    bool decode, ignore_garbage;
    uint64_t wrap, column;
};

/* One group of `len` bytes (fewer than a whole one only at the end). */
static void encode_group(
        const struct codec *e, const unsigned char *in, size_t len, struct buf *out)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < e->bytes; i++)
        bits = bits << 8 | (i < len ? in[i] : 0);
    size_t used = (len * 8 + e->bits - 1) / e->bits;
    for (size_t i = 0; i < e->symbols; i++) {
        unsigned shift = (unsigned)(e->symbols - 1 - i) * e->bits;
        buf_addc(out, i < used ? e->letters[bits >> shift & ((1u << e->bits) - 1)] : '=');
    }
}

static bool put_wrapped(struct codec *e, struct str text)
{
    while (e->wrap && text.len) {
        uint64_t room = e->wrap - e->column;
        struct str line = str_sub(text, 0, text.len < room ? text.len : (size_t)room);
        if (!cmd_put(e->c, line))
            return false;
        text = str_from(text, line.len);
        e->column += line.len;
        if (e->column == e->wrap && !cmd_putc(e->c, '\n'))
            return false;
        e->column %= e->wrap;
    }
    return cmd_put(e->c, text);
}

static bool encode(struct codec *e, struct stream *in)
{
    auto_buf out = BUF(1 << 20);
    struct str view;
    while (cmd_tick(e->c) && stream_peek_more(in, e->bytes, &view)) {
        size_t len = view.len < 30000 ? view.len : 30000;
        if (len >= e->bytes)
            len -= len % e->bytes;
        for (size_t i = 0; i < len; i += e->bytes)
            encode_group(e, (const unsigned char *)view.data + i,
                    len - i < e->bytes ? len - i : e->bytes, &out);
        stream_consume(in, len);
        if (!put_wrapped(e, buf_str(&out)))
            return false;
        buf_clear(&out);
    }
    return !e->column || cmd_putc(e->c, '\n');
}

struct group {
    uint64_t bits;
    size_t count, padding;
};

/* The bytes of a group; false: its padding cannot be. */
static bool end_group(const struct codec *e, struct group *g, struct buf *out)
{
    size_t symbols = g->count - g->padding, bytes = symbols * e->bits / 8;
    if (!symbols || g->count != e->symbols ||
            (bytes * 8 + e->bits - 1) / e->bits != symbols)
        return false;
    for (size_t i = 0; i < bytes; i++)
        buf_addc(out, (char)(g->bits >> (e->bytes - 1 - i) * 8));
    *g = (struct group){ 0 };
    return true;
}

/* False: this character cannot be here. */
static bool add_symbol(const struct codec *e, struct group *g, char ch, struct buf *out)
{
    const char *at = ch && ch != '=' ? strchr(e->letters, ch) : NULL;
    if (ch == '\n' || (!at && ch != '=' && e->ignore_garbage))
        return true;
    if ((!at && ch != '=') || (at && g->padding))
        return false;
    g->padding += !at;
    g->bits = g->bits << e->bits | (uint64_t)(at ? at - e->letters : 0);
    return ++g->count < e->symbols || end_group(e, g, out);
}

static bool decode(struct codec *e, struct stream *in)
{
    auto_buf out = BUF(1 << 20);
    struct str view;
    struct group g = { 0 };
    bool ok = true;
    while (ok && cmd_tick(e->c) && stream_peek(in, &view)) {
        size_t len = view.len < 60000 ? view.len : 60000;
        for (size_t i = 0; ok && i < len; i++)
            ok = add_symbol(e, &g, view.data[i], &out);
        stream_consume(in, len);
        if (!cmd_put(e->c, buf_str(&out)))
            return false;
        buf_clear(&out);
    }
    if (ok && !g.count)
        return true;
    for (size_t i = 0, symbols = g.count - g.padding; i < symbols * e->bits / 8; i++)
        buf_addc(&out, (char)(g.bits >> (g.count * e->bits - 8 * (i + 1))));
    bool unused UNUSED = cmd_put(e->c, buf_str(&out)) && stream_flush(e->c->out);
    if (!budget_stopped(e->c->budget))
        cmd_err(e->c, "invalid input");
    return false;
}

static int run(struct codec *e)
{
    struct cmd *c = e->c;
    e->wrap = WRAP;
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (k == CMD_BAD)
            return 1;
        if (k == 'w' && !number_plain(str_of(o.value), &e->wrap)) {
            cmd_err(c, "invalid wrap size: %s", quote(c, o.value));
            return 1;
        }
        e->decode |= k == 'd';
        e->ignore_garbage |= k == 'i';
    }
    if (c->argc > 1)
        return extra_operand(c, c->argv[1]);
    struct inputs in = inputs_open(c);
    bool ok = true;
    while (inputs_next(&in))
        ok = e->decode ? decode(e, in.stream) : encode(e, in.stream);
    return ok ? in.status : 1;
}

static int cmd_base64(struct cmd *c)
{
    return run(&(struct codec){ .c = c,
            .letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
            .bits = 6,
            .bytes = 3,
            .symbols = 4 });
}

static int cmd_base32(struct cmd *c)
{
    return run(&(struct codec){ .c = c,
            .letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
            .bits = 5,
            .bytes = 5,
            .symbols = 8 });
}

const struct command command_base64 = {
    "base64",
    cmd_base64,
    options,
    "[OPTION]... [FILE]",
    "Write bytes as letters of a set of 64, or back.",
    0,
};

const struct command command_base32 = {
    "base32",
    cmd_base32,
    options,
    "[OPTION]... [FILE]",
    "Write bytes as letters of a set of 32, or back.",
    0,
};
