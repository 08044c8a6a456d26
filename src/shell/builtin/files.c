#include "shell/builtin/files.h"

#include <stdarg.h>
#include <stdio.h>

/* A path for the time of one call. */
struct named {
    struct cmd *c;
    struct arena_mark mark;
    struct vpath path;
    int errnum;
};

static struct named named(struct cmd *c, const char *name)
{
    struct named n = { .c = c, .mark = arena_mark(c->arena) };
    n.errnum = cmd_path(c, name, &n.path);
    return n;
}

/* Forget the path; what the call on it answered. */
static int done(const struct named *n, int errnum)
{
    arena_rewind(n->c->arena, n->mark);
    return n->errnum ? n->errnum : errnum;
}

int file_stat(
        struct cmd *c, const char *name, enum vfs_follow follow, struct vfs_stat *out)
{
    struct named n = named(c, name);
    return done(&n, n.errnum ? 0 : vfs_stat(c->vfs, n.path, follow, out));
}

int file_open(struct cmd *c, const char *name, enum vfs_open_flags flags, uint32_t mode,
        struct vfile **out)
{
    struct named n = named(c, name);
    return done(&n, n.errnum ? 0 : vfs_open(c->vfs, n.path, flags, mode, out));
}

int file_mkdir(struct cmd *c, const char *name, uint32_t mode)
{
    struct named n = named(c, name);
    return done(&n, n.errnum ? 0 : vfs_mkdir(c->vfs, n.path, mode));
}

int file_unlink(struct cmd *c, const char *name)
{
    struct named n = named(c, name);
    return done(&n, n.errnum ? 0 : vfs_unlink(c->vfs, n.path));
}

int file_rmdir(struct cmd *c, const char *name)
{
    struct named n = named(c, name);
    return done(&n, n.errnum ? 0 : vfs_rmdir(c->vfs, n.path));
}

static int call_on_both(struct cmd *c, const char *from, const char *to,
        int (*call)(struct vfs *, struct vpath, struct vpath))
{
    struct named a = named(c, from), b = named(c, to);
    int errnum = a.errnum ? a.errnum : b.errnum;
    errnum = errnum ? errnum : call(c->vfs, a.path, b.path);
    arena_rewind(c->arena, a.mark);
    return errnum;
}

int file_rename(struct cmd *c, const char *from, const char *to)
{
    return call_on_both(c, from, to, vfs_rename);
}

int file_link(struct cmd *c, const char *from, const char *to)
{
    return call_on_both(c, from, to, vfs_link);
}

int file_symlink(struct cmd *c, const char *target, const char *name)
{
    struct named n = named(c, name);
    return done(&n, n.errnum ? 0 : vfs_symlink(c->vfs, str_of(target), n.path));
}

int file_chmod(struct cmd *c, const char *name, uint32_t mode)
{
    struct named n = named(c, name);
    return done(&n, n.errnum ? 0 : vfs_chmod(c->vfs, n.path, mode));
}

int file_set_times(struct cmd *c, const char *name, enum vfs_follow follow,
        int64_t atime_ns, int64_t mtime_ns)
{
    struct named n = named(c, name);
    return done(
            &n, n.errnum ? 0 : vfs_set_times(c->vfs, n.path, follow, atime_ns, mtime_ns));
}

int file_check_tree(struct cmd *c, const char *name, enum vfs_tree_use use)
{
    struct named n = named(c, name);
    return done(&n, n.errnum ? 0 : vfs_check_tree(c->vfs, n.path, use));
}

int file_readlink(struct cmd *c, const char *name, struct str *target)
{
    struct vpath path;
    int errnum = cmd_path(c, name, &path);
    return errnum ? errnum : vfs_readlink(c->vfs, path, c->arena, target);
}

int file_resolve(
        struct cmd *c, const char *name, enum vfs_follow follow, struct vpath *out)
{
    struct vpath path;
    int errnum = cmd_path(c, name, &path);
    return errnum ? errnum : vfs_resolve(c->vfs, path, follow, c->arena, out);
}

struct dirwalk *file_walk(struct cmd *c, const char *root, bool follow_root, bool follow)
{
    const struct dirwalk_view view = { c->vfs, c->cwd, c->budget };
    return dirwalk_create(&view, root, follow_root, follow);
}

bool file_is_dir(struct cmd *c, const char *name)
{
    struct vfs_stat st;
    return !file_stat(c, name, VFS_FOLLOW, &st) && st.type == VFS_DIR;
}

bool file_is_same(const struct vfs_stat *a, const struct vfs_stat *b)
{
    return a->dev == b->dev && a->ino == b->ino;
}

char *name_join(struct cmd *c, const char *dir, const char *name)
{
    size_t len = strlen(dir);
    bool slash = len && dir[len - 1] == '/';
    while (*name == '/')
        name++;
    return arena_printf(c->arena, "%s%s%s", dir, slash || !len ? "" : "/", name);
}

struct str name_without_slashes(const char *name)
{
    struct str s = str_of(name);
    while (s.len > 1 && s.data[s.len - 1] == '/')
        s.len--;
    return s;
}

char *name_base(struct cmd *c, const char *name)
{
    struct str s = name_without_slashes(name);
    const char *slash = s.len > 1 ? memrchr(s.data, '/', s.len) : NULL;
    if (slash)
        s = str_from(s, (size_t)(slash - s.data) + 1);
    return arena_cstr(c->arena, s);
}

bool ask(struct cmd *c, const char *fmt, ...)
{
    auto_buf text = BUF(65536);
    char small[8192];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(small, sizeof(small), fmt, ap);
    va_end(ap);
    buf_addf(&text, "%s: %s ", c->name, small);
    struct str line;
    return stream_write(c->err, buf_str(&text)) && stream_flush(c->err) &&
           stream_line(c->in, '\n', 65536, &line) && line.len &&
           (line.data[0] == 'y' || line.data[0] == 'Y');
}

void mode_text(enum vfs_type type, uint32_t mode, char out[11])
{
    static const char types[] = { [VFS_FILE] = '-',
        [VFS_DIR] = 'd',
        [VFS_LINK] = 'l',
        [VFS_FIFO] = 'p',
        [VFS_SOCKET] = 's',
        [VFS_CHAR] = 'c',
        [VFS_BLOCK] = 'b',
        [VFS_UNKNOWN] = '?' };
    static const char letters[] = "rwxrwxrwx", special[] = "sst";
    out[0] = types[type];
    for (int i = 0; i < 9; i++)
        out[i + 1] = mode & (0400u >> i) ? letters[i] : '-';
    for (int i = 0; i < 3; i++)
        if (mode & (04000u >> i)) {
            char *x = &out[3 + 3 * i];
            *x = *x == 'x' ? special[i] : (char)(special[i] - 'a' + 'A');
        }
    out[10] = 0;
}

const char *file_type_name(const struct vfs_stat *st)
{
    switch (st->type) {
    case VFS_FILE:
        return st->size ? "regular file" : "regular empty file";
    case VFS_DIR:
        return "directory";
    case VFS_LINK:
        return "symbolic link";
    case VFS_FIFO:
        return "fifo";
    case VFS_SOCKET:
        return "socket";
    case VFS_CHAR:
        return "character special file";
    case VFS_BLOCK:
        return "block special file";
    case VFS_UNKNOWN:
        break;
    }
    return "weird file";
}
