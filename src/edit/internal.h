/*
 * internal.h - what the files of edit/ share.
 */
#ifndef EDIT_INTERNAL_H
#define EDIT_INTERNAL_H

#include "base/arena.h"
#include "edit/edit.h"
#include "edit/match.h"

/* Lines of a text, as an editor counts them; `main` says what ends one. */
struct line {
    size_t number;   /* from 1 */
    struct str text; /* without its line ending */
    size_t next;     /* where the next one begins */
};

/* The line that begins at `at`. */
struct line line_at(struct str text, size_t at, size_t number, enum eol main);
size_t line_start(struct str text, size_t at, enum eol main);
size_t line_number(struct str text, size_t at, enum eol main);

/* "     7\ttext": cut if very long.  No newline before the first. */
void show_line(const struct line *line, struct buf *out);

/* The lines that touch [from, to) with `context` more on each side; the middle of a long
 * passage is left out. */
void show_region(struct str text, enum eol main, size_t from, size_t to, size_t context,
        struct buf *out);

/* "line 7", "lines 3, 9 and 12", "lines 1, 2, 3, ... (40 in all)": of the first matches.
 */
void show_places(struct str text, enum eol main, const size_t *at, size_t shown,
        size_t total, struct buf *out);

enum { MAX_PLACES = 10 };

/* A text that does not occur in a file. */
struct miss {
    struct str text; /* of the file */
    enum eol main;   /* eol_main() of it */
    struct str old_text, new_text;
    const struct edit_words *words;
    bool quiet; /* that nothing resembles it need not be said */
};

/* Why `old_text` does not occur in `text`, and what is there instead; may be empty. */
void diagnose(const struct miss *m, struct buf *out);

/*
 * A skeleton is what is left of a text without blanks, line breaks and invisible
 * characters, letters in lower case, typographic quotes and dashes as their ASCII kin.
 * Two texts with one skeleton differ in what is hard to see.
 */
struct skeleton {
    char *data; /* owned */
    size_t len;
};

void skeleton_make(struct str text, struct skeleton *out);
void skeleton_finish(struct skeleton *s);
#define auto_skeleton AUTO(skeleton_finish) struct skeleton

/* Where the character of the skeleton byte `at` begins in `text`, counting on from byte
 * `*seen` at `*raw`; both are moved there. */
size_t skeleton_raw(struct str text, size_t at, size_t *seen, size_t *raw);

/* A number that equal skeletons share; 0: there is nothing in it. */
uint32_t skeleton_hash(struct str text);

/* The character at `at`, its length, and whether a skeleton leaves it out. */
struct glyph {
    uint32_t code; /* 0x110000 + byte if it is not UTF-8 */
    size_t len;
    bool filler;
};

struct glyph glyph_at(struct str text, size_t at);

/* "U+00A0 (no-break space)", "'x'". */
void show_glyph(uint32_t code, struct buf *out);

/* Sentences on how `old_text` differs from the passage with the same skeleton that begins
 * at `from`. */
void explain_difference(const struct miss *m, size_t from, struct buf *out);

/* The same for one whole line, `old_text`, and the one that begins at `at`. */
void explain_line(const struct miss *m, size_t at, struct buf *out);

/* The passage that shares most lines with `old_text`, or the most similar line; false if
 * nothing is alike. */
bool show_nearest(const struct miss *m, struct buf *out);

#endif
