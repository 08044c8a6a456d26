#include "shell/builtin/attributes.h"

#include "shell/builtin/shquote.h"
#include "shell/parse.h"

static const struct {
    char letter;
    unsigned flag;
} letters[] = {
    { 'a', VAR_INDEXED },
    { 'A', VAR_ASSOC },
    { 'i', VAR_INTEGER },
    { 'n', VAR_NAMEREF },
    { 'r', VAR_READONLY },
    { 'x', VAR_EXPORT },
    { 'l', VAR_LOWER },
    { 'u', VAR_UPPER },
    { 'c', VAR_CAPITAL },
    { 't', VAR_TRACED },
};

static void add_flags(int flags, struct buf *out)
{
    size_t start = out->len;
    for (size_t i = 0; i < ARRAY_LEN(letters); i++)
        if ((unsigned)flags & letters[i].flag)
            buf_addc(out, letters[i].letter);
    if (out->len == start)
        buf_addc(out, '-');
}

/* A key of an associative array: quoted where it could not stand alone. */
static struct str quote_key(struct str key, struct arena *arena)
{
    struct str plain = quote_value(key, arena);
    return key.len && str_eq(plain, key) && !memchr(key.data, '@', key.len)
                   ? key
                   : quote_double(key, arena);
}

static void add_array(struct cmd *c, struct str name, bool assoc, struct buf *out)
{
    struct str *keys, *values;
    size_t count;
    vars_elements(c->shell->vars, name, c->arena, &keys, &values, &count);
    buf_addc(out, '(');
    for (size_t i = 0; i < count && cmd_tick(c); i++) {
        struct str key = assoc ? quote_key(keys[i], c->arena) : keys[i];
        buf_addc(out, '[');
        buf_add(out, key);
        buf_add(out, STR("]="));
        buf_add(out, quote_double(values[i], c->arena));
        if (assoc || i + 1 < count)
            buf_addc(out, ' ');
    }
    buf_addc(out, ')');
}

static bool put(struct cmd *c, struct buf *out)
{
    buf_addc(out, '\n');
    return cmd_put(c, buf_str(out));
}

bool attributes_print(struct cmd *c, struct str name)
{
    struct shell *sh = c->shell;
    struct str value;
    auto_buf out = BUF(c->budget->max_memory);
    int flags = vars_flags(sh->vars, name);
    buf_add(&out, STR("declare -"));
    add_flags(flags, &out);
    buf_addc(&out, ' ');
    buf_add(&out, name);
    if (flags & VAR_NAMEREF) {
        buf_add(&out, STR("="));
        buf_add(&out, quote_double(vars_target(sh->vars, name, c->arena), c->arena));
    } else if (flags & VAR_DECLARED) {
        return put(c, &out);
    } else if (flags & (VAR_INDEXED | VAR_ASSOC)) {
        buf_addc(&out, '=');
        add_array(c, name, flags & VAR_ASSOC, &out);
    } else if (vars_get(sh->vars, name, &value)) {
        buf_addc(&out, '=');
        buf_add(&out, quote_double(value, c->arena));
    }
    return put(c, &out);
}

/* name=value, as `set` and `declare` without operands show it. */
static bool attributes_print_plain(struct cmd *c, struct str name)
{
    struct shell *sh = c->shell;
    struct str value;
    auto_buf out = BUF(c->budget->max_memory);
    int flags = vars_flags(sh->vars, name);
    if (flags < 0 || (flags & VAR_DECLARED))
        return true;
    buf_add(&out, name);
    buf_addc(&out, '=');
    if (flags & (VAR_INDEXED | VAR_ASSOC))
        add_array(c, name, flags & VAR_ASSOC, &out);
    else if (vars_get(sh->vars, name, &value))
        buf_add(&out, quote_value(value, c->arena));
    return put(c, &out);
}

bool attributes_print_all(struct cmd *c, unsigned flags, bool plain)
{
    struct str *names;
    size_t count;
    vars_names(c->shell->vars, STR(""), c->arena, &names, &count);
    for (size_t i = 0; i < count; i++) {
        int has = vars_flags(c->shell->vars, names[i]);
        if (has < 0 || ((unsigned)has & flags) != flags)
            continue;
        if (plain ? !attributes_print_plain(c, names[i]) : !attributes_print(c, names[i]))
            return false;
    }
    return true;
}

bool attributes_print_function(struct cmd *c, const struct function *fn)
{
    auto_buf out = BUF(c->budget->max_memory);
    buf_add(&out, fn->name);
    buf_add(&out, STR(" () \n"));
    ast_print(fn->body, &out);
    return put(c, &out);
}
