#include "shell/builtin/input.h"
#include "shell/builtin/number.h"
#include "shell/builtin/quote.h"

enum { OPT_CHECK = 256, OPT_NO_CHECK, OPT_HEADER };

static const struct cmd_opt options[] = {
    { '1', NULL, ARG_REQUIRED, "FIELD", "join on this field of file 1" },
    { '2', NULL, ARG_REQUIRED, "FIELD", "join on this field of file 2" },
    { 'a', NULL, ARG_REQUIRED, "FILENUM", "print unpairable lines of this file too" },
    { OPT_CHECK, "check-order", ARG_NONE, NULL, "fail at once if a file is not sorted" },
    { OPT_NO_CHECK, "nocheck-order", ARG_NONE, NULL, "do not mind that" },
    { 'e', NULL, ARG_REQUIRED, "EMPTY", "print this for fields that are missing" },
    { OPT_HEADER, "header", ARG_NONE, NULL, "join the first lines, whatever they hold" },
    { 'i', "ignore-case", ARG_NONE, NULL, "do not mind letter case" },
    { 'j', NULL, ARG_REQUIRED, "FIELD", "the same as -1 FIELD -2 FIELD" },
    { 'o', NULL, ARG_REQUIRED, "FORMAT", "fields to print: 0,1.2,2.1 or auto" },
    { 't', NULL, ARG_REQUIRED, "CHAR", "what is between fields" },
    { 'v', NULL, ARG_REQUIRED, "FILENUM", "print only unpairable lines of this file" },
    { 'z', "zero-terminated", ARG_NONE, NULL, "lines end with NUL" },
    { 0 },
};

struct line {
    struct buf text;
    struct str *fields; /* of `text` */
    size_t count, cap;
};

struct side {
    const char *name;
    struct stream *in;
    struct line **lines; /* a group with equal keys; the first is the current line */
    size_t count, cap;
    struct line *spare, *next; /* `next`: read already, after the group */
    bool at_end, disordered;
    uint64_t number;
    size_t field;      /* to join on */
    size_t auto_count; /* -o auto: fields of the first line */
};

struct output_field {
    int file; /* 1, 2, or 0: the joined field */
    size_t field;
};

struct join {
    struct cmd *c;
    struct side sides[2];
    bool unpaired[2], paired, fold, header, check, no_check, auto_output;
    bool saw_unpaired, failed;
    int separator; /* -1: blanks */
    char end;
    const char *empty;
    struct output_field *output;
    size_t output_count, output_cap;
};

static void free_line(struct line *line)
{
    if (!line)
        return;
    buf_finish(&line->text);
    free(line->fields);
    free(line);
}

static void add_field(struct line *line, struct str field)
{
    GROW(line->fields, line->count, line->cap);
    line->fields[line->count++] = field;
}

static bool is_blank(char ch)
{
    return ch == ' ' || ch == '\t' || ch == '\n';
}

static void split(const struct join *j, struct line *line)
{
    struct str s = buf_str(&line->text);
    line->count = 0;
    if (j->separator >= 0) {
        for (bool more = s.len; more;) {
            const char *at = memchr(s.data, j->separator, s.len);
            size_t len = at ? (size_t)(at - s.data) : s.len;
            add_field(line, str_sub(s, 0, len));
            s = str_from(s, len + 1);
            more = at;
        }
        return;
    }
    for (size_t i = 0, start; i < s.len; add_field(line, str_sub(s, start, i - start))) {
        while (i < s.len && is_blank(s.data[i]))
            i++;
        for (start = i; i < s.len && !is_blank(s.data[i]); i++)
            ;
        if (start == i)
            break;
    }
}

static struct str key_of(const struct side *side, const struct line *line)
{
    return side->field < line->count ? line->fields[side->field] : (struct str){ "", 0 };
}

static int compare_keys(const struct join *j, struct str a, struct str b)
{
    if (!j->fold)
        return str_cmp(a, b);
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n ? strncasecmp(a.data, b.data, n) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static void check_order(
        struct join *j, int which, const struct line *before, const struct line *after)
{
    struct side *side = &j->sides[which];
    if (!before || side->disordered || j->no_check || !(j->check || j->saw_unpaired) ||
            compare_keys(j, key_of(side, before), key_of(side, after)) <= 0)
        return;
    side->disordered = j->failed = true;
    cmd_err(j->c, "%s:%llu: is not sorted: %.*s", side->name,
            (unsigned long long)side->number, STR_ARG(buf_str(&after->text)));
}

/* Read a line; `before` is the one before it, for the order. */
static struct line *read_line(struct join *j, int which, const struct line *before)
{
    struct side *side = &j->sides[which];
    struct str text;
    if (side->at_end || !input_line(j->c, side->in, j->end, &text, NULL)) {
        side->at_end = true;
        return NULL;
    }
    struct line *line = side->spare ? TAKE(side->spare) : xcalloc(1, sizeof(*line));
    line->text.max = j->c->budget->max_memory;
    buf_clear(&line->text);
    buf_add(&line->text, text);
    split(j, line);
    if (!side->number++)
        side->auto_count = line->count;
    if (side->number > 1 + (uint64_t)j->header)
        check_order(j, which, before, line);
    return line;
}

static void drop_group(struct side *side)
{
    while (side->count) {
        free_line(side->spare);
        side->spare = side->lines[--side->count];
    }
}

static void add_to_group(struct side *side, struct line *line)
{
    GROW(side->lines, side->count, side->cap);
    side->lines[side->count++] = line;
}

/* The next line becomes the group; false at the end. */
static bool advance(struct join *j, int which)
{
    struct side *side = &j->sides[which];
    struct line *line = TAKE(side->next);
    if (!line && side->count) {
        /* The old line is needed until the order was checked. */
        struct line *before = side->lines[--side->count];
        drop_group(side);
        line = read_line(j, which, before);
        free_line(side->spare);
        side->spare = before;
    } else if (!line) {
        line = read_line(j, which, NULL);
    } else {
        drop_group(side);
    }
    if (line)
        add_to_group(side, line);
    return line;
}

/* All lines with the key of the first. */
static void fill_group(struct join *j, int which)
{
    struct side *side = &j->sides[which];
    size_t bytes = 0;
    while (!j->failed || !j->check) {
        const struct line *last = side->lines[side->count - 1];
        struct line *line = read_line(j, which, last);
        if (!line)
            return;
        if (compare_keys(j, key_of(side, last), key_of(side, line))) {
            side->next = line;
            return;
        }
        add_to_group(side, line);
        bytes += line->text.cap + sizeof(*line);
        if (bytes > j->c->budget->max_memory && !budget_stop(j->c->budget, BUDGET_MEMORY))
            return;
    }
}

static void add_value(
        const struct join *j, const struct line *line, size_t field, struct buf *out)
{
    struct str value =
            line && field < line->count ? line->fields[field] : (struct str){ "", 0 };
    buf_add(out, value.len || !j->empty ? value : str_of(j->empty));
}

static void add_separator(const struct join *j, struct buf *out)
{
    buf_addc(out, j->separator >= 0 ? (char)j->separator : ' ');
}

static void add_others(
        const struct join *j, int which, const struct line *line, struct buf *out)
{
    const struct side *side = &j->sides[which];
    size_t count = j->auto_output ? side->auto_count : line ? line->count : 0;
    for (size_t i = 0; i < count; i++) {
        if (i == side->field)
            continue;
        add_separator(j, out);
        add_value(j, line, i, out);
    }
}

/* One of the lines may be NULL. */
static bool print_pair(struct join *j, const struct line *a, const struct line *b)
{
    auto_buf out = BUF(SIZE_MAX / 4);
    size_t key_field = a ? j->sides[0].field : j->sides[1].field;
    if (!j->output_count) {
        add_value(j, a ? a : b, key_field, &out);
        add_others(j, 0, a, &out);
        if (b || j->auto_output)
            add_others(j, 1, b, &out);
    }
    for (size_t i = 0; i < j->output_count; i++) {
        const struct output_field *f = &j->output[i];
        if (i)
            add_separator(j, &out);
        if (!f->file)
            add_value(j, a ? a : b, key_field, &out);
        else
            add_value(j, f->file == 1 ? a : b, f->field, &out);
    }
    buf_addc(&out, j->end);
    return cmd_put(j->c, buf_str(&out));
}

static bool print_unpaired(struct join *j, int which)
{
    struct line *line = j->sides[which].lines[0];
    j->saw_unpaired = true;
    if (!j->unpaired[which])
        return true;
    return which ? print_pair(j, NULL, line) : print_pair(j, line, NULL);
}

static bool print_groups(struct join *j)
{
    const struct side *a = &j->sides[0], *b = &j->sides[1];
    for (size_t i = 0; j->paired && i < a->count; i++)
        for (size_t k = 0; k < b->count; k++)
            if (!cmd_tick(j->c) || !print_pair(j, a->lines[i], b->lines[k]))
                return false;
    return true;
}

/* The first lines are joined as they are. */
static bool join_headers(struct join *j, bool *has)
{
    if (!j->header || (!has[0] && !has[1]))
        return true;
    if (!print_pair(j, has[0] ? j->sides[0].lines[0] : NULL,
                has[1] ? j->sides[1].lines[0] : NULL))
        return false;
    for (int i = 0; i < 2; i++)
        has[i] = has[i] && advance(j, i);
    return true;
}

static bool join_all(struct join *j)
{
    bool has[2] = { advance(j, 0), advance(j, 1) };
    bool ok = join_headers(j, has);
    while (ok && (has[0] || has[1]) && !(j->failed && j->check) && cmd_tick(j->c)) {
        int order = !has[0] ? 1 : !has[1] ? -1 : 0;
        if (!order)
            order = compare_keys(j, key_of(&j->sides[0], j->sides[0].lines[0]),
                    key_of(&j->sides[1], j->sides[1].lines[0]));
        if (order) {
            int which = order > 0;
            ok = print_unpaired(j, which);
            has[which] = advance(j, which);
            continue;
        }
        fill_group(j, 0);
        fill_group(j, 1);
        ok = print_groups(j);
        has[0] = advance(j, 0);
        has[1] = advance(j, 1);
    }
    if (ok && j->failed && !j->check)
        cmd_err(j->c, "input is not in sorted order");
    return ok && !j->failed && !budget_stopped(j->c->budget);
}

static bool bad_field(struct join *j, struct str text)
{
    cmd_err(j->c, "invalid field number: %s", quote(j->c, arena_cstr(j->c->arena, text)));
    return false;
}

static bool parse_field(struct join *j, struct str text, size_t *out)
{
    uint64_t n;
    if (!number_plain(text, &n) || !n)
        return bad_field(j, text);
    *out = n > SIZE_MAX / 2 ? SIZE_MAX / 2 : (size_t)n - 1;
    return true;
}

static bool parse_file(struct join *j, const char *text, int *out)
{
    if ((text[0] != '1' && text[0] != '2') || text[1])
        return bad_field(j, str_of(text));
    *out = text[0] - '1';
    return true;
}

/* "0", "1.2" and so on. */
static bool add_output(struct join *j, struct str word)
{
    struct output_field f = { 0 };
    const char *text = arena_cstr(j->c->arena, word);
    if (!str_is(word, "0")) {
        bool file = word.len && (text[0] == '1' || text[0] == '2');
        if (!file || word.len < 2 || text[1] != '.') {
            cmd_err(j->c,
                    file ? "invalid field specifier: %s"
                         : "invalid file number in field spec: %s",
                    quote(j->c, text));
            return false;
        }
        f.file = text[0] - '0';
        if (!parse_field(j, str_from(word, 2), &f.field))
            return false;
    }
    GROW(j->output, j->output_count, j->output_cap);
    j->output[j->output_count++] = f;
    return true;
}

static bool set_output(struct join *j, const char *text)
{
    if (!strcmp(text, "auto"))
        return j->auto_output = true;
    struct str rest = str_of(text);
    while (rest.len) {
        size_t len = 0;
        while (len < rest.len && !strchr(", \t", rest.data[len]))
            len++;
        if (len && !add_output(j, str_sub(rest, 0, len)))
            return false;
        rest = str_from(rest, len + 1);
    }
    return true;
}

static bool set_separator(struct join *j, const char *text)
{
    if (!strcmp(text, "\\0")) {
        j->separator = 0;
    } else if (*text && text[1]) {
        cmd_err(j->c, "multi-character tab %s", quote(j->c, text));
        return false;
    } else {
        j->separator = *text ? (unsigned char)*text : '\n'; /* "": the whole line */
    }
    return true;
}

static bool set_option(struct join *j, int key, const char *value)
{
    int file;
    switch (key) {
    case '1':
    case '2':
        return parse_field(j, str_of(value), &j->sides[key - '1'].field);
    case 'j':
        return parse_field(j, str_of(value), &j->sides[0].field) &&
               parse_field(j, str_of(value), &j->sides[1].field);
    case 'a':
    case 'v':
        if (!parse_file(j, value, &file))
            return false;
        j->paired = j->paired && key == 'a';
        return j->unpaired[file] = true;
    case 'e':
        j->empty = value;
        return true;
    case 'i':
        return j->fold = true;
    case 'o':
        return set_output(j, value);
    case 't':
        return set_separator(j, value);
    case 'z':
        j->end = 0;
        return true;
    case OPT_HEADER:
        return j->header = true;
    case OPT_CHECK:
        return j->check = true;
    case OPT_NO_CHECK:
        return j->no_check = true;
    default:
        return false;
    }
}

static int run(struct join *j)
{
    struct cmd *c = j->c;
    if (!c->argc)
        return missing_operand(c);
    if (c->argc < 2) {
        cmd_err(c, "missing operand after %s", quote(c, c->argv[0]));
        return try_help(c, 1);
    }
    if (c->argc > 2)
        return extra_operand(c, c->argv[2]);
    for (int i = 0; i < 2; i++) {
        j->sides[i].name = c->argv[i];
        int errnum = cmd_open(c, c->argv[i], true, &j->sides[i].in);
        if (!errnum)
            continue;
        j->sides[i].in = NULL;
        cmd_err(c, "%s: %s", quote_maybe(c, c->argv[i]), errno_text(errnum));
        return 1;
    }
    bool ok = join_all(j);
    for (int i = 0; i < 2; i++)
        if (stream_error(j->sides[i].in)) {
            input_failed(c, INPUT_PLAIN, j->sides[i].name, stream_error(j->sides[i].in));
            ok = false;
        }
    return ok ? 0 : 1;
}

static int cmd_join(struct cmd *c)
{
    struct join j = { .c = c, .separator = -1, .end = '\n', .paired = true };
    bool ok = true;
    struct cmd_options o = cmd_options(c);
    for (int k; ok && (k = cmd_next(&o)) != CMD_END;)
        ok = set_option(&j, k, o.value);
    int status = ok ? run(&j) : 1;
    for (int i = 0; i < 2; i++) {
        struct side *side = &j.sides[i];
        while (side->count)
            free_line(side->lines[--side->count]);
        free(side->lines);
        free_line(side->spare);
        free_line(side->next);
        stream_unref(side->in);
    }
    free(j.output);
    return status;
}

const struct command command_join = {
    "join",
    cmd_join,
    options,
    "[OPTION]... FILE1 FILE2",
    "Join lines of two sorted files on a common field.",
    0,
};
