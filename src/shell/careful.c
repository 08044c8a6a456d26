/*
 * A recursive rm of "$dir/..." with nothing in dir: asked for what lies in one folder,
 * bash removes what lies in the root.  This line is not done as bash does.
 */
#include "shell/exec.h"
#include "shell/vars.h"

static bool is_name(struct str text)
{
    return text.len && (text.data[0] == '_' || (text.data[0] | 32) >= 'a');
}

/* The variable that a word begins with, if it has no value and a slash follows. */
static bool find_empty(struct shell *sh, const struct word *w, struct str *name)
{
    size_t i = 0;
    while (i < w->count && w->parts[i].type == PART_TEXT && !w->parts[i].text.len)
        i++;
    if (i + 1 >= w->count || w->parts[i].type != PART_PARAM ||
            w->parts[i + 1].type != PART_TEXT ||
            !str_starts(w->parts[i + 1].text, STR("/")))
        return false;
    const struct param *p = w->parts[i].param;
    struct str value;
    *name = p->name;
    return p->op == PARAM_VALUE && !p->indirect && p->subscript == SUB_NONE &&
           is_name(p->name) && (!vars_get(sh->vars, p->name, &value) || !value.len);
}

static bool is_recursive(const struct fields *args)
{
    for (size_t i = 1; i < args->count && strcmp(args->items[i], "--") != 0; i++) {
        const char *arg = args->items[i];
        if (arg[0] == '-' &&
                (arg[1] == '-' ? !strncmp(arg, "--recursive", strlen(arg)) && arg[2]
                               : strpbrk(arg, "rR") != NULL))
            return true;
    }
    return false;
}

bool exec_is_careless(struct shell *sh, const struct node *n, const struct fields *args)
{
    struct str name;
    if (strcmp(args->items[0], "rm") != 0 || !is_recursive(args))
        return false;
    for (size_t i = 1; i < n->simple.arg_count; i++) {
        const struct word *w = n->simple.args[i].word;
        if (!find_empty(sh, w, &name))
            continue;
        shell_err(sh,
                "rm: refusing '%.*s': %.*s is not set, so that this is a path from '/'; "
                "nothing was removed",
                STR_ARG(w->source), STR_ARG(name));
        return true;
    }
    return false;
}
