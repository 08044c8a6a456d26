#include "policy/place.h"
#include "base/path.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LINKS 40 /* of one path, as in the kernel */

struct walk {
    struct arena *arena;
    enum place_links links;
    unsigned *budget;
    struct buf path; /* where we are; no slash at the end, "" is the root */
    size_t there;    /* so much of `path` exists; less than all: its end does not */
    struct str rest; /* what is still to be walked */
    unsigned followed;
};

static bool spend(struct walk *w, size_t cost)
{
    bool enough = *w->budget >= cost;
    *w->budget -= enough ? (unsigned)cost : *w->budget;
    return enough;
}

static void go_up(struct walk *w)
{
    while (w->path.len && w->path.data[w->path.len - 1] != '/')
        w->path.len--;
    if (w->path.len)
        w->path.len--;
    if (w->there > w->path.len)
        w->there = w->path.len;
}

/* The link's text is walked next, then what was to come. */
static bool follow(struct walk *w, size_t from)
{
    char target[PATH_MAX];
    ssize_t len = readlink(w->path.data, target, sizeof(target));
    if (len <= 0 || (size_t)len == sizeof(target) || ++w->followed > MAX_LINKS)
        return false;
    struct str rest = w->rest;
    size_t total = (size_t)len + 1 + rest.len;
    char *text = arena_alloc(w->arena, total);
    memcpy(text, target, (size_t)len);
    text[len] = '/';
    if (rest.len)
        memcpy(text + len + 1, rest.data, rest.len);
    w->rest = (struct str){ text, total };
    w->path.len = target[0] == '/' ? 0 : from;
    w->there = w->path.len;
    return true;
}

/* One name down.  Nothing below what is not there is looked up. */
static bool go_down(struct walk *w, struct str name)
{
    size_t from = w->path.len;
    bool known = w->there == from;
    buf_addc(&w->path, '/');
    buf_add(&w->path, name);
    if (!known)
        return true;
    struct stat st;
    if (!spend(w, 1 + w->path.len / 256))
        return false;
    if (lstat(w->path.data, &st))
        return true;
    if (S_ISLNK(st.st_mode) && w->links == PLACE_FOLLOW)
        return follow(w, from);
    w->there = w->path.len;
    return true;
}

static bool walk_all(struct walk *w)
{
    while (w->rest.len) {
        struct str name = str_cut(&w->rest, '/');
        if (!name.len || str_is(name, "."))
            continue;
        if (str_is(name, ".."))
            go_up(w);
        else if (!go_down(w, name))
            return false;
    }
    return !w->path.full;
}

static struct place describe(const struct walk *w)
{
    struct str path = w->path.len ? buf_str(&w->path) : STR("/");
    size_t parent = path.len;
    while (parent && path.data[parent - 1] != '/')
        parent--;
    return (struct place){
        .path = arena_str(w->arena, path),
        .exists = w->there == w->path.len,
        .parent_exists = w->there + 1 >= parent && path.len - parent <= NAME_MAX,
    };
}

static void finish(struct walk *w)
{
    buf_finish(&w->path);
}

static bool find(struct str known, struct str base, struct str path,
        enum place_links links, struct arena *arena, unsigned *budget, struct place *out)
{
    AUTO(finish)
    struct walk w = {
        .arena = arena,
        .links = links,
        .budget = budget,
        .path = BUF(known.len + base.len + path.len + (MAX_LINKS + 2) * (size_t)PATH_MAX),
        .rest = base,
    };
    if (!spend(&w, 1 + path.len / 4096))
        return false;
    if (!str_is(known, "/"))
        buf_add(&w.path, known);
    w.there = w.path.len;
    if (!walk_all(&w))
        return false;
    w.rest = path;
    if (!walk_all(&w))
        return false;
    *out = describe(&w);
    return true;
}

bool place_find(struct str base, struct str path, enum place_links links,
        struct arena *arena, unsigned *budget, struct place *out)
{
    struct str none = STR("");
    bool absolute = path.len && path.data[0] == '/';
    return find(none, absolute ? none : base, path, links, arena, budget, out);
}

bool place_find_below(struct str known, struct str path, enum place_links links,
        struct arena *arena, unsigned *budget, struct place *out)
{
    struct str none = STR("");
    bool absolute = path.len && path.data[0] == '/';
    return find(absolute ? none : known, none, path, links, arena, budget, out);
}

const struct policy_path *place_among(
        const struct policy_path *places, size_t count, struct str path)
{
    for (size_t i = 0; i < count; i++)
        if (path_is_in(path, places[i].path))
            return &places[i];
    return NULL;
}

const struct policy_protected *place_protected(
        const struct policy *policy, struct str path)
{
    for (size_t i = 0; i < policy->protected_count; i++) {
        const struct policy_protected *p = &policy->protected[i];
        if (path_is_in(path, p->path) && !(p->except.len && path_is_in(path, p->except)))
            return p;
    }
    return NULL;
}

bool place_is_writable(const struct policy *policy, struct str path)
{
    return place_among(policy->writable, policy->writable_count, path);
}

const struct policy_path *place_written_by_any(
        const struct policy *policy, struct str path)
{
    const struct policy_path *place =
            place_among(policy->writable, policy->writable_count, path);
    for (size_t i = 0; !place && i < policy->shell_count; i++)
        place = place_among(
                policy->shells[i].writable, policy->shells[i].writable_count, path);
    return place;
}

bool place_may_be_planted(const struct policy *policy, struct str path)
{
    return place_written_by_any(policy, path) && !place_protected(policy, path);
}
