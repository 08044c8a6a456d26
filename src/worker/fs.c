#include "worker/fs.h"

#include "base/json.h"
#include "edit/lookalike.h"
#include "worker/alarm.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#define MAX_MESSAGE ((size_t)16 << 10)

struct str fs_text_arg(const struct fs *fs, const char *name)
{
    return json_str(json_object_get(fs->args, name));
}

int64_t fs_int_arg(const struct fs *fs, const char *name, int64_t fallback)
{
    const json_t *value = json_object_get(fs->args, name);
    if (json_is_integer(value))
        return json_integer_value(value);
    double number = json_real_value(value);
    if (!json_is_real(value) || number != number)
        return fallback;
    return number >= 9e18 ? INT64_MAX : number <= -9e18 ? INT64_MIN : (int64_t)number;
}

bool fs_bool_arg(const struct fs *fs, const char *name, bool fallback)
{
    const json_t *value = json_object_get(fs->args, name);
    return json_is_boolean(value) ? json_is_true(value) : fallback;
}

static struct vpath workspace_of(const struct worker *w, struct arena *arena)
{
    const struct path_policy *paths = w->setup->paths;
    struct vpath at = VPATH_ROOT;
    if (!paths || vpath_parse(path_policy_workspace(paths), VPATH_ROOT, arena, &at))
        return VPATH_ROOT;
    return at;
}

/* "~" and "~/..." stand for the home; "~name" is a name like others. */
static struct str expand_home(struct fs *fs, struct str text)
{
    if (!str_starts(text, STR("~")) || (text.len > 1 && text.data[1] != '/'))
        return text;
    const struct path_policy *paths = fs->w->setup->paths;
    struct str home = paths ? path_policy_home(paths) : STR("/"),
               rest = str_from(text, 1);
    if (!home.len)
        return text;
    return str_of(arena_printf(fs->arena, "%.*s%.*s", STR_ARG(home), STR_ARG(rest)));
}

/* The path without "..": by its text alone, so it may only be shown. */
static struct str without_dots(struct fs *fs, struct str path)
{
    char *to = arena_alloc(fs->arena, path.len + 2);
    size_t len = 0;
    for (struct str left = path; left.len;) {
        struct str name = str_cut(&left, '/');
        if (str_is(name, "..")) {
            while (len && to[--len] != '/')
                ;
        } else if (name.len) {
            to[len++] = '/';
            memcpy(to + len, name.data, name.len);
            len += name.len;
        }
    }
    if (!len)
        to[len++] = '/';
    to[len] = 0;
    return (struct str){ to, len };
}

/* How a canonical path is shown. */
static struct str fs_shown(const struct fs *fs, struct str path)
{
    struct str root = fs->workspace.text;
    if (str_eq(path, root))
        return STR(".");
    size_t len = root.len > 1 ? root.len : 0;
    if (str_starts(path, str_sub(root, 0, len)) && path.len > len + 1 &&
            path.data[len] == '/')
        return str_from(path, len + 1);
    return path;
}

struct str fs_printable(const struct fs *fs, struct str name)
{
    auto_buf out = BUF(4 * name.len);
    buf_add_escaped(&out, name);
    return out.len == name.len ? name : arena_str(fs->arena, buf_str(&out));
}

bool fs_path_arg(struct fs *fs, const char *name, struct fs_path *out)
{
    struct str given = fs_text_arg(fs, name);
    bool absent = !json_is_string(json_object_get(fs->args, name));
    struct str text = absent ? STR(".") : expand_home(fs, given);
    int errnum = vpath_parse(text, fs->workspace, fs->arena, &out->at);
    bool blank = !absent && strspn(given.data, " \t\r\n") == given.len;
    if (errnum || blank) {
        const char *why = blank              ? "is empty"
                          : errnum == EINVAL ? "contains a NUL"
                                             : strerror(errnum);
        fs_fail(fs, "'%s' %s", name, why);
        return false;
    }
    out->given = absent ? STR(".") : given;
    out->shown = fs_shown(fs, without_dots(fs, out->at.text));
    return true;
}

bool fs_fail(struct fs *fs, const char *fmt, ...)
{
    char message[MAX_MESSAGE];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    buf_clear(fs->text);
    buf_addf(fs->text, "Error: %s", message);
    return true;
}

/* The rule that said no, if one did. */
static void tell_refusal(struct fs *fs)
{
    const struct refusal *why = vfs_refusal(fs->vfs);
    if (!why)
        return;
    buf_addc(fs->text, '\n');
    refusal_write(why, fs->text);
}

bool fs_fail_errno(
        struct fs *fs, const char *what, const struct fs_path *path, int errnum)
{
    bool denied = errnum == EACCES || errnum == EPERM || errnum == EROFS;
    if (errnum == ENOENT || errnum == ENOTDIR)
        return fs_fail_missing(fs, "File", path);
    const char *why =
            errnum == EROFS ? "Permission denied (read-only)" : strerror(errnum);
    buf_clear(fs->text);
    buf_addf(fs->text, "Error: Cannot %s '%.*s': %s", what, STR_ARG(path->given), why);
    if (denied)
        tell_refusal(fs);
    return true;
}

bool fs_fail_missing(struct fs *fs, const char *what, const struct fs_path *path)
{
    buf_clear(fs->text);
    buf_addf(fs->text, "Error: %s not found: '%.*s'", what, STR_ARG(path->given));
    size_t end = fs->text->len;
    buf_addc(fs->text, '\n');
    lookalikes_tell(fs->vfs, path->at, fs->workspace.text, fs->arena, fs->text);
    if (fs->text->len == end + 1)
        fs->text->len = end;
    return true;
}

const char *fs_type_name(enum vfs_type type)
{
    static const char *const names[] = {
        [VFS_FILE] = "file",
        [VFS_DIR] = "directory",
        [VFS_LINK] = "symbolic link",
        [VFS_FIFO] = "FIFO",
        [VFS_SOCKET] = "socket",
        [VFS_CHAR] = "character device",
        [VFS_BLOCK] = "block device",
        [VFS_UNKNOWN] = "special file",
    };
    return names[type];
}

bool fs_fail_type(struct fs *fs, const struct fs_path *path, enum vfs_type type)
{
    if (type == VFS_DIR)
        return fs_fail(fs, "'%.*s' is a directory; fs_find lists what is in it",
                STR_ARG(path->given));
    return fs_fail(fs, "'%.*s' is not a regular file (it is a %s)", STR_ARG(path->given),
            fs_type_name(type));
}

static bool run(struct worker *w, const json_t *args, struct arena *arena,
        struct buf *text, fs_fn *tool)
{
    struct fs fs = { .w = w,
        .vfs = w->vfs,
        .args = args,
        .arena = arena,
        .text = text,
        .budget = { .steps = UINT64_MAX / 2,
                .max_steps = UINT64_MAX / 2,
                .max_memory = (uint64_t)256 << 20,
                .max_depth = 100,
                .timeout_ms = w->setup->timeout_ms,
                .alarm = w->alarm },
        .workspace = workspace_of(w, arena) };
    alarm_start(w->setup->timeout_ms);
    vfs_set_budget(w->vfs, &fs.budget);
    bool is_error = tool(&fs);
    vfs_set_budget(w->vfs, NULL);
    alarm_stop();
    w->notes.timed_out = fs.budget.stop == BUDGET_TIME;
    return is_error;
}

#define TOOL(name)                                                                       \
    bool worker_##name(                                                                  \
            struct worker *w, const json_t *args, struct arena *arena, struct buf *text) \
    {                                                                                    \
        return run(w, args, arena, text, name);                                          \
    }

TOOL(fs_append)
TOOL(fs_delete)
TOOL(fs_find)
TOOL(fs_grep)
TOOL(fs_readfile)
TOOL(fs_stat)
TOOL(fs_str_replace)
