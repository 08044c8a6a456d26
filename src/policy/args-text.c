#include "policy/args-text.h"

#include <ctype.h>
#include <strings.h>

#define SEPARATORS    "=,:;@<"
#define MAX_BUNDLE    32   /* letters of a short option with a value behind them */
#define MAX_TAIL      4200 /* bytes of a part that does not begin the argument */
#define MAX_SCHEME    32
#define MAX_MACHINE   255
#define MAX_FILE_URLS 64 /* in one argument */

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
        { "awk", ARGS_FIELDS },
        { "cut", ARGS_FIELDS },
        { "gawk", ARGS_FIELDS },
        { "git", ARGS_GIT },
        { "gsed", ARGS_SED },
        { "join", ARGS_FIELDS },
        { "kubectl", ARGS_PODS },
        { "mawk", ARGS_FIELDS },
        { "p4", ARGS_P4 },
        { "paste", ARGS_FIELDS },
        { "perl", ARGS_SED },
        { "sed", ARGS_SED },
        { "sort", ARGS_FIELDS },
        { "tr", ARGS_FIELDS },
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
    static const char *const words[] = { "caption", "concat", "docker-archive", "label",
        "local", "msl", "mvg", "oci", "oci-archive", "sqlite", "sqlite3", "subfile",
        "text", "unix" };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (scheme.len == strlen(words[i]) &&
                !strncasecmp(scheme.data, words[i], scheme.len))
            return true;
    return scheme.len >= 4 && !strncasecmp(scheme.data + scheme.len - 4, "file", 4);
}

struct search {
    enum args_program program;
    struct str argument;
    args_is_file_fn *is_file;
    const void *user;
    struct arena *arena;
    struct args_parts *parts;
    bool is_sentence;
    unsigned file_urls;
};

/* "/" between fields, ":/" alone, the "//" of a URL whose scheme is a pattern. */
static bool is_mere_slash(const struct search *s, struct str text)
{
    if (str_is(text, "/"))
        return s->program == ARGS_FIELDS || str_is(s->argument, ":/");
    const char *from = s->argument.data, *to = from + s->argument.len;
    bool is_behind = text.data > from && text.data < to;
    return str_is(text, "//") && is_behind && text.data[-1] == ':';
}

static void add(const struct search *s, struct str text)
{
    struct args_parts *parts = s->parts;
    if (!text.len || is_mere_slash(s, text))
        return;
    if (parts->count == parts->cap) {
        size_t cap = parts->cap ? parts->cap * 2 : 16;
        struct args_part *more = arena_alloc(s->arena, cap * sizeof(*more));
        if (parts->count)
            memcpy(more, parts->items, parts->count * sizeof(*more));
        parts->items = more;
        parts->cap = cap;
    }
    parts->items[parts->count++] = (struct args_part){ text, s->is_sentence };
}

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
static void add_file_url(struct search *s, struct str rest)
{
    struct str variants[3];
    if (++s->file_urls > MAX_FILE_URLS)
        return;
    size_t count = 0;
    variants[count++] = rest;
    if (str_starts(rest, STR("//"))) {
        struct str name = str_from(rest, 2);
        variants[count++] = name;
        variants[count++] = str_from(name, span(name, "/"));
    }
    for (size_t i = 0; i < count; i++) {
        struct str path = variants[i], query = str_sub(path, 0, span(path, "?#"));
        add(s, decode(s->arena, path));
        if (query.len < path.len)
            add(s, decode(s->arena, query));
    }
}

/* On another machine: "host:/path", "image:tag", "HEAD:path".  Not if there is a file of
 * that name, and one letter is no machine. */
static bool is_elsewhere(const struct search *s, struct str before)
{
    bool in_pods = s->program == ARGS_PODS;
    if (before.len < 2 || before.len > MAX_MACHINE || is_one_of(before.data[0], "-/"))
        return false;
    for (size_t i = 0; i < before.len; i++)
        if (!is_word(before.data[i]) && !(before.data[i] == '/' && in_pods))
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

static struct str tail(const struct search *s, size_t at)
{
    struct str rest = str_from(s->argument, at);
    return at ? str_sub(rest, 0, MAX_TAIL) : rest;
}

/* A part begins at `at`: all the rest is one, and so is what comes before the next mark
 * of a list, at `mark`. */
static void add_from(const struct search *s, size_t at, size_t mark)
{
    struct str rest = tail(s, at);
    add(s, rest);
    if (mark - at < rest.len)
        add(s, str_sub(rest, 0, mark - at));
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

/* Where the part that begins at `at` ends; adds it.  `*mark` is the next mark of a list,
 * if it is not behind us. */
static size_t find_item(struct search *s, size_t at, size_t *mark)
{
    struct str rest = tail(s, at);
    size_t scheme = scheme_length(rest);
    bool local = scheme && is_local_scheme(str_sub(rest, 0, scheme));
    if (local)
        add_file_url(s, str_from(rest, scheme + 1));
    if (args_url_scheme(rest) && !local) {
        add(s, rest);
        return skip_url(s->argument, at);
    }
    if (*mark < at || !at)
        *mark = at + span(str_from(s->argument, at), ",:;");
    add_from(s, at, *mark);
    return next_mark(s, at);
}

static void find_items(struct search *s)
{
    struct str a = s->argument;
    size_t at = 0, mark = 0;
    while (at < a.len) {
        size_t end = find_item(s, at, &mark);
        bool colon = end < a.len && a.data[end] == ':';
        if (colon && is_elsewhere(s, str_sub(a, at, end - at)) &&
                !goes_up(tail(s, end + 1)))
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
        add_from(s, i, i + span(tail(s, i), ",:;"));
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
static void find_in_sentence(struct search *s)
{
    struct str rest = s->argument;
    size_t scheme = scheme_length(rest);
    if (scheme && is_local_scheme(str_sub(rest, 0, scheme)))
        add_file_url(s, str_from(rest, scheme + 1));
    add(s, rest);
    for (size_t at = span(rest, "="); at < rest.len; at++)
        if (rest.data[at] == '=')
            add(s, str_sub(rest, at + 1, MAX_TAIL));
}

bool args_find_parts(enum args_program program, struct str argument,
        args_is_file_fn *is_file, const void *user, struct arena *arena,
        struct args_parts *out)
{
    struct search s = {
        .program = program,
        .argument = argument,
        .is_file = is_file,
        .user = user,
        .arena = arena,
        .parts = out,
        .is_sentence = has_blank(argument),
    };
    *out = (struct args_parts){ NULL, 0, 0 };
    if (!argument.len)
        return true;
    bool pathspec = program == ARGS_GIT && str_starts(argument, STR(":"));
    bool depot = program == ARGS_P4 && str_starts(argument, STR("//"));
    if (pathspec || depot)
        return true;
    find_attached(&s);
    bool is_address = argument.data[0] == '/';
    bool is_script = program == ARGS_SED && is_substitution(argument);
    if (is_script || (is_address && (program == ARGS_SED || program == ARGS_FIELDS))) {
        add(&s, argument);
        return true;
    }
    /* NAME=VALUE is no sentence, whatever the value. */
    struct str name = str_sub(argument, 0, span(argument, "="));
    if (has_blank(name))
        find_in_sentence(&s);
    else
        find_items(&s);
    return s.file_urls <= MAX_FILE_URLS;
}
