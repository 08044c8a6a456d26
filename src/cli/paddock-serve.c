#include "cli/cli.h"
#include "cli/http-options.h"
#include "cli/workspace.h"

static const char usage[] =
        "usage: paddock serve [OPTION]... [WORKSPACE]\n"
        "Serve WORKSPACE (default: the current folder) over MCP with all tools: the\n"
        "virtual shell and exact edits over the files of this machine, approved "
        "commands\n"
        "and file tools, all under the policy of WORKSPACE/.pyddock.\n"
        "\n"
        "  --workspace DIR    the same as WORKSPACE\n"
        "  --tools LIST       offer only these, separated by commas\n"
        "  --debug            record every decision in .pyddock/tmp/audit.jsonl\n"
        "  --no-install       do not install the packages of [imports] that are "
        "missing\n" HTTP_OPTIONS_USAGE "  --help             print this text\n";

static const char instructions[] =
        "Tools over a workspace, under a declared policy: what they allow needs no "
        "approval, and a refusal names the rule and what works instead.\n"
        "Use run for what one does in a terminal with files (a virtual bash), edit to "
        "change a part of a file, run_python to compute with data and files, run_shell "
        "to "
        "start an approved program of this machine (no shell syntax), and the fs_ tools "
        "for single file operations.";

int cli_serve(int argc, char **argv)
{
    static const struct workspace_face face = {
        .command = "paddock serve",
        .name = "paddock",
        .usage = usage,
        .instructions = instructions,
        .places = TOOL_IN_SHELL | TOOL_IN_POOL | TOOL_IN_SERVER | TOOL_IN_PYTHON |
                  TOOL_IN_PEER,
        .takes_operand = true,
    };
    return workspace_serve(&face, argc, argv);
}
