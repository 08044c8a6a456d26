#include "cli/workspace.h"

#include "base/log.h"
#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/location.h"
#include "cli/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#define MAX_OUTPUT 65536 /* characters of one result of `run` */
#define TIMEOUT_MS 30000

struct workspace_options {
    const struct workspace_face *face;
    const char *workspace; /* NULL: not given */
    const char *only;
    bool debug;
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

static bool set_transport(void *user UNUSED, const char *value, struct error *err)
{
    return !strcmp(value, "stdio") ||
           error_set(err, ERR_UNSUPPORTED,
                   "'%.80s' is not stdio, and there is no other in this build", value);
}

static const struct flag table[] = {
    { "--debug", false, set_debug },
    { "--help", false, NULL },
    { "--tools", true, set_tools },
    { "--transport", true, set_transport },
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

static bool serve(const struct workspace_options *o, struct error *err)
{
    const struct location machine = { SETUP_LOCAL, "/" };
    auto_arena *arena = arena_create();
    struct setup_root root = { .at = STR("/") };
    struct setup setup = { .name = str_of(o->face->name),
        .max_output = MAX_OUTPUT,
        .timeout_ms = TIMEOUT_MS,
        .roots = &root,
        .root_count = 1 };
    const struct serve_config config = {
        .instructions = o->face->instructions,
        .setup = &setup,
        .tools = { .places = o->face->places, .only = o->only, .host_view = true },
    };
    return is_folder(o->workspace, err) && location_open(&machine, arena, &root, err) &&
           serve_stdio(&config, err);
}

int workspace_serve(const struct workspace_face *face, int argc, char **argv)
{
    struct error err = { 0 };
    struct workspace_options options = { .face = face };
    const struct flags flags = { table, ARRAY_LEN(table), set_operand, &options };
    if (flags_has(argc, argv, "--help") || flags_has(argc, argv, "-h")) {
        cli_print(str_of(face->usage));
        return 0;
    }
    if (!flags_read(&flags, argc, argv, &err))
        return cli_fail(face->command, 2, &err);
    if (!options.workspace)
        options.workspace = ".";
    return serve(&options, &err) ? 0 : cli_fail(face->command, 1, &err);
}
