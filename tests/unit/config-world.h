/* config-world.h - a workspace with a policy, and a home beside it, below /tmp. */
#ifndef TESTS_CONFIG_WORLD_H
#define TESTS_CONFIG_WORLD_H

#include "policy/config/config.h"

struct world {
    char root[64];
    struct arena *arena; /* everything that is loaded lives here */
};

/* Makes ws/.pyddock and home. */
void open_world(struct world *w);
void close_world(struct world *w);

struct str in_world(const struct world *w, const char *name);
void make_folder(const struct world *w, const char *name);
void remove_folder(const struct world *w, const char *name);
void make_link(const struct world *w, const char *name, const char *target);
void make_fifo(const struct world *w, const char *name);

/* A file with this text; NULL: none. */
void put(const struct world *w, const char *name, const char *text);

bool load(struct world *w, const char *file, struct policy **out, struct error *err);
struct policy *load_good(struct world *w, const char *file);

/* The text is the base, or (`overlay`) laid over the built-in policy. */
void put_policy(const struct world *w, const char *text, bool overlay);
struct policy *load_text(struct world *w, const char *text, bool overlay);

#define EMPTY "[execution]\n[imports]\n[filesystem]\n[ast]\n[audit]\n" /* five lines */

#endif
