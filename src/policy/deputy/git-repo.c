#include "policy/deputy/git-repo.h"
#include "base/file.h"
#include "policy/deputy/git-index.h"
#include "policy/place.h"

#include <errno.h>
#include <sys/stat.h>

#define MAX_LOOKUPS  20000
#define MAX_LINE     8192
#define MAX_INCLUDES 10 /* one in the other, as in git */
#define MAX_NESTED   5  /* submodules of submodules */
#define MAX_SETTINGS 20000

static const char *join(const struct deputy_call *call, struct str dir, const char *name)
{
    return arena_printf(call->arena, "%.*s/%s", STR_ARG(dir), name);
}

static bool is_there(const char *path)
{
    struct stat st;
    return !lstat(path, &st);
}

static bool is_folder(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* The first line of a small file, or "". */
static struct str read_line(const struct deputy_call *call, const char *path)
{
    struct str text = STR("");
    if (file_read(path, MAX_LINE, call->arena, &text))
        return STR("");
    struct str line = str_cut(&text, '\n');
    while (line.len && line.data[line.len - 1] == '\r')
        line.len--;
    return line;
}

static struct str resolve(
        const struct deputy_call *call, struct str base, struct str path)
{
    unsigned budget = MAX_LOOKUPS;
    struct place place;
    bool found = place_find(base, path, PLACE_FOLLOW, call->arena, &budget, &place);
    return found ? place.path : STR("");
}

static struct str common_of(const struct deputy_call *call, struct str dir)
{
    struct str line = read_line(call, join(call, dir, "commondir"));
    return line.len ? resolve(call, dir, line) : dir;
}

/* As git tells a repository from a folder. */
static bool is_repository(
        const struct deputy_call *call, struct str dir, struct str common)
{
    return is_there(join(call, dir, "HEAD")) &&
           is_folder(join(call, common, "objects")) &&
           is_folder(join(call, common, "refs"));
}

/* What `.git` in a folder names: itself, or what is written in it; or "". */
static struct str git_folder(const struct deputy_call *call, struct str tree)
{
    const char *path = join(call, tree, ".git");
    struct str prefix = STR("gitdir: "), line;
    if (!is_there(path))
        return STR("");
    if (is_folder(path))
        return resolve(call, tree, STR(".git"));
    line = read_line(call, path);
    return str_starts(line, prefix) ? resolve(call, tree, str_from(line, prefix.len))
                                    : STR("");
}

static bool refuse_config(const struct deputy_call *call, const char *what)
{
    return deputy_refuse(call,
            "The configuration of a repository is read before git is started.",
            "Ask a person to correct the file.", "%s", what);
}

static bool load_file(const struct deputy_call *call, struct git_repo *repo,
        const char *path, unsigned depth);

/*
 * git follows includes whatever they say, and a file that an agent may write can be
 * changed after it was read here.
 */
static bool load_include(const struct deputy_call *call, struct git_repo *repo,
        const struct git_setting *s, unsigned depth)
{
    struct str base = str_of(s->file), path = s->value, canonical;
    while (base.len && base.data[base.len - 1] != '/')
        base.len--;
    if (str_starts(path, STR("~/"))) {
        base = call->policy->home;
        path = str_from(path, 2);
    } else if (path.len && strchr("~%", path.data[0])) {
        return refuse_config(call,
                arena_printf(call->arena, "%s:%u: an include of '%.*s' is not understood",
                        s->file, s->line, STR_ARG(path)));
    }
    canonical = resolve(call, base, path);
    if (!canonical.len)
        return true; /* git cannot read it either */
    if (path_allowed(call->paths, canonical, PATH_WRITE, NULL))
        return deputy_refuse(call,
                "A repository's configuration does not include what an agent may write.",
                "Protect that file with a guard, or put the settings into .git/config.",
                "%s:%u includes '%.*s', which an agent may write", s->file, s->line,
                STR_ARG(canonical));
    return load_file(call, repo, arena_cstr(call->arena, canonical), depth + 1);
}

static bool load_file(const struct deputy_call *call, struct git_repo *repo,
        const char *path, unsigned depth)
{
    struct str text;
    struct error err = { 0 };
    int failed = file_read(path, GIT_CONFIG_MAX_BYTES, call->arena, &text);
    if (failed == ENOENT || failed == ENOTDIR)
        return true;
    if (failed || depth > MAX_INCLUDES)
        return refuse_config(
                call, arena_printf(call->arena, "'%s': %s", path,
                              failed ? strerror(failed) : "includes itself"));
    size_t from = repo->settings.count;
    if (!git_config_parse(text, path, call->arena, &repo->settings, &err))
        return refuse_config(call, err.message);
    size_t end = repo->settings.count;
    if (end > MAX_SETTINGS)
        return refuse_config(call, "there are too many settings");
    for (size_t i = from; i < end; i++) {
        struct git_setting s = repo->settings.items[i];
        bool includes = git_setting_is(&s, "include", "path") ||
                        git_setting_is(&s, "includeif", "path");
        if (includes && !load_include(call, repo, &s, depth))
            return false;
    }
    return true;
}

bool git_repo_load_file(
        const struct deputy_call *call, struct git_repo *repo, const char *path)
{
    return load_file(call, repo, path, 0);
}

/* All the configuration in the files of one repository. */
static bool git_repo_load(const struct deputy_call *call, struct git_repo *repo,
        struct str dir, struct str common)
{
    return load_file(call, repo, join(call, common, "config"), 0) &&
           load_file(call, repo, join(call, dir, "config.worktree"), 0);
}

static bool load_links(const struct deputy_call *call, struct git_repo *repo,
        struct str tree, struct str dir, unsigned depth);

static bool load_one_nested(const struct deputy_call *call, struct git_repo *repo,
        struct str tree, unsigned depth)
{
    struct str dir = git_folder(call, tree);
    if (!dir.len)
        return true;
    if (depth > MAX_NESTED)
        return refuse_config(call, "repositories lie too deep in one another");
    return git_repo_load(call, repo, dir, common_of(call, dir)) &&
           load_links(call, repo, tree, dir, depth);
}

/* The part of an index that a split index leaves to another file. */
static bool read_shared(const struct deputy_call *call, struct str dir, size_t hash_bytes,
        struct git_links *links)
{
    struct str text, name = links->shared;
    if (!name.len)
        return true;
    links->shared = STR("");
    const char *path = join(call, dir, arena_cstr(call->arena, name));
    return !file_read(path, GIT_INDEX_MAX_BYTES, call->arena, &text) &&
           git_index_links(text, hash_bytes, call->arena, links);
}

static bool load_links(const struct deputy_call *call, struct git_repo *repo,
        struct str tree, struct str dir, unsigned depth)
{
    struct git_links *links = arena_zalloc(call->arena, sizeof(*links));
    struct str text;
    const struct git_setting *format =
            git_repo_setting(repo, "extensions", "objectformat");
    size_t hash_bytes = format && str_is(format->value, "sha256") ? 32 : 20;
    int failed =
            file_read(join(call, dir, "index"), GIT_INDEX_MAX_BYTES, call->arena, &text);
    if (failed == ENOENT)
        return true;
    if (failed || !git_index_links(text, hash_bytes, call->arena, links) ||
            !read_shared(call, dir, hash_bytes, links))
        return refuse_config(call,
                arena_printf(call->arena, "'%.*s/index': not an index", STR_ARG(dir)));
    for (size_t i = 0; i < links->count; i++) {
        struct str nested = resolve(call, tree, links->paths[i]);
        if (nested.len && !load_one_nested(call, repo, nested, depth + 1))
            return false;
    }
    return true;
}

bool git_repo_load_nested(const struct deputy_call *call, struct git_repo *repo)
{
    return !repo->found || load_links(call, repo, repo->tree, repo->dir, 0);
}

/* core.worktree: the tree is elsewhere.  A submodule's says where its `.git` lies. */
static bool settle_tree(const struct deputy_call *call, struct git_repo *repo)
{
    const struct git_setting *s = git_repo_setting(repo, "core", "worktree");
    if (!s || !s->value.len)
        return true;
    struct str tree = resolve(call, repo->dir, s->value);
    if (str_eq(tree, repo->tree))
        return true;
    if (!tree.len || !deputy_in_workspace(call, tree))
        return deputy_refuse(call, "git works in the workspace.",
                "Ask a person to look at the repository's configuration.",
                "%s:%u: core.worktree '%.*s' is outside the workspace", s->file, s->line,
                STR_ARG(s->value));
    repo->tree = tree;
    return true;
}

/* Does the repository know of this tree?  A linked work tree's has a file with the path
 * of its `.git`, a submodule's has core.worktree. */
static bool knows_tree(const struct deputy_call *call, const struct git_repo *repo)
{
    struct str line = read_line(call, join(call, repo->dir, "gitdir"));
    if (line.len)
        return str_eq(
                resolve(call, repo->dir, line), resolve(call, repo->tree, STR(".git")));
    return git_repo_setting(repo, "core", "worktree") != NULL;
}

/* `.git` is a folder in the tree, or names one that is meant for the tree: else whoever
 * can make a file could have any repository written. */
static bool is_own(const struct deputy_call *call, const struct git_repo *repo)
{
    struct str config;
    if (str_is(repo->dir, join(call, repo->tree, ".git")) || knows_tree(call, repo))
        return true;
    config = str_of(join(call, repo->common, "config"));
    return deputy_in_workspace(call, repo->dir) &&
           !path_allowed(call->paths, config, PATH_WRITE, NULL);
}

static bool settle(const struct deputy_call *call, struct git_repo *repo)
{
    if (!is_own(call, repo))
        return deputy_refuse(call, "A repository belongs to its work tree.",
                "Ask a person to look at the file '.git'.",
                "'%.*s/.git' leads to '%.*s', which does not know of it",
                STR_ARG(repo->tree), STR_ARG(repo->dir));
    return settle_tree(call, repo);
}

/* A folder that is a repository without a `.git`: whoever can make folders can make one,
 * with a configuration of his own. */
static bool refuse_bare(const struct deputy_call *call, struct str dir)
{
    return deputy_refuse(call, "A repository is a folder with '.git' in it.",
            "Run git in a folder with a work tree.",
            "'%.*s' looks like a repository by itself", STR_ARG(dir));
}

bool git_repo_find(const struct deputy_call *call, struct git_repo *out)
{
    struct str tree = call->cwd;
    *out = (struct git_repo){ 0 };
    for (;;) {
        struct str dir = git_folder(call, tree);
        struct str common = dir.len ? common_of(call, dir) : dir;
        if (dir.len && !git_repo_load(call, out, dir, common))
            return false;
        if (dir.len && common.len && is_repository(call, dir, common)) {
            out->found = true;
            out->tree = tree;
            out->dir = dir;
            out->common = common;
            return settle(call, out);
        }
        if (is_repository(call, tree, common_of(call, tree)))
            return refuse_bare(call, tree);
        if (tree.len <= 1)
            return true;
        while (tree.data[tree.len - 1] != '/')
            tree.len--;
        if (tree.len > 1)
            tree.len--;
    }
}

const struct git_setting *git_repo_setting(
        const struct git_repo *repo, const char *section, const char *key)
{
    for (size_t i = repo->settings.count; i-- > 0;) {
        const struct git_setting *s = &repo->settings.items[i];
        if (git_setting_is(s, section, key))
            return s;
    }
    return NULL;
}
