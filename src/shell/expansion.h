/*
 * expansion.h - what the files of word expansion share.
 *
 * expand.c walks the parts of a word; expand-param.c reads parameters and expand-op.c
 * applies the operators of ${}; what comes out is put into an expansion (expand-field.c),
 * which splits, globs or escapes it as its mode asks.  Braces are unrolled before that
 * (expand-brace.c), pathnames are found when a field ends (expand-glob.c).
 */
#ifndef SHELL_EXPANSION_H
#define SHELL_EXPANSION_H

#include "shell/expand.h"
#include "shell/pattern.h"
#include "shell/state.h"

#define EXPAND_STACK_MIN ((size_t)32 << 10)

enum expand_mode {
    EXPAND_FIELDS,      /* split and glob */
    EXPAND_STRING,      /* one text */
    EXPAND_PATTERN,     /* one glob pattern: quoted characters are escaped */
    EXPAND_REGEX,       /* one ERE: quoted characters are escaped */
    EXPAND_REPLACEMENT, /* of ${x/pattern/...}: a quoted & is escaped */
};

/* How the bytes of text split. */
enum ifs_kind { IFS_NONE, IFS_SPACE, IFS_OTHER };

struct ifs {
    struct str chars; /* a view of the variable, or the default */
    bool is_set;
    unsigned char kind[256]; /* by first byte; characters beyond ASCII are looked up */
    char text[16];           /* what `kind` was made from, if it is as short as that */
    size_t length;
};

struct expansion {
    struct shell *sh;
    struct arena *arena;
    enum expand_mode mode;
    struct fields *out;    /* EXPAND_FIELDS */
    struct buf text;       /* the field being built */
    struct buf marks;      /* EXPAND_FIELDS: for each byte of `text`, was it quoted? */
    bool have;             /* there is a field, be it empty */
    bool after_space;      /* white space ended the last field: a separator joins it */
    bool magic;            /* an unquoted byte may belong to a glob */
    bool soft;             /* unquoted text splits too: inside of ${x:-...} */
    const struct ifs *ifs; /* NULL: not yet asked for */
};

/* What a parameter holds. */
struct operand {
    struct str name; /* of the variable, or the parameter's sign or number */
    bool is_set;
    bool is_list, star; /* $@ ${a[@]}; with `star` $* ${a[*]} */
    bool is_positional;
    struct str text;
    struct str *items;
    size_t count;
    /* The element that was asked for, to assign it. */
    bool has_index;
    struct str key; /* of an associative array, else "" */
    int64_t index;
    bool is_assoc;
};

/* Report; the command does not run. */
#define expand_fail(sh, ...) (shell_err(sh, __VA_ARGS__), expand_discard(sh))
bool expand_discard(struct shell *sh); /* when it was reported already */

/* Report and end the shell: `set -u`, ${x:?}.  As `bash -c` does it: 127 for the shell, 1
 * for a subshell of it. */
#define expand_exit(sh, ...) \
    (shell_err(sh, __VA_ARGS__), shell_exit(sh, expand_exit_status(sh)))

/* 127 ends a script that is given as text, 1 one that is a file or has `set -e`, and a
 * subshell. */
int expand_exit_status(const struct shell *sh);

/* Is there memory for `n` more bytes of results?  False: the budget was stopped. */
bool expand_room(struct shell *sh, const struct arena *arena, size_t n);

struct expansion expansion_begin(
        struct shell *sh, struct arena *arena, enum expand_mode mode, struct fields *out);
void expansion_finish(struct expansion *e); /* frees what is not in the arena */
#define auto_expansion AUTO(expansion_finish) struct expansion

bool put_quoted(struct expansion *e, struct str text); /* there is a field now */
bool put_plain(struct expansion *e, struct str text);  /* unquoted text of the word */
bool put_result(struct expansion *e, struct str text, bool quoted); /* of an expansion */
bool put_list(struct expansion *e, const struct operand *list, bool quoted);
bool end_field(struct expansion *e);

bool fields_push(struct fields *f, struct arena *arena, char *item);

/* The shell's $IFS as it is now; valid until it changes. */
const struct ifs *ifs_get(struct shell *sh);
/* How the character at the start of `s` splits, and its length. */
enum ifs_kind ifs_kind(const struct ifs *ifs, struct str s, size_t *length);

bool expand_parts(struct expansion *e, const struct part *parts, size_t count);

/* The word behind an operator, into `e` itself: keeps its own quotes and lists. */
bool expand_inner(struct expansion *e, const struct word *w);

bool expand_as(struct shell *sh, const struct word *w, enum expand_mode mode,
        struct arena *arena, struct str *out);

/* Words of one part that need no struct expansion.  SINGLE_NO: nothing was done. */
enum single { SINGLE_NO, SINGLE_DONE, SINGLE_FAILED };
enum single expand_single_field(
        struct shell *sh, const struct word *w, struct arena *arena, struct fields *out);
enum single expand_single_string(
        struct shell *sh, const struct word *w, struct arena *arena, struct str *out);

bool expand_param(struct expansion *e, const struct param *p, bool quoted);
bool operand_apply(struct expansion *e, const struct param *p, struct operand *o);
bool operand_transform(struct expansion *e, const struct param *p, struct operand *o);

/* One word with braces: expand_parts() for each of the words it stands for. */
bool expand_braces(struct expansion *e, const struct word *w);

/* Append the paths that match, sorted; `*found`: how many. */
bool expand_glob(struct shell *sh, struct str pattern, struct arena *arena,
        struct fields *out, size_t *found);

enum pattern_flags expand_pattern_flags(const struct shell *sh);

/* Assign through namerefs, with -i evaluated; failures are reported. */
bool expand_set(struct shell *sh, const struct operand *to, struct str value, bool append,
        struct arena *arena);

#endif
