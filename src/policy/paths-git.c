#include "base/file.h"
#include "policy/paths-internal.h"

#include <limits.h>
#include <sys/stat.h>

/* The first line of a small file, or NULL. */
static char *read_line(const char *path, struct arena *arena)
{
    struct str text;
    if (file_read(path, PATH_MAX + 16, arena, &text) || !text.len)
        return NULL;
    return arena_cstr(arena, str_cut(&text, '\n'));
}

/* `path` as seen from `dir`, resolved; NULL if there is no such folder. */
static char *resolve(const char *dir, const char *path, struct arena *arena)
{
    char real[PATH_MAX];
    const char *whole = path[0] == '/' ? path : arena_printf(arena, "%s/%s", dir, path);
    struct stat st;
    if (!realpath(whole, real) || stat(real, &st) < 0 || !S_ISDIR(st.st_mode))
        return NULL;
    return arena_cstr(arena, str_of(real));
}

/* A file that names any folder must not make it unwritable. */
static bool is_repository(const char *dir, struct arena *arena)
{
    struct stat st;
    return dir && !lstat(arena_printf(arena, "%s/HEAD", dir), &st);
}

static const char *git_folder(
        const char *workspace, const char *dot_git, struct arena *arena)
{
    static const char prefix[] = "gitdir: ";
    struct stat st;
    if (lstat(dot_git, &st) < 0 || S_ISDIR(st.st_mode))
        return NULL;
    const char *dir = resolve(workspace, dot_git, arena); /* a link to a folder */
    if (dir)
        return dir;
    const char *line = read_line(dot_git, arena);
    if (!line || strncmp(line, prefix, strlen(prefix)))
        return NULL;
    return resolve(workspace, line + strlen(prefix), arena);
}

static void add_folder(struct path_policy *p, struct arena *arena, const char *path,
        const struct policy_guard *guard)
{
    path_folder_add(
            p, arena, &(struct path_folder){ .path = str_of(path), .guard = guard });
}

void path_git_folders(struct path_policy *p, struct arena *arena)
{
    if (!p->policy->workspace_real.len)
        return;
    const char *workspace = arena_cstr(arena, p->policy->workspace_real);
    const char *dot_git = arena_printf(arena, "%s/.git", workspace);
    bool gave_up;
    auto_subject s = { 0 };
    subject_init(&s, str_of(dot_git));
    const struct policy_guard *guard = path_guard_find(p, &s, PATH_WRITE, &gave_up);
    if (!guard || guard->disposition == GUARD_ALLOW ||
            guard->disposition == GUARD_WORKSPACE)
        return;
    const char *dir = git_folder(workspace, dot_git, arena);
    if (!is_repository(dir, arena))
        return;
    add_folder(p, arena, dir, guard);
    const char *line = read_line(arena_printf(arena, "%s/commondir", dir), arena);
    const char *common = line ? resolve(dir, line, arena) : NULL;
    if (is_repository(common, arena))
        add_folder(p, arena, common, guard);
}
