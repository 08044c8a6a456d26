#include "shell/builtin/escape.h"
#include "shell/builtin/quote.h"

static const struct cmd_opt options[] = {
    { 'c', "complement", ARG_NONE, NULL, "use all bytes that are not in SET1" },
    { 'C', NULL, ARG_NONE, NULL, "the same" },
    { 'd', "delete", ARG_NONE, NULL, "delete the bytes of SET1" },
    { 's', "squeeze-repeats", ARG_NONE, NULL,
            "print repeated bytes of the last SET once" },
    { 't', "truncate-set1", ARG_NONE, NULL, "cut SET1 to the length of SET2" },
    { 0 },
};

#define MAX_SET 65536

/* A set in order; [:lower:] and [:upper:] are remembered, since they pair. */
struct set {
    unsigned char *bytes;
    size_t len;
    size_t fill_at; /* where [c*] stands; len + 1: nowhere */
    unsigned char fill;
    size_t cases;   /* [:lower:] or [:upper:] in it */
    size_t classes; /* others */
};

struct tr {
    struct cmd *c;
    bool complement, delete, squeeze, truncate;
    unsigned char map[256];
    bool drop[256], once[256];
};

static bool in_class(struct str name, int ch, bool *known)
{
    bool upper = ch >= 'A' && ch <= 'Z', lower = ch >= 'a' && ch <= 'z';
    bool digit = ch >= '0' && ch <= '9', graph = ch > ' ' && ch < 127;
    *known = true;
    if (str_is(name, "alpha"))
        return upper || lower;
    if (str_is(name, "alnum"))
        return upper || lower || digit;
    if (str_is(name, "digit"))
        return digit;
    if (str_is(name, "upper"))
        return upper;
    if (str_is(name, "lower"))
        return lower;
    if (str_is(name, "space"))
        return ch == ' ' || (ch >= '\t' && ch <= '\r');
    if (str_is(name, "blank"))
        return ch == ' ' || ch == '\t';
    if (str_is(name, "punct"))
        return graph && !(upper || lower || digit);
    if (str_is(name, "print"))
        return graph || ch == ' ';
    if (str_is(name, "graph"))
        return graph;
    if (str_is(name, "cntrl"))
        return ch < ' ' || ch == 127;
    if (str_is(name, "xdigit"))
        return digit || ((ch | 0x20) >= 'a' && (ch | 0x20) <= 'f');
    return *known = false;
}

static bool add(struct set *set, unsigned char byte)
{
    if (set->len == MAX_SET)
        return false;
    set->bytes[set->len++] = byte;
    return true;
}

static bool add_class(struct tr *tr, struct set *set, struct str name)
{
    for (int ch = 0; ch < 256; ch++) {
        bool known;
        if (in_class(name, ch, &known) && !add(set, (unsigned char)ch))
            return false;
        if (!known) {
            cmd_err(tr->c, "invalid character class '%.*s'", STR_ARG(name));
            return false;
        }
    }
    bool is_case = str_is(name, "upper") || str_is(name, "lower");
    set->cases += is_case;
    set->classes += !is_case;
    return true;
}

/* One byte, perhaps escaped; returns its length. */
static size_t read_byte(struct str s, unsigned char *out, bool *escaped)
{
    char ch = s.data[0];
    size_t used = 0;
    *escaped = ch == '\\' && s.len > 1;
    if (*escaped && s.data[1] != 'e' && s.data[1] != 'x' && s.data[1] != '"')
        used = escape_read(str_from(s, 1), &ch);
    if (*escaped && !used) { /* \c is c */
        ch = s.data[1];
        used = 1;
    }
    *out = (unsigned char)ch;
    return 1 + used;
}

/* [:class:], [=c=]; returns its length, 0: neither, SIZE_MAX: bad. */
static size_t read_bracket(struct tr *tr, struct str s, struct set *set)
{
    if (s.len < 4 || s.data[0] != '[' || (s.data[1] != ':' && s.data[1] != '='))
        return 0;
    char end[3] = { s.data[1], ']', 0 };
    const char *at = memmem(s.data + 2, s.len - 2, end, 2);
    if (!at)
        return 0;
    struct str name = str_sub(s, 2, (size_t)(at - s.data) - 2);
    size_t used = name.len + 4;
    if (end[0] == ':')
        return add_class(tr, set, name) ? used : SIZE_MAX;
    if (name.len == 1)
        return add(set, (unsigned char)name.data[0]) ? used : SIZE_MAX;
    cmd_err(tr->c, "%.*s: equivalence class operand must be a single character",
            STR_ARG(name));
    return SIZE_MAX;
}

/* [c*n], [c*]; the same answers. */
static size_t read_repeat(struct tr *tr, struct str s, struct set *set)
{
    unsigned char byte;
    bool escaped;
    if (s.len < 4 || s.data[0] != '[')
        return 0;
    size_t used = 1 + read_byte(str_from(s, 1), &byte, &escaped);
    if (used >= s.len || s.data[used] != '*')
        return 0;
    const char *end = memchr(s.data + used, ']', s.len - used);
    if (!end)
        return 0;
    struct str count = str_sub(s, used + 1, (size_t)(end - s.data) - used - 1);
    uint64_t n = 0;
    bool octal = count.len && count.data[0] == '0';
    for (size_t i = 0; i < count.len; i++) {
        if (count.data[i] < '0' || count.data[i] > (octal ? '7' : '9')) {
            cmd_err(tr->c, "invalid repeat count '%.*s' in [c*n] construct",
                    STR_ARG(count));
            return SIZE_MAX;
        }
        n = n > MAX_SET ? n : n * (octal ? 8 : 10) + (uint64_t)(count.data[i] - '0');
    }
    if (!n) {
        set->fill_at = set->len;
        set->fill = byte;
    }
    for (; n; n--)
        if (!add(set, byte))
            break;
    return (size_t)(end - s.data) + 1;
}

/* c, or c-d */
static size_t read_range(struct tr *tr, struct str s, struct set *set)
{
    unsigned char first, last;
    bool escaped;
    size_t used = read_byte(s, &first, &escaped);
    struct str rest = str_from(s, used);
    if (rest.len < 2 || rest.data[0] != '-')
        return add(set, first) ? used : SIZE_MAX;
    size_t end = read_byte(str_from(rest, 1), &last, &escaped);
    if (last < first) {
        cmd_err(tr->c,
                "range-endpoints of '%.*s' are in reverse collating sequence order",
                (int)(used + 1 + end), s.data);
        return SIZE_MAX;
    }
    for (int ch = first; ch <= last; ch++)
        if (!add(set, (unsigned char)ch))
            return SIZE_MAX;
    return used + 1 + end;
}

static bool parse_set(struct tr *tr, const char *text, struct set *set)
{
    struct str rest = str_of(text);
    *set = (struct set){ .bytes = arena_alloc(tr->c->arena, MAX_SET),
        .fill_at = SIZE_MAX };
    while (rest.len) {
        size_t used = read_bracket(tr, rest, set);
        if (!used)
            used = read_repeat(tr, rest, set);
        if (!used)
            used = read_range(tr, rest, set);
        if (used == SIZE_MAX)
            return false;
        rest = str_from(rest, used);
    }
    return true;
}

static void complement(struct set *set)
{
    bool has[256] = { false };
    for (size_t i = 0; i < set->len; i++)
        has[set->bytes[i]] = true;
    set->len = 0;
    for (int ch = 0; ch < 256; ch++)
        if (!has[ch])
            set->bytes[set->len++] = (unsigned char)ch;
}

/* [c*] becomes as long as SET1 needs. */
static void expand_fill(struct set *set, size_t want)
{
    if (set->fill_at == SIZE_MAX || set->len >= want)
        return;
    size_t n = want - set->len;
    memmove(set->bytes + set->fill_at + n, set->bytes + set->fill_at,
            set->len - set->fill_at);
    memset(set->bytes + set->fill_at, set->fill, n);
    set->len = want;
}

static void mark(bool *table, const struct set *set)
{
    for (size_t i = 0; i < set->len; i++)
        table[set->bytes[i]] = true;
}

static bool failed(struct tr *tr, const char *message)
{
    cmd_err(tr->c, "%s", message);
    return false;
}

static bool build_map(struct tr *tr, struct set *from, struct set *to)
{
    expand_fill(to, from->len);
    if (!to->len && !tr->truncate)
        return failed(tr, "when not truncating set1, string2 must be non-empty");
    if (to->classes)
        return failed(tr,
                "when translating, the only character classes that may appear in\n"
                "string2 are 'upper' and 'lower'");
    if (to->cases && to->cases > from->cases)
        return failed(tr, "misaligned [:upper:] and/or [:lower:] construct");
    size_t len = tr->truncate && to->len < from->len ? to->len : from->len;
    for (size_t i = 0; i < len; i++)
        tr->map[from->bytes[i]] = to->bytes[i < to->len ? i : to->len - 1];
    return true;
}

static bool build(struct tr *tr, const char *first, const char *second)
{
    struct set from, to = { 0 };
    for (int ch = 0; ch < 256; ch++)
        tr->map[ch] = (unsigned char)ch;
    if (!parse_set(tr, first, &from) || (second && !parse_set(tr, second, &to)))
        return false;
    if (from.fill_at != SIZE_MAX)
        return failed(tr, "the [c*] repeat construct may not appear in string1");
    if (tr->complement)
        complement(&from);
    if (tr->delete)
        mark(tr->drop, &from);
    if (tr->squeeze)
        mark(tr->once, second ? &to : &from);
    return tr->delete || !second || build_map(tr, &from, &to);
}

static bool translate(struct tr *tr)
{
    struct str view;
    int last = -1;
    char *out = arena_alloc(tr->c->arena, 65536);
    while (cmd_tick(tr->c) && stream_peek(tr->c->in, &view)) {
        view = str_sub(view, 0, 65536);
        size_t len = 0;
        if (!tr->delete &&!tr->squeeze) {
            for (; len < view.len; len++)
                out[len] = (char)tr->map[(unsigned char)view.data[len]];
        } else {
            for (size_t i = 0; i < view.len; i++) {
                unsigned char byte = (unsigned char)view.data[i];
                if (tr->drop[byte])
                    continue;
                byte = tr->map[byte];
                if (tr->once[byte] && byte == last)
                    continue;
                last = byte;
                out[len++] = (char)byte;
            }
        }
        stream_consume(tr->c->in, view.len);
        if (!cmd_put(tr->c, (struct str){ out, len }))
            return false;
    }
    if (!stream_error(tr->c->in))
        return true;
    cmd_err(tr->c, "read error: %s", errno_text(stream_error(tr->c->in)));
    return false;
}

/* One set or two, as the options want. */
static bool check_operands(struct tr *tr)
{
    struct cmd *c = tr->c;
    int least = tr->delete == tr->squeeze ? 2 : 1;
    int most = tr->delete &&!tr->squeeze ? 1 : 2;
    if (c->argc >= least && c->argc <= most)
        return true;
    if (!c->argc) {
        missing_operand(c);
        return false;
    }
    const char *why = "";
    if (c->argc < least) {
        cmd_err(c, "missing operand after %s", quote(c, c->argv[c->argc - 1]));
        why = tr->squeeze ? "Two strings must be given when both deleting and squeezing "
                            "repeats.\n"
                          : "Two strings must be given when translating.\n";
    } else {
        cmd_err(c, "extra operand %s", quote(c, c->argv[most]));
        if (most == 1)
            why = "Only one string may be given when deleting without squeezing "
                  "repeats.\n";
    }
    if (!stream_write(c->err, str_of(why)))
        return false;
    try_help(c, 1);
    return false;
}

static int cmd_tr(struct cmd *c)
{
    struct tr *tr = arena_zalloc(c->arena, sizeof(*tr));
    tr->c = c;
    struct cmd_options o = cmd_options(c);
    o.stop_early = true;
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (k == CMD_BAD)
            return 1;
        tr->complement |= k == 'c' || k == 'C';
        tr->delete |= k == 'd';
        tr->squeeze |= k == 's';
        tr->truncate |= k == 't';
    }
    if (!check_operands(tr))
        return 1;
    return build(tr, c->argv[0], c->argv[1]) && translate(tr) ? 0 : 1;
}

const struct command command_tr = {
    "tr",
    cmd_tr,
    options,
    "[OPTION]... SET1 [SET2]",
    "Translate, squeeze or delete bytes of standard input.",
    0,
};
