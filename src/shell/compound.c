/*
 * compound.c - compound commands: each rule begins behind its reserved word.
 */
#include "shell/word.h"

struct word_list {
    struct word **items;
    size_t count, cap;
};

struct case_list {
    struct case_item *items;
    size_t count, cap;
};

static struct node *expect_close(struct parser *p, struct node *n)
{
    lex_skip_blanks(p);
    if (!lex_accept(p, ")"))
        return parse_unexpected(p);
    return n;
}

static struct node *parse_subshell(struct parser *p, struct pos pos)
{
    struct node *n = parse_node(p, NODE_SUBSHELL, pos);
    advance(p, 1);
    n->pair.a = parse_body(p);
    return expect_close(p, n);
}

static struct arith_expr *read_expression(struct parser *p, size_t from, size_t to)
{
    return arith_parse(p, word_read_range(p, CTX_ARITH, from, to));
}

static void skip_to(struct parser *p, size_t at)
{
    if (!p->failed)
        advance(p, at - p->in->at);
}

/* Where `((` closes; SCAN_FAILED if it does not close as one. */
static size_t find_double_close(struct parser *p)
{
    size_t close = lex_scan(p, p->in->at + 2, ')', false);
    if (close == SCAN_FAILED)
        parse_unclosed(p, lex_pos(p), ")");
    else if (close + 1 < p->in->end && p->in->text.data[close + 1] == ')')
        return close;
    return SCAN_FAILED;
}

/* ( list ) or (( expression )) */
static struct node *parse_parenthesis(struct parser *p, struct pos pos)
{
    size_t close = peek_at(p, 1) == '(' ? find_double_close(p) : SCAN_FAILED;
    if (close == SCAN_FAILED)
        return parse_subshell(p, pos);
    struct node *n = parse_node(p, NODE_ARITH, pos);
    n->arith = read_expression(p, p->in->at + 2, close);
    skip_to(p, close + 2);
    return n;
}

static struct node *parse_group(struct parser *p, struct pos pos)
{
    struct node *n = parse_node(p, NODE_GROUP, pos);
    n->pair.a = parse_body(p);
    lex_expect_keyword(p, "}");
    return n;
}

static struct node *parse_if(struct parser *p, struct pos pos)
{
    struct node *n = parse_node(p, NODE_IF, pos);
    n->branch.cond = parse_body(p);
    lex_expect_keyword(p, "then");
    n->branch.then = parse_body(p);
    lex_skip_blanks(p);
    struct pos elif = lex_pos(p);
    struct mark start = lex_mark(p);
    if (lex_accept_keyword(p, "elif")) {
        if (parse_enter(p)) {
            n->branch.otherwise = parse_if(p, elif);
            n->branch.otherwise->source = lex_source(p, start);
        }
        parse_leave(p);
        return n;
    }
    if (lex_accept_keyword(p, "else"))
        n->branch.otherwise = parse_body(p);
    lex_expect_keyword(p, "fi");
    return n;
}

/* do list done, or { list } where bash allows it. */
static struct node *parse_loop_body(struct parser *p, bool braces)
{
    lex_skip_newlines(p);
    bool group = braces && lex_accept_keyword(p, "{");
    if (!group && !lex_expect_keyword(p, "do"))
        return NULL;
    struct node *body = parse_body(p);
    lex_expect_keyword(p, group ? "}" : "done");
    return body;
}

static struct node *parse_loop(struct parser *p, enum node_type type, struct pos pos)
{
    struct node *n = parse_node(p, type, pos);
    n->until.cond = parse_body(p);
    n->until.body = parse_loop_body(p, false);
    return n;
}

static struct node *parse_while(struct parser *p, struct pos pos)
{
    return parse_loop(p, NODE_WHILE, pos);
}

static struct node *parse_until(struct parser *p, struct pos pos)
{
    return parse_loop(p, NODE_UNTIL, pos);
}

static void read_words(struct parser *p, struct node *n)
{
    struct word_list words = { .items = NULL };
    struct word *w;
    while (!p->failed && (w = word_read(p, WORD_BRACES | WORD_TILDE)))
        APPEND(p, words, w);
    n->loop.has_in = true;
    n->loop.words = words.items;
    n->loop.count = words.count;
}

/* What is left out of (( ; ; )) is NULL. */
static struct arith_expr *read_loop_part(struct parser *p, size_t from, size_t to)
{
    while (from < to && strchr(" \t\n", p->in->text.data[from]))
        from++;
    return from < to ? read_expression(p, from, to) : NULL;
}

static struct node *parse_for_arith(struct parser *p, struct pos pos)
{
    struct node *n = parse_node(p, NODE_FOR_ARITH, pos);
    size_t from = p->in->at + 2, close = find_double_close(p);
    if (close == SCAN_FAILED)
        return parse_unexpected(p);
    struct limit limit = lex_narrow(p, from, close);
    size_t first = lex_scan(p, from, ';', false);
    size_t second = first == SCAN_FAILED ? first : lex_scan(p, first + 1, ';', false);
    size_t third = second == SCAN_FAILED ? second : lex_scan(p, second + 1, ';', false);
    lex_widen(p, limit, p->in->at);
    if (second == SCAN_FAILED)
        return parse_fail(p, pos, "syntax error: arithmetic expression required");
    if (third != SCAN_FAILED)
        return parse_fail(p, lex_pos_at(p, third), "syntax error: `;' unexpected");
    n->arith_loop.init = read_loop_part(p, from, first);
    n->arith_loop.test = read_loop_part(p, first + 1, second);
    n->arith_loop.step = read_loop_part(p, second + 1, close);
    skip_to(p, close + 2);
    lex_skip_blanks(p);
    lex_accept(p, ";");
    n->arith_loop.body = parse_loop_body(p, true);
    return n;
}

static bool read_loop_name(struct parser *p, struct node *n)
{
    lex_skip_blanks(p);
    struct pos pos = lex_pos(p);
    size_t len = lex_name_length(p, p->in->at);
    struct str token = lex_next_token(p);
    if (!len || !lex_is_delimiter(peek_at(p, len))) {
        if (!token.len || lex_is_delimiter((unsigned char)token.data[0]) ||
                str_is(token, "newline"))
            return parse_unexpected(p);
        return parse_fail(p, pos, "`%.*s': not a valid identifier", STR_ARG(token));
    }
    n->loop.name = lex_slice(p, p->in->at, p->in->at + len);
    advance(p, len);
    return true;
}

static struct node *parse_named_loop(
        struct parser *p, enum node_type type, struct pos pos)
{
    struct node *n = parse_node(p, type, pos);
    if (!read_loop_name(p, n))
        return NULL;
    lex_skip_blanks(p);
    bool separated = !lex_match(p, ";;") && lex_accept(p, ";");
    if (!separated) {
        separated = lex_accept_newline(p);
        lex_skip_newlines(p);
        if (lex_accept_keyword(p, "in")) {
            read_words(p, n);
            separated = !lex_match(p, ";;") && lex_accept(p, ";");
            if (!separated && !(separated = lex_accept_newline(p)))
                return parse_unexpected(p);
        }
    }
    n->loop.body = parse_loop_body(p, separated);
    return n;
}

static struct node *parse_for(struct parser *p, struct pos pos)
{
    lex_skip_blanks(p);
    if (lex_match(p, "(("))
        return parse_for_arith(p, pos);
    return parse_named_loop(p, NODE_FOR, pos);
}

static struct node *parse_select(struct parser *p, struct pos pos)
{
    return parse_named_loop(p, NODE_SELECT, pos);
}

static bool read_patterns(struct parser *p, struct case_item *item)
{
    struct word_list patterns = { .items = NULL };
    lex_skip_blanks(p);
    lex_accept(p, "(");
    do {
        struct word *w = word_read(p, WORD_TILDE);
        if (!w)
            return parse_unexpected(p);
        APPEND(p, patterns, w);
        lex_skip_blanks(p);
    } while (!p->failed && !lex_match(p, "||") && lex_accept(p, "|"));
    item->patterns = patterns.items;
    item->count = patterns.count;
    return lex_accept(p, ")") || parse_unexpected(p);
}

/* False if the item ends without one: then it must be the last. */
static bool read_case_end(struct parser *p, struct case_item *item)
{
    lex_skip_blanks(p);
    if (lex_accept(p, ";;&"))
        item->end = CASE_TEST;
    else if (lex_accept(p, ";&"))
        item->end = CASE_FALL;
    else if (!lex_accept(p, ";;"))
        return false;
    return true;
}

static struct node *parse_case(struct parser *p, struct pos pos)
{
    struct node *n = parse_node(p, NODE_CASE, pos);
    struct case_list items = { .items = NULL };
    n->choice.subject = word_read(p, WORD_TILDE);
    if (!n->choice.subject)
        return parse_unexpected(p);
    lex_skip_newlines(p);
    lex_expect_keyword(p, "in");
    for (bool more = true; more && !p->failed;) {
        lex_skip_newlines(p);
        if (lex_match_keyword(p, "esac"))
            break;
        struct case_item item = { .end = CASE_BREAK };
        if (!read_patterns(p, &item))
            break;
        item.body = parse_list(p);
        more = read_case_end(p, &item);
        APPEND(p, items, item);
    }
    lex_expect_keyword(p, "esac");
    n->choice.items = items.items;
    n->choice.count = items.count;
    return n;
}

static struct node *parse_cond_command(struct parser *p, struct pos pos)
{
    struct node *n = parse_node(p, NODE_COND, pos);
    n->cond = parse_cond(p);
    return n;
}

bool parse_is_function_name(const struct word *w)
{
    for (size_t i = 0; i < w->source.len; i++)
        if (strchr("$`'\"\\", w->source.data[i]))
            return false;
    return w->count && w->parts[0].type != PART_PROCESS;
}

struct node *parse_function_body(struct parser *p, struct str name, struct mark start)
{
    struct node *n = parse_node(p, NODE_FUNCTION, lex_pos_at(p, start.at));
    lex_skip_newlines(p);
    n->function.name = name;
    if (lex_match_keyword(p, "function") || lex_match_keyword(p, "coproc"))
        return parse_unexpected(p);
    n->function.body = parse_compound(p);
    if (!n->function.body)
        return parse_unexpected(p);
    n->source = lex_source(p, start);
    return n;
}

static struct node *parse_function(struct parser *p, struct pos pos UNUSED)
{
    struct mark start = { p->in, p->last_end - strlen("function") };
    struct word *w = word_read(p, 0);
    if (!w)
        return parse_unexpected(p);
    if (!parse_is_function_name(w))
        return parse_fail(
                p, w->pos, "`%.*s': not a valid identifier", STR_ARG(w->source));
    lex_skip_blanks(p);
    if (peek(p) == '(') {
        size_t at = p->in->at;
        advance(p, 1);
        lex_skip_blanks(p);
        if (!lex_accept(p, ")"))
            p->in->at = at; /* its body is a subshell */
    }
    return parse_function_body(p, w->source, start);
}

static bool at_compound(struct parser *p);

static struct node *parse_coproc(struct parser *p, struct pos pos)
{
    struct node *n = parse_node(p, NODE_COPROC, pos);
    n->coproc.name = STR("COPROC");
    lex_skip_blanks(p);
    size_t at = p->in->at, len = lex_name_length(p, at);
    if (len && lex_is_delimiter(peek_at(p, len)) && !at_compound(p)) {
        p->in->at += len;
        lex_skip_blanks(p);
        if (at_compound(p))
            n->coproc.name = lex_slice(p, at, at + len);
        else
            p->in->at = at;
    }
    n->coproc.body = parse_compound(p);
    if (!n->coproc.body)
        n->coproc.body = p->failed ? NULL : parse_simple(p);
    if (n->coproc.body && n->coproc.body->type == NODE_FUNCTION)
        return parse_fail(p, n->coproc.body->pos, "a coproc cannot define a function");
    return n;
}

struct rule {
    const char *keyword;
    struct node *(*parse)(struct parser *, struct pos);
    bool owns_redirects; /* those behind it are its body's */
};

static const struct rule rules[] = {
    { "{", parse_group, false },
    { "[[", parse_cond_command, false },
    { "case", parse_case, false },
    { "coproc", parse_coproc, true },
    { "for", parse_for, false },
    { "function", parse_function, true },
    { "if", parse_if, false },
    { "select", parse_select, false },
    { "until", parse_until, false },
    { "while", parse_while, false },
};

static const struct rule *find_rule(struct parser *p)
{
    lex_skip_blanks(p);
    int c = peek(p);
    if (c <= 0 || !strchr("{[cfisuw", c))
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        if (lex_match_keyword(p, rules[i].keyword))
            return &rules[i];
    return NULL;
}

static bool at_compound(struct parser *p)
{
    return find_rule(p) || peek(p) == '(';
}

struct node *parse_compound(struct parser *p)
{
    const struct rule *rule = find_rule(p);
    if (!rule && peek(p) != '(')
        return NULL;
    struct mark start = lex_mark(p);
    struct pos pos = lex_pos(p);
    if (rule)
        lex_accept(p, rule->keyword);
    struct node *n = rule ? rule->parse(p, pos) : parse_parenthesis(p, pos);
    struct redirect_list redirects = { .items = NULL };
    while (n && !p->failed && !(rule && rule->owns_redirects) &&
            parse_redirect(p, &redirects))
        ;
    if (!n || p->failed)
        return NULL;
    n->redirects = redirects.items;
    n->redirect_count = redirects.count;
    n->source = lex_source(p, start);
    return n;
}
