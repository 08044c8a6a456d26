#include "fuzz.h"
#include "shell/save.h"
#include "shell/shell.h"

static const char probe[] =
        "declare -p >/dev/null; declare -f >/dev/null; trap -p >/dev/null\n"
        "alias >/dev/null; dirs >/dev/null; shopt >/dev/null; echo $? $! $_ $*";

static struct shell *new_shell(struct vfs *vfs)
{
    const struct shell_options options = {
        .vfs = vfs, .name = "fuzz", .cwd = VPATH_ROOT
    };
    return shell_create(&options);
}

/* What was loaded works, and is saved and loaded again. */
static void use(struct shell *sh, struct vfs *vfs)
{
    const struct shell_limits limits = {
        .max_steps = 20000, .max_memory = 1 << 20, .max_depth = 20
    };
    struct stream *null = stream_null();
    struct error err;
    bool exited;
    auto_buf text = BUF(SHELL_SAVE_MAX);
    json_auto_t *state = NULL;
    shell_run(sh, str_of(probe), &limits, NULL, null, null, null, &exited);
    stream_unref(null);
    if (!shell_save(sh, &text, &err))
        return;
    assert(json_parse(buf_str(&text), &state, &err));
    struct shell *again = new_shell(vfs);
    assert(shell_load(again, state, &err));
    shell_destroy(again);
}

/* The input is a state that somebody has kept. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err;
    json_auto_t *state = NULL;
    if (!json_parse((struct str){ (const char *)data, size }, &state, &err))
        return 0;
    const struct vfs_options options = { 0 };
    struct vfs *vfs = vfs_create(&options);
    assert(!vfs_mount_memory(vfs, VPATH_ROOT, 1 << 20));
    struct shell *sh = new_shell(vfs);
    if (shell_load(sh, state, &err))
        use(sh, vfs);
    shell_destroy(sh);
    vfs_destroy(vfs);
    return 0;
}
