/*
 * lex.h - the tokens of awk.
 *
 * What `/` and a newline mean depends on the token before them; the lexer keeps that.
 */
#ifndef SHELL_BUILTIN_AWK_LEX_H
#define SHELL_BUILTIN_AWK_LEX_H

#include "base/arena.h"

/* Tokens of one character are that character. */
enum awk_token {
    T_END = 256,
    T_NEWLINE,
    T_NUMBER,
    T_STRING,
    T_REGEX,
    T_NAME,
    T_FUNC_NAME, /* a name with a parenthesis right after it */
    T_BUILTIN,
    T_AND,
    T_OR,
    T_MATCH,    /* ~ */
    T_NO_MATCH, /* !~ */
    T_LE,
    T_GE,
    T_EQ,
    T_NE,
    T_INC,
    T_DEC,
    T_APPEND, /* >> */
    T_ASSIGN, /* =, or an operator in `op` */
    T_POW,
    T_BEGIN,
    T_END_RULE,
    T_BEGINFILE,
    T_ENDFILE,
    T_FUNCTION,
    T_IF,
    T_ELSE,
    T_WHILE,
    T_FOR,
    T_DO,
    T_BREAK,
    T_CONTINUE,
    T_NEXT,
    T_NEXTFILE,
    T_EXIT,
    T_RETURN,
    T_DELETE,
    T_IN,
    T_GETLINE,
    T_PRINT,
    T_PRINTF,
    T_SWITCH,
    T_CASE,
    T_DEFAULT,
    T_BAD,
};

struct awk_lexer {
    struct str text;
    size_t at;
    uint32_t line;
    struct arena *arena;
    int token, last;  /* the current one, and the one before */
    struct str value; /* name, string (unescaped), regex source */
    double number;
    int op; /* T_ASSIGN */
    const char *error;
};

void awk_lex(struct awk_lexer *l); /* move to the next token */

/* The current token is a `/` or `/=` where an operand must come: read a regex. */
void awk_lex_regex(struct awk_lexer *l);

#endif
