/*
 * Hard links give a file names that no rule about paths knows.  A file that has only one
 * is never looked for, so this costs nothing until a file with several is used.
 */
#include "base/budget.h"
#include "vfs/internal.h"

#include <errno.h>
#include <stdlib.h>

enum { MAX_LOOKS = 200000 };

struct identity {
    uint64_t dev, ino;
};

/* Files with several names. */
struct identities {
    struct identity *items; /* sorted when it is complete */
    size_t count, cap;
    bool complete; /* false: there may be more */
};

struct twins {
    struct vfs_guarded *items;
    size_t count;
    struct identities secrets, protected;
    bool looked; /* at the protected ones */
};

static int compare_identities(const void *a, const void *b)
{
    const struct identity *x = a, *y = b;
    int order = (x->dev > y->dev) - (x->dev < y->dev);
    return order ? order : (x->ino > y->ino) - (x->ino < y->ino);
}

static void add_identity(struct identities *set, const struct vfs_stat *st)
{
    if (st->type == VFS_DIR || st->nlink < 2)
        return;
    GROW(set->items, set->count, set->cap);
    set->items[set->count++] = (struct identity){ st->dev, st->ino };
}

static bool has_identity(const struct identities *set, const struct vfs_stat *st)
{
    struct identity key = { st->dev, st->ino };
    return set->count &&
           bsearch(&key, set->items, set->count, sizeof(*set->items), compare_identities);
}

/* The folders still to be looked into, as paths. */
struct search {
    struct vfs *vfs;
    struct identities *set;
    struct arena *arena;
    struct str *todo;
    size_t count, cap, looks;
};

static void look_at(struct search *s, struct str path)
{
    struct vfs_stat st;
    const char *rel;
    const struct mount *m = vfs_find_mount(s->vfs, path, &rel);
    int error = m ? m->ops->stat(m->self, rel, &st) : ENOENT;
    if (error)
        s->set->complete &= error == ENOENT;
    else if (st.type == VFS_DIR) {
        GROW(s->todo, s->count, s->cap);
        s->todo[s->count++] = path;
    } else {
        add_identity(s->set, &st);
    }
}

static void look_into(struct search *s, struct str dir)
{
    struct target t = { .path = dir };
    struct vfs_entry *entries;
    size_t count = 0;
    t.mount = vfs_find_mount(s->vfs, dir, &t.rel);
    int error = vfs_list_target(s->vfs, &t, s->arena, &entries, &count);
    s->set->complete &= !error || error == ENOENT;
    for (size_t i = 0; !error && i < count; i++) {
        bool stop = s->vfs->budget && !budget_spend(s->vfs->budget, 1);
        if (++s->looks > MAX_LOOKS || stop) {
            s->set->complete = false;
            return;
        }
        if (entries[i].type != VFS_LINK)
            look_at(s, str_of(arena_printf(s->arena, "%.*s/%.*s", STR_ARG(dir),
                               STR_ARG(entries[i].name))));
    }
}

static void search(struct vfs *vfs, bool secret, struct identities *out)
{
    auto_arena *arena = arena_create();
    struct search s = { .vfs = vfs, .set = out, .arena = arena };
    out->count = 0;
    out->complete = true;
    for (size_t i = 0; i < vfs->twins->count; i++)
        if (vfs->twins->items[i].secret == secret)
            look_at(&s, vfs->twins->items[i].path.text);
    while (s.count && s.looks <= MAX_LOOKS)
        look_into(&s, s.todo[--s.count]);
    free(s.todo);
    if (out->count)
        qsort(out->items, out->count, sizeof(*out->items), compare_identities);
}

void vfs_guard_twins(struct vfs *vfs, const struct vfs_guarded *items, size_t count)
{
    vfs_destroy_twins(vfs);
    if (!count)
        return;
    struct twins *twins = xcalloc(1, sizeof(*twins));
    vfs->twins = twins;
    twins->items = xcalloc(count, sizeof(*twins->items));
    for (size_t i = 0; i < count; i++) {
        twins->items[i] = items[i];
        twins->items[i].path.text.data = xstrdup(items[i].path.text.data);
    }
    twins->count = count;
    search(vfs, true, &twins->secrets);
}

void vfs_forget_twins(struct vfs *vfs)
{
    if (vfs->twins)
        vfs->twins->looked = false;
}

void vfs_destroy_twins(struct vfs *vfs)
{
    struct twins *twins = vfs->twins;
    vfs->twins = NULL;
    if (!twins)
        return;
    for (size_t i = 0; i < twins->count; i++) {
        char *path;
        memcpy(&path, &twins->items[i].path.text.data,
                sizeof(path)); /* it was made here */
        free(path);
    }
    free(twins->items);
    free(twins->secrets.items);
    free(twins->protected.items);
    free(twins);
}

static int refuse(struct vfs *vfs, struct str path, bool write, const char *rule)
{
    vfs->refusals++;
    if (!vfs->why)
        return EACCES;
    refusal_begin(vfs->why, "hard-link", NULL);
    buf_addf(&vfs->why->what, "%s '", write ? "writing" : "reading");
    buf_add_escaped(&vfs->why->what, path);
    buf_addf(&vfs->why->what, "' is not permitted");
    buf_add(&vfs->why->rule, str_of(rule));
    if (write)
        buf_add(&vfs->why->hint,
                STR("Write a new file and move it over this one: that leaves the other "
                    "name as it is."));
    return EACCES;
}

int vfs_check_twin(
        struct vfs *vfs, struct str path, const struct vfs_stat *st, enum gate_use uses)
{
    struct twins *twins = vfs->twins;
    bool write = uses & GATE_CHANGE;
    if (!twins || st->nlink < 2 || st->type == VFS_DIR)
        return 0;
    if (has_identity(&twins->secrets, st))
        return refuse(
                vfs, path, write, "the file has another name that is not to be read");
    if (!twins->secrets.complete)
        return refuse(vfs, path, write,
                "the file has several names, and not all that is secret could be "
                "compared "
                "with it");
    if (!write)
        return 0;
    if (!twins->looked)
        search(vfs, false, &twins->protected);
    twins->looked = true;
    if (has_identity(&twins->protected, st))
        return refuse(vfs, path, write, "the file has another name that is protected");
    if (!twins->protected.complete)
        return refuse(vfs, path, write,
                "the file has several names, and not all that is protected could be "
                "compared with it");
    return 0;
}
