/*
 * scan.c - find the end of a bracketed text before it is known what it is.
 */
#include "shell/lex.h"

struct scan {
    struct parser *p;
    const char *text;
    size_t at, end;
    char open[PARSE_MAX_DEPTH]; /* closers, innermost last */
    size_t depth;
    bool in_word;
};

static int look(const struct scan *s, size_t n)
{
    return n < s->end - s->at ? (unsigned char)s->text[s->at + n] : -1;
}

static void push(struct scan *s, char close, size_t skip)
{
    if (s->depth == PARSE_MAX_DEPTH) {
        parse_fail(s->p, lex_pos_at(s->p, s->at), "nested too deeply (limit: %d levels)",
                PARSE_MAX_DEPTH);
        s->at = s->end;
        return;
    }
    s->open[s->depth++] = close;
    s->at += skip;
}

/* '...' knows no escapes, $'...' does. */
static void skip_single(struct scan *s, bool escapes)
{
    s->at++;
    while (s->at < s->end && s->text[s->at] != '\'')
        s->at += escapes && s->text[s->at] == '\\' ? 2 : 1;
    s->at++;
}

static bool scan_dollar(struct scan *s, char top)
{
    switch (look(s, 1)) {
    case '(':
        push(s, ')', 2);
        return true;
    case '{':
        push(s, '}', 2);
        return true;
    case '\'':
        if (top == '"')
            return false;
        s->at++;
        skip_single(s, true);
        return true;
    default:
        return false;
    }
}

static void scan_byte(struct scan *s)
{
    char c = s->text[s->at], top = s->open[s->depth - 1];
    if (c == '\\') {
        s->at += 2;
    } else if (c == top) {
        s->depth--;
        s->at++;
    } else if (top == '`' || (c == '$' && scan_dollar(s, top))) {
        s->at += top == '`';
    } else if (c == '`' || (c == '"' && top != '"')) {
        push(s, c, 1);
    } else if (c == '\'' && top != '"') {
        skip_single(s, false);
    } else if ((c == '(' && top == ')') || (c == '[' && top == ']')) {
        push(s, c == '(' ? ')' : ']', 1);
    } else if (s->in_word && s->depth == 1 && lex_is_delimiter((unsigned char)c)) {
        s->at = s->end;
    } else {
        s->at++;
    }
}

size_t lex_scan(struct parser *p, size_t from, char close, bool in_word)
{
    struct scan s = {
        .p = p,
        .text = p->in->text.data,
        .at = from,
        .end = p->in->end,
        .depth = 1,
        .in_word = in_word,
    };
    s.open[0] = close;
    while (s.depth && s.at < s.end)
        scan_byte(&s);
    return s.depth || p->failed ? SCAN_FAILED : s.at - 1;
}
