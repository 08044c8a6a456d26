#include "shell/assign.h"
#include "shell/builtin/letters.h"
#include "shell/expand.h"
#include "shell/state.h"

static bool unset_element(struct cmd *c, struct str name, struct str key)
{
    struct shell *sh = c->shell;
    struct error err;
    int flags = vars_flags(sh->vars, name);
    bool assoc = flags >= 0 && (flags & VAR_ASSOC);
    if (flags < 0)
        return true;
    if (!assoc && (str_is(key, "@") || str_is(key, "*"))) {
        if (flags & VAR_INDEXED ? vars_clear_array(sh->vars, name, false, &err)
                                : vars_unset(sh->vars, name, &err))
            return true;
        cmd_err(c, "%s", err.message);
        return false;
    }
    if (!assoc) {
        int64_t index;
        if (!expand_arith_text(sh, key, &index))
            return false;
        key = str_of(arena_printf(c->arena, "%lld", (long long)index));
    }
    if (vars_unset_element(sh->vars, name, key, &err))
        return true;
    cmd_err(c, "%s", err.message);
    return false;
}

static bool unset_variable(struct cmd *c, const char *text, bool self)
{
    struct shell *sh = c->shell;
    struct str name, key;
    struct error err;
    bool indexed;
    if (!assign_split(str_of(text), &name, &key, &indexed)) {
        cmd_err(c, "`%s': not a valid identifier", text);
        return false;
    }
    if (indexed)
        return unset_element(c, name, key);
    int flags = vars_flags(sh->vars, name);
    if (flags >= 0 && (flags & VAR_READONLY)) {
        cmd_err(c, "%s: cannot unset: readonly variable", text);
        return false;
    }
    if (self ? vars_unset_self(sh->vars, name, &err) : vars_unset(sh->vars, name, &err))
        return true;
    cmd_err(c, "%s", err.message);
    return false;
}

static bool unset_function(struct cmd *c, struct str name)
{
    struct shell *sh = c->shell;
    const struct function *fn = functions_find(sh->functions, name);
    if (fn && fn->is_readonly) {
        cmd_err(c, "%.*s: cannot unset: readonly function", STR_ARG(name));
        return false;
    }
    functions_unset(&sh->functions, name);
    return true;
}

/* What cannot be a variable may be a function that is not there: no mistake. */
static bool is_no_variable(struct str text)
{
    struct str name, key;
    bool indexed;
    return !assign_split(text, &name, &key, &indexed) &&
           !memchr(text.data, '[', text.len);
}

static int cmd_unset(struct cmd *c)
{
    struct shell *sh = c->shell;
    bool functions = false, variables = false, self = false;
    struct letters l = letters_of(c, "fvn", "unset [-f] [-v] [-n] [name ...]");
    for (int k; (k = letters_next(&l)) != CMD_END;) {
        if (k == CMD_BAD)
            return 2;
        functions |= k == 'f';
        variables |= k == 'v';
        self |= k == 'n';
    }
    int status = 0;
    for (int i = l.index; i < c->argc; i++) {
        struct str name = str_of(c->argv[i]);
        bool is_function = functions || (!variables && vars_flags(sh->vars, name) < 0 &&
                                                functions_find(sh->functions, name));
        if (is_function && !unset_function(c, name))
            status = 1;
        else if (is_function || (!variables && !self && is_no_variable(name)))
            continue;
        else if (!unset_variable(c, c->argv[i], self))
            status = 1;
    }
    return status;
}

const struct command command_unset = { .name = "unset",
    .run = cmd_unset,
    .usage = "[-f] [-v] [-n] NAME...",
    .summary = "Forget variables or functions.",
    .flags = CMD_BUILTIN | CMD_SPECIAL | CMD_SHELL };
