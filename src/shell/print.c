/*
 * print.c - a tree as text, in the layout of bash's `declare -f`.
 *
 * Words are printed as they were written.  Bodies of here-documents wait for the end of
 * the line their operators are printed on.
 */
#include "shell/parse.h"

#define INDENT 4

struct printer {
    struct buf *out;
    unsigned indent;
    bool in_function;
    const struct redirect **heredocs; /* whose bodies are still to be printed */
    size_t heredoc_count, heredoc_cap;
};

static void print_node(struct printer *pr, const struct node *n);
static void print_command(struct printer *pr, const struct node *n);
static void print_redirects(struct printer *pr, const struct node *n);

static void add(struct printer *pr, const char *text)
{
    buf_add(pr->out, str_of(text));
}

static void print_quoted(struct printer *pr, struct str s)
{
    add(pr, "'");
    for (size_t i = 0; i < s.len; i++) {
        if (s.data[i] == '\'')
            add(pr, "'\\'");
        buf_addc(pr->out, s.data[i]);
    }
    add(pr, "'");
}

static void print_body(struct printer *pr, const struct redirect *r)
{
    struct str body = r->target->source;
    buf_add(pr->out, body);
    if (body.len && body.data[body.len - 1] != '\n')
        add(pr, "\n");
    buf_add(pr->out, r->delimiter);
    add(pr, "\n");
}

static void print_heredocs(struct printer *pr)
{
    if (!pr->heredoc_count)
        return;
    add(pr, "\n");
    for (size_t i = 0; i < pr->heredoc_count; i++)
        print_body(pr, pr->heredocs[i]);
    pr->heredoc_count = 0;
}

static void newline(struct printer *pr)
{
    print_heredocs(pr);
    buf_addf(pr->out, "\n%*s", (int)pr->indent, "");
}

static void indent(struct printer *pr)
{
    pr->indent += INDENT;
    newline(pr);
}

static void outdent(struct printer *pr)
{
    pr->indent -= INDENT;
    newline(pr);
}

static bool is_reserved(struct str word)
{
    static const char *const words[] = { "!", "[[", "case", "coproc", "do", "done",
        "elif", "else", "esac", "fi", "for", "function", "if", "in", "select", "then",
        "time", "until", "while", "{", "}" };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_is(word, words[i]))
            return true;
    return false;
}

/* A lone backslash at the end of a script is itself; anywhere else it needs another. */
static void print_word(struct printer *pr, const struct word *w)
{
    struct str s = w->source;
    size_t n = 0;
    while (n < s.len && s.data[s.len - 1 - n] == '\\')
        n++;
    buf_add(pr->out, s);
    if (n % 2)
        add(pr, "\\");
}

static void print_words(struct printer *pr, struct word *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        add(pr, " ");
        print_word(pr, words[i]);
    }
}

static void print_index(struct printer *pr, const struct word *index)
{
    if (!index)
        return;
    add(pr, "[");
    print_word(pr, index);
    add(pr, "]");
}

static void print_assign(struct printer *pr, const struct assign *a)
{
    buf_add(pr->out, a->name);
    print_index(pr, a->index);
    add(pr, a->flags & ASSIGN_APPEND ? "+=" : "=");
    if (a->value) {
        print_word(pr, a->value);
        return;
    }
    add(pr, "(");
    for (size_t i = 0; i < a->item_count; i++) {
        const struct array_item *item = &a->items[i];
        add(pr, i ? " " : "");
        print_index(pr, item->key);
        if (item->key)
            add(pr, item->append ? "+=" : "=");
        print_word(pr, item->value);
    }
    add(pr, ")");
}

static void print_descriptor(struct printer *pr, const struct redirect *r)
{
    bool reads = r->type == REDIR_DUP_READ || r->type == REDIR_READ_WRITE;
    bool dup = r->type == REDIR_DUP_READ ||
               (r->type == REDIR_DUP_WRITE && r->target->is_literal);
    if (r->fd_name.len)
        buf_addf(pr->out, "{%.*s}", STR_ARG(r->fd_name));
    else if (r->fd >= 0)
        buf_addf(pr->out, "%d", r->fd);
    else if (dup || reads)
        add(pr, reads ? "0" : "1");
}

static void print_heredoc(struct printer *pr, const struct redirect *r)
{
    add(pr, r->strip_tabs ? "<<-" : "<<");
    if (r->is_quoted)
        print_quoted(pr, r->delimiter);
    else
        buf_add(pr->out, r->delimiter);
    GROW(pr->heredocs, pr->heredoc_count, pr->heredoc_cap);
    pr->heredocs[pr->heredoc_count++] = r;
}

static void print_redirect(struct printer *pr, const struct redirect *r)
{
    static const char *const operators[] = {
        [REDIR_READ] = "< ",
        [REDIR_WRITE] = "> ",
        [REDIR_CLOBBER] = ">| ",
        [REDIR_APPEND] = ">> ",
        [REDIR_READ_WRITE] = "<> ",
        [REDIR_DUP_READ] = "<&",
        [REDIR_DUP_WRITE] = ">&",
        [REDIR_BOTH] = "&> ",
        [REDIR_BOTH_APPEND] = "&>> ",
        [REDIR_HERESTRING] = "<<< ",
    };
    print_descriptor(pr, r);
    if (r->type == REDIR_HEREDOC) {
        print_heredoc(pr, r);
        return;
    }
    add(pr, operators[r->type]);
    print_word(pr, r->target);
}

static bool ends_in_background(const struct node *n)
{
    while (n->type == NODE_SEQUENCE)
        n = n->sequence.items[n->sequence.count - 1];
    return n->type == NODE_BACKGROUND;
}

/* A `;` unless something ends the command already. */
static void end_command(struct printer *pr, const struct node *n)
{
    if (!ends_in_background(n) && !pr->heredoc_count)
        add(pr, ";");
}

static void print_sequence(struct printer *pr, const struct node *n)
{
    for (size_t i = 0; i < n->sequence.count; i++) {
        const struct node *item = n->sequence.items[i];
        print_node(pr, item);
        if (i + 1 == n->sequence.count)
            break;
        end_command(pr, item);
        if (item->type == NODE_BACKGROUND && !pr->heredoc_count)
            add(pr, " ");
        else
            newline(pr);
    }
}

/* The list of a condition, and the word behind it: `; then`. */
static void print_condition(struct printer *pr, const struct node *n, const char *word)
{
    print_node(pr, n);
    add(pr, ends_in_background(n) ? " " : "; ");
    add(pr, word);
}

/* An indented list between two words that are there already or follow. */
static void print_block(struct printer *pr, const struct node *n)
{
    indent(pr);
    print_node(pr, n);
    end_command(pr, n);
    outdent(pr);
}

static void print_group(struct printer *pr, const struct node *list)
{
    add(pr, "{ ");
    indent(pr);
    print_node(pr, list);
    outdent(pr);
    add(pr, "}");
}

static void print_subshell(struct printer *pr, const struct node *n)
{
    add(pr, "( ");
    print_node(pr, n->pair.a);
    print_heredocs(pr);
    add(pr, " )");
}

static void print_pair(struct printer *pr, const struct node *n, const char *op)
{
    print_node(pr, n->pair.a);
    add(pr, op);
    print_node(pr, n->pair.b);
}

static void print_pipeline(struct printer *pr, const struct node *n)
{
    if (n->pipeline.timed)
        add(pr, n->pipeline.timed_posix ? "time -p " : "time ");
    if (n->pipeline.negated)
        add(pr, "! ");
    else if (n->pipeline.count == 1 && !n->pipeline.timed)
        add(pr, "! ! ");
    for (size_t i = 0; i < n->pipeline.count; i++) {
        if (i)
            add(pr, n->pipeline.stderr_too[i - 1] ? " |& " : " | ");
        print_node(pr, n->pipeline.stages[i]);
    }
}

static void print_if(struct printer *pr, const struct node *n)
{
    add(pr, "if ");
    print_condition(pr, n->branch.cond, "then");
    print_block(pr, n->branch.then);
    if (n->branch.otherwise) {
        add(pr, "else");
        print_block(pr, n->branch.otherwise);
    }
    add(pr, "fi");
}

static void print_do(struct printer *pr, const struct node *body)
{
    newline(pr);
    add(pr, "do");
    print_block(pr, body);
    add(pr, "done");
}

static void print_loop(struct printer *pr, const struct node *n, const char *word)
{
    buf_addf(pr->out, "%s %.*s in", word, STR_ARG(n->loop.name));
    if (n->loop.has_in)
        print_words(pr, n->loop.words, n->loop.count);
    else
        add(pr, " \"$@\"");
    add(pr, ";");
    print_do(pr, n->loop.body);
}

static void print_while(struct printer *pr, const struct node *n, const char *word)
{
    add(pr, word);
    print_condition(pr, n->until.cond, "do");
    print_block(pr, n->until.body);
    add(pr, "done");
}

static void print_for_arith(struct printer *pr, const struct node *n)
{
    const struct arith_expr *const parts[] = { n->arith_loop.init, n->arith_loop.test,
        n->arith_loop.step };
    add(pr, "for ((");
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        add(pr, i ? "; " : "");
        if (parts[i])
            print_word(pr, parts[i]->text);
        else
            add(pr, "1");
    }
    add(pr, "))");
    print_do(pr, n->arith_loop.body);
}

static void print_case_item(struct printer *pr, const struct case_item *item)
{
    static const char *const ends[] = { ";;", ";&", ";;&" };
    if (str_is(item->patterns[0]->source, "esac"))
        add(pr, "(");
    for (size_t i = 0; i < item->count; i++) {
        add(pr, i ? " | " : "");
        print_word(pr, item->patterns[i]);
    }
    add(pr, ")");
    if (item->body) {
        indent(pr);
        print_node(pr, item->body);
        outdent(pr);
    } else {
        add(pr, "\n");
        newline(pr);
    }
    add(pr, ends[item->end]);
}

static void print_case(struct printer *pr, const struct node *n)
{
    add(pr, "case ");
    print_word(pr, n->choice.subject);
    add(pr, " in ");
    pr->indent += INDENT;
    for (size_t i = 0; i < n->choice.count; i++) {
        newline(pr);
        print_case_item(pr, &n->choice.items[i]);
    }
    outdent(pr);
    add(pr, "esac");
}

static bool needs_keyword(struct str name)
{
    return is_reserved(name) || (name.len && memchr(name.data, '=', name.len));
}

static void print_function(struct printer *pr, const struct node *n)
{
    const struct node *body = n->function.body;
    bool nested = pr->in_function;
    if (nested || needs_keyword(n->function.name))
        add(pr, "function ");
    buf_addf(pr->out, "%.*s () ", STR_ARG(n->function.name));
    newline(pr);
    pr->in_function = true;
    if (body->type == NODE_GROUP)
        print_node(pr, body);
    else
        print_group(pr, body);
    pr->in_function = nested;
}

/* `coproc > x a {` is a command with an argument; `coproc a {` would be its name. */
static void print_coproc(struct printer *pr, const struct node *n)
{
    const struct node *body = n->coproc.body;
    add(pr, "coproc ");
    if (body->type != NODE_SIMPLE) {
        buf_addf(pr->out, "%.*s ", STR_ARG(n->coproc.name));
        print_node(pr, body);
        return;
    }
    print_redirects(pr, body);
    add(pr, body->redirect_count ? " " : "");
    print_command(pr, body);
}

const char *cond_operator_name(enum cond_op op)
{
    static const char *const operators[] = {
        [COND_EQ] = "==",
        [COND_NE] = "!=",
        [COND_MATCH] = "=~",
        [COND_LESS] = "<",
        [COND_GREATER] = ">",
        [COND_NUM_EQ] = "-eq",
        [COND_NUM_NE] = "-ne",
        [COND_NUM_LT] = "-lt",
        [COND_NUM_LE] = "-le",
        [COND_NUM_GT] = "-gt",
        [COND_NUM_GE] = "-ge",
        [COND_NEWER] = "-nt",
        [COND_OLDER] = "-ot",
        [COND_SAME] = "-ef",
    };
    return operators[op];
}

/* How tightly an expression holds together: || 0, && 1, all else 2. */
static int cond_level(const struct cond *c)
{
    return c->type == COND_OR ? 0 : c->type == COND_AND ? 1 : 2;
}

static void print_cond(struct printer *pr, const struct cond *c, int level)
{
    bool parens = cond_level(c) < level;
    add(pr, parens ? "( " : "");
    switch (c->type) {
    case COND_WORD:
        print_word(pr, c->left);
        break;
    case COND_UNARY:
        buf_addf(pr->out, "-%c ", c->op);
        print_word(pr, c->left);
        break;
    case COND_BINARY:
        print_word(pr, c->left);
        buf_addf(pr->out, " %s ", cond_operator_name(c->op));
        print_word(pr, c->right);
        break;
    case COND_NOT:
        add(pr, "! ");
        print_cond(pr, c->a, 2);
        break;
    case COND_AND:
    case COND_OR:
        print_cond(pr, c->a, cond_level(c));
        add(pr, c->type == COND_AND ? " && " : " || ");
        print_cond(pr, c->b, cond_level(c) + 1);
        break;
    }
    add(pr, parens ? " )" : "");
}

static void print_simple(struct printer *pr, const struct node *n)
{
    for (size_t i = 0; i < n->simple.assign_count; i++) {
        add(pr, i ? " " : "");
        print_assign(pr, &n->simple.assigns[i]);
    }
    for (size_t i = 0; i < n->simple.arg_count; i++) {
        const struct arg *arg = &n->simple.args[i];
        add(pr, i || n->simple.assign_count ? " " : "");
        if (arg->assign && (arg->assign->flags & ASSIGN_ARRAY))
            print_assign(pr, arg->assign);
        else
            print_word(pr, arg->word);
    }
}

static void print_command(struct printer *pr, const struct node *n)
{
    switch (n->type) {
    case NODE_SIMPLE:
        print_simple(pr, n);
        break;
    case NODE_PIPELINE:
        print_pipeline(pr, n);
        break;
    case NODE_AND:
        print_pair(pr, n, " && ");
        break;
    case NODE_OR:
        print_pair(pr, n, " || ");
        break;
    case NODE_SEQUENCE:
        print_sequence(pr, n);
        break;
    case NODE_BACKGROUND:
        print_node(pr, n->pair.a);
        add(pr, " &");
        break;
    case NODE_SUBSHELL:
        print_subshell(pr, n);
        break;
    case NODE_GROUP:
        print_group(pr, n->pair.a);
        break;
    case NODE_IF:
        print_if(pr, n);
        break;
    case NODE_FOR:
        print_loop(pr, n, "for");
        break;
    case NODE_SELECT:
        print_loop(pr, n, "select");
        break;
    case NODE_FOR_ARITH:
        print_for_arith(pr, n);
        break;
    case NODE_WHILE:
        print_while(pr, n, "while ");
        break;
    case NODE_UNTIL:
        print_while(pr, n, "until ");
        break;
    case NODE_CASE:
        print_case(pr, n);
        break;
    case NODE_COND:
        add(pr, "[[ ");
        print_cond(pr, n->cond, 0);
        add(pr, " ]]");
        break;
    case NODE_ARITH:
        add(pr, "((");
        print_word(pr, n->arith->text);
        add(pr, "))");
        break;
    case NODE_FUNCTION:
        print_function(pr, n);
        break;
    case NODE_COPROC:
        print_coproc(pr, n);
        break;
    }
}

static void print_redirects(struct printer *pr, const struct node *n)
{
    for (size_t i = 0; i < n->redirect_count; i++) {
        add(pr, i ? " " : "");
        print_redirect(pr, &n->redirects[i]);
    }
}

/* `> x if` runs a command named if; `if > x` would not. */
static bool hides_keyword(const struct node *n)
{
    return n->type == NODE_SIMPLE && !n->simple.assign_count && n->simple.arg_count &&
           is_reserved(n->simple.args[0].word->source);
}

static void print_node(struct printer *pr, const struct node *n)
{
    bool is_empty =
            n->type == NODE_SIMPLE && !n->simple.arg_count && !n->simple.assign_count;
    bool first = hides_keyword(n);
    if (first)
        print_redirects(pr, n);
    add(pr, first && n->redirect_count ? " " : "");
    print_command(pr, n);
    add(pr, !first && n->redirect_count && !is_empty ? " " : "");
    if (!first)
        print_redirects(pr, n);
}

void ast_print(const struct node *n, struct buf *out)
{
    struct printer pr = { .out = out };
    print_node(&pr, n);
    print_heredocs(&pr);
    free(pr.heredocs);
}
