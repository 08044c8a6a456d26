/*
 * What a server is started from must not be what an agent has written: the folder of its
 * program, with each link on the way, and each file among its arguments become
 * write-protected where they lie in a place that may be written.  What such a program
 * loads from elsewhere is not known here; that is said in a warning.
 */
#include "peer/definition-parts.h"

#include "base/path.h"
#include "policy/environ.h"
#include "policy/place.h"
#include "policy/protect.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static struct str folder_of(struct str path)
{
    const char *slash = memrchr(path.data, '/', path.len);
    size_t len = slash ? (size_t)(slash - path.data) : 0;
    return len ? (struct str){ path.data, len } : STR("/");
}

static struct str name_of(struct str path)
{
    const char *slash = memrchr(path.data, '/', path.len);
    return slash ? str_from(path, (size_t)(slash - path.data) + 1) : path;
}

static bool is_file(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISREG(st.st_mode);
}

/* --- the program --- */

static struct str path_variable(const struct peer_definition *d)
{
    for (const char *const *one = d->env; *one; one++)
        if (str_starts(str_of(*one), STR("PATH=")))
            return str_from(str_of(*one), strlen("PATH="));
    return STR("");
}

static const char *find_by_name(
        const struct definition_loader *l, const struct peer_definition *d)
{
    struct str path = path_variable(d);
    while (path.len) {
        struct str folder = str_cut(&path, ':');
        if (!folder.len || folder.data[0] != '/')
            continue;
        const char *file = arena_printf(l->arena, "%.*s/%s", STR_ARG(folder), d->program);
        if (is_file(file) && !access(file, X_OK))
            return file;
    }
    return NULL;
}

static bool find_program(
        const struct definition_loader *l, struct peer_definition *d, struct error *err)
{
    auto_buf shown = BUF(400);
    const char *given = d->program, *found;
    buf_add_shown(&shown, str_sub(str_of(given), 0, 200));
    if (!strchr(given, '/')) {
        found = find_by_name(l, d);
        if (!found)
            return error_set(err, ERR_NOT_FOUND,
                    "its command '%s' is in no folder of PATH", buf_str(&shown).data);
    } else {
        found = given[0] == '/' ? given
                                : arena_printf(l->arena, "%.*s/%s",
                                          STR_ARG(l->policy->workspace_real), given);
    }
    struct stat st;
    if (stat(found, &st))
        return error_set(err, ERR_NOT_FOUND, "its command '%s' does not exist",
                buf_str(&shown).data);
    if (!S_ISREG(st.st_mode) || access(found, X_OK))
        return error_set(
                err, ERR_INVALID, "its command '%s' is no program", buf_str(&shown).data);
    d->program = found;
    return true;
}

/* --- what becomes write-protected --- */

/* Protecting it would leave nothing that may be written in a whole writable path. */
static bool has_root(const struct policy_path *roots, size_t count, struct str folder)
{
    for (size_t i = 0; i < count; i++)
        if (path_is_in(roots[i].path, folder))
            return true;
    return false;
}

static bool is_root(const struct policy *p, struct str folder)
{
    bool is = path_is_in(p->workspace_real, folder) ||
              has_root(p->writable, p->writable_count, folder);
    for (size_t i = 0; i < p->shell_count && !is; i++)
        is = has_root(p->shells[i].writable, p->shells[i].writable_count, folder);
    for (size_t i = 0; i < p->protected_count && !is; i++)
        is = path_is_in(p->protected[i].except, folder); /* .pyddock/tmp */
    return is;
}

static void protect(struct definition_loader *l, const struct peer_definition *d,
        struct str path, bool *any)
{
    const struct policy_protected what = { .kind = PROTECTED_SERVER,
        .path = arena_str(l->arena, path),
        .except = STR(""),
        .origin = d->origin };
    if (!place_may_be_planted(l->policy, path))
        return;
    *any = true;
    protect_path(l->policy, &what, l->arena);
}

static bool is_link(const char *path)
{
    struct stat st;
    return !lstat(path, &st) && S_ISLNK(st.st_mode);
}

/* The folder of a name, or the name alone where the folder is too much. */
static void protect_with_folder(struct definition_loader *l,
        const struct peer_definition *d, struct str path, bool *any)
{
    struct str folder = folder_of(path);
    protect(l, d, is_root(l->policy, folder) ? path : folder, any);
}

/* One of the names of a file; and links, since the kernel keeps none by itself. */
static void protect_name(struct definition_loader *l, const struct peer_definition *d,
        struct str path, bool whole_folder, bool *any)
{
    if (whole_folder || is_link(path.data))
        protect_with_folder(l, d, path, any);
    else
        protect(l, d, path, any);
    for (size_t len = 1; len < path.len; len++) {
        if (path.data[len] != '/')
            continue;
        struct str above = arena_str(l->arena, str_sub(path, 0, len));
        if (is_link(above.data))
            protect_with_folder(l, d, above, any);
    }
}

/* `any` becomes true if agents could have written it. */
static void protect_file(struct definition_loader *l, const struct peer_definition *d,
        const char *path, bool whole_folder, bool *any)
{
    const char *real = protect_resolve(path, l->arena);
    const char *name = protect_normal(path, l->arena);
    for (unsigned links = 0; name && links <= PROTECT_MAX_LINKS; links++) {
        protect_name(l, d, str_of(name), whole_folder, any);
        name = protect_follow(name, l->arena);
    }
    if (real)
        protect_name(l, d, str_of(real), whole_folder, any);
}

/* A program that is reached by a link which cannot be kept is started by where that leads
 * now. */
static bool protect_program(struct definition_loader *l, struct peer_definition *d,
        bool *any, struct error *err)
{
    const char *link;
    protect_file(l, d, d->program, true, any);
    if (!definition_link_is_free(l, d->program, &link))
        return true;
    struct str name = name_of(str_of(d->program)), folder = folder_of(str_of(d->program));
    const char *real = protect_resolve(arena_cstr(l->arena, folder), l->arena);
    const char *straight =
            arena_printf(l->arena, "%s/%.*s", real ? real : "", STR_ARG(name));
    if (definition_link_is_free(l, straight, &link))
        straight = protect_resolve(d->program, l->arena);
    if (!straight)
        return error_set(err, ERR_INVALID, "its command leads nowhere");
    d->program = straight;
    protect_file(l, d, straight, true, any);
    return true;
}

/* What is named to a program by its text must not be made to lead elsewhere. */
static bool protect_named(struct definition_loader *l, const struct peer_definition *d,
        const char *path, bool *any, struct error *err)
{
    const char *link;
    auto_buf shown = BUF(400);
    protect_file(l, d, path, false, any);
    if (!definition_link_is_free(l, path, &link))
        return true;
    buf_add_shown(&shown, str_sub(str_of(link), 0, 200));
    return error_set(err, ERR_DENIED,
            "it is given a file by the link '%s', which agents could replace: name the "
            "file itself",
            buf_str(&shown).data);
}

/* --- its arguments --- */

/* The path that an argument may be: itself, or what follows "--option=". */
static const char *argument_path(const struct definition_loader *l, const char *argument)
{
    const char *equals = argument[0] == '-' ? strchr(argument, '=') : NULL;
    const char *path = equals ? equals + 1 : argument;
    if (!strncmp(path, "file://", 7))
        path += 7;
    if (!*path || strlen(path) >= PATH_MAX)
        return NULL;
    return path[0] == '/' ? path
                          : arena_printf(l->arena, "%.*s/%s",
                                    STR_ARG(l->policy->workspace_real), path);
}

/* A folder that is started by its name: a package, a project. */
static bool is_started(const struct definition_loader *l, const char *folder)
{
    static const char *const files[] = { "__main__.py", "index.js", "package.json",
        "pyproject.toml" };
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        if (is_file(arena_printf(l->arena, "%s/%s", folder, files[i])))
            return true;
    return false;
}

static void warn_folder(struct definition_loader *l, const struct peer_definition *d,
        const char *argument, const char *path)
{
    const char *real = protect_resolve(path, l->arena);
    auto_buf shown = BUF(400);
    if (!real || !place_may_be_planted(l->policy, str_of(real)) || !is_started(l, real))
        return;
    buf_add_shown(&shown, str_sub(str_of(argument), 0, 200));
    definition_warn(l, d->origin,
            "the server is given the folder '%s', where agents may write: if it runs "
            "what "
            "is there, so can they; keep it in .pyddock, or guard it",
            buf_str(&shown).data);
}

/* The first option that has this letter, of those before other arguments. */
static bool has_option(const struct peer_definition *d, char letter)
{
    for (const char *const *arg = d->argv + 1; *arg && (*arg)[0] == '-'; arg++)
        if ((*arg)[1] != '-' && strchr(*arg + 1, letter))
            return true;
    return false;
}

/* What a program runs that is in the folder that it is started in; NULL: not known. */
static const char *runs_there(const struct peer_definition *d)
{
    static const struct {
        const char *name, *what;
        char option; /* with this one; 0: always */
    } launchers[] = {
        { "bash", "what its script names", 'c' },
        { "bun", "packages that it finds", 0 },
        { "bunx", "packages that it finds", 0 },
        { "dash", "what its script names", 'c' },
        { "npm", "packages that it finds", 0 },
        { "npx", "packages that it finds", 0 },
        { "pnpm", "packages that it finds", 0 },
        { "pnpx", "packages that it finds", 0 },
        { "sh", "what its script names", 'c' },
        { "uv", "projects that it finds", 0 },
        { "uvx", "with settings that it finds", 0 },
        { "yarn", "packages that it finds", 0 },
        { "zsh", "what its script names", 'c' },
    };
    struct str name = name_of(str_of(d->program));
    if (str_starts(name, STR("python")))
        return has_option(d, 'm') ? "modules that it finds" : NULL;
    for (size_t i = 0; i < ARRAY_LEN(launchers); i++)
        if (str_is(name, launchers[i].name) &&
                (!launchers[i].option || has_option(d, launchers[i].option)))
            return launchers[i].what;
    return NULL;
}

static void warn_launcher(struct definition_loader *l, const struct peer_definition *d)
{
    struct str name = name_of(str_of(d->program));
    const char *what = runs_there(d);
    if (!what || d->section->sandbox == SANDBOX_WORKSPACE ||
            !place_is_writable(l->policy, l->policy->workspace_real))
        return;
    definition_warn(l, d->origin,
            "'%.*s' runs %s in the workspace, where agents may write: name the installed "
            "program itself, or set [mcp.%.*s] sandbox = \"workspace\"",
            STR_ARG(name), what, STR_ARG(d->name));
}

/* --- its environment --- */

/* Variables whose files are run by, or loaded into, what is started. */
static bool loads_code(struct str name)
{
    static const char *const names[] = { "BASH_ENV", "CLASSPATH", "ENV", "LD_AUDIT",
        "LD_LIBRARY_PATH", "LD_PRELOAD", "NODE_PATH", "PATH", "PERL5LIB", "PYTHONHOME",
        "PYTHONPATH", "RUBYLIB" };
    return str_which(name, names, ARRAY_LEN(names)) < ARRAY_LEN(names);
}

/* A library without a slash is looked for in the folders of the system. */
static bool is_planted(
        const struct definition_loader *l, struct str name, struct str entry)
{
    bool is_path = !str_starts(name, STR("LD_")) || str_is(name, "LD_LIBRARY_PATH");
    if (!is_path && !(entry.len && memchr(entry.data, '/', entry.len)))
        return false;
    const char *path = arena_printf(
            l->arena, "%.*s/%.*s", STR_ARG(l->policy->workspace_real), STR_ARG(entry));
    if (entry.len && entry.data[0] == '/')
        path = arena_cstr(l->arena, entry);
    const char *real = protect_resolve(path, l->arena);
    return !real || place_may_be_planted(l->policy, str_of(real));
}

static void warn_environment(struct definition_loader *l, const struct peer_definition *d)
{
    for (const char *const *one = d->env; *one; one++) {
        struct str rest = str_of(*one), name = str_cut(&rest, '=');
        bool planted = false;
        while (loads_code(name) && rest.len && !planted)
            planted = is_planted(l, name, str_cut(&rest, ':'));
        if (planted)
            definition_warn(l, d->origin,
                    "%.*s of its environment names a place where agents may write, and "
                    "what is there is run by the server",
                    STR_ARG(name));
    }
}

/* --- a server that has a URL --- */

static const char *find_variable(const struct peer_definition *d, const char *name)
{
    for (const char *const *one = d->env; *one; one++) {
        struct str rest = str_of(*one);
        if (str_is(str_cut(&rest, '='), name) && rest.len)
            return rest.data;
    }
    return NULL;
}

static bool resolve_url(
        struct definition_loader *l, struct peer_definition *d, struct error *err)
{
    const char *trusted = find_variable(d, "SSL_CERT_FILE");
    bool any = false;
    if (!d->section->network)
        return error_set(err, ERR_DENIED,
                "it has a \"url\", and its section [mcp.%.*s] says network = false",
                STR_ARG(d->name));
    if (trusted && trusted[0] != '/')
        return error_set(
                err, ERR_INVALID, "its SSL_CERT_FILE is no path that begins with '/'");
    return !trusted || protect_named(l, d, trusted, &any, err);
}

/* What is run by what it is an argument of, as far as its name tells. */
static bool is_code(const struct peer_definition *d, const char *argument, bool is_first)
{
    static const char *const endings[] = { ".bash", ".cjs", ".class", ".cts", ".jar",
        ".js", ".jsx", ".lua", ".mjs", ".mts", ".node", ".php", ".pl", ".py", ".pyc",
        ".pyz", ".rb", ".sh", ".so", ".ts", ".tsx", ".wasm", ".zsh" };
    static const char *const readers[] = { "bash", "dash", "node", "nodejs", "perl",
        "php", "ruby", "sh", "ts-node", "tsx", "zsh" };
    struct str name = name_of(str_of(d->program)), text = str_of(argument);
    if (strstr(argument, "://") ||
            (runs_there(d) && (!strchr(argument, '/') || strchr(argument, ' '))))
        return false;
    if (is_first && argument[0] != '-' &&
            (str_starts(name, STR("python")) ||
                    str_which(name, readers, ARRAY_LEN(readers)) < ARRAY_LEN(readers)))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(endings); i++)
        if (str_ends(text, str_of(endings[i])))
            return true;
    return false;
}

/* What is not there cannot be protected: who makes it would be run. */
static bool check_missing(const struct definition_loader *l,
        const struct peer_definition *d, const char *const *arg, const char *path,
        struct error *err)
{
    const char *real = protect_resolve(path, l->arena);
    auto_buf shown = BUF(400);
    if (!is_code(d, *arg, arg == d->argv + 1) ||
            (real && !place_may_be_planted(l->policy, str_of(real))))
        return true;
    buf_add_shown(&shown, str_sub(str_of(*arg), 0, 200));
    return error_set(err, ERR_DENIED,
            "it is given '%s', which is no file yet, and agents could make it: have it "
            "there before paddock starts, under its whole name",
            buf_str(&shown).data);
}

static bool resolve_arguments(struct definition_loader *l,
        const struct peer_definition *d, bool *any, struct error *err)
{
    for (const char *const *arg = d->argv + 1; *arg; arg++) {
        const char *path = argument_path(l, *arg);
        struct stat st;
        if (!path)
            continue;
        if (stat(path, &st)) {
            if (!check_missing(l, d, arg, path, err))
                return false;
            continue;
        }
        if (S_ISREG(st.st_mode) && !protect_named(l, d, path, any, err))
            return false;
        if (S_ISDIR(st.st_mode))
            warn_folder(l, d, *arg, path);
    }
    return true;
}

bool definition_resolve(
        struct definition_loader *l, struct peer_definition *d, struct error *err)
{
    bool any = false;
    if (d->url)
        return resolve_url(l, d, err);
    if (!find_program(l, d, err) || !protect_program(l, d, &any, err) ||
            !resolve_arguments(l, d, &any, err))
        return false;
    if (any)
        definition_warn(l, d->origin,
                "the server is started from files in places where agents may write; "
                "these are write-protected now, but not what they load from elsewhere: "
                "keep them in .pyddock, or outside of writable_paths");
    warn_launcher(l, d);
    warn_environment(l, d);
    return true;
}
