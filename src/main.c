/*
 * paddock - one program with several faces: `mcpath` and `pyddock` are links to it.
 *
 * This file only chooses: by the name it was called with, or by the subcommand.
 */
#include "base/log.h"
#include "cli/cli.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

typedef int command_fn(int argc, char **argv);

static const struct {
    const char *name;
    command_fn *run;
    const char *summary;
} commands[] = {
    { "mcpath", cli_mcpath, "serve a folder over MCP: a virtual shell and exact edits" },
    { "serve", cli_serve, "serve a workspace over MCP, with all tools under its policy" },
    { "policy", cli_policy, "show, check or try the policy of a workspace" },
    { "shell", cli_shell,
            "run the virtual shell on a folder, from a terminal or a pipe" },
    { "call", cli_call, "call one tool over the protocol" },
    { "doctor", cli_doctor, "show what this machine lets us enforce" },
};

static int usage(int status)
{
    auto_buf text = BUF(4096);
    buf_add(&text, STR("usage: paddock COMMAND [ARGUMENT]...\n\n"));
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        buf_addf(&text, "  %-10s %s\n", commands[i].name, commands[i].summary);
    buf_add(&text, STR("\nEach command explains itself with --help; --version prints the "
                       "version.\n"));
    if (!status)
        cli_print(buf_str(&text));
    else
        fputs(text.data, stderr);
    return status;
}

static int run_command(int argc, char **argv)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (!strcmp(argv[0], commands[i].name))
            return commands[i].run(argc, argv);
    struct error err = { 0 };
    error_set(&err, ERR_INVALID, "unknown command '%.100s'; see paddock --help", argv[0]);
    return cli_fail("paddock", 2, &err);
}

/* Of 0, 1 and 2 none may be free, or the next file that is opened becomes one of them. */
static void fill_standard_fds(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO)
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    close_fd(&fd);
}

int main(int argc, char **argv)
{
    fill_standard_fds();
    const char *slash = argc ? strrchr(argv[0], '/') : NULL;
    const char *face = slash ? slash + 1 : argc ? argv[0] : "paddock";
    if (!strcmp(face, "mcpath") || !strcmp(face, "pyddock")) {
        log_init(face);
        return face[0] == 'm' ? cli_mcpath(argc, argv) : cli_pyddock(argc, argv);
    }
    log_init("paddock");
    if (argc < 2)
        return usage(2);
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return usage(0);
    if (strcmp(argv[1], "--version"))
        return run_command(argc - 1, argv + 1);
    cli_print(STR("paddock " PADDOCK_VERSION "\n"));
    return 0;
}
