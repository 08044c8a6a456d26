/*
 * From start to end: ask the interpreter what it has (unless the stamp knows), look at
 * what is missing, take the lock, make the environment, install one after the other,
 * write the stamp.  Each step that starts a process goes on in on_command_done().
 */
#include "session/packages-parts.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOCK_MS      500 /* between two looks at a lock that somebody has */
#define KEEP_BYTES   ((size_t)1 << 16)
#define MAX_ARGS     12
#define MAX_WRITABLE 3

static const char question[] =
        "import sys, json, importlib.util as u\n"
        "print(json.dumps({'version': '%d.%d' % sys.version_info[:2],"
        " 'stdlib': sorted(sys.stdlib_module_names),"
        " 'venv': bool(u.find_spec('venv')),"
        " 'ensurepip': bool(u.find_spec('ensurepip'))}))";

static void tell_changed(struct packages *p)
{
    if (p->config.changed)
        p->config.changed(p->config.user);
}

static void tell(struct packages *p, struct str line)
{
    if (p->config.progress)
        p->config.progress(p->config.user, line);
}

static void set_doing(struct packages *p, const char *fmt, ...) PRINTF(2, 3);
static void set_doing(struct packages *p, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    buf_clear(&p->doing);
    buf_addf(&p->doing, "%s", text);
    tell(p, buf_str(&p->doing));
}

/* Call those whose package is not being installed any more; they may wait again. */
static void wake(struct packages *p)
{
    struct packages_wait **at = &p->waits;
    while (*at) {
        struct packages_wait *wait = *at;
        if (wait->package->state == PACKAGE_INSTALLING) {
            at = &wait->next;
            continue;
        }
        const struct packages_wait call = *wait;
        *at = wait->next;
        free(wait);
        call.done(call.user);
        at = &p->waits;
    }
}

static void tell_failures(struct packages *p)
{
    for (size_t i = 0; i < p->count; i++) {
        struct package *one = &p->items[i];
        if (one->state == PACKAGE_FAILED && !one->is_told)
            tell(p, buf_str(&one->why));
        one->is_told = true;
    }
}

static void write_stamp(struct packages *p)
{
    struct error err;
    bool whole = !p->is_partial;
    const json_t *before = json_object_get(p->stamp, "workspace");
    json_auto_t *workspace =
            p->is_partial && before ? json_deep_copy(before) : json_object();
    for (size_t i = 0; i < p->count; i++) {
        const struct package *one = &p->items[i];
        const char *name = arena_cstr(p->arena, one->import->name);
        whole = whole && one->state != PACKAGE_FAILED;
        if (package_is_workspace(one))
            json_object_set_new(workspace, name,
                    json_string(one->state == PACKAGE_READY ? one->hash : ""));
    }
    json_auto_t *stamp = json_pack("{s:o, s:o, s:s, s:O, s:o, s:O}", "interpreter",
            json_text(p->python.identity), "venv_created",
            json_text(venv_identity(p->places.venv, p->arena)), "allowlist_hash",
            whole ? p->allowlist : "", "workspace", workspace, "version",
            json_text(p->python.version), "stdlib", p->python.stdlib);
    if (!stamp_write(p->places.folder, stamp, &err))
        log_line(LOG_WARN, "%s", err.message);
}

static void finish(struct packages *p)
{
    if (p->places.folder && p->python.stdlib)
        write_stamp(p);
    close_fd(&p->lock);
    p->is_busy = false;
    p->current = NULL;
    buf_clear(&p->doing);
    tell_failures(p);
    if (p->plan_count)
        tell(p, p->done_count == p->plan_count ? STR("packages are ready")
                                               : STR("some packages are missing"));
    if (packages_update_paths(p))
        tell_changed(p);
    wake(p);
}

/* What all of them need is not there. */
static void give_up(struct packages *p, const char *why)
{
    for (size_t i = 0; i < p->count; i++) {
        if (p->items[i].state != PACKAGE_INSTALLING)
            continue;
        package_fail(&p->items[i], "%s", why);
        p->items[i].is_told = true;
    }
    tell(p, str_of(why));
    finish(p);
}

static void on_command_done(void *user, const struct command_result *result)
{
    struct packages *p = user;
    p->command = NULL;
    p->next(p, result);
}

static bool has_succeeded(const struct command_result *result)
{
    return result->end == COMMAND_EXITED && WIFEXITED(result->status) &&
           !WEXITSTATUS(result->status);
}

/* What pip is told to use may lie in a folder that is private otherwise.  A package may
 * be the workspace itself, but the policy is none of its business. */
static const struct view_path *list_paths(
        struct packages *p, const char *const writable[MAX_WRITABLE], size_t *count)
{
    const char *const *files = pip_files(p->env, p->arena);
    const char *workspace = arena_cstr(p->arena, p->config.policy->workspace_real);
    size_t room = MAX_WRITABLE + 2;
    for (size_t i = 0; files[i]; i++)
        room++;
    struct view_path *paths = arena_alloc(p->arena, room * sizeof(*paths));
    *count = 0;
    for (; *files; files++)
        paths[(*count)++] = (struct view_path){ VIEW_VISIBLE, *files };
    paths[(*count)++] = (struct view_path){ VIEW_VISIBLE, workspace };
    if (p->places.folder)
        paths[(*count)++] = (struct view_path){ VIEW_READ_ONLY, p->places.folder };
    for (size_t i = 0; i < MAX_WRITABLE; i++)
        if (writable[i])
            paths[(*count)++] = (struct view_path){ VIEW_WRITABLE, writable[i] };
    return paths;
}

/* argv[0] is the program; `writable` are real paths, NULL for none. */
static void run(struct packages *p, const char *const *argv,
        const char *const writable[MAX_WRITABLE], bool network, step_fn *next)
{
    struct error err;
    size_t count;
    const struct view_path *paths = list_paths(p, writable, &count);
    const struct command_spec spec = { .launcher = p->config.launcher,
        .program = argv[0],
        .argv = argv,
        .env = p->env,
        /* Python may import from its folder, so it is none where agents write. */
        .cwd = p->places.folder ? p->places.folder : "/",
        .sandboxed = true,
        .network = network,
        .paths = paths,
        .path_count = count,
        .timeout_ms = PACKAGES_STEP_MS,
        .keep_bytes = KEEP_BYTES,
        .keep_tail_bytes = KEEP_BYTES };
    p->next = next;
    if (command_start(p->config.loop, &spec, on_command_done, p, &p->command, &err))
        p->started++;
    else
        give_up(p, err.message);
}

static void install_next(struct packages *p);
static void proceed(struct packages *p);

static void set_mark(const struct packages *p)
{
    auto_fd int fd UNUSED = open(
            venv_mark(p), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
}

/* By now the source may lie elsewhere, so it is looked for and not remembered. */
static void check_installed(struct packages *p, struct package *one)
{
    auto_arena *arena = arena_create();
    struct str name = one->import->name, source;
    if (package_is_workspace(one) && !packages_source(p, one, arena, &source))
        package_fail(one, "there is no module '%.*s' in '%s', nor in src/ there",
                STR_ARG(name), one->folder);
    else if (!package_is_workspace(one) && !packages_have_module(p, name, true))
        package_fail(one,
                "what pip has installed has no module of this name; write %.*s = \"NAME "
                "OF THE PACKAGE\" if that differs from the module's",
                STR_ARG(name));
    else
        one->state = PACKAGE_READY;
}

static void on_installed(struct packages *p, const struct command_result *result)
{
    struct package *one = p->current;
    bool done = has_succeeded(result);
    p->was_killed =
            p->was_killed || result->end != COMMAND_EXITED || WIFSIGNALED(result->status);
    if (!p->was_killed)
        unlink(venv_mark(p));
    if (!done && !p->trouble.len)
        explain_failure(result, &p->trouble);
    /* Offline, what builds it may be had from the system. */
    if (!done && package_is_workspace(one) && !p->in_one_place &&
            result->end == COMMAND_EXITED) {
        p->in_one_place = true;
        install_next(p);
        return;
    }
    if (done)
        check_installed(p, one);
    else
        package_fail(one, "pip: %s", p->trouble.data);
    p->done_count += one->state == PACKAGE_READY;
    tell_failures(p);
    p->current = NULL;
    if (packages_update_paths(p) || done)
        tell_changed(p);
    wake(p);
    install_next(p);
}

/* Those that are installed are named again, so that they stay what fits together. */
static void install(struct packages *p, const struct package *one)
{
    char real[PATH_MAX];
    const char *python = arena_printf(p->arena, "%s/bin/python", p->places.venv);
    const char **argv = arena_zalloc(p->arena, (p->count + MAX_ARGS) * sizeof(*argv));
    const char *const head[] = { python, "-I", "-B", "-m", "pip", "install" };
    size_t n = ARRAY_LEN(head);
    memcpy(argv, head, sizeof(head));
    const char *folder = NULL;
    if (package_is_workspace(one)) {
        folder = realpath(one->folder, real) ? real : one->folder;
        if (p->in_one_place)
            argv[n++] = "--no-build-isolation";
        argv[n++] = "-e";
        argv[n++] = folder;
    }
    for (size_t i = 0; !folder && i < p->count; i++)
        if (&p->items[i] == one || package_is_installed(p, &p->items[i]))
            argv[n++] = arena_cstr(p->arena, package_requirement(&p->items[i]));
    const char *const writable[MAX_WRITABLE] = { p->places.venv,
        pip_cache(p->env, p->arena), folder };
    set_mark(p);
    if (mkdir(p->places.tmp, 0700) && errno != EEXIST)
        log_line(LOG_WARN, "cannot make '%s': %s", p->places.tmp, strerror(errno));
    run(p, argv, writable, true, on_installed);
    if (!p->command)
        unlink(venv_mark(p)); /* nothing was started */
}

static void install_next(struct packages *p)
{
    if (!p->current) {
        p->in_one_place = false;
        buf_clear(&p->trouble);
        for (size_t i = 0; !p->current && i < p->count; i++)
            if (p->items[i].state == PACKAGE_INSTALLING)
                p->current = &p->items[i];
        if (!p->current) {
            finish(p);
            return;
        }
        set_doing(p, "installing %.*s (%zu of %zu)", STR_ARG(p->current->import->name),
                ++p->tried_count, p->plan_count);
    }
    install(p, p->current);
}

static void on_venv_made(struct packages *p, const struct command_result *result)
{
    auto_buf why = BUF(PACKAGES_TEXT);
    p->is_suspect = false;
    if (has_succeeded(result) && venv_is_usable(p)) {
        install_next(p);
        return;
    }
    buf_addf(&why, "'%s' could not be made: ", p->places.venv);
    explain_failure(result, &why);
    give_up(p, why.data);
}

static bool interpreter_can(const struct packages *p, const char *what)
{
    return !p->answer || json_is_true(json_object_get(p->answer, what));
}

static void make_venv(struct packages *p)
{
    bool bring_pip = !packages_system_has_pip();
    const char *argv[] = { p->python.program, "-I", "-m", "venv", "--clear",
        "--system-site-packages", p->places.venv, bring_pip ? NULL : "--without-pip",
        NULL };
    const char *const writable[MAX_WRITABLE] = { p->places.venv };
    struct stat st;
    if (venv_is_usable(p)) {
        install_next(p);
    } else if (!interpreter_can(p, "venv") ||
               (bring_pip && !interpreter_can(p, "ensurepip"))) {
        give_up(p, arena_printf(p->arena,
                           "'%s' has no pip to install with: install Debian's "
                           "python3-venv, or what it is called here, and start again",
                           p->python.program));
    } else if (mkdir(p->places.venv, 0777) &&
               (lstat(p->places.venv, &st) || !S_ISDIR(st.st_mode))) {
        give_up(p,
                arena_printf(p->arena, "'%s' is no folder (links are not followed there)",
                        p->places.venv));
    } else {
        set_doing(p, "making %s", p->places.venv);
        run(p, argv, writable, false, on_venv_made);
    }
}

static void on_timer(uv_timer_t *timer)
{
    proceed(timer->data);
}

static void wait_for_lock(struct packages *p)
{
    if (!p->has_waited)
        set_doing(p, "another server of this workspace is installing packages");
    p->has_waited = true;
    uv_timer_start(&p->timer, on_timer, LOCK_MS, 0);
}

static void proceed(struct packages *p)
{
    struct error err;
    if (p->has_waited)
        packages_load_stamp(p);
    p->plan_count = packages_plan(p);
    if (!p->plan_count)
        finish(p);
    else if (!p->places.folder)
        give_up(p, "'.pyddock' is not there, or is a link, which is not followed");
    else if (lock_take(p->places.folder, &p->lock, &err))
        make_venv(p);
    else if (err.code == ERR_EXISTS)
        wait_for_lock(p);
    else
        give_up(p, err.message);
}

static void on_answer(struct packages *p, const struct command_result *result)
{
    struct error err;
    auto_buf why = BUF(PACKAGES_TEXT);
    if (has_succeeded(result) && json_parse(result->out.head, &p->answer, &err)) {
        packages_set_python(p, p->answer);
        proceed(p);
        return;
    }
    buf_addf(&why, "'%s' does not say what it has: ", p->python.program);
    explain_failure(result, &why);
    give_up(p, why.data);
}

void packages_begin(struct packages *p)
{
    const char *const argv[] = { p->python.program, "-I", "-S", "-c", question, NULL };
    static const char *const nothing[MAX_WRITABLE];
    buf_addf(&p->doing, "looking for what is missing");
    if (p->python.stdlib)
        proceed(p);
    else if (!p->python.identity.len)
        give_up(p, arena_printf(p->arena, "there is no '%s'", p->python.program));
    else
        run(p, argv, nothing, false, on_answer);
}
