#include "shell/builtin/quote.h"

#include <sys/utsname.h>

static const struct cmd_opt options[] = {
    { 'a', "all", ARG_NONE, NULL, "everything" },
    { 's', "kernel-name", ARG_NONE, NULL, "the name of the kernel (the default)" },
    { 'n', "nodename", ARG_NONE, NULL, "the name of the host: localhost" },
    { 'r', "kernel-release", ARG_NONE, NULL, "the release of the kernel" },
    { 'v', "kernel-version", ARG_NONE, NULL, "the version of the kernel" },
    { 'm', "machine", ARG_NONE, NULL, "the type of machine" },
    { 'p', "processor", ARG_NONE, NULL, "the type of processor" },
    { 'i', "hardware-platform", ARG_NONE, NULL, "the type of platform" },
    { 'o', "operating-system", ARG_NONE, NULL, "the operating system" },
    { 0 },
};

#define FIELDS 8

static int cmd_uname(struct cmd *c)
{
    static const char letters[] = "snrvmpio";
    bool show[FIELDS] = { false }, any = false;
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (k == CMD_BAD)
            return 1;
        any = true;
        for (int i = 0; i < FIELDS; i++) /* -a leaves out what is unknown */
            show[i] |= k == letters[i] ||
                       (k == 'a' && letters[i] != 'p' && letters[i] != 'i');
    }
    if (c->argc)
        return extra_operand(c, c->argv[0]);
    show[0] |= !any;
    struct utsname u;
    if (uname(&u))
        return 1;
    const char *values[FIELDS] = { u.sysname, "localhost", u.release, u.version,
        u.machine, "unknown", "unknown", "GNU/Linux" };
    const char *space = "";
    for (int i = 0; i < FIELDS; i++) {
        if (!show[i])
            continue;
        if (!cmd_printf(c, "%s%s", space, values[i]))
            return 1;
        space = " ";
    }
    return cmd_putc(c, '\n') ? 0 : 1;
}

const struct command command_uname = {
    "uname",
    cmd_uname,
    options,
    "[OPTION]...",
    "Print the name of the system.",
    0,
};
