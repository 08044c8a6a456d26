#include "shell/builtin/diff/diff.h"

#include "shell/builtin/number.h"
#include "shell/builtin/quote.h"

enum { OPT_LABEL = 256, OPT_STRIP_CR, OPT_COLOR, OPT_NORMAL };

static const struct cmd_opt options[] = {
    { OPT_NORMAL, "normal", ARG_NONE, NULL, "the plain format (the default)" },
    { 'q', "brief", ARG_NONE, NULL, "say only which files differ" },
    { 's', "report-identical-files", ARG_NONE, NULL, "say which files are the same" },
    { 'c', NULL, ARG_NONE, NULL, "3 lines of context, in the older format" },
    { 'C', "context", ARG_OPTIONAL, "NUM", "NUM (3) lines of context" },
    { 'u', NULL, ARG_NONE, NULL, "3 lines of unified context" },
    { 'U', "unified", ARG_OPTIONAL, "NUM", "NUM (3) lines of unified context" },
    { OPT_LABEL, "label", ARG_REQUIRED, "LABEL", "instead of name and time (twice)" },
    { 'r', "recursive", ARG_NONE, NULL, "compare what is in subdirectories" },
    { 'N', "new-file", ARG_NONE, NULL, "take what is missing as empty" },
    { 'x', "exclude", ARG_REQUIRED, "PAT", "leave out names that match PAT" },
    { 'i', "ignore-case", ARG_NONE, NULL, "do not mind letter case" },
    { 'Z', "ignore-trailing-space", ARG_NONE, NULL, "nor white space at line ends" },
    { 'b', "ignore-space-change", ARG_NONE, NULL, "nor how much white space there is" },
    { 'w', "ignore-all-space", ARG_NONE, NULL, "nor white space at all" },
    { 'B', "ignore-blank-lines", ARG_NONE, NULL, "nor changes of empty lines" },
    { OPT_STRIP_CR, "strip-trailing-cr", ARG_NONE, NULL, "nor CR before the newline" },
    { 'a', "text", ARG_NONE, NULL, "take all files as text" },
    { 'd', "minimal", ARG_NONE, NULL, "(understood)" },
    { OPT_COLOR, "color", ARG_OPTIONAL, "WHEN", "(never coloured here)" },
    { 0 },
};

/* diff says its name once more than others do. */
static bool usage(struct cmd *c)
{
    cmd_err(c, "Try 'diff --help' for more information.");
    return false;
}

static bool set_context(struct diff *d, enum diff_style style, const char *value)
{
    uint64_t n = 3;
    if (value && !number_plain(str_of(value), &n)) {
        cmd_err(d->c, "invalid context length %s", quote(d->c, value));
        return usage(d->c);
    }
    d->style = style;
    d->context = n < SIZE_MAX / 8 ? (size_t)n : SIZE_MAX / 8;
    return true;
}

static void set_space(struct diff *d, enum diff_space space)
{
    if (d->space < space)
        d->space = space;
}

static bool add_label(struct diff *d, const char *label)
{
    for (int i = 0; i < 2; i++)
        if (!d->labels[i]) {
            d->labels[i] = label;
            return true;
        }
    cmd_err(d->c, "too many file label options");
    return false;
}

static bool set_format(struct diff *d, int key, const char *value)
{
    switch (key) {
    case 'q':
        d->style = DIFF_BRIEF;
        return true;
    case 'c':
    case 'C':
        return set_context(d, DIFF_CONTEXT, value);
    case 'u':
    case 'U':
        return set_context(d, DIFF_UNIFIED, value);
    case OPT_NORMAL:
        d->style = DIFF_NORMAL;
        return true;
    case OPT_LABEL:
        return add_label(d, value);
    default:
        return key != CMD_BAD;
    }
}

static bool set_option(struct diff *d, int key, const char *value)
{
    switch (key) {
    case 's':
        return d->report_same = true;
    case 'r':
        return d->recursive = true;
    case 'N':
        return d->new_file = true;
    case 'x':
        d->excludes[d->exclude_count++] = value;
        return true;
    case 'i':
        return d->ignore_case = true;
    case 'Z':
        set_space(d, SPACE_TRAILING);
        return true;
    case 'b':
        set_space(d, SPACE_CHANGE);
        return true;
    case 'w':
        set_space(d, SPACE_ALL);
        return true;
    case 'B':
        return d->ignore_blank_lines = true;
    case OPT_STRIP_CR:
        return d->ignore_cr = true;
    case 'a':
        return d->as_text = true;
    default:
        return set_format(d, key, value);
    }
}

static bool is_operand(const struct cmd *c, const char *arg)
{
    for (int i = 0; i < c->argc; i++)
        if (c->argv[i] == arg)
            return true;
    return false;
}

/* The options as they were typed, for the line before each file of a tree. */
static char *switches_of(struct cmd *c, int count, char **words)
{
    char *text = arena_cstr(c->arena, STR(""));
    for (int i = 1; i < count; i++)
        if (!is_operand(c, words[i]) && strcmp(words[i], "--"))
            text = arena_printf(c->arena, "%s %s", text, quote_maybe(c, words[i]));
    return text;
}

static int cmd_diff(struct cmd *c)
{
    struct diff d = { .c = c };
    int count = c->argc;
    size_t bytes = ((size_t)count + 1) * sizeof(char *);
    char **words = arena_alloc(c->arena, bytes);
    memcpy(words, c->argv, bytes);
    d.excludes = arena_alloc(c->arena, bytes);
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        if (!set_option(&d, k, o.value))
            return 2;
    if (c->argc != 2) {
        if (c->argc < 2)
            cmd_err(c, "missing operand after %s",
                    quote(c, c->argc ? c->argv[0] : words[count - 1]));
        else
            cmd_err(c, "extra operand %s", quote(c, c->argv[2]));
        usage(c);
        return 2;
    }
    d.switches = switches_of(c, count, words);
    return diff_paths(&d, c->argv[0], c->argv[1]);
}

const struct command command_diff = {
    "diff",
    cmd_diff,
    options,
    "[OPTION]... FILE1 FILE2",
    "Compare files line by line.",
    0,
};
