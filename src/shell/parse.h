/*
 * parse.h - text to AST: the whole bash 5.2 grammar, parsed before anything runs.
 *
 * One recursive-descent parser over a lexer with modes; each function is named after the
 * grammar rule it reads.  Limits: script size, nesting depth; both are errors, not
 * crashes.
 */
#ifndef SHELL_PARSE_H
#define SHELL_PARSE_H

#include "base/arena.h"
#include "shell/ast.h"

#define PARSE_MAX_TEXT   ((size_t)16 << 20)
#define PARSE_MAX_DEPTH  200
#define PARSE_MAX_MEMORY ((size_t)512 << 20) /* of the tree */

struct parse_options {
    bool extglob; /* shopt -s extglob outside [[ ]]: on by default in paddock */
    /* Aliases, or NULL: returns true and the replacement text for a command word. */
    bool (*alias)(void *user, struct str name, struct str *text);
    void *alias_user;
    uint32_t first_line; /* the number of the text's first line; 0 is 1 */
};

struct parse_error {
    struct pos pos;
    char message[240];  /* bash's words: "syntax error near unexpected token `)'" */
    bool is_incomplete; /* more text could make it whole (for an interactive shell) */
};

/* The caller unrefs `*out`. */
MUST_CHECK bool parse_script(struct str text, struct str name,
        const struct parse_options *options, struct script **out,
        struct parse_error *err);

/* One arithmetic expression given as text (no expansions left in it), in `arena`. */
MUST_CHECK bool parse_arith(struct str text, struct arena *arena, struct arith **out,
        struct parse_error *err);

/*
 * The first construct that this build cannot run, searched in the whole tree before
 * anything runs; NULL if all is supported.  Static text: "coproc", or for a command and
 * for an option of `set` what it would take too: "fg (job control)".  A name that the
 * script defines as a function, or for which `defined` is true, is none.
 */
typedef bool script_defined_fn(void *user, struct str name);
const char *script_unsupported(const struct script *s, script_defined_fn *defined,
        void *user, struct pos *where);

/* The same for one name of a command: "fg (job control)"; NULL: nothing is known of it.
 */
const char *script_unsupported_command(struct str name);

/* "==", "-eq": of COND_BINARY. */
const char *cond_operator_name(enum cond_op op);

/* Write the tree as shell text (what `type f` and `declare -f` print). */
void ast_print(const struct node *n, struct buf *out);

#endif
