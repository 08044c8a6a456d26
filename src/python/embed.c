#include "python/embed.h"

#include "python/caller.h"
#include "python/commands.h"
#include "python/hook.h"
#include "python/imports.h"
#include "python/modes.h"
#include "python/rename.h"
#include "python/replace.h"
#include "python/run.h"

#include <signal.h>
#include <unistd.h>

/*
 * Loaded before the fork, so that snippets find them ready: what most snippets use, and
 * what this library itself needs.  Each costs memory once and not per child.  Extension
 * modules are among them because a child may not be able to load code any more.
 */
static const char *const preloaded[] = { "abc", "argparse", "ast", "asyncio", "base64",
    "bisect", "calendar", "collections", "concurrent.futures.thread", "contextlib",
    "copy", "csv", "dataclasses", "datetime", "decimal", "difflib", "encodings.ascii",
    "encodings.cp1252", "encodings.idna", "encodings.latin_1", "encodings.utf_16_le",
    "encodings.utf_32_be", "enum", "fractions", "functools", "glob", "gzip", "hashlib",
    "heapq", "hmac", "html", "inspect", "io", "itertools", "json", "logging", "lzma",
    "math", "numbers", "operator", "pathlib", "pickle", "pprint", "queue", "random", "re",
    "secrets", "shutil", "signal", "socket", "sqlite3", "statistics", "string", "struct",
    "subprocess", "tempfile", "textwrap", "threading", "time", "traceback", "types",
    "typing", "unicodedata", "uuid", "warnings", "xml.etree.ElementTree", "zipfile",
    "zlib", "zoneinfo", "_strptime", NULL };

const char *const *embed_folders(struct arena *arena)
{
    const struct python_setup *s = guard.setup;
    static const char *const fixed[] = { "/usr/lib", "/usr/local/lib", "/lib", "/lib64",
        "/usr/share/zoneinfo", "/etc/localtime", "/etc/mime.types", "/etc/ld.so.cache",
        "/proc/self" };
    size_t count = ARRAY_LEN(fixed) + s->sys_path_count + s->trusted_count;
    const char **folders = arena_zalloc(arena, (count + 1) * sizeof(*folders));
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        folders[n++] = fixed[i];
    for (size_t i = 0; i < s->sys_path_count; i++)
        folders[n++] = arena_cstr(arena, s->sys_path[i]);
    for (size_t i = 0; i < s->trusted_count; i++)
        folders[n++] = arena_cstr(arena, s->trusted[i]);
    return folders;
}

static bool fail(const char *what, struct error *err)
{
    auto_ref *type = NULL, *value = NULL, *trace = NULL;
    PyErr_Fetch(&type, &value, &trace);
    auto_ref *text = value ? PyObject_Str(value) : NULL;
    const char *why = text ? PyUnicode_AsUTF8(text) : NULL;
    PyErr_Clear();
    return error_set(err, ERR_BUG, "Python: %s: %.200s", what, why ? why : "failed");
}

static void set_environment(const char *const *env)
{
    clearenv();
    for (; *env; env++) {
        const char *value = strchr(*env, '=');
        auto_free char *name = str_copy((struct str){ *env, (size_t)(value - *env) });
        setenv(name, value + 1, 1);
    }
}

/* What packages need to know in order to work here; snippets do not see it. */
static void set_environment_of_packages(void)
{
    struct str workspace = path_policy_workspace(guard.setup->paths);
    auto_buf fonts = BUF((size_t)1 << 16);
    /* The list of fonts takes long to make, and cannot be kept in the home. */
    buf_addf(&fonts, "%.*s/.pyddock/tmp/matplotlib", STR_ARG(workspace));
    setenv("MPLCONFIGDIR", fonts.data, 0);
    /* It would look at the processor with code that it writes, which nothing may here. */
    setenv("POLARS_SKIP_CPU_CHECK", "1", 0);
}

static PyStatus configure(PyConfig *config)
{
    PyPreConfig first;
    PyPreConfig_InitIsolatedConfig(&first);
    first.utf8_mode = 1;
    PyStatus status = Py_PreInitialize(&first);
    PyConfig_InitIsolatedConfig(config);
    config->install_signal_handlers = 0;
    config->site_import = 0;
    config->write_bytecode = 0;
    config->pathconfig_warnings = 0;
    config->parse_argv = 0;
    if (!PyStatus_Exception(status))
        status = PyConfig_SetBytesString(config, &config->program_name, PYTHON_PROGRAM);
    if (!PyStatus_Exception(status))
        status = Py_InitializeFromConfig(config);
    return status;
}

static bool start(struct error *err)
{
    PyConfig config;
    PyStatus status = configure(&config);
    PyConfig_Clear(&config);
    if (PyStatus_Exception(status))
        return error_set(err, ERR_BUG, "Python does not start: %s",
                status.err_msg ? status.err_msg : "no reason given");
    return true;
}

/* After the library's own folders: a package does not replace a part of that. */
static bool extend_path(void)
{
    const struct python_setup *s = guard.setup;
    PyObject *path = PySys_GetObject("path"); /* borrowed */
    static const char *const system[] = { SYSTEM_PACKAGES };
    if (!path || !PyList_Check(path))
        return false;
    for (size_t i = 0; i < s->sys_path_count + ARRAY_LEN(system); i++) {
        struct str folder = i < s->sys_path_count ? s->sys_path[i]
                                                  : str_of(system[i - s->sys_path_count]);
        auto_ref *name =
                PyUnicode_DecodeFSDefaultAndSize(folder.data, (Py_ssize_t)folder.len);
        if (!name || PyList_Append(path, name))
            return false;
    }
    return true;
}

/* One that is missing in this interpreter is missing; snippets will be told. */
static void preload(void)
{
    for (const char *const *name = preloaded; *name; name++) {
        auto_ref *module = PyImport_ImportModule(*name);
        if (!module)
            PyErr_Clear();
    }
}

/* Lines are seen as they are printed, even of a snippet that is stopped in the middle. */
static bool set_streams(void)
{
    static const char *const names[] = { "stdout", "stderr" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        PyObject *stream = PySys_GetObject(names[i]); /* borrowed */
        auto_ref *method = stream ? PyObject_GetAttrString(stream, "reconfigure") : NULL;
        auto_ref *options = Py_BuildValue("{s:O}", "line_buffering", Py_True);
        auto_ref *none = PyTuple_New(0);
        auto_ref *done =
                method && options && none ? PyObject_Call(method, none, options) : NULL;
        if (!done)
            return false;
    }
    return true;
}

/* What is there by now is not looked at by the collector, and so is not copied for it. */
static void freeze(void)
{
    PyGC_Collect();
    auto_ref *gc = PyImport_ImportModule("gc");
    auto_ref *done = gc ? PyObject_CallMethod(gc, "freeze", NULL) : NULL;
    if (!done)
        PyErr_Clear();
}

/* These are errors of a call and no end, as in any Python. */
static void ignore_signals(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

bool embed_start(struct error *err)
{
    set_environment(guard.setup->env);
    set_environment_of_packages();
    ignore_signals();
    if (!hook_install())
        return error_set(err, ERR_BUG, "Python takes no audit hook");
    if (!start(err))
        return false;
    if (!extend_path())
        return fail("sys.path", err);
    preload();
    if (guard.fixed_modes && !modes_are_fixed())
        return fail("os.chmod", err);
    if (!set_streams())
        return fail("sys.stdout", err);
    if (!caller_init() || !commands_init() || !replace_init() || !rename_init() ||
            !imports_init() || !run_init())
        return fail("start", err);
    freeze();
    return true;
}
