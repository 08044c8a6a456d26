#include "shell/builtin/patch/patch.h"

struct reader {
    struct cmd *c;
    struct str rest;
    size_t line; /* number of the next line */
};

static struct str peek(const struct reader *r)
{
    const char *end = memchr(r->rest.data, '\n', r->rest.len);
    return end ? str_sub(r->rest, 0, (size_t)(end - r->rest.data) + 1) : r->rest;
}

static struct str take(struct reader *r)
{
    struct str line = peek(r);
    r->rest = str_from(r->rest, line.len);
    r->line++;
    return line;
}

/* "--- name\ttime" without what is before and after the name. */
static void read_name(struct str line, struct str *name, bool *is_null)
{
    struct str text = str_from(line, 4);
    while (text.len && strchr("\r\n", text.data[text.len - 1]))
        text.len--;
    *name = str_cut(&text, '\t');
    *is_null = str_is(*name, "/dev/null") || str_starts(text, STR("1970-01-01 00:00:00"));
}

static bool read_count(struct str *s, size_t *out)
{
    size_t n = 0, i = 0;
    for (; i < s->len && s->data[i] >= '0' && s->data[i] <= '9'; i++) {
        if (n > SIZE_MAX / 32)
            return false;
        n = n * 10 + (size_t)(s->data[i] - '0');
    }
    *s = str_from(*s, i);
    *out = n;
    return i > 0;
}

/* "3,4" or "3" */
static bool read_range(struct str *s, size_t *start, size_t *count)
{
    *count = 1;
    if (!read_count(s, start))
        return false;
    if (!s->len || s->data[0] != ',')
        return true;
    *s = str_from(*s, 1);
    return read_count(s, count);
}

static void add_line(struct patch_hunk *h, char mark, struct str text)
{
    GROW(h->lines, h->line_count, h->line_cap);
    h->lines[h->line_count++] = (struct patch_line){ mark, text };
}

/* "\ No newline at end of file" is about the line before it. */
static void take_no_newline(struct reader *r, struct patch_hunk *h)
{
    if (!str_starts(r->rest, STR("\\")) || !h->line_count)
        return;
    take(r);
    struct str *text = &h->lines[h->line_count - 1].text;
    if (str_ends(*text, STR("\n")))
        text->len--;
}

static bool read_unified(struct reader *r, struct patch_hunk *h)
{
    struct str head = str_from(take(r), 4);
    if (!read_range(&head, &h->start[0], &h->count[0]) || !str_starts(head, STR(" +")))
        return false;
    head = str_from(head, 2);
    if (!read_range(&head, &h->start[1], &h->count[1]) || !str_starts(head, STR(" @@")))
        return false;
    size_t left[2] = { h->count[0], h->count[1] };
    while (left[0] || left[1]) {
        struct str line = take(r);
        char mark = line.len ? line.data[0] : 0;
        bool is_empty = mark == '\n'; /* an editor has cut the blank */
        if (!cmd_tick(r->c) || !mark || (!is_empty && !strchr(" -+", mark)))
            return false;
        mark = is_empty ? ' ' : mark;
        if ((mark != '+' && !left[0]--) || (mark != '-' && !left[1]--))
            return false;
        add_line(h, mark, str_from(line, !is_empty));
        take_no_newline(r, h);
    }
    return true;
}

/* "3,4c5" : a range, a letter, a range. */
static bool read_command(struct str line, struct patch_hunk *h, char *letter)
{
    size_t to[2];
    for (int i = 0; i < 2; i++) {
        if (!read_count(&line, &h->start[i]))
            return false;
        to[i] = h->start[i];
        if (line.len && line.data[0] == ',') {
            line = str_from(line, 1);
            if (!read_count(&line, &to[i]))
                return false;
        }
        if (to[i] < h->start[i])
            return false;
        h->count[i] = to[i] - h->start[i] + 1;
        if (i == 0) {
            *letter = line.len ? line.data[0] : 0;
            line = str_from(line, 1);
        }
    }
    if (*letter == 'a')
        h->count[0] = 0;
    if (*letter == 'd')
        h->count[1] = 0;
    while (line.len && strchr("\r\n", line.data[0]))
        line = str_from(line, 1);
    return !line.len && (*letter == 'a' || *letter == 'c' || *letter == 'd');
}

static bool read_lines(struct reader *r, struct patch_hunk *h, size_t count,
        struct str prefix, char mark)
{
    for (; count; count--) {
        struct str line = take(r);
        if (!cmd_tick(r->c) || !str_starts(line, prefix))
            return false;
        add_line(h, mark, str_from(line, prefix.len));
        take_no_newline(r, h);
    }
    return true;
}

static bool read_normal(struct reader *r, struct patch_hunk *h)
{
    char letter;
    return read_command(take(r), h, &letter) &&
           read_lines(r, h, h->count[0], STR("< "), '-') &&
           (letter != 'c' || str_starts(take(r), STR("---"))) &&
           read_lines(r, h, h->count[1], STR("> "), '+');
}

static bool begins_normal(struct str line)
{
    struct patch_hunk h;
    char letter;
    return line.len && line.data[0] >= '0' && line.data[0] <= '9' &&
           read_command(line, &h, &letter);
}

/* Pass over what is no patch; the names on the way are noted. */
static bool find_start(struct reader *r, struct patch_file *f)
{
    while (r->rest.len && cmd_tick(r->c)) {
        struct str line = peek(r), before = r->rest;
        if (str_starts(line, STR("@@ -")) || begins_normal(line))
            return true;
        take(r);
        if (str_starts(line, STR("--- ")) && str_starts(r->rest, STR("+++ "))) {
            read_name(line, &f->names[0], &f->is_null[0]);
            read_name(take(r), &f->names[1], &f->is_null[1]);
            f->header = str_sub(before, 0, before.len - r->rest.len);
        }
    }
    return false;
}

bool patch_parse(struct cmd *c, struct str *rest, size_t *line, struct patch_file *out,
        size_t *bad)
{
    struct reader r = { c, *rest, *line };
    *out = (struct patch_file){ .names = { STR(""), STR("") }, .header = STR("") };
    *bad = 0;
    bool found = find_start(&r, out);
    while (found && cmd_tick(c)) {
        bool unified = str_starts(r.rest, STR("@@ -"));
        if (!unified && !begins_normal(peek(&r)))
            break;
        struct str before = r.rest;
        size_t first = r.line;
        GROW(out->hunks, out->count, out->cap);
        struct patch_hunk *h = &out->hunks[out->count++];
        *h = (struct patch_hunk){ 0 };
        if (!(unified ? read_unified(&r, h) : read_normal(&r, h))) {
            *bad = first;
            return false;
        }
        h->source = str_sub(before, 0, before.len - r.rest.len);
    }
    *rest = r.rest;
    *line = r.line;
    return found;
}

void patch_file_finish(struct patch_file *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->hunks[i].lines);
    free(f->hunks);
}

#define SWAP(a, b)               \
    do {                         \
        __typeof__(a) tmp = (a); \
        (a) = (b);               \
        (b) = tmp;               \
    } while (0)

void patch_reverse(struct patch_file *f)
{
    SWAP(f->names[0], f->names[1]);
    SWAP(f->is_null[0], f->is_null[1]);
    for (size_t i = 0; i < f->count; i++) {
        struct patch_hunk *h = &f->hunks[i];
        SWAP(h->start[0], h->start[1]);
        SWAP(h->count[0], h->count[1]);
        for (size_t k = 0; k < h->line_count; k++)
            if (h->lines[k].mark != ' ')
                h->lines[k].mark = h->lines[k].mark == '-' ? '+' : '-';
    }
}
