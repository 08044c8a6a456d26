#include "shell/parse.h"

struct script *script_ref(struct script *s)
{
    s->refs++;
    return s;
}

void script_unref(struct script *s)
{
    if (s && --s->refs == 0)
        arena_destroy(s->arena);
}

/*
 * The search for what cannot run.  Words that appear twice in the tree (an argument and
 * its reading as an assignment, an expression and its text) are visited once: they share
 * their parts, and twice each would be exponential in the depth.
 */

/* What this build parses and does not run: one line each. */
static const struct {
    enum node_type type;
    const char *name;
} unsupported[] = {
    { NODE_COPROC, "coproc" },
};

/* Commands of bash that are not there, and why. */
static const struct {
    const char *name, *text;
} refused_commands[] = {
    { "bg", "bg (job control)" },
    { "bind", "bind (line editing)" },
    { "compgen", "compgen (completion)" },
    { "complete", "complete (completion)" },
    { "compopt", "compopt (completion)" },
    { "disown", "disown (all jobs end with the call)" },
    { "enable", "enable (loadable builtins)" },
    { "fc", "fc (history)" },
    { "fg", "fg (job control)" },
    { "history", "history (history)" },
    { "logout", "logout (login shells)" },
    { "suspend", "suspend (job control)" },
};

/* Options of `set` that could have no effect. */
static const struct {
    char letter;
    const char *name, *text;
} refused_options[] = {
    { 'm', "monitor", "set -m (job control)" },
    { 'H', "histexpand", "set -H (history)" },
    { 0, "history", "set -o history (history)" },
    { 0, "emacs", "set -o emacs (line editing)" },
    { 0, "vi", "set -o vi (line editing)" },
    { 'k', "keyword", "set -k (assignments after the command)" },
    { 't', "onecmd", "set -t (one command a shell)" },
};

struct search {
    const char *found;
    struct pos where;
    script_defined_fn *defined;
    void *user;
    bool collects; /* functions only ... */
    unsigned own;  /* ... a bit for each refused command that is one */
};

static int refused_index(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(refused_commands); i++)
        if (str_is(name, refused_commands[i].name))
            return (int)i;
    return -1;
}

const char *script_unsupported_command(struct str name)
{
    int i = refused_index(name);
    return i < 0 ? NULL : refused_commands[i].text;
}

static void search_node(struct search *s, const struct node *n);
static void search_word(struct search *s, const struct word *w);

static void search_words(struct search *s, struct word *const *words, size_t count)
{
    for (size_t i = 0; i < count && !s->found; i++)
        search_word(s, words[i]);
}

static void search_expr(struct search *s, const struct arith_expr *x)
{
    if (x)
        search_word(s, x->text);
}

static void search_param(struct search *s, const struct param *x)
{
    search_word(s, x->index);
    search_word(s, x->arg);
    search_word(s, x->replacement);
    search_expr(s, x->offset);
    search_expr(s, x->length);
}

static void search_part(struct search *s, const struct part *part)
{
    switch (part->type) {
    case PART_PARAM:
        search_param(s, part->param);
        break;
    case PART_COMMAND:
    case PART_PROCESS:
        search_node(s, part->command.body);
        break;
    case PART_ARITH:
        search_expr(s, part->arith);
        break;
    case PART_BRACES:
        search_words(s, part->braces.items, part->braces.count);
        break;
    case PART_TEXT:
    case PART_TILDE:
    case PART_RANGE:
        break;
    }
}

static void search_word(struct search *s, const struct word *w)
{
    if (!w || w->is_literal)
        return;
    for (size_t i = 0; i < w->count && !s->found; i++)
        search_part(s, &w->parts[i]);
}

static void search_assign(struct search *s, const struct assign *a)
{
    search_word(s, a->index);
    search_word(s, a->value);
    for (size_t i = 0; i < a->item_count && !s->found; i++) {
        search_word(s, a->items[i].key);
        search_word(s, a->items[i].value);
    }
}

static struct str literal_arg(const struct node *n, size_t i)
{
    if (i >= n->simple.arg_count || n->simple.args[i].assign ||
            !n->simple.args[i].word->is_literal)
        return (struct str){ "", 0 };
    return n->simple.args[i].word->literal;
}

static bool asks_option(struct str word, struct str next, size_t i)
{
    if (word.len < 2 || word.data[0] != '-' || word.data[1] == '-')
        return false;
    struct str letters = str_from(word, 1);
    char letter = refused_options[i].letter;
    return (letter && memchr(letters.data, letter, letters.len)) ||
           (memchr(letters.data, 'o', letters.len) &&
                   str_is(next, refused_options[i].name));
}

/* Options of `set` up to its first operand. */
static const char *refused_option(const struct node *n)
{
    for (size_t k = 1; k < n->simple.arg_count; k++) {
        struct str word = literal_arg(n, k), next = literal_arg(n, k + 1);
        if (word.len < 2 || !strchr("-+", word.data[0]) || str_is(word, "--"))
            break;
        for (size_t i = 0; i < ARRAY_LEN(refused_options); i++)
            if (asks_option(word, next, i))
                return refused_options[i].text;
        k += memchr(word.data, 'o', word.len) != NULL; /* the name of -o */
    }
    return NULL;
}

static const char *refused_command(const struct search *s, const struct node *n)
{
    struct str name = literal_arg(n, 0);
    if (str_is(name, "set"))
        return refused_option(n);
    bool direct = str_is(name, "command") || str_is(name, "builtin");
    if (direct)
        name = literal_arg(n, 1);
    int i = refused_index(name);
    if (i < 0)
        return NULL;
    bool is_own = s->own & 1u << i || (s->defined && s->defined(s->user, name));
    return is_own && !direct ? NULL : refused_commands[i].text;
}

static void search_simple(struct search *s, const struct node *n)
{
    const char *text = s->collects ? NULL : refused_command(s, n);
    if (text) {
        s->found = text;
        s->where = n->pos;
        return;
    }
    for (size_t i = 0; i < n->simple.assign_count && !s->found; i++)
        search_assign(s, &n->simple.assigns[i]);
    for (size_t i = 0; i < n->simple.arg_count && !s->found; i++) {
        const struct arg *arg = &n->simple.args[i];
        if (arg->assign)
            search_assign(s, arg->assign);
        else
            search_word(s, arg->word);
    }
}

static void search_nodes(struct search *s, struct node *const *nodes, size_t count)
{
    for (size_t i = 0; i < count && !s->found; i++)
        search_node(s, nodes[i]);
}

static void search_case(struct search *s, const struct node *n)
{
    search_word(s, n->choice.subject);
    for (size_t i = 0; i < n->choice.count && !s->found; i++) {
        search_words(s, n->choice.items[i].patterns, n->choice.items[i].count);
        search_node(s, n->choice.items[i].body);
    }
}

static void search_cond(struct search *s, const struct cond *c)
{
    if (!c || s->found)
        return;
    search_word(s, c->left);
    search_word(s, c->right);
    search_cond(s, c->a);
    search_cond(s, c->b);
}

static void search_inside(struct search *s, const struct node *n)
{
    switch (n->type) {
    case NODE_SIMPLE:
        search_simple(s, n);
        break;
    case NODE_PIPELINE:
        search_nodes(s, n->pipeline.stages, n->pipeline.count);
        break;
    case NODE_SEQUENCE:
        search_nodes(s, n->sequence.items, n->sequence.count);
        break;
    case NODE_AND:
    case NODE_OR:
    case NODE_BACKGROUND:
    case NODE_SUBSHELL:
    case NODE_GROUP:
        search_node(s, n->pair.a);
        search_node(s, n->pair.b);
        break;
    case NODE_IF:
        search_node(s, n->branch.cond);
        search_node(s, n->branch.then);
        search_node(s, n->branch.otherwise);
        break;
    case NODE_FOR:
    case NODE_SELECT:
        search_words(s, n->loop.words, n->loop.count);
        search_node(s, n->loop.body);
        break;
    case NODE_FOR_ARITH:
        search_expr(s, n->arith_loop.init);
        search_expr(s, n->arith_loop.test);
        search_expr(s, n->arith_loop.step);
        search_node(s, n->arith_loop.body);
        break;
    case NODE_WHILE:
    case NODE_UNTIL:
        search_node(s, n->until.cond);
        search_node(s, n->until.body);
        break;
    case NODE_CASE:
        search_case(s, n);
        break;
    case NODE_COND:
        search_cond(s, n->cond);
        break;
    case NODE_ARITH:
        search_expr(s, n->arith);
        break;
    case NODE_FUNCTION:
        if (refused_index(n->function.name) >= 0)
            s->own |= 1u << refused_index(n->function.name);
        search_node(s, n->function.body);
        break;
    case NODE_COPROC:
        search_node(s, n->coproc.body);
        break;
    }
}

static void search_node(struct search *s, const struct node *n)
{
    if (!n || s->found)
        return;
    for (size_t i = 0; i < ARRAY_LEN(unsupported); i++) {
        if (n->type == unsupported[i].type && !s->collects) {
            s->found = unsupported[i].name;
            s->where = n->pos;
            return;
        }
    }
    search_inside(s, n);
    for (size_t i = 0; i < n->redirect_count && !s->found; i++)
        search_word(s, n->redirects[i].target);
}

const char *script_unsupported(const struct script *script, script_defined_fn *defined,
        void *user, struct pos *where)
{
    struct search s = { .defined = defined, .user = user, .collects = true };
    search_node(&s, script->root);
    s.collects = false;
    search_node(&s, script->root);
    if (s.found)
        *where = s.where;
    return s.found;
}
