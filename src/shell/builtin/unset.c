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
        if (vars_unset(sh->vars, name, &err))
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
        if (is_function)
            functions_unset(&sh->functions, name);
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
