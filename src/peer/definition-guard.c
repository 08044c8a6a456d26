#include "peer/definition-parts.h"

#include "base/path.h"
#include "policy/place.h"
#include "policy/protect.h"

#include <ctype.h>
#include <sys/stat.h>

/*
 * What a guard forbids the file tools and Python is kept from commands only where the
 * kernel could be told: what exists, and is found by the beginning of the pattern.
 */
static bool kernel_keeps(const struct definition_loader *l, struct str path)
{
    if (!place_written_by_any(l->policy, path))
        return true;
    for (size_t i = 0; i < l->rules.count; i++) {
        const struct kernel_rule *rule = &l->rules.items[i];
        bool keeps = rule->kind == KERNEL_READ_ONLY || rule->kind == KERNEL_HIDDEN;
        if (keeps && path_is_in(path, rule->path))
            return true;
    }
    return false;
}

/* By the file tools, by Python, or by a command that may write more than they do.  What
 * was protected since counts. */
static bool agents_write(const struct definition_loader *l, struct str path)
{
    struct stat st;
    if (place_protected(l->policy, path))
        return false;
    return path_allowed(l->paths, path, PATH_WRITE, NULL) ||
           (!place_is_writable(l->policy, path) &&
                   place_written_by_any(l->policy, path)) ||
           (!lstat(path.data, &st) && !S_ISLNK(st.st_mode) && !kernel_keeps(l, path));
}

static struct str folder_of(const char *path)
{
    size_t len = (size_t)(strrchr(path, '/') - path);
    return len ? (struct str){ path, len } : STR("/");
}

/* The kernel keeps no single link: its folder must be out of reach. */
static bool agents_change_link(const struct definition_loader *l, const char *path)
{
    return agents_write(l, str_of(path)) ||
           agents_write(l, arena_str(l->arena, folder_of(path)));
}

/* The file, or a folder that could be moved away and another one put in its place. */
static bool agents_change(const struct definition_loader *l, const char *path)
{
    struct stat st;
    if (lstat(path, &st))
        return agents_write(l, str_of(path));
    if (S_ISLNK(st.st_mode))
        return agents_change_link(l, path);
    if (!S_ISDIR(st.st_mode))
        return agents_write(l, str_of(path));
    return place_written_by_any(l->policy, folder_of(path)) &&
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
    buf_add(out, STR("to have it read, add to [filesystem.guards]: '"));
    add_pattern(out, without_base(l, str_of(path)));
    buf_add(out, STR("$' = \"read-only\""));
}

/* The next prefix of a path that ends with a whole name, or NULL. */
static const char *next_prefix(
        const struct definition_loader *l, const char *whole, size_t *len)
{
    if (!whole[*len])
        return NULL;
    do
        ++*len;
    while (whole[*len] && whole[*len] != '/');
    return arena_cstr(l->arena, (struct str){ whole, *len });
}

static bool is_link(const char *path)
{
    struct stat st;
    return !lstat(path, &st) && S_ISLNK(st.st_mode);
}

/* The first link in a path, or NULL. */
static const char *first_link(const struct definition_loader *l, const char *whole)
{
    const char *name;
    for (size_t len = 0; (name = next_prefix(l, whole, &len)) && !is_link(name);)
        ;
    return name;
}

/* Something on the way that could be changed; a link ends the way. */
static bool way_is_writable(const struct definition_loader *l, const char *whole,
        const char **entry, struct buf *help)
{
    const char *link = first_link(l, whole), *name;
    if (link && agents_change_link(l, link)) {
        *entry = link;
        buf_add(help, STR("it is a link: put the file itself there, or the link where "
                          "nobody writes"));
        return true;
    }
    size_t end = strlen(link ? link : whole);
    for (size_t len = 0; len < end && (name = next_prefix(l, whole, &len));)
        if (agents_change(l, name)) {
            *entry = name;
            write_guard(l, whole, help);
            return true;
        }
    return false;
}

/* Each turn replaces the first link by where it leads, so that every name is looked at
 * where it is. */
bool definition_is_writable(const struct definition_loader *l, const char *path,
        const char **entry, struct buf *help)
{
    const char *real = protect_resolve(path, l->arena);
    const char *whole = protect_normal(path, l->arena), *last = NULL;
    for (unsigned links = 0; whole && links <= PROTECT_MAX_LINKS; links++) {
        if (way_is_writable(l, whole, entry, help))
            return true;
        last = whole;
        whole = protect_follow(whole, l->arena);
    }
    if (!whole && last && real && !strcmp(last, real))
        return false;
    *entry = path;
    buf_add(help, STR("its links are too many, or lead in a circle"));
    return true;
}

bool definition_link_is_free(
        const struct definition_loader *l, const char *path, const char **link)
{
    const char *whole = protect_normal(path, l->arena);
    for (unsigned links = 0; whole && links <= PROTECT_MAX_LINKS; links++) {
        const char *first = first_link(l, whole);
        if (!first)
            return false;
        *link = first;
        if (agents_change_link(l, first))
            return true;
        whole = protect_follow(whole, l->arena);
    }
    *link = path;
    return true;
}
