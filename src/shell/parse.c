#include "shell/lex.h"

struct node_list {
    struct node **items;
    size_t count, cap;
};

struct node *parse_node(struct parser *p, enum node_type type, struct pos pos)
{
    struct node *n = arena_zalloc(p->arena, sizeof(*n));
    n->type = type;
    n->pos = pos;
    n->source = STR("");
    return n;
}

struct prefix {
    bool seen, negated, timed, posix;
};

static struct prefix read_prefix(struct parser *p)
{
    struct prefix x = { .seen = false };
    for (;;) {
        if (lex_accept_keyword(p, "!")) {
            x.negated = !x.negated;
        } else if (lex_accept_keyword(p, "time")) {
            x.timed = true;
            x.posix |= lex_accept_keyword(p, "-p");
            lex_accept_keyword(p, "--");
        } else {
            return x;
        }
        x.seen = true;
    }
}

static bool at_separator(struct parser *p)
{
    lex_skip_blanks(p);
    int c = peek(p);
    return c < 0 || c == '\n' || c == ';' || c == ')' ||
           (c == '&' && peek_at(p, 1) != '>');
}

/* `!` and `time` alone are commands that do nothing. */
static struct node *parse_stage(struct parser *p, bool may_be_empty)
{
    if (may_be_empty && at_separator(p))
        return parse_node(p, NODE_SIMPLE, lex_pos(p));
    return parse_command(p);
}

static bool accept_pipe(struct parser *p, bool *stderr_too)
{
    lex_skip_blanks(p);
    *stderr_too = lex_accept(p, "|&");
    if (!*stderr_too && (lex_match(p, "||") || !lex_accept(p, "|")))
        return false;
    lex_skip_newlines(p);
    return true;
}

static struct node *parse_pipeline(struct parser *p)
{
    struct mark start = lex_mark(p);
    struct pos pos = lex_pos(p);
    struct prefix prefix = read_prefix(p);
    struct node_list stages = { .items = NULL };
    struct {
        bool *items;
        size_t count, cap;
    } joined = { .items = NULL };
    bool stderr_too;
    do {
        struct node *stage = parse_stage(p, prefix.seen && !stages.count);
        APPEND(p, stages, stage);
        stderr_too = false;
        bool more = accept_pipe(p, &stderr_too);
        APPEND(p, joined, stderr_too);
        if (!more)
            break;
    } while (!p->failed);
    if (stages.count == 1 && !prefix.seen)
        return stages.items[0];
    struct node *n = parse_node(p, NODE_PIPELINE, pos);
    n->pipeline.stages = stages.items;
    n->pipeline.stderr_too = joined.items;
    n->pipeline.count = stages.count;
    n->pipeline.negated = prefix.negated;
    n->pipeline.timed = prefix.timed;
    n->pipeline.timed_posix = prefix.posix;
    n->source = lex_source(p, start);
    return n;
}

static struct node *pair(struct parser *p, enum node_type type, struct node *a,
        struct node *b, struct mark start, struct pos pos)
{
    struct node *n = parse_node(p, type, pos);
    n->pair.a = a;
    n->pair.b = b;
    n->source = lex_source(p, start);
    return n;
}

static struct node *parse_and_or(struct parser *p)
{
    struct mark start = lex_mark(p);
    struct pos pos = lex_pos(p);
    unsigned outer = begin_chain(p);
    struct node *left = parse_pipeline(p);
    for (;;) {
        lex_skip_blanks(p);
        enum node_type type = lex_match(p, "&&") ? NODE_AND : NODE_OR;
        if (!lex_accept(p, "&&") && !lex_accept(p, "||"))
            break;
        lex_skip_newlines(p);
        if (!parse_deepen(p, 1))
            break;
        struct node *right = parse_pipeline(p);
        left = pair(p, type, left, right, start, pos);
    }
    end_chain(p, outer);
    return left;
}

static bool at_list_end(struct parser *p)
{
    static const char *const closers[] = { "then", "else", "elif", "fi", "do", "done",
        "esac", "in", "}" };
    lex_skip_blanks(p);
    int c = peek(p);
    if (c < 0 || c == ')')
        return true;
    if (c == ';')
        return lex_match(p, ";;") || lex_match(p, ";&");
    if (!c || !strchr("tefdi}", c))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(closers); i++)
        if (lex_match_keyword(p, closers[i]))
            return true;
    return false;
}

/* A command with what separates it from the next; `*more` unless it must be the last. */
static struct node *parse_item(struct parser *p, bool *more)
{
    struct mark start = lex_mark(p);
    struct pos pos = lex_pos(p);
    struct node *n = parse_and_or(p);
    *more = true;
    lex_skip_blanks(p);
    if (!lex_match(p, "&&") && lex_accept(p, "&"))
        n = pair(p, NODE_BACKGROUND, n, NULL, start, pos);
    else if (lex_match(p, ";;") || lex_match(p, ";&") || !lex_accept(p, ";"))
        *more = lex_accept_newline(p);
    lex_skip_newlines(p);
    return n;
}

struct node *parse_list(struct parser *p)
{
    lex_skip_newlines(p);
    struct mark start = lex_mark(p);
    struct pos pos = lex_pos(p);
    struct node_list items = { .items = NULL };
    size_t end = 0;
    for (bool more = true; more && !at_list_end(p) && !p->failed;) {
        struct node *n = parse_item(p, &more);
        APPEND(p, items, n);
        end = p->last_end;
    }
    if (items.count < 2)
        return items.count ? items.items[0] : NULL;
    struct node *n = parse_node(p, NODE_SEQUENCE, pos);
    n->sequence.items = items.items;
    n->sequence.count = items.count;
    p->last_end = end;
    n->source = lex_source(p, start);
    return n;
}

struct node *parse_body(struct parser *p)
{
    struct node *n = parse_list(p);
    return n ? n : parse_unexpected(p);
}

struct node *parse_substitution(struct parser *p, struct pos open)
{
    struct heredoc_list outer = p->heredocs;
    struct input *in = p->in, *behind = in->outer;
    p->heredocs = (struct heredoc_list){ .first = NULL };
    in->outer = NULL;
    p->substitutions++;
    struct node *body = parse_enter(p) ? parse_list(p) : NULL;
    parse_leave(p);
    p->substitutions--;
    lex_skip_blanks(p);
    if (peek(p) < 0)
        parse_unclosed(p, open, ")");
    else if (!lex_accept(p, ")"))
        parse_unexpected(p);
    in->outer = p->failed ? NULL : behind;
    /* Bodies that did not begin inside come after the line around it. */
    if (p->heredocs.first && !p->script->warning.len)
        p->script->warning =
                STR("warning: command substitution: unterminated here-document");
    if (!p->heredocs.first)
        p->heredocs = outer;
    else if (outer.first) {
        *outer.last = p->heredocs.first;
        outer.last = p->heredocs.last;
        p->heredocs = outer;
    }
    return body;
}

struct node *parse_command(struct parser *p)
{
    struct node *n = NULL;
    if (parse_enter(p)) {
        lex_expand_aliases(p);
        lex_skip_blanks(p);
        if (at_list_end(p) || lex_match_keyword(p, "!"))
            n = parse_unexpected(p);
        else if (!(n = parse_compound(p)) && !p->failed)
            n = parse_simple(p);
    }
    parse_leave(p);
    return n;
}

/* A copy without NUL bytes, which bash drops too. */
static struct str copy_text(struct arena *arena, struct str text)
{
    char *copy = arena_alloc(arena, text.len + 1);
    size_t n = 0;
    while (text.len) {
        const char *nul = memchr(text.data, 0, text.len);
        size_t run = nul ? (size_t)(nul - text.data) : text.len;
        memcpy(copy + n, text.data, run);
        n += run;
        text = str_from(text, run + 1);
    }
    copy[n] = 0;
    return (struct str){ copy, n };
}

static struct script *script_create(struct str text, struct str name)
{
    struct arena *arena = arena_create();
    struct script *s = arena_zalloc(arena, sizeof(*s));
    s->arena = arena;
    s->text = copy_text(arena, text);
    s->name = arena_str(arena, name);
    s->warning = STR("");
    s->refs = 1;
    return s;
}

bool parse_script(struct str text, struct str name, const struct parse_options *options,
        struct script **out, struct parse_error *err)
{
    if (text.len > PARSE_MAX_TEXT) {
        struct parser p = { .err = err, .in = &(struct input){ .at = 0 } };
        parse_fail(&p, (struct pos){ 1, 1 }, "the script is too long (limit: %zu MiB)",
                PARSE_MAX_TEXT >> 20);
        return false;
    }
    struct script *s = script_create(text, name);
    struct input in;
    struct parser p = {
        .arena = s->arena,
        .options = options,
        .err = err,
        .script = s,
        .extglob = !options || options->extglob,
    };
    uint32_t line = options && options->first_line ? options->first_line : 1;
    lex_push(&p, &in, s->text, (struct pos){ line, 1 });
    s->root = parse_list(&p);
    lex_skip_newlines(&p);
    if (!p.failed && peek(&p) >= 0)
        parse_unexpected(&p);
    parse_heredocs(&p);
    if (p.failed) {
        script_unref(s);
        return false;
    }
    *out = s;
    return true;
}
