/* The main input: files and assignments of the command line, records, fields. */
#include "shell/builtin/awk/awk.h"

#include <errno.h>

struct str awk_special_text(struct awk *a, enum awk_special v)
{
    struct awk_cell *c = &a->globals[v];
    if (c->kind != CELL_VALUE)
        return STR("");
    if (c->value.kind == AWK_NUMBER) {
        struct awk_string *s = awk_value_to_string(&c->value, "%.6g");
        awk_value_free(&c->value);
        c->value = awk_value_take(s);
    }
    return c->value.kind == AWK_UNSET ? STR("") : awk_string_str(c->value.string);
}

static void set_number(struct awk *a, enum awk_special v, double n)
{
    awk_cell_clear(&a->globals[v]);
    a->globals[v] = (struct awk_cell){ .kind = CELL_VALUE, .value = awk_value_number(n) };
}

static void add_number(struct awk *a, enum awk_special v)
{
    struct awk_cell *c = &a->globals[v];
    double n = c->kind == CELL_VALUE ? awk_value_to_number(&c->value) : 0;
    set_number(a, v, n + 1);
}

static void free_field(struct awk_field *field)
{
    if (field->is_made)
        awk_value_free(&field->value);
}

static void clear_fields(struct awk *a)
{
    for (size_t i = 0; i < a->field_count; i++)
        free_field(&a->fields[i]);
    a->field_count = 0;
}

static void push_field(struct awk *a, struct awk_field field)
{
    GROW(a->fields, a->field_count, a->field_cap);
    a->fields[a->field_count++] = field;
}

static struct awk_value *field_value(struct awk_field *field)
{
    if (!field->is_made)
        field->value = awk_value_input(field->text);
    field->is_made = true;
    return &field->value;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

typedef void add_fn(void *user, struct str field, struct str separator);

static void split_blanks(struct str text, add_fn *add, void *user)
{
    size_t at = 0;
    while (at < text.len && is_blank(text.data[at]))
        at++;
    while (at < text.len) {
        size_t start = at;
        while (at < text.len && !is_blank(text.data[at]))
            at++;
        size_t end = at;
        while (at < text.len && is_blank(text.data[at]))
            at++;
        add(user, str_sub(text, start, end - start), str_sub(text, end, at - end));
    }
}

static void split_char(
        struct str text, char sep, bool newline_too, add_fn *add, void *user)
{
    size_t start = 0;
    for (size_t at = 0; at < text.len; at++) {
        if (text.data[at] != sep && !(newline_too && text.data[at] == '\n'))
            continue;
        add(user, str_sub(text, start, at - start), str_sub(text, at, 1));
        start = at + 1;
    }
    add(user, str_from(text, start), STR(""));
}

static void split_characters(struct str text, add_fn *add, void *user)
{
    for (size_t at = 0, n; at < text.len; at += n) {
        n = 1;
        while (at + n < text.len && ((unsigned char)text.data[at + n] & 0xc0) == 0x80)
            n++;
        add(user, str_sub(text, at, n), STR(""));
    }
}

static void split_regex(
        struct awk *a, struct str text, struct regex *re, add_fn *add, void *user)
{
    struct regex_match m;
    size_t start = 0, from = 0;
    while (re && from < text.len && cmd_tick(a->cmd) &&
            awk_search(a, re, text, from, &m)) {
        size_t at = (size_t)m.start[0], end = (size_t)m.end[0];
        if (at == end) { /* an empty match separates nothing */
            from = at + 1;
            continue;
        }
        add(user, str_sub(text, start, at - start), str_sub(text, at, end - at));
        start = from = end;
    }
    add(user, str_from(text, start), STR(""));
}

void awk_split_text(struct awk *a, struct str text, struct str fs, struct regex *re,
        add_fn *add, void *user)
{
    bool paragraphs = !awk_special_text(a, V_RS).len;
    if (!text.len)
        return;
    if (re)
        split_regex(a, text, re, add, user);
    else if (str_is(fs, " "))
        split_blanks(text, add, user);
    else if (!fs.len)
        split_characters(text, add, user);
    else if (fs.len == 1 && fs.data[0] != '\\' && !paragraphs)
        split_char(text, fs.data[0], false, add, user);
    else if (fs.len == 1 && fs.data[0] != '\\')
        split_char(text, fs.data[0], true, add, user);
    else
        split_regex(a, text, awk_regex_text(a, fs), add, user);
}

static void add_field(void *user, struct str field, struct str separator)
{
    (void)separator;
    push_field(user, (struct awk_field){ .text = field });
}

void awk_need_fields(struct awk *a)
{
    if (a->split_done)
        return;
    a->split_done = true;
    clear_fields(a);
    awk_split_text(a, buf_str(&a->record), awk_special_text(a, V_FS), NULL, add_field, a);
    set_number(a, V_NF, (double)a->field_count);
}

void awk_set_record(struct awk *a, struct str text)
{
    buf_clear(&a->record);
    buf_add(&a->record, text);
    a->record_valid = true;
    a->split_done = false;
}

static void rebuild_record(struct awk *a)
{
    struct str ofs = awk_special_text(a, V_OFS);
    for (size_t i = 0; i < a->field_count; i++)
        field_value(&a->fields[i]);
    buf_clear(&a->record);
    for (size_t i = 0; i < a->field_count; i++) {
        if (i)
            buf_add(&a->record, ofs);
        struct awk_string *s = awk_string_of(a, field_value(&a->fields[i]));
        buf_add(&a->record, awk_string_str(s));
        struct awk_value v = awk_value_take(s);
        awk_value_free(&v);
    }
    a->record_valid = true;
}

struct str awk_get_record(struct awk *a)
{
    if (!a->record_valid)
        rebuild_record(a);
    return buf_str(&a->record);
}

struct awk_value awk_get_field(struct awk *a, size_t i)
{
    if (!i)
        return awk_value_input(awk_get_record(a));
    awk_need_fields(a);
    if (i > a->field_count)
        return (struct awk_value){ .kind = AWK_UNSET };
    return awk_value_copy(field_value(&a->fields[i - 1]));
}

#define MAX_FIELDS ((size_t)1 << 22)

void awk_set_nf(struct awk *a, size_t count)
{
    awk_need_fields(a);
    if (count > MAX_FIELDS) {
        awk_fatal(a, "NF is set to more than %zu", MAX_FIELDS);
        return;
    }
    while (a->field_count > count)
        free_field(&a->fields[--a->field_count]);
    while (a->field_count < count)
        push_field(a,
                (struct awk_field){ .is_made = true, .value = awk_value_text(STR("")) });
    set_number(a, V_NF, (double)count);
    a->record_valid = false;
}

void awk_set_field(struct awk *a, size_t i, struct awk_value value)
{
    if (!i) {
        struct awk_string *s = awk_string_of(a, &value);
        awk_set_record(a, awk_string_str(s));
        struct awk_value text = awk_value_take(s);
        awk_value_free(&text);
        awk_value_free(&value);
        return;
    }
    awk_need_fields(a);
    if (i > a->field_count)
        awk_set_nf(a, i);
    if (i > a->field_count) { /* refused */
        awk_value_free(&value);
        return;
    }
    free_field(&a->fields[i - 1]);
    a->fields[i - 1] = (struct awk_field){ .is_made = true, .value = value };
    a->record_valid = false;
}

static void set_rt(struct awk *a, struct str text)
{
    const struct awk_cell *now = &a->globals[V_RT];
    if (now->kind == CELL_VALUE && now->value.kind == AWK_STRING &&
            str_eq(awk_string_str(now->value.string), text))
        return;
    awk_cell_clear(&a->globals[V_RT]);
    a->globals[V_RT] =
            (struct awk_cell){ .kind = CELL_VALUE, .value = awk_value_text(text) };
}

static bool read_until_char(struct awk *a, struct stream *in, char sep, struct buf *out)
{
    struct str line;
    if (!stream_line(in, sep, a->cmd->budget->max_memory, &line))
        return false;
    bool ended = line.data[line.len - 1] == sep;
    buf_add(out, str_sub(line, 0, line.len - ended));
    set_rt(a, ended ? (struct str){ &sep, 1 } : STR(""));
    return true;
}

/* RS = "": records are separated by empty lines. */
static bool read_paragraph(struct awk *a, struct stream *in, struct buf *out)
{
    struct str line;
    bool any = false;
    while (cmd_tick(a->cmd) && stream_line(in, '\n', a->cmd->budget->max_memory, &line)) {
        bool empty = line.len == 1 && line.data[0] == '\n';
        if (empty && any)
            break;
        if (empty)
            continue;
        if (any)
            buf_addc(out, '\n');
        any = true;
        buf_add(out, str_sub(line, 0, line.len - (line.data[line.len - 1] == '\n')));
    }
    struct str view; /* the empty lines that follow belong to this separator */
    while (any && stream_peek(in, &view) && view.data[0] == '\n')
        stream_consume(in, 1);
    return any;
}

/* RS is a regular expression: what is left is read until it matches before the end. */
static bool read_until_regex(
        struct awk *a, struct stream *in, struct regex *re, struct buf *out)
{
    struct str view;
    struct regex_match m;
    size_t want = 1;
    while (re && stream_peek_more(in, want, &view)) {
        bool all = view.len < want;
        bool found = awk_search(a, re, view, 0, &m) && m.end[0] > m.start[0];
        /* A match that touches the end of what is buffered could go on. */
        if (found && ((size_t)m.end[0] < view.len || all || want >= 65536)) {
            buf_add(out, str_sub(view, 0, (size_t)m.start[0]));
            set_rt(a, str_sub(view, (size_t)m.start[0], (size_t)(m.end[0] - m.start[0])));
            stream_consume(in, (size_t)m.end[0]);
            return true;
        }
        if (all || want >= 65536) {
            buf_add(out, view);
            stream_consume(in, view.len);
            set_rt(a, STR(""));
            if (all) {
                /* gawk drops the newline at the very end of the input. */
                if (out->len && out->data[out->len - 1] == '\n')
                    out->data[--out->len] = 0;
                return out->len > 0;
            }
            want = 1;
            continue;
        }
        want = want < 4096 ? 4096 : 65536;
    }
    return out->len > 0;
}

bool awk_read_record(struct awk *a, struct stream *in, struct buf *out)
{
    struct str rs = awk_special_text(a, V_RS);
    buf_clear(out);
    bool ok;
    if (!cmd_tick(a->cmd))
        return false;
    if (rs.len == 1)
        ok = read_until_char(a, in, rs.data[0], out);
    else if (!rs.len)
        ok = read_paragraph(a, in, out);
    else
        ok = read_until_regex(a, in, awk_regex_text(a, rs), out);
    if (ok && out->full)
        budget_stop(a->cmd->budget, BUDGET_MEMORY);
    return ok && !out->full;
}

static bool is_assignment(struct str s)
{
    const char *equals = s.len ? memchr(s.data, '=', s.len) : NULL;
    if (!equals || equals == s.data || (s.data[0] >= '0' && s.data[0] <= '9'))
        return false;
    for (const char *p = s.data; p < equals; p++)
        if (!((*p | 32) >= 'a' && (*p | 32) <= 'z') && !(*p >= '0' && *p <= '9') &&
                *p != '_')
            return false;
    return true;
}

void awk_command_line_assign(struct awk *a, const char *text)
{
    struct str value = str_of(text);
    struct str name = str_cut(&value, '=');
    auto_buf plain = BUF(AWK_MAX_PROGRAM);
    awk_unescape(value, &plain);
    size_t before = a->program->global_count;
    size_t slot = awk_global_slot(a->program, name);
    if (a->program->global_count > before) {
        a->globals = xrealloc(a->globals, a->program->global_count * sizeof(*a->globals));
        a->globals[slot] = (struct awk_cell){ .kind = CELL_UNTYPED };
    }
    struct awk_node target = { .type = N_GLOBAL, .slot = slot };
    awk_assign(a, &target, awk_value_input(buf_str(&plain)));
}

static struct str argument(struct awk *a, int i)
{
    char key[16];
    size_t len = 0;
    for (int n = i, d = 1000000000; d; d /= 10)
        if (n / d || d == 1 || len)
            key[len++] = (char)('0' + n / d % 10);
    struct awk_cell *argv = &a->globals[V_ARGV];
    struct awk_cell *c = argv->kind == CELL_ARRAY
                                 ? awk_array_find(argv->array, (struct str){ key, len })
                                 : NULL;
    if (!c || c->kind != CELL_VALUE || c->value.kind == AWK_UNSET ||
            c->value.kind == AWK_NUMBER)
        return STR("");
    return awk_string_str(c->value.string);
}

static int argument_count(struct awk *a)
{
    struct awk_cell *c = &a->globals[V_ARGC];
    double n = c->kind == CELL_VALUE ? awk_value_to_number(&c->value) : 0;
    return n > 0 && n < 1e6 ? (int)n : 0;
}

static void set_file_name(struct awk *a, struct str name)
{
    struct awk_node target = { .type = N_GLOBAL, .slot = V_FILENAME };
    awk_assign(a, &target, awk_value_text(name));
    set_number(a, V_FNR, 0);
}

static bool open_file(struct awk *a, struct str name)
{
    const char *path = arena_cstr(a->cmd->arena, name);
    int errnum = cmd_open(a->cmd, path, true, &a->input);
    struct str view;
    if (!errnum && !stream_peek(a->input, &view) && stream_error(a->input)) {
        errnum = stream_error(a->input);
        stream_unref(TAKE(a->input));
    }
    if (!errnum) {
        set_file_name(a, name);
        return true;
    }
    if (errnum == EISDIR)
        cmd_err(a->cmd, "warning: command line argument `%s' is a directory: skipped",
                path);
    else
        awk_fatal(a, "cannot open file `%s' for reading: %s", path, strerror(errnum));
    return false;
}

static bool open_next(struct awk *a)
{
    for (; a->next_arg < argument_count(a); a->next_arg++) {
        struct str name = argument(a, a->next_arg);
        if (!name.len)
            continue;
        if (is_assignment(name)) {
            awk_command_line_assign(a, arena_cstr(a->cmd->arena, name));
            continue;
        }
        a->used_stdin = true; /* a file was named, so stdin is not wanted */
        if (open_file(a, name)) {
            a->next_arg++;
            return true;
        }
        if (a->failed)
            return false;
    }
    if (a->used_stdin)
        return false;
    a->used_stdin = true;
    a->input = stream_ref(a->cmd->in);
    set_file_name(a, STR(""));
    return true;
}

bool awk_next_record(struct awk *a)
{
    while (!a->no_more_files && !a->failed) {
        if (!a->input && !open_next(a))
            break;
        /* A buffer of its own, since END still sees the last record. */
        if (!a->skip_file && awk_read_record(a, a->input, &a->coming)) {
            struct buf last = a->record;
            a->record = a->coming;
            a->coming = last;
            a->record_valid = true;
            a->split_done = false;
            add_number(a, V_NR);
            add_number(a, V_FNR);
            return true;
        }
        if (budget_stopped(a->cmd->budget))
            return false;
        if (stream_error(a->input))
            awk_fatal(a, "cannot read `%.*s': %s",
                    STR_ARG(awk_special_text(a, V_FILENAME)),
                    strerror(stream_error(a->input)));
        a->skip_file = false;
        stream_unref(TAKE(a->input));
    }
    a->no_more_files = true;
    return false;
}

void awk_record_finish(struct awk *a)
{
    clear_fields(a);
    free(a->fields);
    buf_finish(&a->record);
    buf_finish(&a->coming);
    stream_unref(a->input);
}
