#include "shell/builtin/awk/lex.h"

#include "shell/builtin/awk/awk.h"

#include <ctype.h>

static const struct {
    const char *word;
    int token;
} keywords[] = {
    { "BEGIN", T_BEGIN },
    { "BEGINFILE", T_BEGINFILE },
    { "END", T_END_RULE },
    { "ENDFILE", T_ENDFILE },
    { "break", T_BREAK },
    { "case", T_CASE },
    { "continue", T_CONTINUE },
    { "default", T_DEFAULT },
    { "delete", T_DELETE },
    { "do", T_DO },
    { "else", T_ELSE },
    { "exit", T_EXIT },
    { "for", T_FOR },
    { "func", T_FUNCTION },
    { "function", T_FUNCTION },
    { "getline", T_GETLINE },
    { "if", T_IF },
    { "in", T_IN },
    { "next", T_NEXT },
    { "nextfile", T_NEXTFILE },
    { "print", T_PRINT },
    { "printf", T_PRINTF },
    { "return", T_RETURN },
    { "switch", T_SWITCH },
    { "while", T_WHILE },
};

static int peek(const struct awk_lexer *l, size_t ahead)
{
    return l->at + ahead < l->text.len ? (unsigned char)l->text.data[l->at + ahead] : -1;
}

static int hex_digit(int c)
{
    return isdigit(c) ? c - '0' : isxdigit(c) ? tolower(c) - 'a' + 10 : -1;
}

/* The character that an escape stands for; `*used` bytes after the backslash. */
static int escaped(struct str s, size_t at, size_t *used)
{
    static const char letters[] = "a\ab\bf\fn\nr\rt\tv\v\\\\\"\"//";
    char c = s.data[at];
    *used = 1;
    for (const char *p = letters; *p; p += 2)
        if (*p == c)
            return (unsigned char)p[1];
    int value = 0;
    if (c >= '0' && c <= '7') {
        for (*used = 0; *used < 3 && at + *used < s.len; (*used)++) {
            char digit = s.data[at + *used];
            if (digit < '0' || digit > '7')
                break;
            value = value * 8 + digit - '0';
        }
        return value & 255;
    }
    if (c == 'x' && at + 1 < s.len && hex_digit((unsigned char)s.data[at + 1]) >= 0) {
        for (; *used < 3 && at + *used < s.len; (*used)++) {
            int digit = hex_digit((unsigned char)s.data[at + *used]);
            if (digit < 0)
                break;
            value = value * 16 + digit;
        }
        return value & 255;
    }
    return -1;
}

void awk_unescape(struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] != '\\' || i + 1 == text.len) {
            buf_addc(out, text.data[i]);
            continue;
        }
        size_t used;
        int c = escaped(text, i + 1, &used);
        if (text.data[i + 1] == '\n') {
            i++; /* a continued line */
        } else if (c < 0) {
            buf_addc(out, '\\'); /* not an escape: both stay, as "\." for a regex */
        } else {
            buf_addc(out, (char)c);
            i += used;
        }
    }
}

static void skip_blanks(struct awk_lexer *l)
{
    for (;;) {
        int c = peek(l, 0);
        if (c == ' ' || c == '\t' || c == '\r') {
            l->at++;
        } else if (c == '\\' &&
                   (peek(l, 1) == '\n' || (peek(l, 1) == '\r' && peek(l, 2) == '\n'))) {
            l->at += peek(l, 1) == '\n' ? 2 : 3;
            l->line++;
        } else if (c == '#') {
            while (peek(l, 0) >= 0 && peek(l, 0) != '\n')
                l->at++;
        } else {
            return;
        }
    }
}

static int read_string(struct awk_lexer *l)
{
    size_t start = ++l->at;
    for (int c; (c = peek(l, 0)) != '"'; l->at++) {
        if (c < 0 || c == '\n') {
            l->error = "unterminated string";
            return T_BAD;
        }
        if (c == '\\') {
            if (peek(l, 1) == '\n')
                l->line++;
            l->at++;
        }
    }
    if (l->at > l->text.len)
        l->at = l->text.len;
    auto_buf out = BUF(AWK_MAX_PROGRAM);
    awk_unescape(str_sub(l->text, start, l->at - start), &out);
    l->value = arena_str(l->arena, buf_str(&out));
    l->at++;
    return T_STRING;
}

static int read_number(struct awk_lexer *l)
{
    size_t start = l->at;
    if (peek(l, 0) == '0' && (peek(l, 1) | 32) == 'x' && hex_digit(peek(l, 2)) >= 0) {
        l->number = 0;
        for (l->at += 2; hex_digit(peek(l, 0)) >= 0; l->at++)
            l->number = l->number * 16 + hex_digit(peek(l, 0));
        return T_NUMBER;
    }
    while (isdigit(peek(l, 0)) || peek(l, 0) == '.')
        l->at++;
    if ((peek(l, 0) | 32) == 'e') {
        size_t sign = peek(l, 1) == '-' || peek(l, 1) == '+';
        if (isdigit(peek(l, 1 + sign)))
            for (l->at += 2 + sign; isdigit(peek(l, 0));)
                l->at++;
    }
    bool whole;
    l->number = awk_number(str_sub(l->text, start, l->at - start), &whole);
    return T_NUMBER;
}

static int read_name(struct awk_lexer *l)
{
    size_t start = l->at;
    while (isalnum(peek(l, 0)) || peek(l, 0) == '_')
        l->at++;
    l->value = arena_str(l->arena, str_sub(l->text, start, l->at - start));
    for (size_t i = 0; i < ARRAY_LEN(keywords); i++)
        if (str_is(l->value, keywords[i].word))
            return keywords[i].token;
    if (awk_builtin_find(l->value))
        return T_BUILTIN;
    return peek(l, 0) == '(' ? T_FUNC_NAME : T_NAME;
}

static int take(struct awk_lexer *l, size_t bytes, int token)
{
    l->at += bytes;
    return token;
}

static int assign(struct awk_lexer *l, size_t bytes, int op)
{
    l->op = op;
    return take(l, bytes, T_ASSIGN);
}

static int read_operator(struct awk_lexer *l)
{
    int c = peek(l, 0), d = peek(l, 1);
    switch (c) {
    case '&':
        return d == '&' ? take(l, 2, T_AND) : T_BAD;
    case '|':
        return d == '|' ? take(l, 2, T_OR) : take(l, 1, c);
    case '~':
        return take(l, 1, T_MATCH);
    case '!':
        return d == '~'   ? take(l, 2, T_NO_MATCH)
               : d == '=' ? take(l, 2, T_NE)
                          : take(l, 1, c);
    case '<':
        return d == '=' ? take(l, 2, T_LE) : take(l, 1, c);
    case '>':
        return d == '='   ? take(l, 2, T_GE)
               : d == '>' ? take(l, 2, T_APPEND)
                          : take(l, 1, c);
    case '=':
        return d == '=' ? take(l, 2, T_EQ) : assign(l, 1, 0);
    case '+':
        return d == '+' ? take(l, 2, T_INC) : d == '=' ? assign(l, 2, c) : take(l, 1, c);
    case '-':
        return d == '-' ? take(l, 2, T_DEC) : d == '=' ? assign(l, 2, c) : take(l, 1, c);
    case '*':
        if (d == '*')
            return peek(l, 2) == '=' ? assign(l, 3, '^') : take(l, 2, T_POW);
        return d == '=' ? assign(l, 2, c) : take(l, 1, c);
    case '^':
        return d == '=' ? assign(l, 2, c) : take(l, 1, T_POW);
    case '/':
    case '%':
        return d == '=' ? assign(l, 2, c) : take(l, 1, c);
    default:
        break;
    }
    if (c && strchr("(){}[];,?:$", c))
        return take(l, 1, c);
    l->error = "syntax error: unexpected character";
    return T_BAD;
}

void awk_lex(struct awk_lexer *l)
{
    l->last = l->token;
    skip_blanks(l);
    int c = peek(l, 0);
    if (c < 0)
        l->token = T_END;
    else if (c == '\n') {
        l->at++;
        l->line++;
        l->token = T_NEWLINE;
    } else if (c == '"')
        l->token = read_string(l);
    else if (isdigit(c) || (c == '.' && isdigit(peek(l, 1))))
        l->token = read_number(l);
    else if (isalpha(c) || c == '_')
        l->token = read_name(l);
    else
        l->token = read_operator(l);
}

/* Bytes of the bracket expression that `s` begins with; 1 if it is not closed. */
static size_t bracket_length(struct str s)
{
    size_t i = 1;
    if (i < s.len && s.data[i] == '^')
        i++;
    if (i < s.len && s.data[i] == ']')
        i++;
    for (; i < s.len && s.data[i] != ']' && s.data[i] != '\n'; i++) {
        if (s.data[i] == '\\' && i + 1 < s.len)
            i++;
        else if (str_starts(str_from(s, i), STR("[:")) && strstr(s.data + i, ":]"))
            i = (size_t)(strstr(s.data + i, ":]") - s.data) + 1;
    }
    return i < s.len && s.data[i] == ']' ? i + 1 : 1;
}

void awk_lex_regex(struct awk_lexer *l)
{
    /* The token was `/`, or `/=` whose `=` belongs to the expression. */
    if (l->token == T_ASSIGN)
        l->at--;
    auto_buf out = BUF(AWK_MAX_PROGRAM);
    for (int c; (c = peek(l, 0)) != '/';) {
        struct str rest = str_from(l->text, l->at);
        if (c < 0 || c == '\n') {
            l->error = "unterminated regexp";
            l->token = T_BAD;
            return;
        }
        size_t n = c == '[' ? bracket_length(rest) : c == '\\' && rest.len > 1 ? 2 : 1;
        bool slash = n == 2 && c == '\\' && rest.data[1] == '/';
        buf_add(&out, slash ? STR("/") : str_sub(rest, 0, n));
        l->at += n;
    }
    l->at++;
    l->value = arena_str(l->arena, buf_str(&out));
    l->token = T_REGEX;
}
