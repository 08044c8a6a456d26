#include "shell/builtin/names.h"

#include "shell/builtin/files.h"

#include <errno.h>

int name_absolute(struct cmd *c, const char *name, struct str *out)
{
    struct vpath path;
    int errnum = cmd_path(c, name, &path);
    if (errnum)
        return errnum;
    auto_buf text = BUF(65536);
    for (struct str rest = path.text; rest.len;) {
        struct str part = str_cut(&rest, '/');
        if (str_is(part, "..")) {
            const char *slash = text.len ? memrchr(text.data, '/', text.len) : NULL;
            text.len = slash ? (size_t)(slash - text.data) : 0;
        } else if (part.len) {
            buf_addc(&text, '/');
            buf_add(&text, part);
        }
    }
    *out = arena_str(c->arena, text.len ? buf_str(&text) : STR("/"));
    return 0;
}

/* Of a path whose end does not exist: what does is resolved, the rest stays as written.
 */
static int resolve_what_exists(struct cmd *c, const char *name, struct str *out)
{
    struct str text;
    int errnum = name_absolute(c, name, &text);
    if (errnum)
        return errnum;
    for (size_t len = text.len; len && cmd_tick(c); len--) {
        struct vpath found;
        if (len != text.len && text.data[len] != '/')
            continue;
        if (file_resolve(
                    c, arena_cstr(c->arena, str_sub(text, 0, len)), VFS_FOLLOW, &found))
            continue;
        struct str rest = str_from(text, len);
        bool at_root = found.text.len == 1;
        *out = str_of(arena_printf(c->arena, "%.*s%.*s",
                at_root && rest.len ? 0 : (int)found.text.len, found.text.data,
                STR_ARG(rest)));
        return 0;
    }
    *out = text;
    return 0;
}

int name_canonical(struct cmd *c, const char *name, enum exists exists, struct str *out)
{
    struct vpath path;
    struct vfs_stat st;
    int errnum = file_resolve(c, name, VFS_FOLLOW, &path);
    if (!errnum && exists == MUST_EXIST)
        errnum = file_stat(c, name, VFS_FOLLOW, &st);
    if (!errnum)
        *out = path.text;
    else if (exists == NEED_NOT_EXIST && *name && errnum != EINVAL)
        return resolve_what_exists(c, name, out);
    return errnum;
}

const char *name_relative(struct cmd *c, struct str from, struct str to)
{
    auto_buf path = BUF(65536);
    from.len -= from.len == 1; /* "/" has no component */
    to.len -= to.len == 1;
    size_t same = 0; /* length of the directories that both have */
    for (size_t i = 0;; i++) {
        bool from_end = i == from.len || from.data[i] == '/';
        bool to_end = i == to.len || to.data[i] == '/';
        if (from_end && to_end)
            same = i;
        if (i == from.len || i == to.len || from.data[i] != to.data[i])
            break;
    }
    for (size_t i = same; i < from.len; i++)
        if (from.data[i] == '/')
            buf_add(&path, path.len ? STR("/..") : STR(".."));
    struct str rest = str_from(to, same + 1);
    if (rest.len && path.len)
        buf_addc(&path, '/');
    buf_add(&path, rest.len || path.len ? rest : STR("."));
    return arena_cstr(c->arena, buf_str(&path));
}
