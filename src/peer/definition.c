#include "base/file.h"
#include "peer/definition-parts.h"
#include "policy/environ.h"
#include "policy/protect.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>

/* As people write them; later ones win. */
static const char *const places[] = {
    "~/.kiro/settings/mcp.json",
    "~/.cursor/mcp.json",
    ".kiro/settings/mcp.json",
    ".vscode/mcp.json",
    ".cursor/mcp.json",
    ".mcp.json",
    ".pyddock/mcp.json",
};

/* What tells whether a file is the one that was read. */
struct identity {
    bool exists;
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified, changed;
};

struct peer_file {
    const char *name, *path;
    struct identity identity;
};

static struct identity identify(const char *path)
{
    struct stat st;
    if (stat(path, &st))
        return (struct identity){ .exists = false };
    return (struct identity){ true, st.st_dev, st.st_ino, st.st_size, st.st_mtim,
        st.st_ctim };
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool same(const struct identity *a, const struct identity *b)
{
    return a->exists == b->exists &&
           (!a->exists ||
                   (a->device == b->device && a->inode == b->inode &&
                           a->size == b->size && same_time(a->modified, b->modified) &&
                           same_time(a->changed, b->changed)));
}

void definition_warn(struct definition_loader *l, struct origin at, const char *fmt, ...)
{
    char text[1024];
    auto_buf line = BUF(sizeof(text));
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    buf_add_shown(&line, str_of(text));
    if (l->warning_count == l->warning_cap) {
        l->warning_cap = l->warning_cap ? 2 * l->warning_cap : 16;
        struct policy_text *more = arena_alloc(l->arena, l->warning_cap * sizeof(*more));
        if (l->warning_count)
            memcpy(more, l->warnings, l->warning_count * sizeof(*more));
        l->warnings = more;
    }
    l->warnings[l->warning_count++] =
            (struct policy_text){ arena_str(l->arena, buf_str(&line)), at };
}

/* --- files --- */

static const char *place_path(const struct definition_loader *l, const char *name)
{
    if (name[0] != '~')
        return arena_printf(
                l->arena, "%.*s/%s", STR_ARG(l->policy->workspace_real), name);
    return l->home && l->home[0] == '/'
                   ? arena_printf(l->arena, "%s%s", l->home, name + 1)
                   : NULL;
}

/* Whether it may be read at all; says why not. */
static bool is_trusted(struct definition_loader *l, const struct peer_file *file)
{
    const struct origin at = { file->name, 1 };
    const char *entry;
    struct stat st;
    auto_buf help = BUF(8192);
    if (definition_is_writable(l, file->path, &entry, &help)) {
        definition_warn(l, at, "is not read, because agents may write '%s'; %s", entry,
                buf_str(&help).data);
        return false;
    }
    if (!stat(file->path, &st) && S_ISREG(st.st_mode) && st.st_nlink > 1) {
        definition_warn(l, at,
                "is not read, because it has %lu names, and agents may write by another "
                "one; make a copy in its place",
                (unsigned long)st.st_nlink);
        return false;
    }
    return true;
}

static void drop_json(void *json)
{
    json_decref(json);
}

static bool read_file(struct definition_loader *l, const struct peer_file *file,
        struct str *text, json_t **out)
{
    const struct origin at = { file->name, 1 };
    struct error err = { 0 };
    int failed = file_read(file->path, DEFINITION_MAX_BYTES, l->arena, text);
    if (failed == EISDIR || failed == EFBIG)
        definition_warn(l, at, "is not read: it is %s",
                failed == EFBIG ? "larger than 1 MiB" : "no file");
    else if (failed)
        definition_warn(l, at, "is not read: %s", strerror(failed));
    else if (!definition_parse(*text, out, &err))
        definition_warn(l, at, "is not read: it %s", err.message);
    if (failed || err.code)
        return false;
    arena_defer(l->arena, drop_json, *out);
    return true;
}

/* What the file says of each section replaces what an earlier one said. */
static void scan_file(struct definition_loader *l, const struct peer_file *file,
        struct definition_source *sources)
{
    struct str text;
    json_t *json = NULL;
    if (!file->identity.exists || !is_trusted(l, file) ||
            !read_file(l, file, &text, &json))
        return;
    for (size_t i = 0; i < l->policy->mcp_count; i++) {
        struct definition_source found;
        definition_find(json, text, l->policy->mcp[i].name, &found);
        if (!found.server)
            continue;
        found.origin.file = file->name;
        found.path = file->path;
        sources[i] = found;
    }
}

/* A file that agents may make is none that could count one day: nobody is told of it. */
static bool is_watched(const struct definition_loader *l, const struct peer_file *file)
{
    const char *entry;
    auto_buf help = BUF(8192);
    return !definition_is_writable(l, file->path, &entry, &help);
}

static void scan_files(struct definition_loader *l, struct definition_source *sources,
        struct peer_definitions *out)
{
    struct peer_file *files = arena_zalloc(l->arena, ARRAY_LEN(places) * sizeof(*files));
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        struct peer_file *file = &files[out->file_count];
        file->name = places[i];
        file->path = place_path(l, file->name);
        if (!file->path)
            continue;
        file->identity = identify(file->path);
        scan_file(l, file, sources);
        out->file_count += is_watched(l, file);
    }
    out->files = files;
}

/* --- servers --- */

static const char *const *base_environment(const struct definition_loader *l)
{
    static const char *const names[] = { "HOME", "LANG", "LOGNAME", "PATH", "SHELL",
        "TERM", "USER" };
    const char **ours = env_snapshot(l->policy, NULL, l->environment, l->arena);
    const char **out = arena_zalloc(l->arena, (ARRAY_LEN(names) + 1) * sizeof(*out));
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        for (const char **one = ours; *one; one++) {
            struct str rest = str_of(*one);
            if (str_is(str_cut(&rest, '='), names[i])) {
                out[count++] = *one;
                break;
            }
        }
    return out;
}

/* A secret that is written out can be read by who may read the file. */
static void warn_secret(struct definition_loader *l,
        const struct definition_source *source, const struct policy_mcp *section,
        const char *key)
{
    const char *name;
    json_t *value;
    json_object_foreach (json_object_get(source->server, key), name, value) {
        struct str text = json_str(value);
        bool is_secret = env_is_secret(str_of(name), text) ||
                         (!strcasecmp(name, "Authorization") && text.len);
        bool is_named = strstr(text.data, "${");
        if (!is_secret || is_named)
            continue;
        definition_warn(l, source->origin,
                "\"%s\" '%s' looks like a secret, and agents may read this file: write "
                "${NAME} and list NAME in [mcp.%.*s] variables, or guard the file with "
                "\"deny-agent\"",
                key, name, STR_ARG(section->name));
        return;
    }
}

/* What other programs would replace, and what is replaced here only on demand. */
static void warn_literal(struct definition_loader *l,
        const struct definition_source *source, const struct peer_definition *d)
{
    static const char *const members[] = { "env", "headers" };
    bool in_args = false, in_pairs = false;
    for (const char *const *one = d->argv; one && *one; one++)
        in_args |= strstr(*one, "${") != NULL;
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const char *name;
        json_t *value;
        json_object_foreach (json_object_get(source->server, members[i]), name, value)
            in_pairs |= json_is_string(value) && strstr(json_string_value(value), "${");
    }
    if (in_args)
        definition_warn(l, source->origin,
                "\"command\" and \"args\" of '%.*s' are taken as they are, ${...} "
                "included",
                STR_ARG(d->name));
    if (in_pairs && !d->section->variables.count)
        definition_warn(l, source->origin,
                "\"env\" and \"headers\" of '%.*s' are taken as they are, ${...} "
                "included, unless [mcp.%.*s] variables lists names",
                STR_ARG(d->name), STR_ARG(d->name));
}

static void warn_secrets(struct definition_loader *l,
        const struct definition_source *source, const struct policy_mcp *section)
{
    const char *real = protect_resolve(source->path, l->arena);
    if (!real || !path_allowed(l->paths, str_of(real), PATH_READ, NULL))
        return;
    warn_secret(l, source, section, "env");
    warn_secret(l, source, section, "headers");
}

static void read_servers(struct definition_loader *l,
        const struct definition_source *sources, struct peer_definitions *out)
{
    size_t sections = l->policy->mcp_count;
    struct peer_definition *items =
            arena_zalloc(l->arena, (sections + 1) * sizeof(*items));
    for (size_t i = 0; i < sections; i++) {
        const struct policy_mcp *section = &l->policy->mcp[i];
        struct peer_definition *d = &items[out->count];
        struct error err = { 0 };
        if (!sources[i].server)
            definition_warn(l, section->origin,
                    "[mcp.%.*s]: no definition file has a server of that name",
                    STR_ARG(section->name));
        else if (!definition_read(l, &sources[i], section, d, &err) ||
                 !definition_resolve(l, d, &err))
            definition_warn(l, sources[i].origin,
                    "the server '%.*s' is not available: %s", STR_ARG(section->name),
                    err.message);
        else {
            out->count++;
            warn_secrets(l, &sources[i], section);
            warn_literal(l, &sources[i], d);
        }
    }
    out->items = items;
}

/* Behind the warnings of the policy itself. */
static void add_warnings(const struct definition_loader *l)
{
    struct policy_texts *to = &l->policy->warnings;
    size_t count = to->count + l->warning_count;
    struct policy_text *all = arena_alloc(l->arena, (count + 1) * sizeof(*all));
    if (to->count)
        memcpy(all, to->items, to->count * sizeof(*all));
    if (l->warning_count)
        memcpy(all + to->count, l->warnings, l->warning_count * sizeof(*all));
    *to = (struct policy_texts){ all, count };
}

void peer_definitions_load(struct policy *policy, const char *home,
        char *const *environment, struct arena *arena, struct peer_definitions *out)
{
    *out = (struct peer_definitions){ .count = 0 };
    if (!policy->mcp_count)
        return;
    struct definition_loader l = { .policy = policy,
        .paths = path_policy_create(policy, arena),
        .home = home,
        .environment = environment,
        .arena = arena };
    struct definition_source *sources =
            arena_zalloc(arena, policy->mcp_count * sizeof(*sources));
    l.base_env = base_environment(&l);
    path_policy_kernel_rules(l.paths, arena, &l.rules);
    scan_files(&l, sources, out);
    read_servers(&l, sources, out);
    add_warnings(&l);
}

const struct peer_definition *peer_find(
        const struct peer_definitions *all, struct str name)
{
    for (size_t i = 0; i < all->count; i++)
        if (str_eq(all->items[i].name, name))
            return &all->items[i];
    return NULL;
}

bool peer_definitions_changed(const struct peer_definitions *all, struct buf *out)
{
    bool any = false;
    for (size_t i = 0; i < all->file_count; i++) {
        struct identity now = identify(all->files[i].path);
        if (same(&now, &all->files[i].identity))
            continue;
        buf_addf(out, "%s%s", any ? ", " : "", all->files[i].name);
        any = true;
    }
    return any;
}
