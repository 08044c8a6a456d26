#include "shell/filetest.h"

#include "shell/setopt.h"

#include <unistd.h>

bool filetest_is_unary(char letter)
{
    return letter && strchr("abcdefghkLNnoprRsStuvwxzGO", letter);
}

static bool stat_of(
        struct shell *sh, struct str path, enum vfs_follow follow, struct vfs_stat *st)
{
    struct vpath p;
    if (vpath_parse(path, sh->cwd, sh->arena, &p))
        return false;
    return vfs_stat(sh->vfs, p, follow, st) == 0;
}

static bool may_access(struct shell *sh, struct str path, int mode)
{
    struct vpath p;
    if (cmd_is_device(path))
        return mode != X_OK;
    return !vpath_parse(path, sh->cwd, sh->arena, &p) && !vfs_access(sh->vfs, p, mode);
}

static bool test_type(const struct vfs_stat *st, char letter)
{
    switch (letter) {
    case 'f':
        return st->type == VFS_FILE;
    case 'd':
        return st->type == VFS_DIR;
    case 'b':
        return st->type == VFS_BLOCK;
    case 'c':
        return st->type == VFS_CHAR;
    case 'p':
        return st->type == VFS_FIFO;
    case 'S':
        return st->type == VFS_SOCKET;
    case 's':
        return st->size > 0;
    case 'u':
        return st->mode & 04000;
    case 'g':
        return st->mode & 02000;
    case 'k':
        return st->mode & 01000;
    case 'O':
        return st->uid == geteuid();
    case 'G':
        return st->gid == getegid();
    case 'N':
        return st->mtime_ns > st->atime_ns;
    default: /* e, a */
        return true;
    }
}

/* -v name, name[key], name[@]. */
static bool is_set(struct shell *sh, struct str name)
{
    struct str rest = name, value;
    struct str base = str_cut(&rest, '[');
    if (base.len == name.len)
        return vars_get(sh->vars, name, &value) ||
               shell_special(sh, name, sh->arena, &value);
    if (!rest.len || rest.data[rest.len - 1] != ']')
        return false;
    rest.len--;
    if (str_is(rest, "@") || str_is(rest, "*"))
        return vars_count(sh->vars, base) > 0;
    int flags = vars_flags(sh->vars, base);
    int64_t index;
    if (flags >= 0 && (flags & VAR_ASSOC))
        return vars_get_key(sh->vars, base, rest, &value);
    return str_int(rest, &index) && vars_get_index(sh->vars, base, index, &value);
}

bool filetest_unary(struct shell *sh, char letter, struct str operand)
{
    struct vfs_stat st;
    int flags;
    switch (letter) {
    case 'n':
        return operand.len > 0;
    case 'z':
        return !operand.len;
    case 'v':
        return is_set(sh, operand);
    case 'o':
        return setopt_is_on(sh, operand);
    case 't':
        return false; /* no descriptor is a terminal */
    case 'R':
        flags = vars_flags(sh->vars, operand);
        return flags >= 0 && (flags & VAR_NAMEREF);
    case 'r':
        return may_access(sh, operand, R_OK);
    case 'w':
        return may_access(sh, operand, W_OK);
    case 'x':
        return may_access(sh, operand, X_OK);
    case 'L':
    case 'h':
        return stat_of(sh, operand, VFS_NOFOLLOW, &st) && st.type == VFS_LINK;
    default:
        if (cmd_is_device(operand))
            return strchr("eac", letter) != NULL;
        return stat_of(sh, operand, VFS_FOLLOW, &st) && test_type(&st, letter);
    }
}

bool filetest_pair(struct shell *sh, enum cond_op op, struct str a, struct str b)
{
    struct vfs_stat left, right;
    bool has_left = stat_of(sh, a, VFS_FOLLOW, &left);
    bool has_right = stat_of(sh, b, VFS_FOLLOW, &right);
    if (op == COND_SAME)
        return has_left && has_right && left.dev == right.dev && left.ino == right.ino;
    if (op == COND_OLDER)
        return filetest_pair(sh, COND_NEWER, b, a);
    return has_left && (!has_right || left.mtime_ns > right.mtime_ns);
}
