/*
 * cmd-harness - run one builtin command over a folder, without the shell's language.
 *
 * usage: cmd-harness ROOT COMMAND [ARGUMENT]...
 *
 * The command's streams are the real stdin, stdout and stderr; its working directory is
 * the root.  What needs a shell (other commands, variables) is not there.
 */
#include "shell/cmd.h"
#include "shell/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

/* The executor's, where it is linked. */
__attribute__((weak)) struct shell *shell_fork(struct shell *sh)
{
    return sh;
}
__attribute__((weak)) void shell_free(struct shell *sub)
{
    (void)sub;
}
__attribute__((weak)) int exec_argv(struct shell *sh, int argc, char **argv,
        struct stream *in, struct stream *out, struct stream *err)
{
    (void)sh;
    (void)in;
    (void)err;
    for (int i = 0; i < argc; i++)
        if (!stream_write(out, str_of(argv[i])) || !stream_write(out, STR(" ")))
            return 1;
    return stream_write(out, STR("\n")) ? 0 : 1;
}

static struct vfs *open_view(const char *root)
{
    static const struct vfs_options options = { .umask = 022 };
    struct vfs *vfs = vfs_create(&options);
    char *path = realpath(root, NULL);
    int fd = path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    int errnum = fd < 0 ? errno : vfs_mount_local(vfs, VPATH_ROOT, fd, path);
    free(path);
    if (!errnum)
        return vfs;
    fprintf(stderr, "cmd-harness: %s: %s\n", root, strerror(errnum));
    exit(2);
}

int main(int argc, char **argv)
{
    const struct command *command = argc > 2 ? command_find(str_of(argv[2])) : NULL;
    if (!command) {
        fprintf(stderr, "cmd-harness: no such command\n");
        return 2;
    }
    struct budget budget = { .steps = UINT64_MAX,
        .max_steps = UINT64_MAX,
        .max_memory = (uint64_t)256 << 20,
        .max_depth = 100 };
    struct vfs *vfs = open_view(argv[1]);
    struct arena *arena = arena_create();
    struct stream *streams[] = { stream_fd(0), stream_fd(1), stream_fd(2) };
    struct cmd c = { .name = argv[2],
        .argc = argc - 2,
        .argv = argv + 2,
        .in = streams[0],
        .out = streams[1],
        .err = streams[2],
        .vfs = vfs,
        .cwd = VPATH_ROOT,
        .arena = arena,
        .budget = &budget };
    bool help = argc > 3 && !strcmp(argv[3], "--help");
    int status = help ? cmd_help(&c, command) : command->run(&c);
    for (size_t i = 0; i < ARRAY_LEN(streams); i++)
        stream_unref(streams[i]);
    arena_destroy(arena);
    vfs_destroy(vfs);
    return status;
}
