/* Files that are run by their name: scripts, each by the builtin that its `#!` names. */
#include "shell/exec.h"

#include <errno.h>
#include <unistd.h>

#define FIRST_LINE 256 /* what the kernel looks at */

struct interpreter {
    const char *path; /* as it is written; "sh" if there is no `#!` */
    const char *name; /* the last component of it */
    struct fields args;
};

static int read_first_line(struct shell *sh, const char *name, char *line, size_t *len)
{
    struct vpath path;
    struct vfs_stat st;
    struct vfile *file;
    int errnum = vpath_parse(str_of(name), sh->cwd, sh->arena, &path);
    if (!errnum)
        errnum = vfs_stat(sh->vfs, path, VFS_FOLLOW, &st);
    if (errnum)
        return errnum;
    if (st.type == VFS_DIR)
        return EISDIR;
    if (!(st.mode & 0111))
        return EACCES;
    errnum = vfs_open(sh->vfs, path, VFS_READ, 0, &file);
    if (errnum)
        return errnum;
    errnum = vfile_read(file, line, FIRST_LINE, len);
    vfile_close(file);
    return errnum;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static struct str trim(struct str s)
{
    while (s.len && is_blank(s.data[0]))
        s = str_from(s, 1);
    while (s.len && (is_blank(s.data[s.len - 1]) || s.data[s.len - 1] == '\r'))
        s.len--;
    return s;
}

static struct str cut_word(struct str *rest)
{
    size_t n = 0;
    while (n < rest->len && !is_blank(rest->data[n]))
        n++;
    struct str word = str_sub(*rest, 0, n);
    *rest = trim(str_from(*rest, n));
    return word;
}

static struct str last_component(struct str path)
{
    const char *slash = memrchr(path.data, '/', path.len);
    return slash ? str_from(path, (size_t)(slash - path.data) + 1) : path;
}

/* What follows the name is one argument, but `env -S` takes it apart. */
static void add_args(struct shell *sh, struct str rest, bool splits, struct fields *out)
{
    while (rest.len) {
        struct str word = splits ? cut_word(&rest) : rest;
        exec_push(sh, out, arena_cstr(sh->arena, word));
        if (!splits)
            return;
    }
}

/* `#!/usr/bin/env [-S] NAME ARG` is the same as `#!NAME ARG`. */
static struct interpreter parse_first_line(struct shell *sh, struct str line)
{
    struct interpreter by = { .path = "sh", .name = "sh" };
    if (!str_starts(line, STR("#!")))
        return by;
    struct str rest = trim(str_from(line, 2)), path = cut_word(&rest);
    bool splits = false;
    if (str_is(last_component(path), "env") && rest.len) {
        path = cut_word(&rest);
        splits = str_is(path, "-S");
        if (splits)
            path = cut_word(&rest);
    }
    by.path = arena_cstr(sh->arena, path);
    by.name = arena_cstr(sh->arena, last_component(path));
    add_args(sh, rest, splits, &by.args);
    return by;
}

static const char *no_programs(struct shell *sh)
{
    static const char none[] =
            "no program can be started here, only builtins and scripts";
    static const char not_approved[] =
            "no section of the policy is for a program of that name";
    if (sh->session->programs)
        return not_approved;
    const char *others = sh->session->elsewhere;
    return others ? arena_printf(sh->arena, "%s; %s starts those that are approved", none,
                            others)
                  : none;
}

static int run_by(struct shell *sh, const struct interpreter *by, int argc, char **argv)
{
    const struct command *command = command_find(str_of(by->name));
    struct fields args = { 0 };
    int status;
    exec_push(sh, &args, (char *)(uintptr_t)by->name);
    for (size_t i = 0; i < by->args.count; i++)
        exec_push(sh, &args, by->args.items[i]);
    for (int i = 0; i < argc; i++)
        exec_push(sh, &args, argv[i]);
    if (command)
        return exec_builtin(sh, command, (int)args.count, args.items);
    for (int by_name = !strchr(by->path, '/'); by_name < 2; by_name++) {
        args.items[0] = (char *)(uintptr_t)(by_name ? by->name : by->path);
        if (exec_program(sh, (int)args.count, args.items, &status))
            return status;
    }
    shell_err(sh, "%s: cannot be run: it wants '%s', and %s", argv[0], by->name,
            no_programs(sh));
    return 126;
}

int exec_file(struct shell *sh, int argc, char **argv)
{
    char bytes[FIRST_LINE];
    size_t len;
    int errnum = read_first_line(sh, argv[0], bytes, &len);
    if (errnum) {
        shell_err(sh, "%s: %s", argv[0], strerror(errnum));
        return errnum == ENOENT || errnum == ENOTDIR ? 127 : 126;
    }
    struct str line = { bytes, len };
    line = str_cut(&line, '\n');
    if (memchr(line.data, 0, line.len)) {
        shell_err(sh, "%s: cannot execute binary file: %s", argv[0], no_programs(sh));
        return 126;
    }
    struct interpreter by = parse_first_line(sh, line);
    return run_by(sh, &by, argc, argv);
}

/* An empty folder in $PATH is the current one. */
static char *file_in(
        struct shell *sh, struct str folder, const char *name, bool executable)
{
    struct vpath path;
    struct vfs_stat st;
    const char *slash = folder.len && folder.data[folder.len - 1] == '/' ? "" : "/";
    char *text =
            folder.len ? arena_printf(sh->arena, "%.*s%s%s", STR_ARG(folder), slash, name)
                       : arena_printf(sh->arena, "./%s", name);
    if (vpath_parse(str_of(text), sh->cwd, sh->arena, &path) ||
            vfs_stat(sh->vfs, path, VFS_FOLLOW, &st))
        return NULL;
    return st.type == VFS_FILE && (!executable || (st.mode & 0111)) ? text : NULL;
}

const char *exec_script_file(struct shell *sh, const char *name)
{
    if (!strchr(name, '/'))
        return exec_search_path(sh, name, true);
    struct vpath path;
    struct vfs_stat st;
    if (vpath_parse(str_of(name), sh->cwd, sh->arena, &path) ||
            vfs_stat(sh->vfs, path, VFS_FOLLOW, &st))
        return NULL;
    return st.type == VFS_FILE && (st.mode & 0111) ? name : NULL;
}

bool exec_is_known(struct shell *sh, const char *name)
{
    return exec_find_builtin(name) || exec_program_file(sh, name).len ||
           exec_script_file(sh, name);
}

char *exec_search_path(struct shell *sh, const char *name, bool executable)
{
    struct str path;
    char *file = NULL;
    if (!*name || !vars_get(sh->vars, STR("PATH"), &path))
        return NULL;
    for (bool more = true; more && !file && budget_spend(sh->budget, 1);) {
        more = path.len && memchr(path.data, ':', path.len);
        file = file_in(sh, str_cut(&path, ':'), name, executable);
    }
    return file;
}
