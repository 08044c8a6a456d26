#include "shell/assign.h"

#include "shell/expand.h"

static bool report(struct shell *sh, const char *who, const char *message)
{
    if (who)
        shell_err(sh, "%s: %s", who, message);
    else
        shell_err(sh, "%s", message);
    return false;
}

bool assign_split(
        struct str target, struct str *name, struct str *subscript, bool *indexed)
{
    *subscript = target;
    *name = str_cut(subscript, '[');
    *indexed = name->len < target.len;
    if (!var_name_is_valid(*name))
        return false;
    if (!*indexed)
        return true;
    if (!subscript->len || subscript->data[subscript->len - 1] != ']')
        return false;
    subscript->len--;
    return subscript->len > 0;
}

/* Attribute -i: the value is an expression; appending adds. */
static bool evaluate(
        struct shell *sh, bool append, struct str old, struct str value, struct str *out)
{
    int64_t number, before = 0;
    if (!expand_arith_text(sh, value, &number))
        return false;
    if (append && old.len && !expand_arith_text(sh, old, &before))
        return false;
    number = (int64_t)((uint64_t)number + (uint64_t)before);
    *out = str_of(arena_printf(sh->arena, "%lld", (long long)number));
    return true;
}

struct place {
    struct str name, key;
    bool indexed, assoc;
    int64_t index;
};

static bool find_place(
        struct shell *sh, const char *who, struct str target, struct place *p)
{
    if (!assign_split(target, &p->name, &p->key, &p->indexed))
        return report(sh, who,
                arena_printf(
                        sh->arena, "`%.*s': not a valid identifier", STR_ARG(target)));
    int flags = vars_flags(sh->vars, p->name);
    p->assoc = flags >= 0 && (flags & VAR_ASSOC);
    if (p->indexed && !p->assoc && !expand_arith_text(sh, p->key, &p->index))
        return false;
    return true;
}

static bool old_value(struct shell *sh, const struct place *p, struct str *out)
{
    if (!p->indexed)
        return vars_get(sh->vars, p->name, out);
    return p->assoc ? vars_get_key(sh->vars, p->name, p->key, out)
                    : vars_get_index(sh->vars, p->name, p->index, out);
}

static bool store(
        struct shell *sh, const struct place *p, struct str value, struct error *err)
{
    if (!p->indexed)
        return vars_set(sh->vars, p->name, value, err);
    return p->assoc ? vars_set_key(sh->vars, p->name, p->key, value, err)
                    : vars_set_index(sh->vars, p->name, p->index, value, err);
}

static bool assign(struct shell *sh, const char *who, struct str target, bool append,
        struct str value)
{
    struct place p = { 0 };
    struct error err;
    struct str old = { "", 0 };
    if (!find_place(sh, who, target, &p))
        return false;
    if (!p.indexed && shell_special_assign(sh, p.name, value))
        return true;
    if (append && !old_value(sh, &p, &old))
        old = STR("");
    int flags = vars_flags(sh->vars, p.name);
    if (flags >= 0 && (flags & VAR_INTEGER)) {
        if (!evaluate(sh, append, old, value, &value))
            return false;
    } else if (append) {
        value = str_of(arena_printf(sh->arena, "%.*s%.*s", STR_ARG(old), STR_ARG(value)));
    }
    if (!store(sh, &p, value, &err))
        return report(sh, who, err.message);
    if ((sh->set & SET_ALLEXPORT) &&
            !vars_set_flags(sh->vars, p.name, VAR_EXPORT, 0, &err))
        return report(sh, who, err.message);
    return true;
}

bool assign_text(struct shell *sh, const char *who, struct str target, struct str value)
{
    return assign(sh, who, target, false, value);
}

bool assign_append(struct shell *sh, const char *who, struct str target, struct str value)
{
    return assign(sh, who, target, true, value);
}
