/* The built-in functions. */
#include "shell/builtin/awk/awk.h"

#include "base/utf8.h"

#include <ctype.h>
#include <math.h>
#include <time.h>

static void set_special(struct awk *a, enum awk_special v, double n)
{
    struct awk_node target = { .type = N_GLOBAL, .slot = v };
    awk_assign(a, &target, awk_value_number(n));
}

static struct awk_value f_length(struct awk *a, struct awk_node *n)
{
    if (!n->count)
        return awk_value_number((double)utf8_count(awk_get_record(a)));
    struct awk_node *arg = n->list[0];
    if (arg->type == N_GLOBAL || arg->type == N_LOCAL) {
        struct awk_cell *c =
                arg->type == N_LOCAL ? &a->frame[arg->slot] : &a->globals[arg->slot];
        while (c->kind == CELL_REF)
            c = c->ref;
        if (c->kind == CELL_ARRAY)
            return awk_value_number((double)awk_array_count(c->array));
    }
    struct awk_string *s = awk_text(a, arg);
    double len = (double)utf8_count(awk_string_str(s));
    awk_string_free(s);
    return awk_value_number(len);
}

static struct awk_value f_substr(struct awk *a, struct awk_node *n)
{
    struct awk_string *s = awk_text(a, n->list[0]);
    struct str text = awk_string_str(s);
    double from = awk_num(a, n->list[1]);
    double len = n->count > 2 ? awk_num(a, n->list[2]) : INFINITY;
    /* As gawk: a start before the text is its start, and the length counts from there. */
    from = isnan(from) || from < 1 ? 1 : trunc(from);
    double end = from + trunc(len); /* the first character that is not wanted */
    struct awk_value result;
    if (isnan(end) || end <= from || from > (double)text.len) {
        result = awk_value_text(STR(""));
    } else {
        size_t start = utf8_offset(text, (size_t)from - 1);
        struct str rest = str_from(text, start);
        size_t size = end - from >= (double)rest.len
                              ? rest.len
                              : utf8_offset(rest, (size_t)(end - from));
        result = awk_value_text(str_sub(rest, 0, size));
    }
    awk_string_free(s);
    return result;
}

static struct awk_value f_index(struct awk *a, struct awk_node *n)
{
    struct awk_string *s = awk_text(a, n->list[0]), *t = awk_text(a, n->list[1]);
    const char *at = memmem(s->data, s->len, t->data, t->len);
    double result =
            at ? (double)utf8_count((struct str){ s->data, (size_t)(at - s->data) }) + 1
               : 0;
    if (!t->len)
        result = 0;
    awk_string_free(s);
    awk_string_free(t);
    return awk_value_number(result);
}

static struct awk_value change_case(struct awk *a, struct awk_node *n, bool upper)
{
    struct awk_string *s = awk_text(a, n->list[0]);
    struct awk_string *out = awk_string_new(awk_string_str(s));
    awk_string_free(s);
    for (size_t i = 0; i < out->len; i++) {
        unsigned char c = (unsigned char)out->data[i];
        if (c < 128)
            out->data[i] = (char)(upper ? toupper(c) : tolower(c));
    }
    return awk_value_take(out);
}

struct splitting {
    struct awk *awk;
    struct awk_array *fields, *separators;
    size_t count;
};

static void put_number_key(struct awk_array *array, size_t i, struct awk_value value)
{
    struct awk_value number = awk_value_number((double)i);
    struct awk_string *key = awk_value_to_string(&number, "%.6g");
    struct awk_cell *c = awk_array_get(array, awk_string_str(key));
    awk_string_free(key);
    awk_cell_clear(c);
    *c = (struct awk_cell){ .kind = CELL_VALUE, .value = value };
}

static void add_part(void *user, struct str field, struct str separator)
{
    struct splitting *s = user;
    put_number_key(s->fields, ++s->count, awk_value_input(field));
    if (s->separators && separator.len)
        put_number_key(s->separators, s->count, awk_value_text(separator));
}

static struct awk_value f_split(struct awk *a, struct awk_node *n)
{
    struct awk_string *s = awk_text(a, n->list[0]);
    struct awk_string *fs = NULL;
    struct regex *re = NULL;
    if (n->count > 2 && n->list[2]->type == N_REGEX)
        re = awk_regex(a, n->list[2]);
    else if (n->count > 2)
        fs = awk_text(a, n->list[2]);
    struct splitting sp = { .awk = a, .fields = awk_array_of(a, n->list[1]) };
    if (n->count > 3)
        sp.separators = awk_array_of(a, n->list[3]);
    if (sp.fields) {
        awk_array_clear(sp.fields);
        if (sp.separators)
            awk_array_clear(sp.separators);
        awk_split_text(a, awk_string_str(s),
                fs ? awk_string_str(fs) : awk_special_text(a, V_FS), re, add_part, &sp);
    }
    if (fs)
        awk_string_free(fs);
    awk_string_free(s);
    return awk_value_number((double)sp.count);
}

static struct awk_value f_sprintf(struct awk *a, struct awk_node *n)
{
    struct awk_value *args = xcalloc(n->count, sizeof(*args));
    for (size_t i = 0; i < n->count; i++)
        args[i] = awk_eval(a, n->list[i]);
    struct awk_string *format = awk_string_of(a, &args[0]);
    auto_buf out = BUF(a->cmd->budget->max_memory);
    bool ok = awk_format(a, awk_string_str(format), args + 1, n->count - 1, &out);
    awk_string_free(format);
    for (size_t i = 0; i < n->count; i++)
        awk_value_free(&args[i]);
    free(args);
    return ok ? awk_value_text(buf_str(&out)) : awk_value_text(STR(""));
}

static void put_group(struct awk_array *array, size_t i, struct str text)
{
    put_number_key(array, i, awk_value_input(text));
}

static struct awk_value f_match(struct awk *a, struct awk_node *n)
{
    struct awk_string *s = awk_text(a, n->list[0]);
    struct str text = awk_string_str(s);
    struct regex_match m;
    bool found = awk_search(a, awk_regex(a, n->list[1]), text, 0, &m);
    double start = 0, length = -1;
    struct awk_array *groups = n->count > 2 ? awk_array_of(a, n->list[2]) : NULL;
    if (groups)
        awk_array_clear(groups);
    if (found) {
        struct str head = str_sub(text, 0, (size_t)m.start[0]);
        struct str body = str_sub(text, head.len, (size_t)(m.end[0] - m.start[0]));
        start = (double)utf8_count(head) + 1;
        length = (double)utf8_count(body);
        for (size_t i = 0; groups && i < m.groups; i++)
            if (m.start[i] >= 0)
                put_group(groups, i,
                        str_sub(text, (size_t)m.start[i],
                                (size_t)(m.end[i] - m.start[i])));
    }
    awk_string_free(s);
    set_special(a, V_RSTART, start);
    set_special(a, V_RLENGTH, length);
    return awk_value_number(start);
}

/* What replaces a match: & is the match, \\& is &; gensub knows \\0 to \\9 too. */
static void add_replacement(struct str by, struct str text, const struct regex_match *m,
        bool groups, struct buf *out)
{
    for (size_t i = 0; i < by.len; i++) {
        char c = by.data[i], next = i + 1 < by.len ? by.data[i + 1] : 0;
        size_t group = 0;
        if (c == '\\' && (next == '&' || next == '\\')) {
            buf_addc(out, next);
            i++;
            continue;
        }
        if (groups && c == '\\' && next >= '0' && next <= '9') {
            group = (size_t)(next - '0');
            i++;
        } else if (c != '&') {
            buf_addc(out, c);
            continue;
        }
        if (group < m->groups && m->start[group] >= 0)
            buf_add(out, str_sub(text, (size_t)m->start[group],
                                 (size_t)(m->end[group] - m->start[group])));
    }
}

static size_t char_length(struct str text, size_t at)
{
    size_t n = 1;
    while (at + n < text.len && ((unsigned char)text.data[at + n] & 0xc0) == 0x80)
        n++;
    return n;
}

/* Replace the `which`th match (0: all) of `text`, appended to `out`; how many were. */
static size_t replace(struct awk *a, struct regex *re, struct str text, struct str by,
        size_t which, bool groups, struct buf *out)
{
    struct regex_match m;
    size_t at = 0, last_end = SIZE_MAX, seen = 0, done = 0;
    while (at <= text.len && cmd_tick(a->cmd) && awk_search(a, re, text, at, &m)) {
        size_t start = (size_t)m.start[0], end = (size_t)m.end[0];
        buf_add(out, str_sub(text, at, start - at));
        bool after_match = start == end && start == last_end;
        if (!after_match && (++seen == which || !which)) {
            add_replacement(by, text, &m, groups, out);
            done++;
        } else {
            buf_add(out, str_sub(text, start, end - start));
        }
        at = last_end = end;
        if (which && seen == which)
            break;
        if (start == end) {
            size_t n = at < text.len ? char_length(text, at) : 1;
            buf_add(out, str_sub(text, at, n));
            at += n;
        }
    }
    buf_add(out, str_from(text, at));
    if (out->full)
        budget_stop(a->cmd->budget, BUDGET_MEMORY);
    return done;
}

static struct awk_value f_sub(struct awk *a, struct awk_node *n, bool all)
{
    static struct awk_node zero = { .type = N_NUMBER };
    struct awk_node record = { .type = N_FIELD, .a = &zero };
    struct awk_node *target = n->count > 2 ? n->list[2] : &record;
    struct regex *re = awk_regex(a, n->list[0]);
    struct awk_string *by = awk_text(a, n->list[1]), *text = awk_text(a, target);
    auto_buf out = BUF(a->cmd->budget->max_memory);
    size_t done = re ? replace(a, re, awk_string_str(text), awk_string_str(by), !all,
                               false, &out)
                     : 0;
    if (done)
        awk_assign(a, target, awk_value_text(buf_str(&out)));
    awk_string_free(by);
    awk_string_free(text);
    return awk_value_number((double)done);
}

static struct awk_value f_gensub(struct awk *a, struct awk_node *n)
{
    struct regex *re = awk_regex(a, n->list[0]);
    struct awk_string *by = awk_text(a, n->list[1]), *how = awk_text(a, n->list[2]);
    struct awk_string *text =
            n->count > 3 ? awk_text(a, n->list[3]) : awk_string_new(awk_get_record(a));
    bool all = how->len && (how->data[0] | 32) == 'g', whole;
    double number = awk_number(awk_string_str(how), &whole);
    size_t which = all ? 0 : number >= 1 && number < 1e9 ? (size_t)number : 1;
    auto_buf out = BUF(a->cmd->budget->max_memory);
    if (re)
        replace(a, re, awk_string_str(text), awk_string_str(by), which, true, &out);
    awk_string_free(by);
    awk_string_free(how);
    awk_string_free(text);
    return awk_value_text(buf_str(&out));
}

static double next_random(struct awk *a)
{
    a->random ^= a->random << 13;
    a->random ^= a->random >> 7;
    a->random ^= a->random << 17;
    return (double)(a->random >> 11) / 9007199254740992.0;
}

static struct awk_value f_srand(struct awk *a, struct awk_node *n)
{
    double old = a->seed;
    a->seed = n->count ? awk_num(a, n->list[0]) : (double)time(NULL);
    a->random = (uint64_t)(int64_t)a->seed * 0x9e3779b97f4a7c15u + 0x1234567u;
    if (!a->random)
        a->random = 42;
    return awk_value_number(old);
}

static uint64_t bits(struct awk *a, struct awk_node *n)
{
    double v = awk_num(a, n);
    if (v < 0)
        awk_fatal(a, "negative values are not allowed in bit operations");
    return v >= 0 && v < 18446744073709551615.0 ? (uint64_t)v : 0;
}

static struct awk_value f_bits(struct awk *a, struct awk_node *n)
{
    uint64_t result = bits(a, n->list[0]);
    for (size_t i = 1; i < n->count; i++) {
        uint64_t b = bits(a, n->list[i]);
        switch (n->slot) {
        case F_AND:
            result &= b;
            break;
        case F_OR:
            result |= b;
            break;
        case F_XOR:
            result ^= b;
            break;
        case F_LSHIFT:
            result = b < 64 ? result << b : 0;
            break;
        default:
            result = b < 64 ? result >> b : 0;
            break;
        }
    }
    if (n->slot == F_COMPL)
        result = ~result & 0x1fffffffffffff;
    return awk_value_number((double)result);
}

static struct awk_value f_strtonum(struct awk *a, struct awk_node *n)
{
    struct awk_string *s = awk_text(a, n->list[0]);
    const char *text = s->data;
    bool whole;
    double result;
    if (text[0] == '0' && (text[1] | 32) == 'x')
        result = (double)strtoull(text + 2, NULL, 16);
    else if (text[0] == '0')
        result = (double)strtoull(text, NULL, 8);
    else
        result = awk_number(awk_string_str(s), &whole);
    awk_string_free(s);
    return awk_value_number(result);
}

static struct awk_value f_number(struct awk *a, struct awk_node *n)
{
    double x = awk_num(a, n->list[0]);
    switch (n->slot) {
    case F_COS:
        return awk_value_number(cos(x));
    case F_SIN:
        return awk_value_number(sin(x));
    case F_EXP:
        return awk_value_number(exp(x));
    case F_LOG:
        return awk_value_number(log(x));
    case F_SQRT:
        return awk_value_number(sqrt(x));
    case F_INT:
        return awk_value_number(trunc(x));
    default:
        return awk_value_number(atan2(x, awk_num(a, n->list[1])));
    }
}

static struct awk_value f_strftime(struct awk *a, struct awk_node *n)
{
    struct awk_string *format = n->count ? awk_text(a, n->list[0])
                                         : awk_string_new(STR("%a %b %e %H:%M:%S %Z %Y"));
    time_t when = n->count > 1 ? (time_t)awk_num(a, n->list[1]) : time(NULL);
    bool utc = n->count > 2 && awk_num(a, n->list[2]) != 0;
    struct tm tm;
    char text[1024];
    size_t len = 0;
    if (utc ? gmtime_r(&when, &tm) : localtime_r(&when, &tm)) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        len = strftime(text, sizeof(text), format->data, &tm);
#pragma GCC diagnostic pop
    }
    awk_string_free(format);
    return awk_value_text((struct str){ text, len });
}

static struct awk_value f_mktime(struct awk *a, struct awk_node *n)
{
    struct awk_string *s = awk_text(a, n->list[0]);
    struct str rest = awk_string_str(s);
    double part[6] = { 0 };
    bool whole = true;
    int count = 0;
    for (; count < 6 && rest.len && whole; count++)
        part[count] = awk_number(str_cut(&rest, ' '), &whole);
    awk_string_free(s);
    if (count < 6 || !whole)
        return awk_value_number(-1);
    struct tm tm = { .tm_year = (int)part[0] - 1900,
        .tm_mon = (int)part[1] - 1,
        .tm_mday = (int)part[2],
        .tm_hour = (int)part[3],
        .tm_min = (int)part[4],
        .tm_sec = (int)part[5],
        .tm_isdst = -1 };
    bool utc = n->count > 1 && awk_num(a, n->list[1]) != 0;
    return awk_value_number((double)(utc ? timegm(&tm) : mktime(&tm)));
}

static int compare_values(const void *x, const void *y)
{
    const struct awk_value *a = x, *b = y;
    bool a_number = a->kind != AWK_STRING, b_number = b->kind != AWK_STRING;
    if (a_number != b_number)
        return a_number ? -1 : 1; /* numbers before texts */
    return awk_value_compare(a, b, "%.6g");
}

static struct awk_value f_asort(struct awk *a, struct awk_node *n)
{
    struct awk_array *from = awk_array_of(a, n->list[0]);
    struct awk_array *to = n->count > 1 ? awk_array_of(a, n->list[1]) : from;
    if (!from || !to)
        return awk_value_number(0);
    size_t count = awk_array_count(from);
    struct awk_string **keys = awk_array_keys(from);
    struct awk_value *values = xcalloc(count + 1, sizeof(*values));
    for (size_t i = 0; i < count; i++) {
        struct awk_cell *c = awk_array_find(from, awk_string_str(keys[i]));
        if (n->slot == F_ASORTI)
            values[i] = awk_value_text(awk_string_str(keys[i]));
        else if (c && c->kind == CELL_VALUE)
            values[i] = awk_value_copy(&c->value);
        awk_string_free(keys[i]);
    }
    free(keys);
    qsort(values, count, sizeof(*values), compare_values);
    awk_array_clear(to);
    for (size_t i = 0; i < count; i++)
        put_number_key(to, i + 1, values[i]);
    free(values);
    return awk_value_number((double)count);
}

static struct awk_value with_name(struct awk *a, struct awk_node *n)
{
    struct awk_string *s = awk_text(a, n->list[0]);
    int status;
    if (n->slot == F_CLOSE) {
        status = awk_close(a, awk_string_str(s));
    } else {
        awk_flush(a);
        stream_flush(a->cmd->out);
        status = awk_system(a, awk_string_str(s), a->cmd->in, a->cmd->out);
    }
    awk_string_free(s);
    return awk_value_number(status);
}

struct awk_value awk_call_builtin(struct awk *a, struct awk_node *n)
{
    switch ((enum awk_builtin)n->slot) {
    case F_ATAN2:
    case F_COS:
    case F_EXP:
    case F_INT:
    case F_LOG:
    case F_SIN:
    case F_SQRT:
        return f_number(a, n);
    case F_RAND:
        return awk_value_number(next_random(a));
    case F_SRAND:
        return f_srand(a, n);
    case F_GSUB:
    case F_SUB:
        return f_sub(a, n, n->slot == F_GSUB);
    case F_GENSUB:
        return f_gensub(a, n);
    case F_INDEX:
        return f_index(a, n);
    case F_LENGTH:
        return f_length(a, n);
    case F_MATCH:
        return f_match(a, n);
    case F_SPLIT:
        return f_split(a, n);
    case F_SPRINTF:
        return f_sprintf(a, n);
    case F_SUBSTR:
        return f_substr(a, n);
    case F_TOLOWER:
    case F_TOUPPER:
        return change_case(a, n, n->slot == F_TOUPPER);
    case F_CLOSE:
    case F_SYSTEM:
        return with_name(a, n);
    case F_FFLUSH:
        return awk_value_number(awk_flush(a) ? 0 : -1);
    case F_AND:
    case F_OR:
    case F_XOR:
    case F_LSHIFT:
    case F_RSHIFT:
    case F_COMPL:
        return f_bits(a, n);
    case F_STRTONUM:
        return f_strtonum(a, n);
    case F_SYSTIME:
        return awk_value_number((double)time(NULL));
    case F_STRFTIME:
        return f_strftime(a, n);
    case F_MKTIME:
        return f_mktime(a, n);
    case F_ASORT:
    case F_ASORTI:
        return f_asort(a, n);
    }
    return awk_value_number(0);
}
