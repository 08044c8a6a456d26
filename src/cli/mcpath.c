#include "cli/cli.h"
#include "cli/options.h"
#include "cli/serve.h"
#include "tool/extension.h"

static const char usage[] =
        "usage: mcpath [ROOT] [OPTION]...\n"
        "Serve the folder ROOT (default: the current one) over MCP, as a virtual "
        "bash-like\n"
        "shell and a tool for exact edits. ROOT may also be memory://NAME.\n"
        "\n"
        "  --read-only        refuse every change; the edit tool is not offered\n"
        "  --deny PATTERN     hide names that match, beside .git, .env, .env.*, *.pem,\n"
        "                     *.key, .pyddock (may be repeated)\n"
        "  --max-output N     characters of one result (default 30000, also for 0)\n"
        "  --mount NAME=URL   another folder or memory:// at /mnt/NAME (may be "
        "repeated)\n"
        "  --timeout S        seconds that one call may take (default 55)\n"
        "  --max-steps N, --max-depth N, --max-memory MIB\n"
        "                     limits of one call: turns of loops and commands (default\n"
        "                     500000000), recursion (1000), what variables hold "
        "(256)\n" HTTP_OPTIONS_USAGE "  --version          print the version\n"
        "  --help             print this text\n";

static const char instructions[] =
        "A bash-like shell over a folder that is mounted at /; nothing outside of it "
        "exists.\n"
        "Use run for what one does in a terminal: ls, cat, grep, find, pipes, "
        "redirections.\n"
        "Use edit to change a part of a file.\n"
        "Only the commands that run lists exist: no interpreters, no other programs, no "
        "network.";

static const char read_only_instructions[] =
        "A bash-like shell over a folder that is mounted at /, READ-ONLY; nothing "
        "outside "
        "of it exists.\n"
        "Use run for what one does in a terminal: ls, cat, grep, find, pipes.\n"
        "Only the commands that run lists exist: no interpreters, no other programs, no "
        "network.";

static bool open_roots(const struct mcpath_options *o, struct arena *arena,
        struct setup_root *roots, struct error *err)
{
    roots[0].at = STR("/");
    if (!location_open(&o->root, arena, &roots[0], err))
        return false;
    for (size_t i = 0; i < o->mount_count; i++) {
        roots[i + 1].at = o->mounts[i].at;
        if (!location_open(&o->mounts[i].location, arena, &roots[i + 1], err))
            return false;
    }
    return true;
}

static bool serve_folder(const struct mcpath_options *o,
        const struct tool_extension *more, struct arena *arena, struct error *err)
{
    struct setup setup = { .name = STR("mcpath"),
        .read_only = o->read_only,
        .deny_count = o->deny_count,
        .max_output = o->max_output,
        .timeout_ms = o->timeout_ms,
        .max_steps = o->max_steps,
        .max_depth = o->max_depth,
        .max_memory_mib = o->max_memory_mib,
        .root_count = o->mount_count + 1 };
    struct setup_root *roots = arena_zalloc(arena, setup.root_count * sizeof(*roots));
    struct str *deny = arena_alloc(arena, (setup.deny_count + 1) * sizeof(*deny));
    for (size_t i = 0; i < o->deny_count; i++)
        deny[i] = str_of(o->deny[i]);
    setup.roots = roots;
    setup.deny = deny;
    struct serve_config config = {
        .instructions = o->read_only ? read_only_instructions : instructions,
        .setup = &setup,
        .tools = { .places = TOOL_IN_SHELL,
                .read_only = o->read_only,
                .extension = more },
        .http = o->http.wanted ? &o->http : NULL,
    };
    return open_roots(o, arena, roots, err) && serve(&config, err);
}

int cli_mcpath(int argc, char **argv)
{
    return cli_mcpath_with(argc, argv, NULL);
}

int cli_mcpath_with(int argc, char **argv, const struct tool_extension *more)
{
    struct mcpath_options options;
    struct error err = { 0 };
    auto_arena *arena = arena_create();
    if (!mcpath_options_parse(argc, argv, arena, &options, &err))
        return cli_fail("mcpath", 2, &err);
    if (options.help || options.version) {
        cli_print(options.help ? str_of(usage) : STR("mcpath " PADDOCK_VERSION "\n"));
        return 0;
    }
    return serve_folder(&options, more, arena, &err) ? 0 : cli_fail("mcpath", 1, &err);
}
