/* fs-world.h - a folder served by a real worker, for tests of the fs_* tools. */
#ifndef TESTS_FS_WORLD_H
#define TESTS_FS_WORLD_H

#include "client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

struct fs_world {
    char folder[64];
    struct client client;
};

int fs_world_set_up(void **state);
int fs_world_set_up_brief(void **state); /* a call may take a fraction of a second */
int fs_world_tear_down(void **state);

/* Files of the folder, seen from outside the worker. */
void put(struct fs_world *w, const char *name, struct str content);
void put_text(struct fs_world *w, const char *name, const char *text);
void put_folder(struct fs_world *w, const char *name);
bool has(struct fs_world *w, const char *name);
bool holds(struct fs_world *w, const char *name, struct str content);

/* A call whose arguments are JSON with ' for "; its text, and whether it was an error. */
const char *call(struct fs_world *w, const char *tool, const char *args, bool *is_error);

/* The whole text of a reply that is no error. */
void expect(struct fs_world *w, const char *tool, const char *args, const char *text);

/* Parts of the text of a reply that is one; NULL: no more. */
void expect_error(struct fs_world *w, const char *tool, const char *args,
        const char *part, const char *other);

/* Parts of the text of a reply that is none. */
void expect_part(struct fs_world *w, const char *tool, const char *args, const char *part,
        const char *other);

#define IN_FS_WORLD(test) \
    cmocka_unit_test_setup_teardown(test, fs_world_set_up, fs_world_tear_down)

#endif
