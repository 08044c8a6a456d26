#include "base/utf8.h"
#include "shell/save-parts.h"

/* A shell being read; nothing of it is installed before all of it was good. */
struct loader {
    const json_t *state;
    struct arena *arena;
    struct error *err;
    struct vars *vars;
    struct functions *functions;
    char **traps;
};

static bool bad(struct loader *l, const char *what)
{
    return error_set(l->err, ERR_INVALID, "this is no saved shell: '%s'", what);
}

/* Characters U+0000..U+00FF as the bytes that they stand for. */
static bool narrow(struct str wide, struct arena *arena, struct str *out)
{
    char *bytes = arena_alloc(arena, wide.len + 1);
    size_t len = 0;
    while (wide.len) {
        uint32_t code;
        size_t n = utf8_decode(wide, &code);
        if (!n || code > 0xff)
            return false;
        bytes[len++] = (char)code;
        wide = str_from(wide, n);
    }
    bytes[len] = '\0';
    *out = (struct str){ bytes, len };
    return true;
}

bool load_text(const json_t *value, struct arena *arena, struct str *out)
{
    const json_t *bytes = json_object_get(value, "bytes");
    if (json_is_string(bytes))
        return narrow(json_str(bytes), arena, out);
    *out = json_str(value);
    return json_is_string(value);
}

/* Text of the shell has no NUL. */
static bool take_text(struct loader *l, const json_t *value, struct str *out)
{
    return load_text(value, l->arena, out) && !memchr(out->data, '\0', out->len);
}

static bool take_number(const json_t *value, int64_t least, int64_t most, int64_t *out)
{
    *out = json_integer_value(value);
    return json_is_integer(value) && *out >= least && *out <= most;
}

/* The list at `key`, of texts; as C strings for argv, ended by NULL. */
static bool take_list(struct loader *l, const char *key, char ***out, size_t *count)
{
    const json_t *list = json_object_get(l->state, key);
    struct str text;
    *count = json_array_size(list);
    *out = arena_zalloc(l->arena, (*count + 1) * sizeof(**out));
    if (!json_is_array(list))
        return bad(l, key);
    for (size_t i = 0; i < *count; i++) {
        if (!take_text(l, json_array_get(list, i), &text))
            return bad(l, key);
        (*out)[i] = arena_cstr(l->arena, text);
    }
    return true;
}

/* Each item of the list at `key`. */
static bool load_each(struct loader *l, const char *key,
        bool (*load)(struct loader *l, const json_t *item))
{
    const json_t *list = json_object_get(l->state, key), *item;
    size_t i;
    if (!json_is_array(list))
        return bad(l, key);
    json_array_foreach (list, i, item)
        if (!load(l, item))
            return bad(l, key);
    return true;
}

static bool load_elements(
        struct loader *l, struct str name, bool assoc, const json_t *list)
{
    struct error unused;
    struct str key, value;
    int64_t index = 0;
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count % 2 ||
            !vars_clear_array(l->vars, name, assoc, &unused))
        return false;
    for (size_t i = 0; i < count; i += 2) {
        if (!take_text(l, json_array_get(list, i), &key) ||
                !take_text(l, json_array_get(list, i + 1), &value))
            return false;
        if (!assoc && (!str_int(key, &index) || index < 0))
            return false;
        if (!(assoc ? vars_set_key(l->vars, name, key, value, &unused)
                    : vars_set_index(l->vars, name, index, value, &unused)))
            return false;
    }
    return true;
}

static bool load_value(
        struct loader *l, struct str name, unsigned flags, const json_t *value)
{
    struct error unused;
    struct str text;
    if (flags & (VAR_INDEXED | VAR_ASSOC))
        return load_elements(l, name, flags & VAR_ASSOC, value);
    if (json_is_null(value))
        return vars_set_flags(l->vars, name, 0, 0, &unused);
    if (!take_text(l, value, &text))
        return false;
    if (!(flags & VAR_NAMEREF))
        return vars_set(l->vars, name, text, &unused);
    return text.len ? vars_set_nameref(l->vars, name, text, &unused)
                    : vars_set_flags(l->vars, name, VAR_NAMEREF, 0, &unused);
}

static bool load_var(struct loader *l, const json_t *item)
{
    static const unsigned known = VAR_EXPORT | VAR_READONLY | VAR_INTEGER | VAR_LOWER |
                                  VAR_UPPER | VAR_NAMEREF | VAR_INDEXED | VAR_ASSOC |
                                  VAR_DECLARED | VAR_CAPITAL | VAR_TRACED;
    int64_t flags;
    struct str name;
    if (json_array_size(item) != 3 || !take_text(l, json_array_get(item, 0), &name) ||
            !take_number(json_array_get(item, 1), 0, known, &flags))
        return false;
    bool both = flags & VAR_INDEXED && flags & VAR_ASSOC;
    bool is_odd = flags & VAR_NAMEREF && flags & (VAR_INDEXED | VAR_ASSOC);
    if (both || is_odd || !var_name_is_valid(name) || vars_flags(l->vars, name) >= 0 ||
            !load_value(l, name, (unsigned)flags, json_array_get(item, 2)))
        return false;
    vars_mark(l->vars, name, (unsigned)flags & known);
    return true;
}

/* A command that is not supported may have been a function of the shell when this one was
 * defined, whatever has become of it since; what runs it looks for itself. */
static bool may_be_function(void *user UNUSED, struct str name UNUSED)
{
    return true;
}

/* The body of a function whose text stands behind "_() " in `text`: the script must be
 * that one definition. */
static bool define(struct loader *l, struct str name, struct str file, struct str text,
        uint32_t line)
{
    const struct parse_options options = { .extglob = true, .first_line = line };
    struct parse_error unused;
    struct pos where;
    struct script *script;
    if (!parse_script(text, STR("environment"), &options, &script, &unused))
        return false;
    const struct node *n = exec_unwrap(script->root);
    bool good = n && n->type == NODE_FUNCTION &&
                !script_unsupported(script, may_be_function, NULL, &where);
    if (good)
        functions_set(&l->functions, name, script, n->function.body, file);
    script_unref(script);
    return good;
}

static bool load_function(struct loader *l, const json_t *item)
{
    int64_t flags, line;
    struct str name, file, body;
    if (json_array_size(item) != 5 || !take_text(l, json_array_get(item, 0), &name) ||
            !take_number(
                    json_array_get(item, 1), 0, SAVE_READONLY | SAVE_EXPORTED, &flags) ||
            !take_number(json_array_get(item, 2), 0, INT32_MAX, &line) ||
            !take_text(l, json_array_get(item, 3), &file) ||
            !take_text(l, json_array_get(item, 4), &body) || !name.len)
        return false;
    struct str text = str_of(arena_printf(l->arena, "_() %.*s\n", STR_ARG(body)));
    if (!define(l, name, file, text, (uint32_t)line))
        return false;
    struct function *fn = functions_find(l->functions, name);
    fn->is_readonly = flags & SAVE_READONLY;
    fn->is_exported = flags & SAVE_EXPORTED;
    return true;
}

static bool load_traps(struct loader *l)
{
    const json_t *list = json_object_get(l->state, "traps");
    size_t count = json_array_size(list);
    struct str action;
    int64_t which;
    if (!json_is_array(list) || count % 2)
        return bad(l, "traps");
    if (count)
        l->traps = xcalloc(TRAP_COUNT, sizeof(*l->traps));
    for (size_t i = 0; i < count; i += 2) {
        if (!take_number(json_array_get(list, i), 0, TRAP_COUNT - 1, &which) ||
                !take_text(l, json_array_get(list, i + 1), &action) || l->traps[which])
            return bad(l, "traps");
        l->traps[which] = str_copy(action);
    }
    return true;
}

/* What is no list of something else. */
struct loaded {
    struct vpath cwd;
    struct str last_arg;
    int64_t umask, set, shopt, seconds, status;
    int64_t pids[3], random[2], getopts[2];
    bool has_random;
    char **args, **aliases, **dirs;
    size_t arg_count, alias_count, dir_count;
    const json_t *pipe_status;
};

static bool take_named(struct loader *l, const char *key, int64_t most, int64_t *out)
{
    return take_number(json_object_get(l->state, key), 0, most, out) || bad(l, key);
}

static bool take_numbers(
        struct loader *l, const char *key, size_t count, int64_t most, int64_t *out)
{
    const json_t *list = json_object_get(l->state, key);
    if (json_array_size(list) != count)
        return bad(l, key);
    for (size_t i = 0; i < count; i++)
        if (!take_number(json_array_get(list, i), 0, most, &out[i]))
            return bad(l, key);
    return true;
}

/* Twice what can be set: they have gone on since then. */
static bool take_seconds(struct loader *l, int64_t *out)
{
    static const int64_t most = 2 * SHELL_MAX_SECONDS;
    return take_number(json_object_get(l->state, "seconds"), -most, most, out) ||
           bad(l, "seconds");
}

static bool load_numbers(struct loader *l, struct loaded *to)
{
    to->has_random = json_object_get(l->state, "random") != NULL;
    to->pipe_status = json_object_get(l->state, "pipe_status");
    int64_t status;
    if (!json_is_array(to->pipe_status))
        return bad(l, "pipe_status");
    for (size_t i = 0; i < json_array_size(to->pipe_status); i++)
        if (!take_number(json_array_get(to->pipe_status, i), 0, 255, &status))
            return bad(l, "pipe_status");
    return take_named(l, "umask", 0777, &to->umask) &&
           take_named(l, "set", INT64_MAX, &to->set) &&
           take_named(l, "shopt", INT64_MAX, &to->shopt) &&
           take_named(l, "status", 255, &to->status) && take_seconds(l, &to->seconds) &&
           take_numbers(l, "pids", 3, INT32_MAX / 2, to->pids) &&
           take_numbers(l, "getopts", 2, INT32_MAX, to->getopts) &&
           (!to->has_random || take_numbers(l, "random", 2, UINT32_MAX, to->random));
}

static bool is_folder(struct loader *l, struct str text, struct vpath *out)
{
    return str_starts(text, STR("/")) && !vpath_parse(text, VPATH_ROOT, l->arena, out);
}

static bool load_rest(struct loader *l, struct loaded *to)
{
    struct str cwd;
    if (!take_text(l, json_object_get(l->state, "cwd"), &cwd) ||
            !is_folder(l, cwd, &to->cwd))
        return bad(l, "cwd");
    if (!take_text(l, json_object_get(l->state, "last_arg"), &to->last_arg))
        return bad(l, "last_arg");
    if (!take_list(l, "args", &to->args, &to->arg_count) ||
            !take_list(l, "aliases", &to->aliases, &to->alias_count) ||
            !take_list(l, "dirs", &to->dirs, &to->dir_count)) /* of pushd -n: any text */
        return false;
    if (!to->arg_count)
        return bad(l, "args");
    return !(to->alias_count % 2) || bad(l, "aliases");
}

static void install_list(
        char *const *from, size_t count, struct str **items, size_t *n, size_t *cap)
{
    for (size_t i = 0; i < *n; i++)
        free((char *)(uintptr_t)(*items)[i].data);
    for (size_t i = 0; i < count; i++) {
        struct str text = str_of(from[i]);
        GROW(*items, i, *cap);
        (*items)[i] = (struct str){ str_copy(text), text.len };
    }
    *n = count;
}

static void install_status(struct shell *sh, const struct loaded *from)
{
    sh->status = (int)from->status;
    sh->pipe_status_count = 0;
    for (size_t i = 0; i < json_array_size(from->pipe_status); i++) {
        GROW(sh->pipe_status, i, sh->pipe_status_cap);
        sh->pipe_status[i] =
                (int)json_integer_value(json_array_get(from->pipe_status, i));
        sh->pipe_status_count++;
    }
    buf_clear(&sh->last_arg);
    buf_add(&sh->last_arg, from->last_arg);
}

static void install_numbers(struct shell *sh, const struct loaded *from)
{
    vfs_set_umask(sh->vfs, (uint32_t)from->umask);
    sh->set = (uint64_t)from->set & ~(uint64_t)SET_NOEXEC;
    sh->shopt = (uint64_t)from->shopt;
    sh->pid = (int)from->pids[0];
    sh->next_pid = (int)from->pids[1];
    sh->last_background = (int)from->pids[2];
    sh->started_ns = save_clock() - from->seconds * SAVE_SECOND;
    sh->getopts_at = (size_t)from->getopts[0];
    sh->getopts_index = from->getopts[1];
    if (from->has_random) {
        sh->random = (uint32_t)from->random[0];
        sh->last_random = (uint32_t)from->random[1];
        sh->random_pid = sh->pid;
    }
}

static void install(struct shell *sh, struct loader *l, const struct loaded *from)
{
    vars_destroy(sh->vars);
    sh->vars = TAKE(l->vars);
    functions_destroy(sh->functions);
    sh->functions = TAKE(l->functions);
    trap_free(sh);
    sh->traps = TAKE(l->traps);
    free((char *)(uintptr_t)sh->cwd.text.data);
    sh->cwd = from->cwd;
    sh->cwd.text.data = str_copy(from->cwd.text);
    install_numbers(sh, from);
    install_status(sh, from);
    shell_set_args(sh, from->args[0], (int)from->arg_count - 1, from->args + 1);
    install_list(from->aliases, from->alias_count, &sh->aliases, &sh->alias_count,
            &sh->alias_cap);
    install_list(from->dirs, from->dir_count, &sh->dirs, &sh->dir_count, &sh->dir_cap);
    free(TAKE(sh->ifs));
    cond_forget_regex(sh);
}

static void finish(struct loader *l)
{
    vars_destroy(l->vars);
    functions_destroy(l->functions);
    for (size_t i = 0; l->traps && i < TRAP_COUNT; i++)
        free(l->traps[i]);
    free(l->traps);
}

/* `sh` NULL: it is only read. */
static bool load(struct shell *sh, const json_t *state, struct error *err)
{
    auto_arena *arena = arena_create();
    struct loader l = {
        .state = state, .arena = arena, .err = err, .vars = vars_create()
    };
    struct loaded to = { .has_random = false };
    bool good =
            json_integer_value(json_object_get(state, "version")) == SHELL_SAVE_VERSION ||
            bad(&l, "version");
    good = good && load_numbers(&l, &to) && load_rest(&l, &to) &&
           load_each(&l, "vars", load_var) && load_each(&l, "functions", load_function) &&
           load_traps(&l);
    if (good && sh)
        install(sh, &l, &to);
    finish(&l);
    return good;
}

bool shell_load(struct shell *sh, const json_t *state, struct error *err)
{
    return load(sh, state, err);
}

bool load_check(struct str text, struct error *err)
{
    json_auto_t *state = NULL;
    return json_parse(text, &state, err) && load(NULL, state, err);
}
