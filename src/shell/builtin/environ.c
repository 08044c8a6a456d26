#include "shell/builtin/environ.h"

#include "shell/state.h"

struct environ_list environ_list(struct shell *sh, struct arena *arena)
{
    struct environ_list list = { 0 };
    struct str *names;
    size_t count;
    vars_names(sh->vars, STR(""), arena, &names, &count);
    for (size_t i = 0; i < count; i++) {
        int flags = vars_flags(sh->vars, names[i]);
        bool is_array = flags & (VAR_INDEXED | VAR_ASSOC); /* has no place there */
        if (flags >= 0 && (flags & VAR_EXPORT) && !is_array)
            names[list.count++] = names[i];
    }
    list.names = names;
    return list;
}

bool environ_print(struct cmd *c, struct shell *sh, char end)
{
    struct environ_list list = environ_list(sh, c->arena);
    for (size_t i = 0; i < list.count; i++) {
        struct str value;
        if (!vars_get(sh->vars, list.names[i], &value))
            continue;
        if (!cmd_put(c, list.names[i]) || !cmd_putc(c, '=') || !cmd_put(c, value) ||
                !cmd_putc(c, end))
            return false;
    }
    return true;
}
