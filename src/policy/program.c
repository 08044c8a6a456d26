#include "policy/command-parts.h"

#include <sys/stat.h>
#include <unistd.h>

#define PATH_LOOKUPS 20000 /* for all folders of PATH together */

static struct str join(struct arena *arena, struct str folder, struct str name)
{
    const char *slash = str_is(folder, "/") ? "" : "/";
    return str_of(
            arena_printf(arena, "%.*s%s%.*s", STR_ARG(folder), slash, STR_ARG(name)));
}

static struct str last_name(struct str path)
{
    const char *slash = path.len ? memrchr(path.data, '/', path.len) : NULL;
    return slash ? str_from(path, (size_t)(slash - path.data) + 1) : path;
}

void program_places_find(const struct policy *policy, struct str path,
        struct arena *arena, struct program_places *out)
{
    size_t most = 1;
    for (size_t i = 0; i < path.len; i++)
        most += path.data[i] == ':';
    struct str *folders = arena_alloc(arena, most * sizeof(*folders));
    struct str *skipped = arena_alloc(arena, most * sizeof(*skipped));
    *out = (struct program_places){ .folders = folders, .skipped = skipped };
    unsigned budget = PATH_LOOKUPS;
    while (path.len) {
        struct str entry = str_cut(&path, ':');
        struct place place;
        bool absolute = entry.len && entry.data[0] == '/';
        if (!absolute ||
                !place_find(STR("/"), entry, PLACE_FOLLOW, arena, &budget, &place) ||
                place_may_be_planted(policy, place.path))
            skipped[out->skipped_count++] = arena_str(arena, entry);
        else if (place.exists)
            folders[out->count++] = place.path;
    }
}

static bool is_program(struct str path)
{
    struct stat st;
    return !stat(path.data, &st) && S_ISREG(st.st_mode) && !access(path.data, X_OK);
}

static bool refuse_planted(
        struct command_step *step, struct str path, const char *how, struct refusal *why)
{
    refusal_begin(why, "write-then-execute", NULL);
    buf_add(&why->what, STR("starting "));
    refuse_quote(&why->what, step->request->command);
    buf_add(&why->what, STR(" is not permitted: "));
    refuse_quote(&why->what, path);
    buf_addf(&why->what, " %s", how);
    buf_add(&why->rule, STR("programs are started only from where nothing may be written "
                            "(write-then-execute)"));
    refuse_hint(why,
            "Put it into a folder that a path-like [shell.*] command names, such "
            "as command = \"tools/.*\", or outside the writable paths.");
    return false;
}

bool program_path(const struct program_places *places, struct str name,
        struct arena *arena, struct str *out)
{
    for (size_t i = 0; i < places->count; i++) {
        *out = join(arena, places->folders[i], name);
        if (is_program(*out))
            return true;
    }
    return false;
}

/* `*out` is where it was found: the link, if it is one, and not what it points to.
 * Nothing: it is nowhere in PATH. */
static bool find_by_name(struct command_step *step, const struct program_places *places,
        struct str name, struct str *out, struct refusal *why)
{
    for (size_t i = 0; i < places->count; i++) {
        struct str path = join(step->arena, places->folders[i], name);
        struct place place;
        if (!is_program(path))
            continue;
        if (!place_find(
                    STR("/"), path, PLACE_FOLLOW, step->arena, &step->budget, &place) ||
                place_may_be_planted(step->policy, place.path))
            return refuse_planted(step, path, "leads to where an agent may write", why);
        *out = path;
        return true;
    }
    for (size_t i = 0; i < places->skipped_count; i++) {
        struct str path = join(step->arena, places->skipped[i], name);
        if (is_program(path))
            return refuse_planted(step, path,
                    "is in a folder of PATH that is skipped, because it is relative or "
                    "an "
                    "agent may write there",
                    why);
    }
    return true;
}

static bool has_dotdot(struct str path)
{
    while (path.len)
        if (str_is(str_cut(&path, '/'), ".."))
            return true;
    return false;
}

/* Is there a link on the way that an agent could have made?  `path` is by its name. */
static bool leads_through_planted(struct command_step *step, struct str path)
{
    for (size_t end = 1; end <= path.len; end++) {
        if (end < path.len && path.data[end] != '/')
            continue;
        struct str whole = str_sub(path, 0, end), name = last_name(whole);
        struct str parent = str_sub(whole, 0, whole.len - name.len);
        struct place folder;
        if (!place_find(STR("/"), parent, PLACE_FOLLOW, step->arena, &step->budget,
                    &folder) ||
                place_may_be_planted(step->policy, join(step->arena, folder.path, name)))
            return true;
    }
    return false;
}

/* Relative to the workspace, never to cwd. */
static bool find_by_path(struct command_step *step, struct str *out, struct refusal *why)
{
    const struct policy *policy = step->policy;
    struct str command = step->request->command, name = last_name(command);
    struct str parent = { command.data, command.len - name.len };
    struct str base = policy->workspace_real;
    struct place real, folder, written;
    if (!place_find(base, command, PLACE_FOLLOW, step->arena, &step->budget, &real) ||
            !place_find(
                    base, parent, PLACE_FOLLOW, step->arena, &step->budget, &folder) ||
            !place_find(
                    base, command, PLACE_BY_NAME, step->arena, &step->budget, &written))
        return refuse_planted(step, command, "cannot be followed to its end", why);
    if (!real.exists)
        return true;
    struct str path = join(step->arena, folder.path, name);
    if (place_may_be_planted(policy, real.path) || place_may_be_planted(policy, path))
        return refuse_planted(step, real.path, "is where an agent may write", why);
    if (place_protected(policy, path)) {
        *out = path;
        return true;
    }
    /* Outside: neither by a link that an agent could have made nor by going up. */
    if (has_dotdot(command))
        return refuse_planted(
                step, real.path, "is reached by '..' and in no folder of scripts", why);
    if (leads_through_planted(step, written.path))
        return refuse_planted(step, written.path,
                "is reached by a link that an agent may have made", why);
    *out = path;
    return true;
}

/* What starts a file, by the end of its name. */
static const struct interpreter {
    const char *suffix;
    const char *names[3]; /* the first that is there */
    const char *options[5];
} interpreters[] = {
    { ".bat", { "cmd" }, { "/c" } },
    { ".ps1", { "pwsh", "powershell" },
            { "-NoProfile", "-ExecutionPolicy", "Bypass", "-File" } },
    { ".py", { "python3", "python" }, { NULL } },
    { ".sh", { "bash" }, { NULL } },
};

static const struct interpreter *find_interpreter(struct str command)
{
    for (size_t i = 0; i < ARRAY_LEN(interpreters); i++)
        if (str_ends(command, str_of(interpreters[i].suffix)))
            return &interpreters[i];
    return NULL;
}

static bool interpret(struct command_step *step, const struct program_places *places,
        const struct interpreter *by, struct str script, struct program *out,
        struct refusal *why)
{
    struct str path = { NULL, 0 };
    size_t used = 0;
    for (size_t i = 0; i < ARRAY_LEN(by->names) && by->names[i] && !path.len; i++) {
        if (!find_by_name(step, places, str_of(by->names[i]), &path, why))
            return false;
        used = path.len ? i : 0;
    }
    out->path = path.data;
    out->argv[out->argc++] = by->names[used];
    for (size_t i = 0; i < ARRAY_LEN(by->options) && by->options[i]; i++)
        out->argv[out->argc++] = by->options[i];
    out->argv[out->argc++] = script.data;
    return true;
}

bool program_find(struct command_step *step, const struct program_places *places,
        struct program *out, struct refusal *why)
{
    struct str command = step->request->command, path = { NULL, 0 };
    const struct interpreter *by = find_interpreter(command);
    size_t room = step->request->arg_count + 8; /* interpreter, options, script, NULL */
    *out = (struct program){ .argv = arena_zalloc(step->arena, room * sizeof(char *)) };
    bool is_path = memchr(command.data, '/', command.len);
    if (is_path || by)
        if (!find_by_path(step, &path, why))
            return false;
    if (!is_path && !path.len)
        if (!find_by_name(step, places, command, &path, why))
            return false;
    if (by && path.len)
        return interpret(step, places, by, path, out, why);
    out->path = path.data;
    out->argv[out->argc++] =
            is_path && path.len ? path.data : arena_cstr(step->arena, command);
    return true;
}
