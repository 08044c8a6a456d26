/*
 * match.h - where a text occurs in a file, across styles of line ending.
 *
 * First the bytes as they are.  Only if they do not occur, and there are line breaks to
 * disagree about, both sides are compared with every line break written as LF.
 */
#ifndef EDIT_MATCH_H
#define EDIT_MATCH_H

#include "base/str.h"

enum eol { EOL_NONE, EOL_LF, EOL_CRLF, EOL_CR };

/* The most frequent line ending.  CR alone ends lines only where there is no LF at all.
 */
enum eol eol_main(struct str text);

/* With LF only, a lone CR counting too if `lone_cr`; yours.  NULL: it has no CR at all.
 */
char *eol_flatten(struct str s, bool lone_cr, size_t *len);

struct span {
    size_t from, len;
};

struct finder {
    struct str text, needle;
    enum eol main;
    bool overlapping;         /* the next match may begin within the last one */
    bool crossed;             /* it is found only if line endings are not compared */
    struct str in;            /* what is searched: `text`, or it with LF only */
    struct str what;          /* the same for `needle` */
    char *flat, *flat_needle; /* owned, or NULL */
    size_t at;                /* where to search next in `in` */
    size_t flat_seen, raw;    /* the same place in `in` and in `text` */
    size_t eol_from, eol_to;  /* for places in here the next line break is `eol` */
    enum eol eol;
};

/* Search `needle` (not empty) in `text`, whose eol_main() is `main`; both must live on.
 */
void finder_init(struct finder *f, struct str text, enum eol main, struct str needle);
void finder_finish(struct finder *f);
#define auto_finder AUTO(finder_finish) struct finder

/* The next match, not overlapping the one before unless that is asked for; false: no
 * more. */
MUST_CHECK bool finder_next(struct finder *f, struct span *out);
void finder_rewind(struct finder *f);

/* What to put in place of a match: `text` with its line breaks written as `to`. */
struct insertion {
    struct str text;
    enum eol to;  /* EOL_NONE: the bytes as they are */
    bool lone_cr; /* a CR without LF is a line break too */
};

/*
 * For the last match that finder_next() gave.  Text that uses the file's way of ending
 * lines, or that is about CR explicitly, is taken literally.
 */
struct insertion insertion_at(
        struct finder *f, struct str old_text, struct str new_text, struct span at);
size_t insertion_size(const struct insertion *i);

/* Write it there, insertion_size() bytes. */
void insertion_write(const struct insertion *i, char *to);

#endif
