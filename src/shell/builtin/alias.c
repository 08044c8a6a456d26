/* alias unalias */
#include "shell/builtin/letters.h"
#include "shell/builtin/shquote.h"
#include "shell/state.h"

#define MAX_ALIASES 4096

static struct str *find(struct shell *sh, struct str name)
{
    for (size_t i = 0; i < sh->alias_count; i += 2)
        if (str_eq(sh->aliases[i], name))
            return &sh->aliases[i];
    return NULL;
}

static struct str copy(struct str s)
{
    return (struct str){ str_copy(s), s.len };
}

static void release(struct str s)
{
    free((char *)(uintptr_t)s.data);
}

static bool print(struct cmd *c, const struct str *alias)
{
    struct str text = quote_single(alias[1], c->arena);
    return cmd_printf(c, "alias %.*s=%.*s\n", STR_ARG(alias[0]), STR_ARG(text));
}

/* Sorted by name. */
static bool print_all(struct cmd *c)
{
    struct shell *sh = c->shell;
    const struct str *last = NULL;
    for (;;) {
        const struct str *next = NULL;
        for (size_t i = 0; i < sh->alias_count && cmd_tick(c); i += 2) {
            const struct str *a = &sh->aliases[i];
            if ((!last || str_cmp(*a, *last) > 0) && (!next || str_cmp(*a, *next) < 0))
                next = a;
        }
        if (!next)
            return true;
        if (!print(c, next))
            return false;
        last = next;
    }
}

static bool set(struct cmd *c, struct str name, struct str text)
{
    struct shell *sh = c->shell;
    struct str *old = find(sh, name);
    sh->alias_changes++;
    if (old) {
        release(old[1]);
        old[1] = copy(text);
        return true;
    }
    if (!name.len || sh->alias_count / 2 >= MAX_ALIASES) {
        cmd_err(c, "`%.*s': invalid alias name", STR_ARG(name));
        return false;
    }
    GROW(sh->aliases, sh->alias_count + 1, sh->alias_cap);
    sh->aliases[sh->alias_count++] = copy(name);
    sh->aliases[sh->alias_count++] = copy(text);
    return true;
}

static int cmd_alias(struct cmd *c)
{
    struct letters l = letters_of(c, "p", "alias [-p] [name[=value] ... ]");
    bool all = false;
    for (int k; (k = letters_next(&l)) != CMD_END;) {
        if (k == CMD_BAD)
            return 2;
        all = true;
    }
    if (all || l.index >= c->argc)
        if (!print_all(c))
            return 1;
    int status = 0;
    for (int i = l.index; i < c->argc; i++) {
        struct str rest = str_of(c->argv[i]), whole = rest;
        struct str name = str_cut(&rest, '=');
        const struct str *alias = find(c->shell, name);
        if (name.len < whole.len) {
            status |= !set(c, name, rest);
        } else if (alias) {
            status |= !print(c, alias);
        } else {
            cmd_err(c, "%s: not found", c->argv[i]);
            status = 1;
        }
    }
    return status;
}

static void drop(struct shell *sh, struct str *alias)
{
    release(alias[0]);
    release(alias[1]);
    size_t after = sh->alias_count - (size_t)(alias - sh->aliases) - 2;
    memmove(alias, alias + 2, after * sizeof(*alias));
    sh->alias_count -= 2;
}

static int cmd_unalias(struct cmd *c)
{
    c->shell->alias_changes++;
    struct shell *sh = c->shell;
    struct letters l = letters_of(c, "a", "unalias [-a] name [name ...]");
    for (int k; (k = letters_next(&l)) != CMD_END;) {
        if (k == CMD_BAD)
            return 2;
        while (sh->alias_count)
            drop(sh, sh->aliases);
        return 0;
    }
    if (l.index >= c->argc)
        return letters_usage(c, l.usage);
    int status = 0;
    for (int i = l.index; i < c->argc; i++) {
        struct str *alias = find(sh, str_of(c->argv[i]));
        if (alias) {
            drop(sh, alias);
        } else {
            cmd_err(c, "%s: not found", c->argv[i]);
            status = 1;
        }
    }
    return status;
}

const struct command command_alias = { .name = "alias",
    .run = cmd_alias,
    .usage = "[-p] [NAME[=TEXT]]...",
    .summary = "Give names to texts (used when `shopt -s expand_aliases` is on).",
    .flags = CMD_BUILTIN | CMD_SHELL };

const struct command command_unalias = { .name = "unalias",
    .run = cmd_unalias,
    .usage = "[-a] NAME...",
    .summary = "Forget aliases.",
    .flags = CMD_BUILTIN | CMD_SHELL };
