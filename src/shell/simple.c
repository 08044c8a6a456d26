/*
 * simple.c - simple commands: assignments, arguments, redirections in any order.
 */
#include "shell/cmd.h"
#include "shell/word.h"

struct assign_list {
    struct assign *items;
    size_t count, cap;
};

struct arg_list {
    struct arg *items;
    size_t count, cap;
};

struct item_list {
    struct array_item *items;
    size_t count, cap;
};

/* Commands that may take name=( ... ) as an argument. */
static bool takes_arrays(const struct word *w)
{
    static const char *const names[] = { "alias", "declare", "eval", "export", "let",
        "local", "readonly", "typeset" };
    for (size_t i = 0; w->is_literal && i < ARRAY_LEN(names); i++)
        if (str_is(w->literal, names[i]))
            return true;
    return false;
}

/* The pieces of `name[index]+=` by offset. */
struct target {
    size_t name_end;
    size_t index_end; /* of the `]`; 0: no subscript */
    bool append;
    size_t value;
};

static bool find_target(struct parser *p, bool in_word, struct target *t)
{
    const struct input *in = p->in;
    size_t n = lex_name_length(p, in->at);
    *t = (struct target){ .name_end = in->at + n };
    if (!n)
        return false;
    size_t at = t->name_end;
    if (at < in->end && in->text.data[at] == '[') {
        t->index_end = lex_scan(p, at + 1, ']', in_word);
        if (t->index_end == SCAN_FAILED && !in_word)
            parse_unclosed(p, lex_pos_at(p, at), "]");
        if (t->index_end == SCAN_FAILED)
            return false;
        at = t->index_end + 1;
    }
    if (at < in->end && in->text.data[at] == '+') {
        t->append = true;
        at++;
    }
    t->value = at + 1;
    return at < in->end && in->text.data[at] == '=';
}

/* What was read since `from` once more as a word of its own, if that has braces. */
static struct word *read_braced(struct parser *p, size_t from)
{
    size_t end = p->in->at;
    if (p->failed || !memchr(p->in->text.data + from, '{', end - from))
        return NULL;
    struct limit limit = lex_narrow(p, from, end);
    struct word *w = word_read(p, WORD_BRACES);
    lex_widen(p, limit, end);
    return w && w->has_braces ? w : NULL;
}

static struct array_item read_item(struct parser *p)
{
    struct array_item item = { .key = NULL };
    size_t from = p->in->at + 1;
    if (peek(p) == '[') {
        size_t close = lex_scan(p, from, ']', false);
        if (close == SCAN_FAILED) {
            parse_unclosed(p, lex_pos(p), "]");
            return item;
        }
        size_t n = close - p->in->at + 1;
        item.append = peek_at(p, n) == '+' && peek_at(p, n + 1) == '=';
        n += item.append;
        if (peek_at(p, n) == '=') {
            word_read_subscript(p, from, close, &item.key, &item.key_arith);
            if (!p->failed)
                p->in->at = close + 2 + item.append;
            item.value = word_read_in(p, CTX_WORD, WORD_TILDE | WORD_COLONS);
            item.braced = read_braced(p, from - 1);
            return item;
        }
    }
    item.value = word_read(p, WORD_BRACES | WORD_TILDE);
    return item;
}

static void read_array(struct parser *p, struct assign *a)
{
    struct pos open = lex_pos(p);
    struct item_list list = { .items = NULL };
    advance(p, 1);
    for (;;) {
        lex_skip_newlines(p);
        int c = peek(p);
        if (c == ')' || c < 0)
            break;
        struct array_item item = read_item(p);
        if (!item.value) {
            parse_unexpected(p);
            break;
        }
        APPEND(p, list, item);
    }
    if (peek(p) < 0)
        parse_unclosed(p, open, ")");
    else
        advance(p, 1);
    if (!lex_is_delimiter(peek(p)))
        parse_unexpected(p);
    a->flags |= ASSIGN_ARRAY;
    a->items = list.items;
    a->item_count = list.count;
}

static void read_assignment(
        struct parser *p, const struct target *t, bool arrays, struct assign *a)
{
    *a = (struct assign){ .pos = lex_pos(p) };
    a->name = lex_slice(p, p->in->at, t->name_end);
    a->flags = t->append ? ASSIGN_APPEND : 0;
    if (t->index_end)
        word_read_subscript(p, t->name_end + 1, t->index_end, &a->index, &a->index_arith);
    if (!p->failed)
        p->in->at = t->value;
    bool array = arrays && peek(p) == '(';
    if (array && t->index_end)
        parse_fail(
                p, a->pos, "%.*s: cannot assign list to array member", STR_ARG(a->name));
    else if (array)
        read_array(p, a);
    else
        a->value = word_read_in(p, CTX_WORD, WORD_TILDE | WORD_COLONS);
    p->last_end = p->in->at;
}

static void append_word(struct parser *p, struct part_list *parts, const struct word *w)
{
    for (size_t i = 0; w && i < w->count; i++)
        APPEND(p, *parts, w->parts[i]);
}

/* The argument as a plain word, made of the same parts. */
static struct word *assignment_as_word(struct parser *p, const struct target *t,
        const struct assign *a, struct mark from)
{
    struct str source = lex_source(p, from);
    struct part_list parts = { .items = NULL };
    size_t first = t->index_end ? t->name_end + 1 : t->value;
    word_add_text(p, &parts, lex_slice(p, from.at, first), false);
    append_word(p, &parts, a->index);
    if (t->index_end)
        word_add_text(p, &parts, lex_slice(p, t->index_end, t->value), false);
    append_word(p, &parts, a->value);
    if (a->flags & ASSIGN_ARRAY)
        word_add_text(p, &parts, str_from(source, t->value - from.at), true);
    if (source.len && memchr(source.data, '{', source.len))
        parts = word_find_braces(p, parts);
    return word_new(p, parts, a->pos, source);
}

static struct arg read_arg(struct parser *p, bool arrays)
{
    struct arg arg = { .word = NULL };
    struct mark from = lex_mark(p);
    struct target t;
    if (!find_target(p, true, &t)) {
        arg.word = word_read(p, WORD_BRACES | WORD_TILDE);
        return arg;
    }
    arg.assign = arena_alloc(p->arena, sizeof(*arg.assign));
    read_assignment(p, &t, arrays, arg.assign);
    if (!p->failed)
        arg.word = assignment_as_word(p, &t, arg.assign, from);
    return arg;
}

struct simple {
    struct parser *p;
    struct mark start;
    struct assign_list assigns;
    struct arg_list args;
    struct redirect_list redirects;
    bool arrays; /* the command takes them as arguments */
};

/* `name ( )` after the first word. */
static bool begins_function(const struct simple *s)
{
    struct parser *p = s->p;
    if (s->args.count != 1 || s->assigns.count || s->redirects.count)
        return false;
    lex_skip_blanks(p);
    return peek(p) == '(';
}

static struct node *read_function(struct simple *s)
{
    struct parser *p = s->p;
    const struct word *w = s->args.items[0].word;
    if (!parse_is_function_name(w))
        return parse_unexpected(p);
    advance(p, 1);
    lex_skip_blanks(p);
    if (!lex_accept(p, ")"))
        return parse_unexpected(p);
    return parse_function_body(p, w->source, s->start);
}

static bool read_element(struct simple *s)
{
    struct parser *p = s->p;
    if (p->alias_next || (!s->args.count && s->assigns.count))
        lex_expand_aliases(p);
    p->alias_next = false;
    if (parse_redirect(p, &s->redirects))
        return true;
    struct target t = { .index_end = 0 };
    if (!s->args.count && find_target(p, false, &t)) {
        struct assign a;
        read_assignment(p, &t, true, &a);
        APPEND(p, s->assigns, a);
        return !p->failed;
    }
    struct arg arg = { .word = NULL };
    /* bash reads `name[...]` in one piece here, even if it is no assignment. */
    if (!s->args.count && t.index_end && !p->failed)
        arg.word = word_read_solid(p, WORD_BRACES | WORD_TILDE, t.index_end);
    else
        arg = read_arg(p, s->arrays);
    if (!arg.word)
        return false;
    if (!s->args.count)
        s->arrays = takes_arrays(arg.word);
    APPEND(p, s->args, arg);
    return !p->failed;
}

struct node *parse_simple(struct parser *p)
{
    struct simple s = { .p = p, .start = lex_mark(p) };
    struct node *n = parse_node(p, NODE_SIMPLE, lex_pos(p));
    while (read_element(&s))
        if (begins_function(&s))
            return read_function(&s);
    if (!s.args.count && !s.assigns.count && !s.redirects.count)
        return parse_unexpected(p);
    n->redirects = s.redirects.items;
    n->redirect_count = s.redirects.count;
    n->simple.assigns = s.assigns.items;
    n->simple.assign_count = s.assigns.count;
    n->simple.args = s.args.items;
    n->simple.arg_count = s.args.count;
    if (s.args.count && s.args.items[0].word->is_literal)
        n->simple.builtin = command_find(s.args.items[0].word->literal);
    n->source = lex_source(p, s.start);
    return n;
}
