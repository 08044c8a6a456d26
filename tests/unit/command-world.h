/*
 * command-world.h - a workspace with a policy made by hand, to try commands on.
 *
 * ROOT/ws is the workspace, ROOT/out lies beside it, ROOT/home is $HOME, ROOT/bin is
 * PATH.
 */
#ifndef TESTS_COMMAND_WORLD_H
#define TESTS_COMMAND_WORLD_H

#include "policy/command.h"

#define MAX_SECTIONS 12

struct world {
    char root[64];
    struct arena *arena;
    struct policy policy;
    struct policy_shell sections[MAX_SECTIONS];
    struct policy_path writable[2];
    struct policy_protected protected[2];
    struct path_policy *paths;
    struct command_policy *commands; /* after world_ready() */
    char *environment[40];           /* to be changed before world_ready() */
    size_t variables;
    struct command_plan plan; /* of the last world_try() */
    struct refusal why;
};

/* The tree, and a policy that writes in the workspace and protects .pyddock (but not its
 * tmp) and tools/jobs. */
void world_create(struct world *w);
void world_destroy(struct world *w); /* removes the tree */

/* ROOT/`path`, in the world's arena. */
const char *world_path(struct world *w, const char *path);
void world_file(struct world *w, const char *path, const char *text, unsigned mode);
void world_link(struct world *w, const char *target, const char *path);
void world_variable(struct world *w, const char *name, const char *value);

/* NULL-terminated. */
struct policy_regexes world_regexes(
        struct world *w, const char *const *texts, bool ignore_case);

/* A section that allows everything; may be changed until world_ready(). */
struct policy_shell *world_section(
        struct world *w, const char *name, const char *command);
void world_guard(struct world *w, const char *regex, enum guard_disposition disposition);
void world_message(struct world *w, const char *regex, const char *text);
void world_ready(struct world *w);

/* The decision; `args` is NULL-terminated. */
bool world_try(
        struct world *w, const char *command, const char *const *args, const char *cwd);

/* The last refusal as it is shown. */
const char *world_refusal(struct world *w);

#endif
