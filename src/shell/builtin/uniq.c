#include "shell/builtin/input.h"
#include "shell/builtin/number.h"
#include "shell/builtin/quote.h"

enum { OPT_ALL_REPEATED = 256, OPT_GROUP };

static const struct cmd_opt options[] = {
    { 'c', "count", ARG_NONE, NULL, "print how often each line occurred" },
    { 'd', "repeated", ARG_NONE, NULL, "only repeated lines, one for each group" },
    { 'D', NULL, ARG_NONE, NULL, "all repeated lines" },
    { OPT_ALL_REPEATED, "all-repeated", ARG_OPTIONAL, "HOW",
            "the same, groups set apart by an empty line: none, prepend, separate" },
    { 'f', "skip-fields", ARG_REQUIRED, "N", "do not compare the first N fields" },
    { OPT_GROUP, "group", ARG_OPTIONAL, "HOW",
            "all lines, groups set apart: separate, prepend, append, both" },
    { 'i', "ignore-case", ARG_NONE, NULL, "do not mind letter case" },
    { 's', "skip-chars", ARG_REQUIRED, "N", "do not compare the first N characters" },
    { 'u', "unique", ARG_NONE, NULL, "only lines that are not repeated" },
    { 'z', "zero-terminated", ARG_NONE, NULL, "lines end with NUL" },
    { 'w', "check-chars", ARG_REQUIRED, "N", "compare at most N characters" },
    { 0 },
};

enum { APART_BEFORE = 1, APART_BETWEEN = 2, APART_AFTER = 4 }; /* empty lines */

struct uniq {
    struct cmd *c;
    struct stream *out; /* NULL: stdout */
    bool count, repeated, unique, fold;
    bool every; /* all lines of a group, not only the first */
    bool group; /* --group */
    unsigned apart;
    uint64_t skip_fields, skip_chars, check_chars;
    char end;
    bool wrote; /* a group was written */
};

static bool put(struct uniq *u, struct str text)
{
    return u->out ? stream_write(u->out, text) : cmd_put(u->c, text);
}

/* The part of a line that is compared. */
static struct str compared(const struct uniq *u, struct str s)
{
    size_t i = 0;
    for (uint64_t n = u->skip_fields; n && i < s.len; n--) {
        while (i < s.len && (s.data[i] == ' ' || s.data[i] == '\t'))
            i++;
        while (i < s.len && s.data[i] != ' ' && s.data[i] != '\t')
            i++;
    }
    s = str_from(s, i);
    s = str_from(s, u->skip_chars < s.len ? (size_t)u->skip_chars : s.len);
    return str_sub(s, 0, u->check_chars < s.len ? (size_t)u->check_chars : s.len);
}

static bool same(const struct uniq *u, struct str a, struct str b)
{
    if (!u->fold)
        return str_eq(a, b);
    return a.len == b.len && !strncasecmp(a.data, b.data, a.len);
}

static bool write_line(struct uniq *u, struct str line)
{
    return put(u, line) && put(u, (struct str){ &u->end, 1 });
}

static bool write_apart(struct uniq *u)
{
    bool wanted = u->wrote ? u->apart & (APART_BEFORE | APART_BETWEEN | APART_AFTER)
                           : u->apart & APART_BEFORE;
    u->wrote = true;
    return !wanted || put(u, (struct str){ &u->end, 1 });
}

/* One group has ended: `line` is its first. */
static bool end_group(struct uniq *u, struct str line, uint64_t count)
{
    if (u->every || !count || (count > 1 ? u->unique : u->repeated))
        return true;
    if (u->count) {
        char text[64];
        if (!put(u, number_column(count, 7, ' ', text)))
            return false;
    }
    return write_line(u, line);
}

/* For -D and --group: a further line of the group that began with `first`. */
static bool add_to_group(
        struct uniq *u, struct str first, struct str line, uint64_t count)
{
    if (!u->every || (u->group ? false : u->unique))
        return true;
    if (u->group)
        return (count > 1 || write_apart(u)) && write_line(u, line);
    if (count < 2)
        return true;
    if (count == 2 && !(write_apart(u) && write_line(u, first)))
        return false;
    return write_line(u, line);
}

static bool uniq_stream(struct uniq *u, struct stream *in)
{
    auto_buf first = BUF(SIZE_MAX / 4);
    struct str line, key = { 0 };
    uint64_t count = 0;
    while (input_line(u->c, in, u->end, &line, NULL)) {
        struct str this_key = compared(u, line);
        if (!count || !same(u, key, this_key)) {
            if (!end_group(u, buf_str(&first), count))
                return false;
            buf_clear(&first);
            buf_add(&first, line);
            key = compared(u, buf_str(&first));
            count = 0;
        }
        if (!add_to_group(u, buf_str(&first), line, ++count))
            return false;
    }
    if (budget_stopped(u->c->budget) || !end_group(u, buf_str(&first), count))
        return false;
    return !(u->wrote && (u->apart & APART_AFTER)) || put(u, (struct str){ &u->end, 1 });
}

static bool parse_number(struct uniq *u, int key, const char *value, uint64_t *out)
{
    if (number_size(str_of(value), out))
        return true;
    cmd_err(u->c, "%s: invalid number of %s", value,
            key == 'f'   ? "fields to skip"
            : key == 's' ? "bytes to skip"
                         : "bytes to compare");
    return false;
}

static bool set_apart(struct uniq *u, int key, const char *how)
{
    static const struct {
        const char *word;
        unsigned apart;
        int only; /* the option that knows it; 0: both */
    } words[] = {
        { "none", 0, OPT_ALL_REPEATED },
        { "prepend", APART_BEFORE, 0 },
        { "separate", APART_BETWEEN, 0 },
        { "append", APART_AFTER, OPT_GROUP },
        { "both", APART_BEFORE | APART_AFTER, OPT_GROUP },
    };
    u->every = true;
    u->group = key == OPT_GROUP;
    u->repeated = u->repeated || !u->group;
    if (!how)
        how = u->group ? "separate" : "none";
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if ((!words[i].only || words[i].only == key) &&
                str_starts(str_of(words[i].word), str_of(how))) {
            u->apart = words[i].apart;
            return true;
        }
    cmd_err(u->c, "invalid argument %s for '--%s'", quote(u->c, how),
            u->group ? "group" : "all-repeated");
    return false;
}

static bool set_option(struct uniq *u, int key, const char *value)
{
    switch (key) {
    case CMD_BAD:
        return false;
    case 'c':
        return u->count = true;
    case 'd':
        return u->repeated = true;
    case 'u':
        return u->unique = true;
    case 'i':
        return u->fold = true;
    case 'z':
        u->end = 0;
        return true;
    case 'f':
        return parse_number(u, key, value, &u->skip_fields);
    case 's':
        return parse_number(u, key, value, &u->skip_chars);
    case 'w':
        return parse_number(u, key, value, &u->check_chars);
    case 'D':
        return set_apart(u, OPT_ALL_REPEATED, NULL);
    default:
        return set_apart(u, key, value);
    }
}

static bool options_agree(struct uniq *u)
{
    if (u->group && (u->count || u->repeated || u->unique))
        cmd_err(u->c, "--group is mutually exclusive with -c/-d/-D/-u");
    else if (u->count && u->every)
        cmd_err(u->c, "printing all duplicated lines and repeat counts is meaningless");
    else
        return true;
    try_help(u->c, 1);
    return false;
}

static int run(struct uniq *u, const char *from, const char *to)
{
    struct cmd *c = u->c;
    struct stream *in;
    int errnum = cmd_open(c, from, true, &in);
    if (errnum) {
        cmd_err(c, "%s: %s", quote_maybe(c, from), errno_text(errnum));
        return 1;
    }
    if (to && !input_is_stdin(to)) {
        errnum = cmd_create(c, to, VFS_WRITE | VFS_CREATE | VFS_TRUNCATE, &u->out);
        if (errnum)
            cmd_err(c, "%s: %s", quote_maybe(c, to), errno_text(errnum));
    }
    bool ok = !errnum && uniq_stream(u, in);
    if (stream_error(in)) {
        cmd_err(c, "error reading %s: %s", quote(c, from), errno_text(stream_error(in)));
        ok = false;
    }
    if (u->out && !stream_flush(u->out))
        ok = false;
    stream_unref(u->out);
    stream_unref(in);
    return ok ? 0 : 1;
}

static int cmd_uniq(struct cmd *c)
{
    struct uniq u = { .c = c, .check_chars = UINT64_MAX, .end = '\n' };
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        if (!set_option(&u, k, o.value))
            return 1;
    if (!options_agree(&u))
        return 1;
    if (c->argc > 2)
        return extra_operand(c, c->argv[2]);
    return run(&u, c->argc ? c->argv[0] : "-", c->argc > 1 ? c->argv[1] : NULL);
}

const struct command command_uniq = {
    "uniq",
    cmd_uniq,
    options,
    "[OPTION]... [INPUT [OUTPUT]]",
    "Print each run of equal lines once.",
    0,
};
