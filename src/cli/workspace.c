#include "cli/workspace.h"

#include "base/log.h"
#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/http-options.h"
#include "cli/location.h"
#include "cli/serve.h"
#include "policy/config/config.h"
#include "policy/log/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_OUTPUT 30000 /* characters of one result of `run` */

struct workspace_options {
    const struct workspace_face *face;
    const char *workspace; /* NULL: not given */
    const char *only;
    bool debug, no_install;
    struct http_options http;
};

static bool set_workspace(void *user, const char *value, struct error *err)
{
    struct workspace_options *o = user;
    if (o->workspace)
        return error_set(err, ERR_INVALID,
                "one workspace can be served, and '%.200s' is a second one", value);
    o->workspace = value;
    return *value || error_set(err, ERR_INVALID, "the workspace cannot be empty");
}

static bool set_operand(void *user, const char *value, struct error *err)
{
    const struct workspace_options *o = user;
    if (o->face->takes_operand)
        return set_workspace(user, value, err);
    return error_set(err, ERR_INVALID, "unexpected '%.200s'; see --help", value);
}

static bool set_tools(void *user, const char *value, struct error *err UNUSED)
{
    struct workspace_options *o = user;
    o->only = value;
    return true;
}

static bool set_debug(void *user, const char *unused UNUSED, struct error *err UNUSED)
{
    struct workspace_options *o = user;
    o->debug = true;
    return true;
}

static bool set_no_install(
        void *user, const char *unused UNUSED, struct error *err UNUSED)
{
    struct workspace_options *o = user;
    o->no_install = true;
    return true;
}

static const struct flag table[] = {
    { "--debug", false, set_debug },
    { "--help", false, NULL },
    { "--no-install", false, set_no_install },
    { "--tools", true, set_tools },
    { "--workspace", true, set_workspace },
};

static bool is_folder(const char *path, struct error *err)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return error_errno(err, errno, "cannot serve the workspace '%s'", path);
    return S_ISDIR(st.st_mode) ||
           error_set(err, ERR_INVALID, "the workspace '%s' is not a folder", path);
}

static int open_folder(int at, const char *name)
{
    if (mkdirat(at, name, 0777) < 0 && errno != EEXIST)
        return -1;
    return openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* A workspace that cannot be written has none, and needs none. */
static void create_temporary_folder(const char *workspace)
{
    auto_fd int root = open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
    auto_fd int folder = root < 0 ? -1 : open_folder(root, ".pyddock");
    auto_fd int tmp = folder < 0 ? -1 : open_folder(folder, "tmp");
    if (tmp < 0)
        log_line(LOG_WARN, "cannot create '%s/.pyddock/tmp': %s", workspace,
                strerror(errno));
}

static void report_warnings(const struct policy *policy)
{
    for (size_t i = 0; i < policy->warnings.count; i++) {
        const struct policy_text *one = &policy->warnings.items[i];
        log_line(LOG_WARN, "%s:%u: %.*s", one->origin.file, one->origin.line,
                STR_ARG(one->text));
    }
}

bool workspace_open(const struct workspace_request *request, struct arena *arena,
        struct workspace *w, struct error *err)
{
    const struct config_request config = {
        .workspace = request->folder, .file = request->config, .home = getenv("HOME")
    };
    const struct location machine = { SETUP_LOCAL, "/" };
    *w = (struct workspace){ .audit = NULL };
    if (!is_folder(request->folder, err) || !config_load(&config, arena, &w->policy, err))
        return false;
    peer_definitions_load(w->policy, config.home, environ, arena, &w->servers);
    report_warnings(w->policy);
    create_temporary_folder(arena_cstr(arena, w->policy->workspace_real));
    w->paths = path_policy_create(w->policy, arena);
    w->commands = command_policy_create(w->policy, w->paths, environ, arena);
    w->root.at = STR("/");
    return location_open(&machine, arena, &w->root, err) &&
           audit_open(w->policy, request->debug, &w->audit, err);
}

static bool serve_workspace(const struct workspace_options *o, struct error *err)
{
    auto_arena *arena = arena_create();
    const struct workspace_request request = { o->workspace, NULL, o->debug };
    struct workspace w;
    if (!workspace_open(&request, arena, &w, err))
        return false;
    bool adds_shell = w.policy->tools.run && !(o->face->places & TOOL_IN_SHELL);
    const struct setup setup = { .name = str_of(o->face->name),
        .max_output = MAX_OUTPUT,
        .timeout_ms = w.policy->timeout_ms,
        .roots = &w.root,
        .root_count = 1,
        .paths = w.paths,
        .events = audit_wants_events(w.audit),
        .hashes = w.audit && w.policy->audit_log.path.len,
        .programs = w.policy->has_shell && (!o->only || strstr(o->only, "run_shell")) };
    const struct interpreter_request python = { .name = o->face->name,
        .policy = w.policy,
        .paths = w.paths,
        .commands = w.commands,
        .audit = w.audit,
        .hashes = setup.hashes,
        .installs = !o->no_install };
    const struct serve_config config = {
        .instructions = o->face->instructions,
        .setup = &setup,
        .tools = { .places = o->face->places | (adds_shell ? TOOL_IN_SHELL : 0),
                .without = adds_shell ? "edit" : NULL,
                .only = o->only,
                .host_view = true,
                .policy = w.policy,
                .servers = &w.servers },
        .paths = w.paths,
        .commands = w.commands,
        .python = &python,
        .audit = w.audit,
        .http = o->http.wanted ? &o->http : NULL,
    };
    bool served = serve(&config, err);
    audit_close(w.audit);
    return served;
}

int workspace_serve(const struct workspace_face *face, int argc, char **argv)
{
    struct error err = { 0 };
    struct workspace_options options = { .face = face };
    auto_arena *arena = arena_create();
    http_options_init(&options.http, argc, arena);
    const struct flags http = http_options_flags(&options.http);
    const struct flags flags = { table, ARRAY_LEN(table), set_operand, &options, &http };
    if (flags_has(argc, argv, "--help") || flags_has(argc, argv, "-h")) {
        cli_print(str_of(face->usage));
        return 0;
    }
    if (!flags_read(&flags, argc, argv, &err) || !http_options_check(&options.http, &err))
        return cli_fail(face->command, 2, &err);
    if (!options.workspace)
        options.workspace = ".";
    return serve_workspace(&options, &err) ? 0 : cli_fail(face->command, 1, &err);
}
