#include "search/regex.h"
#include "shell/builtin/input.h"
#include "shell/builtin/quote.h"

static const struct cmd_opt options[] = {
    { 'b', "body-numbering", ARG_REQUIRED, "STYLE",
            "number a: all lines, t: lines with text, n: none, pREGEX: matching lines" },
    { 'd', "section-delimiter", ARG_REQUIRED, "CC", "what separates pages (\\:)" },
    { 'f', "footer-numbering", ARG_REQUIRED, "STYLE", "the same for footers" },
    { 'h', "header-numbering", ARG_REQUIRED, "STYLE", "the same for headers" },
    { 'i', "line-increment", ARG_REQUIRED, "N", "step from line to line" },
    { 'l', "join-blank-lines", ARG_REQUIRED, "N",
            "of N empty lines, number only the last" },
    { 'n', "number-format", ARG_REQUIRED, "FORMAT",
            "ln: left, rn: right, rz: with zeros" },
    { 'p', "no-renumber", ARG_NONE, NULL, "go on counting from page to page" },
    { 's', "number-separator", ARG_REQUIRED, "STRING", "what is after the number (TAB)" },
    { 'v', "starting-line-number", ARG_REQUIRED, "N", "the first number" },
    { 'w', "number-width", ARG_REQUIRED, "N", "width of numbers" },
    { 0 },
};

enum section { HEADER, BODY, FOOTER, SECTIONS };

struct nl {
    struct cmd *c;
    const char *styles[SECTIONS];
    struct regex *regexes[SECTIONS];
    enum section section;
    const char *delimiter, *format, *separator;
    int64_t first, step, number;
    uint64_t join, blanks, width;
    bool no_renumber, overflow;
};

static bool is_numbered(struct nl *n, struct str line)
{
    switch (n->styles[n->section][0]) {
    case 'a':
        if (line.len) {
            n->blanks = 0;
            return true;
        }
        if (++n->blanks < n->join)
            return false;
        n->blanks = 0;
        return true;
    case 't':
        return line.len;
    case 'p':
        return regex_search(n->regexes[n->section], line, 0, false, NULL) == REGEX_YES;
    default:
        return false;
    }
}

static bool show(struct nl *n, struct str line)
{
    int width = (int)n->width;
    if (!is_numbered(n, line))
        return cmd_printf(n->c, "%*s", width + (int)strlen(n->separator), "") &&
               cmd_put(n->c, line) && cmd_putc(n->c, '\n');
    if (n->overflow) {
        cmd_err(n->c, "line number overflow");
        return false;
    }
    bool ok = !strcmp(n->format, "ln")
                      ? cmd_printf(n->c, "%-*lld", width, (long long)n->number)
              : !strcmp(n->format, "rz")
                      ? cmd_printf(n->c, "%0*lld", width, (long long)n->number)
                      : cmd_printf(n->c, "%*lld", width, (long long)n->number);
    n->overflow = __builtin_add_overflow(n->number, n->step, &n->number);
    return ok && cmd_put(n->c, str_of(n->separator)) && cmd_put(n->c, line) &&
           cmd_putc(n->c, '\n');
}

/* A line of one, two or three delimiters begins a footer, a body or a header. */
static bool begins_section(struct nl *n, struct str line)
{
    struct str unit = str_of(n->delimiter);
    size_t count = 0;
    if (!unit.len || line.len % unit.len || line.len > 3 * unit.len || !line.len)
        return false;
    for (; line.len; line = str_from(line, unit.len), count++)
        if (!str_starts(line, unit))
            return false;
    n->section = (enum section)(3 - count);
    if (!n->no_renumber) {
        n->number = n->first;
        n->overflow = false;
    }
    return true;
}

static bool number_stream(struct nl *n, struct stream *in)
{
    struct str line;
    while (input_line(n->c, in, '\n', &line, NULL))
        if (!(begins_section(n, line) ? cmd_putc(n->c, '\n') : show(n, line)))
            return false;
    return true;
}

static bool set_style(struct nl *n, enum section section, const char *value)
{
    struct error err;
    bool simple = value[0] && strchr("atn", value[0]) && !value[1];
    if (value[0] == 'p') {
        regex_destroy(n->regexes[section]);
        n->regexes[section] = NULL;
        if (!regex_compile(
                    str_of(value + 1), REGEX_BASIC, 0, &n->regexes[section], &err)) {
            cmd_err(n->c, "%s", err.message);
            return false;
        }
    } else if (!simple) {
        static const char *const names[] = { "header", "body", "footer" };
        cmd_err(n->c, "invalid %s numbering style: %s", names[section],
                quote(n->c, value));
        try_help(n->c, 1);
        return false;
    }
    n->styles[section] = value;
    return true;
}

static bool set_number(
        struct nl *n, const char *value, const char *what, int64_t least, int64_t *out)
{
    if (str_int(str_of(value), out) && *out >= least)
        return true;
    cmd_err(n->c, "invalid %s: %s", what, quote(n->c, value));
    return false;
}

static bool set_format(struct nl *n, const char *value)
{
    n->format = value;
    if (!strcmp(value, "ln") || !strcmp(value, "rn") || !strcmp(value, "rz"))
        return true;
    cmd_err(n->c, "invalid line numbering format: %s", quote(n->c, value));
    try_help(n->c, 1);
    return false;
}

static bool set_option(struct nl *n, int key, const char *value)
{
    int64_t number;
    switch (key) {
    case 'b':
        return set_style(n, BODY, value);
    case 'f':
        return set_style(n, FOOTER, value);
    case 'h':
        return set_style(n, HEADER, value);
    case 'd':
        n->delimiter =
                value[0] && !value[1] ? arena_printf(n->c->arena, "%s:", value) : value;
        return true;
    case 'i':
        return set_number(n, value, "line number increment", INT64_MIN, &n->step);
    case 'l':
        if (!set_number(n, value, "line number of blank lines", 1, &number))
            return false;
        n->join = (uint64_t)number;
        return true;
    case 'n':
        return set_format(n, value);
    case 'p':
        return n->no_renumber = true;
    case 's':
        n->separator = value;
        return true;
    case 'v':
        return set_number(n, value, "starting line number", INT64_MIN, &n->first);
    case 'w':
        if (!set_number(n, value, "line number field width", 1, &number))
            return false;
        n->width = number > 10000 ? 10000 : (uint64_t)number;
        return true;
    default:
        return false;
    }
}

static int cmd_nl(struct cmd *c)
{
    struct nl n = { .c = c,
        .styles = { "n", "t", "n" },
        .section = BODY,
        .delimiter = "\\:",
        .format = "rn",
        .separator = "\t",
        .first = 1,
        .step = 1,
        .join = 1,
        .width = 6 };
    struct cmd_options o = cmd_options(c);
    bool ok = true;
    for (int k; ok && (k = cmd_next(&o)) != CMD_END;)
        ok = set_option(&n, k, o.value);
    n.number = n.first;
    struct inputs in = inputs_open(c);
    while (ok && inputs_next(&in))
        if (!number_stream(&n, in.stream)) {
            in.next = in.count;
            in.status = 1;
        }
    for (int i = 0; i < SECTIONS; i++)
        regex_destroy(n.regexes[i]);
    return ok ? in.status : 1;
}

const struct command command_nl = {
    "nl",
    cmd_nl,
    options,
    "[OPTION]... [FILE]...",
    "Number lines.",
    0,
};
