#include "shell/builtin/input.h"
#include "shell/builtin/number.h"
#include "shell/builtin/quote.h"
#include "shell/builtin/ranges.h"

#include <math.h>
#include <stdio.h>

enum {
    OPT_FROM = 256,
    OPT_TO,
    OPT_PADDING,
    OPT_SUFFIX,
    OPT_FIELD,
    OPT_ROUND,
    OPT_HEADER
};

static const struct cmd_opt options[] = {
    { 'd', "delimiter", ARG_REQUIRED, "X", "what is between fields (white space)" },
    { OPT_FIELD, "field", ARG_REQUIRED, "FIELDS", "which fields (1)" },
    { OPT_FROM, "from", ARG_REQUIRED, "UNIT", "none, auto, si, iec, iec-i" },
    { OPT_TO, "to", ARG_REQUIRED, "UNIT", "none, si, iec, iec-i" },
    { OPT_HEADER, "header", ARG_OPTIONAL, "N",
            "leave the first N (1) lines as they are" },
    { OPT_PADDING, "padding", ARG_REQUIRED, "N", "at least N columns; negative: left" },
    { OPT_ROUND, "round", ARG_REQUIRED, "HOW",
            "up, down, from-zero (usual), towards-zero, nearest" },
    { OPT_SUFFIX, "suffix", ARG_REQUIRED, "TEXT", "write TEXT after numbers" },
    { 0 },
};

enum unit { UNIT_NONE, UNIT_AUTO, UNIT_SI, UNIT_IEC, UNIT_IEC_I };

static const char letters[] = "KMGTPEZY";

struct numfmt {
    struct cmd *c;
    enum unit from, to;
    const char *suffix;
    char delimiter; /* 0: white space */
    int padding;
    uint64_t header;
    enum { ROUND_FROM_ZERO, ROUND_UP, ROUND_DOWN, ROUND_TO_ZERO, ROUND_NEAREST } round;
    struct ranges fields;
};

static double power_of(double base, int exponent)
{
    double result = 1;
    while (exponent-- > 0)
        result *= base;
    return result;
}

static bool bad(struct numfmt *n, const char *what, const char *text)
{
    cmd_err(n->c, "%s: %s", what, quote(n->c, text));
    return false;
}

static bool parse_number(struct numfmt *n, const char *text, double *value, int *digits)
{
    const char *p = text + (*text == '-');
    size_t whole = strspn(p, "0123456789"), fraction = 0;
    if (p[whole] == '.')
        fraction = strspn(p + whole + 1, "0123456789");
    if (!whole && !fraction)
        return bad(n, "invalid number", text);
    p += whole + (p[whole] == '.') + fraction;
    *digits = (int)fraction;
    *value = strtod(text, NULL);
    const char *unit = *p ? strchr(letters, *p == 'k' ? 'K' : *p) : NULL;
    if (!*p)
        return true;
    if (!unit)
        return bad(n, "invalid suffix in input", text);
    if (n->from == UNIT_NONE) {
        cmd_err(n->c, "rejecting suffix in input: %s (consider using --from)",
                quote(n->c, text));
        return false;
    }
    bool has_i = *++p == 'i' && (n->from == UNIT_AUTO || n->from == UNIT_IEC_I);
    if (n->from == UNIT_IEC_I && !has_i) {
        cmd_err(n->c, "missing 'i' suffix in input: %s (e.g Ki/Mi/Gi)",
                quote(n->c, text));
        return false;
    }
    if (p[has_i])
        return bad(n, "invalid suffix in input", text);
    bool is_1000 = n->from == UNIT_SI || (n->from == UNIT_AUTO && !has_i);
    *value *= power_of(is_1000 ? 1000 : 1024, (int)(unit - letters) + 1);
    *digits = 0;
    return true;
}

static double round_value(const struct numfmt *n, double v)
{
    switch (n->round) {
    case ROUND_UP:
        return ceil(v);
    case ROUND_DOWN:
        return floor(v);
    case ROUND_TO_ZERO:
        return trunc(v);
    case ROUND_NEAREST:
        return round(v);
    case ROUND_FROM_ZERO:
        break;
    }
    return v < 0 ? floor(v) : ceil(v);
}

static void number_text(const struct numfmt *n, double value, int digits, char out[400])
{
    double base = n->to == UNIT_SI ? 1000 : 1024;
    int power = 0;
    if (n->to == UNIT_NONE) {
        double scale = power_of(10, digits < 18 ? digits : 18);
        snprintf(out, 400, "%.*f", digits < 18 ? digits : 18,
                round_value(n, value * scale) / scale);
        return;
    }
    while (fabs(value) >= base && power < 8) {
        value /= base;
        power++;
    }
    bool tenths = power && fabs(value) < 10;
    value = tenths ? round_value(n, value * 10) / 10 : round_value(n, value);
    if (fabs(value) >= base && power < 8) {
        value /= base;
        power++;
    }
    tenths = power && fabs(value) < 10;
    const char letter[2] = { power ? letters[power - 1] : 0 };
    snprintf(out, 400, "%.*f%s%s", tenths ? 1 : 0, value, letter,
            power && n->to == UNIT_IEC_I ? "i" : "");
}

/* One field, padded to `width` columns. */
static bool convert(struct numfmt *n, struct str field, int width, struct buf *out)
{
    char text[400];
    double value;
    int digits;
    if (n->suffix && str_ends(field, str_of(n->suffix)))
        field.len -= strlen(n->suffix);
    if (!parse_number(n, arena_cstr(n->c->arena, field), &value, &digits))
        return false;
    if (fabs(value) >= 1e27) {
        cmd_err(n->c, "value too large to be printed: '%g' (consider using --to)", value);
        return false;
    }
    number_text(n, value, digits, text);
    char *whole = arena_printf(n->c->arena, "%s%s", text, n->suffix ? n->suffix : "");
    buf_addf(out, "%*s", n->padding ? n->padding : width, whole);
    return true;
}

static bool is_chosen(const struct numfmt *n, uint64_t field)
{
    for (size_t i = 0; i < n->fields.count; i++)
        if (field >= n->fields.items[i].first && field <= n->fields.items[i].last)
            return true;
    return !n->fields.count && field == 1;
}

static bool is_blank(char ch)
{
    return ch == ' ' || ch == '\t';
}

/* White space stays, but the blanks before a number take part in its width. */
static bool convert_line(struct numfmt *n, struct str line, struct buf *out)
{
    for (uint64_t field = 1; field == 1 || line.len; field++) {
        size_t blanks = 0, len = 0;
        while (!n->delimiter && blanks < line.len && is_blank(line.data[blanks]))
            blanks++;
        while (blanks + len < line.len &&
                (n->delimiter ? line.data[blanks + len] != n->delimiter
                              : !is_blank(line.data[blanks + len])))
            len++;
        struct str text = str_sub(line, blanks, len);
        bool chosen = is_chosen(n, field);
        if (field > 1 && blanks && !n->delimiter && chosen) {
            buf_addc(out, ' ');
            blanks--;
        }
        if (!chosen)
            buf_add(out, str_sub(line, 0, line.len - (line.len - blanks - len)));
        else if (!convert(n, text, blanks ? (int)(blanks + len) : 0, out))
            return false;
        size_t used = (size_t)(text.data - line.data) + len;
        line = str_from(line, used);
        if (n->delimiter && line.len) {
            buf_addc(out, n->delimiter);
            line = str_from(line, 1);
            if (!line.len)
                break;
        }
    }
    return true;
}

static bool put_converted(struct numfmt *n, struct str line, int *status)
{
    auto_buf out = BUF(SIZE_MAX / 4);
    struct arena_mark mark = arena_mark(n->c->arena);
    if (n->header) {
        n->header--;
    } else if (convert_line(n, line, &out)) {
        line = buf_str(&out);
    } else {
        *status = 2;
        return false;
    }
    arena_rewind(n->c->arena, mark);
    return cmd_put(n->c, line) && cmd_putc(n->c, '\n');
}

static bool parse_word(struct numfmt *n, const char *option, const char *word,
        const char *const *words, size_t count, unsigned *out)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(word, words[i])) {
            *out = (unsigned)i;
            return true;
        }
    cmd_err(n->c, "invalid argument %s for '--%s'", quote(n->c, word), option);
    return try_help(n->c, 0);
}

static bool set_option(struct numfmt *n, int key, const char *value)
{
    static const char *const units[] = { "none", "auto", "si", "iec", "iec-i" };
    static const char *const rounds[] = { "from-zero", "up", "down", "towards-zero",
        "nearest" };
    struct error err;
    unsigned word = 0;
    int64_t number;
    bool ok = true;
    switch (key) {
    case 'd':
        n->delimiter = *value;
        return true;
    case OPT_FROM:
        ok = parse_word(n, "from", value, units, ARRAY_LEN(units), &word);
        n->from = word;
        return ok;
    case OPT_TO:
        ok = parse_word(n, "to", value, units, ARRAY_LEN(units), &word);
        n->to = word;
        return ok;
    case OPT_ROUND:
        ok = parse_word(n, "round", value, rounds, ARRAY_LEN(rounds), &word);
        n->round = word;
        return ok;
    case OPT_PADDING:
        if (!str_int(str_of(value), &number) || !number || number > 4096 ||
                number < -4096)
            return bad(n, "invalid padding value", value);
        n->padding = (int)number;
        return true;
    case OPT_SUFFIX:
        n->suffix = value;
        return true;
    case OPT_HEADER:
        n->header = 1;
        return !value || number_plain(str_of(value), &n->header) ||
               bad(n, "invalid header value", value);
    case OPT_FIELD:
        free(n->fields.items);
        n->fields = (struct ranges){ 0 };
        if (ranges_parse(str_of(value), "field", false, false, &n->fields, &err))
            return true;
        cmd_err(n->c, "%s", err.message);
        return false;
    default:
        return false;
    }
}

static int run(struct numfmt *n)
{
    struct cmd *c = n->c;
    int status = 0;
    struct str line;
    for (int i = 0; i < c->argc; i++)
        if (!put_converted(n, str_of(c->argv[i]), &status))
            return status ? status : 1;
    while (!c->argc && input_line(c, c->in, '\n', &line, NULL))
        if (!put_converted(n, line, &status))
            return status ? status : 1;
    return 0;
}

static int cmd_numfmt(struct cmd *c)
{
    struct numfmt n = { .c = c };
    bool ok = true;
    struct cmd_options o = cmd_options(c);
    for (int k; ok && (k = cmd_next(&o)) != CMD_END;)
        ok = set_option(&n, k, o.value);
    int status = ok ? run(&n) : 1;
    free(n.fields.items);
    return status;
}

const struct command command_numfmt = {
    "numfmt",
    cmd_numfmt,
    options,
    "[OPTION]... [NUMBER]...",
    "Write numbers with units, or units as numbers.",
    0,
};
