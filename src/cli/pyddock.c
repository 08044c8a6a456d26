#include "cli/cli.h"
#include "cli/http-options.h"
#include "cli/pyddock-run.h"
#include "cli/workspace.h"

static const char usage[] =
        "usage: pyddock COMMAND [ARGUMENT]...\n"
        "\n"
        "  serve   serve a workspace over MCP: Python, approved commands, file tools\n"
        "  run     run Python code in the same sandbox\n"
        "\n"
        "Each command explains itself with --help; --version prints the version.\n";

static const char serve_usage[] =
        "usage: pyddock serve [OPTION]...\n"
        "Serve a workspace over MCP: Python, approved commands and file tools, under "
        "the\n"
        "policy of .pyddock/pyddock.toml and .pyddock/pyddock.override.toml in it.\n"
        "\n"
        "  --workspace DIR    the workspace (default: the current folder)\n"
        "  --tools LIST       offer only these tools, separated by commas\n"
        "  --debug            record every decision in .pyddock/tmp/audit.jsonl\n"
        "  --no-install       do not install the packages of [imports] that are "
        "missing\n" HTTP_OPTIONS_USAGE "  --help             print this text\n";

static const char instructions[] =
        "Tools over a workspace, under a declared policy: what they allow needs no "
        "approval, and a refusal names the rule and what works instead.\n"
        "Use run_python for data, analysis and whatever takes more than one step, "
        "run_shell to start one approved program (no shell syntax), and the fs_ tools to "
        "read, find, search and change files.";

static int serve(int argc, char **argv)
{
    static const struct workspace_face face = {
        .command = "pyddock serve",
        .name = "pyddock",
        .usage = serve_usage,
        .instructions = instructions,
        .places = TOOL_IN_POOL | TOOL_IN_SERVER | TOOL_IN_PYTHON | TOOL_IN_PEER,
    };
    return workspace_serve(&face, argc, argv);
}

int cli_pyddock(int argc, char **argv)
{
    struct error err = { 0 };
    const char *command = argc > 1 ? argv[1] : "--help";
    if (!strcmp(command, "serve"))
        return serve(argc - 1, argv + 1);
    if (!strcmp(command, "run"))
        return pyddock_run(argc - 1, argv + 1);
    if (!strcmp(command, "--version")) {
        cli_print(STR("pyddock " PADDOCK_VERSION "\n"));
        return 0;
    }
    if (!strcmp(command, "--help") || !strcmp(command, "-h")) {
        cli_print(str_of(usage));
        return argc > 1 ? 0 : 1;
    }
    error_set(&err, ERR_INVALID,
            "unknown command '%.100s'; usage: pyddock serve|run [ARGUMENT]...", command);
    return cli_fail("pyddock", 2, &err);
}
