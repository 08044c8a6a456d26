#include "shell/builtin/input.h"
#include "shell/builtin/number.h"
#include "shell/builtin/quote.h"

static const struct cmd_opt options[] = {
    { 'b', "print-bytes", ARG_NONE, NULL, "show the bytes that differ" },
    { 'i', "ignore-initial", ARG_REQUIRED, "SKIP[:SKIP]", "leave out that many bytes" },
    { 'l', "verbose", ARG_NONE, NULL, "show all bytes that differ" },
    { 'n', "bytes", ARG_REQUIRED, "LIMIT", "compare at most LIMIT bytes" },
    { 's', "silent", ARG_NONE, NULL, "say nothing" },
    { 's', "quiet", ARG_NONE, NULL, NULL },
    { 0 },
};

struct cmp {
    struct cmd *c;
    bool print_bytes, verbose, silent, differ;
    uint64_t skip[2], limit;
    const char *names[2];
    struct stream *in[2];
    uint64_t byte, line; /* compared so far; newlines in them */
    bool line_ended;     /* the last of them was a newline */
};

static bool parse_size(struct cmp *m, int key, struct str text, uint64_t *out)
{
    if (number_size(text, out))
        return true;
    cmd_err(m->c, "invalid --%s value '%.*s'", key == 'i' ? "ignore-initial" : "bytes",
            STR_ARG(text));
    cmd_err(m->c, "Try 'cmp --help' for more information.");
    return false;
}

static bool set_option(struct cmp *m, int key, const char *value)
{
    struct str rest = str_of(value ? value : "");
    switch (key) {
    case 'b':
        return m->print_bytes = true;
    case 'l':
        return m->verbose = true;
    case 's':
        return m->silent = true;
    case 'n':
        return parse_size(m, key, rest, &m->limit);
    case 'i': {
        struct str first = str_cut(&rest, ':');
        return parse_size(m, key, first, &m->skip[0]) &&
               parse_size(m, key, rest.len ? rest : first, &m->skip[1]);
    }
    default:
        return false;
    }
}

/* A byte as cat -v shows it. */
static void byte_text(unsigned char byte, char out[8])
{
    size_t n = 0;
    if (byte >= 128) {
        out[n++] = 'M';
        out[n++] = '-';
        byte &= 127;
    }
    if (byte < 32 || byte == 127) {
        out[n++] = '^';
        byte ^= 64;
    }
    out[n++] = (char)byte;
    out[n] = 0;
}

static bool report(struct cmp *m, unsigned char a, unsigned char b)
{
    char text[2][8];
    byte_text(a, text[0]);
    byte_text(b, text[1]);
    unsigned long long at = m->byte;
    if (m->verbose && m->print_bytes)
        return cmd_printf(m->c, "%llu %3o %-4s %3o %s\n", at, a, text[0], b, text[1]);
    if (m->verbose)
        return cmd_printf(m->c, "%llu %3o %3o\n", at, a, b);
    if (!cmd_printf(m->c, "%s %s differ: byte %llu, line %llu", m->names[0], m->names[1],
                at, (unsigned long long)m->line + 1))
        return false;
    return m->print_bytes
                   ? cmd_printf(m->c, " is %3o %s %3o %s\n", a, text[0], b, text[1])
                   : cmd_putc(m->c, '\n');
}

/* False: enough is known. */
static bool compare(struct cmp *m, struct str a, struct str b)
{
    for (size_t i = 0; i < a.len; i++) {
        m->byte++;
        if (a.data[i] != b.data[i]) {
            m->differ = true;
            if (m->silent ||
                    !report(m, (unsigned char)a.data[i], (unsigned char)b.data[i]) ||
                    !m->verbose)
                return false;
        }
        m->line_ended = a.data[i] == '\n';
        m->line += m->line_ended;
    }
    return true;
}

static void report_end(struct cmp *m, int which)
{
    unsigned long long byte = m->byte, line = m->line;
    m->differ = true;
    if (m->silent)
        return;
    if (!byte)
        cmd_err(m->c, "EOF on %s which is empty", m->names[which]);
    else if (m->verbose)
        cmd_err(m->c, "EOF on %s after byte %llu", m->names[which], byte);
    else if (m->line_ended)
        cmd_err(m->c, "EOF on %s after byte %llu, line %llu", m->names[which], byte,
                line);
    else
        cmd_err(m->c, "EOF on %s after byte %llu, in line %llu", m->names[which], byte,
                line + 1);
}

static int run(struct cmp *m)
{
    struct str view[2];
    for (int i = 0; i < 2; i++)
        if (!skip_bytes(m->c, m->in[i], m->skip[i]))
            continue;
    while (m->limit && cmd_tick(m->c)) {
        bool more[2] = { stream_peek(m->in[0], &view[0]),
            stream_peek(m->in[1], &view[1]) };
        if (more[0] != more[1])
            report_end(m, more[0]);
        if (!more[0] || !more[1])
            break;
        size_t n = view[0].len < view[1].len ? view[0].len : view[1].len;
        if (n > m->limit)
            n = (size_t)m->limit;
        if (!budget_spend(m->c->budget, n / 64) ||
                !compare(m, str_sub(view[0], 0, n), str_sub(view[1], 0, n)))
            break;
        m->limit -= n;
        stream_consume(m->in[0], n);
        stream_consume(m->in[1], n);
    }
    for (int i = 0; i < 2; i++)
        if (stream_error(m->in[i])) {
            cmd_err(m->c, "%s: %s", m->names[i], errno_text(stream_error(m->in[i])));
            return 2;
        }
    return m->differ;
}

static bool open_both(struct cmp *m)
{
    for (int i = 0; i < 2; i++) {
        int errnum = cmd_open(m->c, m->names[i], true, &m->in[i]);
        if (errnum) {
            if (!m->silent)
                cmd_err(m->c, "%s: %s", m->names[i], errno_text(errnum));
            return false;
        }
    }
    return true;
}

static int cmd_cmp(struct cmd *c)
{
    struct cmp m = { .c = c, .limit = UINT64_MAX };
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        if (!set_option(&m, k, o.value))
            return 2;
    if (!c->argc) {
        cmd_err(c, "missing operand after 'cmp'");
        cmd_err(c, "Try 'cmp --help' for more information.");
        return 2;
    }
    for (int i = 2; i < c->argc && i < 4; i++)
        if (!parse_size(&m, 'i', str_of(c->argv[i]), &m.skip[i - 2]))
            return 2;
    if (c->argc > 4) {
        cmd_err(c, "extra operand %s", quote(c, c->argv[4]));
        cmd_err(c, "Try 'cmp --help' for more information.");
        return 2;
    }
    m.names[0] = c->argv[0];
    m.names[1] = c->argc > 1 ? c->argv[1] : "-";
    int status = open_both(&m) ? run(&m) : 2;
    stream_unref(m.in[0]);
    stream_unref(m.in[1]);
    return status;
}

const struct command command_cmp = {
    "cmp",
    cmd_cmp,
    options,
    "[OPTION]... FILE1 [FILE2 [SKIP1 [SKIP2]]]",
    "Compare two files byte by byte.",
    0,
};
