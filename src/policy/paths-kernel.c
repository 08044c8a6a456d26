/*
 * What the kernel is to hold can be said only of files that exist and have a name.  A
 * guard's pattern is looked for where its plain beginning says that something may be, in
 * HOME and in the workspace, and among the names of these two folders themselves; what is
 * found there is judged as any other path.  Plain beginnings are also looked for in the
 * folders of the writable paths, the nearest ones, where other repositories may be.  What
 * a guard allows outside the writable paths is looked for in the folders above as well.
 */
#include "policy/deny.h"
#include "policy/paths-internal.h"
#include "policy/place.h"

#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

enum {
    MAX_FOLDERS = 200,
    MAX_NAMES = 20000,
    /* Each command waits until these have been looked through. */
    MAX_NESTED = 100,           /* folders */
    MAX_NESTED_NAMES = 20000,   /* in all of them... */
    MAX_NAMES_OF_NESTED = 5000, /* ...and in one */
};

struct look {
    const struct path_policy *policy;
    struct arena *arena;
    struct kernel_rules *rules;
    struct str folders[MAX_FOLDERS]; /* that were looked at */
    size_t folder_count;
    bool is_nested; /* what is found now */
};

static void add_rule(struct look *look, enum kernel_rule_kind kind, struct str path,
        bool is_dir, bool trusted_may)
{
    struct kernel_rules *rules = look->rules;
    for (size_t i = 0; i < rules->count; i++)
        if (rules->items[i].kind == kind && str_eq(rules->items[i].path, path))
            return;
    if (rules->count == rules->cap) {
        rules->cap = rules->cap ? 2 * rules->cap : 32;
        struct kernel_rule *more = arena_alloc(look->arena, rules->cap * sizeof(*more));
        if (rules->count)
            memcpy(more, rules->items, rules->count * sizeof(*more));
        rules->items = more;
    }
    rules->items[rules->count++] = (struct kernel_rule){
        .kind = kind,
        .path = arena_str(look->arena, path),
        .is_dir = is_dir,
        .trusted_may = trusted_may,
        .is_nested = look->is_nested,
    };
}

/* The real path of what exists. */
static bool find_real(const char *path, char real[PATH_MAX], bool *is_dir)
{
    struct stat st;
    if (!realpath(path, real) || lstat(real, &st) < 0)
        return false;
    *is_dir = S_ISDIR(st.st_mode);
    return true;
}

/* What is named by its real path.  A link that stands there now has come since, perhaps
 * in another place that may be written, and leads anywhere. */
static void add_existing(struct look *look, enum kernel_rule_kind kind, struct str path)
{
    char real[PATH_MAX];
    bool is_dir;
    if (path.len && find_real(arena_cstr(look->arena, path), real, &is_dir) &&
            str_is(path, real))
        add_rule(look, kind, path, is_dir, false);
}

static bool is_agent_guard(const struct path_policy *p, struct str path)
{
    bool gave_up;
    auto_subject s = { 0 };
    subject_init(&s, path);
    const struct policy_guard *guard = path_guard_find(p, &s, PATH_READ, &gave_up);
    return guard && !gave_up && guard->disposition == GUARD_DENY_AGENT;
}

/* A name that a guard hides hides what it leads to; otherwise where it leads decides. */
static void judge_name(struct look *look, const char *path)
{
    char real[PATH_MAX];
    bool is_dir;
    struct str name = str_of(path);
    bool is_writable = path_passable(look->policy, name) &&
                       path_allowed(look->policy, name, PATH_WRITE, NULL);
    if (is_writable && place_is_writable(look->policy->policy, name))
        return; /* most names: no look at the file system is needed */
    if (!find_real(path, real, &is_dir))
        return;
    struct str target = str_of(real);
    if (!path_passable(look->policy, name) || !path_passable(look->policy, target))
        add_rule(look, KERNEL_HIDDEN, target, is_dir, is_agent_guard(look->policy, name));
    else if (!path_allowed(look->policy, target, PATH_WRITE, NULL)) {
        if (place_is_writable(look->policy->policy, target))
            add_rule(look, KERNEL_READ_ONLY, target, is_dir, false);
    } else if (is_writable && !place_is_writable(look->policy->policy, target)) {
        add_rule(look, KERNEL_WRITABLE, target, is_dir, false);
    }
}

static bool is_new_folder(struct look *look, struct str folder)
{
    for (size_t i = 0; i < look->folder_count; i++)
        if (str_eq(look->folders[i], folder))
            return false;
    if (look->folder_count == MAX_FOLDERS)
        return false;
    look->folders[look->folder_count++] = folder;
    return true;
}

/* The next name in the folder that is neither itself nor the one above. */
static const struct dirent *next_name(DIR *dir)
{
    const struct dirent *entry;
    do
        entry = readdir(dir);
    while (entry && (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")));
    return entry;
}

static void look_into(struct look *look, const char *folder)
{
    if (!is_new_folder(look, str_of(folder)))
        return;
    DIR *dir = opendir(folder);
    if (!dir)
        return;
    const struct dirent *entry;
    for (size_t i = 0; i < MAX_NAMES && (entry = next_name(dir)); i++) {
        struct arena_mark mark = arena_mark(look->arena);
        const char *path = arena_printf(look->arena, "%s/%s", folder, entry->d_name);
        size_t before = look->rules->count;
        judge_name(look, path);
        if (look->rules->count == before)
            arena_rewind(look->arena, mark);
    }
    closedir(dir);
}

/* The folder of what the guard names, as seen from where that may be: "/.aws" for
 * `/.aws/credentials`, "" for `/.npmrc` and for what is not known. */
static struct str literal_folder(const struct path_guard *g)
{
    struct str literal = g->literal;
    if (!literal.len || literal.data[0] != '/')
        return STR("");
    literal.len -= literal.data[literal.len - 1] == '/';
    while (literal.len && literal.data[literal.len - 1] != '/')
        literal.len--;
    literal.len -= literal.len > 0;
    return literal;
}

/* By the names themselves, so that no number of others beside them is too many... */
static void look_for_names(struct look *look, struct str base)
{
    const char *names[GUARD_NAMES];
    for (size_t i = 0; i < look->policy->guard_count; i++) {
        size_t count = guard_names(&look->policy->guards[i], base, look->arena, names);
        for (size_t j = 0; j < count; j++)
            judge_name(look, names[j]);
    }
}

/* ...and among what is there: in the folder of `/.aws/credentials` below `base`, and so
 * on. */
static void look_for_literals(struct look *look, struct str base)
{
    if (base.len < 2)
        return;
    look_for_names(look, base);
    look_into(look, arena_cstr(look->arena, base));
    for (size_t i = 0; i < look->policy->guard_count; i++) {
        struct str folder = literal_folder(&look->policy->guards[i]);
        if (folder.len)
            look_into(look, arena_printf(look->arena, "%.*s%.*s", STR_ARG(base),
                                    STR_ARG(folder)));
    }
}

/* Folders still to be looked through. */
struct nested {
    const char *folders[MAX_NESTED];
    dev_t above[MAX_NESTED]; /* of the folder that each lies in; 0: a start */
    size_t count, next;
    size_t names; /* looked at */
};

static void add_nested(struct nested *nested, const char *folder, dev_t above)
{
    if (nested->count == MAX_NESTED)
        return;
    nested->above[nested->count] = above;
    nested->folders[nested->count++] = folder;
}

/* Can what the guard names begin with this name, which is folded? */
static bool begins_literal(const struct path_guard *g, struct str name)
{
    struct str rest = g->folded;
    if (rest.len < 2 || str_cut(&rest, '/').len)
        return false;
    bool is_open = !memchr(rest.data, '/', rest.len);
    struct str first = str_cut(&rest, '/');
    return is_open ? str_starts(name, first) : str_eq(name, first);
}

static void judge_nested(struct look *look, const char *folder, const char *name)
{
    char folded[NAME_MAX + 1];
    struct str key = str_of(name);
    if (key.len >= sizeof(folded))
        return;
    key = (struct str){ folded, deny_fold(key, folded) };
    for (size_t i = 0; i < look->policy->guard_count; i++) {
        const struct path_guard *g = &look->policy->guards[i];
        struct str deeper = literal_folder(g);
        if (!begins_literal(g, key))
            continue;
        if (deeper.len)
            look_into(look, arena_printf(look->arena, "%s%.*s", folder, STR_ARG(deeper)));
        else
            judge_name(look, arena_printf(look->arena, "%s/%s", folder, name));
    }
}

/* Which file system is it on?  False: on one that is not `above` and whose answers come
 * from elsewhere; a server that starts must not wait for them. */
static bool is_near(const char *folder, dev_t above, dev_t *dev)
{
    struct stat st;
    auto_fd int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return false;
    *dev = st.st_dev;
    return !above || above == st.st_dev || !file_is_remote(fd);
}

/* What is hidden is not gone into: it may be guarded itself, and is seldom of interest.
 */
static void look_through(struct look *look, struct nested *nested)
{
    const char *folder = nested->folders[nested->next];
    dev_t dev, above = nested->above[nested->next++];
    DIR *dir = is_near(folder, above, &dev) ? opendir(folder) : NULL;
    if (!dir)
        return;
    const struct dirent *entry;
    size_t last = nested->names + MAX_NAMES_OF_NESTED;
    last = last < MAX_NESTED_NAMES ? last : MAX_NESTED_NAMES;
    for (; nested->names < last && (entry = next_name(dir)); nested->names++) {
        judge_nested(look, folder, entry->d_name);
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            add_nested(nested, arena_printf(look->arena, "%s/%s", folder, entry->d_name),
                    dev);
    }
    closedir(dir);
}

static void look_for_nested(struct look *look)
{
    const struct policy *policy = look->policy->policy;
    struct nested nested = { .count = 0 };
    for (size_t i = 0; i < policy->writable_count; i++)
        if (policy->writable[i].path.len > 1)
            add_nested(&nested, arena_cstr(look->arena, policy->writable[i].path), 0);
    look->is_nested = true;
    while (nested.next < nested.count)
        look_through(look, &nested);
    look->is_nested = false;
}

/* Is what lies in a folder of this name allowed to be written? */
static void judge_allowed(struct look *look, const char *folder)
{
    char real[PATH_MAX];
    bool is_dir;
    if (!find_real(folder, real, &is_dir))
        return;
    const char *inside = is_dir ? arena_printf(look->arena, "%s/x", real) : real;
    if (path_allowed(look->policy, str_of(inside), PATH_WRITE, NULL) &&
            !place_is_writable(look->policy->policy, str_of(real)))
        add_rule(look, KERNEL_WRITABLE, str_of(real), is_dir, false);
}

/* For `base` and every folder above it: is there what guards allow? */
static void look_for_allowed(struct look *look, struct str base)
{
    for (size_t i = 0; i < look->policy->guard_count; i++) {
        const struct path_guard *g = &look->policy->guards[i];
        struct str literal = g->literal, folder = base;
        if (g->guard->disposition != GUARD_ALLOW || literal.len < 2 ||
                literal.data[0] != '/')
            continue;
        literal.len -= literal.data[literal.len - 1] == '/';
        for (;;) {
            judge_allowed(look, arena_printf(look->arena, "%.*s%.*s", STR_ARG(folder),
                                        STR_ARG(literal)));
            if (!folder.len)
                break;
            while (folder.data[--folder.len] != '/')
                ;
        }
    }
}

static void add_folders(struct look *look)
{
    for (size_t i = 0; i < look->policy->folder_count; i++) {
        const struct path_folder *f = &look->policy->folders[i];
        char real[PATH_MAX];
        bool is_dir;
        if (!find_real(arena_cstr(look->arena, f->path), real, &is_dir) ||
                !place_is_writable(look->policy->policy, str_of(real)))
            continue;
        add_rule(look, KERNEL_READ_ONLY, str_of(real), is_dir, false);
        add_existing(look, KERNEL_WRITABLE,
                str_sub(f->except, 0, f->except.len - (f->except.len > 0)));
    }
}

/* The gate refuses them too (paths.c). */
static void add_settings(struct look *look)
{
    static const struct str places[] = { STR("/proc"), STR("/sys") };
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        if (place_is_writable(look->policy->policy, places[i]))
            add_existing(look, KERNEL_READ_ONLY, places[i]);
}

void path_policy_kernel_rules(
        const struct path_policy *p, struct arena *arena, struct kernel_rules *out)
{
    const struct policy *policy = p->policy;
    *out = (struct kernel_rules){ .readable_all = policy->readable_all };
    struct look look = { .policy = p, .arena = arena, .rules = out };
    for (size_t i = 0; i < policy->writable_count; i++)
        add_existing(&look, KERNEL_WRITABLE, policy->writable[i].path);
    for (size_t i = 0; !policy->readable_all && i < policy->readable_count; i++)
        add_existing(&look, KERNEL_READABLE, policy->readable[i].path);
    add_folders(&look);
    add_settings(&look);
    look_for_literals(&look, policy->home);
    look_for_literals(&look, policy->workspace_real);
    look_for_nested(&look);
    look_for_allowed(&look, policy->home);
    look_for_allowed(&look, policy->workspace_real);
}
