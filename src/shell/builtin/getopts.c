#include "shell/assign.h"
#include "shell/builtin/letters.h"
#include "shell/state.h"

struct getopts {
    struct cmd *c;
    const char *spec;
    bool silent; /* the option string begins with a colon */
    const char *name;
    char **args;
    int count;
};

static bool set(struct getopts *g, const char *name, const char *value)
{
    return assign_text(g->c->shell, "getopts", str_of(name), str_of(value));
}

static bool set_index(struct getopts *g, int index)
{
    return set(g, "OPTIND", arena_printf(g->c->arena, "%d", index));
}

static void unset_argument(struct getopts *g)
{
    struct error err;
    bool ok UNUSED = vars_unset(g->c->shell->vars, STR("OPTARG"), &err);
}

static int64_t current_index(struct getopts *g)
{
    struct str text;
    int64_t index;
    if (!vars_get(g->c->shell->vars, STR("OPTIND"), &text) || !str_int(text, &index) ||
            index < 1)
        return 1;
    return index;
}

static int at_end(struct getopts *g, int index)
{
    g->c->shell->getopts_at = 0;
    unset_argument(g);
    if (set_index(g, index) && set(g, g->name, "?"))
        return 1;
    return 1;
}

static int complain(struct getopts *g, char option, const char *message, char silent_name)
{
    char text[2] = { option, 0 }, name[2] = { silent_name, 0 };
    if (g->silent)
        return set(g, g->name, name) && set(g, "OPTARG", text) ? 0 : 1;
    unset_argument(g);
    struct shell *sh = g->c->shell;
    shell_err(sh, "%s -- %c", message, option);
    return set(g, g->name, "?") ? 0 : 1;
}

/* The option takes a value: the rest of the word, or the next one. */
static int with_value(struct getopts *g, char option, const char *rest, int64_t index)
{
    g->c->shell->getopts_at = 0;
    char text[2] = { option, 0 };
    if (!*rest && index >= g->count) {
        if (!set_index(g, (int)index + 1))
            return 1;
        return complain(g, option, "option requires an argument", ':');
    }
    const char *value = *rest ? rest : g->args[index];
    if (!set_index(g, (int)index + (*rest ? 1 : 2)) || !set(g, "OPTARG", value))
        return 1;
    return set(g, g->name, text) ? 0 : 1;
}

static int next_option(struct getopts *g)
{
    struct shell *sh = g->c->shell;
    int64_t index = current_index(g);
    if (index != sh->getopts_index)
        sh->getopts_at = 0;
    const char *word = index <= g->count ? g->args[index - 1] : NULL;
    size_t at = sh->getopts_at ? sh->getopts_at : 1;
    if (!word || (!sh->getopts_at && (word[0] != '-' || !word[1])) || at >= strlen(word))
        return at_end(g, (int)index);
    if (!sh->getopts_at && !strcmp(word, "--"))
        return at_end(g, (int)index + 1);
    char option = word[at];
    const char *known = option == ':' ? NULL : strchr(g->spec, option);
    if (known && known[1] == ':')
        return with_value(g, option, word + at + 1, index);
    bool more = word[at + 1] != 0;
    sh->getopts_at = more ? at + 1 : 0;
    sh->getopts_index = index + !more;
    if (!set_index(g, (int)index + !more))
        return 1;
    if (!known)
        return complain(g, option, "illegal option", '?');
    unset_argument(g);
    char text[2] = { option, 0 };
    return set(g, g->name, text) ? 0 : 1;
}

static int cmd_getopts(struct cmd *c)
{
    struct shell *sh = c->shell;
    static const char usage[] = "getopts optstring name [arg ...]";
    int i = c->argc > 1 && !strcmp(c->argv[1], "--") ? 2 : 1;
    if (c->argc - i < 2)
        return letters_usage(c, usage);
    struct getopts g = { .c = c,
        .spec = c->argv[i],
        .silent = c->argv[i][0] == ':',
        .name = c->argv[i + 1],
        .args = c->argc - i > 2 ? c->argv + i + 2 : sh->args + 1,
        .count = c->argc - i > 2 ? c->argc - i - 2 : sh->arg_count };
    if (!letters_name(c, g.name))
        return 1;
    return next_option(&g);
}

const struct command command_getopts = { .name = "getopts",
    .run = cmd_getopts,
    .usage = "OPTSTRING NAME [ARG]...",
    .summary = "Put the next option of the positional parameters into NAME.",
    .flags = CMD_BUILTIN | CMD_SHELL };
