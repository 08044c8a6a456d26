#include "shell/builtin/environ.h"
#include "shell/builtin/quote.h"
#include "shell/state.h"

#include <errno.h>

static const struct cmd_opt options[] = {
    { 'i', "ignore-environment", ARG_NONE, NULL, "start with an empty environment" },
    { '0', "null", ARG_NONE, NULL, "lines end with NUL" },
    { 'u', "unset", ARG_REQUIRED, "NAME", "take NAME out of the environment" },
    { 'C', "chdir", ARG_REQUIRED, "DIR", "run the command in DIR" },
    { 0 },
};

struct env {
    struct cmd *c;
    struct shell *sub; /* a copy of the shell, in which the command runs */
    bool ignore;
    char end;
    const char *dir;
};

static bool failed(struct env *e, const struct error *err)
{
    cmd_err(e->c, "%s", err->message);
    return false;
}

static bool clear(struct env *e)
{
    struct error err;
    struct environ_list list = environ_list(e->sub, e->c->arena);
    for (size_t i = 0; i < list.count; i++)
        if (!vars_set_flags(e->sub->vars, list.names[i], 0, VAR_EXPORT, &err))
            return failed(e, &err);
    return true;
}

/* The NAME=VALUE operands; false: one is impossible. */
static bool assign(struct env *e)
{
    struct cmd *c = e->c;
    for (; c->argc && strchr(c->argv[0], '='); c->argc--, c->argv++) {
        struct error err;
        struct str value = str_of(c->argv[0]), name = str_cut(&value, '=');
        if (!vars_set(e->sub->vars, name, value, &err) ||
                !vars_set_flags(e->sub->vars, name, VAR_EXPORT, 0, &err))
            return failed(e, &err);
    }
    return true;
}

static bool change_dir(struct env *e)
{
    struct cmd *c = e->c;
    struct vpath path;
    struct vfs_stat st;
    int errnum = cmd_path(c, e->dir, &path);
    if (!errnum)
        errnum = vfs_resolve(c->vfs, path, VFS_FOLLOW, e->sub->arena, &path);
    if (!errnum)
        errnum = vfs_stat(c->vfs, path, VFS_FOLLOW, &st);
    if (!errnum && st.type != VFS_DIR)
        errnum = ENOTDIR;
    if (errnum)
        cmd_err(c, "cannot change directory to %s: %s", quote(c, e->dir),
                errno_text(errnum));
    else
        e->sub->cwd = path;
    return !errnum;
}

static bool take_option(struct env *e, int key, const char *value)
{
    struct error err;
    switch (key) {
    case 'i':
        return e->ignore = true;
    case '0':
        e->end = 0;
        return true;
    case 'C':
        e->dir = value;
        return true;
    case 'u':
        return vars_unset(e->sub->vars, str_of(value), &err) || failed(e, &err);
    default:
        return false;
    }
}

static int run(struct env *e)
{
    struct cmd *c = e->c;
    if ((e->ignore && !clear(e)) || !assign(e))
        return 125;
    if (!c->argc)
        return environ_print(c, e->sub, e->end) ? 0 : 1;
    if (!e->end) {
        cmd_err(c, "cannot specify --null (-0) with command");
        return try_help(c, 125);
    }
    struct vpath before = e->sub->cwd;
    if (e->dir && !change_dir(e))
        return 125;
    int status = exec_argv(e->sub, c->argc, c->argv, c->in, c->out, c->err);
    e->sub->cwd = before; /* its own text is what the copy frees */
    return status;
}

static int cmd_env_command(struct cmd *c)
{
    struct env e = { .c = c, .sub = shell_fork(c->shell), .end = '\n' };
    bool ok = true;
    struct cmd_options o = cmd_options(c);
    o.stop_early = true;
    for (int k; ok && (k = cmd_next(&o)) != CMD_END;)
        ok = take_option(&e, k, o.value);
    if (ok && c->argc && !strcmp(c->argv[0], "-")) {
        e.ignore = true;
        c->argc--;
        c->argv++;
    }
    int status = ok ? run(&e) : 125;
    shell_free(e.sub);
    return status;
}

const struct command command_env = {
    "env",
    cmd_env_command,
    options,
    "[OPTION]... [NAME=VALUE]... [COMMAND [ARGUMENT]...]",
    "Show the environment, or run a command in a changed one.",
    CMD_PREFIX,
};
