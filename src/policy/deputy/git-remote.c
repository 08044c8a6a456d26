#include "policy/deputy/git-parts.h"

#include <dirent.h>
#include <sys/stat.h>

enum url_kind { URL_NETWORK, URL_LOCAL, URL_REFUSED };

static bool is_scheme(struct str text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789+-.";
    for (size_t i = 0; i < text.len; i++) {
        if (!memchr(letters, text.data[i], sizeof(letters) - 1))
            return false;
    }
    return text.len > 0;
}

/* How git would reach it; `*path` is where, if it is a folder here. */
static enum url_kind classify(struct str url, struct str *path)
{
    static const char *const network[] = { "git", "git+ssh", "http", "https", "ssh",
        "ssh+git" };
    struct str rest = url, head = str_cut(&rest, ':');
    *path = url;
    if (!url.len || url.data[0] == '-')
        return URL_REFUSED;
    if (head.len == url.len || memchr(head.data, '/', head.len))
        return URL_LOCAL;
    if ((!head.len || is_scheme(head)) && str_starts(rest, STR(":")))
        return URL_REFUSED; /* ext::, fd::, any program git-remote-NAME */
    if (!is_scheme(head) || !str_starts(rest, STR("//")))
        return URL_NETWORK; /* host:path */
    *path = str_from(rest, 2);
    if (str_is(head, "file"))
        return URL_LOCAL;
    for (size_t i = 0; i < ARRAY_LEN(network); i++) {
        if (str_is(head, network[i]))
            return URL_NETWORK;
    }
    return URL_REFUSED;
}

/* url.BASE.insteadOf: the longest one counts. */
static struct str rewrite(const struct git_call *call, struct str url, const char *key)
{
    const struct git_setting *best = NULL;
    for (size_t i = 0; i < call->repo.settings.count; i++) {
        const struct git_setting *s = &call->repo.settings.items[i];
        if (git_setting_is(s, "url", key) && str_starts(url, s->value) &&
                (!best || s->value.len > best->value.len))
            best = s;
    }
    if (!best)
        return url;
    struct str rest = str_from(url, best->value.len);
    return str_of(arena_printf(
            call->base.arena, "%.*s%.*s", STR_ARG(best->subsection), STR_ARG(rest)));
}

enum local { LOCAL_NONE, LOCAL_ALLOWED, LOCAL_REFUSED };

/*
 * The other end runs git too, in a repository whose configuration nobody overrides.  So
 * an agent must not be able to write it: it is our own, or in a `.git` that is guarded,
 * or no folder but a bundle.
 */
static enum local judge_folder(const struct git_call *call, struct str folder)
{
    struct arena *arena = call->base.arena;
    const struct git_repo *repo = &call->repo;
    struct stat st;
    if (stat(arena_cstr(arena, folder), &st))
        return LOCAL_NONE;
    if (repo->found && (str_eq(folder, repo->tree) || str_eq(folder, repo->dir) ||
                               str_eq(folder, repo->common)))
        return LOCAL_ALLOWED;
    if (!deputy_in_workspace(&call->base, folder) ||
            !path_allowed(call->base.paths, folder, PATH_READ, NULL))
        return LOCAL_REFUSED;
    if (!S_ISDIR(st.st_mode))
        return LOCAL_ALLOWED;
    const char *dot_git = arena_printf(arena, "%.*s/.git", STR_ARG(folder));
    const char *config = arena_printf(arena, "%.*s/config", STR_ARG(folder));
    struct str judged = str_of(stat(dot_git, &st) ? config : dot_git);
    return path_allowed(call->base.paths, judged, PATH_WRITE, NULL) ? LOCAL_REFUSED
                                                                    : LOCAL_ALLOWED;
}

/* git takes a relative path from the top of the work tree or from where it was started,
 * and may add ".git" to it: all of these must do. */
static enum local judge_local(const struct git_call *call, struct str path)
{
    struct str top = call->repo.found ? call->repo.tree : call->base.cwd;
    const char *longer = arena_printf(call->base.arena, "%.*s.git", STR_ARG(path));
    enum local result = LOCAL_NONE;
    for (unsigned i = 0; i < 4; i++) {
        struct deputy_call from = call->base;
        struct str canonical;
        from.cwd = i & 1 ? top : call->base.cwd;
        if (!deputy_resolve(&from, i & 2 ? str_of(longer) : path, &canonical))
            return LOCAL_REFUSED;
        enum local one = judge_folder(call, canonical);
        result = one > result ? one : result;
    }
    return result;
}

/* Hooks of the other repository run when something is pushed to it. */
static bool is_push(const struct git_call *call)
{
    return call->command && !strcmp(call->command->name, "push");
}

static bool url_allowed(const struct git_call *call, struct str url, bool *is_local)
{
    static const char *const keys[] = { "insteadof", "pushinsteadof" };
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct str path;
        enum url_kind kind = classify(rewrite(call, url, keys[i]), &path);
        enum local local = kind == URL_LOCAL ? judge_local(call, path) : LOCAL_NONE;
        if (kind == URL_REFUSED || local == LOCAL_REFUSED ||
                (local == LOCAL_ALLOWED && is_push(call)))
            return false;
        *is_local = *is_local || local == LOCAL_ALLOWED;
    }
    return true;
}

static bool is_url_of(const struct git_setting *s, struct str remote)
{
    return s->has_value && str_eq(s->subsection, remote) &&
           (git_setting_is(s, "remote", "url") || git_setting_is(s, "remote", "pushurl"));
}

static bool refuse_url(const struct git_call *call, struct str url)
{
    return deputy_refuse(&call->base,
            "Other repositories are reached by https, http, ssh and git, or lie in the "
            "workspace where no agent may write their configuration.",
            "Use a URL of one of these kinds.", "'%.*s' may not be talked to",
            STR_ARG(url));
}

/* The repository that the command names: a remote, or a URL. */
static bool named_allowed(struct git_call *call, struct str name)
{
    bool is_remote = false, is_local = false;
    for (size_t i = 0; i < call->repo.settings.count; i++) {
        const struct git_setting *s = &call->repo.settings.items[i];
        if (!is_url_of(s, name))
            continue;
        is_remote = true;
        if (!url_allowed(call, s->value, &is_local))
            return refuse_url(call, s->value);
    }
    if (!is_remote && !url_allowed(call, name, &is_local))
        return refuse_url(call, name);
    call->allow_file = call->allow_file || is_local;
    return true;
}

static bool is_remote_name(const struct git_call *call, struct str name)
{
    for (size_t i = 0; i < call->repo.settings.count; i++) {
        if (is_url_of(&call->repo.settings.items[i], name))
            return true;
    }
    return false;
}

static bool is_empty(const char *folder)
{
    DIR *dir = opendir(folder);
    size_t entries = 0;
    if (!dir)
        return true;
    while (entries <= 2 && readdir(dir))
        entries++;
    closedir(dir);
    return entries <= 2; /* "." and ".." */
}

/* Files .git/remotes/NAME and .git/branches/NAME are remotes too, of long ago. */
static bool has_old_remotes(const struct git_call *call)
{
    const char *common = call->repo.common.data;
    return call->repo.found &&
           !(is_empty(arena_printf(call->base.arena, "%s/remotes", common)) &&
                   is_empty(arena_printf(call->base.arena, "%s/branches", common)));
}

/* With folders of this machine in play, nothing else that git may turn to may be outside,
 * and no remote may say which program serves it. */
static bool all_local_allowed(const struct git_call *call, bool *is_local)
{
    for (size_t i = 0; i < call->repo.settings.count; i++) {
        const struct git_setting *s = &call->repo.settings.items[i];
        bool is_url =
                is_url_of(s, s->subsection) || (git_setting_is(s, "branch", "remote") &&
                                                       !is_remote_name(call, s->value));
        bool serves = git_setting_is(s, "remote", "uploadpack") ||
                      git_setting_is(s, "remote", "receivepack") ||
                      git_setting_is(s, "remote", "vcs");
        if (serves || (is_url && !url_allowed(call, s->value, is_local)))
            return false;
    }
    return !has_old_remotes(call);
}

/* Which operands name remotes or repositories: from which on, and how many. */
static void find_named(const struct git_call *call, size_t *from, size_t *count)
{
    *from = 0;
    *count = call->flags & GIT_REMOTE && !call->all_remotes ? 1 : SIZE_MAX;
    if (!(call->flags & GIT_REMOTE))
        *from = 1; /* remote show NAME... */
}

static bool operands_allowed(struct git_call *call, size_t *named)
{
    struct option_reader r = git_reader(call);
    struct option_word word;
    size_t from, count, at = 0;
    find_named(call, &from, &count);
    *named = 0;
    while (option_next(&r, &word)) {
        if (!word.is_operand)
            continue;
        if (at >= from && at - from < count) {
            ++*named;
            if (!named_allowed(call, word.text))
                return false;
        }
        at++;
    }
    return true;
}

bool git_remotes_allowed(struct git_call *call)
{
    size_t named = 0;
    bool is_local = false;
    if (!(call->flags & GIT_NETWORK))
        return true;
    if (!operands_allowed(call, &named))
        return false;
    if (named && !call->allow_file)
        return true;
    bool allowed = all_local_allowed(call, &is_local);
    if (call->allow_file && !allowed)
        return deputy_refuse(&call->base,
                "A local repository is talked to if all remotes are harmless.",
                "Use a URL, or ask a person to look at the remotes in .git/config.",
                "the configuration has remotes outside the workspace or with programs");
    call->allow_file = allowed && (call->allow_file || is_local);
    return true;
}
