#include "base/path.h"
#include "policy/deny.h"
#include "policy/paths-internal.h"
#include "policy/place.h"

#define NULL_DEVICE   STR("/dev/null")
#define DEVICES       STR("/dev/")
#define SHARED_MEMORY STR("/dev/shm/")
#define PROCESSES     STR("/proc/")

static struct str with_slash(struct arena *arena, struct str path)
{
    if (!path.len || path.data[path.len - 1] == '/')
        return path;
    return str_of(arena_printf(arena, "%.*s/", STR_ARG(path)));
}

static struct str fold(struct arena *arena, struct str text)
{
    char *out = arena_alloc(arena, text.len + 1);
    size_t len = deny_fold(text, out);
    out[len] = 0;
    return (struct str){ out, len };
}

void path_folder_add(
        struct path_policy *p, struct arena *arena, const struct path_folder *folder)
{
    struct path_folder f = *folder;
    f.folded = fold(arena, with_slash(arena, f.path));
    f.except = with_slash(arena, f.except);
    if (p->folder_count == p->folder_cap) {
        p->folder_cap = p->folder_cap ? 2 * p->folder_cap : 16;
        struct path_folder *more = arena_alloc(arena, p->folder_cap * sizeof(*more));
        if (p->folder_count)
            memcpy(more, p->folders, p->folder_count * sizeof(*more));
        p->folders = more;
    }
    p->folders[p->folder_count++] = f;
}

struct path_policy *path_policy_create(const struct policy *policy, struct arena *arena)
{
    struct path_policy *p = arena_zalloc(arena, sizeof(*p));
    p->policy = policy;
    p->guards = arena_zalloc(arena, policy->guard_count * sizeof(*p->guards));
    for (size_t i = 0; i < policy->guard_count; i++) {
        const struct policy_guard *guard = &policy->guards[i];
        struct str literal = guard_literal(guard->regex.text, arena);
        p->guards[i] = (struct path_guard){ guard, literal, fold(arena, literal) };
    }
    p->guard_count = policy->guard_count;
    for (size_t i = 0; i < policy->protected_count; i++) {
        const struct policy_protected *protected = &policy->protected[i];
        path_folder_add(p, arena,
                &(struct path_folder){ .path = protected->path,
                        .except = protected->except,
                        .protected = protected });
    }
    path_git_folders(p, arena);
    return p;
}

struct str path_policy_workspace(const struct path_policy *p)
{
    return p->policy->workspace_real;
}

struct str path_policy_home(const struct path_policy *p)
{
    return p->policy->home;
}

static const char *use_text(enum path_use use)
{
    return use == PATH_WRITE ? "writing" : use == PATH_READ ? "reading" : "looking at";
}

/* Begins a refusal; NULL if nobody wants to know. */
static struct refusal *begin(struct refusal *why, const char *code,
        const struct origin *origin, struct str path, enum path_use use)
{
    if (!why)
        return NULL;
    refusal_begin(why, code, origin);
    buf_addf(&why->what, "%s '", use_text(use));
    buf_add_escaped(&why->what, path);
    buf_addf(&why->what, "' is not permitted");
    return why;
}

static bool refuse_malformed(struct str path, enum path_use use, struct refusal *why)
{
    if (begin(why, "path", NULL, path, use))
        buf_add(&why->rule, STR("a path is absolute and has no '.' or '..' left in it"));
    return false;
}

/* The settings of the machine have the shape of files. */
static bool is_setting(struct str path)
{
    return path_is_in(path, STR("/proc")) || path_is_in(path, STR("/sys"));
}

/* Files of the kernel that reach devices, or the memory and the secrets of processes. */
static bool is_special(struct str path, enum path_use use, const char **rule)
{
    if (use == PATH_WRITE && is_setting(path)) {
        *rule = "nothing is written in /proc and /sys, where the kernel is set";
        return true;
    }
    if (str_starts(path, DEVICES) && !str_starts(path, SHARED_MEMORY) &&
            !str_is(path, "/dev/shm")) {
        *rule = "no device but /dev/null is used";
        return true;
    }
    if (!str_starts(path, PROCESSES))
        return false;
    struct str rest = str_from(path, PROCESSES.len);
    struct str name = str_cut(&rest, '/');
    bool is_process = name.data[0] >= '0' && name.data[0] <= '9';
    if (!rest.len || !(is_process || str_is(name, "self") || str_is(name, "thread-self")))
        return false;
    *rule = "what belongs to a process is not looked into";
    return true;
}

static bool refuse_special(
        struct str path, enum path_use use, const char *rule, struct refusal *why)
{
    if (begin(why, "special-file", NULL, path, use))
        buf_add(&why->rule, str_of(rule));
    return false;
}

static void write_guard(const struct policy_guard *guard, struct buf *out)
{
    buf_addf(out, "[filesystem.guards] '%.*s' = \"%s\"", STR_ARG(guard->regex.text),
            guard_disposition_name(guard->disposition));
}

static const char *protected_text(enum protected_kind kind)
{
    switch (kind) {
    case PROTECTED_POLICY:
        return "it holds the policy (.pyddock/)";
    case PROTECTED_PACKAGE:
        return "it is a workspace module of [imports], which runs as trusted code";
    case PROTECTED_SCRIPTS:
        return "programs that a [shell.*] section may start lie there";
    case PROTECTED_PROGRAM:
        return "it belongs to this program";
    case PROTECTED_LOG:
        return "it is the log of this program";
    case PROTECTED_SERVER:
        return "an MCP server of a section [mcp.NAME] is started from there";
    }
    return "";
}

static bool refuse_folder(const struct path_folder *folder, struct str path,
        enum path_use use, struct refusal *why)
{
    const struct origin *origin =
            folder->guard ? &folder->guard->regex.origin : &folder->protected->origin;
    if (!begin(why, folder->guard ? "guard" : "write-protected", origin, path, use))
        return false;
    if (folder->guard) {
        write_guard(folder->guard, &why->rule);
        buf_addf(&why->rule, " covers '%.*s', where the repository is",
                STR_ARG(folder->path));
        return false;
    }
    buf_addf(&why->rule, "'%.*s' is write-protected: %s", STR_ARG(folder->path),
            protected_text(folder->protected->kind));
    if (folder->except.len)
        buf_addf(&why->hint, "Files for the moment may be written below '%.*s'.",
                STR_ARG(folder->except));
    else
        buf_add(&why->hint, STR("It can be read. To change it, ask the user, or write a "
                                "copy in another folder of the workspace."));
    return false;
}

/* The folder that keeps this from being written, or NULL. */
static const struct path_folder *find_folder(
        const struct path_policy *p, const struct subject *s)
{
    for (size_t i = 0; i < p->folder_count; i++) {
        const struct path_folder *f = &p->folders[i];
        bool is_free = f->except.len && str_starts(s->path, f->except);
        if (str_starts(s->folded, f->folded) && !is_free)
            return f;
    }
    return NULL;
}

/* A guard that allows writing does not do so for the folder above what it names. */
static bool wants_exact(const struct policy_guard *guard, enum path_use use)
{
    return guard->disposition == GUARD_ALLOW && use == PATH_WRITE;
}

const struct policy_guard *path_guard_find(const struct path_policy *p,
        const struct subject *s, enum path_use use, bool *gave_up)
{
    *gave_up = false;
    for (size_t i = 0; i < p->guard_count; i++) {
        const struct policy_guard *guard = p->guards[i].guard;
        enum guard_hit hit = guard_match(&p->guards[i], s, wants_exact(guard, use));
        if (hit == GUARD_MISSED)
            continue;
        *gave_up = hit == GUARD_GAVE_UP;
        return guard;
    }
    return NULL;
}

enum verdict { UNDECIDED, ALLOWED, REFUSED };

static enum verdict guard_verdict(const struct path_policy *p,
        const struct policy_guard *guard, struct str path, enum path_use use)
{
    switch (guard->disposition) {
    case GUARD_DENY_AGENT:
    case GUARD_DENY_ALL:
        return REFUSED;
    case GUARD_READ_ONLY:
        return use == PATH_WRITE ? REFUSED : UNDECIDED;
    case GUARD_WORKSPACE:
        return path_is_in(path, p->policy->workspace_real) ? ALLOWED : REFUSED;
    case GUARD_ALLOW:
        return ALLOWED;
    }
    return REFUSED;
}

static const char *guard_hint(enum guard_disposition disposition)
{
    switch (disposition) {
    case GUARD_READ_ONLY:
        return "It can be read; what may change it is a command that the policy allows.";
    case GUARD_WORKSPACE:
        return "Only files of that kind in the workspace may be used.";
    case GUARD_DENY_AGENT:
    case GUARD_DENY_ALL:
        return "It is taken for a secret: go on without it, or ask the user.";
    case GUARD_ALLOW:
        break;
    }
    return "";
}

static bool refuse_guard(const struct policy_guard *guard, bool gave_up, struct str path,
        enum path_use use, struct refusal *why)
{
    if (!begin(why, "guard", &guard->regex.origin, path, use))
        return false;
    write_guard(guard, &why->rule);
    if (gave_up)
        buf_add(&why->hint,
                STR("Whether the pattern matches could not be told within its limits, "
                    "which counts as no permission."));
    else
        buf_add(&why->hint, str_of(guard_hint(guard->disposition)));
    return false;
}

static bool is_above_any(const struct policy_path *roots, size_t count, struct str path)
{
    for (size_t i = 0; i < count; i++)
        if (path_is_in(roots[i].path, path))
            return true;
    return false;
}

static bool roots_allow(const struct policy *policy, struct str path, enum path_use use)
{
    if (use == PATH_WRITE)
        return place_is_writable(policy, path);
    if (policy->readable_all ||
            place_among(policy->readable, policy->readable_count, path))
        return true;
    return use == PATH_LOOK &&
           (place_is_writable(policy, path) ||
                   is_above_any(policy->writable, policy->writable_count, path) ||
                   is_above_any(policy->readable, policy->readable_count, path));
}

static void write_roots(
        const struct policy_path *roots, size_t count, bool real, struct buf *out)
{
    for (size_t i = 0; i < count; i++)
        buf_addf(out, "%s%s%.*s%s", i ? ", " : "", real ? "'" : "\"",
                STR_ARG(real ? roots[i].path : roots[i].text), real ? "'" : "\"");
}

static bool refuse_roots(const struct policy *policy, struct str path, enum path_use use,
        struct refusal *why)
{
    bool write = use == PATH_WRITE;
    const struct policy_path *roots = write ? policy->writable : policy->readable;
    size_t count = write ? policy->writable_count : policy->readable_count;
    const struct origin *origin = count ? &roots[0].origin : NULL;
    if (!begin(why, write ? "writes-restricted" : "reads-restricted", origin, path, use))
        return false;
    buf_addf(&why->what, ": %s are restricted", write ? "writes" : "reads");
    buf_addf(&why->rule, "[filesystem] %s = [",
            write ? "writable_paths" : "readable_paths");
    write_roots(roots, count, false, &why->rule);
    buf_addc(&why->rule, ']');
    if (count) {
        buf_addf(&why->hint, "Use a path below ");
        write_roots(roots, count, true, &why->hint);
        buf_addc(&why->hint, '.');
    }
    return false;
}

static enum verdict trusted_verdict(const struct path_policy *p,
        const struct policy_guard *guard, struct str path, enum path_use use)
{
    if (guard->disposition == GUARD_DENY_AGENT)
        return use == PATH_WRITE ? UNDECIDED : ALLOWED;
    return guard_verdict(p, guard, path, use);
}

static bool judge(const struct path_policy *p, const struct subject *s, enum path_use use,
        bool trusted, struct refusal *why)
{
    const struct path_folder *folder = use == PATH_WRITE ? find_folder(p, s) : NULL;
    if (folder)
        return refuse_folder(folder, s->path, use, why);
    bool gave_up;
    const struct policy_guard *guard = path_guard_find(p, s, use, &gave_up);
    enum verdict verdict = UNDECIDED;
    if (guard)
        verdict = gave_up   ? REFUSED
                  : trusted ? trusted_verdict(p, guard, s->path, use)
                            : guard_verdict(p, guard, s->path, use);
    if (verdict == REFUSED)
        return refuse_guard(guard, gave_up, s->path, use, why);
    return verdict == ALLOWED || roots_allow(p->policy, s->path, use) ||
           refuse_roots(p->policy, s->path, use, why);
}

static bool allowed(const struct path_policy *p, struct str canonical, enum path_use use,
        bool trusted, struct refusal *why)
{
    const char *rule;
    if (!path_is_normal(canonical))
        return refuse_malformed(canonical, use, why);
    if (str_eq(canonical, NULL_DEVICE))
        return true;
    if (is_special(canonical, use, &rule))
        return refuse_special(canonical, use, rule, why);
    auto_subject s = { 0 };
    subject_init(&s, canonical);
    return judge(p, &s, use, trusted, why);
}

bool path_allowed(const struct path_policy *p, struct str canonical, enum path_use use,
        struct refusal *why)
{
    return allowed(p, canonical, use, false, why);
}

bool path_allowed_trusted(const struct path_policy *p, struct str canonical,
        enum path_use use, struct refusal *why)
{
    return allowed(p, canonical, use, true, why);
}

bool path_passable(const struct path_policy *p, struct str canonical)
{
    auto_subject s = { 0 };
    subject_init(&s, canonical);
    bool gave_up;
    const struct policy_guard *guard = path_guard_find(p, &s, PATH_LOOK, &gave_up);
    return !guard ||
           (!gave_up && guard_verdict(p, guard, canonical, PATH_LOOK) != REFUSED);
}

/*
 * Does a folder of this name hold something that a guard names?  ".kiro" does for
 * `/\.kiro/settings`.
 */
static bool leads_to_literal(const struct subject *s, struct str literal)
{
    for (size_t i = 1; i < literal.len; i++)
        if (literal.data[i] == '/' && str_ends(s->folded, str_sub(literal, 0, i + 1)))
            return true;
    return false;
}

static const struct policy_guard *find_guard_below(
        const struct path_policy *p, const struct subject *s)
{
    for (size_t i = 0; i < p->guard_count; i++) {
        const struct policy_guard *guard = p->guards[i].guard;
        bool protects = guard->disposition == GUARD_READ_ONLY ||
                        guard->disposition == GUARD_DENY_AGENT ||
                        guard->disposition == GUARD_DENY_ALL;
        if (protects && leads_to_literal(s, p->guards[i].folded))
            return guard;
    }
    return NULL;
}

bool path_tree_allowed(
        const struct path_policy *p, struct str canonical, struct refusal *why)
{
    if (!path_allowed(p, canonical, PATH_WRITE, why))
        return false;
    auto_subject s = { 0 };
    subject_init(&s, canonical);
    for (size_t i = 0; i < p->folder_count; i++)
        if (str_starts(p->folders[i].folded, s.folded))
            return refuse_folder(&p->folders[i], canonical, PATH_WRITE, why);
    const struct policy_guard *guard = find_guard_below(p, &s);
    return !guard || refuse_guard(guard, false, canonical, PATH_WRITE, why);
}
