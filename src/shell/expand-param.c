/*
 * Parameters: finding what they hold, and the operators that look at whether they hold
 * anything (- = ? +).  Those that change a value are in expand-op.c.
 */
#include "shell/expansion.h"

#include "base/utf8.h"

static bool is_digits(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.data[i] < '0' || s.data[i] > '9')
            return false;
    return s.len;
}

/* The attributes of what a name leads to; -1: there is none. */
static int target_flags(struct expansion *e, struct str name)
{
    int flags = vars_flags(e->sh->vars, name);
    if (flags < 0 || !(flags & VAR_NAMEREF))
        return flags;
    return vars_flags(e->sh->vars, vars_target(e->sh->vars, name, e->arena));
}

static void read_positional(struct expansion *e, struct operand *o)
{
    int64_t n = 0;
    if (str_int(o->name, &n) && n <= e->sh->arg_count) {
        o->text = str_of(e->sh->args[n]);
        o->is_set = true;
    }
}

static bool read_all_positional(struct expansion *e, struct operand *o)
{
    struct shell *sh = e->sh;
    o->is_list = o->is_positional = true;
    o->count = (size_t)sh->arg_count;
    if (!expand_room(sh, e->arena, o->count * sizeof(*o->items)))
        return false;
    o->items = arena_alloc(e->arena, o->count * sizeof(*o->items) + 1);
    for (size_t i = 0; i < o->count; i++)
        o->items[i] = str_of(sh->args[i + 1]);
    o->is_set = o->count;
    return true;
}

static bool read_array(struct expansion *e, struct operand *o)
{
    size_t count = vars_count(e->sh->vars, o->name);
    o->is_list = true;
    if (!expand_room(e->sh, e->arena, count * sizeof(*o->items)) ||
            !budget_spend(e->sh->budget, 1 + count / 8))
        return false;
    vars_elements(e->sh->vars, o->name, e->arena, NULL, &o->items, &o->count);
    if (!o->count)
        shell_special_array(e->sh, o->name, e->arena, &o->items, &o->count);
    if (!o->count && shell_special(e->sh, o->name, e->arena, &o->text)) {
        o->items = &o->text;
        o->count = 1;
    }
    o->is_set = o->count;
    return true;
}

static void read_special_element(struct expansion *e, struct operand *o)
{
    struct str *items;
    size_t count;
    if (!shell_special_array(e->sh, o->name, e->arena, &items, &count))
        return;
    int64_t index = o->index < 0 ? o->index + (int64_t)count : o->index;
    if (index >= 0 && index < (int64_t)count) {
        o->text = items[index];
        o->is_set = true;
    }
}

/* The element whose key or index is in `o` already. */
static void read_element(struct expansion *e, struct operand *o)
{
    struct vars *vars = e->sh->vars;
    if (o->is_assoc)
        o->is_set = vars_get_key(vars, o->name, o->key, &o->text);
    else if (o->index < 0 && o->index + vars_end(vars, o->name) < 0)
        shell_err(e->sh, "%.*s: bad array subscript", STR_ARG(o->name));
    else
        o->is_set = vars_get_index(vars, o->name, o->index, &o->text);
    if (!o->is_set && !o->is_assoc)
        read_special_element(e, o);
}

static bool read_scalar(struct expansion *e, struct operand *o)
{
    o->is_set = vars_get(e->sh->vars, o->name, &o->text) ||
                shell_special(e->sh, o->name, e->arena, &o->text);
    return true;
}

/* A subscript that was written in the script. */
static bool set_subscript(struct expansion *e, const struct param *p, struct operand *o)
{
    int flags = target_flags(e, o->name);
    o->has_index = true;
    o->is_assoc = flags >= 0 && flags & VAR_ASSOC;
    if (o->is_assoc)
        return expand_string(e->sh, p->index, e->arena, &o->key);
    return expand_arith(e->sh, p->index_arith, &o->index) || expand_discard(e->sh);
}

/* By sign, number or name. */
static bool read_named(struct expansion *e, struct operand *o)
{
    char first = o->name.len ? o->name.data[0] : 0;
    if (o->name.len == 1 && (first == '@' || first == '*')) {
        o->star = first == '*';
        return read_all_positional(e, o);
    }
    if (first >= '0' && first <= '9') {
        read_positional(e, o);
        return true;
    }
    return read_scalar(e, o);
}

static bool read_operand(struct expansion *e, const struct param *p, struct operand *o)
{
    *o = (struct operand){ .name = p->name };
    if (p->subscript == SUB_NONE)
        return read_named(e, o);
    if (p->subscript == SUB_INDEX) {
        if (!set_subscript(e, p, o))
            return false;
        read_element(e, o);
        return true;
    }
    o->star = p->subscript == SUB_STAR;
    return read_array(e, o);
}

/* A subscript that came out of a variable. */
static bool read_subscript_text(struct expansion *e, struct operand *o, struct str text)
{
    if (str_is(text, "@") || str_is(text, "*")) {
        o->star = text.data[0] == '*';
        return read_array(e, o);
    }
    int flags = target_flags(e, o->name);
    o->has_index = true;
    o->is_assoc = flags >= 0 && flags & VAR_ASSOC;
    o->key = text;
    if (!o->is_assoc && !expand_arith_text(e->sh, text, &o->index))
        return expand_discard(e->sh);
    read_element(e, o);
    return true;
}

static bool is_sign(struct str name)
{
    return name.len == 1 && strchr("@*#?-$!", name.data[0]);
}

/* Read what `name` names: "x", "a[1]", "2", "@". */
static bool read_by_text(struct expansion *e, struct str name, struct operand *o)
{
    struct str base = name, subscript = STR("");
    const char *open = name.len ? memchr(name.data, '[', name.len) : NULL;
    if (open && name.data[name.len - 1] == ']') {
        base.len = (size_t)(open - name.data);
        subscript = str_sub(name, base.len + 1, name.len - base.len - 2);
    }
    if (!var_name_is_valid(base) && (open || (!is_digits(name) && !is_sign(name))))
        return expand_fail(e->sh, "%.*s: invalid variable name", STR_ARG(name));
    *o = (struct operand){ .name = base };
    return open ? read_subscript_text(e, o, subscript) : read_named(e, o);
}

/* ${!x}: the parameter that $x names; of a nameref, its target's name. */
static bool follow(struct expansion *e, const struct param *p, struct operand *o)
{
    int flags = vars_flags(e->sh->vars, p->name);
    if (p->subscript == SUB_NONE && flags >= 0 && flags & VAR_NAMEREF) {
        o->text = vars_target(e->sh->vars, p->name, e->arena);
        o->is_set = true;
        return true;
    }
    if (!o->is_set)
        return expand_fail(e->sh, "%.*s: invalid indirect expansion", STR_ARG(p->name));
    struct str name = o->is_list ? o->items[0] : o->text;
    return read_by_text(e, arena_str(e->arena, name), o);
}

static struct str described(struct expansion *e, const struct operand *o)
{
    const char *dollar = is_digits(o->name) ? "$" : "";
    if (!o->has_index)
        return str_of(arena_printf(e->arena, "%s%.*s", dollar, STR_ARG(o->name)));
    if (o->is_assoc)
        return str_of(
                arena_printf(e->arena, "%.*s[%.*s]", STR_ARG(o->name), STR_ARG(o->key)));
    return str_of(
            arena_printf(e->arena, "%.*s[%lld]", STR_ARG(o->name), (long long)o->index));
}

static bool check_set(struct expansion *e, const struct operand *o)
{
    if (LIKELY(o->is_set || o->is_list || !(e->sh->set & SET_NOUNSET)))
        return true;
    struct str name = described(e, o);
    return expand_exit(e->sh, "%.*s: unbound variable", STR_ARG(name));
}

/* Does `-` or `:-` take its word? */
static bool is_missing(const struct param *p, const struct operand *o)
{
    if (!o->is_set || !p->colon)
        return !o->is_set;
    return o->is_list ? o->count == 1 && !o->items[0].len : !o->text.len;
}

static bool put_operand(struct expansion *e, const struct operand *o, bool quoted)
{
    return o->is_list ? put_list(e, o, quoted) : put_result(e, o->text, quoted);
}

/* The word behind the operator; `"${x-}"` is an empty field. */
static bool put_arg(struct expansion *e, const struct param *p, bool quoted)
{
    if (!p->arg || !p->arg->count)
        return !quoted || put_quoted(e, STR(""));
    return expand_inner(e, p->arg);
}

static bool assign_default(
        struct expansion *e, const struct param *p, struct operand *o, bool quoted)
{
    struct str value = STR("");
    if (o->is_list || !var_name_is_valid(o->name))
        return expand_fail(e->sh, "$%.*s: cannot assign in this way", STR_ARG(o->name));
    if (p->arg && !expand_as(e->sh, p->arg, EXPAND_STRING, e->arena, &value))
        return false;
    if (!expand_set(e->sh, o, value, false, e->arena))
        return expand_discard(e->sh);
    if (!o->has_index)
        vars_get(e->sh->vars, o->name, &value);
    return put_result(e, value, quoted);
}

static bool require(struct expansion *e, const struct param *p, const struct operand *o)
{
    struct str name = described(e, o), message = STR("");
    if (p->arg && !expand_as(e->sh, p->arg, EXPAND_STRING, e->arena, &message))
        return false;
    if (!p->arg || !p->arg->count)
        message = p->colon ? STR("parameter null or not set") : STR("parameter not set");
    return expand_exit(e->sh, "%.*s: %.*s", STR_ARG(name), STR_ARG(message));
}

static bool expand_default(
        struct expansion *e, const struct param *p, struct operand *o, bool quoted)
{
    bool missing = is_missing(p, o);
    if (p->op == PARAM_ALTERNATE) {
        if (!missing)
            return put_arg(e, p, quoted);
        return !quoted || o->is_list || put_quoted(e, STR(""));
    }
    if (!missing)
        return put_operand(e, o, quoted);
    if (p->op == PARAM_ASSIGN)
        return assign_default(e, p, o, quoted);
    return p->op == PARAM_REQUIRE ? require(e, p, o) : put_arg(e, p, quoted);
}

static bool expand_length(struct expansion *e, const struct operand *o, bool quoted)
{
    char text[STR_INT_MAX];
    if (!o->is_set && o->has_index && !o->is_assoc && o->index < 0)
        return expand_discard(e->sh); /* a bad subscript, which was reported */
    size_t length = o->is_list ? o->count : utf8_count(o->text);
    return put_result(e, str_of_int((int64_t)length, text), quoted);
}

/* ${!prefix*} and ${!a[@]}. */
static bool expand_listing(struct expansion *e, const struct param *p, bool quoted)
{
    struct operand o = { .is_list = true, .star = p->star };
    size_t count = vars_count(e->sh->vars, p->name);
    if (!budget_spend(e->sh->budget, 1 + count) ||
            !expand_room(e->sh, e->arena, p->op == PARAM_KEYS ? count * 48 : 0))
        return false;
    if (p->op == PARAM_NAMES)
        vars_names(e->sh->vars, p->name, e->arena, &o.items, &o.count);
    else
        vars_elements(e->sh->vars, p->name, e->arena, &o.items, NULL, &o.count);
    return put_list(e, &o, quoted);
}

/* An operator that changes the value. */
static bool expand_changed(
        struct expansion *e, const struct param *p, struct operand *o, bool quoted)
{
    if (!o->is_list) {
        /* The arguments may assign to the variable that `text` looks into. */
        if (!expand_room(e->sh, e->arena, o->text.len))
            return false;
        o->text = arena_str(e->arena, o->text);
    }
    if (!o->is_set && !o->is_list && p->op != PARAM_TRANSFORM)
        o->text = STR("");
    return operand_apply(e, p, o) && put_operand(e, o, quoted);
}

bool expand_param(struct expansion *e, const struct param *p, bool quoted)
{
    struct operand o;
    if (p->op == PARAM_NAMES || p->op == PARAM_KEYS)
        return expand_listing(e, p, quoted);
    if (!read_operand(e, p, &o) || (p->indirect && !follow(e, p, &o)))
        return false;
    if (!o.is_set)
        o.text = STR("");
    if (p->op >= PARAM_DEFAULT && p->op <= PARAM_ALTERNATE)
        return expand_default(e, p, &o, quoted);
    if (p->op == PARAM_LENGTH && o.has_index)
        return expand_length(e, &o, quoted);
    if (!check_set(e, &o))
        return false;
    if (p->op == PARAM_VALUE)
        return put_operand(e, &o, quoted);
    if (p->op == PARAM_LENGTH)
        return expand_length(e, &o, quoted);
    return expand_changed(e, p, &o, quoted);
}
