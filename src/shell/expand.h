/*
 * expand.h - words to fields, in bash's order: braces, tilde, parameters, commands and
 * arithmetic, field splitting, pathname expansion, quote removal.
 *
 * Results live in the arena of the call (NUL-terminated).  A false return means that the
 * command must not run: the message was already written to the shell's stderr, and
 * `shell->status` set; shell_is_ending() tells whether the script ends too (`set -u`,
 * ${x:?}).  Process substitutions are left in shell->substitutions until the command
 * ends.
 */
#ifndef SHELL_EXPAND_H
#define SHELL_EXPAND_H

#include "shell/ast.h"

struct arena;
struct shell;

struct fields {
    char **items; /* NULL-terminated once expansion ended */
    size_t count, cap;
};

/* One word to any number of fields, appended. */
MUST_CHECK bool expand_word(
        struct shell *sh, const struct word *w, struct arena *arena, struct fields *out);

/* The word with each ~ as it is written: an associative array's keys and values. */
const struct word *expand_without_tilde(const struct word *w, struct arena *arena);

/* No braces, no splitting, no globbing: assignments, here-strings, `case` subjects. */
MUST_CHECK bool expand_string(
        struct shell *sh, const struct word *w, struct arena *arena, struct str *out);

/* The same, but quoted characters come out as \-escaped, so that they are literal in the
 * glob pattern that this is: `case` patterns, ${x#...}, [[ == ]]. */
MUST_CHECK bool expand_pattern(
        struct shell *sh, const struct word *w, struct arena *arena, struct str *out);

/* The right side of =~: quoted parts are escaped for an ERE. */
MUST_CHECK bool expand_regex(
        struct shell *sh, const struct word *w, struct arena *arena, struct str *out);

/* The one field of a redirect; reports "ambiguous redirect" otherwise. */
MUST_CHECK bool expand_redirect_target(
        struct shell *sh, const struct word *w, struct arena *arena, struct str *out);

/* Evaluate; a false return was reported ("division by 0 (error token is ...)"). */
MUST_CHECK bool expand_arith(struct shell *sh, const struct arith_expr *e, int64_t *out);

/* The same for a command that is an expression: `context` ("((: ", "[[: ") stands before
 * the message. */
MUST_CHECK bool expand_arith_in(
        struct shell *sh, const struct arith_expr *e, const char *context, int64_t *out);

/* Evaluate text that only exists at run time (let, declare -i, subscripts). */
MUST_CHECK bool expand_arith_text(struct shell *sh, struct str text, int64_t *out);

/* Do an assignment, arrays and attributes included. */
MUST_CHECK bool expand_assign(
        struct shell *sh, const struct assign *a, struct arena *arena);

/* `text` as it would have to be typed.  All use $'...' when there are control bytes. */
struct str expand_quote(struct str text, struct arena *arena); /* 'a b': ${x@Q}, set */
struct str expand_quote_backslash(
        struct str text, struct arena *arena); /* a\ b: printf %q */
struct str expand_quote_double(
        struct str text, struct arena *arena); /* "a b": declare -p */

#endif
