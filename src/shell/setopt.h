/*
 * setopt.h - the names of options: `set -o NAME`, `set -x`, `shopt NAME`.
 */
#ifndef SHELL_SETOPT_H
#define SHELL_SETOPT_H

#include "shell/state.h"

/* A bit for an option that is remembered and shown, and changes nothing: there is no
 * prompt, no history and no login here. */
#define SETOPT_IDLE(n) (UINT64_C(1) << (32 + (n)))

struct setopt {
    const char *name;
    char letter;   /* 0: none */
    bool on;       /* at the start; the flag then says that it is off */
    uint64_t flag; /* enum shell_set or enum shell_shopt, or idle; 0: cannot be changed */
    const char *missing; /* what would be needed to change it, for the message */
};

/* In the order that bash lists them; NULL past the end. */
const struct setopt *setopt_at(size_t i);
const struct setopt *setopt_find(struct str name);
const struct setopt *setopt_by_letter(char letter);

const struct setopt *shopt_at(size_t i);
const struct setopt *shopt_find(struct str name);

/* `test -o NAME`. */
bool setopt_is_on(const struct shell *sh, struct str name);

/* False: this one cannot be changed here. */
MUST_CHECK bool setopt_change(struct shell *sh, const struct setopt *o, bool on);
MUST_CHECK bool shopt_change(struct shell *sh, const struct setopt *o, bool on);
static inline bool setopt_value(uint64_t flags, const struct setopt *o)
{
    return ((flags & o->flag) != 0) != o->on;
}

#endif
