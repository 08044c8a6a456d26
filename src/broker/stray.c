#include "broker/stray.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_DEPTH  256 /* of what is removed */
#define MAX_NAMES  1000
#define FOLDER     (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define OWNER_ONLY 0700

/* Step by step from "/", so that no link is followed; makes what is not there.  -1: errno
 * says why. */
static int open_folder(struct str path)
{
    auto_fd int at = open("/", FOLDER);
    while (path.len) {
        char name[NAME_MAX + 1];
        struct str part = str_cut(&path, '/');
        if (!part.len)
            continue;
        if (part.len > NAME_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        snprintf(name, sizeof(name), "%.*s", STR_ARG(part));
        int next = openat(at, name, FOLDER);
        if (next < 0 && errno == ENOENT && !mkdirat(at, name, OWNER_ONLY))
            next = openat(at, name, FOLDER);
        if (next < 0)
            return -1;
        close_fd(&at);
        at = next;
    }
    int folder = at;
    at = -1;
    return folder;
}

static const char *name_of(const char *path)
{
    return strrchr(path, '/') + 1;
}

/* To the first name that is free: NAME.SECONDS, NAME.SECONDS.1, ...  `name` becomes it.
 */
static bool move(int from, const char *old, int to, const char *base, struct buf *name)
{
    for (unsigned i = 0; i < MAX_NAMES; i++) {
        buf_clear(name);
        buf_addf(name, "%s.%lld", base, (long long)time(NULL));
        if (i)
            buf_addf(name, ".%u", i);
        if (!renameat2(from, old, to, name->data, RENAME_NOREPLACE))
            return true;
        if (errno != EEXIST)
            return false;
    }
    return false;
}

static bool remove_tree(int parent, const char *name, unsigned depth);

static bool remove_all_in(int folder, unsigned depth)
{
    DIR *dir = fdopendir(folder);
    bool removed = dir;
    for (const struct dirent *entry; removed && (entry = readdir(dir));)
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            removed = remove_tree(dirfd(dir), entry->d_name, depth + 1);
    if (dir)
        closedir(dir);
    else
        close(folder);
    return removed;
}

static bool remove_tree(int parent, const char *name, unsigned depth)
{
    if (!unlinkat(parent, name, 0))
        return true;
    if (depth > MAX_DEPTH)
        return false;
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return folder >= 0 && remove_all_in(folder, depth) &&
           !unlinkat(parent, name, AT_REMOVEDIR);
}

/*
 * Into the quarantine.  If that lies below what has appeared, this steps aside first;
 * `name` is where it stands when this fails.
 */
static bool move_away(int parent, const char *path, const char *quarantine,
        struct buf *name, struct buf *moved_to)
{
    auto_buf new_name = BUF(2 * NAME_MAX);
    if (path_is_in(str_of(quarantine), str_of(path))) {
        if (!move(parent, name->data, parent, name_of(path), &new_name))
            return false;
        buf_clear(name);
        buf_add(name, buf_str(&new_name));
    }
    auto_fd int folder = open_folder(str_of(quarantine));
    if (folder < 0 || !move(parent, name->data, folder, name_of(path), &new_name))
        return false;
    buf_addf(moved_to, "%s/%s", quarantine, new_name.data);
    return true;
}

static struct stray take_away(
        int parent, const char *path, const char *quarantine, struct arena *arena)
{
    struct stray stray = { .path = arena_str(arena, str_of(path)), .moved_to = STR("") };
    auto_buf name = BUF(2 * NAME_MAX), moved_to = BUF(2 * PATH_MAX);
    buf_add(&name, str_of(name_of(path)));
    if (quarantine && move_away(parent, path, quarantine, &name, &moved_to))
        stray.moved_to = arena_str(arena, buf_str(&moved_to));
    else
        stray.is_left = !remove_tree(parent, name.data, 0);
    return stray;
}

/*
 * `path`, if it is there now, or a link that has come in the place of a folder above it:
 * what lies behind the link would be taken for what is protected.  `*parent` is the
 * folder that has it.  NULL: neither.
 */
static const char *find_appeared(const char *path, struct arena *arena, int *parent)
{
    auto_fd int at = open("/", FOLDER);
    struct str rest = str_of(path + 1);
    while (at >= 0 && rest.len) {
        struct stat st;
        struct str part = str_cut(&rest, '/');
        const char *name = arena_cstr(arena, part);
        if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW))
            return NULL;
        if (!rest.len || S_ISLNK(st.st_mode)) {
            *parent = at;
            at = -1;
            return arena_cstr(
                    arena, (struct str){ path, (size_t)(part.data - path) + part.len });
        }
        int next = openat(at, name, FOLDER);
        close_fd(&at);
        at = next;
    }
    return NULL;
}

void strays_remove(const char *const *paths, const char *quarantine, struct arena *arena,
        const struct stray **out, size_t *count)
{
    size_t size = 0, found = 0;
    while (paths && paths[size])
        size++;
    struct stray *strays = arena_alloc(arena, (size + 1) * sizeof(*strays));
    for (size_t i = 0; i < size; i++) {
        auto_fd int parent = -1;
        const char *path = find_appeared(paths[i], arena, &parent);
        if (path)
            strays[found++] = take_away(parent, path, quarantine, arena);
    }
    *out = strays;
    *count = found;
}

void stray_describe(const struct stray *s, struct buf *out)
{
    buf_addf(out, "'%.*s' is protected, and the command made it; it was ",
            STR_ARG(s->path));
    if (s->is_left)
        buf_add(out, STR("not possible to take it away"));
    else if (s->moved_to.len)
        buf_addf(out, "moved to '%.*s'", STR_ARG(s->moved_to));
    else
        buf_add(out, STR("removed"));
}
