#include "shell/shell.h"

#include "shell/exec.h"
#include "shell/parse.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const char *const initial_variables[][2] = {
    { "IFS", " \t\n" },
    { "OPTERR", "1" },
    { "OPTIND", "1" },
    { "PS4", "+ " },
    { "BASH", "/bin/bash" },
    { "BASH_VERSION", "5.2.15(1)-release" },
    { "SHELL", "/bin/bash" },
    { "HOSTTYPE", "x86_64" },
    { "MACHTYPE", "x86_64-pc-linux-gnu" },
    { "OSTYPE", "linux-gnu" },
    { "HOSTNAME", "localhost" },
    { "PATH", "/usr/local/bin:/usr/bin:/bin" },
};

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int refuse_write(void *user UNUSED, struct str data UNUSED)
{
    return EBADF;
}

static void set_initial(struct shell *sh, const char *name, struct str value, bool export)
{
    struct error err;
    struct str n = str_of(name);
    if (!vars_set(sh->vars, n, value, &err) ||
            (export && !vars_set_flags(sh->vars, n, VAR_EXPORT, 0, &err)))
        assert(!"initial variables are settable");
}

static bool has_variable(struct shell *sh, const char *name)
{
    struct str value;
    return vars_get(sh->vars, str_of(name), &value);
}

static void import_environment(struct shell *sh, const char *const *env)
{
    struct error err;
    for (; env && *env; env++) {
        struct str rest = str_of(*env);
        struct str name = str_cut(&rest, '=');
        if (!var_name_is_valid(name))
            continue;
        if (vars_set(sh->vars, name, rest, &err) &&
                !vars_set_flags(sh->vars, name, VAR_EXPORT, 0, &err))
            continue;
    }
}

static void set_constant(
        struct shell *sh, const char *name, struct str value, unsigned flags)
{
    struct error err;
    set_initial(sh, name, value, false);
    if (!vars_set_flags(sh->vars, str_of(name), VAR_READONLY | flags, 0, &err))
        assert(!"initial variables have attributes");
}

static void set_versions(struct shell *sh)
{
    static const char *const parts[] = { "5", "2", "15", "1", "release",
        "x86_64-pc-linux-gnu" };
    struct str name = STR("BASH_VERSINFO");
    struct error err;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (!vars_set_index(sh->vars, name, (int64_t)i, str_of(parts[i]), &err))
            assert(!"initial variables are settable");
    if (!vars_set_flags(sh->vars, name, VAR_READONLY, 0, &err))
        assert(!"initial variables have attributes");
}

/* SHLVL: one more than that of the shell around this one. */
static void set_level(struct shell *sh)
{
    char text[24];
    int level = 1;
    for (const struct shell *up = sh->parent; up; up = up->parent)
        level += up->is_fresh;
    snprintf(text, sizeof(text), "%d", level);
    set_initial(sh, "SHLVL", str_of(text), false);
}

static void init_variables(struct shell *sh, const struct shell_options *options)
{
    import_environment(sh, options->env);
    for (size_t i = 0; i < ARRAY_LEN(initial_variables); i++)
        if (!has_variable(sh, initial_variables[i][0]))
            set_initial(
                    sh, initial_variables[i][0], str_of(initial_variables[i][1]), false);
    if (!has_variable(sh, "HOME"))
        set_initial(sh, "HOME", STR("/"), true);
    set_initial(sh, "PWD", sh->cwd.text, true);
    char uid[16];
    snprintf(uid, sizeof(uid), "%u", (unsigned)getuid());
    set_constant(sh, "UID", str_of(uid), VAR_INTEGER);
    set_constant(sh, "EUID", str_of(uid), VAR_INTEGER);
    set_versions(sh);
    set_level(sh);
}

static struct str copy_text(struct str s)
{
    return (struct str){ str_copy(s), s.len };
}

static void free_text(struct str s)
{
    free((char *)(uintptr_t)s.data);
}

struct shell *shell_create(const struct shell_options *options)
{
    struct shell *sh = xcalloc(1, sizeof(*sh));
    sh->vfs = options->vfs;
    sh->name = options->name ? options->name : "mcpath";
    sh->programs = options->programs;
    sh->elsewhere = options->elsewhere;
    sh->first_env = options->env;
    sh->sched = sched_create(NULL);
    sh->session = sh;
    sh->is_fresh = true;
    sh->stage_depth = UINT_MAX;
    sh->vars = vars_create();
    sh->arena = arena_create();
    sh->cwd = options->cwd;
    sh->cwd.text = copy_text(options->cwd.text);
    sh->set = SET_BRACEEXPAND;
    sh->closed = stream_sink(refuse_write, NULL);
    sh->last_arg = BUF(SIZE_MAX / 4);
    sh->started_ns = now_ns();
    sh->pid = getpid();
    sh->next_pid = sh->pid;
    shell_set_args(sh, sh->name, 0, NULL);
    init_variables(sh, options);
    return sh;
}

static void release(struct shell *sh)
{
    for (int i = 0; i < sh->fd_top; i++)
        stream_unref(sh->fds[i]);
    trap_free(sh);
    vars_destroy(sh->vars);
    functions_destroy(sh->functions);
    for (size_t i = 0; i < sh->alias_count; i++)
        free_text(sh->aliases[i]);
    free(sh->aliases);
    for (size_t i = 0; i < sh->dir_count; i++)
        free_text(sh->dirs[i]);
    free(sh->dirs);
    free_text(sh->cwd.text);
    args_unref(sh->arg_block);
    free(sh->pipe_status);
    buf_finish(&sh->last_arg);
    buf_finish(&sh->spare_text);
    buf_finish(&sh->spare_marks);
    free(sh->ifs);
    cond_forget_regex(sh);
    script_unref(sh->script);
    arena_destroy(sh->arena);
    stream_unref(sh->closed);
    free(sh);
}

void shell_destroy(struct shell *sh)
{
    if (!sh)
        return;
    struct sched *sched = sh->sched;
    release(sh);
    sched_destroy(sched);
}

static void copy_list(struct str **items, size_t count, size_t *cap)
{
    const struct str *old = *items;
    *items = NULL;
    *cap = 0;
    for (size_t i = 0; i < count; i++) {
        GROW(*items, i, *cap);
        (*items)[i] = copy_text(old[i]);
    }
}

/* The parts of `sub`, a plain copy of its parent, that must be its own. */
static void own_copies(struct shell *sub)
{
    for (int i = 0; i < sub->fd_top; i++)
        if (sub->fds[i])
            stream_ref(sub->fds[i]);
    stream_ref(sub->closed);
    sub->vars = vars_fork(sub->vars);
    sub->functions = functions_fork(sub->functions);
    sub->cwd.text = copy_text(sub->cwd.text);
    sub->arg_block->refs++;
    if (sub->script)
        script_ref(sub->script);
    sub->arena = arena_create();
    struct str last_arg = buf_str(&sub->last_arg);
    sub->last_arg = BUF(SIZE_MAX / 4);
    buf_add(&sub->last_arg, last_arg);
    copy_list(&sub->aliases, sub->alias_count, &sub->alias_cap);
    copy_list(&sub->dirs, sub->dir_count, &sub->dir_cap);
}

struct shell *shell_fork(struct shell *sh)
{
    struct shell *sub = xmalloc(sizeof(*sub));
    *sub = *sh;
    sub->parent = sh;
    sub->is_fresh = false;
    sub->pending = 0;
    sub->stage_depth = UINT_MAX;
    sub->pid = ++sh->session->next_pid;
    own_copies(sub);
    int *statuses = sh->pipe_status;
    sub->pipe_status = NULL;
    sub->pipe_status_cap = 0;
    for (size_t i = 0; i < sh->pipe_status_count; i++) {
        GROW(sub->pipe_status, i, sub->pipe_status_cap);
        sub->pipe_status[i] = statuses[i];
    }
    trap_fork(sub);
    sub->depth++;
    sub->loop_depth = 0;
    sub->jobs = NULL;
    sub->substitutions = sub->lingering = NULL;
    sub->keep_redirects = false;
    sub->arg_assigns = NULL;
    sub->spare_text = sub->spare_marks = BUF(0);
    sub->ifs = NULL;
    sub->last_regex = NULL;
    sub->changed_umask = false;
    return sub;
}

/* Only what a process hands on to a program: exported variables. */
static struct vars *exported_alone(struct shell *sh)
{
    struct vars *from = sh->vars, *to = vars_create();
    struct str *names, value;
    size_t count;
    struct error err;
    vars_names(from, STR(""), sh->arena, &names, &count);
    for (size_t i = 0; i < count; i++)
        if (vars_flags(from, names[i]) & VAR_EXPORT && vars_get(from, names[i], &value) &&
                vars_set(to, names[i], value, &err) &&
                !vars_set_flags(to, names[i], VAR_EXPORT, 0, &err))
            assert(!"a name that was exported can be");
    return to;
}

static void forget_list(struct str *items, size_t *count)
{
    while (*count)
        free_text(items[--*count]);
}

struct shell *shell_fork_fresh(struct shell *sh, const char *name)
{
    struct shell *sub = shell_fork(sh);
    struct vars *vars = exported_alone(sub);
    vars_destroy(sub->vars);
    sub->vars = vars;
    sub->base_scope = vars_depth(vars);
    struct functions *functions = functions_exported(sub->functions);
    functions_destroy(sub->functions);
    sub->functions = functions;
    forget_list(sub->aliases, &sub->alias_count);
    forget_list(sub->dirs, &sub->dir_count);
    script_unref(sub->script);
    sub->script = NULL;
    sub->frame = NULL;
    sub->is_fresh = true;
    sub->name = name;
    sub->command_text = STR("");
    sub->set = SET_BRACEEXPAND;
    sub->shopt = 0;
    sub->status = 0;
    sub->pipe_status_count = 0;
    sub->line = 0;
    sub->errexit_off = sub->trap_mask = 0;
    sub->in_trap = false;
    sub->trace_level = 0;
    sub->getopts_at = 0;
    sub->getopts_index = 0;
    sub->flow = FLOW_NONE;
    sub->called_exit = false;
    sub->started_ns = now_ns();
    const struct shell_options nothing = { .cwd = sub->cwd };
    init_variables(sub, &nothing);
    return sub;
}

void shell_free(struct shell *sub)
{
    if (sub && sub->changed_umask)
        vfs_set_umask(sub->vfs, sub->outer_umask);
    if (sub)
        release(sub);
}

void shell_set_fd(struct shell *sh, int fd, struct stream *s)
{
    stream_unref(sh->fds[fd]);
    sh->fds[fd] = s;
    if (s && fd >= sh->fd_top)
        sh->fd_top = fd + 1;
    while (sh->fd_top && !sh->fds[sh->fd_top - 1])
        sh->fd_top--;
}

struct vpath shell_cwd(const struct shell *sh)
{
    return sh->cwd;
}

void shell_err(struct shell *sh, const char *fmt, ...)
{
    auto_buf text = BUF(1 << 20);
    buf_addf(&text, "%s: ", sh->name);
    char *message = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&message, fmt, ap);
    va_end(ap);
    if (n >= 0)
        buf_add(&text, str_of(message));
    free(message);
    buf_addc(&text, '\n');
    struct stream *err = shell_fd(sh, 2);
    if (stream_write(err, buf_str(&text)))
        stream_flush(err);
}

bool shell_exit(struct shell *sh, int status)
{
    sh->status = status;
    if (sh->flow == FLOW_NONE)
        sh->flow = FLOW_EXIT;
    return false;
}

bool shell_discard(struct shell *sh, int status)
{
    sh->status = status;
    if (sh->flow == FLOW_NONE)
        sh->flow = FLOW_DISCARD;
    return false;
}

static bool find_alias(void *user, struct str name, struct str *text)
{
    struct shell *sh = user;
    for (size_t i = 0; i < sh->alias_count; i += 2)
        if (str_eq(sh->aliases[i], name)) {
            *text = sh->aliases[i + 1];
            return true;
        }
    return false;
}

static bool has_function(void *user, struct str name)
{
    const struct shell *sh = user;
    return functions_find(sh->functions, name);
}

bool exec_parse(struct shell *sh, struct str text, struct str name, uint32_t first_line,
        struct script **out)
{
    struct parse_options options = {
        .extglob = true, /* `shopt -s` may come later in the text */
        .alias = sh->shopt & SHOPT_EXPAND_ALIASES ? find_alias : NULL,
        .alias_user = sh,
        .first_line = first_line,
    };
    struct parse_error err;
    if (!parse_script(text, name, &options, out, &err)) {
        shell_err(
                sh, "line %u, column %u: %s", err.pos.line, err.pos.column, err.message);
        sh->status = 2;
        return false;
    }
    struct pos where;
    const char *construct = script_unsupported(*out, has_function, sh, &where);
    if (!construct)
        return true;
    shell_err(sh, "line %u, column %u: %s: not supported here; nothing was run",
            where.line, where.column, construct);
    script_unref(*out);
    sh->status = 2;
    return false;
}

static int limit_status(const struct shell *sh)
{
    switch (sh->budget->stop) {
    case BUDGET_TIME:
        return 124;
    case BUDGET_CANCELLED:
        return 130;
    case BUDGET_OK:
    case BUDGET_STEPS:
    case BUDGET_OUTPUT:
    case BUDGET_MEMORY:
    case BUDGET_HEAP:
    case BUDGET_DEPTH:
    case BUDGET_TASKS:
        break;
    }
    return 126;
}

static void report_limit(struct shell *sh)
{
    char text[256];
    budget_spend(sh->budget, 0); /* takes over what the alarm said */
    budget_describe(sh->budget, text, sizeof(text));
    stream_clear_error(shell_fd(sh, 2));
    shell_err(sh, "%s", text);
    sh->status = limit_status(sh);
}

/* Is there a newline of the script between two commands of its outermost list? */
static bool on_next_line(const struct node *a, const struct node *b)
{
    const char *end = a->source.data + a->source.len;
    return b->source.data > end && memchr(end, '\n', (size_t)(b->source.data - end));
}

/* Where line `line` begins in a text whose first line is `first`. */
static size_t line_start(struct str text, uint32_t first, uint32_t line)
{
    size_t at = 0;
    for (; first < line && at < text.len; first++) {
        const char *end = memchr(text.data + at, '\n', text.len - at);
        at = end ? (size_t)(end - text.data) + 1 : text.len;
    }
    return at;
}

/* Does nothing but blanks stand before it in its line? */
static bool begins_line(struct str text, uint32_t first, struct pos pos)
{
    size_t at = line_start(text, first, pos.line);
    for (size_t i = at; i < text.len && i + 1 < at + pos.column; i++)
        if (text.data[i] != ' ' && text.data[i] != '\t')
            return false;
    return true;
}

/* The commands of the outermost list up to where aliases have changed before a line;
 * returns that line, or 0.  A line that was given up does not end the list. */
static uint32_t run_items(struct shell *sh, const struct script *script, uint32_t first)
{
    const struct node *root = script->root;
    struct node *const *items = &root->sequence.items[0];
    size_t count = root->sequence.count;
    unsigned changes = sh->alias_changes;
    for (size_t i = 0; i < count && !shell_is_ending(sh); i++) {
        exec_node(sh, items[i]);
        bool ends = (sh->set & SET_ERREXIT) && !sh->is_miscalculated;
        if (sh->flow == FLOW_DISCARD && !ends) {
            sh->flow = FLOW_NONE;
            while (i + 1 < count && !on_next_line(items[i], items[i + 1]))
                i++;
        }
        bool again = sh->alias_changes != changes && (sh->shopt & SHOPT_EXPAND_ALIASES);
        if (again && i + 1 < count && begins_line(script->text, first, items[i + 1]->pos))
            return items[i + 1]->pos.line;
    }
    return 0;
}

/* The outermost list.  When aliases have changed the lines that follow are read again. */
static void run_lines(struct shell *sh, struct script *script)
{
    struct script *current = script_ref(script);
    uint32_t first = 1, line;
    while (current->root && current->root->type == NODE_SEQUENCE &&
            (line = run_items(sh, current, first)) && !shell_is_ending(sh)) {
        struct str rest = str_from(current->text, line_start(current->text, first, line));
        struct script *next;
        if (!exec_parse(sh, rest, current->name, line, &next))
            break;
        script_unref(current);
        sh->script = current = next;
        first = line;
    }
    if (current->root && current->root->type != NODE_SEQUENCE)
        exec_node(sh, current->root);
    sh->script = script;
    script_unref(current);
}

/* What BASH_SOURCE says of functions that were defined outside any file. */
static const struct str no_file = STR("environment");

static void run_script(struct shell *sh, struct script *script, struct str file)
{
    struct frame top = { .function = STR("main"),
        .file = file.len ? file : no_file,
        .is_file = file.len > 0 };
    struct arena_mark mark = arena_mark(sh->arena);
    sh->frame = &top;
    sh->script = script;
    run_lines(sh, script);
    exec_end_subshell(sh);
    sh->frame = NULL;
    sh->script = NULL;
    arena_rewind(sh->arena, mark);
}

int exec_main(struct shell *sh, struct str text, struct str name, struct str file)
{
    struct script *script;
    if (!exec_enter(sh))
        return sh->status;
    if (exec_parse(sh, text, name, 1, &script)) {
        run_script(sh, script, file);
        script_unref(script);
    }
    jobs_close(sh);
    exec_leave(sh);
    return sh->status;
}

/* What must not leak from one run into the next, whatever ended it. */
static void reset_after_run(struct shell *sh)
{
    for (int i = 0; i < 3; i++)
        shell_set_fd(sh, i, NULL);
    sh->flow = FLOW_NONE;
    sh->called_exit = sh->in_trap = sh->keep_redirects = false;
    sh->loop_depth = 0;
    sh->set &= ~(uint64_t)SET_NOEXEC; /* nothing could ever take it back */
    sh->depth = sh->errexit_off = sh->trap_mask = 0;
    sh->pending = 0;
    while (vars_depth(sh->vars) > sh->base_scope)
        vars_pop(sh->vars);
}

int shell_run(struct shell *sh, struct str text, const struct shell_limits *limits,
        volatile sig_atomic_t *alarm, struct stream *in, struct stream *out,
        struct stream *err, bool *exited)
{
    struct budget budget = { .steps = limits->max_steps,
        .max_steps = limits->max_steps,
        .max_memory = limits->max_memory,
        .max_depth = limits->max_depth,
        .timeout_ms = limits->timeout_ms,
        .alarm = alarm };
    sh->budget = &budget;
    sched_set_budget(sh->sched, &budget);
    vfs_set_budget(sh->vfs, &budget);
    sh->base_scope = vars_depth(sh->vars);
    shell_set_fd(sh, 0, stream_ref(in));
    shell_set_fd(sh, 1, stream_ref(out));
    shell_set_fd(sh, 2, stream_ref(err));

    struct script *script = NULL;
    if (exec_parse(sh, text, str_of(sh->name), 1, &script)) {
        run_script(sh, script, STR(""));
        script_unref(script);
    }
    if (budget_stopped(&budget))
        report_limit(sh);
    *exited = sh->called_exit;
    jobs_close(sh);
    stream_flush(out);
    stream_flush(err);
    reset_after_run(sh);
    sh->budget = NULL;
    sched_set_budget(sh->sched, NULL);
    vfs_set_budget(sh->vfs, NULL);
    return sh->status;
}
