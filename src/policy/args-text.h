/*
 * args-text.h - which parts of an argument may be meant as a path.
 *
 * Found by the text alone: all of it, what follows `=`, `,`, `:`, `;`, `@` or `<`, what
 * hangs on a short option, what a file: URL names.  What a part is worth depends on what
 * is there (args.c): a part that is no path is harmless as long as nothing outside the
 * workspace is called so.
 */
#ifndef POLICY_ARGS_TEXT_H
#define POLICY_ARGS_TEXT_H

#include "base/arena.h"

/* Programs that read some texts in a way of their own. */
enum args_program {
    ARGS_OTHER,
    ARGS_FIELDS, /* take "/" between fields, and read no folder */
    ARGS_GIT,    /* REVISION:PATH, and :PATH from the top of the repository */
    ARGS_P4,     /* //DEPOT/PATH */
    ARGS_PODS,   /* NAMESPACE/POD:PATH */
    ARGS_SED,    /* s,OLD,NEW, */
};

enum args_program args_program_of(struct str command);

struct args_part {
    struct str text;
    bool is_sentence; /* with blanks in it: more likely words than a path */
};

struct args_parts {
    struct args_part *items;
    size_t count, cap;
};

/*
 * In `arena`.  `is_file(user, name)` tells whether there is something of that name, which
 * makes `name:/x` a list and not a place on another machine.  False: too many file: URLs.
 */
typedef bool args_is_file_fn(const void *user, struct str name);
MUST_CHECK bool args_find_parts(enum args_program program, struct str argument,
        args_is_file_fn *is_file, const void *user, struct arena *arena,
        struct args_parts *out);

/* The length of the "SCHEME:" that makes a URL of the text, or 0. */
size_t args_url_scheme(struct str text);

#endif
