#include "definition-world.h"

#include "unit.h"

#include <sys/stat.h>

void put_program(const struct world *w, const char *name)
{
    put(w, name, "#!/bin/sh\n");
    assert_int_equal(chmod(in_world(w, name).data, 0755), 0);
}

void open_definitions(struct definitions *d)
{
    open_world(&d->world);
    make_folder(&d->world, "bin");
    put_program(&d->world, "bin/tool");
}

void close_definitions(struct definitions *d)
{
    close_world(&d->world);
}

void load_definitions(struct definitions *d, const char *overlay)
{
    if (!try_definitions(d, overlay))
        load_text(&d->world, overlay, true); /* says why not */
}

bool try_definitions(struct definitions *d, const char *overlay)
{
    const struct world *w = &d->world;
    struct error err;
    d->all = (struct peer_definitions){ .count = 0 };
    char *const environment[] = { arena_printf(w->arena, "PATH=relative:%s:%s:/bin",
                                          in_world(w, "ws/bin").data,
                                          in_world(w, "bin").data),
        arena_printf(w->arena, "HOME=%s", in_world(w, "home").data),
        (char[]){ "USER=me" }, (char[]){ "API_TOKEN=t0ken" }, (char[]){ "TWO=a\nb" },
        (char[]){ "EMPTY=" }, (char[]){ "LD_PRELOAD=/lib/x.so" }, (char[]){ "OTHER=1" },
        NULL };
    put_policy(w, overlay, true);
    if (!load(&d->world, NULL, &d->policy, &err))
        return false;
    peer_definitions_load(
            d->policy, in_world(w, "home").data, environment, w->arena, &d->all);
    return true;
}

bool is_warned(const struct definitions *d, const char *text)
{
    for (size_t i = 0; i < d->policy->warnings.count; i++)
        if (strstr(d->policy->warnings.items[i].text.data, text))
            return true;
    return false;
}

const struct policy_protected *find_server_place(
        const struct definitions *d, const char *name)
{
    struct str path = in_world(&d->world, name);
    for (size_t i = 0; i < d->policy->protected_count; i++)
        if (d->policy->protected[i].kind == PROTECTED_SERVER &&
                str_eq(d->policy->protected[i].path, path))
            return &d->policy->protected[i];
    return NULL;
}
