#include "tree-dump.h"

static void add(struct buf *out, const char *text)
{
    buf_add(out, str_of(text));
}

/* --- arithmetic --- */

static void dump_op(int op, struct buf *out)
{
    static const char *const names[] = { "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
        "**" };
    if (op >= OP_SHL)
        add(out, names[op - OP_SHL]);
    else if (op)
        buf_addc(out, (char)op);
}

static void dump_operands(const struct arith *a, struct buf *out)
{
    const struct arith *const all[] = { a->a, a->b, a->c };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (!all[i])
            continue;
        buf_addc(out, ' ');
        dump_arith(all[i], out);
    }
    buf_addc(out, ')');
}

void dump_arith(const struct arith *a, struct buf *out)
{
    static const char *const names[] = {
        [ARITH_UNARY] = "u",
        [ARITH_PRE_INC] = "++_",
        [ARITH_PRE_DEC] = "--_",
        [ARITH_POST_INC] = "_++",
        [ARITH_POST_DEC] = "_--",
        [ARITH_BINARY] = "",
        [ARITH_TERNARY] = "?",
        [ARITH_COMMA] = ",",
        [ARITH_ASSIGN] = "",
    };
    if (out->full)
        return;
    if (a->type == ARITH_NUMBER) {
        buf_addf(out, "%lld", (long long)a->value);
    } else if (a->type == ARITH_WORD) {
        dump_word(a->word, out);
    } else if (a->type == ARITH_VAR) {
        buf_add(out, a->name);
        if (!a->word)
            return;
        buf_addc(out, '[');
        dump_word(a->word, out);
        if (a->index) {
            add(out, " = ");
            dump_arith(a->index, out);
        }
        buf_addc(out, ']');
    } else {
        buf_addc(out, '(');
        add(out, names[a->type]);
        dump_op(a->op, out);
        add(out, a->type == ARITH_ASSIGN ? "=" : "");
        dump_operands(a, out);
    }
}

static void dump_expr(const struct arith_expr *x, struct buf *out)
{
    if (!x) {
        buf_addc(out, '-');
    } else if (x->tree) {
        dump_arith(x->tree, out);
    } else {
        add(out, "text:");
        dump_word(x->text, out);
    }
}

/* --- words --- */

static void dump_param(const struct param *x, struct buf *out)
{
    static const char *const names[] = {
        [PARAM_VALUE] = "",
        [PARAM_LENGTH] = " length",
        [PARAM_DEFAULT] = " -",
        [PARAM_ASSIGN] = " =",
        [PARAM_REQUIRE] = " ?",
        [PARAM_ALTERNATE] = " +",
        [PARAM_TRIM_PREFIX] = " #",
        [PARAM_TRIM_PREFIX_LONG] = " ##",
        [PARAM_TRIM_SUFFIX] = " %",
        [PARAM_TRIM_SUFFIX_LONG] = " %%",
        [PARAM_REPLACE] = " /",
        [PARAM_REPLACE_ALL] = " //",
        [PARAM_REPLACE_PREFIX] = " /#",
        [PARAM_REPLACE_SUFFIX] = " /%",
        [PARAM_SUBSTRING] = " :",
        [PARAM_UPPER_FIRST] = " ^",
        [PARAM_UPPER] = " ^^",
        [PARAM_LOWER_FIRST] = " ,",
        [PARAM_LOWER] = " ,,",
        [PARAM_TOGGLE_FIRST] = " ~",
        [PARAM_TOGGLE] = " ~~",
        [PARAM_TRANSFORM] = " @",
        [PARAM_NAMES] = " names",
        [PARAM_KEYS] = " keys",
    };
    buf_addf(out, "${%s%.*s", x->indirect ? "!" : "", STR_ARG(x->name));
    if (x->subscript == SUB_INDEX) {
        buf_addc(out, '[');
        dump_word(x->index, out);
        buf_addc(out, ']');
    } else if (x->subscript != SUB_NONE) {
        add(out, x->subscript == SUB_AT ? "[@]" : "[*]");
    }
    add(out, names[x->op]);
    add(out, x->colon ? ":" : "");
    add(out, x->star ? " star" : "");
    if (x->transform)
        buf_addc(out, x->transform);
    const struct word *const words[] = { x->arg, x->replacement };
    for (size_t i = 0; i < 2; i++) {
        if (!words[i])
            continue;
        add(out, " <");
        dump_word(words[i], out);
        buf_addc(out, '>');
    }
    if (x->op == PARAM_SUBSTRING) {
        buf_addc(out, ' ');
        dump_expr(x->offset, out);
        buf_addc(out, ' ');
        dump_expr(x->length, out);
    }
    buf_addc(out, '}');
}

static void dump_range(const struct part *part, struct buf *out)
{
    if (part->range.letters)
        buf_addf(out, "{%c..%c/%lld", (char)part->range.from, (char)part->range.to,
                (long long)part->range.step);
    else
        buf_addf(out, "{%lld..%lld/%lld", (long long)part->range.from,
                (long long)part->range.to, (long long)part->range.step);
    if (part->range.width)
        buf_addf(out, " width %d", part->range.width);
    buf_addc(out, '}');
}

static void dump_braces(const struct part *part, struct buf *out)
{
    for (size_t i = 0; i < part->braces.count; i++) {
        buf_addc(out, i ? ',' : '{');
        dump_word(part->braces.items[i], out);
    }
    buf_addc(out, '}');
}

static void dump_body(const char *open, const struct node *body, struct buf *out)
{
    add(out, open);
    if (body)
        dump_node(body, out);
    buf_addc(out, ')');
}

static void dump_part(const struct part *part, struct buf *out)
{
    if (part->quoted && part->type != PART_TEXT)
        add(out, "\"");
    switch (part->type) {
    case PART_TEXT:
        buf_addf(out, part->quoted ? "'%.*s'" : "%.*s", STR_ARG(part->text));
        break;
    case PART_PARAM:
        dump_param(part->param, out);
        break;
    case PART_COMMAND:
        dump_body("$(", part->command.body, out);
        break;
    case PART_PROCESS:
        dump_body(part->command.writer ? ">(" : "<(", part->command.body, out);
        break;
    case PART_ARITH:
        add(out, "$((");
        dump_expr(part->arith, out);
        add(out, "))");
        break;
    case PART_TILDE:
        buf_addf(out, "~<%.*s>", STR_ARG(part->text));
        break;
    case PART_BRACES:
        dump_braces(part, out);
        break;
    case PART_RANGE:
        dump_range(part, out);
        break;
    }
    if (part->quoted && part->type != PART_TEXT)
        add(out, "\"");
}

void dump_word(const struct word *w, struct buf *out)
{
    for (size_t i = 0; i < w->count; i++)
        dump_part(&w->parts[i], out);
}

/* --- commands --- */

static void dump_words(struct word **words, size_t count, struct buf *out)
{
    for (size_t i = 0; i < count; i++) {
        buf_addc(out, ' ');
        dump_word(words[i], out);
    }
}

static void dump_assign(const struct assign *a, struct buf *out)
{
    buf_addf(out, " [%.*s", STR_ARG(a->name));
    if (a->index) {
        buf_addc(out, '[');
        dump_word(a->index, out);
        buf_addc(out, ']');
    }
    add(out, a->flags & ASSIGN_APPEND ? "+=" : "=");
    if (a->flags & ASSIGN_ARRAY)
        buf_addc(out, '(');
    for (size_t i = 0; i < a->item_count; i++) {
        const struct array_item *item = &a->items[i];
        add(out, i ? " " : "");
        if (item->key) {
            buf_addc(out, '[');
            dump_word(item->key, out);
            add(out, item->append ? "]+=" : "]=");
        }
        dump_word(item->value, out);
    }
    if (a->flags & ASSIGN_ARRAY)
        buf_addc(out, ')');
    if (a->value)
        dump_word(a->value, out);
    buf_addc(out, ']');
}

static void dump_redirects(const struct node *n, struct buf *out)
{
    static const char *const names[] = { "<", ">", ">|", ">>", "<>", "<&", ">&", "&>",
        "&>>", "<<", "<<<" };
    for (size_t i = 0; i < n->redirect_count; i++) {
        const struct redirect *r = &n->redirects[i];
        buf_addc(out, ' ');
        if (r->fd_name.len)
            buf_addf(out, "{%.*s}", STR_ARG(r->fd_name));
        if (r->fd >= 0)
            buf_addf(out, "%d", r->fd);
        add(out, names[r->type]);
        dump_word(r->target, out);
    }
}

static void dump_simple(const struct node *n, struct buf *out)
{
    add(out, "(cmd");
    for (size_t i = 0; i < n->simple.assign_count; i++)
        dump_assign(&n->simple.assigns[i], out);
    for (size_t i = 0; i < n->simple.arg_count; i++) {
        const struct arg *arg = &n->simple.args[i];
        /* Both readings share their parts: dumping both would double at each level. */
        if (arg->assign && !arg->word->has_braces) {
            dump_assign(arg->assign, out);
        } else {
            buf_addc(out, ' ');
            dump_word(arg->word, out);
        }
    }
}

static void dump_pipeline(const struct node *n, struct buf *out)
{
    add(out, "(pipe");
    add(out, n->pipeline.negated ? " !" : "");
    add(out, n->pipeline.timed ? " time" : "");
    add(out, n->pipeline.timed_posix ? " -p" : "");
    for (size_t i = 0; i < n->pipeline.count; i++) {
        buf_addc(out, ' ');
        dump_node(n->pipeline.stages[i], out);
        add(out, n->pipeline.stderr_too[i] ? " &" : "");
    }
}

static void dump_case(const struct node *n, struct buf *out)
{
    static const char *const ends[] = { ";;", ";&", ";;&" };
    add(out, "(case ");
    dump_word(n->choice.subject, out);
    for (size_t i = 0; i < n->choice.count; i++) {
        const struct case_item *item = &n->choice.items[i];
        add(out, " [");
        for (size_t j = 0; j < item->count; j++) {
            add(out, j ? "|" : "");
            dump_word(item->patterns[j], out);
        }
        add(out, ": ");
        if (item->body)
            dump_node(item->body, out);
        buf_addf(out, " %s]", ends[item->end]);
    }
}

static void dump_cond(const struct cond *c, struct buf *out)
{
    static const char *const ops[] = { "==", "!=", "=~", "<", ">", "-eq", "-ne", "-lt",
        "-le", "-gt", "-ge", "-nt", "-ot", "-ef" };
    buf_addc(out, '(');
    if (c->type == COND_UNARY)
        buf_addf(out, "-%c ", c->op);
    else if (c->type == COND_BINARY)
        buf_addf(out, "%s ", ops[c->op]);
    else if (c->type != COND_WORD)
        add(out, c->type == COND_NOT ? "! " : c->type == COND_AND ? "&& " : "|| ");
    if (c->a)
        dump_cond(c->a, out);
    if (c->b)
        dump_cond(c->b, out);
    if (c->left)
        dump_word(c->left, out);
    if (c->right) {
        buf_addc(out, ' ');
        dump_word(c->right, out);
    }
    buf_addc(out, ')');
}

static void dump_list(
        const char *name, const struct node *const *items, size_t count, struct buf *out)
{
    buf_addf(out, "(%s", name);
    for (size_t i = 0; i < count; i++) {
        if (!items[i])
            continue;
        buf_addc(out, ' ');
        dump_node(items[i], out);
    }
}

static void dump_loop(const struct node *n, const char *name, struct buf *out)
{
    buf_addf(out, "(%s %.*s", name, STR_ARG(n->loop.name));
    if (n->loop.has_in)
        add(out, " in");
    dump_words(n->loop.words, n->loop.count, out);
    add(out, " do ");
    dump_node(n->loop.body, out);
}

static void dump_for_arith(const struct node *n, struct buf *out)
{
    const struct arith_expr *const parts[] = { n->arith_loop.init, n->arith_loop.test,
        n->arith_loop.step };
    add(out, "(for");
    for (size_t i = 0; i < 3; i++) {
        buf_addc(out, ' ');
        dump_expr(parts[i], out);
    }
    add(out, " do ");
    dump_node(n->arith_loop.body, out);
}

static void dump_named(
        const char *type, struct str name, const struct node *body, struct buf *out)
{
    buf_addf(out, "(%s %.*s ", type, STR_ARG(name));
    dump_node(body, out);
}

#define LIST(name, ...)                                      \
    do {                                                     \
        const struct node *const items_[] = { __VA_ARGS__ }; \
        dump_list(name, items_, ARRAY_LEN(items_), out);     \
    } while (0)

static void dump_head(const struct node *n, struct buf *out)
{
    switch (n->type) {
    case NODE_SIMPLE:
        dump_simple(n, out);
        break;
    case NODE_PIPELINE:
        dump_pipeline(n, out);
        break;
    case NODE_AND:
        LIST("&&", n->pair.a, n->pair.b);
        break;
    case NODE_OR:
        LIST("||", n->pair.a, n->pair.b);
        break;
    case NODE_SEQUENCE:
        dump_list("list", (const struct node *const *)n->sequence.items,
                n->sequence.count, out);
        break;
    case NODE_BACKGROUND:
        LIST("bg", n->pair.a);
        break;
    case NODE_SUBSHELL:
        LIST("sub", n->pair.a);
        break;
    case NODE_GROUP:
        LIST("group", n->pair.a);
        break;
    case NODE_IF:
        LIST("if", n->branch.cond, n->branch.then, n->branch.otherwise);
        break;
    case NODE_FOR:
        dump_loop(n, "for", out);
        break;
    case NODE_SELECT:
        dump_loop(n, "select", out);
        break;
    case NODE_FOR_ARITH:
        dump_for_arith(n, out);
        break;
    case NODE_WHILE:
        LIST("while", n->until.cond, n->until.body);
        break;
    case NODE_UNTIL:
        LIST("until", n->until.cond, n->until.body);
        break;
    case NODE_CASE:
        dump_case(n, out);
        break;
    case NODE_COND:
        add(out, "([[ ");
        dump_cond(n->cond, out);
        break;
    case NODE_ARITH:
        add(out, "((( ");
        dump_expr(n->arith, out);
        break;
    case NODE_FUNCTION:
        dump_named("function", n->function.name, n->function.body, out);
        break;
    case NODE_COPROC:
        dump_named("coproc", n->coproc.name, n->coproc.body, out);
        break;
    }
}

void dump_node(const struct node *n, struct buf *out)
{
    dump_head(n, out);
    dump_redirects(n, out);
    buf_addc(out, ')');
}
