/*
 * report.h - the text of a run_shell reply: sections that a model and a script can tell
 * apart.
 *
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

/* So much is to be kept of a stream so that cleaning can still shrink it. */
#define REPORT_KEEP_BYTES ((size_t)512 << 10) /* of its start, and of its end */

/*
 * Append a stream as text (clean-text.h), cut in the middle if it is too long, with a
 * note there on what is missing.  `what`: "output" or "stderr".
 */
void report_stream(
        const struct command_stream *stream, const char *what, bool raw, struct buf *out);

/* Append the whole. */
void report_write(
        struct str out_text, struct str err_text, int exit_code, struct buf *out);

/* As the seed of the format has it: 0.., or minus the signal that ended the program. */
int report_exit_code(int wait_status);

#endif
