/*
 * options.h - reading an argument vector as the program itself would read it.
 *
 * A table is text: names of options with spaces between them, each with marks behind it.
 *
 *   --color     a switch             --abbrev?   a value only if it is attached to it
 *   --author=   a value, in the next argument if it is not attached
 *
 * and instead of `=` (or after `?`) what the value, or the option itself, is good for:
 *
 *   =  text that names no file       :  anything else
 *   <  a file that is read           >  a file that is written
 *   %  part of a program's name      ~  allows programs that are not to run: taken out
 *   ^  leads to another repository, server or configuration: refused
 *   !  runs a program: refused
 *
 * `~`, `^` and `!` after `*` are switches: --ext-diff*~.
 *
 * Everything is read towards the dangerous side.  An abbreviation is the most dangerous
 * option that it may stand for, or none of them: the argument behind it is read as its
 * value and once more by itself.  An option that no table names is a switch, and a `--`
 * right behind it may be its value, so it does not end the options.
 */
#ifndef POLICY_DEPUTY_OPTIONS_H
#define POLICY_DEPUTY_OPTIONS_H

#include "base/str.h"

enum option_arity { OPTION_ALONE, OPTION_MAYBE, OPTION_VALUE };

/* The more dangerous, the later. */
enum option_use {
    OPTION_PLAIN,
    OPTION_TEXT,
    OPTION_PROGRAM_PART,
    OPTION_DROPPED,
    OPTION_READS,
    OPTION_WRITES,
    OPTION_REFUSED,
    OPTION_RUNS,
};

struct option {
    struct str name; /* with its dashes; "" if no table names it */
    enum option_arity arity;
    enum option_use use;
};

struct options {
    const char *words;
    const struct options *more; /* looked into after these; or NULL */
};

struct option_reader {
    const struct options *options;
    const struct str *args;
    size_t count, next;
    bool exact;      /* no abbreviations */
    bool ended;      /* `--` was seen */
    bool doubt;      /* the last word was an option that no table names */
    struct str rest; /* of a bundle of short options */
};

struct option_word {
    struct option option; /* for an operand all zero */
    struct str text;      /* as written: "--outpu", "-o", "HEAD~1" */
    struct str value;
    size_t at, value_at; /* arguments */
    bool is_operand, has_value;
    bool after_end; /* an operand behind `--` */
};

/* The next option or operand; false: there is no more. */
bool option_next(struct option_reader *r, struct option_word *w);

/* Is this word the option of that name (in the table's spelling)? */
static inline bool option_is(const struct option_word *w, const char *name)
{
    return !w->is_operand && str_is(w->option.name, name);
}

#endif
