#include "shell/builtin/sort.h"

#include "shell/builtin/input.h"
#include "shell/builtin/quote.h"

#include <sys/random.h>

#define FAILED 2

enum { OPT_SORT = 256, OPT_PARALLEL };

static const struct cmd_opt options[] = {
    { 'b', "ignore-leading-blanks", ARG_NONE, NULL, "blanks before a key do not count" },
    { 'd', "dictionary-order", ARG_NONE, NULL, "only blanks, letters and digits count" },
    { 'f', "ignore-case", ARG_NONE, NULL, "small letters are as capital ones" },
    { 'g', "general-numeric-sort", ARG_NONE, NULL, "by value, also 1e3 and inf" },
    { 'i', "ignore-nonprinting", ARG_NONE, NULL, "only printable characters count" },
    { 'M', "month-sort", ARG_NONE, NULL, "by month: JAN before DEC" },
    { 'h', "human-numeric-sort", ARG_NONE, NULL, "by size: 2K before 1G" },
    { 'n', "numeric-sort", ARG_NONE, NULL, "by value" },
    { 'R', "random-sort", ARG_NONE, NULL, "in random order, equal keys together" },
    { 'r', "reverse", ARG_NONE, NULL, "the other way round" },
    { OPT_SORT, "sort", ARG_REQUIRED, "WORD",
            "general-numeric, human-numeric, month, numeric, random or version" },
    { 'V', "version-sort", ARG_NONE, NULL, "by the numbers in the text" },
    { 'c', "check", ARG_OPTIONAL, "HOW",
            "only report whether it is sorted; quiet: be silent" },
    { 'C', NULL, ARG_NONE, NULL, "the same as --check=quiet" },
    { 'k', "key", ARG_REQUIRED, "KEYDEF", "sort by F[.C][LETTERS][,F[.C][LETTERS]]" },
    { 'm', "merge", ARG_NONE, NULL, "merge files that are sorted already" },
    { 'o', "output", ARG_REQUIRED, "FILE", "write to FILE, which may be an input" },
    { OPT_PARALLEL, "parallel", ARG_REQUIRED, "N", "(ignored)" },
    { 's', "stable", ARG_NONE, NULL, "keep the order of lines whose keys are equal" },
    { 'S', "buffer-size", ARG_REQUIRED, "SIZE", "(ignored)" },
    { 't', "field-separator", ARG_REQUIRED, "SEP", "what is between fields" },
    { 'T', "temporary-directory", ARG_REQUIRED, "DIR", "(ignored)" },
    { 'u', "unique", ARG_NONE, NULL, "only the first of lines whose keys are equal" },
    { 'z', "zero-terminated", ARG_NONE, NULL, "lines end with NUL" },
    { 0 },
};

struct sort {
    struct cmd *c;
    struct sort_rule rule;
    char end;
    bool merge, check, quiet;
    const char *output;
};

static bool failed(struct cmd *c, const struct error *err)
{
    cmd_err(c, "%s", err->message);
    return false;
}

static bool set_separator(struct sort *s, const char *value)
{
    int separator = (unsigned char)value[0];
    if (!separator) {
        cmd_err(s->c, "empty tab");
        return false;
    }
    if (!strcmp(value, "\\0"))
        separator = 0;
    else if (value[1]) {
        cmd_err(s->c, "multi-character tab %s", quote(s->c, value));
        return false;
    }
    if (s->rule.separator >= 0 && s->rule.separator != separator) {
        cmd_err(s->c, "incompatible tabs");
        return false;
    }
    s->rule.separator = separator;
    return true;
}

static bool set_order(struct sort *s, const char *word)
{
    static const struct {
        const char *word;
        char letter;
    } words[] = {
        { "general-numeric", 'g' },
        { "human-numeric", 'h' },
        { "month", 'M' },
        { "numeric", 'n' },
        { "random", 'R' },
        { "version", 'V' },
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_starts(str_of(words[i].word), str_of(word)))
            return sort_how_set(&s->rule.global, words[i].letter);
    cmd_err(s->c, "invalid argument %s for '--sort'", quote(s->c, word));
    return false;
}

static bool add_key(struct sort *s, const char *value)
{
    struct error err;
    struct sort_key key;
    if (!sort_key_parse(str_of(value), &key, &err))
        return failed(s->c, &err);
    GROW(s->rule.keys, s->rule.key_count, s->rule.key_cap);
    s->rule.keys[s->rule.key_count++] = key;
    return true;
}

static bool set_option(struct sort *s, int key, const char *value)
{
    switch (key) {
    case CMD_BAD:
        return false;
    case 'c':
    case 'C':
        s->check = true;
        s->quiet = key == 'C' ||
                   (value && (!strcmp(value, "quiet") || !strcmp(value, "silent")));
        return true;
    case 'k':
        return add_key(s, value);
    case 'm':
        return s->merge = true;
    case 'o':
        s->output = value;
        return true;
    case 's':
        return s->rule.stable = true;
    case 't':
        return set_separator(s, value);
    case 'u':
        return s->rule.unique = true;
    case 'z':
        s->end = 0;
        return true;
    case OPT_SORT:
        return set_order(s, value);
    default:
        if (key < 256)
            sort_how_set(&s->rule.global, (char)key);
        return true;
    }
}

static int check_sorted(struct sort *s)
{
    struct cmd *c = s->c;
    const char *name = c->argc ? c->argv[0] : "-";
    struct stream *in;
    int errnum = cmd_open(c, name, true, &in), status = 0;
    if (errnum) {
        cmd_err(c, "cannot read: %s: %s", quote_maybe(c, name), errno_text(errnum));
        return FAILED;
    }
    auto_buf last = BUF(SIZE_MAX / 4);
    struct sort_line before = { 0 };
    struct str text;
    for (uint64_t number = 1; !status && input_line(c, in, s->end, &text, NULL);
            number++) {
        struct sort_line line = { .text = text.data, .len = (uint32_t)text.len };
        sort_line_prepare(&s->rule, &line);
        int order = number > 1 ? sort_compare(&s->rule, &before, &line) : -1;
        if (order > 0 || (!order && s->rule.unique)) {
            status = 1;
            if (!s->quiet)
                cmd_err(c, "%s:%llu: disorder: %.*s", name, (unsigned long long)number,
                        STR_ARG(text));
        }
        buf_clear(&last);
        buf_add(&last, text);
        before = line;
        before.text = buf_str(&last).data;
    }
    if (stream_error(in)) {
        input_failed(c, INPUT_SORT, name, stream_error(in));
        status = FAILED;
    }
    stream_unref(in);
    return status;
}

/* Is the output one of the inputs?  Then all must be read before it is opened. */
static bool output_is_input(struct sort *s)
{
    for (int i = 0; s->output && i < s->c->argc; i++)
        if (!strcmp(s->output, s->c->argv[i]))
            return true;
    return false;
}

static bool read_inputs(struct sort *s, struct sorter *sorter)
{
    bool merge = s->merge && !output_is_input(s), ok = true;
    struct inputs in = inputs_open(s->c);
    in.style = INPUT_SORT;
    while (ok && !in.status && inputs_next(&in)) {
        if (merge)
            sorter_add_sorted(sorter, inputs_take(&in));
        else
            ok = sorter_read(sorter, in.stream);
    }
    if (!ok) /* said already */
        inputs_stop(&in);
    return ok && !in.status && !budget_stopped(s->c->budget);
}

static bool write_output(struct sort *s, struct sorter *sorter)
{
    if (!s->output)
        return sorter_write(sorter, NULL);
    struct stream *out;
    int errnum = cmd_create(s->c, s->output, VFS_WRITE | VFS_CREATE | VFS_TRUNCATE, &out);
    if (errnum) {
        cmd_err(s->c, "open failed: %s: %s", quote_maybe(s->c, s->output),
                errno_text(errnum));
        return false;
    }
    bool ok = sorter_write(sorter, out) && stream_flush(out);
    stream_unref(out);
    return ok;
}

static int run(struct sort *s)
{
    struct cmd *c = s->c;
    if (s->check && c->argc > 1) {
        cmd_err(c, "extra operand %s not allowed with -%c", quote(c, c->argv[1]),
                s->quiet ? 'C' : 'c');
        return FAILED;
    }
    if (s->check)
        return check_sorted(s);
    struct sorter *sorter = sorter_create(c, &s->rule, s->end);
    bool ok = read_inputs(s, sorter) && write_output(s, sorter);
    sorter_destroy(sorter);
    return ok ? 0 : FAILED;
}

static int cmd_sort(struct cmd *c)
{
    struct sort s = { .c = c, .end = '\n', .rule = { .separator = -1 } };
    struct error err;
    bool ok = true;
    struct cmd_options o = cmd_options(c);
    for (int k; ok && (k = cmd_next(&o)) != CMD_END;)
        ok = set_option(&s, k, o.value);
    if (getrandom(&s.rule.seed, sizeof(s.rule.seed), 0) < 0)
        s.rule.seed = (uintptr_t)&s;
    ok = ok && (sort_rule_finish(&s.rule, &err) || failed(c, &err));
    int status = ok ? run(&s) : FAILED;
    free(s.rule.keys);
    return status;
}

const struct command command_sort = {
    "sort",
    cmd_sort,
    options,
    "[OPTION]... [FILE]...",
    "Print the lines of all files in order.",
    0,
};
