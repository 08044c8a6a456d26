/*
 * word.h - reading words: quoting, expansions, braces.
 */
#ifndef SHELL_WORD_H
#define SHELL_WORD_H

#include "shell/lex.h"

/* Where a word stands decides what ends it and which bytes are special in it. */
enum context {
    CTX_WORD,         /* a word of a command */
    CTX_REGEX,        /* right side of =~ */
    CTX_DQUOTE,       /* inside "..." */
    CTX_HEREDOC,      /* body of a here-document: the whole input */
    CTX_PARAM,        /* ${x:-HERE} */
    CTX_PARAM_QUOTED, /* "${x:-HERE}" */
    CTX_PATTERN,      /* ${x/HERE/...} */
    CTX_ARITH,        /* $((HERE)), a[HERE]: the whole input */
    CTX_SUBSTRING,    /* ${x:HERE:HERE} */
};

enum word_flags {
    WORD_BRACES = 1 << 0, /* {a,b} expands */
    WORD_TILDE = 1 << 1,  /* ~ at its start */
    WORD_COLONS = 1 << 2, /* and ~ after each : */
    WORD_SLASH = 1 << 3,  /* a / that begins a CTX_PATTERN is part of it */
};

struct part_list {
    struct part *items;
    size_t count, cap;
};

/* A word under construction. */
struct builder {
    struct parser *p;
    struct part_list parts;
    enum context ctx;
    enum word_flags flags;
    size_t run;       /* plain text from here on is not yet a part */
    size_t solid;     /* CTX_WORD: does not end before this offset */
    size_t value;     /* a ~ at this offset is a tilde; SCAN_FAILED: nowhere */
    unsigned groups;  /* open ( of an extglob, a regex or an expression */
    unsigned ternary; /* open ? of CTX_SUBSTRING */
    bool quoted;      /* text and expansions read now are quoted */
    bool has_brace;   /* an unquoted { was seen */
    bool apostrophe;  /* CTX_PARAM_QUOTED: inside '...', which only hides a } */
};

/* The word that begins here; NULL (and no error) if none does. */
struct word *word_read(struct parser *p, enum word_flags flags);

/* The word in `ctx` up to what ends it there; may be empty, never NULL. */
struct word *word_read_in(struct parser *p, enum context ctx, enum word_flags flags);

/* All of the current input from `from` to `to`; goes on behind `to`. */
struct word *word_read_range(struct parser *p, enum context ctx, size_t from, size_t to);

/* The word that begins here, of which all before `solid` is part, delimiters too. */
struct word *word_read_solid(struct parser *p, enum word_flags flags, size_t solid);

/* A word made of these parts; fills the fast path. */
struct word *word_new(
        struct parser *p, struct part_list parts, struct pos pos, struct str source);

void word_add_text(
        struct parser *p, struct part_list *parts, struct str text, bool quoted);

/* builder steps shared by word.c and param.c */
void builder_flush(struct builder *b);
void builder_add(struct builder *b, struct part part);
void builder_read(struct builder *b);
void builder_read_param(struct builder *b); /* at ${ */

/* Decode $'...', from behind its opening quote; goes on behind the closing one. */
struct str word_read_ansi(struct parser *p, struct pos open);

/* Find brace expansions in the parts of a word (brace.c). */
struct part_list word_find_braces(struct parser *p, struct part_list parts);

/* `${...}` or `$((...))`: text plus its tree if it can be known now (arith.c). */
struct arith_expr *arith_parse(struct parser *p, struct word *text);

/* A subscript: between `from` and `to`, as word and as arithmetic. */
void word_read_subscript(struct parser *p, size_t from, size_t to, struct word **word,
        struct arith_expr **arith);

/* The word as text without quotes if it is all literal, for names and delimiters. */
struct str word_unquoted(struct parser *p, const struct word *w, bool *was_quoted);

#endif
