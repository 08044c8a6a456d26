/* cksum and sum: the old check sums. */
#include "shell/builtin/input.h"

#define POLYNOMIAL 0x04c11db7u

static const struct cmd_opt cksum_options[] = { { 0 } };

static const struct cmd_opt sum_options[] = {
    { 'r', NULL, ARG_NONE, NULL, "BSD's sum, blocks of 1024 bytes (the default)" },
    { 's', "sysv", ARG_NONE, NULL, "System V's sum, blocks of 512 bytes" },
    { 0 },
};

static void make_table(uint32_t table[256])
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i << 24;
        for (int bit = 0; bit < 8; bit++)
            crc = crc << 1 ^ (crc & 0x80000000u ? POLYNOMIAL : 0);
        table[i] = crc;
    }
}

typedef uint32_t add_fn(const uint32_t *table, uint32_t sum, struct str bytes);

static uint32_t add_crc(const uint32_t *table, uint32_t sum, struct str bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        sum = sum << 8 ^ table[(sum >> 24 ^ (unsigned char)bytes.data[i]) & 0xff];
    return sum;
}

static uint32_t add_bsd(const uint32_t *table UNUSED, uint32_t sum, struct str bytes)
{
    for (size_t i = 0; i < bytes.len; i++) {
        sum = sum >> 1 | (sum & 1) << 15;
        sum = (sum + (unsigned char)bytes.data[i]) & 0xffff;
    }
    return sum;
}

static uint32_t add_sysv(const uint32_t *table UNUSED, uint32_t sum, struct str bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        sum += (unsigned char)bytes.data[i];
    return sum;
}

/* False: the budget is spent, or reading failed. */
static bool sum_stream(struct cmd *c, struct stream *in, add_fn *add,
        const uint32_t *table, uint32_t *sum, uint64_t *size)
{
    struct str view;
    *sum = 0;
    *size = 0;
    while (stream_peek(in, &view)) {
        if (!budget_spend(c->budget, 1 + view.len / 64))
            return false;
        *sum = add(table, *sum, view);
        *size += view.len;
        stream_consume(in, view.len);
    }
    return !stream_error(in);
}

static int cmd_cksum(struct cmd *c)
{
    uint32_t table[256], sum;
    uint64_t size;
    struct cmd_options o = cmd_options(c);
    if (cmd_next(&o) != CMD_END)
        return 1;
    bool named = c->argc > 0;
    struct inputs in = inputs_open(c);
    make_table(table);
    while (inputs_next(&in)) {
        if (!sum_stream(c, in.stream, add_crc, table, &sum, &size))
            continue;
        for (uint64_t n = size; n; n >>= 8)
            sum = add_crc(table, sum, (struct str){ (char[]){ (char)n }, 1 });
        if (!cmd_printf(c, "%u %llu%s%s\n", ~sum, (unsigned long long)size,
                    named ? " " : "", named ? in.name : ""))
            break;
    }
    return in.status | c->out_failed;
}

static int cmd_sum(struct cmd *c)
{
    uint32_t sum;
    uint64_t size;
    bool sysv = false;
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (k == CMD_BAD)
            return 1;
        sysv = k == 's';
    }
    bool named = c->argc > 0;
    struct inputs in = inputs_open(c);
    while (inputs_next(&in)) {
        if (!sum_stream(c, in.stream, sysv ? add_sysv : add_bsd, NULL, &sum, &size))
            continue;
        unsigned block = sysv ? 512 : 1024;
        unsigned long long blocks = (size + block - 1) / block;
        uint32_t folded = (sum & 0xffff) + (sum >> 16);
        folded = (folded & 0xffff) + (folded >> 16);
        if (!(sysv ? cmd_printf(c, "%u %llu", folded, blocks)
                   : cmd_printf(c, "%05u %5llu", sum, blocks)) ||
                !cmd_printf(c, "%s%s\n", named ? " " : "", named ? in.name : ""))
            break;
    }
    return in.status | c->out_failed;
}

const struct command command_cksum = {
    "cksum",
    cmd_cksum,
    cksum_options,
    "[FILE]...",
    "Write the POSIX check sum and the size of each file.",
    0,
};

const struct command command_sum = {
    "sum",
    cmd_sum,
    sum_options,
    "[OPTION]... [FILE]...",
    "Write a 16 bit check sum and the blocks of each file.",
    0,
};
