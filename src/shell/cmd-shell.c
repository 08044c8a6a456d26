/* What a command asks of the shell that runs it: paths, files, variables, other commands.
 */
#include "shell/cmd.h"
#include "shell/state.h"

#include <errno.h>

int cmd_path(struct cmd *c, const char *text, struct vpath *out)
{
    return vpath_parse(str_of(text), c->cwd, c->arena, out);
}

static struct stream *command_stream(struct cmd *c, int64_t fd)
{
    if (fd == 0)
        return c->in;
    if (fd == 1)
        return c->out;
    if (fd == 2)
        return c->err;
    return c->shell && fd > 2 && fd < SHELL_FDS ? c->shell->fds[fd] : NULL;
}

/* The devices that a shell has, whatever the view holds under /dev. */
static const struct {
    const char *path;
    struct stream *(*open)(void); /* NULL: a descriptor of the command */
    int fd;
} devices[] = {
    { "/dev/null", stream_null, -1 },
    { "/dev/random", stream_random, -1 },
    { "/dev/stderr", NULL, 2 },
    { "/dev/stdin", NULL, 0 },
    { "/dev/stdout", NULL, 1 },
    { "/dev/tty", NULL, 1 },
    { "/dev/urandom", stream_random, -1 },
    { "/dev/zero", stream_zero, -1 },
};

bool cmd_is_device(struct str path)
{
    for (size_t i = 0; i < ARRAY_LEN(devices); i++)
        if (str_is(path, devices[i].path))
            return true;
    return str_starts(path, STR("/dev/fd/"));
}

static int open_descriptor(struct cmd *c, int64_t fd, struct stream **out)
{
    struct stream *s = command_stream(c, fd);
    if (!s)
        return ENOENT;
    *out = stream_ref(s);
    return 0;
}

static int open_device(struct cmd *c, struct str path, struct stream **out)
{
    int64_t fd = -1;
    if (str_starts(path, STR("/dev/fd/")))
        return str_int(str_from(path, strlen("/dev/fd/")), &fd)
                       ? open_descriptor(c, fd, out)
                       : ENOENT;
    for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
        if (!str_is(path, devices[i].path))
            continue;
        if (!devices[i].open)
            return open_descriptor(c, devices[i].fd, out);
        *out = devices[i].open();
        return 0;
    }
    return ENOENT;
}

static int open_path(
        struct cmd *c, const char *text, enum vfs_open_flags flags, struct stream **out)
{
    struct vpath path;
    int errnum = cmd_path(c, text, &path);
    if (errnum)
        return errnum;
    if (cmd_is_device(path.text))
        return open_device(c, path.text, out);
    struct vfile *file;
    errnum = vfs_open(c->vfs, path, flags, 0666, &file);
    if (!errnum)
        *out = stream_file(file, flags & VFS_READ, flags & VFS_WRITE);
    return errnum;
}

int cmd_open(struct cmd *c, const char *path, bool dash_is_stdin, struct stream **out)
{
    if (dash_is_stdin && str_is(STR("-"), path)) {
        *out = stream_ref(c->in);
        return 0;
    }
    return open_path(c, path, VFS_READ, out);
}

int cmd_create(
        struct cmd *c, const char *path, enum vfs_open_flags flags, struct stream **out)
{
    return open_path(c, path, flags | VFS_WRITE | VFS_CREATE, out);
}

const char *cmd_env(struct cmd *c, const char *name)
{
    struct str value;
    if (!c->shell || !vars_get(c->shell->vars, str_of(name), &value))
        return NULL;
    return arena_cstr(c->arena, value);
}

char **cmd_environment(struct cmd *c, size_t *count)
{
    struct str *names;
    size_t all;
    vars_names(c->shell->vars, STR(""), c->arena, &names, &all);
    char **env = arena_alloc(c->arena, (all + 1) * sizeof(char *));
    *count = 0;
    for (size_t i = 0; i < all; i++) {
        struct str value;
        int flags = vars_flags(c->shell->vars, names[i]);
        if (flags & VAR_EXPORT && !(flags & (VAR_INDEXED | VAR_ASSOC)) &&
                vars_get(c->shell->vars, names[i], &value))
            env[(*count)++] = arena_printf(
                    c->arena, "%.*s=%.*s", STR_ARG(names[i]), STR_ARG(value));
    }
    return env;
}

int cmd_run(struct cmd *c, int argc, char **argv, struct stream *in, struct stream *out,
        struct stream *err)
{
    struct shell *sub = shell_fork(c->shell);
    if (!str_eq(sub->cwd.text, c->cwd.text)) {
        free((char *)(uintptr_t)sub->cwd.text.data);
        sub->cwd = (struct vpath){ .text = str_of(xstrdup(c->cwd.text.data)) };
    }
    int status = exec_argv(sub, argc, argv, in, out, err);
    shell_free(sub);
    return status;
}
