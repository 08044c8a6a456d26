/*
 * The walk.  Text in text waits in a queue, so that the stack is as deep as one tree.
 * Words that appear twice in the tree are visited once, as in script.c.
 */
#include "shell/analyse-parts.h"
#include "shell/cmd.h"
#include "shell/exec.h"
#include "shell/parse.h"

static void walk_node(struct analyse *a, const struct node *n);
static void walk_substitution(struct analyse *a, const struct node *n);
static void walk_word(struct analyse *a, const struct word *w);

bool analyse_spend(struct analyse *a, size_t words, size_t bytes)
{
    a->words += words;
    a->bytes += bytes;
    if (a->words > ANALYSE_MAX_WORDS || a->bytes > ANALYSE_MAX_BYTES ||
            !budget_spend(a->budget, words + 1))
        a->is_over = true;
    return !a->is_over;
}

static uint32_t line_of(const struct analyse *a, struct pos pos)
{
    return a->text->line ? a->text->line : pos.line;
}

/* --- what is listed --- */

void analyse_add_command(struct analyse *a, const struct analyse_call *call)
{
    struct analysis *out = a->out;
    size_t bytes = 0;
    for (size_t i = 0; i < call->command.count; i++)
        bytes += call->command.words[i].text.len;
    if (!analyse_spend(a, call->command.count + call->command.assign_count, bytes))
        return;
    ANALYSE_GROW(a, out->commands, out->count, out->cap);
    ANALYSE_GROW(a, a->sites, a->site_count, a->site_cap);
    a->sites[a->site_count++] = (struct analyse_site){
        .scope = a->text->scope,
        .order = a->text->is_own ? out->count : a->text->order,
        .in_function = a->functions > 0,
        .no_functions = call->no_functions,
    };
    out->commands[out->count++] = call->command;
}

void analyse_add_unknown(
        struct analyse *a, const char *what, struct str text, uint32_t line)
{
    struct analysis *out = a->out;
    if (!analyse_spend(a, 1, text.len))
        return;
    ANALYSE_GROW(a, out->unknown, out->unknown_count, out->unknown_cap);
    out->unknown[out->unknown_count++] =
            (struct analyse_unknown){ what, arena_str(a->arena, text), line };
}

void analyse_add_definition(
        struct analyse *a, struct str name, bool is_certain, uint32_t line)
{
    if (!analyse_spend(a, 1, name.len))
        return;
    ANALYSE_GROW(a, a->definitions, a->definition_count, a->definition_cap);
    a->definitions[a->definition_count++] = (struct analyse_definition){
        .name = arena_str(a->arena, name),
        .scope = a->text->scope,
        .is_certain = is_certain,
        .line = line,
        .order = a->out->count,
    };
}

void analyse_add_text(
        struct analyse *a, struct str text, const char *via, uint32_t line, bool is_fresh)
{
    if (a->text->depth == ANALYSE_MAX_DEPTH) {
        analyse_add_unknown(a, "script too deep in others", text, line);
        return;
    }
    if (!analyse_spend(a, 1, text.len))
        return;
    struct analyse_text *t = arena_alloc(a->arena, sizeof(*t));
    *t = (struct analyse_text){
        .text = text,
        .via = via,
        .line = line,
        .depth = a->text->depth + 1,
        .scope = is_fresh ? ++a->scopes : a->text->scope,
        .is_own = is_fresh,
        .order = a->out->count,
        .folder = a->now.folder,
    };
    if (a->survey.changes && (!strcmp(via, "trap") || !strcmp(via, "alias")))
        t->folder = (struct analyse_folder){ .line = line }; /* run later */
    *a->last = t;
    a->last = &t->next;
}

/*
 * May unquoted text of it be a pattern?  A `[` is one only with a `]` behind it: the
 * command of that name is none.
 */
static bool may_be_pattern(const struct word *w)
{
    bool open = false;
    for (size_t i = 0; i < w->count; i++) {
        const struct part *p = &w->parts[i];
        if (p->type != PART_TEXT || p->quoted)
            continue;
        for (size_t k = 0; k < p->text.len; k++) {
            char c = p->text.data[k];
            if (c == '*' || c == '?' || c == '(' || (c == ']' && open))
                return true;
            open |= c == '[';
        }
    }
    return false;
}

static bool is_text(const struct word *w)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->parts[i].type != PART_TEXT)
            return false;
    return w->count > 0;
}

static struct str join_text(struct analyse *a, const struct word *w)
{
    size_t len = 0;
    for (size_t i = 0; i < w->count; i++)
        len += w->parts[i].text.len;
    char *text = arena_alloc(a->arena, len + 1), *end = text;
    for (size_t i = 0; i < w->count; i++)
        end = mempcpy(end, w->parts[i].text.data, w->parts[i].text.len);
    *end = 0;
    return (struct str){ text, len };
}

/* Is it one argument, whatever its value? */
static bool is_single_part(const struct part *p)
{
    if (p->type == PART_PROCESS || p->type == PART_TEXT)
        return true;
    bool is_list = p->type == PART_PARAM &&
                   (str_is(p->param->name, "@") || p->param->subscript == SUB_AT ||
                           p->param->op == PARAM_NAMES || p->param->indirect);
    return p->quoted && !is_list;
}

static struct analyse_word make_word(struct analyse *a, const struct word *w)
{
    bool pattern = may_be_pattern(w), single = w->count > 0 && !pattern;
    if (is_text(w) && !pattern)
        return (struct analyse_word){ join_text(a, w), true, true };
    for (size_t i = 0; i < w->count; i++)
        single &= is_single_part(&w->parts[i]);
    return (struct analyse_word){ arena_str(a->arena, w->source), false, single };
}

/* --- words --- */

static void walk_words(struct analyse *a, struct word *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        walk_word(a, words[i]);
}

static void walk_expr(struct analyse *a, const struct arith_expr *x)
{
    if (x)
        walk_word(a, x->text);
}

static void walk_param(struct analyse *a, const struct param *x)
{
    if (x->op == PARAM_TRANSFORM && x->transform == 'P')
        analyse_add_unknown(
                a, "substitutions in a prompt", x->source, line_of(a, x->pos));
    walk_word(a, x->index);
    walk_word(a, x->arg);
    walk_word(a, x->replacement);
    walk_expr(a, x->offset);
    walk_expr(a, x->length);
}

static void walk_part(struct analyse *a, const struct part *part)
{
    switch (part->type) {
    case PART_PARAM:
        walk_param(a, part->param);
        break;
    case PART_COMMAND:
    case PART_PROCESS:
        walk_substitution(a, part->command.body);
        break;
    case PART_ARITH:
        walk_expr(a, part->arith);
        break;
    case PART_BRACES:
        walk_words(a, part->braces.items, part->braces.count);
        break;
    case PART_TEXT:
    case PART_TILDE:
    case PART_RANGE:
        break;
    }
}

static void walk_word(struct analyse *a, const struct word *w)
{
    if (!w || w->is_literal)
        return;
    for (size_t i = 0; i < w->count && !a->is_over; i++)
        walk_part(a, &w->parts[i]);
}

static void walk_assign(struct analyse *a, const struct assign *x)
{
    a->sets_cdpath |= str_is(x->name, "CDPATH");
    walk_word(a, x->index);
    walk_word(a, x->value);
    for (size_t i = 0; i < x->item_count && !a->is_over; i++) {
        walk_word(a, x->items[i].key);
        walk_word(a, x->items[i].value);
    }
}

/* --- simple commands --- */

static void make_words(struct analyse *a, const struct node *n, struct analyse_call *call)
{
    size_t count = n->simple.arg_count;
    struct analyse_word *words = arena_alloc(a->arena, count * sizeof(*words));
    for (size_t i = 0; i < count; i++)
        words[i] = make_word(a, n->simple.args[i].word);
    call->command.words = words;
    call->command.count = count;
}

static void make_assigns(
        struct analyse *a, const struct node *n, struct analyse_call *call)
{
    size_t count = n->simple.assign_count;
    struct analyse_assign *list = arena_alloc(a->arena, (count + 1) * sizeof(*list));
    for (size_t i = 0; i < count; i++) {
        const struct assign *x = &n->simple.assigns[i];
        list[i].name = arena_str(a->arena, x->name);
        if (x->value && !x->index && !(x->flags & ASSIGN_APPEND))
            list[i].value = make_word(a, x->value);
        else
            list[i].value = (struct analyse_word){ .text = STR("") };
        /* An assignment is one value: it is not split. */
        list[i].value.is_single = true;
    }
    call->command.assigns = list;
    call->command.assign_count = count;
}

static void walk_simple(struct analyse *a, const struct node *n)
{
    for (size_t i = 0; i < n->simple.assign_count; i++)
        walk_assign(a, &n->simple.assigns[i]);
    for (size_t i = 0; i < n->simple.arg_count && !a->is_over; i++) {
        const struct arg *arg = &n->simple.args[i];
        if (arg->assign)
            walk_assign(a, arg->assign);
        else
            walk_word(a, arg->word);
    }
    analyse_stay(a);
    if (!n->simple.arg_count || !analyse_spend(a, n->simple.arg_count, n->source.len))
        return;
    struct analyse_call call = {
        .command = { .via = a->text->via,
                .line = line_of(a, n->pos),
                .folder = a->now.folder },
        .redirects = n->redirects,
        .redirect_count = n->redirect_count,
    };
    make_words(a, n, &call);
    make_assigns(a, n, &call);
    const struct analyse_command own = call.command;
    analyse_call(a, &call);
    analyse_follow(a, &own);
}

/* --- compound commands --- */

static void walk_branch(struct analyse *a, const struct node *n)
{
    a->branches++;
    walk_node(a, n);
    a->branches--;
}

/* In a shell of its own. */
static void walk_apart(struct analyse *a, const struct node *n)
{
    struct analyse_state now = a->now, failed = a->failed;
    walk_branch(a, n);
    a->now = now;
    a->failed = failed;
}

/* `set -e` is not in force there. */
static void walk_substitution(struct analyse *a, const struct node *n)
{
    bool errexit = a->errexit;
    a->errexit = false;
    walk_apart(a, n);
    a->errexit = errexit;
}

static void walk_condition(struct analyse *a, const struct node *n)
{
    a->conditions++;
    walk_node(a, n);
    a->conditions--;
}

static void walk_pipeline(struct analyse *a, const struct node *n)
{
    bool negated = n->pipeline.negated;
    if (n->pipeline.count != 1) {
        for (size_t i = 0; i < n->pipeline.count; i++)
            walk_apart(a, n->pipeline.stages[i]);
        analyse_stay(a);
        return;
    }
    a->conditions += negated;
    walk_node(a, n->pipeline.stages[0]);
    a->conditions -= negated;
    if (negated) {
        struct analyse_state failed = a->failed;
        a->failed = a->now;
        a->now = failed;
    }
}

static void walk_pair(struct analyse *a, const struct node *n)
{
    walk_condition(a, n->pair.a);
    struct analyse_state now = a->now, failed = a->failed;
    bool is_or = n->type == NODE_OR;
    if (is_or)
        a->now = failed;
    walk_branch(a, n->pair.b);
    if (is_or)
        a->now = analyse_join(now, a->now);
    else
        a->failed = analyse_join(failed, a->failed);
}

static void walk_if(struct analyse *a, const struct node *n)
{
    walk_condition(a, n->branch.cond);
    struct analyse_state otherwise = a->failed;
    walk_branch(a, n->branch.then);
    struct analyse_state now = a->now, failed = a->failed;
    a->now = otherwise;
    a->failed = (struct analyse_state){ .is_never = true };
    walk_branch(a, n->branch.otherwise);
    a->now = analyse_join(now, a->now);
    a->failed = analyse_join(failed, a->failed);
}

/* A body that runs again and again, from wherever it was left. */
static void walk_loop(struct analyse *a, const struct node *n, const struct node *cond,
        const struct node *body)
{
    uint32_t line = line_of(a, n->pos);
    bool changes = analyse_changes(a, n);
    if (changes)
        analyse_lose(a, line);
    struct analyse_state now = a->now;
    walk_condition(a, cond);
    if (n->type == NODE_UNTIL)
        a->now = a->failed;
    walk_branch(a, body);
    a->now = now;
    analyse_stay(a);
}

static void walk_case(struct analyse *a, const struct node *n)
{
    walk_word(a, n->choice.subject);
    struct analyse_state now = a->now;
    bool changes = analyse_changes(a, n);
    for (size_t i = 0; i < n->choice.count && !a->is_over; i++) {
        walk_words(a, n->choice.items[i].patterns, n->choice.items[i].count);
        if (i && n->choice.items[i - 1].end != CASE_BREAK && changes)
            analyse_lose(a, line_of(a, n->pos));
        walk_branch(a, n->choice.items[i].body);
        a->now = now;
    }
    if (changes)
        analyse_lose(a, line_of(a, n->pos));
    else
        analyse_stay(a);
}

static void walk_cond(struct analyse *a, const struct cond *c)
{
    if (!c)
        return;
    walk_word(a, c->left);
    walk_word(a, c->right);
    walk_cond(a, c->a);
    walk_cond(a, c->b);
}

static void walk_function(struct analyse *a, const struct node *n)
{
    bool is_certain = !a->branches && !a->functions && a->text->is_own;
    analyse_add_definition(a, n->function.name, is_certain, line_of(a, n->pos));
    struct analyse_state now = a->now;
    if (a->survey.changes)
        analyse_lose(a, line_of(a, n->pos));
    a->functions++;
    walk_node(a, n->function.body);
    a->functions--;
    a->now = now;
    analyse_stay(a);
}

static void walk_arith_loop(struct analyse *a, const struct node *n)
{
    walk_expr(a, n->arith_loop.init);
    walk_expr(a, n->arith_loop.test);
    walk_expr(a, n->arith_loop.step);
    walk_loop(a, n, NULL, n->arith_loop.body);
}

static void walk_sequence(struct analyse *a, const struct node *n)
{
    for (size_t i = 0; i < n->sequence.count && !a->is_over; i++) {
        if (i)
            a->now = analyse_join(a->now, a->failed);
        walk_node(a, n->sequence.items[i]);
        bool may_fail = a->conditions || a->functions || !a->errexit;
        if (!may_fail && n->sequence.items[i]->type == NODE_SIMPLE)
            a->failed.is_never = true;
    }
}

static void walk_inside(struct analyse *a, const struct node *n)
{
    switch (n->type) {
    case NODE_SIMPLE:
        walk_simple(a, n);
        break;
    case NODE_PIPELINE:
        walk_pipeline(a, n);
        break;
    case NODE_SEQUENCE:
        walk_sequence(a, n);
        break;
    case NODE_AND:
    case NODE_OR:
        walk_pair(a, n);
        break;
    case NODE_GROUP:
        walk_node(a, n->pair.a);
        break;
    case NODE_BACKGROUND:
    case NODE_SUBSHELL:
        walk_apart(a, n->pair.a);
        analyse_stay(a);
        break;
    case NODE_IF:
        walk_if(a, n);
        break;
    case NODE_FOR:
    case NODE_SELECT:
        walk_words(a, n->loop.words, n->loop.count);
        walk_loop(a, n, NULL, n->loop.body);
        break;
    case NODE_FOR_ARITH:
        walk_arith_loop(a, n);
        break;
    case NODE_WHILE:
    case NODE_UNTIL:
        walk_loop(a, n, n->until.cond, n->until.body);
        break;
    case NODE_CASE:
        walk_case(a, n);
        break;
    case NODE_COND:
        walk_cond(a, n->cond);
        analyse_stay(a);
        break;
    case NODE_ARITH:
        walk_expr(a, n->arith);
        analyse_stay(a);
        break;
    case NODE_FUNCTION:
        walk_function(a, n);
        break;
    case NODE_COPROC:
        walk_apart(a, n->coproc.body);
        analyse_stay(a);
        break;
    }
}

/* --- redirects --- */

/* False: it opens no file. */
static bool find_open(const struct redirect *r, enum analyse_open *how)
{
    switch (r->type) {
    case REDIR_READ:
        *how = ANALYSE_READ;
        return true;
    case REDIR_WRITE:
    case REDIR_CLOBBER:
    case REDIR_BOTH:
        *how = ANALYSE_WRITE;
        return true;
    case REDIR_APPEND:
    case REDIR_BOTH_APPEND:
        *how = ANALYSE_APPEND;
        return true;
    case REDIR_READ_WRITE:
        *how = ANALYSE_READ_WRITE;
        return true;
    case REDIR_DUP_WRITE: /* a descriptor, or as &> a file */
        *how = ANALYSE_WRITE;
        return !r->target->is_literal;
    case REDIR_DUP_READ:
    case REDIR_HEREDOC:
    case REDIR_HERESTRING:
        return false;
    }
    return false;
}

static void walk_redirect(struct analyse *a, const struct redirect *r)
{
    struct analysis *out = a->out;
    enum analyse_open how;
    walk_word(a, r->target);
    if (!find_open(r, &how) || !analyse_spend(a, 2, r->target->source.len))
        return;
    struct analyse_word target = make_word(a, r->target);
    ANALYSE_GROW(a, out->redirects, out->redirect_count, out->redirect_cap);
    out->redirects[out->redirect_count++] = (struct analyse_redirect){
        .target = target,
        .how = how,
        .folder = a->now.folder,
        .is_device = target.is_literal && cmd_is_device(target.text),
        .line = line_of(a, r->pos),
    };
}

static void walk_node(struct analyse *a, const struct node *n)
{
    if (!n || !analyse_spend(a, 0, 0))
        return;
    struct analyse_state before = a->now;
    walk_inside(a, n);
    struct analyse_state now = a->now, failed = a->failed;
    a->now = before;
    for (size_t i = 0; i < n->redirect_count && !a->is_over; i++)
        walk_redirect(a, &n->redirects[i]);
    a->now = now;
    a->failed = failed;
}

/* --- names --- */

static int compare_definitions(const void *x, const void *y)
{
    const struct analyse_definition *a = x, *b = y;
    if (a->scope != b->scope)
        return a->scope < b->scope ? -1 : 1;
    int order = str_cmp(a->name, b->name);
    if (order)
        return order;
    if (a->is_certain != b->is_certain)
        return a->is_certain ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* The first of the name, which is a certain one if there is any; NULL: none. */
static const struct analyse_definition *find_definition(
        const struct analyse *a, unsigned scope, struct str name)
{
    const struct analyse_definition wanted = {
        .scope = scope, .name = name, .is_certain = true
    };
    size_t from = 0, to = a->definition_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (compare_definitions(&a->definitions[middle], &wanted) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    if (from == a->definition_count)
        return NULL;
    const struct analyse_definition *d = &a->definitions[from];
    return d->scope == scope && str_eq(d->name, name) ? d : NULL;
}

static void resolve(const struct analyse *a, size_t i, struct analyse_command *command)
{
    const struct analyse_site *site = &a->sites[i];
    const struct analyse_word *name = &command->words[0];
    if (!name->is_literal) {
        command->kind = ANALYSE_DYNAMIC;
        return;
    }
    command->kind =
            exec_find_builtin(name->text.data) ? ANALYSE_BUILTIN : ANALYSE_PROGRAM;
    const struct analyse_definition *d =
            site->no_functions ? NULL : find_definition(a, site->scope, name->text);
    if (!d)
        return;
    bool is_there = d->is_certain && (site->in_function || d->order <= site->order);
    command->kind = is_there ? ANALYSE_FUNCTION : ANALYSE_MAYBE;
    command->defined_at = d->line;
}

/* What the script unsets may be gone wherever it is called. */
static void forget_unset(struct analyse *a, size_t i)
{
    const struct analyse_command *command = &a->out->commands[i];
    if (!str_is(command->words[0].text, "unset"))
        return;
    for (size_t k = 1; k < command->count; k++) {
        const struct str name = command->words[k].text;
        const struct analyse_definition *first =
                find_definition(a, a->sites[i].scope, name);
        struct analyse_definition *d =
                first ? &a->definitions[first - a->definitions] : NULL;
        struct analyse_definition *end = a->definitions + a->definition_count;
        for (; d && d < end && d->is_certain && d->scope == a->sites[i].scope &&
                str_eq(d->name, name);
                d++)
            d->is_certain = false;
    }
}

static void resolve_all(struct analyse *a)
{
    struct analysis *out = a->out;
    if (a->definition_count)
        qsort(a->definitions, a->definition_count, sizeof(*a->definitions),
                compare_definitions);
    for (size_t i = 0; i < out->count && a->definition_count; i++)
        forget_unset(a, i);
    for (size_t i = 0; i < out->count; i++)
        resolve(a, i, &out->commands[i]);
}

/* --- order: by line, else as they were found --- */

#define BY_LINE(name, type)                                \
    static int name(const void *x, const void *y)          \
    {                                                      \
        const type *a = x, *b = y;                         \
        return a->line < b->line ? -1 : a->line > b->line; \
    }
BY_LINE(compare_commands, struct analyse_command)
BY_LINE(compare_redirects, struct analyse_redirect)
BY_LINE(compare_unknown, struct analyse_unknown)

/* Merge sort: qsort() does not promise to keep the order of equals. */
static void sort_stable(struct arena *arena, void *items, size_t count, size_t size,
        int (*compare)(const void *, const void *))
{
    if (count < 2)
        return;
    char *from = items, *to = arena_alloc(arena, count * size);
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t start = 0; start < count; start += 2 * width) {
            size_t i = start, middle = start + width < count ? start + width : count;
            size_t j = middle, end = middle + width < count ? middle + width : count;
            for (size_t k = start; k < end; k++) {
                bool left = j == end || (i < middle && compare(from + i * size,
                                                               from + j * size) <= 0);
                size_t taken = left ? i++ : j++;
                memcpy(to + k * size, from + taken * size, size);
            }
        }
        char *swap = from;
        from = to;
        to = swap;
    }
    if (from != items)
        memcpy(items, from, count * size);
}

static void sort_all(struct arena *arena, struct analysis *out)
{
    sort_stable(
            arena, out->commands, out->count, sizeof(*out->commands), compare_commands);
    sort_stable(arena, out->redirects, out->redirect_count, sizeof(*out->redirects),
            compare_redirects);
    sort_stable(arena, out->unknown, out->unknown_count, sizeof(*out->unknown),
            compare_unknown);
}

/* --- texts --- */

static void walk_text(struct analyse *a, const struct analyse_text *t)
{
    const struct parse_options options = { .extglob = true };
    struct script *script;
    struct parse_error why;
    if (!parse_script(t->text, str_of(t->via), &options, &script, &why)) {
        analyse_add_unknown(a, "text that is no whole script", t->text, t->line);
        return;
    }
    a->now = (struct analyse_state){ .folder = t->folder };
    a->errexit = false;
    walk_node(a, script->root);
    script_unref(script);
}

static const struct analyse_folder start = { .is_known = true, .path = { "", 0 } };

/* Folders are followed as the survey of a walk before allows it. */
static void walk_script(struct analyse *a, const struct script *script,
        struct analyse_text *first, struct analyse_survey survey)
{
    *a->out = (struct analysis){ 0 };
    *a = (struct analyse){ .arena = a->arena,
        .budget = a->budget,
        .out = a->out,
        .text = first,
        .last = &first->next,
        .survey = survey };
    if (!survey.is_lost)
        a->now.folder = start;
    first->next = NULL;
    walk_node(a, script->root);
    while ((a->text = a->text->next) && !a->is_over)
        walk_text(a, a->text);
}

bool script_analyse(const struct script *script, struct budget *budget,
        struct arena *arena, struct analysis *out, struct error *err)
{
    struct analyse_text first = { .via = "", .is_own = true };
    struct analyse a = { .arena = arena, .budget = budget, .out = out };
    walk_script(&a, script, &first, (struct analyse_survey){ 0 });
    struct analyse_survey survey = analyse_survey(&a);
    if (survey.changes && !a.is_over)
        walk_script(&a, script, &first, survey);
    if (a.is_over)
        return error_set(err, ERR_LIMIT,
                "the script is too long to be analysed (at most %zu words and %zu MiB)",
                ANALYSE_MAX_WORDS, ANALYSE_MAX_BYTES >> 20);
    resolve_all(&a);
    sort_all(arena, out);
    return true;
}

bool command_analyse(const struct analyse_word *words, size_t count,
        struct budget *budget, struct arena *arena, struct analysis *out)
{
    struct analyse_text text = { .via = "", .is_own = true };
    struct analyse_call call = {
        .command = { .via = "", .words = words, .count = count, .folder = start },
    };
    *out = (struct analysis){ 0 };
    struct analyse a = {
        .arena = arena, .budget = budget, .out = out, .text = &text, .last = &text.next
    };
    analyse_call(&a, &call);
    resolve_all(&a);
    return !a.is_over;
}
