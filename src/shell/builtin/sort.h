/*
 * sort.h - the parts of sort: keys (sort-key.c), lines in memory and on disk
 * (sort-run.c, sort-parallel.c), the command (sort.c).
 */
#ifndef SHELL_BUILTIN_SORT_H
#define SHELL_BUILTIN_SORT_H

#include "shell/cmd.h"

enum sort_order {
    SORT_BYTES,
    SORT_NUMERIC,
    SORT_GENERAL,
    SORT_HUMAN,
    SORT_MONTH,
    SORT_VERSION,
    SORT_RANDOM,
};

struct sort_how {
    enum sort_order order;
    bool reverse, fold, dictionary, printable;
    bool skip_start, skip_end; /* blanks before the key's ends are not counted */
};

/* -k F.C,F.C: which part of a line.  Numbers count from 0 here. */
struct sort_key {
    size_t field, character;
    size_t end_field, end_character; /* end_field SIZE_MAX: to the end of the line */
    struct sort_how how;
    bool has_own; /* it has letters, so the global ones do not apply */
};

struct sort_rule {
    struct sort_key *keys; /* at least one when `by_keys` */
    size_t key_count, key_cap;
    struct sort_how global;
    int separator; /* -t, or -1: runs of blanks */
    bool stable, unique;
    uint64_t seed; /* for -R */
};

struct sort_line {
    const char *text; /* without the line end, which follows it */
    uint32_t len;
    uint32_t key, key_len; /* the first key's place */
    uint32_t exact;        /* the prefix says all about the first key */
    uint64_t prefix;       /* orders as the first key does; equal: compare the rest */
};

/* The text of -k; false fills `err` with GNU's message. */
bool sort_key_parse(struct str text, struct sort_key *out, struct error *err);

/* Set one letter of bdfghiMnRrV; false: it is none. */
bool sort_how_set(struct sort_how *how, char letter);

/* Apply the global letters to the keys; false names letters that exclude each other. */
bool sort_rule_finish(struct sort_rule *rule, struct error *err);

/* Fill the rest of `line` from its text. */
void sort_line_prepare(const struct sort_rule *rule, struct sort_line *line);

/* Is the first key compared byte by byte?  Then its prefixes can be sharpened: what the
 * first keys of these lines all begin with tells nothing, so prefixes are taken after it.
 * The lines compare among themselves only from then on. */
bool sort_rule_is_bytes(const struct sort_rule *rule);
void sort_lines_sharpen(
        const struct sort_rule *rule, struct sort_line *lines, size_t count);

/* Back to prefixes of the keys' beginnings, for a merge with other lines. */
void sort_lines_blunt(
        const struct sort_rule *rule, struct sort_line *lines, size_t count);

/* By keys, then (unless stable or unique) by all bytes. */
int sort_compare(const struct sort_rule *rule, const struct sort_line *a,
        const struct sort_line *b);

/* Stable; `scratch` has room for `count` lines too. */
bool sort_lines(struct cmd *c, const struct sort_rule *rule, struct sort_line *lines,
        struct sort_line *scratch, size_t count);

/* The same with a helper thread when there are many. */
bool sort_lines_parallel(struct cmd *c, const struct sort_rule *rule,
        struct sort_line *lines, struct sort_line *scratch, size_t count);

/* Lines being collected: kept in memory, or in runs on disk when there are many. */
struct sorter;
struct sorter *sorter_create(struct cmd *c, const struct sort_rule *rule, char end);
void sorter_destroy(struct sorter *s);
bool sorter_read(struct sorter *s, struct stream *in);       /* every line of it */
void sorter_add_sorted(struct sorter *s, struct stream *in); /* for -m; takes over */
bool sorter_write(struct sorter *s, struct stream *out);     /* in order; NULL: stdout */

#endif
