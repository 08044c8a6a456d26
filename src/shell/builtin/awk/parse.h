/*
 * parse.h - what the two halves of the parser share: expression.c reads expressions,
 * parse.c statements, rules and functions.
 */
#ifndef SHELL_BUILTIN_AWK_PARSE_H
#define SHELL_BUILTIN_AWK_PARSE_H

#include "shell/builtin/awk/awk.h"
#include "shell/builtin/awk/lex.h"

#define AWK_MAX_NESTING 200

struct parser {
    struct awk_lexer lex;
    struct cmd *cmd;
    struct awk_program *program;
    struct str *parameters; /* of the function being parsed */
    size_t parameter_count;
    unsigned depth;
    bool no_in;      /* in the head of a for: `in` ends an expression */
    bool no_greater; /* in print: `>` is a redirection */
    bool failed;
};

/* Report a syntax error once; the program then seems to end here. */
void awk_parse_fail(struct parser *p, const char *message);

/* One level deeper, which ends with p->depth--; false: too deep, and it has failed. */
MUST_CHECK bool awk_parse_enter(struct parser *p, const char *message);

bool awk_parse_at(const struct parser *p, int token);
void awk_parse_advance(struct parser *p);
bool awk_parse_accept(struct parser *p, int token); /* take the token if it is this one */
void awk_parse_expect(struct parser *p, int token, const char *message);
void awk_parse_skip_newlines(struct parser *p);
void awk_parse_skip_terminators(struct parser *p);

struct awk_node *awk_parse_node(struct parser *p, enum awk_node_type type);
struct awk_node *awk_parse_node_ab(struct parser *p, enum awk_node_type type, int op,
        struct awk_node *a, struct awk_node *b);
size_t awk_parse_function_slot(struct awk_program *program, struct str name);

struct awk_node *awk_parse_expression(struct parser *p);
struct awk_node *awk_parse_concat(struct parser *p);
struct awk_node *awk_parse_unary(struct parser *p);
struct awk_node *awk_parse_variable(struct parser *p);
struct awk_node *awk_parse_regex_literal(struct parser *p);
struct awk_node *awk_parse_name_node(struct parser *p, struct str name);

/* Keep what was collected in `list` (freed here) as the list of `n`. */
void awk_parse_set_list(struct parser *p, struct awk_node *n, struct awk_node **list);

#endif
