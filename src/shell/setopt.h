/*
 * setopt.h - the names of options: `set -o NAME`, `set -x`, `shopt NAME`.
 */
#ifndef SHELL_SETOPT_H
#define SHELL_SETOPT_H

#include "shell/state.h"

struct setopt {
    const char *name;
    char letter;   /* 0: none */
    unsigned flag; /* enum shell_set or enum shell_shopt; 0: known, but fixed */
    bool fixed_on; /* what a fixed one shows */
};

/* Sorted by name; NULL past the end. */
const struct setopt *setopt_at(size_t i);
const struct setopt *setopt_find(struct str name);
const struct setopt *setopt_by_letter(char letter);

const struct setopt *shopt_at(size_t i);
const struct setopt *shopt_find(struct str name);

/* `test -o NAME`. */
bool setopt_is_on(const struct shell *sh, struct str name);

void setopt_change(struct shell *sh, const struct setopt *o, bool on);
void shopt_change(struct shell *sh, const struct setopt *o, bool on);
static inline bool setopt_value(unsigned flags, const struct setopt *o)
{
    return o->flag ? (flags & o->flag) != 0 : o->fixed_on;
}

#endif
