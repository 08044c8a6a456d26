/*
 * analyse-parts.h - between the walk over the tree (analyse.c) and what is known of
 * single commands (analyse-call.c).
 */
#ifndef SHELL_ANALYSE_PARTS_H
#define SHELL_ANALYSE_PARTS_H

#include "shell/analyse.h"

/* A script to walk: the one that was given, then those found as literal text. */
struct analyse_text {
    struct analyse_text *next;
    struct str text;
    const char *via;
    uint32_t line; /* of the outer command; 0: lines are its own */
    unsigned depth;
    unsigned scope; /* functions are known to the texts of the same scope */
    bool is_own;    /* a scope of its own begins here */
    size_t order;   /* how many commands came before it */
};

struct analyse_definition {
    struct str name;
    unsigned scope;
    bool is_certain; /* not in a branch, a subshell, a function */
    uint32_t line;
    size_t order; /* how many commands came before it */
};

/* What resolving a name needs, parallel to the commands. */
struct analyse_site {
    unsigned scope;
    size_t order;     /* as that of a definition */
    bool in_function; /* called later than it stands there */
    bool no_functions;
};

struct analyse {
    struct arena *arena;
    struct budget *budget;
    struct analysis *out;
    struct analyse_site *sites;
    size_t site_count, site_cap;
    struct analyse_definition *definitions;
    size_t definition_count, definition_cap;
    struct analyse_text *text, **last; /* the one that is walked; the end of the queue */
    unsigned scopes;
    unsigned branches, functions; /* how deep in them */
    size_t words, bytes;
    bool is_over; /* a limit */
};

/* A command with what it gets, before it is listed. */
struct analyse_call {
    struct analyse_command command;
    const struct redirect *redirects;
    size_t redirect_count;
    bool no_functions;
    unsigned depth;
};

/* List the command and, as far as they are literal, those that it starts. */
void analyse_call(struct analyse *a, struct analyse_call *call);

void analyse_add_command(struct analyse *a, const struct analyse_call *call);
void analyse_add_unknown(
        struct analyse *a, const char *what, struct str text, uint32_t line);

/* A function or an alias of the scope that is walked. */
void analyse_add_definition(
        struct analyse *a, struct str name, bool is_certain, uint32_t line);

/* Literal text that is run as a script; `is_fresh`: by a shell of its own. */
void analyse_add_text(struct analyse *a, struct str text, const char *via, uint32_t line,
        bool is_fresh);

/* False: a limit is reached, and all ends. */
bool analyse_spend(struct analyse *a, size_t words, size_t bytes);

/* Room for one more in an array of the arena. */
#define ANALYSE_GROW(a, items, count, cap)                                   \
    do {                                                                     \
        if ((count) == (cap)) {                                              \
            size_t cap_ = (cap) ? (cap)*2 : 16;                              \
            void *grown_ = arena_alloc((a)->arena, cap_ * sizeof(*(items))); \
            if (count)                                                       \
                memcpy(grown_, (items), (count) * sizeof(*(items)));         \
            (items) = grown_;                                                \
            (cap) = cap_;                                                    \
        }                                                                    \
    } while (0)

#endif
