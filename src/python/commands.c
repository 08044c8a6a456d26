#include "python/commands.h"

#include "python/caller.h"
#include "python/command-client.h"
#include "python/replace.h"

#include "base/json.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Larger than any number that the kernel gives to a process. */
#define FIRST_PID ((long)1 << 30)
#define MAX_ID    ((int64_t)1 << 29)

/* What _posixsubprocess.fork_exec() is called with; the names are Python's. */
enum {
    ARGS,
    EXECUTABLES,
    CLOSE_FDS,
    PASS_FDS,
    CWD,
    ENV,
    P2C_READ,
    P2C_WRITE,
    C2P_READ,
    C2P_WRITE,
    ERR_READ,
    ERR_WRITE,
    ERRPIPE_READ,
    ERRPIPE_WRITE,
    RESTORE_SIGNALS,
    SETSID,
    PGID,
    GID,
    GROUPS,
    UID,
    UMASK,
    PREEXEC_FN,
    FORK_EXEC_ARGS
};

static struct str bytes_str(PyObject *bytes)
{
    return (struct str){ PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes) };
}

/* A string of the request, whatever its bytes are. */
static json_t *json_bytes(struct str s)
{
    json_t *text = json_stringn(s.data, s.len);
    if (text)
        return text;
    auto_buf hex = BUF(2 * s.len + 1);
    buf_add_hex(&hex, s.data, s.len);
    return json_pack("{s:s}", "hex", hex.data);
}

static PyObject *refuse(const char *what, const char *hint)
{
    auto_refusal why;
    refusal_init(&why);
    refusal_begin(&why, "subprocess", NULL);
    buf_add(&why.what, str_of(what));
    buf_add(&why.rule, STR("a command gets its arguments, variables, folder and streams, "
                           "and nothing else of a snippet"));
    buf_add(&why.hint, str_of(hint));
    return guard_refuse(PyExc_PermissionError, &why);
}

/* The arguments as bytes; a new reference to a tuple that nobody else has. */
static PyObject *take_argv(PyObject *args)
{
    auto_ref *items = PySequence_Tuple(args);
    PyObject *argv = items ? PyTuple_New(PyTuple_GET_SIZE(items)) : NULL;
    for (Py_ssize_t i = 0; argv && i < PyTuple_GET_SIZE(items); i++) {
        PyObject *bytes = NULL;
        if (PyUnicode_FSConverter(PyTuple_GET_ITEM(items, i), &bytes))
            PyTuple_SET_ITEM(argv, i, bytes);
        else
            Py_CLEAR(argv);
    }
    if (argv && !PyTuple_GET_SIZE(argv)) {
        Py_CLEAR(argv);
        refuse("an empty command is not permitted",
                "Pass the program and its arguments as a list.");
    }
    return argv;
}

/* Is it `command` itself, or what the search path would make of it? */
static bool is_command(struct str path, struct str command)
{
    if (str_eq(path, command))
        return true;
    bool has_folder = command.len && memchr(command.data, '/', command.len);
    return !has_folder && path.len > command.len && str_ends(path, command) &&
           path.data[path.len - command.len - 1] == '/';
}

static bool check_executables(PyObject *list, PyObject *argv)
{
    struct str command = bytes_str(PyTuple_GET_ITEM(argv, 0));
    auto_ref *paths = PySequence_Tuple(list);
    for (Py_ssize_t i = 0; paths && i < PyTuple_GET_SIZE(paths); i++) {
        PyObject *path = PyTuple_GET_ITEM(paths, i);
        if (PyBytes_Check(path) && is_command(bytes_str(path), command))
            continue;
        refuse("executable= does not match the command, args[0]",
                "Leave executable= out, and name the program as the first argument.");
        return false;
    }
    return paths;
}

static bool is_none(PyObject *args, int which)
{
    return PyTuple_GET_ITEM(args, which) == Py_None;
}

/* What would have to be done in the new process, which is not ours. */
static bool check_options(PyObject *args)
{
    long umask = PyLong_AsLong(PyTuple_GET_ITEM(args, UMASK));
    if (umask == -1 && PyErr_Occurred())
        return false;
    if (!is_none(args, PREEXEC_FN))
        refuse("preexec_fn= is not permitted: no code of a snippet runs in a command",
                "start_new_session= and cwd= do what it is mostly used for.");
    else if (!is_none(args, UID) || !is_none(args, GID) || !is_none(args, GROUPS) ||
             umask >= 0)
        refuse("user=, group=, extra_groups= and umask= are not permitted",
                "A command runs as the user of the server.");
    return !PyErr_Occurred();
}

/* Beside the three streams there is the library's own pipe for errors, and no more. */
static bool check_pass_fds(PyObject *args)
{
    long own = PyLong_AsLong(PyTuple_GET_ITEM(args, ERRPIPE_WRITE));
    auto_ref *fds = PySequence_Tuple(PyTuple_GET_ITEM(args, PASS_FDS));
    for (Py_ssize_t i = 0; fds && i < PyTuple_GET_SIZE(fds); i++) {
        long fd = PyLong_AsLong(PyTuple_GET_ITEM(fds, i));
        if (fd == own && !PyErr_Occurred())
            continue;
        if (!PyErr_Occurred())
            refuse("pass_fds= is not permitted",
                    "Use stdin, stdout and stderr, or a file in the workspace.");
        return false;
    }
    return fds && !PyErr_Occurred();
}

static bool take_stream(PyObject *args, int which, int inherited, int *out)
{
    long fd = PyLong_AsLong(PyTuple_GET_ITEM(args, which));
    if (fd == -1 && PyErr_Occurred())
        return false;
    *out = fd < 0 || fd > INT_MAX ? inherited : (int)fd;
    return true;
}

static bool take_streams(PyObject *args, int *streams)
{
    return take_stream(args, P2C_READ, STDIN_FILENO, &streams[0]) &&
           take_stream(args, C2P_WRITE, STDOUT_FILENO, &streams[1]) &&
           take_stream(args, ERR_WRITE, STDERR_FILENO, &streams[2]);
}

static json_t *argv_json(PyObject *argv)
{
    json_t *list = json_array();
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(argv); i++)
        json_array_append_new(list, json_bytes(bytes_str(PyTuple_GET_ITEM(argv, i))));
    return list;
}

/* Relative to where this process is, which need not be the workspace. */
static bool add_cwd(json_t *request, PyObject *cwd)
{
    char here[PATH_MAX];
    auto_ref *given = NULL;
    auto_buf path = BUF((size_t)1 << 16);
    if (cwd != Py_None && !PyUnicode_FSConverter(cwd, (void *)&given))
        return false;
    struct str folder = given ? bytes_str(given) : STR("");
    if (!getcwd(here, sizeof(here))) {
        PyErr_SetFromErrno(PyExc_OSError);
        return false;
    }
    bool is_relative = !folder.len || folder.data[0] != '/';
    if (is_relative && !str_is(path_policy_workspace(guard.setup->paths), here))
        buf_addf(&path, "%s/", here);
    buf_add(&path, folder);
    if (path.len)
        json_object_set_new(request, "cwd", json_bytes(buf_str(&path)));
    return true;
}

/* It has that value already, here as there. */
static bool is_inherited(struct str assignment)
{
    for (const char *const *v = guard.setup->env; *v; v++)
        if (str_is(assignment, *v))
            return true;
    return false;
}

static bool add_variable(json_t *list, PyObject *item)
{
    if (!PyBytes_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "the environment has to be bytes");
        return false;
    }
    struct str value = bytes_str(item), whole = value;
    struct str name = str_cut(&value, '=');
    if (!name.len || memchr(whole.data, '\0', whole.len)) {
        PyErr_SetString(PyExc_ValueError,
                name.len ? "embedded null byte" : "illegal environment variable name");
        return false;
    }
    if (!is_inherited(whole))
        json_array_append_new(
                list, json_pack("[o, o]", json_bytes(name), json_bytes(value)));
    return true;
}

/* Overrides: what is not named stays as it is. */
static bool add_env(json_t *request, PyObject *env)
{
    if (env == Py_None)
        return true;
    auto_ref *items = PySequence_Tuple(env);
    json_t *list = json_array();
    json_object_set_new(request, "env", list);
    for (Py_ssize_t i = 0; items && i < PyTuple_GET_SIZE(items); i++)
        if (!add_variable(list, PyTuple_GET_ITEM(items, i)))
            return false;
    return items;
}

static PyObject *ask(PyObject *args, PyObject *argv, const int *streams)
{
    PyObject *command = PyTuple_GET_ITEM(argv, 0);
    auto_ref *program = PyUnicode_DecodeFSDefaultAndSize(
            PyBytes_AS_STRING(command), PyBytes_GET_SIZE(command));
    json_auto_t *request = json_pack("{s:o, s:s}", "argv", argv_json(argv), "caller",
            caller_name(caller_responsible()));
    if (!program || !add_cwd(request, PyTuple_GET_ITEM(args, CWD)) ||
            !add_env(request, PyTuple_GET_ITEM(args, ENV)))
        return NULL;
    int64_t id = client_spawn(json_incref(request), streams, program);
    return id ? PyLong_FromLong(FIRST_PID + (long)id) : NULL;
}

static PyObject *start(PyObject *args)
{
    int streams[3];
    if (PyTuple_GET_SIZE(args) < FORK_EXEC_ARGS) {
        PyErr_SetString(PyExc_TypeError, "fork_exec() takes more arguments");
        return NULL;
    }
    auto_ref *argv = take_argv(PyTuple_GET_ITEM(args, ARGS));
    if (!argv || !check_executables(PyTuple_GET_ITEM(args, EXECUTABLES), argv) ||
            !check_options(args) || !check_pass_fds(args) || !take_streams(args, streams))
        return NULL;
    return ask(args, argv, streams);
}

/* The id of a command, or 0: it is a number of the kernel's. */
static int64_t id_of(PyObject *pid)
{
    int overflow;
    long number = PyLong_Check(pid) ? PyLong_AsLongAndOverflow(pid, &overflow) : 0;
    int64_t id = number > FIRST_PID ? number - FIRST_PID : 0;
    return id < MAX_ID ? id : 0;
}

static PyObject *fail(int error)
{
    errno = error;
    return PyErr_SetFromErrno(PyExc_OSError);
}

static PyObject *wait_for(PyObject *pid, int64_t id, int options)
{
    int status = 0;
    switch (client_wait(id, !(options & WNOHANG), &status)) {
    case CLIENT_RUNS:
        return Py_BuildValue("(ii)", 0, 0);
    case CLIENT_ENDED:
        return Py_BuildValue("(Oi)", pid, status);
    case CLIENT_UNKNOWN:
        return fail(ECHILD);
    case CLIENT_FAILED:
        break;
    }
    return NULL;
}

static PyObject *signal_to(int64_t id, int number)
{
    if (number < 0 || number > SIGRTMAX)
        return fail(EINVAL);
    if (!client_signal(id, number))
        return PyErr_Occurred() ? NULL : fail(ESRCH);
    Py_RETURN_NONE;
}

typedef PyObject *fast_function(
        PyObject *module, PyObject *const *args, Py_ssize_t count);

static PyCFunction old_fork_exec, old_waitpid, old_kill;

static fast_function *fast(PyCFunction function)
{
    return (fast_function *)(void (*)(void))function;
}

static PyCFunction plain(fast_function *function)
{
    return (PyCFunction)(void (*)(void))function;
}

/* The id among the first of two arguments, the second is a number; 0: it is no call about
 * a command, -1: an exception is set. */
static int64_t read_two(PyObject *const *args, Py_ssize_t count, int *second)
{
    int64_t id = count == 2 ? id_of(args[0]) : 0;
    long number = id ? PyLong_AsLong(args[1]) : 0;
    if (number == -1 && PyErr_Occurred())
        return -1;
    *second = number < INT_MIN || number > INT_MAX ? -1 : (int)number;
    return id;
}

static PyObject *posix_waitpid(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    int options;
    int64_t id = read_two(args, count, &options);
    if (!id)
        return fast(old_waitpid)(module, args, count);
    return id < 0 ? NULL : wait_for(args[0], id, options);
}

static PyObject *posix_kill(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    int number;
    int64_t id = read_two(args, count, &number);
    if (!id)
        return fast(old_kill)(module, args, count);
    return id < 0 ? NULL : signal_to(id, number);
}

#if PY_VERSION_HEX >= 0x030c0000
#define FORK_EXEC_FLAGS METH_FASTCALL

static PyObject *fork_exec(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (!guard.armed)
        return fast(old_fork_exec)(module, args, count);
    auto_ref *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple && i < count; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
    return tuple ? start(tuple) : NULL;
}
#else
#define FORK_EXEC_FLAGS METH_VARARGS

static PyObject *fork_exec(PyObject *module, PyObject *args)
{
    return guard.armed ? start(args) : old_fork_exec(module, args);
}
#endif

/* The other ways to start a program have nothing to ask us. */
static bool use_fork_exec(void)
{
    auto_ref *subprocess = PyImport_ImportModule("subprocess");
    return subprocess &&
           !PyObject_SetAttrString(subprocess, "_USE_POSIX_SPAWN", Py_False) &&
           !PyObject_SetAttrString(subprocess, "_USE_VFORK", Py_False);
}

bool commands_init(void)
{
    PyCFunction start_one = (PyCFunction)(void (*)(void))fork_exec;
    return use_fork_exec() &&
           replace_function("_posixsubprocess", "fork_exec", FORK_EXEC_FLAGS, start_one,
                   &old_fork_exec) &&
           replace_function("posix", "waitpid", METH_FASTCALL, plain(posix_waitpid),
                   &old_waitpid) &&
           replace_function("posix", "kill", METH_FASTCALL, plain(posix_kill), &old_kill);
}
