#include "config-world.h"
#include "scratch.h"

#include "unit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct str in_world(const struct world *w, const char *name)
{
    return str_of(arena_printf(w->arena, "%s/%s", w->root, name));
}

void make_folder(const struct world *w, const char *name)
{
    assert_int_equal(mkdir(in_world(w, name).data, 0777), 0);
}

void remove_folder(const struct world *w, const char *name)
{
    assert_int_equal(rmdir(in_world(w, name).data), 0);
}

void make_link(const struct world *w, const char *name, const char *target)
{
    assert_int_equal(symlink(target, in_world(w, name).data), 0);
}

void make_fifo(const struct world *w, const char *name)
{
    assert_int_equal(mkfifo(in_world(w, name).data, 0600), 0);
}

void put(const struct world *w, const char *name, const char *text)
{
    const char *path = in_world(w, name).data;
    unlink(path);
    if (!text)
        return;
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

void open_world(struct world *w)
{
    snprintf(w->root, sizeof(w->root), "/tmp/paddock-config-XXXXXX");
    scratch_make(w->root);
    w->arena = arena_create();
    make_folder(w, "ws");
    make_folder(w, "ws/.pyddock");
    make_folder(w, "home");
}

void close_world(struct world *w)
{
    arena_destroy(w->arena);
    scratch_remove(w->root);
}

bool load(struct world *w, const char *file, struct policy **out, struct error *err)
{
    const struct config_request request = { .workspace = in_world(w, "ws").data,
        .file = file,
        .home = in_world(w, "home").data };
    return config_load(&request, w->arena, out, err);
}

struct policy *load_good(struct world *w, const char *file)
{
    struct policy *policy = NULL;
    struct error err = { 0 };
    if (!load(w, file, &policy, &err))
        fail_msg("%s", err.message);
    return policy;
}

void put_policy(const struct world *w, const char *text, bool overlay)
{
    put(w, "ws/.pyddock/pyddock.toml", overlay ? NULL : text);
    put(w, "ws/.pyddock/pyddock.override.toml", overlay ? text : NULL);
}

struct policy *load_text(struct world *w, const char *text, bool overlay)
{
    put_policy(w, text, overlay);
    return load_good(w, NULL);
}
