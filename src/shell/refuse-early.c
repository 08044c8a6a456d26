/* Programs that are refused before anything of their pipeline runs. */
#include "shell/analyse.h"
#include "shell/exec.h"
#include "shell/expand.h"

/* --- words, as far as they are known before they are expanded for good --- */

static bool may_be_pattern(const char *field)
{
    return field[strcspn(field, "*?[(")] != '\0';
}

/* Is it the same now as when its stage runs, and is nothing said or changed by looking?
 */
static bool is_steady(const struct shell *sh, const struct word *w)
{
    return !w->has_braces && exec_is_pure(w) && !(sh->set & SET_NOUNSET);
}

static bool is_quoted(const struct word *w)
{
    for (size_t i = 0; i < w->count; i++)
        if (!w->parts[i].quoted)
            return false;
    return true;
}

/* False: it is not known.  Files are not looked for. */
static bool expand_known(
        struct shell *sh, const struct word *w, bool literal_only, struct fields *out)
{
    size_t before = out->count;
    if (w->is_literal && !w->has_braces) {
        exec_push(sh, out, (char *)(uintptr_t)w->literal.data);
        return true;
    }
    if (literal_only || !is_steady(sh, w))
        return false;
    uint64_t set = sh->set;
    sh->set |= SET_NOGLOB;
    bool known = expand_word(sh, w, sh->arena, out);
    sh->set = set;
    for (size_t i = before; known && i < out->count; i++)
        known = is_quoted(w) || !may_be_pattern(out->items[i]);
    return known;
}

/* A command before it runs. */
struct early {
    struct shell *sh;
    struct fields args; /* the last is NULL, and not counted */
    struct fields env;  /* NAME=value: what is put before it */
};

static bool expand_assigns(
        struct early *e, const struct node *n, bool literal_only, struct fields *out)
{
    for (size_t i = 0; i < n->simple.assign_count; i++) {
        const struct assign *a = &n->simple.assigns[i];
        struct fields value = { 0 };
        if (a->index || a->flags || !a->value ||
                (a->value->count &&
                        !expand_known(e->sh, a->value, literal_only, &value)) ||
                value.count > 1)
            return false;
        exec_push(e->sh, out,
                arena_printf(e->sh->arena, "%.*s=%s", STR_ARG(a->name),
                        value.count ? value.items[0] : ""));
    }
    return true;
}

static bool expand_args(struct early *e, const struct node *n, bool literal_only)
{
    for (size_t i = 0; i < n->simple.arg_count; i++)
        if (!expand_known(e->sh, n->simple.args[i].word, literal_only, &e->args))
            return false;
    return e->args.count > 0;
}

/* --- what it starts --- */

static bool has_function(const struct shell *sh, const char *name)
{
    return functions_find(sh->functions, str_of(name)) != NULL;
}

/* Does `env` do more than to set variables? */
static bool has_options(const struct analyse_command *c, const struct analyse_command *in)
{
    for (const struct analyse_word *w = c->words + 1; w < in->words; w++)
        if (w->text.len && w->text.data[0] == '-')
            return true;
    return false;
}

/* `command -p`: a program before all else. */
static bool wants_program(
        const struct analyse_command *c, const struct analyse_command *in)
{
    for (const struct analyse_word *w = c->words + 1; w < in->words; w++)
        if (w->text.len && w->text.data[0] == '-' &&
                memchr(w->text.data, 'p', w->text.len))
            return true;
    return false;
}

/* Is `in` what `c` runs, at once and whatever happens? */
static bool runs_at_once(
        const struct analyse_command *c, const struct analyse_command *in)
{
    static const char *const names[] = { "command", "env", "exec", "nice", "nohup",
        "setsid", "stdbuf", "timeout" };
    if (str_which(c->words[0].text, names, ARRAY_LEN(names)) == ARRAY_LEN(names) ||
            strcmp(in->via, c->words[0].text.data) != 0)
        return false;
    return !str_is(c->words[0].text, "env") || !has_options(c, in);
}

/*
 * The command that is looked up as a program in the end; NULL: it is none, or not known.
 * The words of all are those of the first, so that they are one part of its argv.
 */
static const struct analyse_command *find_program(
        const struct shell *sh, const struct analysis *list)
{
    bool no_functions = false;
    for (size_t i = 0; i < list->count; i++) {
        const struct analyse_command *c = &list->commands[i], *next = c + 1;
        const char *name = c->words[0].text.data;
        if (!no_functions && has_function(sh, name))
            return NULL;
        if (strchr(name, '/') || !exec_find_builtin(name))
            return c;
        if (i + 1 == list->count || !runs_at_once(c, next))
            return NULL;
        if (str_is(c->words[0].text, "command") && wants_program(c, next))
            return next;
        no_functions =
                str_is(c->words[0].text, "command") || str_is(c->words[0].text, "exec");
    }
    return NULL;
}

static bool is_named(const char *pair, const char *name)
{
    size_t len = strcspn(name, "=") + 1;
    return !strncmp(pair, name, len);
}

/* The exported variables, with those of the command instead or beside them. */
static char **make_environment(
        struct early *e, const struct analyse_command *c, size_t *count)
{
    size_t exported;
    char **all = exec_program_environment(e->sh, &exported);
    for (size_t i = 0; i < c->assign_count; i++)
        exec_push(e->sh, &e->env,
                arena_printf(e->sh->arena, "%.*s=%.*s", STR_ARG(c->assigns[i].name),
                        STR_ARG(c->assigns[i].value.text)));
    struct fields env = { 0 };
    for (size_t i = 0; i < exported + e->env.count; i++) {
        char *pair = i < exported ? all[i] : e->env.items[i - exported];
        size_t at = 0;
        while (at < env.count && !is_named(env.items[at], pair))
            at++;
        if (at < env.count)
            env.items[at] = pair;
        else
            exec_push(e->sh, &env, pair);
    }
    *count = env.count;
    return env.items;
}

static bool is_refused(struct early *e)
{
    struct shell *sh = e->sh;
    size_t count = e->args.count;
    struct analyse_word *words = arena_alloc(sh->arena, count * sizeof(*words));
    for (size_t i = 0; i < count; i++)
        words[i] = (struct analyse_word){ str_of(e->args.items[i]), true, true };
    struct analysis list;
    if (!command_analyse(words, count, sh->budget, sh->arena, &list))
        return false;
    const struct analyse_command *c = find_program(sh, &list);
    if (!c || c->gets_more || c->is_elsewhere)
        return false;
    size_t env_count, at = (size_t)(c->words - words);
    char **env = make_environment(e, c, &env_count);
    return exec_program_is_refused(
            sh, (int)(count - at), e->args.items + at, env, env_count);
}

/* --- where it stands --- */

/*
 * What runs first in a stage, if nothing else does when that fails: whoever writes `git
 * push || echo no` is prepared for it.  NULL: there is more to it.
 */
static const struct node *find_first(const struct node *n, bool *literal_only)
{
    while (n && n->type != NODE_SIMPLE) {
        bool is_alone = false;
        const struct node *in = NULL;
        if (n->type == NODE_GROUP || n->type == NODE_SUBSHELL || n->type == NODE_AND) {
            is_alone = true;
            in = n->pair.a;
        } else if (n->type == NODE_SEQUENCE) {
            is_alone = n->sequence.count == 1;
            in = n->sequence.items[0];
        } else if (n->type == NODE_PIPELINE) {
            is_alone = n->pipeline.count == 1 && !n->pipeline.negated;
            in = n->pipeline.stages[0];
        } else if (n->type == NODE_FOR) {
            is_alone = n->loop.count && n->loop.words[0]->is_literal;
            in = n->loop.body;
            *literal_only = true; /* its variable is not set yet */
        }
        n = is_alone ? in : NULL;
    }
    return n;
}

/* A builtin that starts nothing is none of ours, and most are that. */
static bool is_plain_builtin(const struct node *n)
{
    const struct word *name = n->simple.arg_count ? n->simple.args[0].word : NULL;
    if (!name || !name->is_literal || memchr(name->literal.data, '/', name->literal.len))
        return !name;
    const struct command *command = command_find(name->literal);
    return command && !(command->flags & (CMD_PREFIX | CMD_SHELL));
}

static bool is_stage_refused(struct shell *sh, const struct node *stage)
{
    bool literal_only = false;
    const struct node *n = find_first(stage, &literal_only);
    if (!n || is_plain_builtin(n))
        return false;
    struct arena_mark mark = arena_mark(sh->arena);
    struct early e = { .sh = sh };
    bool refused = expand_assigns(&e, n, literal_only, &e.env) &&
                   expand_args(&e, n, literal_only) && is_refused(&e);
    arena_rewind(sh->arena, mark);
    if (refused)
        exec_position(sh, n, n->source);
    return refused;
}

bool exec_pipeline_is_refused(struct shell *sh, const struct node *n)
{
    if (!sh->session->programs)
        return false;
    for (size_t i = 0; i < n->pipeline.count; i++)
        if (is_stage_refused(sh, n->pipeline.stages[i]))
            return true;
    return false;
}

/* Does it create or empty a file? */
static bool writes_file(const struct redirect *r)
{
    switch (r->type) {
    case REDIR_WRITE:
    case REDIR_CLOBBER:
    case REDIR_APPEND:
    case REDIR_READ_WRITE:
    case REDIR_BOTH:
    case REDIR_BOTH_APPEND:
        return !r->target->is_literal || !cmd_is_device(r->target->literal);
    case REDIR_DUP_WRITE:
        return !r->target->is_literal;
    case REDIR_READ:
    case REDIR_DUP_READ:
    case REDIR_HEREDOC:
    case REDIR_HERESTRING:
        return false;
    }
    return false;
}

static bool writes_files(const struct node *n)
{
    for (size_t i = 0; i < n->redirect_count; i++)
        if (writes_file(&n->redirects[i]))
            return true;
    return false;
}

bool exec_compound_is_refused(struct shell *sh, const struct node *n)
{
    return sh->session->programs && writes_files(n) && is_stage_refused(sh, n);
}

bool exec_command_is_refused(
        struct shell *sh, const struct node *n, const struct fields *args)
{
    if (!writes_files(n) || !sh->session->programs || is_plain_builtin(n))
        return false;
    struct arena_mark mark = arena_mark(sh->arena);
    struct early e = { .sh = sh };
    for (size_t i = 0; i < args->count; i++)
        exec_push(sh, &e.args, args->items[i]);
    bool refused = expand_assigns(&e, n, false, &e.env) && is_refused(&e);
    arena_rewind(sh->arena, mark);
    return refused;
}
