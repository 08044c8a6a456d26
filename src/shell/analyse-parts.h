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
    struct analyse_folder folder;
};

/* Where a shell is when it comes to a place. */
struct analyse_state {
    struct analyse_folder folder;
    bool is_never; /* it does not come there: behind `exit` */
};

/* What is asked about folders before they can be followed. */
struct analyse_survey {
    bool changes;          /* some command changes the folder */
    bool functions_change; /* one that is in a function */
    bool is_unsteady;      /* what `cd` does is not plain: CDPATH, a function cd */
    bool is_lost;          /* it may change anywhere: trap, lastpipe */
    bool drops_errexit;    /* somewhere, or perhaps */
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
    /* Before a node: where it starts; after it: where it succeeded, and where not. */
    struct analyse_state now, failed;
    struct analyse_survey survey; /* of the walk before this one */
    bool sets_cdpath;
    bool errexit;        /* `set -e` is in force, at the top */
    unsigned conditions; /* how deep in what may fail under it */
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

/* analyse-folder.c: where the shell is after the command, or a node that is like one. */
void analyse_follow(struct analyse *a, const struct analyse_command *command);
void analyse_stay(struct analyse *a);                /* it is where it was */
void analyse_lose(struct analyse *a, uint32_t line); /* nobody knows */
struct analyse_state analyse_join(struct analyse_state x, struct analyse_state y);

/* May the folder be another one after the node, in the shell that runs it? */
bool analyse_changes(const struct analyse *a, const struct node *n);

/* Of what has been listed. */
struct analyse_survey analyse_survey(const struct analyse *a);

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
