/*
 * report.h - the text of a reply of run_shell and run_python: sections that a model and a
 * script can tell apart.
 *
 *   --- RESULT ---
 *   42
 *   --- STDOUT ---
 *   left right
 *
 *   --- EXIT CODE: 0 ---
 *
 * A section is left out if it is empty; the exit code is always there and last.  A
 * section keeps the newline at the end of its text, hence the empty line.
 */
#ifndef TOOL_REPORT_H
#define TOOL_REPORT_H

#include "broker/command.h"

/* Of one stream, by utf8_cost(); a longer one loses its middle. */
#define REPORT_MAX_CHARS 65536

/* So much of what is shown of a longer one is from its end. */
#define REPORT_TAIL_CHARS      (REPORT_MAX_CHARS / 3)
#define REPORT_DATA_TAIL_CHARS 4096 /* if it is rather data than a log */

/* So much is to be kept of a stream so that cleaning can still shrink it. */
#define REPORT_KEEP_BYTES ((size_t)512 << 10) /* of its start, and of its end */

struct report_style {
    const char *what; /* in notes: "output", "stderr", "result" */
    bool raw;         /* escape sequences and rewritten lines stay, see clean-text.h */
    size_t tail_chars;
};

/* Append a stream as text, cut if it is too long, with a note there on what is missing.
 * Returns how many bytes that are. */
uint64_t report_stream(const struct command_stream *stream,
        const struct report_style *style, struct buf *out);

struct report {
    bool has_result; /* of a snippet; it may be empty */
    struct str result, out, err;
    int exit_code;
};

/* Append the whole. */
void report_write(const struct report *report, struct buf *out);

/* As the seed of the format has it: 0.., or minus the signal that ended the program. */
int report_exit_code(int wait_status);

#endif
