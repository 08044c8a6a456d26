#include "confine/layout.h"
#include "base/path.h"

#include <string.h>

/* What is private if the request says so... */
static const struct layout_item temporary[] = {
    { .kind = LAYOUT_PRIVATE, .path = "/tmp", .mode = 01777 },
    { .kind = LAYOUT_PRIVATE, .path = "/var/tmp", .mode = 01777 },
    { .kind = LAYOUT_PRIVATE, .path = "/dev/shm", .mode = 01777 },
};

#define SMALL ((uint64_t)1 << 20)

/* ...of /run what resolves names, and where NixOS keeps programs... */
static const struct layout_item run[] = {
    { .kind = LAYOUT_PRIVATE, .path = "/run", .mode = 0755, .bytes = SMALL },
    { .kind = LAYOUT_READ_ONLY, .path = "/run/NetworkManager/resolv.conf" },
    { .kind = LAYOUT_READ_ONLY, .path = "/run/current-system" },
    { .kind = LAYOUT_READ_ONLY, .path = "/run/resolvconf" },
    { .kind = LAYOUT_READ_ONLY, .path = "/run/systemd/resolve" },
};

/* ...and of /dev what has nothing behind it. */
static const struct layout_item dev[] = {
    { .kind = LAYOUT_PRIVATE, .path = "/dev", .mode = 0755, .bytes = SMALL },
    { .kind = LAYOUT_DEVICE, .path = "/dev/full" },
    { .kind = LAYOUT_DEVICE, .path = "/dev/null" },
    { .kind = LAYOUT_DEVICE, .path = "/dev/random" },
    { .kind = LAYOUT_DEVICE, .path = "/dev/tty" },
    { .kind = LAYOUT_DEVICE, .path = "/dev/urandom" },
    { .kind = LAYOUT_DEVICE, .path = "/dev/zero" },
    { .kind = LAYOUT_TERMINALS, .path = "/dev/pts" },
};

struct collection {
    struct layout_item *items;
    size_t count, cap;
};

static void add(struct collection *c, struct layout_item item)
{
    item.order = (unsigned)c->count;
    GROW(c->items, c->count, c->cap);
    c->items[c->count++] = item;
}

static void add_all(struct collection *c, const struct layout_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add(c, items[i]);
}

static enum layout_kind kind_of(enum view_rule rule)
{
    switch (rule) {
    case VIEW_WRITABLE:
        return LAYOUT_WRITABLE;
    case VIEW_READ_ONLY:
        return LAYOUT_READ_ONLY;
    case VIEW_VISIBLE:
        return LAYOUT_VISIBLE;
    case VIEW_HIDDEN:
        break;
    }
    return LAYOUT_HIDDEN;
}

/* Gives way to another rule for the same path. */
static bool is_weak(const struct layout_item *item)
{
    return item->kind == LAYOUT_PIN || item->kind == LAYOUT_VISIBLE;
}

static int compare(const void *a, const void *b)
{
    const struct layout_item *x = a, *y = b;
    int order = strcmp(x->path, y->path);
    if (!order)
        order = is_weak(y) - is_weak(x);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

/* What is above comes before what is below; of the same path, the last one is left. */
static void sort(struct collection *c)
{
    size_t kept = 0;
    if (c->count)
        qsort(c->items, c->count, sizeof(*c->items), compare);
    for (size_t i = 0; i < c->count; i++) {
        if (kept && !strcmp(c->items[kept - 1].path, c->items[i].path))
            kept--;
        c->items[kept++] = c->items[i];
    }
    c->count = kept;
}

/* The nearest of the items before `end` that `path` is below, or NULL. */
static struct layout_item *find_above(
        struct layout_item *items, size_t end, const char *path)
{
    while (end--)
        if (path_is_beneath(str_of(path), str_of(items[end].path)))
            return &items[end];
    return NULL;
}

static bool is_writable(const struct layout_item *item)
{
    return item && (item->kind == LAYOUT_WRITABLE || item->kind == LAYOUT_PIN);
}

/* Does what lies above say the same already? */
static bool is_needless(const struct layout_item *item, const struct layout_item *above)
{
    if (above && above->kind == LAYOUT_HIDDEN)
        return true;
    switch (item->kind) {
    case LAYOUT_READ_ONLY:
        return !above || above->kind == LAYOUT_READ_ONLY || above->kind == LAYOUT_VISIBLE;
    case LAYOUT_VISIBLE:
        return !above || above->kind != LAYOUT_PRIVATE;
    case LAYOUT_WRITABLE:
        return above && above->kind == LAYOUT_WRITABLE;
    case LAYOUT_HIDDEN:
        return above && above->kind == LAYOUT_PRIVATE;
    case LAYOUT_DEVICE:
    case LAYOUT_PIN:
    case LAYOUT_PRIVATE:
    case LAYOUT_TERMINALS:
        break;
    }
    return false;
}

static void drop_needless(struct collection *c)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->count; i++)
        if (!is_needless(&c->items[i], find_above(c->items, kept, c->items[i].path)))
            c->items[kept++] = c->items[i];
    c->count = kept;
}

/* The folders strictly between `path` and the writable one that it is below. */
static void add_pins_of(struct collection *pins, const char *path,
        const struct layout_item *above, struct arena *arena)
{
    size_t top = above->path[1] ? strlen(above->path) : 0;
    for (size_t len = strlen(path); len > top + 1; len--) {
        if (path[len] != '/')
            continue;
        const char *pin = arena_cstr(arena, (struct str){ path, len });
        add(pins, (struct layout_item){ .kind = LAYOUT_PIN, .path = pin });
    }
}

static void add_pins(struct collection *c, struct arena *arena)
{
    struct collection pins = { .count = 0 };
    for (size_t i = 0; i < c->count; i++) {
        const struct layout_item *item = &c->items[i];
        const struct layout_item *above = find_above(c->items, i, item->path);
        if ((item->kind == LAYOUT_READ_ONLY || item->kind == LAYOUT_HIDDEN) &&
                is_writable(above))
            add_pins_of(&pins, item->path, above, arena);
    }
    add_all(c, pins.items, pins.count);
    free(pins.items);
    sort(c);
}

static void find_tops(struct layout *layout)
{
    for (size_t i = 0; i < layout->count; i++) {
        struct layout_item *item = &layout->items[i];
        struct layout_item *above = find_above(layout->items, i, item->path);
        item->top = above && above->kind == LAYOUT_PRIVATE ? above : NULL;
    }
}

static void collect(
        const struct view_request *request, struct collection *c, struct layout *out)
{
    if (request->private_tmp)
        add_all(c, temporary, ARRAY_LEN(temporary));
    if (request->private_run)
        add_all(c, run, ARRAY_LEN(run));
    if (request->private_dev)
        add_all(c, dev, ARRAY_LEN(dev));
    for (size_t i = 0; i < request->path_count; i++) {
        const struct view_path *path = &request->paths[i];
        /* With ".." two names for one place would not be seen to be one. */
        if (!path_is_normal(str_of(path->path)))
            out->is_malformed |= path->rule != VIEW_VISIBLE; /* that can be left out */
        else if (strcmp(path->path, "/"))
            add(c, (struct layout_item){
                           .kind = kind_of(path->rule), .path = path->path });
        else
            out->all_writable = path->rule == VIEW_WRITABLE;
    }
}

/* With all of "/" writable, what is read-only is so by a mount of its own. */
static void add_root(struct collection *c, const struct layout *out)
{
    if (out->all_writable)
        add(c, (struct layout_item){ .kind = LAYOUT_WRITABLE, .path = "/" });
}

static void take_root_out(struct collection *c)
{
    if (c->count && !strcmp(c->items[0].path, "/"))
        memmove(c->items, c->items + 1, --c->count * sizeof(*c->items));
}

void layout_make(
        const struct view_request *request, struct arena *arena, struct layout *out)
{
    struct collection c = { .count = 0 };
    *out = (struct layout){ .count = 0 };
    collect(request, &c, out);
    add_root(&c, out);
    sort(&c);
    drop_needless(&c);
    add_pins(&c, arena);
    take_root_out(&c);
    out->items = arena_alloc(arena, (c.count + 1) * sizeof(*c.items));
    if (c.count)
        memcpy(out->items, c.items, c.count * sizeof(*c.items));
    out->count = c.count;
    free(c.items);
    find_tops(out);
}
