#include "policy/args_text.h"

#include <ctype.h>
#include <strings.h>

#define SEPARATORS  "=,:;@<"
#define MAX_BUNDLE  12   /* letters of a short option with a value behind them */
#define MAX_TAIL    8192 /* bytes of a part that does not begin the argument */
#define MAX_SCHEME  32
#define MAX_MACHINE 255

static bool is_one_of(char c, const char *set)
{
    return c && strchr(set, c);
}

static bool is_blank(char c)
{
    return isspace((unsigned char)c);
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || is_one_of(c, "._-+");
}

static size_t span(struct str s, const char *set)
{
    size_t i = 0;
    while (i < s.len && !is_one_of(s.data[i], set))
        i++;
    return i;
}

enum args_program args_program_of(struct str command)
{
    static const struct {
        const char *name;
        enum args_program program;
    } table[] = {
        { "git", ARGS_GIT },
        { "gsed", ARGS_SED },
        { "p4", ARGS_P4 },
        { "perl", ARGS_SED },
        { "sed", ARGS_SED },
    };
    const char *slash = command.len ? memrchr(command.data, '/', command.len) : NULL;
    if (slash)
        command = str_from(command, (size_t)(slash - command.data) + 1);
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (str_is(command, table[i].name))
            return table[i].program;
    return ARGS_OTHER;
}

/* The letters before the first ':', if they can be a scheme.  One letter is a drive. */
static size_t scheme_length(struct str text)
{
    size_t i = 0;
    if (!text.len || !isalpha((unsigned char)text.data[0]))
        return 0;
    while (i < text.len && i < MAX_SCHEME && is_word(text.data[i]) && text.data[i] != '_')
        i++;
    return i > 1 && i < text.len && text.data[i] == ':' ? i : 0;
}

size_t args_url_scheme(struct str text)
{
    size_t scheme = scheme_length(text);
    return scheme && str_starts(str_from(text, scheme), STR("://")) ? scheme + 1 : 0;
}

/* Words before a ':' after which a path on this machine follows: openssl's file:,
 * ffmpeg's concat:, ImageMagick's text:, ... */
static bool is_local_scheme(struct str scheme)
{
    static const char *const words[] = { "cache", "caption", "concat", "dir",
        "docker-archive", "label", "local", "msl", "mvg", "oci", "oci-archive", "path",
        "sqlite", "sqlite3", "subfile", "text", "unix" };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (scheme.len == strlen(words[i]) &&
                !strncasecmp(scheme.data, words[i], scheme.len))
            return true;
    return scheme.len >= 4 && !strncasecmp(scheme.data + scheme.len - 4, "file", 4);
}

static void add(
        struct arena *arena, struct args_parts *parts, struct str text, bool is_sentence)
{
    if (!text.len)
        return;
    if (parts->count == parts->cap) {
        size_t cap = parts->cap ? parts->cap * 2 : 16;
        struct args_part *more = arena_alloc(arena, cap * sizeof(*more));
        if (parts->count)
            memcpy(more, parts->items, parts->count * sizeof(*more));
        parts->items = more;
        parts->cap = cap;
    }
    parts->items[parts->count++] = (struct args_part){ text, is_sentence };
}

struct search {
    enum args_program program;
    struct str argument;
    args_is_file_fn *is_file;
    const void *user;
    struct arena *arena;
    struct args_parts *parts;
    bool is_sentence;
};

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* %2F is a slash.  %00 ends nothing: no path has it. */
static struct str decode(struct arena *arena, struct str text)
{
    char *out = arena_alloc(arena, text.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        int high = i + 2 < text.len ? hex_digit(text.data[i + 1]) : -1;
        int low = i + 2 < text.len ? hex_digit(text.data[i + 2]) : -1;
        bool coded = text.data[i] == '%' && high >= 0 && low >= 0 && high + low > 0;
        out[len++] = coded ? (char)(high * 16 + low) : text.data[i];
        i += coded ? 2 : 0;
    }
    return (struct str){ out, len };
}

/* What follows "file:" may have a machine's name before the path, and a query after. */
static void add_file_url(const struct search *s, struct str rest)
{
    struct str variants[4];
    size_t count = 0;
    variants[count++] = rest;
    if (str_starts(rest, STR("//"))) {
        struct str name = str_from(rest, 2);
        variants[count++] = name;
        variants[count++] = str_from(name, span(name, "/"));
    }
    for (size_t i = 0; i < count; i++) {
        struct str path = variants[i], query = str_sub(path, 0, span(path, "?#"));
        add(s->arena, s->parts, decode(s->arena, path), s->is_sentence);
        if (query.len < path.len)
            add(s->arena, s->parts, decode(s->arena, query), s->is_sentence);
    }
}

/* On another machine: "host:/path", "image:tag", "HEAD:path".  Not if there is a file of
 * that name, and one letter is no machine. */
static bool is_elsewhere(const struct search *s, struct str before)
{
    if (before.len < 2 || before.len > MAX_MACHINE || before.data[0] == '-')
        return false;
    for (size_t i = 0; i < before.len; i++)
        if (!is_word(before.data[i]))
            return false;
    return !str_is(before, "..") && !is_local_scheme(before) &&
           !s->is_file(s->user, before);
}

static bool goes_up(struct str path)
{
    path.len = span(path, ",:;");
    while (path.len)
        if (str_is(str_cut(&path, '/'), ".."))
            return true;
    return false;
}

/* A part begins at `at`: all the rest is one, and so is what comes before the next mark
 * of a list. */
static void add_from(const struct search *s, size_t at)
{
    struct str rest = str_from(s->argument, at);
    if (at && rest.len > MAX_TAIL)
        rest.len = MAX_TAIL;
    add(s->arena, s->parts, rest, s->is_sentence);
    size_t item = span(rest, ",:;");
    if (item < rest.len)
        add(s->arena, s->parts, str_sub(rest, 0, item), s->is_sentence);
}

/* The end of a URL is not in sight: what follows a comma may be the next of a list. */
static size_t skip_url(struct str argument, size_t at)
{
    while (at < argument.len && argument.data[at] != ',')
        at++;
    return at;
}

static size_t next_mark(const struct search *s, size_t at)
{
    const char *marks = s->program == ARGS_GIT ? "=,;@<" : SEPARATORS;
    return at + span(str_from(s->argument, at), marks);
}

static void find_items(const struct search *s)
{
    size_t at = 0;
    while (at < s->argument.len) {
        struct str rest = str_from(s->argument, at);
        size_t scheme = scheme_length(rest), end;
        bool local = scheme && is_local_scheme(str_sub(rest, 0, scheme));
        if (local)
            add_file_url(s, str_from(rest, scheme + 1));
        if (args_url_scheme(rest) && !local) {
            add(s->arena, s->parts, rest, s->is_sentence);
            end = skip_url(s->argument, at);
        } else {
            add_from(s, at);
            end = next_mark(s, at);
        }
        bool colon = end < s->argument.len && s->argument.data[end] == ':';
        struct str behind = str_from(s->argument, end + 1);
        if (colon && is_elsewhere(s, str_sub(rest, 0, end - at)) && !goes_up(behind))
            end = next_mark(s, end + 1);
        at = end + 1;
    }
}

/* "-o../x", "-czf/x": letters, then a value without anything between. */
static void find_attached(const struct search *s)
{
    struct str a = s->argument;
    if (a.len < 3 || a.data[0] != '-')
        return;
    for (size_t i = 2; i < a.len && i <= MAX_BUNDLE; i++) {
        if (!isalnum((unsigned char)a.data[i - 1]))
            return;
        add(s->arena, s->parts, str_from(a, i), s->is_sentence);
        size_t item = span(str_from(a, i), ",:;");
        if (i + item < a.len)
            add(s->arena, s->parts, str_sub(a, i, item), s->is_sentence);
    }
}

/* s,OLD,NEW,g with a mark of a list between. */
static bool is_substitution(struct str a)
{
    if (a.len < 4 || !is_one_of(a.data[0], "sy") || !is_one_of(a.data[1], ",:;@"))
        return false;
    unsigned marks = 0;
    for (size_t i = 1; i < a.len; i++) {
        if (a.data[i] == '\\' && marks < 3)
            i++;
        else if (a.data[i] == a.data[1])
            marks++;
        else if (marks == 3 && !is_one_of(a.data[i], "0123456789gIimMpx"))
            return false;
    }
    return marks == 3;
}

static bool has_blank(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (is_blank(s.data[i]))
            return true;
    return false;
}

/* Words of a person: all of them, and what follows a '=', may still be a name. */
static void find_in_sentence(const struct search *s)
{
    struct str rest = s->argument;
    size_t scheme = scheme_length(rest);
    if (scheme && is_local_scheme(str_sub(rest, 0, scheme)))
        add_file_url(s, str_from(rest, scheme + 1));
    add(s->arena, s->parts, rest, true);
    for (size_t at = span(rest, "="); at < rest.len; at++)
        if (rest.data[at] == '=')
            add(s->arena, s->parts, str_sub(rest, at + 1, MAX_TAIL), true);
}

void args_find_parts(enum args_program program, struct str argument,
        args_is_file_fn *is_file, const void *user, struct arena *arena,
        struct args_parts *out)
{
    struct search s = { program, argument, is_file, user, arena, out,
        has_blank(argument) };
    *out = (struct args_parts){ NULL, 0, 0 };
    bool pathspec = program == ARGS_GIT && str_starts(argument, STR(":"));
    bool depot = program == ARGS_P4 && str_starts(argument, STR("//"));
    if (pathspec || depot)
        return;
    find_attached(&s);
    if (program == ARGS_SED && is_substitution(argument)) {
        add(arena, out, argument, s.is_sentence);
        return;
    }
    /* NAME=VALUE is no sentence, whatever the value. */
    struct str name = str_sub(argument, 0, span(argument, "="));
    if (has_blank(name))
        find_in_sentence(&s);
    else
        find_items(&s);
}
