#include "peer/definition-parts.h"

#include "base/path.h"
#include "policy/place.h"
#include "policy/protect.h"

#include <ctype.h>
#include <sys/stat.h>

/* By the file tools, by Python, or by a command that may write more than they do. */
static bool agents_write(const struct definition_loader *l, struct str path)
{
    return path_allowed(l->paths, path, PATH_WRITE, NULL) ||
           (!place_is_writable(l->policy, path) && place_may_be_planted(l->policy, path));
}

/* The file, or a folder that could be moved away and another one put in its place. */
static bool agents_change(const struct definition_loader *l, const char *path)
{
    struct stat st;
    struct str parent = { path, (size_t)(strrchr(path, '/') - path) };
    if (lstat(path, &st) || !S_ISDIR(st.st_mode))
        return agents_write(l, str_of(path));
    return place_written_by_any(l->policy, parent) &&
           path_tree_allowed(l->paths, str_of(path), NULL);
}

/* A path as a pattern in single quotes. */
static void add_pattern(struct buf *out, struct str path)
{
    for (size_t i = 0; i < path.len; i++) {
        unsigned char c = (unsigned char)path.data[i];
        if (c == '\'' || iscntrl(c))
            buf_addc(out, '.');
        else if (strchr("\\^$.|?*+()[]{}", c))
            buf_addf(out, "\\%c", c);
        else
            buf_addc(out, (char)c);
    }
}

/* What is not the workspace or home of just this user. */
static struct str without_base(const struct definition_loader *l, struct str path)
{
    const struct str bases[] = { l->policy->workspace_real, l->policy->home };
    for (size_t i = 0; i < ARRAY_LEN(bases); i++)
        if (path_is_beneath(path, bases[i]) && bases[i].len > 1)
            return str_from(path, bases[i].len);
    return path;
}

static void write_guard(
        const struct definition_loader *l, const char *path, struct buf *out)
{
    buf_addc(out, '\'');
    add_pattern(out, without_base(l, str_of(path)));
    buf_add(out, STR("$' = \"read-only\""));
}

/* The first thing on the way that could be changed; a link ends the way. */
static bool way_is_writable(const struct definition_loader *l, const char *whole,
        const char **entry, struct buf *guard)
{
    bool is_link = false;
    for (const char *end = whole; *end && !is_link; end++) {
        if (end[1] && end[1] != '/')
            continue;
        struct stat st;
        const char *name =
                arena_cstr(l->arena, (struct str){ whole, (size_t)(end - whole) + 1 });
        is_link = !lstat(name, &st) && S_ISLNK(st.st_mode);
        if (agents_change(l, name)) {
            *entry = name;
            write_guard(l, is_link ? name : whole, guard);
            return true;
        }
    }
    return false;
}

/* Each turn replaces the first link by where it leads, so that every name is looked at
 * where it is. */
bool definition_is_writable(const struct definition_loader *l, const char *path,
        const char **entry, struct buf *guard)
{
    const char *real = protect_resolve(path, l->arena);
    const char *whole = protect_normal(path, l->arena), *last = NULL;
    for (unsigned links = 0; whole && links <= PROTECT_MAX_LINKS; links++) {
        if (way_is_writable(l, whole, entry, guard))
            return true;
        last = whole;
        whole = protect_follow(whole, l->arena);
    }
    if (!whole && last && real && !strcmp(last, real))
        return false;
    *entry = path;
    buf_add(guard, STR("none: make its links lead straight to the file"));
    return true;
}
