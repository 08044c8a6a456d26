/*
 * compound.h - name=( ... ) as an argument of declare and its kind: expanded first, and
 * stored once the name has its attributes and its scope.
 */
#ifndef SHELL_BUILTIN_COMPOUND_H
#define SHELL_BUILTIN_COMPOUND_H

#include "shell/state.h"

struct compound_item {
    struct str key; /* data NULL: the next index */
    struct str value;
    bool append;
};

struct compound {
    struct compound_item *items;
    size_t count, cap;
    bool assoc;
};

MUST_CHECK bool compound_expand(struct shell *sh, const struct assign *a, bool assoc,
        struct arena *arena, struct compound *out);
MUST_CHECK bool compound_store(
        struct shell *sh, struct str name, const struct compound *c, bool append);

#endif
