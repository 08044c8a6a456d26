/*
 * path-world.h - a path policy for tests, of a machine that does not exist: /w is the
 * workspace with scripts in tools/jobs, /h the home.
 */
#ifndef TESTS_PATH_WORLD_H
#define TESTS_PATH_WORLD_H

#include "policy/paths.h"

struct path_world {
    struct arena *arena;
    struct policy policy;
    struct path_policy *paths;
};

/* `readable`: "*", or the folder that may be read. */
void path_world_init(struct path_world *w, const char *readable);
void path_world_finish(struct path_world *w);

/* A guard whose pattern lives in `arena`; set in policy.toml:7, as all of the policy. */
struct policy_guard path_guard(
        struct arena *arena, const char *text, enum guard_disposition disposition);

#endif
