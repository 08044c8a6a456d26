/*
 * lex.h - what the files of the parser share: the input, positions, errors, small tokens.
 *
 * There is no token type.  The grammar decides what a byte means (`{` may be a group, a
 * brace expansion, a parameter or itself), so each rule looks at the bytes before it:
 * operators and reserved words with lex_match(), words with word_read() (word.h), which
 * knows the modes.
 *
 * An error is sticky: parse_fail() keeps the first one and moves the input to its end,
 * where every loop stops by itself.  Rules need not check for it; what they return then
 * is thrown away.
 */
#ifndef SHELL_LEX_H
#define SHELL_LEX_H

#include "shell/parse.h"

/* A text that is being read.  Aliases, backticks and here-documents stack up. */
struct input {
    struct str text;
    size_t at, end;      /* `end` may lie before that of the text: lex_narrow() */
    struct pos origin;   /* where the first byte stands in the script */
    size_t line_start;   /* a line known to begin here ... */
    size_t seen;         /* no other line begins between that and here */
    uint32_t line;       /* ... and its number in this text, from 0 */
    struct input *outer; /* an alias: reading goes on there; NULL: the end is the end */
    struct str alias;    /* whose text this is, so that it is not expanded in itself */
    bool failed;         /* something had failed before this was pushed */
};

struct heredoc; /* heredoc.c */

struct heredoc_list {
    struct heredoc *first, **last;
};

struct parser {
    struct arena *arena;
    const struct parse_options *options;
    struct parse_error *err;
    struct script *script; /* NULL for one arithmetic expression */
    struct input *in;
    struct heredoc_list heredocs; /* begun on this line, bodies not read yet */
    unsigned depth;               /* of the rule being read */
    unsigned height;              /* deepest place of the tree so far, see begin_chain */
    unsigned substitutions;       /* $( we are inside of */
    size_t last_end;              /* where the last token ended */
    bool failed;
    bool extglob;
    bool alias_next; /* an alias ended in a blank: the next word may be one too */
};

/* Keep the first error, end the input.  Returns NULL. */
void *parse_fail(struct parser *p, struct pos pos, const char *fmt, ...) PRINTF(3, 4);

/* The text ends too early: more of it could make it whole. */
void *parse_fail_eof(struct parser *p, struct pos pos, const char *fmt, ...) PRINTF(3, 4);

/* "unexpected EOF while looking for matching `X'" */
void *parse_unclosed(struct parser *p, struct pos pos, const char *close);

/* "syntax error near unexpected token `X'": X is what comes next. */
void *parse_unexpected(struct parser *p);

/* The next token as messages show it. */
struct str lex_next_token(struct parser *p);

bool parse_enter(struct parser *p);
void parse_leave(struct parser *p);

static inline unsigned begin_chain(struct parser *p)
{
    unsigned outer = p->height;
    p->height = p->depth;
    return outer;
}

bool parse_deepen(struct parser *p, unsigned levels);

static inline void end_chain(struct parser *p, unsigned outer)
{
    if (p->height < outer)
        p->height = outer;
}

/* The byte `n` places ahead, or -1 at the end.  After a failure a rule that goes on may
 * move past the end. */
static inline int peek_at(const struct parser *p, size_t n)
{
    const struct input *in = p->in;
    bool inside = in->at < in->end && n < in->end - in->at;
    return inside ? (unsigned char)in->text.data[in->at + n] : -1;
}

static inline int peek(const struct parser *p)
{
    return peek_at(p, 0);
}

static inline void advance(struct parser *p, size_t n)
{
    p->in->at += n;
    p->last_end = p->in->at;
}

struct pos lex_pos_at(struct parser *p, size_t at);
struct pos lex_pos(struct parser *p);

/* Text of the current input. */
struct str lex_slice(const struct parser *p, size_t from, size_t to);

/* Where a node begins, to take its source later. */
struct mark {
    const struct input *in;
    size_t at;
};

struct mark lex_mark(struct parser *p);
struct str lex_source(const struct parser *p, struct mark from);

/* Read only up to `end`; lex_widen() sets `at` and takes the limit back. */
struct limit {
    size_t end;
    struct input *outer;
    bool failed;
};

struct limit lex_narrow(struct parser *p, size_t from, size_t end);
void lex_widen(struct parser *p, struct limit limit, size_t at);

/* Read `text` (in the arena) instead, until lex_pop(). */
void lex_push(struct parser *p, struct input *in, struct str text, struct pos origin);
void lex_pop(struct parser *p, struct input *outer);

/* Does a byte (or -1) end an unquoted word? */
bool lex_is_delimiter(int c);
bool lex_is_name_start(int c);
bool lex_is_name_char(int c);

/* Length of the name (digits with `digits`) at offset `at` of the input. */
size_t lex_name_length(const struct parser *p, size_t at);

/* Blanks, comments, line continuations. */
void lex_skip_blanks(struct parser *p);

/* Those and newlines; reads the bodies of here-documents after each. */
void lex_skip_newlines(struct parser *p);

/* One newline, if it is next. */
bool lex_accept_newline(struct parser *p);

/* Length of the operator if the input continues with it (line continuations inside it
 * are allowed, as everywhere), else 0. */
size_t lex_match(const struct parser *p, const char *op);
bool lex_accept(struct parser *p, const char *op);

/* The same for a reserved word: a delimiter must follow. */
size_t lex_match_keyword(const struct parser *p, const char *word);
bool lex_accept_keyword(struct parser *p, const char *word);
bool lex_expect_keyword(struct parser *p, const char *word);

/* If an alias stands here, read its text next. */
void lex_expand_aliases(struct parser *p);

#define SCAN_FAILED ((size_t)-1)

/*
 * The offset of the `close` that belongs to an opener just before `from`, seen the way
 * bash looks for it: quotes, substitutions and nested pairs are skipped.  With `in_word`
 * an unquoted blank or operator ends the search.
 */
size_t lex_scan(struct parser *p, size_t from, char close, bool in_word);

void *lex_grow(struct parser *p, void *items, size_t *cap, size_t size);

#define APPEND(p, list, item)                                                        \
    do {                                                                             \
        if ((list).count == (list).cap)                                              \
            (list).items =                                                           \
                    lex_grow((p), (list).items, &(list).cap, sizeof(*(list).items)); \
        (list).items[(list).count++] = (item);                                       \
    } while (0)

struct node *parse_node(struct parser *p, enum node_type type, struct pos pos);

/* Commands up to a closing token, which is left; NULL if there are none. */
struct node *parse_list(struct parser *p);

/* The same, and none is an error. */
struct node *parse_body(struct parser *p);

struct node *parse_command(struct parser *p);
struct node *parse_simple(struct parser *p);

/* A compound command with its redirections; NULL if none begins here. */
struct node *parse_compound(struct parser *p);
/* A word as it is written can be a function's name if nothing in it is quoted or expanded
 * as a value; patterns, braces and tildes are letters there. */
bool parse_is_function_name(const struct word *w);
struct node *parse_function_body(struct parser *p, struct str name, struct mark start);
struct cond *parse_cond(struct parser *p);

/* The body of $( ) up to and with the `)`. */
struct node *parse_substitution(struct parser *p, struct pos open);

struct redirect_list {
    struct redirect *items;
    size_t count, cap;
};

/* One redirection if it is next. */
bool parse_redirect(struct parser *p, struct redirect_list *list);

/* Read the bodies that begin at this line. */
void parse_heredocs(struct parser *p);

#endif
