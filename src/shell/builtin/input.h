/*
 * input.h - the files a command reads, one after the other.
 *
 *   struct inputs in = inputs_open(c);
 *   while (inputs_next(&in)) ... in.stream, in.name ...
 *   return in.status;
 *
 * A file that cannot be opened is reported and passed over; one that fails while it is
 * read is reported by the inputs_next() after it.  Both make the status 1.  Whoever stops
 * early may just return: what is open is closed when the command ends.
 */
#ifndef SHELL_BUILTIN_INPUT_H
#define SHELL_BUILTIN_INPUT_H

#include "shell/cmd.h"

enum input_style { /* how failures are worded */
    INPUT_PLAIN,   /* cat: x: No such file or directory */
    INPUT_HEAD,    /* head: cannot open 'x' for reading: ... */
    INPUT_TAC,     /* tac: failed to open 'x' for reading: ... */
    INPUT_SORT,    /* sort: cannot read: x: ... */
    INPUT_OPEN,    /* rev: cannot open x: ... */
};

struct inputs {
    struct cmd *c;
    char **names;
    int count, next;
    enum input_style style;
    const char *name; /* of `stream`, as typed */
    struct stream *stream;
    struct stream **held; /* the same, for the end of the command */
    int status;
    int opened; /* how many could be */
};

/* The command's operands, or stdin if there are none. */
struct inputs inputs_open(struct cmd *c);
bool inputs_next(struct inputs *in);

/* Close the file being read, for who stops before inputs_next() was false; returns 1. */
int inputs_stop(struct inputs *in);

/* The file being read, which is then the caller's. */
struct stream *inputs_take(struct inputs *in);

/* Report that `name` could not be read. */
void input_failed(struct cmd *c, enum input_style style, const char *name, int errnum);
bool input_is_stdin(const char *name);

/* The next line, without a final `end` in *line; `*ended` (may be NULL): it had one.
 * False at the end; a line that is too long stops the command. */
bool input_line(struct cmd *c, struct stream *s, char end, struct str *line, bool *ended);

/* Copy `max` bytes (UINT64_MAX: all) of `s` to stdout.  False when stdout failed. */
bool copy_bytes(struct cmd *c, struct stream *s, uint64_t max);

/* Drop `n` bytes, or `n` lines; false if there were fewer. */
bool skip_bytes(struct cmd *c, struct stream *s, uint64_t n);
bool skip_lines(struct cmd *c, struct stream *s, char end, uint64_t n);

#endif
