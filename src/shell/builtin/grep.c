#include "shell/builtin/grep.h"
#include "shell/builtin/number.h"

#include <errno.h>

enum {
    OPT_BINARY_FILES = 256,
    OPT_INCLUDE,
    OPT_EXCLUDE,
    OPT_EXCLUDE_DIR,
    OPT_EXCLUDE_FROM,
    OPT_LABEL,
    OPT_LINE_BUFFERED,
    OPT_COLOR,
    OPT_SEPARATOR,
    OPT_NO_SEPARATOR,
    OPT_NO_FOLD,
};

static const struct cmd_opt options[] = {
    { 'E', "extended-regexp", ARG_NONE, NULL,
            "patterns are extended regular expressions" },
    { 'F', "fixed-strings", ARG_NONE, NULL, "patterns are plain text" },
    { 'G', "basic-regexp", ARG_NONE, NULL, "patterns are basic regular expressions" },
    { 'P', "perl-regexp", ARG_NONE, NULL, "the pattern is a Perl regular expression" },
    { 'e', "regexp", ARG_REQUIRED, "PATTERNS", "patterns, one a line" },
    { 'f', "file", ARG_REQUIRED, "FILE", "take patterns from FILE" },
    { 'i', "ignore-case", ARG_NONE, NULL, "do not mind letter case" },
    { 'y', NULL, ARG_NONE, NULL, "the same" },
    { OPT_NO_FOLD, "no-ignore-case", ARG_NONE, NULL, "mind letter case (default)" },
    { 'v', "invert-match", ARG_NONE, NULL, "select lines that do not match" },
    { 'w', "word-regexp", ARG_NONE, NULL, "match whole words only" },
    { 'x', "line-regexp", ARG_NONE, NULL, "match whole lines only" },
    { 'c', "count", ARG_NONE, NULL, "print only how many lines were selected" },
    { 'l', "files-with-matches", ARG_NONE, NULL, "print only names of files with one" },
    { 'L', "files-without-match", ARG_NONE, NULL, "print only names of files without" },
    { 'o', "only-matching", ARG_NONE, NULL, "print only what matched, each on a line" },
    { 'q', "quiet", ARG_NONE, NULL, "print nothing, end at the first selected line" },
    { 'q', "silent", ARG_NONE, NULL, NULL },
    { 's', "no-messages", ARG_NONE, NULL, "say nothing about files that cannot be read" },
    { 'm', "max-count", ARG_REQUIRED, "NUM", "stop after NUM selected lines of a file" },
    { 'n', "line-number", ARG_NONE, NULL, "print line numbers" },
    { 'b', "byte-offset", ARG_NONE, NULL, "print byte offsets" },
    { 'H', "with-filename", ARG_NONE, NULL, "print file names with lines" },
    { 'h', "no-filename", ARG_NONE, NULL, "print no file names" },
    { OPT_LABEL, "label", ARG_REQUIRED, "NAME", "what stdin is called" },
    { 'T', "initial-tab", ARG_NONE, NULL, "line up the text after names and numbers" },
    { 'Z', "null", ARG_NONE, NULL, "a NUL after each file name" },
    { 'z', "null-data", ARG_NONE, NULL, "lines end with NUL" },
    { 'A', "after-context", ARG_REQUIRED, "NUM", "print NUM lines after each" },
    { 'B', "before-context", ARG_REQUIRED, "NUM", "print NUM lines before each" },
    { 'C', "context", ARG_REQUIRED, "NUM", "print NUM lines around each; also -NUM" },
    { OPT_SEPARATOR, "group-separator", ARG_REQUIRED, "TEXT",
            "between groups, not \"--\"" },
    { OPT_NO_SEPARATOR, "no-group-separator", ARG_NONE, NULL, "nothing between groups" },
    { 'r', "recursive", ARG_NONE, NULL, "search directories and all below them" },
    { 'R', "dereference-recursive", ARG_NONE, NULL, "the same, following links" },
    { 'd', "directories", ARG_REQUIRED, "HOW", "directories: read, recurse, skip" },
    { 'D', "devices", ARG_REQUIRED, "HOW", "devices: read, skip (there are none)" },
    { OPT_INCLUDE, "include", ARG_REQUIRED, "GLOB", "search only files that match GLOB" },
    { OPT_EXCLUDE, "exclude", ARG_REQUIRED, "GLOB", "skip files that match GLOB" },
    { OPT_EXCLUDE_FROM, "exclude-from", ARG_REQUIRED, "FILE", "globs from FILE" },
    { OPT_EXCLUDE_DIR, "exclude-dir", ARG_REQUIRED, "GLOB", "skip directories" },
    { 'a', "text", ARG_NONE, NULL, "treat binary files as text" },
    { 'I', NULL, ARG_NONE, NULL, "skip binary files" },
    { OPT_BINARY_FILES, "binary-files", ARG_REQUIRED, "TYPE",
            "binary files: binary, text, without-match" },
    { 'U', "binary", ARG_NONE, NULL, "does nothing here" },
    { OPT_LINE_BUFFERED, "line-buffered", ARG_NONE, NULL, "write each line at once" },
    { OPT_COLOR, "color", ARG_OPTIONAL, "WHEN", "understood, but there are no colours" },
    { OPT_COLOR, "colour", ARG_OPTIONAL, "WHEN", NULL },
    { '0', NULL, ARG_NONE, NULL, NULL },
    { '1', NULL, ARG_NONE, NULL, NULL },
    { '2', NULL, ARG_NONE, NULL, NULL },
    { '3', NULL, ARG_NONE, NULL, NULL },
    { '4', NULL, ARG_NONE, NULL, NULL },
    { '5', NULL, ARG_NONE, NULL, NULL },
    { '6', NULL, ARG_NONE, NULL, NULL },
    { '7', NULL, ARG_NONE, NULL, NULL },
    { '8', NULL, ARG_NONE, NULL, NULL },
    { '9', NULL, ARG_NONE, NULL, NULL },
    { 0 },
};

#define NO_SYNTAX    (-1)
#define MAX_PATTERNS ((size_t)64 << 20)
#define MAX_LINE     ((size_t)128 << 20)
#define NO_CONTEXT   UINT64_MAX
#define SHOWN_LINE   1000 /* characters, where nobody but a reader gets them */

/* What the options say, before it is a `struct grep`. */
struct setup {
    struct cmd *c;
    struct grep g;
    int syntax;
    unsigned flags;
    struct buf patterns; /* each ends with a newline */
    size_t pattern_count;
    bool has_patterns, quiet, count;
    enum scan_report list;           /* -l, -L or REPORT_LINES */
    uint64_t context, before, after; /* NO_CONTEXT: not given */
    uint64_t digits;                 /* -NUM */
    int last_digit;                  /* argument that its last digit was in; -1: none */
};

static void add_pattern(struct setup *s, struct str text)
{
    buf_add(&s->patterns, text);
    buf_addc(&s->patterns, '\n');
    s->has_patterns = true;
    s->pattern_count++;
}

static bool read_file(struct setup *s, const char *name, struct buf *out)
{
    struct stream *stream;
    int errnum = cmd_open(s->c, name, true, &stream);
    if (!errnum) {
        bool ok = stream_read_all(stream, out);
        errnum = ok ? 0 : stream_error(stream) ? stream_error(stream) : EFBIG;
        stream_unref(stream);
    }
    if (errnum)
        cmd_err_file(s->c, name, errnum);
    return !errnum;
}

static bool add_pattern_file(struct setup *s, const char *name)
{
    auto_buf text = BUF(MAX_PATTERNS);
    if (!read_file(s, name, &text))
        return false;
    struct str rest = buf_str(&text);
    s->has_patterns = true;
    while (rest.len)
        add_pattern(s, str_cut(&rest, '\n'));
    return true;
}

static void add_glob(struct setup *s, struct str pattern, bool include)
{
    struct grep *g = &s->g;
    GROW(g->globs, g->glob_count, g->glob_cap);
    g->globs[g->glob_count++] =
            (struct grep_glob){ arena_str(s->c->arena, pattern), include };
}

static bool add_glob_file(struct setup *s, const char *name)
{
    auto_buf text = BUF(MAX_PATTERNS);
    if (!read_file(s, name, &text))
        return false;
    struct str rest = buf_str(&text);
    while (rest.len) {
        struct str line = str_cut(&rest, '\n');
        if (line.len)
            add_glob(s, line, false);
    }
    return true;
}

static void add_dir_glob(struct setup *s, const char *pattern)
{
    struct grep *g = &s->g;
    struct str bare = str_of(pattern);
    while (bare.len > 1 && bare.data[bare.len - 1] == '/')
        bare.len--;
    GROW(g->dir_globs, g->dir_glob_count, g->dir_glob_cap);
    g->dir_globs[g->dir_glob_count++] =
            (struct grep_glob){ arena_str(s->c->arena, bare), false };
}

static bool set_syntax(struct setup *s, enum regex_syntax syntax)
{
    if (s->syntax != NO_SYNTAX && s->syntax != (int)syntax) {
        cmd_err(s->c, "conflicting matchers specified");
        return false;
    }
    s->syntax = (int)syntax;
    return true;
}

static bool set_context(struct setup *s, const char *value, uint64_t *out)
{
    if (number_plain(str_of(value), out)) {
        *out = *out > INT64_MAX ? INT64_MAX : *out;
        return true;
    }
    cmd_err(s->c, "%s: invalid context length argument", value);
    return false;
}

static bool set_max_count(struct setup *s, const char *value)
{
    uint64_t n;
    bool negative = value[0] == '-';
    if (!number_plain(str_of(value + negative), &n)) {
        cmd_err(s->c, "invalid max count");
        return false;
    }
    s->g.scan.max_count = negative || n > INT64_MAX ? INT64_MAX : (int64_t)n;
    return true;
}

/* Digits of one argument are one number; the next argument begins another. */
static void add_digit(struct setup *s, int digit, int argument)
{
    if (s->last_digit != argument)
        s->digits = 0;
    s->last_digit = argument;
    if (s->digits < INT64_MAX / 20)
        s->digits = s->digits * 10 + (uint64_t)digit;
    s->context = s->digits;
}

static bool set_directories(struct setup *s, const char *value)
{
    static const char *const names[] = { "read", "skip", "recurse" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (!strcmp(value, names[i])) {
            s->g.dirs = (enum grep_dirs)i;
            return true;
        }
    cmd_err(s->c, "invalid argument '%s' for '--directories' (read, skip, recurse)",
            value);
    return false;
}

static bool set_binary(struct setup *s, const char *value)
{
    static const char *const names[] = { "binary", "text", "without-match" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (!strcmp(value, names[i])) {
            s->g.scan.binary = (enum scan_binary)i;
            return true;
        }
    cmd_err(s->c, "unknown binary-files type");
    return false;
}

static void set_flag(struct setup *s, unsigned flag, bool on)
{
    s->flags = on ? s->flags | flag : s->flags & ~flag;
}

/* Options with a value. */
static bool set_value(struct setup *s, int key, const char *value)
{
    switch (key) {
    case 'e':
        add_pattern(s, str_of(value));
        return true;
    case 'f':
        return add_pattern_file(s, value);
    case 'm':
        return set_max_count(s, value);
    case 'A':
        return set_context(s, value, &s->after);
    case 'B':
        return set_context(s, value, &s->before);
    case 'C':
        return set_context(s, value, &s->context);
    case 'd':
        return set_directories(s, value);
    case 'D':
        return true;
    case OPT_LABEL:
        s->g.label = value;
        return true;
    case OPT_SEPARATOR:
        s->g.scan.group_separator = value;
        return true;
    case OPT_INCLUDE:
    case OPT_EXCLUDE:
        add_glob(s, str_of(value), key == OPT_INCLUDE);
        return true;
    case OPT_EXCLUDE_FROM:
        return add_glob_file(s, value);
    case OPT_EXCLUDE_DIR:
        add_dir_glob(s, value);
        return true;
    case OPT_BINARY_FILES:
        return set_binary(s, value);
    default:
        return false;
    }
}

/* What is searched for, and which files. */
static bool set_search(struct setup *s, int key)
{
    struct grep *g = &s->g;
    switch (key) {
    case 'E':
        return set_syntax(s, REGEX_EXTENDED);
    case 'F':
        return set_syntax(s, REGEX_FIXED);
    case 'G':
        return set_syntax(s, REGEX_BASIC);
    case 'P':
        return set_syntax(s, REGEX_PERL);
    case 'i':
    case 'y':
    case OPT_NO_FOLD:
        set_flag(s, REGEX_FOLD, key != OPT_NO_FOLD);
        break;
    case 'w':
        set_flag(s, REGEX_WORD, true);
        break;
    case 'x':
        set_flag(s, REGEX_LINE, true);
        break;
    case 'v':
        g->scan.invert = true;
        break;
    case 'r':
    case 'R':
        g->dirs = key == 'r' ? DIRS_RECURSE : DIRS_FOLLOW;
        break;
    case 'a':
    case 'I':
        g->scan.binary = key == 'a' ? BINARY_TEXT : BINARY_SKIP;
        break;
    case 'z':
        g->scan.eol = 0;
        break;
    default: /* -U, --color */
        break;
    }
    return true;
}

/* How the result is told; false: not one of these. */
static bool set_output(struct setup *s, int key)
{
    struct grep *g = &s->g;
    switch (key) {
    case 'c':
        return s->count = true;
    case 'l':
    case 'L':
        s->list = key == 'l' ? REPORT_WITH : REPORT_WITHOUT;
        return true;
    case 'o':
        return g->scan.only_matching = true;
    case 'q':
        return s->quiet = true;
    case 's':
        return g->scan.no_messages = true;
    case 'n':
        return g->scan.line_numbers = true;
    case 'b':
        return g->scan.byte_offsets = true;
    case 'H':
    case 'h':
        g->with_names = key == 'H';
        return true;
    case 'T':
        return g->scan.align_tab = true;
    case 'Z':
        return g->scan.null_names = true;
    case OPT_NO_SEPARATOR:
        g->scan.group_separator = NULL;
        return true;
    case OPT_LINE_BUFFERED:
        return g->scan.line_buffered = true;
    default:
        return false;
    }
}

static bool set_option(struct setup *s, int key, const char *value, int argument)
{
    if (key == CMD_BAD)
        return false;
    if (key >= '0' && key <= '9') {
        add_digit(s, key - '0', argument);
        return true;
    }
    if (value && key != OPT_COLOR)
        return set_value(s, key, value);
    return set_output(s, key) || set_search(s, key);
}

static bool read_options(struct setup *s)
{
    struct cmd_options o = cmd_options(s->c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        if (!set_option(s, k, o.value, o.index))
            return false;
    return true;
}

static void write_err(struct cmd *c, struct str text)
{
    bool unused UNUSED = stream_write(c->err, text) && stream_flush(c->err);
}

/* Patterns may come from the first operand; true if there are any. */
static bool take_patterns(struct setup *s, int *first_operand)
{
    *first_operand = 0;
    if (s->has_patterns)
        return true;
    if (!s->c->argc) {
        write_err(s->c, STR("Usage: grep [OPTION]... PATTERNS [FILE]...\n"
                            "Try 'grep --help' for more information.\n"));
        return false;
    }
    add_pattern(s, str_of(s->c->argv[0]));
    *first_operand = 1;
    return true;
}

static bool compile(struct setup *s)
{
    struct error err;
    struct str text = buf_str(&s->patterns);
    unsigned flags = s->flags | REGEX_MULTI | REGEX_NO_GROUPS;
    if (s->g.scan.eol)
        flags |= REGEX_NEWLINE;
    if (s->patterns.full) {
        cmd_err(s->c, "patterns are longer than %zu MiB", MAX_PATTERNS >> 20);
        return false;
    }
    enum regex_syntax syntax =
            s->syntax == NO_SYNTAX ? REGEX_BASIC : (enum regex_syntax)s->syntax;
    if (text.len)
        text.len--; /* the newline after the last */
    if (syntax == REGEX_PERL &&
            (s->pattern_count > 1 || memchr(text.data, '\n', text.len))) {
        cmd_err(s->c, "the -P option only supports a single pattern");
        return false;
    }
    if (!s->pattern_count) { /* -f with an empty file: nothing matches */
        syntax = REGEX_PERL;
        text = STR("(?!)");
        flags &= ~(unsigned)(REGEX_LINE | REGEX_WORD);
    }
    if (regex_compile(text, syntax, (enum regex_flags)flags, &s->g.scan.re, &err))
        return true;
    cmd_err(s->c, "%s", err.message);
    return false;
}

static void settle(struct setup *s)
{
    struct grep *g = &s->g;
    uint64_t both = s->context == NO_CONTEXT ? 0 : s->context;
    g->scan.before = s->before == NO_CONTEXT ? both : s->before;
    g->scan.after = s->after == NO_CONTEXT ? both : s->after;
    g->scan.sets_apart =
            s->context != NO_CONTEXT || s->before != NO_CONTEXT || s->after != NO_CONTEXT;
    if (s->quiet)
        g->scan.report = REPORT_NOTHING;
    else if (s->list != REPORT_LINES)
        g->scan.report = s->list;
    else if (s->count)
        g->scan.report = REPORT_COUNT;
    if (stream_is_screen(s->c->out))
        g->scan.max_shown = SHOWN_LINE;
    uint64_t memory = s->c->budget->max_memory;
    g->scan.max_line = memory < MAX_LINE ? (size_t)memory : MAX_LINE;
}

static bool flush(struct scan_sink *sink, bool force)
{
    struct grep_run *run = sink->owner;
    (void)force;
    bool ok = !sink->out.len || cmd_put(run->c, buf_str(&sink->out));
    if (ok && run->g->scan.line_buffered)
        ok = stream_flush(run->c->out);
    if (sink->messages.len)
        write_err(run->c, buf_str(&sink->messages));
    buf_clear(&sink->out);
    buf_clear(&sink->messages);
    return ok;
}

static bool alive(struct scan_sink *sink, uint64_t steps)
{
    struct grep_run *run = sink->owner;
    return budget_spend(run->c->budget, steps);
}

static void search_operands(struct grep_run *run, char **operands, int count)
{
    if (!count && run->g->dirs >= DIRS_RECURSE)
        grep_here(run);
    else if (!count)
        grep_operand(run, "-", false);
    for (int i = 0; i < count && !run->stop; i++)
        grep_operand(run, operands[i], count > 1);
}

static int search(struct setup *s, char **operands, int count)
{
    struct grep_run run = { .c = s->c,
        .g = &s->g,
        .scanner = scanner_create(&s->g.scan, s->g.scan.re),
        .sink = { .out = BUF(SIZE_MAX / 4),
                .messages = BUF(65536),
                .flush = flush,
                .alive = alive } };
    run.sink.owner = &run;
    search_operands(&run, operands, count);
    flush(&run.sink, true);
    scanner_destroy(run.scanner);
    buf_finish(&run.sink.out);
    buf_finish(&run.sink.messages);
    if (run.failed && !(run.selected && s->quiet))
        return 2;
    return run.selected ? 0 : 1;
}

static int run_grep(struct cmd *c, int syntax)
{
    struct setup s = { .c = c,
        .g = { .with_names = -1,
                .scan = { .max_count = INT64_MAX,
                        .group_separator = "--",
                        .eol = '\n' } },
        .syntax = syntax,
        .patterns = BUF(MAX_PATTERNS),
        .context = NO_CONTEXT,
        .before = NO_CONTEXT,
        .after = NO_CONTEXT,
        .last_digit = -1 };
    int first, status = 2;
    bool ready = read_options(&s);
    c->name = "grep";
    if (ready && take_patterns(&s, &first) && compile(&s)) {
        settle(&s);
        status = search(&s, c->argv + first, c->argc - first);
    }
    regex_destroy(s.g.scan.re);
    buf_finish(&s.patterns);
    free(s.g.globs);
    free(s.g.dir_globs);
    return status;
}

static int cmd_grep(struct cmd *c)
{
    return run_grep(c, NO_SYNTAX);
}

static int cmd_egrep(struct cmd *c)
{
    return run_grep(c, REGEX_EXTENDED);
}

static int cmd_fgrep(struct cmd *c)
{
    return run_grep(c, REGEX_FIXED);
}

const struct command command_grep = {
    "grep",
    cmd_grep,
    options,
    "[OPTION]... PATTERNS [FILE]...",
    "Print the lines that match a pattern (of a line of more than 1000 characters, "
    "unless "
    "it goes into a pipe or file, the part around the match).",
    0,
};

const struct command command_egrep = {
    "egrep",
    cmd_egrep,
    options,
    "[OPTION]... PATTERNS [FILE]...",
    "Print the lines that match an extended regular expression: grep -E.",
    0,
};

const struct command command_fgrep = {
    "fgrep",
    cmd_fgrep,
    options,
    "[OPTION]... PATTERNS [FILE]...",
    "Print the lines that contain some text: grep -F.",
    0,
};
