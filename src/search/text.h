/*
 * text.h - a file read as text: UTF-8 in which LF ends every line, whatever is on disk.
 *
 * Each line break that base/textline.h knows becomes one LF, a BOM is left out, UTF-16
 * with a BOM becomes UTF-8, and bytes that are no text become U+FFFD.  The place of the
 * first such byte is kept, for readers who want nothing but text.
 */
#ifndef SEARCH_TEXT_H
#define SEARCH_TEXT_H

#include "vfs/vfs.h"

#define TEXT_FINE UINT64_MAX

enum text_encoding { TEXT_UTF8, TEXT_UTF16_LE, TEXT_UTF16_BE };

struct text_reader {
    struct vfile *file; /* borrowed */
    char *raw;          /* what was read and not yet handed out: [at, len) */
    size_t at, len;
    uint64_t offset; /* of raw[len] in the file */
    uint64_t bad_at; /* of the first byte that is no text, or TEXT_FINE */
    enum text_encoding encoding;
    bool has_nul; /* in the first 8 KiB, and it is no UTF-16: binary, as grep sees it */
    bool at_eof;
};

/* A zeroed reader; it may be started for one file after the other. */
void text_reader_finish(struct text_reader *r);

/* Read the beginning, from the file's own offset on, and decide on the encoding. */
MUST_CHECK int text_start(struct text_reader *r, struct vfile *file);

/* Up to `size` bytes (at least 8), never a part of a character; *got 0: the end. */
MUST_CHECK int text_read(struct text_reader *r, char *to, size_t size, size_t *got);

/* The same text line by line. */
struct text_lines {
    struct text_reader reader;
    char *data; /* decoded: [at, len) is to be handed out */
    size_t at, len;
    int error; /* of the last read, or 0 */
};

void text_lines_finish(struct text_lines *l);
#define auto_text_lines AUTO(text_lines_finish) struct text_lines

MUST_CHECK int text_lines_start(struct text_lines *l, struct vfile *file);

/*
 * The next part of the current line, in memory until the next call.  `*ended`: it was the
 * last part, and a line break came after it.  False: the end of the file, or `l->error`.
 */
MUST_CHECK bool text_lines_next(struct text_lines *l, struct str *part, bool *ended);

#endif
