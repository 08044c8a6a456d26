/*
 * tabs.h - tab stops, for expand and unexpand.
 */
#ifndef SHELL_BUILTIN_TABS_H
#define SHELL_BUILTIN_TABS_H

#include "shell/cmd.h"

#define MAX_TABS 256

struct tabs {
    uint64_t stops[MAX_TABS];
    size_t count;
    uint64_t every; /* after the last stop: every so many columns, 0: no more stops */
    bool from_last; /* counted from the last stop, not from the start of the line */
};

/* "4", "3,5", "2,/5", "2,+5"; added to what is there.  False: reported. */
bool tabs_parse(struct cmd *c, const char *text, struct tabs *tabs);

/* After all of the options: a single number means every so many. */
void tabs_finish(struct tabs *tabs);

/* The first stop after `column`; false: there is none. */
bool tabs_next(const struct tabs *tabs, uint64_t column, uint64_t *stop);

/* "-4" and "-3,5" become "-t 4" and "-t 3,5". */
void tabs_rewrite_old(struct cmd *c);

#endif
