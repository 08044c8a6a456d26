/* md5sum, sha1sum and their kin. */
#include "shell/builtin/input.h"
#include "shell/builtin/quote.h"

#include <errno.h>
#include <nettle/md5.h>
#include <nettle/nettle-meta.h>
#include <nettle/sha.h>
#include <strings.h>

#define MAX_DIGEST 64

enum { OPT_TAG = 256, OPT_QUIET, OPT_STATUS, OPT_IGNORE_MISSING, OPT_STRICT };

static const struct cmd_opt options[] = {
    { 'b', "binary", ARG_NONE, NULL, "write '*' before the name" },
    { 't', "text", ARG_NONE, NULL, "write ' ' before the name (the default)" },
    { 'c', "check", ARG_NONE, NULL, "read such lines from the FILEs and check them" },
    { OPT_TAG, "tag", ARG_NONE, NULL, "lines as BSD writes them" },
    { 'z', "zero", ARG_NONE, NULL, "lines end with NUL" },
    { OPT_QUIET, "quiet", ARG_NONE, NULL, "with -c, say only what does not match" },
    { OPT_STATUS, "status", ARG_NONE, NULL, "with -c, say nothing" },
    { OPT_IGNORE_MISSING, "ignore-missing", ARG_NONE, NULL, "with -c, pass over those" },
    { OPT_STRICT, "strict", ARG_NONE, NULL, "with -c, bad lines are a failure" },
    { 'w', "warn", ARG_NONE, NULL, "with -c, name bad lines" },
    { 0 },
};

union context {
    struct md5_ctx md5;
    struct sha1_ctx sha1;
    struct sha256_ctx sha256;
    struct sha512_ctx sha512;
};

struct digest {
    struct cmd *c;
    const struct nettle_hash *hash;
    const char *tag;
    bool binary, check, with_tag, quiet, status, ignore_missing, strict, warn;
    char end;
};

/* What one list of sums led to. */
struct tally {
    size_t good, bad_lines, mismatches, unreadable;
};

static void to_hex(const uint8_t *bytes, size_t n, char *out)
{
    for (size_t i = 0; i < n; i++) {
        out[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    out[2 * n] = 0;
}

/* 0 or an errno; ECANCELED when the budget is spent. */
static int hash_stream(const struct digest *d, struct stream *in, char *hex)
{
    union context context;
    uint8_t bytes[MAX_DIGEST];
    struct str view;
    d->hash->init(&context);
    while (stream_peek(in, &view)) {
        if (!budget_spend(d->c->budget, 1 + view.len / 64))
            return ECANCELED;
        d->hash->update(&context, view.len, (const uint8_t *)view.data);
        stream_consume(in, view.len);
    }
    d->hash->digest(&context, d->hash->digest_size, bytes);
    to_hex(bytes, d->hash->digest_size, hex);
    return stream_error(in);
}

/* A backslash, CR or newline in the name is escaped, and the line begins with '\'. */
static bool needs_escape(const struct digest *d, const char *name)
{
    return d->end && strpbrk(name, "\\\n\r");
}

static void add_escaped(struct str name, struct buf *out)
{
    for (size_t i = 0; i < name.len; i++) {
        char ch = name.data[i];
        const char *letter = ch == '\n' ? "\\n" : ch == '\r' ? "\\r" : "\\\\";
        if (ch == '\n' || ch == '\r' || ch == '\\')
            buf_add(out, str_of(letter));
        else
            buf_addc(out, ch);
    }
}

static bool put_sum(struct digest *d, const char *name, const char *hex)
{
    auto_buf line = BUF(1 << 16);
    bool escape = needs_escape(d, name);
    if (escape)
        buf_addc(&line, '\\');
    if (d->with_tag)
        buf_addf(&line, "%s (", d->tag);
    else
        buf_addf(&line, "%s %c", hex, d->binary ? '*' : ' ');
    if (escape)
        add_escaped(str_of(name), &line);
    else
        buf_add(&line, str_of(name));
    if (d->with_tag)
        buf_addf(&line, ") = %s", hex);
    buf_addc(&line, d->end);
    return cmd_put(d->c, buf_str(&line));
}

static int write_sums(struct digest *d)
{
    struct inputs in = inputs_open(d->c);
    char hex[2 * MAX_DIGEST + 1];
    while (inputs_next(&in))
        if (!hash_stream(d, in.stream, hex) && !put_sum(d, in.name, hex))
            break;
    return in.status | d->c->out_failed;
}

struct entry {
    struct str hex, name;
};

static bool is_hex(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!strchr("0123456789abcdefABCDEF", s.data[i]) || !s.data[i])
            return false;
    return true;
}

static struct str unescape(struct cmd *c, struct str name)
{
    char *text = arena_cstr(c->arena, name), *to = text;
    for (const char *p = text; *p; p++) {
        bool escaped = *p == '\\' && p[1];
        p += escaped;
        *to++ = (char)(!escaped ? *p : *p == 'n' ? '\n' : *p == 'r' ? '\r' : *p);
    }
    return (struct str){ text, (size_t)(to - text) };
}

/* "MD5 (name) = hex" */
static bool parse_tagged(const struct digest *d, struct str line, struct entry *e)
{
    struct str tag = str_of(d->tag);
    if (!str_starts(line, tag) || !str_starts(str_from(line, tag.len), STR(" (")))
        return false;
    size_t digits = 2 * d->hash->digest_size;
    if (line.len < tag.len + 6 + digits)
        return false;
    e->hex = str_from(line, line.len - digits);
    struct str rest = str_sub(line, 0, line.len - digits);
    e->name = str_sub(rest, tag.len + 2, rest.len - tag.len - 6);
    return str_ends(rest, STR(") = ")) && is_hex(e->hex);
}

static bool parse_line(const struct digest *d, struct str line, struct entry *e)
{
    bool escaped = str_starts(line, STR("\\"));
    line = str_from(line, escaped);
    if (!parse_tagged(d, line, e)) {
        size_t digits = 2 * d->hash->digest_size;
        if (line.len < digits + 3 || line.data[digits] != ' ' ||
                (line.data[digits + 1] != ' ' && line.data[digits + 1] != '*'))
            return false;
        e->hex = str_sub(line, 0, digits);
        e->name = str_from(line, digits + 2);
    }
    if (escaped)
        e->name = unescape(d->c, e->name);
    return e->name.len && is_hex(e->hex);
}

static bool say(struct digest *d, const char *name, const char *result)
{
    if (d->status || (d->quiet && !strcmp(result, "OK")))
        return true;
    auto_buf line = BUF(1 << 16);
    bool escape = strpbrk(name, "\n\r");
    if (escape)
        buf_addc(&line, '\\');
    if (escape)
        add_escaped(str_of(name), &line);
    else
        buf_add(&line, str_of(name));
    buf_addf(&line, ": %s\n", result);
    return cmd_put(d->c, buf_str(&line));
}

/* False: stdout failed, or the budget is spent. */
static bool check_entry(struct digest *d, const struct entry *e, struct tally *t)
{
    char hex[2 * MAX_DIGEST + 1];
    const char *name = arena_cstr(d->c->arena, e->name);
    struct stream *in;
    int errnum = cmd_open(d->c, name, true, &in);
    if (errnum == ENOENT && d->ignore_missing)
        return true;
    if (!errnum) {
        errnum = hash_stream(d, in, hex);
        stream_unref(in);
    }
    if (budget_stopped(d->c->budget))
        return false;
    if (errnum) {
        cmd_err(d->c, "%s: %s", quote_maybe(d->c, name), errno_text(errnum));
        t->unreadable++;
        return say(d, name, "FAILED open or read");
    }
    bool same = !strncasecmp(hex, e->hex.data, e->hex.len);
    t->mismatches += !same;
    t->good += same;
    return say(d, name, same ? "OK" : "FAILED");
}

static void warn(struct digest *d, size_t n, const char *one, const char *many)
{
    if (n && !d->status)
        cmd_err(d->c, "WARNING: %zu %s", n, n == 1 ? one : many);
}

static bool conclude(struct digest *d, const char *name, const struct tally *t)
{
    if (!t->good && !t->mismatches && !t->unreadable && !d->ignore_missing) {
        name = input_is_stdin(name) ? "'standard input'" : quote_maybe(d->c, name);
        cmd_err(d->c, "%s: no properly formatted checksum lines found", name);
        return false;
    }
    warn(d, t->bad_lines, "line is improperly formatted",
            "lines are improperly formatted");
    warn(d, t->unreadable, "listed file could not be read",
            "listed files could not be read");
    warn(d, t->mismatches, "computed checksum did NOT match",
            "computed checksums did NOT match");
    if (d->ignore_missing && !t->good && !t->mismatches && !d->status)
        cmd_err(d->c, "%s: no file was verified", quote_maybe(d->c, name));
    return t->good && !t->mismatches && !t->unreadable && !(d->strict && t->bad_lines);
}

static bool check_list(struct digest *d, struct inputs *in)
{
    struct tally t = { 0 };
    struct str line;
    size_t number = 0;
    const char *name = input_is_stdin(in->name) ? "'standard input'" : in->name;
    while (input_line(d->c, in->stream, '\n', &line, NULL)) {
        struct entry e;
        struct arena_mark mark = arena_mark(d->c->arena);
        number++;
        if (str_ends(line, STR("\r")))
            line.len--;
        if (!line.len || line.data[0] == '#')
            continue;
        bool ok = true;
        if (parse_line(d, line, &e)) {
            ok = check_entry(d, &e, &t);
        } else {
            t.bad_lines++;
            if (d->warn)
                cmd_err(d->c, "%s: %zu: improperly formatted %s checksum line", name,
                        number, d->tag);
        }
        arena_rewind(d->c->arena, mark);
        if (!ok)
            return false;
    }
    return conclude(d, in->name, &t);
}

static int check_sums(struct digest *d)
{
    struct inputs in = inputs_open(d->c);
    bool ok = true;
    while (inputs_next(&in))
        ok &= check_list(d, &in);
    return ok ? in.status : 1;
}

static bool set_option(struct digest *d, int key)
{
    switch (key) {
    case 'b':
    case 't':
        d->binary = key == 'b';
        return true;
    case 'c':
        return d->check = true;
    case 'z':
        d->end = 0;
        return true;
    case 'w':
        return d->warn = true;
    case OPT_TAG:
        return d->with_tag = true;
    case OPT_QUIET:
        return d->quiet = true;
    case OPT_STATUS:
        return d->status = true;
    case OPT_IGNORE_MISSING:
        return d->ignore_missing = true;
    case OPT_STRICT:
        return d->strict = true;
    default:
        return false;
    }
}

static int run(struct cmd *c, const struct nettle_hash *hash, const char *tag)
{
    struct digest d = { .c = c, .hash = hash, .tag = tag, .end = '\n' };
    assert(hash->context_size <= sizeof(union context));
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        if (!set_option(&d, k))
            return 1;
    return d.check ? check_sums(&d) : write_sums(&d);
}

#define DIGEST(id, name, tag)                                     \
    static int cmd_##id(struct cmd *c)                            \
    {                                                             \
        return run(c, &nettle_##name, tag);                       \
    }                                                             \
    const struct command command_##id = { #id, cmd_##id, options, \
        "[OPTION]... [FILE]...", "Write or check " tag " sums of files.", 0 };

DIGEST(md5sum, md5, "MD5")
DIGEST(sha1sum, sha1, "SHA1")
DIGEST(sha224sum, sha224, "SHA224")
DIGEST(sha256sum, sha256, "SHA256")
DIGEST(sha384sum, sha384, "SHA384")
DIGEST(sha512sum, sha512, "SHA512")
