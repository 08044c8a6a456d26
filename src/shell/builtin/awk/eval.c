/* Variables, regular expressions, expressions. */
#include "shell/builtin/awk/awk.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

bool awk_fatal(struct awk *a, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (!a->failed)
        cmd_err(a->cmd, "line %u: fatal: %s", a->line, text);
    a->failed = true;
    a->status = 2;
    return false;
}

bool awk_stopped(const struct awk *a)
{
    return a->failed || budget_stopped(a->cmd->budget);
}

const char *awk_number_format(struct awk *a, enum awk_special which)
{
    struct str s = awk_special_text(a, which);
    return s.len ? s.data : "%.6g";
}

struct awk_string *awk_string_of(struct awk *a, const struct awk_value *v)
{
    return awk_value_to_string(
            v, v->kind == AWK_NUMBER ? awk_number_format(a, V_CONVFMT) : "");
}

void awk_string_free(struct awk_string *s)
{
    struct awk_value v = awk_value_take(s);
    awk_value_free(&v);
}

struct awk_string *awk_text(struct awk *a, struct awk_node *n)
{
    struct awk_value v = awk_eval(a, n);
    struct awk_string *s = awk_string_of(a, &v);
    awk_value_free(&v);
    return s;
}

double awk_num(struct awk *a, struct awk_node *n)
{
    struct awk_value v = awk_eval(a, n);
    double number = awk_value_to_number(&v);
    awk_value_free(&v);
    return number;
}

static bool ignores_case(struct awk *a)
{
    struct awk_cell *c = &a->globals[V_IGNORECASE];
    return c->kind == CELL_VALUE && awk_value_is_true(&c->value);
}

/* awk has escapes in regular expressions that the engine does not know. */
static void engine_pattern(struct str source, struct buf *out)
{
    static const char letters[] = "n\nt\tr\rf\fv\v//\"\"&&";
    for (size_t i = 0; i < source.len; i++) {
        if (source.data[i] != '\\' || i + 1 == source.len) {
            buf_addc(out, source.data[i]);
            continue;
        }
        char next = source.data[++i], plain = 0;
        for (const char *p = letters; *p && !plain; p += 2)
            if (*p == next)
                plain = p[1];
        if (!plain)
            buf_addc(out, '\\');
        buf_addc(out, plain ? plain : next == 'y' ? 'b' : next);
    }
}

static struct regex *compile(struct awk *a, struct str source)
{
    auto_buf pattern = BUF(AWK_MAX_PROGRAM);
    engine_pattern(source, &pattern);
    struct regex *re = NULL;
    struct error err;
    if (!regex_compile(buf_str(&pattern), REGEX_EXTENDED,
                ignores_case(a) ? REGEX_FOLD : 0, &re, &err))
        awk_fatal(a, "invalid regexp: %s: /%.*s/", err.message, (int)source.len,
                source.data);
    return re;
}

struct regex *awk_regex_text(struct awk *a, struct str source)
{
    uint64_t hash = source.len;
    for (size_t i = 0; i < source.len; i++)
        hash = hash * 31 + (unsigned char)source.data[i];
    size_t slot = hash % AWK_REGEX_CACHE;
    bool fold = ignores_case(a);
    if (a->cache[slot].source && a->cache[slot].fold == fold &&
            str_eq(awk_string_str(a->cache[slot].source), source))
        return a->cache[slot].regex;
    struct regex *re = compile(a, source);
    if (!re)
        return NULL;
    if (a->cache[slot].source) {
        awk_string_free(a->cache[slot].source);
        regex_destroy(a->cache[slot].regex);
    }
    a->cache[slot].source = awk_string_new(source);
    a->cache[slot].regex = re;
    a->cache[slot].fold = fold;
    return re;
}

struct regex *awk_regex(struct awk *a, struct awk_node *n)
{
    if (n->type == N_GROUP && n->count == 1)
        return awk_regex(a, n->a);
    if (n->type == N_REGEX && !ignores_case(a)) {
        if (!n->regex && (n->regex = compile(a, awk_string_str(n->text.string)))) {
            n->next_regex = a->regexes;
            a->regexes = n;
        }
        return n->regex;
    }
    if (n->type == N_REGEX)
        return awk_regex_text(a, awk_string_str(n->text.string));
    struct awk_string *s = awk_text(a, n);
    struct regex *re = awk_regex_text(a, awk_string_str(s));
    awk_string_free(s);
    return re;
}

bool awk_search(struct awk *a, struct regex *re, struct str text, size_t from,
        struct regex_match *m)
{
    if (!re)
        return false;
    enum regex_result r = regex_search(re, text, from, false, m);
    if (r == REGEX_LIMIT)
        awk_fatal(a, "a regular expression needs too many steps on this text");
    return r == REGEX_YES;
}

static struct awk_cell *cell_of(struct awk *a, struct awk_node *n)
{
    struct awk_cell *c = n->type == N_LOCAL ? &a->frame[n->slot] : &a->globals[n->slot];
    return c;
}

static struct awk_cell *follow(struct awk_cell *c)
{
    while (c->kind == CELL_REF)
        c = c->ref;
    return c;
}

struct awk_array *awk_array_of(struct awk *a, struct awk_node *n)
{
    if (n->type == N_GROUP && n->count == 1)
        return awk_array_of(a, n->a);
    if (n->type != N_GLOBAL && n->type != N_LOCAL) {
        awk_fatal(a, "an array is needed here");
        return NULL;
    }
    struct awk_cell *c = follow(cell_of(a, n));
    if (c->kind == CELL_UNTYPED)
        *c = (struct awk_cell){ .kind = CELL_ARRAY, .array = awk_array_create() };
    if (c->kind == CELL_ARRAY)
        return c->array;
    awk_fatal(a, "attempt to use a scalar as an array");
    return NULL;
}

static struct awk_value read_variable(struct awk *a, struct awk_node *n)
{
    if (n->type == N_GLOBAL && n->slot == V_NF)
        awk_need_fields(a);
    struct awk_cell *c = follow(cell_of(a, n));
    if (c->kind == CELL_VALUE)
        return awk_value_copy(&c->value);
    if (c->kind == CELL_ARRAY)
        awk_fatal(a, "attempt to use an array in a scalar context");
    return (struct awk_value){ .kind = AWK_UNSET };
}

/* "a", SUBSEP, "b": the key of a[...], one more reference. */
struct awk_string *awk_subscript(struct awk *a, struct awk_node **list, size_t count)
{
    if (count == 1)
        return awk_text(a, list[0]);
    auto_buf key = BUF(a->cmd->budget->max_memory);
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_add(&key, awk_special_text(a, V_SUBSEP));
        struct awk_string *s = awk_text(a, list[i]);
        buf_add(&key, awk_string_str(s));
        awk_string_free(s);
    }
    return awk_string_new(buf_str(&key));
}

static struct awk_cell *element(struct awk *a, struct awk_node *n)
{
    struct awk_array *array = awk_array_of(a, n->a);
    if (!array)
        return NULL;
    struct awk_string *key = awk_subscript(a, n->list, n->count);
    struct awk_cell *c = awk_array_get(array, awk_string_str(key));
    awk_string_free(key);
    if (awk_array_bytes(array) > a->cmd->budget->max_memory)
        budget_stop(a->cmd->budget, BUDGET_MEMORY);
    if (c->kind == CELL_UNTYPED)
        *c = (struct awk_cell){ .kind = CELL_VALUE };
    return c;
}

static size_t field_number(struct awk *a, struct awk_node *n)
{
    double i = awk_num(a, n->a);
    if (i < 0 || i > 1e7) {
        awk_fatal(a, "attempt to access field %.0f", i);
        return 0;
    }
    return (size_t)i;
}

static void set_cell(struct awk_cell *c, struct awk_value value)
{
    if (c->kind == CELL_VALUE) {
        struct awk_value old = c->value;
        c->value = value;
        awk_value_free(&old);
    } else {
        *c = (struct awk_cell){ .kind = CELL_VALUE, .value = value };
    }
}

static void assign_variable(struct awk *a, struct awk_node *n, struct awk_value value)
{
    struct awk_cell *c = cell_of(a, n);
    if (follow(c)->kind == CELL_ARRAY) {
        awk_fatal(a, "attempt to use an array in a scalar context");
        awk_value_free(&value);
        return;
    }
    if (n->type == N_GLOBAL && n->slot == V_NF) {
        double count = awk_value_to_number(&value);
        awk_value_free(&value);
        awk_set_nf(a, count > 0 ? (size_t)count : 0);
        return;
    }
    /* Fields that were not split yet are split by the separator that held then. */
    if (n->type == N_GLOBAL && n->slot == V_FS)
        awk_need_fields(a);
    set_cell(c, value);
}

void awk_assign(struct awk *a, struct awk_node *n, struct awk_value value)
{
    struct awk_cell *c;
    switch ((int)n->type) {
    case N_GLOBAL:
    case N_LOCAL:
        assign_variable(a, n, value);
        return;
    case N_FIELD:
        awk_set_field(a, field_number(a, n), value);
        return;
    case N_INDEX:
        c = element(a, n);
        if (c) {
            set_cell(c, value);
            return;
        }
        break;
    case N_GROUP:
        if (n->count == 1) {
            awk_assign(a, n->a, value);
            return;
        }
        awk_fatal(a, "cannot assign to this");
        break;
    default:
        awk_fatal(a, "cannot assign to this");
        break;
    }
    awk_value_free(&value);
}

static double arithmetic(struct awk *a, int op, double x, double y)
{
    switch (op) {
    case '+':
        return x + y;
    case '-':
        return x - y;
    case '*':
        return x * y;
    case '/':
        if (y == 0)
            awk_fatal(a, "division by zero attempted");
        return y == 0 ? 0 : x / y;
    case '%':
        if (y == 0)
            awk_fatal(a, "division by zero attempted in `%%'");
        return y == 0 ? 0 : fmod(x, y);
    default:
        return pow(x, y);
    }
}

static struct awk_value eval_assign(struct awk *a, struct awk_node *n)
{
    struct awk_value v = awk_eval(a, n->b);
    if (n->op) {
        double y = awk_value_to_number(&v);
        awk_value_free(&v);
        v = awk_value_number(arithmetic(a, n->op, awk_num(a, n->a), y));
    }
    struct awk_value result = awk_value_copy(&v);
    awk_assign(a, n->a, v);
    return result;
}

static struct awk_value eval_step(struct awk *a, struct awk_node *n)
{
    double old = awk_num(a, n->a);
    awk_assign(a, n->a, awk_value_number(old + n->op));
    return awk_value_number(n->type == N_PRE ? old + n->op : old);
}

/* A chain of concatenations becomes one string, not one for each joint. */
static void concat_into(struct awk *a, struct awk_node *n, struct buf *out)
{
    if (n->type == N_CONCAT) {
        if (!cmd_may_recurse(a->cmd))
            return;
        concat_into(a, n->a, out);
        n = n->b;
    }
    struct awk_string *s = awk_text(a, n);
    buf_add(out, awk_string_str(s));
    awk_string_free(s);
}

static struct awk_value eval_concat(struct awk *a, struct awk_node *n)
{
    auto_buf out = BUF(a->cmd->budget->max_memory);
    concat_into(a, n, &out);
    if (out.full)
        budget_stop(a->cmd->budget, BUDGET_MEMORY);
    return awk_value_text(buf_str(&out));
}

static struct awk_value eval_compare(struct awk *a, struct awk_node *n)
{
    struct awk_value x = awk_eval(a, n->a), y = awk_eval(a, n->b);
    int order = awk_value_compare(&x, &y, awk_number_format(a, V_CONVFMT));
    bool nan = (x.kind == AWK_NUMBER && isnan(x.number)) ||
               (y.kind == AWK_NUMBER && isnan(y.number));
    awk_value_free(&x);
    awk_value_free(&y);
    bool result = false;
    switch ((enum awk_compare)n->op) {
    case LESS:
        result = order < 0;
        break;
    case LESS_EQUAL:
        result = order <= 0;
        break;
    case EQUAL:
        result = order == 0 && !nan;
        break;
    case NOT_EQUAL:
        result = order != 0 || nan;
        break;
    case GREATER:
        result = order > 0;
        break;
    case GREATER_EQUAL:
        result = order >= 0;
        break;
    }
    return awk_value_number(result);
}

static bool match_node(struct awk *a, struct awk_node *text, struct awk_node *pattern)
{
    struct awk_string *s = awk_text(a, text);
    bool found = awk_search(a, awk_regex(a, pattern), awk_string_str(s), 0, NULL);
    awk_string_free(s);
    return found;
}

static bool eval_in(struct awk *a, struct awk_node *n)
{
    struct awk_array *array = awk_array_of(a, n->a);
    struct awk_string *key = awk_subscript(a, n->list, n->count);
    bool found = array && awk_array_find(array, awk_string_str(key));
    awk_string_free(key);
    return found;
}

bool awk_is_true(struct awk *a, struct awk_node *n)
{
    struct awk_value v = awk_eval(a, n);
    bool yes = awk_value_is_true(&v);
    awk_value_free(&v);
    return yes;
}

static void add_one(struct awk *a, enum awk_special v)
{
    struct awk_node target = { .type = N_GLOBAL, .slot = v };
    awk_assign(a, &target, awk_value_number(awk_num(a, &target) + 1));
}

static struct awk_value eval_getline(struct awk *a, struct awk_node *n)
{
    if (!n->op) {
        if (!n->a)
            return awk_value_number(awk_next_record(a));
        auto_buf kept = BUF(a->cmd->budget->max_memory);
        buf_add(&kept, awk_get_record(a));
        bool got = awk_next_record(a);
        struct awk_value line = awk_value_input(got ? buf_str(&a->record) : STR(""));
        awk_set_record(a, buf_str(&kept));
        if (got)
            awk_assign(a, n->a, line);
        else
            awk_value_free(&line);
        return awk_value_number(got);
    }
    struct awk_string *name = awk_text(a, n->b);
    struct awk_source *s = awk_source_open(a, n->op, awk_string_str(name));
    awk_string_free(name);
    if (!s)
        return awk_value_number(-1);
    auto_buf line = BUF(a->cmd->budget->max_memory);
    if (!awk_read_record(a, s->stream, &line))
        return awk_value_number(stream_error(s->stream) ? -1 : 0);
    if (n->a)
        awk_assign(a, n->a, awk_value_input(buf_str(&line)));
    else
        awk_set_record(a, buf_str(&line));
    if (n->op == '|') {
        add_one(a, V_NR);
    }
    return awk_value_number(1);
}

/* What a parameter becomes: an array by reference, an untyped name by reference too,
 * since the function may make an array of it, anything else by value. */
static struct awk_cell bind_argument(struct awk *a, struct awk_node *n)
{
    if (n->type == N_GLOBAL || n->type == N_LOCAL) {
        struct awk_cell *c = follow(cell_of(a, n));
        if (c->kind == CELL_ARRAY)
            return (struct awk_cell){
                .kind = CELL_ARRAY, .borrowed = true, .array = c->array
            };
        if (c->kind == CELL_UNTYPED && !(n->type == N_GLOBAL && n->slot == V_NF))
            return (struct awk_cell){ .kind = CELL_REF, .ref = c };
    }
    return (struct awk_cell){ .kind = CELL_VALUE, .value = awk_eval(a, n) };
}

static struct awk_value eval_call(struct awk *a, struct awk_node *n)
{
    struct awk_function *f = &a->program->functions[n->slot];
    if (n->count > f->parameters) {
        awk_fatal(a, "function `%.*s' called with more arguments than declared",
                STR_ARG(f->name));
        return awk_value_number(0);
    }
    if (a->depth >= AWK_MAX_DEPTH) {
        budget_stop(a->cmd->budget, BUDGET_DEPTH);
        return awk_value_number(0);
    }
    struct awk_cell *frame = xcalloc(f->parameters + 1, sizeof(*frame));
    for (size_t i = 0; i < n->count && !awk_stopped(a); i++)
        frame[i] = bind_argument(a, n->list[i]);
    struct awk_cell *caller = a->frame;
    a->frame = frame;
    a->depth++;
    a->result = (struct awk_value){ .kind = AWK_UNSET };
    if (awk_exec(a, f->body) == AWK_RETURN)
        a->flow = AWK_GO_ON;
    a->depth--;
    a->frame = caller;
    for (size_t i = 0; i < f->parameters; i++)
        awk_cell_clear(&frame[i]);
    free(frame);
    struct awk_value result = a->result;
    a->result = (struct awk_value){ .kind = AWK_UNSET };
    return result;
}

static struct awk_value eval_index(struct awk *a, struct awk_node *n)
{
    struct awk_cell *c = element(a, n);
    if (!c || c->kind != CELL_VALUE)
        return (struct awk_value){ .kind = AWK_UNSET };
    return awk_value_copy(&c->value);
}

static struct awk_value eval_group(struct awk *a, struct awk_node *n)
{
    if (n->count == 1)
        return awk_eval(a, n->a);
    awk_fatal(a, "a list in parentheses is no value");
    return awk_value_number(0);
}

struct awk_value awk_eval(struct awk *a, struct awk_node *n)
{
    if (!cmd_may_recurse(a->cmd))
        return awk_value_number(0);
    switch ((int)n->type) {
    case N_NUMBER:
        return awk_value_number(n->number);
    case N_STRING:
        return awk_value_copy(&n->text);
    case N_REGEX:
        return awk_value_number(
                awk_search(a, awk_regex(a, n), awk_get_record(a), 0, NULL));
    case N_GLOBAL:
    case N_LOCAL:
        return read_variable(a, n);
    case N_FIELD:
        return awk_get_field(a, field_number(a, n));
    case N_INDEX:
        return eval_index(a, n);
    case N_ASSIGN:
        return eval_assign(a, n);
    case N_COND:
        return awk_eval(a, awk_is_true(a, n->a) ? n->b : n->c);
    case N_AND:
        return awk_value_number(awk_is_true(a, n->a) && awk_is_true(a, n->b));
    case N_OR:
        return awk_value_number(awk_is_true(a, n->a) || awk_is_true(a, n->b));
    case N_NOT:
        return awk_value_number(!awk_is_true(a, n->a));
    case N_MINUS:
        return awk_value_number(-awk_num(a, n->a));
    case N_PLUS:
        return awk_value_number(awk_num(a, n->a));
    case N_BINARY: {
        double x = awk_num(a, n->a);
        return awk_value_number(arithmetic(a, n->op, x, awk_num(a, n->b)));
    }
    case N_CONCAT:
        return eval_concat(a, n);
    case N_COMPARE:
        return eval_compare(a, n);
    case N_MATCH:
        return awk_value_number(match_node(a, n->a, n->b) == (n->op == '~'));
    case N_IN:
        return awk_value_number(eval_in(a, n));
    case N_PRE:
    case N_POST:
        return eval_step(a, n);
    case N_CALL:
        return eval_call(a, n);
    case N_BUILTIN:
        return awk_call_builtin(a, n);
    case N_GETLINE:
        return eval_getline(a, n);
    case N_GROUP:
        return eval_group(a, n);
    case N_EXPRESSION:
    case N_PRINT:
    case N_PRINTF:
    case N_IF:
    case N_WHILE:
    case N_DO:
    case N_FOR:
    case N_FOR_IN:
    case N_BLOCK:
    case N_NEXT:
    case N_NEXTFILE:
    case N_EXIT:
    case N_RETURN:
    case N_BREAK:
    case N_CONTINUE:
    case N_DELETE:
    case N_SWITCH:
    case N_CASE:
        break;
    }
    return awk_value_number(0);
}
