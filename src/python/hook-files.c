#include "python/hook-parts.h"

#include "python/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { NO_DIR = -1 };

/* Which arguments of an event are paths, and the folders that they are relative to. */
struct file_event {
    const char *name, *op; /* `op` as in the notes of a reply */
    int path, dir_fd;      /* indices; NO_DIR: it has none */
    int other, other_dir_fd;
    bool follow;
};

/* In any order; those that are not here have a path first. */
static const struct file_event file_events[] = {
    { "os.chmod", "chmod", 0, 2, NO_DIR, NO_DIR, true },
    { "os.chown", "chown", 0, 3, NO_DIR, NO_DIR, true },
    { "os.link", "link", 1, 3, 0, 2, false },
    { "os.mkdir", "mkdir", 0, 2, NO_DIR, NO_DIR, false },
    { "os.remove", "unlink", 0, 1, NO_DIR, NO_DIR, false },
    { "os.rename", "rename", 1, 3, 0, 2, false },
    { "os.rmdir", "rmdir", 0, 1, NO_DIR, NO_DIR, false },
    { "os.symlink", "symlink", 1, 2, NO_DIR, NO_DIR, false },
    { "os.truncate", "write", 0, NO_DIR, NO_DIR, NO_DIR, true },
    { "os.utime", "set-times", 0, 3, NO_DIR, NO_DIR, true },
};

static const struct file_event other_event = { "", "write", 0, NO_DIR, NO_DIR, NO_DIR,
    true };
static const struct file_event other_pair = { "", "write", 1, NO_DIR, 0, NO_DIR, true };

static const struct file_event *find_event(const char *name, bool pair)
{
    for (size_t i = 0; i < ARRAY_LEN(file_events); i++)
        if (!strcmp(file_events[i].name, name))
            return &file_events[i];
    return pair ? &other_pair : &other_event;
}

static bool is_write_mode(PyObject *mode)
{
    Py_ssize_t len = 0;
    const char *text = PyUnicode_AsUTF8AndSize(mode, &len);
    PyErr_Clear();
    return !text || strpbrk(text, "wax+");
}

/*
 * A folder is opened for writing to make a file without a name in it (O_TMPFILE), or for
 * an `opener` to make one: what lies in it may be written where it itself may not.
 */
static bool judge_written(struct str path, struct arena *arena)
{
    bool exempt;
    struct stat st;
    if (!stat(path.data, &st) && S_ISDIR(st.st_mode)) {
        const char *inner = arena_printf(arena, "%s/-", path.len > 1 ? path.data : "");
        if (path_allowed(guard.setup->paths, str_of(inner), PATH_WRITE, NULL))
            return true;
    }
    return path_judge(path, PATH_WRITE, &exempt);
}

/* What an open() is for.  Where that is not told, for everything. */
static void find_uses(const struct event *e, bool *reads, bool *writes)
{
    PyObject *mode = event_arg(e, 1), *number = event_arg(e, 2);
    bool has_mode = mode && PyUnicode_Check(mode);
    bool has_flags = number && PyLong_Check(number);
    long flags = has_flags ? PyLong_AsLong(number) : 0;
    if (flags == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        has_flags = false;
    }
    bool told = has_mode || has_flags;
    *writes = !told || (has_mode && is_write_mode(mode)) ||
              flags & (O_WRONLY | O_RDWR | O_CREAT | O_APPEND | O_TRUNC);
    *reads = !told || (has_flags ? (flags & O_ACCMODE) != O_WRONLY : !*writes);
}

/* The sockets to the server: for a snippet they are not open. */
static bool check_descriptor(PyObject *path)
{
    int overflow = 0;
    long fd = path && PyLong_Check(path) ? PyLong_AsLongAndOverflow(path, &overflow) : -1;
    if (fd < 0 || (fd != guard.broker && fd != guard.events))
        return true;
    errno = EBADF;
    PyErr_SetFromErrno(PyExc_OSError);
    return false;
}

enum decision files_open(const struct event *e)
{
    struct located at;
    bool reads, writes, exempt = false;
    auto_arena *arena = arena_create();
    if (!check_descriptor(event_arg(e, 0)))
        return DECIDED_DENY;
    if (!path_locate(event_arg(e, 0), NO_DIR, true, false, arena, &at))
        return DECIDED_DENY;
    if (at.is_none)
        return DECIDED_ALLOW;
    find_uses(e, &reads, &writes);
    if ((writes && !judge_written(at.path, arena)) ||
            (reads && !path_judge(at.path, PATH_READ, &exempt)))
        return DECIDED_DENY;
    if (writes)
        notes_write(at.path, "write");
    return exempt ? DECIDED_EXEMPT : DECIDED_ALLOW;
}

static bool locate(const struct event *e, int index, int dir_index, bool follow,
        struct arena *arena, struct located *out)
{
    PyObject *folder = dir_index < 0 ? NULL : event_arg(e, dir_index);
    long dir_fd = folder && PyLong_Check(folder) ? PyLong_AsLong(folder) : NO_DIR;
    return path_locate(event_arg(e, index), (int)dir_fd, follow, true, arena, out);
}

static bool judge_write(const struct located *at)
{
    bool exempt;
    return at->is_none || path_judge(at->path, PATH_WRITE, &exempt);
}

/* Moving a folder moves what is protected in it. */
static bool judge_tree(const struct located *at)
{
    auto_refusal why;
    refusal_init(&why);
    if (!at->is_none && path_has_library(at->path))
        return path_refuse_library(at->path);
    if (at->is_none || path_tree_allowed(guard.setup->paths, at->path, &why))
        return true;
    guard_refuse(PyExc_PermissionError, &why);
    return false;
}

/* A link leads others than the snippet, too: to what this could write, if both paths
 * count, or at least read. */
static bool judge_target(const struct event *e, const struct located *link)
{
    auto_arena *arena = arena_create();
    struct located at;
    PyObject *target = event_arg(e, 0);
    auto_ref *bytes = NULL;
    if (!target || !PyUnicode_FSConverter(target, &bytes))
        return false;
    struct str folder = link->path;
    while (folder.len > 1 && folder.data[folder.len - 1] != '/')
        folder.len--;
    const char *text = PyBytes_AS_STRING(bytes);
    auto_ref *whole =
            text[0] == '/' ? Py_NewRef(bytes)
                           : PyBytes_FromFormat("%s%s", arena_cstr(arena, folder), text);
    enum path_use use =
            e->rule->disposition == AUDIT_FS_WRITE_PAIR ? PATH_WRITE : PATH_READ;
    bool exempt;
    return whole && path_locate(whole, NO_DIR, true, false, arena, &at) &&
           path_judge(at.path, use, &exempt);
}

#define SPECIAL_BITS 07000

static bool judge_mode(const struct event *e)
{
    PyObject *number = event_arg(e, 1);
    long mode = number && PyLong_Check(number) ? PyLong_AsLong(number) : SPECIAL_BITS;
    PyErr_Clear();
    if (!(mode & SPECIAL_BITS))
        return true;
    auto_refusal why;
    refusal_init(&why);
    refusal_begin(&why, "mode", NULL);
    buf_addf(&why.what, "mode 0o%lo is not permitted", (unsigned long)mode);
    buf_add(&why.rule, STR("no file gets the setuid/setgid/sticky bits"));
    buf_addf(&why.hint, "Use 0o%03lo.", (unsigned long)mode & 0777);
    guard_refuse(PyExc_PermissionError, &why);
    return false;
}

/* What an event has beyond its paths. */
static bool judge_more(const struct event *e, const struct file_event *f,
        const struct located *at, const struct located *other)
{
    if (!strcmp(f->op, "chmod"))
        return judge_mode(e);
    if (!strcmp(f->op, "rename"))
        return judge_tree(other) && judge_tree(at);
    if (!strcmp(f->op, "rmdir"))
        return judge_tree(at);
    if (!strcmp(f->op, "symlink"))
        return judge_target(e, at);
    return true;
}

enum decision files_write(const struct event *e, bool pair)
{
    auto_arena *arena = arena_create();
    struct located at = { .is_none = true }, other = { .is_none = true };
    const struct file_event *f = find_event(e->name, pair);
    bool follow = f->follow && !(!strcmp(f->op, "set-times") && replace_times_of_link());
    if (!locate(e, f->path, f->dir_fd, follow, arena, &at) ||
            (f->other >= 0 &&
                    !locate(e, f->other, f->other_dir_fd, f->follow, arena, &other)) ||
            !judge_write(&other) || !judge_write(&at) || !judge_more(e, f, &at, &other))
        return DECIDED_DENY;
    if (!at.is_none)
        notes_write(at.path, f->op);
    return DECIDED_ALLOW;
}
