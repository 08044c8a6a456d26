#include "base/path.h"
#include "policy/deputy/git-parts.h"
#include "policy/place.h"

#include <dirent.h>
#include <sys/stat.h>

/* In the folders of a repository that a command writes, what no command needs to: where
 * programs are named, and where the repository and its objects are. */
static const struct kept {
    bool in_common;
    const char *name;
} kept[] = {
    { true, "config" },
    { true, "hooks" },
    { true, "info/attributes" },
    { true, "modules" },
    { true, "objects/info/alternates" },
    { false, "commondir" },
    { false, "config.worktree" },
    { false, "gitdir" },
};

static void open_repository(const struct git_call *call)
{
    const struct deputy_call *base = &call->base;
    const struct git_repo *repo = &call->repo;
    const char *dir = arena_cstr(base->arena, repo->dir);
    deputy_list_add(base, &base->plan->writable, dir);
    if (!str_eq(repo->dir, repo->common))
        deputy_list_add(
                base, &base->plan->writable, arena_cstr(base->arena, repo->common));
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        struct str folder = kept[i].in_common ? repo->common : repo->dir;
        deputy_list_add(base, &base->plan->read_only,
                arena_printf(base->arena, "%.*s/%s", STR_ARG(folder), kept[i].name));
    }
}

static bool is_command(const struct git_call *call, const char *name)
{
    return call->command && !strcmp(call->command->name, name);
}

/* Call `fn` with each protected folder that exists, relative to the work tree. */
typedef void protected_fn(const struct git_call *call, struct str relative);

static void each_protected(const struct git_call *call, protected_fn *fn)
{
    const struct policy *policy = call->base.policy;
    struct str tree = call->repo.tree;
    struct stat st;
    for (size_t i = 0; i < policy->protected_count; i++) {
        struct str path = policy->protected[i].path;
        size_t skip = tree.len > 1 ? tree.len + 1 : 1;
        if (path.len > skip && path_is_in(path, tree) &&
                !lstat(arena_cstr(call->base.arena, path), &st))
            fn(call, str_from(path, skip));
    }
}

static void add_pattern(const struct git_call *call, const char *mark, struct str path)
{
    auto_buf pattern = BUF(2 * path.len + 3);
    buf_add(&pattern, str_of(mark));
    for (size_t i = 0; i < path.len; i++) {
        if (strchr("\\*?[]!# ", path.data[i]))
            buf_addc(&pattern, '\\');
        buf_addc(&pattern, path.data[i]);
    }
    deputy_arg_insert(
            &call->base, call->first, arena_cstr(call->base.arena, buf_str(&pattern)));
    deputy_arg_insert(&call->base, call->first, "-e");
}

/* A pattern that means just this path.  With -X what patterns name is removed, so there
 * it takes the path out, and the folders that it is in. */
static void exclude_from_clean(const struct git_call *call, struct str relative)
{
    for (size_t i = 1; call->only_ignored && i < relative.len; i++) {
        if (relative.data[i] == '/')
            add_pattern(call, "!/", str_sub(relative, 0, i));
    }
    add_pattern(call, call->only_ignored ? "!/" : "/", relative);
}

static void append(const struct git_call *call, const char *arg)
{
    deputy_list_add(&call->base, &call->base.plan->argv, arg);
}

static void exclude_from_stash(const struct git_call *call, struct str relative)
{
    append(call, arena_printf(call->base.arena, ":(top,exclude,literal)%.*s",
                         STR_ARG(relative)));
}

/* `stash -u` would take protected folders away with the other untracked files. */
static void narrow_stash(const struct git_call *call)
{
    bool is_push = !call->verb.len || str_is(call->verb, "push");
    bool has_end = false;
    for (size_t i = call->first; i < call->base.count; i++) {
        struct str arg = call->base.args[i];
        has_end = has_end || str_is(arg, "--");
        if (str_starts(arg, STR("--pathspec-f")))
            return;
    }
    if (!is_push || !call->untracked)
        return;
    if (!has_end)
        append(call, "--");
    if (call->operands == (call->verb.len ? 1 : 0))
        append(call, ":(top)");
    each_protected(call, exclude_from_stash);
}

static bool has_hooks(const struct git_call *call)
{
    static const char *const commands[] = { "am", "cherry-pick", "commit", "merge",
        "pull", "push", "rebase" };
    bool would_run = false;
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        would_run = would_run || is_command(call, commands[i]);
    if (!would_run)
        return false;
    if (git_repo_setting(&call->repo, "core", "hookspath"))
        return true;
    DIR *dir = opendir(
            arena_printf(call->base.arena, "%.*s/hooks", STR_ARG(call->repo.common)));
    bool found = false;
    if (!dir)
        return false;
    for (const struct dirent *entry; !found && (entry = readdir(dir));)
        found = entry->d_name[0] != '.' &&
                !str_ends(str_of(entry->d_name), STR(".sample"));
    closedir(dir);
    return found;
}

static void explain(struct git_call *call)
{
    struct str *text = &call->base.plan->if_failed;
    if (call->flags & GIT_CHECKS_OUT)
        *text = STR("Folders that the policy protects, and repositories' own .git/config "
                    "and .git/hooks, stay as they are: files in them cannot be checked "
                    "out, stashed, moved or removed by git.");
    else if (call->flags & GIT_WRITES)
        *text = STR(
                "A repository's .git/config and .git/hooks stay as they are: branches "
                "get "
                "no upstream and no description, and git cannot rename their settings.");
    if (call->flags & GIT_NETWORK && !call->base.plan->trusted)
        *text = STR("Files with keys and passwords are shown to git only at the top of a "
                    "repository that no other command can change; the key agent always "
                    "is.");
    else if (!(call->flags & (GIT_NETWORK | GIT_WRITES | GIT_CHECKS_OUT)) &&
             call->command)
        *text = STR("This command of git runs without network and does not change the "
                    "repository.");
}

static bool is_held(
        const struct git_call *call, const struct kernel_rules *rules, struct str path)
{
    if (!place_may_be_planted(call->base.policy, path))
        return true;
    for (size_t i = 0; i < rules->count; i++)
        if (rules->items[i].kind == KERNEL_READ_ONLY && !rules->items[i].is_nested &&
                path_is_in(path, rules->items[i].path))
            return true;
    return false;
}

/*
 * Is what was judged what git will read?  Below the top of the workspace a command that
 * runs already may have made the repository, and could change its configuration, or make
 * another one nearer to where git starts.
 */
static bool is_repository_held(const struct git_call *call)
{
    const struct git_repo *repo = &call->repo;
    struct arena *arena = call->base.arena;
    struct kernel_rules rules = { 0 };
    if (!repo->found || !str_eq(call->base.cwd, repo->tree))
        return false;
    path_policy_kernel_rules(call->base.paths, arena, &rules);
    const char *dot_git = arena_printf(arena, "%.*s/.git", STR_ARG(repo->tree));
    return is_held(call, &rules, str_of(dot_git)) && is_held(call, &rules, repo->dir) &&
           is_held(call, &rules, repo->common);
}

void git_profile(struct git_call *call)
{
    struct command_plan *plan = call->base.plan;
    bool talks = call->flags & GIT_NETWORK;
    plan->network = plan->network && talks;
    /* To talk it needs the user's keys and passwords. */
    plan->trusted = talks && is_repository_held(call);
    explain(call);
    if (call->flags & GIT_TEXTCONV)
        deputy_arg_insert(&call->base, call->first, "--no-textconv");
    if (call->flags & GIT_DIFFS)
        deputy_arg_insert(&call->base, call->first, "--no-ext-diff");
    if (!call->repo.found || !(call->flags & GIT_WRITES))
        return;
    open_repository(call);
    bool is_branch = is_command(call, "branch") || is_command(call, "checkout") ||
                     is_command(call, "switch");
    if (is_branch && call->configures)
        deputy_note(&call->base, ".git/config stays as it is: no upstream is stored");
    if (has_hooks(call))
        deputy_note(&call->base, "the repository's hooks are not run");
    if (is_command(call, "clean"))
        each_protected(call, exclude_from_clean);
    if (is_command(call, "stash"))
        narrow_stash(call);
}
