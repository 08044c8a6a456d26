/* The walk: a path with ".." or links becomes canonical, links followed one by one. */
#include "vfs/internal.h"

#include <errno.h>

/* The part of the text still to walk that came from one link (or from the caller). */
struct part {
    size_t end;               /* in walk.todo */
    const struct mount *jail; /* where the link lives and must stay; NULL: the caller's */
};

struct walk {
    struct vfs *vfs;
    char done[VFS_MAX_PATH + 1]; /* canonical so far; "" is the root */
    size_t done_len;
    char todo[2 * VFS_MAX_PATH + 2]; /* filled at its end, links are put before `at` */
    size_t at;
    struct part parts[VFS_MAX_LINKS + 1];
    size_t depth; /* parts in use */
    int links;
    char link[VFS_MAX_PATH + 1]; /* the target being followed */
    bool must_be_dir;
};

static struct str done_path(const struct walk *w)
{
    return w->done_len ? (struct str){ w->done, w->done_len } : STR("/");
}

/* Put `text` before what is still to do. */
static int push_part(struct walk *w, struct str text, const struct mount *jail)
{
    if (text.len + 1 > w->at || w->depth == ARRAY_LEN(w->parts))
        return w->depth == ARRAY_LEN(w->parts) ? ELOOP : ENAMETOOLONG;
    size_t end = w->at;
    w->at -= text.len;
    memcpy(w->todo + w->at, text.data, text.len);
    w->parts[w->depth++] = (struct part){ end, jail };
    return 0;
}

/* The next component with its part, skipping empty ones and "."; false at the end. */
static bool next_component(struct walk *w, struct str *name, const struct mount **jail)
{
    while (w->depth) {
        const struct part *part = &w->parts[w->depth - 1];
        if (w->at == part->end) {
            w->depth--;
            continue;
        }
        struct str rest = { w->todo + w->at, part->end - w->at };
        *name = str_cut(&rest, '/');
        *jail = part->jail;
        w->at = part->end - rest.len;
        if (name->len && !str_is(*name, "."))
            return true;
    }
    return false;
}

static void go_up(struct walk *w)
{
    while (w->done_len && w->done[--w->done_len] != '/')
        ;
    w->done[w->done_len] = 0;
}

static int go_down(struct walk *w, struct str name)
{
    if (w->done_len + 1 + name.len > VFS_MAX_PATH)
        return ENAMETOOLONG;
    w->done[w->done_len++] = '/';
    memcpy(w->done + w->done_len, name.data, name.len);
    w->done_len += name.len;
    w->done[w->done_len] = 0;
    return 0;
}

static void go_to_mount(struct walk *w, const struct mount *m)
{
    w->done_len = m->at.len > 1 ? m->at.len : 0;
    memcpy(w->done, m->at.data, w->done_len);
    w->done[w->done_len] = 0;
}

static int map_absolute(const struct mount *m, struct str target, struct str *out)
{
    if (m->ops->map_absolute)
        return m->ops->map_absolute(m->self, target, out);
    return vfs_path_below(target, m->at, out) ? 0 : EACCES;
}

static int follow_link(struct walk *w, const struct mount *m, const char *rel, bool last)
{
    if (++w->links > VFS_MAX_LINKS)
        return ELOOP;
    size_t len = 0;
    int error = vfs_gate_passing(w->vfs, done_path(w));
    if (error)
        return error;
    error = m->ops->readlink(m->self, rel, w->link, sizeof(w->link), &len);
    if (error)
        return error == EINVAL ? ELOOP : error; /* EINVAL: it was a link a moment ago */
    struct str target = { w->link, len };
    if (!len)
        return ENOENT;
    if (last && target.data[len - 1] == '/')
        w->must_be_dir = true;
    go_up(w);
    if (target.data[0] == '/') {
        error = map_absolute(m, target, &target);
        if (error)
            return error;
        go_to_mount(w, m);
    }
    return push_part(w, target, m);
}

/* `jail`: the mount of the link that this component comes from; it may not leave it. */
static int step_up(struct walk *w, const struct mount *jail)
{
    if (jail && str_eq(done_path(w), jail->at))
        return EACCES;
    /* Otherwise it would tell that there is a folder, and that of any name. */
    int error = vfs_gate(w->vfs, done_path(w), GATE_LOOK);
    if (!error)
        go_up(w);
    return error;
}

static int step_down(
        struct walk *w, struct str name, const struct mount *jail, enum vfs_follow follow)
{
    bool last = w->at == sizeof(w->todo);
    int error = vfs_gate_name(w->vfs, name, GATE_LOOK);
    if (!error)
        error = go_down(w, name);
    if (error)
        return error;
    const char *rel;
    const struct mount *m = vfs_find_mount(w->vfs, done_path(w), &rel);
    if (jail && m != jail)
        return EACCES;
    if (!*rel || vfs_is_above_mount(w->vfs, done_path(w)))
        return 0;
    struct vfs_stat st;
    error = m->ops->stat(m->self, rel, &st);
    if (error)
        return last && error == ENOENT ? 0 : error;
    if (st.type == VFS_LINK && (!last || follow == VFS_FOLLOW))
        return follow_link(w, m, rel, last);
    return last || st.type == VFS_DIR ? 0 : ENOTDIR;
}

static int walk(struct walk *w, struct str path, enum vfs_follow follow)
{
    w->at = sizeof(w->todo);
    int error = push_part(w, path, NULL);
    struct str name;
    const struct mount *jail;
    while (!error && next_component(w, &name, &jail)) {
        if (str_is(name, ".."))
            error = step_up(w, jail);
        else
            error = step_down(w, name, jail, follow);
    }
    return error;
}

static bool has_dot_dot(struct str path)
{
    const char *at = path.data;
    while ((at = strstr(at, "/.."))) {
        if (at[3] == '/' || !at[3])
            return true;
        at += 3;
    }
    return false;
}

static int locate_as_written(const struct vfs *vfs, struct vpath path, struct target *out)
{
    if (has_dot_dot(path.text))
        return ELOOP;
    out->path = path.text;
    out->must_be_dir = path.must_be_dir;
    out->mount = vfs_find_mount(vfs, path.text, &out->rel);
    return out->mount ? 0 : ENOENT;
}

/* That something is not there is said only of what may be looked at. */
static int hide_missing(struct walk *w, int error)
{
    bool tells = error == ENOENT || error == ENOTDIR || error == EACCES;
    if (!tells || !w->vfs->options.paths)
        return error;
    int refused = vfs_gate(w->vfs, done_path(w), GATE_LOOK);
    return refused ? refused : error;
}

int vfs_locate(struct vfs *vfs, struct vpath path, enum vfs_follow follow, int attempt,
        struct target *out)
{
    if (attempt == 0)
        return locate_as_written(vfs, path, out);
    if (!vfs->count)
        return ENOENT;
    struct walk *w = xmalloc(sizeof(*w)); /* too big for a coroutine's stack */
    w->vfs = vfs;
    w->done_len = w->depth = 0;
    w->done[0] = 0;
    w->links = 0;
    w->must_be_dir = path.must_be_dir;
    out->storage = w;
    int error = walk(w, path.text, follow);
    if (error)
        return hide_missing(w, error);
    out->is_walked = true;
    out->path = done_path(w);
    out->must_be_dir = w->must_be_dir;
    out->mount = vfs_find_mount(vfs, out->path, &out->rel);
    return 0;
}

void target_finish(struct target *t)
{
    free(t->storage);
    t->storage = NULL;
}
