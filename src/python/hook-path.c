#include "python/hook-parts.h"

#include "base/path.h"
#include "policy/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define LOOKUPS       10000 /* in the file system, for one path */
#define MAX_PATH_TEXT ((size_t)1 << 16)

/* What the interpreter reads for libraries, wherever files may be read. */
static const char *const data_folders[] = { "/usr/share/zoneinfo", "/etc/localtime",
    "/etc/mime.types", "/etc/httpd/conf/mime.types" };

static bool refuse_object(const char *what, const char *hint)
{
    auto_refusal why;
    refusal_init(&why);
    refusal_begin(&why, "path", NULL);
    buf_addf(&why.what, "using %s as a path is not permitted", what);
    buf_add(&why.rule, STR("what is checked is what is opened"));
    buf_add(&why.hint, str_of(hint));
    guard_refuse(PyExc_PermissionError, &why);
    return false;
}

/* The bytes of a path that cannot change any more.  A new reference. */
static PyObject *bytes_of(PyObject *path)
{
    if (PyBytes_Check(path))
        return Py_NewRef(path);
    if (PyUnicode_Check(path))
        return PyUnicode_EncodeFSDefault(path);
    if (PyObject_CheckBuffer(path))
        refuse_object("a mutable buffer", "Give it as str or bytes.");
    else
        refuse_object("an object that is no text",
                "Give os.fspath(it), so that it is asked for its path once.");
    return NULL;
}

static bool read_link(int fd, char out[static PATH_MAX], size_t *len)
{
    char name[40];
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(name, out, PATH_MAX);
    *len = n > 0 ? (size_t)n : 0;
    return n > 0 && n < PATH_MAX && out[0] == '/';
}

static bool find_base(int dir_fd, struct arena *arena, struct str *out)
{
    char text[PATH_MAX];
    size_t len = 0;
    bool found;
    if (dir_fd == -1 || dir_fd == AT_FDCWD) {
        found = getcwd(text, sizeof(text)) && text[0] == '/';
        len = found ? strlen(text) : 0;
    } else {
        found = read_link(dir_fd, text, &len);
    }
    if (!found) {
        errno = dir_fd == -1 || dir_fd == AT_FDCWD ? ENOENT : EBADF;
        PyErr_SetFromErrno(PyExc_OSError);
        return false;
    }
    *out = arena_str(arena, (struct str){ text, len });
    return true;
}

static bool find_place(
        struct str base, struct str path, struct arena *arena, struct str *out)
{
    struct place place;
    unsigned budget = LOOKUPS;
    if (!place_find(base, path, PLACE_FOLLOW, arena, &budget, &place)) {
        errno = ELOOP;
        PyErr_SetFromErrno(PyExc_OSError);
        return false;
    }
    *out = place.path;
    return true;
}

/* The name at the end, or "" if it is none that a link could have. */
static struct str last_name(struct str path)
{
    while (path.len && path.data[path.len - 1] == '/')
        path.len--;
    size_t at = path.len;
    while (at && path.data[at - 1] != '/')
        at--;
    struct str name = str_from(path, at);
    return str_is(name, ".") || str_is(name, "..") ? STR("") : name;
}

static bool find_entry(
        struct str base, struct str path, struct arena *arena, struct str *out)
{
    struct str name = last_name(path);
    if (!name.len)
        return find_place(base, path, arena, out);
    struct str folder = str_sub(path, 0, (size_t)(name.data - path.data));
    struct str real;
    if (!find_place(base, folder.len ? folder : STR("."), arena, &real))
        return false;
    *out = str_of(arena_printf(arena, "%.*s/%.*s", real.len > 1 ? (int)real.len : 0,
            real.data, STR_ARG(name)));
    return true;
}

static bool locate_descriptor(PyObject *number, struct arena *arena, struct located *out)
{
    char text[PATH_MAX];
    size_t len;
    long fd = PyLong_AsLong(number);
    if (fd == -1 && PyErr_Occurred())
        return false;
    out->is_none = fd < 0 || fd > INT_MAX || !read_link((int)fd, text, &len);
    if (!out->is_none)
        out->path = arena_str(arena, (struct str){ text, len });
    return true;
}

bool path_locate(PyObject *path, int dir_fd, bool follow, bool descriptors,
        struct arena *arena, struct located *out)
{
    *out = (struct located){ .is_none = true };
    if (!path || path == Py_None)
        return true;
    if (PyLong_Check(path))
        return !descriptors || locate_descriptor(path, arena, out);
    auto_ref *bytes = bytes_of(path);
    if (!bytes)
        return false;
    struct str text = { PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes) };
    struct str base = STR("/");
    if (memchr(text.data, 0, text.len)) {
        PyErr_SetString(PyExc_ValueError, "embedded null byte");
        return false;
    }
    if (text.len > MAX_PATH_TEXT) {
        errno = ENAMETOOLONG;
        PyErr_SetFromErrno(PyExc_OSError);
        return false;
    }
    if ((!text.len || text.data[0] != '/') && !find_base(dir_fd, arena, &base))
        return false;
    out->is_none = false;
    return follow ? find_place(base, text, arena, &out->path)
                  : find_entry(base, text, arena, &out->path);
}

static bool is_data(struct str path)
{
    for (size_t i = 0; i < ARRAY_LEN(data_folders); i++)
        if (path_is_in(path, str_of(data_folders[i])))
            return true;
    return false;
}

/* Data is read by everybody, and a library by itself and the import machinery, whatever
 * may be read. */
static bool is_exempt(struct str path, enum path_use use)
{
    return use != PATH_WRITE &&
           (is_data(path) || (caller_of_file(path) != CALLER_AGENT &&
                                     caller_innermost() != CALLER_AGENT));
}

bool path_refuse_library(struct str path)
{
    auto_refusal why;
    refusal_init(&why);
    refusal_begin(&why, "write-protected", NULL);
    buf_add(&why.what, STR("writing '"));
    buf_add_escaped(&why.what, path);
    buf_add(&why.what, STR("' is not permitted"));
    buf_add(&why.rule, STR("folders of libraries are write-protected: code that is in "
                           "them is trusted"));
    buf_add(&why.hint, STR("Write a copy in the workspace."));
    guard_refuse(PyExc_PermissionError, &why);
    return false;
}

static bool is_library(struct str path)
{
    const struct str *folder;
    for (size_t i = 0; (folder = caller_folder(i)); i++)
        if (path_is_in(path, *folder))
            return true;
    return false;
}

bool path_has_library(struct str path)
{
    const struct str *folder;
    for (size_t i = 0; (folder = caller_folder(i)); i++)
        if (path_is_in(*folder, path))
            return true;
    return false;
}

bool path_judge(struct str canonical, enum path_use use, bool *exempt)
{
    auto_refusal why;
    refusal_init(&why);
    *exempt = is_exempt(canonical, use);
    if (*exempt)
        return true;
    const struct path_policy *policy = guard.setup->paths;
    bool allowed = caller_behind() == CALLER_TRUSTED
                           ? path_allowed_trusted(policy, canonical, use, &why)
                           : path_allowed(policy, canonical, use, &why);
    if (allowed && use == PATH_WRITE && is_library(canonical))
        return path_refuse_library(canonical);
    if (!allowed)
        guard_refuse(PyExc_PermissionError, &why);
    return allowed;
}

int hook_check_path(PyObject *path, int dir_fd, enum path_use use)
{
    struct located at;
    bool exempt;
    auto_arena *arena = arena_create();
    auto_ref *fixed = PyLong_Check(path) ? Py_NewRef(path) : PyOS_FSPath(path);
    if (!fixed || !path_locate(fixed, dir_fd, true, true, arena, &at))
        return -1;
    return at.is_none || path_judge(at.path, use, &exempt) ? 0 : -1;
}

int hook_resolve(PyObject *path, int dir_fd, struct buf *out)
{
    struct str base = STR("");
    auto_arena *arena = arena_create();
    auto_ref *fixed = PyOS_FSPath(path);
    auto_ref *bytes = fixed ? bytes_of(fixed) : NULL;
    if (!bytes)
        return -1;
    struct str text = { PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes) };
    if (!text.len || text.data[0] != '/') {
        if (!find_base(dir_fd, arena, &base))
            return -1;
        buf_add(out, base);
        buf_addc(out, '/');
    }
    buf_add(out, text);
    if (!out->full)
        return 0;
    errno = ENAMETOOLONG;
    PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
    return -1;
}
