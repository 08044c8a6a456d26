/*
 * edit.h - replace exact text in a file: one engine, whatever tool asks for it.
 *
 * Bytes are exact, with one kindness: `old_text` written with LF also matches a file
 * whose lines end in CRLF or CR (and the other way round), and the inserted text takes
 * the file's style.  BOM, encoding and the missing last newline stay; text that is not
 * UTF-8 is just bytes, only UTF-16 is refused by name.  The file is replaced in one step
 * or not at all, and a change made by somebody else between our reading and our writing
 * is detected, never overwritten (vfs_replace() says how narrow the gap is).
 *
 * When the text is not found the error says what the file has instead: how often and
 * where it nearly matches, and why it does not (indentation, line endings, invisible
 * characters, "123\t" line-number prefixes, text that looks stale).
 */
#ifndef EDIT_EDIT_H
#define EDIT_EDIT_H

#include "vfs/vfs.h"

/* How a tool calls its arguments, for messages. */
struct edit_words {
    const char *old_name, *new_name;
};

/* What was searched, and where the text was found. */
struct edit_matches {
    struct str path; /* as the caller wrote it */
    struct str text; /* the file without its BOM */
    struct str old_text;
    size_t count;     /* 0: nowhere */
    const size_t *at; /* the first `shown` places, in `text` */
    size_t shown;
};

/*
 * A tool that says things its own way.  Each appends what its client is to read; NULL
 * leaves it to the engine.
 */
struct edit_face {
    struct edit_words words;
    bool utf8_only;   /* files in other encodings are refused, not changed as bytes */
    bool overlapping; /* places that overlap count too, when they are counted */
    void (*missed)(
            const struct edit_matches *m, struct buf *out); /* before the reasons */
    void (*ambiguous)(const struct edit_matches *m, struct buf *out);
    void (*changed)(struct str before, struct str after, struct buf *out); /* no BOM */
};

struct edit_request {
    struct vpath path;
    struct str shown_path; /* as the caller wrote it, for messages */
    struct str old_text;   /* empty: create the file, which must not exist */
    struct str new_text;
    bool replace_all;
    /* Only in these lines, as base/textline.h counts them; 0: from the first, to the
     * last.
     */
    uint64_t first_line, last_line;
    const struct edit_face *face; /* NULL: that of the edit tool */
};

struct edit_result {
    bool created;
    size_t count;       /* replacements made */
    struct vpath path;  /* where it is, links followed */
    struct str snippet; /* the changed lines with numbers, or what the face says; in the
                           arena */
};

/*
 * ERR_NOT_FOUND: no such file, or the text does not occur; ERR_INVALID: occurs more than
 * once, or old and new are the same; ERR_EXISTS: creating what is there; ERR_DENIED;
 * ERR_LIMIT: the file is larger than EDIT_MAX_FILE; ERR_IO: changed meanwhile, or failed.
 * The message begins after "edit: PATH: ".  On failure `*detail` is what else the caller
 * should read, several lines without a newline at the end (in the arena), or empty.
 */
#define EDIT_MAX_FILE     ((size_t)256 << 20)
#define EDIT_MAX_ATTEMPTS 10 /* while somebody else changes the file */
MUST_CHECK bool edit_apply(struct vfs *vfs, const struct edit_request *request,
        struct arena *arena, struct edit_result *out, struct str *detail,
        struct error *err);

#endif
