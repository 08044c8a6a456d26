#include "shell/lex.h"

#include <stdarg.h>
#include <stdio.h>

static PRINTF(3, 0) void set_error(
        struct parser *p, struct pos pos, const char *fmt, va_list ap)
{
    if (!p->failed) {
        p->failed = true;
        p->err->pos = pos;
        p->err->is_incomplete = false;
        vsnprintf(p->err->message, sizeof(p->err->message), fmt, ap);
    }
    p->in->at = p->in->end;
    p->in->outer = NULL;
}

void *parse_fail(struct parser *p, struct pos pos, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set_error(p, pos, fmt, ap);
    va_end(ap);
    return NULL;
}

void *parse_fail_eof(struct parser *p, struct pos pos, const char *fmt, ...)
{
    bool first = !p->failed;
    va_list ap;
    va_start(ap, fmt);
    set_error(p, pos, fmt, ap);
    va_end(ap);
    if (first)
        p->err->is_incomplete = true;
    return NULL;
}

void *parse_unclosed(struct parser *p, struct pos pos, const char *close)
{
    return parse_fail_eof(
            p, pos, "unexpected EOF while looking for matching `%s'", close);
}

struct str lex_next_token(struct parser *p)
{
    static const char *const operators[] = { ";;&", "&>>", "<<-", "<<<", ";;", ";&", "&&",
        "||", "|&", "&>", "<<", ">>", "<&", ">&", "<>", ">|", "&", ";", "|", "<", ">",
        "(", ")" };
    lex_skip_blanks(p);
    if (peek(p) == '\n')
        return STR("newline");
    for (size_t i = 0; i < ARRAY_LEN(operators); i++)
        if (lex_match(p, operators[i]))
            return str_of(operators[i]);
    size_t n = 0;
    while (n < 80 && !lex_is_delimiter(peek_at(p, n)))
        n++;
    return lex_slice(p, p->in->at, p->in->at + n);
}

void *parse_unexpected(struct parser *p)
{
    struct str token = lex_next_token(p);
    struct pos pos = lex_pos(p);
    if (!token.len)
        return parse_fail_eof(p, pos, "syntax error: unexpected end of file");
    return parse_fail(
            p, pos, "syntax error near unexpected token `%.*s'", STR_ARG(token));
}

static bool check_limits(struct parser *p, unsigned level)
{
    if (level > PARSE_MAX_DEPTH)
        parse_fail(
                p, lex_pos(p), "nested too deeply (limit: %d levels)", PARSE_MAX_DEPTH);
    else if (arena_size(p->arena) > PARSE_MAX_MEMORY)
        parse_fail(p, lex_pos(p), "the script is too large (limit: %zu MiB of memory)",
                PARSE_MAX_MEMORY >> 20);
    return !p->failed;
}

bool parse_enter(struct parser *p)
{
    p->depth++;
    if (p->height < p->depth)
        p->height = p->depth;
    return check_limits(p, p->depth);
}

void parse_leave(struct parser *p)
{
    p->depth--;
}

bool parse_deepen(struct parser *p, unsigned levels)
{
    p->height += levels;
    return check_limits(p, p->height);
}

/* Move `line_start` to the line of `at`.  Positions are asked for nearly in order, so
 * the walk from the last one, `seen`, is short. */
static void find_line(struct input *in, size_t at)
{
    const char *text = in->text.data, *nl;
    while (at < in->line_start) {
        nl = in->line_start > 1 ? memrchr(text, '\n', in->line_start - 1) : NULL;
        in->line_start = nl ? (size_t)(nl - text) + 1 : 0;
        in->line--;
        in->seen = at;
    }
    while (at > in->seen && (nl = memchr(text + in->seen, '\n', at - in->seen))) {
        in->line_start = in->seen = (size_t)(nl - text) + 1;
        in->line++;
    }
    if (in->seen < at)
        in->seen = at;
}

struct pos lex_pos_at(struct parser *p, size_t at)
{
    struct input *in = p->in;
    at = at < in->text.len ? at : in->text.len;
    find_line(in, at);
    uint32_t column = (uint32_t)(at - in->line_start);
    return (struct pos){ in->origin.line + in->line,
        in->line ? column + 1 : in->origin.column + column };
}

struct pos lex_pos(struct parser *p)
{
    return lex_pos_at(p, p->in->at);
}

struct str lex_slice(const struct parser *p, size_t from, size_t to)
{
    return (struct str){ p->in->text.data + from, to - from };
}

struct mark lex_mark(struct parser *p)
{
    lex_skip_blanks(p);
    return (struct mark){ p->in, p->in->at };
}

struct str lex_source(const struct parser *p, struct mark from)
{
    if (p->failed || p->in != from.in || p->last_end < from.at)
        return STR("");
    return lex_slice(p, from.at, p->last_end);
}

struct limit lex_narrow(struct parser *p, size_t from, size_t end)
{
    struct limit limit = { p->in->end, p->in->outer, p->failed };
    if (!p->failed) {
        p->in->at = from;
        p->in->end = end;
        p->in->outer = NULL;
    }
    return limit;
}

void lex_widen(struct parser *p, struct limit limit, size_t at)
{
    p->in->end = limit.end;
    p->in->outer = p->failed ? NULL : limit.outer;
    p->in->at = p->failed ? limit.end : at;
    if (p->failed && !limit.failed)
        p->err->is_incomplete = false; /* nothing can be added in here */
}

void lex_push(struct parser *p, struct input *in, struct str text, struct pos origin)
{
    *in = (struct input){ .text = text,
        .end = p->failed ? 0 : text.len,
        .origin = origin,
        .failed = p->failed };
    p->in = in;
}

void lex_pop(struct parser *p, struct input *outer)
{
    if (p->failed && !p->in->failed)
        p->err->is_incomplete = false;
    p->in = outer;
    if (p->failed) {
        outer->at = outer->end;
        outer->outer = NULL;
    }
}

bool lex_is_delimiter(int c)
{
    switch (c) {
    case -1:
    case ' ':
    case '\t':
    case '\n':
    case ';':
    case '&':
    case '|':
    case '<':
    case '>':
    case '(':
    case ')':
        return true;
    default:
        return false;
    }
}

bool lex_is_name_start(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool lex_is_name_char(int c)
{
    return lex_is_name_start(c) || (c >= '0' && c <= '9');
}

size_t lex_name_length(const struct parser *p, size_t at)
{
    const char *text = p->in->text.data;
    size_t i = at;
    if (i < p->in->end && lex_is_name_start((unsigned char)text[i]))
        while (i < p->in->end && lex_is_name_char((unsigned char)text[i]))
            i++;
    return i - at;
}

static bool at_continuation(const struct parser *p, size_t n)
{
    return peek_at(p, n) == '\\' && peek_at(p, n + 1) == '\n';
}

static void skip_comment(struct parser *p)
{
    struct input *in = p->in;
    const char *nl = memchr(in->text.data + in->at, '\n', in->end - in->at);
    in->at = nl ? (size_t)(nl - in->text.data) : in->end;
}

void lex_skip_blanks(struct parser *p)
{
    for (;;) {
        int c = peek(p);
        if (c == ' ' || c == '\t') {
            p->in->at++;
        } else if (at_continuation(p, 0)) {
            p->in->at += 2;
        } else if (c == '#') {
            skip_comment(p);
        } else if (c < 0 && p->in->outer) {
            struct str text = p->in->text;
            p->alias_next = text.len && strchr(" \t", text.data[text.len - 1]);
            p->in = p->in->outer;
        } else {
            return;
        }
    }
}

bool lex_accept_newline(struct parser *p)
{
    lex_skip_blanks(p);
    if (peek(p) != '\n')
        return false;
    p->in->at++;
    if (p->heredocs.first)
        parse_heredocs(p);
    return true;
}

void lex_skip_newlines(struct parser *p)
{
    while (lex_accept_newline(p))
        ;
}

size_t lex_match(const struct parser *p, const char *op)
{
    size_t n = 0;
    for (; *op; op++, n++) {
        while (at_continuation(p, n))
            n += 2;
        if (peek_at(p, n) != *op)
            return 0;
    }
    return n;
}

bool lex_accept(struct parser *p, const char *op)
{
    size_t n = lex_match(p, op);
    if (n)
        advance(p, n);
    return n;
}

size_t lex_match_keyword(const struct parser *p, const char *word)
{
    size_t n = lex_match(p, word);
    if (!n)
        return 0;
    size_t after = n;
    while (at_continuation(p, after))
        after += 2;
    return lex_is_delimiter(peek_at(p, after)) ? n : 0;
}

bool lex_accept_keyword(struct parser *p, const char *word)
{
    lex_skip_blanks(p);
    size_t n = lex_match_keyword(p, word);
    if (n)
        advance(p, n);
    return n;
}

bool lex_expect_keyword(struct parser *p, const char *word)
{
    if (lex_accept_keyword(p, word))
        return true;
    parse_unexpected(p);
    return false;
}

static bool is_alias_active(const struct parser *p, struct str name)
{
    for (const struct input *in = p->in; in; in = in->outer)
        if (in->alias.len && str_eq(in->alias, name))
            return true;
    return false;
}

void lex_expand_aliases(struct parser *p)
{
    const struct parse_options *o = p->options;
    while (o && o->alias && !p->failed) {
        lex_skip_blanks(p);
        size_t n = 0;
        while (!lex_is_delimiter(peek_at(p, n)) && !strchr("\\\"'$`", peek_at(p, n)))
            n++;
        struct str name = lex_slice(p, p->in->at, p->in->at + n), text;
        if (!n || !lex_is_delimiter(peek_at(p, n)) || is_alias_active(p, name) ||
                !o->alias(o->alias_user, name, &text))
            return;
        struct pos pos = lex_pos(p);
        struct input *outer = p->in, *in = arena_alloc(p->arena, sizeof(*in));
        outer->at += n;
        lex_push(p, in, arena_str(p->arena, text), pos);
        in->outer = outer;
        in->alias = name;
    }
}

void *lex_grow(struct parser *p, void *items, size_t *cap, size_t size)
{
    size_t old = *cap;
    *cap = old ? old * 2 : 1;
    void *grown = arena_alloc(p->arena, *cap * size);
    if (old)
        memcpy(grown, items, old * size);
    check_limits(p, 0);
    return grown;
}
