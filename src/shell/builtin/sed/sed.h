/*
 * sed.h - a parsed sed script, and running it.
 *
 * parse.c turns the text into a flat list of commands (a block is a jump over what it
 * encloses), input.c gives the lines of the input files one after the other,
 * run.c walks the list once a line.  The language is GNU sed 4.9's, without `e`
 * (nothing is executed here).
 */
#ifndef SHELL_BUILTIN_SED_H
#define SHELL_BUILTIN_SED_H

#include "search/regex.h"
#include "shell/cmd.h"

#define SED_MAX_TEXT ((size_t)16 << 20)

enum sed_address_type {
    SED_NO_ADDRESS,
    SED_LINE,     /* 5; 0 in 0,/re/ */
    SED_LAST,     /* $ */
    SED_REGEX,    /* /re/ */
    SED_STEP,     /* first~step */
    SED_PLUS,     /* addr,+n */
    SED_MULTIPLE, /* addr,~n */
};

struct sed_address {
    enum sed_address_type type;
    uint64_t n, step;
    struct regex *regex; /* NULL in SED_REGEX: the last one used */
};

enum sed_case { SED_AS_IS, SED_UPPER, SED_LOWER };

/* A piece of what `s` puts in: some text or a group, and letter case from here on. */
struct sed_piece {
    struct str text;
    int group;           /* -1: `text` */
    bool sets_case;      /* \U \L \E before this piece */
    enum sed_case all;   /* if sets_case */
    enum sed_case first; /* \u \l: of the next character only */
};

struct sed_output; /* an open `w` file */

struct sed_command {
    struct sed_address from, to;
    bool negated;
    char name;
    uint32_t number; /* order in the script */
    struct str text; /* a i c: the text; r R w W: the file; y: 256 bytes or pairs */
    size_t target;   /* b t T, and `{` whose address does not match: where to go on */
    int64_t value;   /* q Q: exit status; l: width */
    /* s */
    struct regex *regex;
    struct sed_piece *pieces;
    size_t piece_count;
    bool global, print;
    uint64_t which; /* replace the nth match; 0: the first */
    struct sed_output *output;
    /* y: from[i] becomes to[i] */
    struct str *map_from, *map_to;
    size_t map_count;
};

struct sed_script {
    struct sed_command *commands;
    size_t count, cap;
    struct sed_output *outputs; /* list of all `w` files */
    bool extended, silent, separate, in_place, nul_lines, posix;
    const char *suffix; /* of -i, NULL: none */
    int64_t line_width; /* of `l` */
};

struct sed_output {
    struct sed_output *next;
    struct str name;
    struct stream *stream;
};

/* Add the commands of `text`.  Errors were reported as sed does: false. */
struct sed_parser;
struct sed_parser *sed_parser_create(struct cmd *c, struct sed_script *script);
MUST_CHECK bool sed_parse(struct sed_parser *p, struct str text, const char *source);
MUST_CHECK bool sed_parse_end(struct sed_parser *p);

struct sed_input {
    struct cmd *cmd;
    const struct sed_script *script;
    char **files;
    size_t next;            /* file to open next */
    struct stream *current; /* NULL: none open */
    const char *name;       /* of the current file */
    bool new_file;          /* the next line is the first of its file (-s, -i) */
    uint64_t line;
    int status;
    char end;
    /* -i: what the file will be. */
    struct buf replacement;
    struct vfs_stat before;
};

void sed_input_init(
        struct sed_input *in, struct cmd *c, const struct sed_script *s, char **files);

/* The next line without its newline, copied into `out`; `*ended`: it had one. */
bool sed_input_line(struct sed_input *in, struct buf *out, bool *ended);

/* Is the line just read the last one (of its file with -s and -i)? */
bool sed_input_is_last(struct sed_input *in);

/* Write to stdout, or to the file being edited in place; false: stop. */
MUST_CHECK bool sed_emit(struct sed_input *in, struct str text);

/* The current file is done: put its replacement in place. */
bool sed_input_finish(struct sed_input *in);

/* Run it; returns the exit status. */
int sed_run(struct cmd *c, struct sed_script *script, char **files);

#endif
