/*
 * tree-dump.h - a tree as one line of text, for tables of cases.
 *
 * Words: unquoted text as it is, quoted text in '...', $x or ${...} for parameters with
 * their parts in <...>, $(...) $((...)) <(...) for substitutions, ~name, {a,b}, {1..5/2}.
 * Commands: (type ...).
 */
#ifndef TREE_DUMP_H
#define TREE_DUMP_H

#include "shell/ast.h"

void dump_node(const struct node *n, struct buf *out);
void dump_word(const struct word *w, struct buf *out);
void dump_arith(const struct arith *a, struct buf *out);

#endif
