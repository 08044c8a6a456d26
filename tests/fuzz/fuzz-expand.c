#include "fuzz.h"
#include "shell/shell.h"

static const char setup[] =
        "x=abc y='a b' z=; a=(1 '2 3' ''); a[9]=z; declare -A m=([k]=v)\n"
        "declare -i n=3; declare -n r=a; set -- p 'q r'; shopt -s extglob\n";

/* What could wait for something that never comes, or loop without end. */
static bool may_wait(struct str text)
{
    static const char *const words[] = { "sleep", "wait", "while", "until", "for", "yes",
        "select", "read", "seq" };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (memmem(text.data, text.len, words[i], strlen(words[i])))
            return true;
    return false;
}

/* The input is the words of a command, in a shell with variables and an empty tree. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, size };
    if (size > 4096 || may_wait(text))
        return 0;
    struct vfs_options vfs_options = { 0 };
    struct vfs *vfs = vfs_create(&vfs_options);
    assert(!vfs_mount_memory(vfs, VPATH_ROOT, 1 << 20));
    struct shell_options options = { .vfs = vfs, .name = "fuzz", .cwd = VPATH_ROOT };
    struct shell *sh = shell_create(&options);
    struct shell_limits limits = {
        .max_steps = 20000, .max_memory = 1 << 20, .max_depth = 20
    };
    struct stream *null = stream_null();
    auto_buf script = BUF(8192);
    bool exited;
    shell_run(sh, str_of(setup), &limits, NULL, null, null, null, &exited);
    buf_add(&script, STR(": "));
    buf_add(&script, text);
    shell_run(sh, buf_str(&script), &limits, NULL, null, null, null, &exited);
    assert(shell_run(sh, STR("true"), &limits, NULL, null, null, null, &exited) == 0);
    stream_unref(null);
    shell_destroy(sh);
    vfs_destroy(vfs);
    return 0;
}
