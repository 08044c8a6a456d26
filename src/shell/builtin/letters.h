/*
 * letters.h - options as bash's own builtins read them: single letters, bundled, up to
 * the first operand; "--" ends them.
 *
 *   struct letters l = letters_of(c, "a:r");
 *   for (int k; (k = letters_next(&l)) != CMD_END;)
 *       switch (k) { case 'a': ...l.value...; case CMD_BAD: return 2; }
 *   operands: c->argv[l.index] .. c->argv[c->argc - 1]
 */
#ifndef SHELL_BUILTIN_LETTERS_H
#define SHELL_BUILTIN_LETTERS_H

#include "shell/cmd.h"

struct letters {
    struct cmd *cmd;
    const char *spec; /* as getopt's: a colon after a letter that takes a value */
    const char *usage;
    bool plus;    /* +x is an option too (declare, set) */
    bool is_plus; /* this one was written with + */
    const char *value;
    int index;
    const char *bundle;
};

struct letters letters_of(struct cmd *c, const char *spec, const char *usage);

/* The letter; CMD_END; CMD_BAD: reported with the usage, return 2. */
int letters_next(struct letters *l);

/* "NAME: usage: ..." on stderr; returns 2. */
int letters_usage(struct cmd *c, const char *usage);

/* The operand as a number; reported if it is none. */
MUST_CHECK bool letters_number(struct cmd *c, const char *text, int64_t *out);

/* Report "NAME: `x': not a valid identifier" unless it is one. */
MUST_CHECK bool letters_name(struct cmd *c, const char *text);

#endif
