/* cd pwd pushd popd dirs */
#include "shell/builtin/letters.h"
#include "shell/exec.h"

#include <errno.h>

#define MAX_DIRS 1000

/* Fold ".." textually, as `cd -L` does; in `arena`. */
static struct str fold_dots(struct str text, struct arena *arena)
{
    char *out = arena_alloc(arena, text.len + 2);
    size_t len = 0;
    for (struct str rest = text; rest.len;) {
        struct str part = str_cut(&rest, '/');
        if (!part.len || str_is(part, "."))
            continue;
        if (str_is(part, "..")) {
            while (len && out[--len] != '/')
                ;
            continue;
        }
        out[len++] = '/';
        memcpy(out + len, part.data, part.len);
        len += part.len;
    }
    if (!len)
        out[len++] = '/';
    out[len] = 0;
    return (struct str){ out, len };
}

/* Where `cd text` leads, and that it is a directory: 0 or an errno. */
static int find_dir(struct cmd *c, struct str text, bool physical, struct vpath *out)
{
    struct vpath path;
    struct vfs_stat st;
    int errnum = vpath_parse(text, c->shell->cwd, c->arena, &path);
    if (errnum)
        return errnum;
    if (physical) {
        errnum = vfs_resolve(c->vfs, path, VFS_FOLLOW, c->arena, &path);
    } else {
        /* a/../b needs an `a` that is there, even though it is folded away */
        errnum = vfs_stat(c->vfs, path, VFS_FOLLOW, &st);
        if (!errnum)
            errnum = vpath_parse(
                    fold_dots(path.text, c->arena), VPATH_ROOT, c->arena, &path);
    }
    if (!errnum)
        errnum = vfs_stat(c->vfs, path, VFS_FOLLOW, &st);
    if (!errnum && st.type != VFS_DIR)
        errnum = ENOTDIR;
    if (!errnum)
        errnum = vfs_access(c->vfs, path, 1 /* X_OK */);
    if (!errnum)
        *out = path;
    return errnum;
}

static bool set_exported(struct shell *sh, const char *name, struct str value)
{
    struct error err;
    struct str n = str_of(name);
    if (vars_set(sh->vars, n, value, &err))
        return true;
    shell_err(sh, "%s", err.message);
    return false;
}

/* Make `path` the current directory; PWD and OLDPWD follow. */
static bool enter(struct shell *sh, struct vpath path)
{
    struct str pwd;
    bool ok = set_exported(
            sh, "OLDPWD", vars_get(sh->vars, STR("PWD"), &pwd) ? pwd : sh->cwd.text);
    char *text = xstrdup(path.text.data);
    free((char *)(uintptr_t)sh->cwd.text.data);
    sh->cwd = (struct vpath){ .text = str_of(text) };
    return set_exported(sh, "PWD", sh->cwd.text) && ok;
}

/* A relative name that does not begin with a dot is looked for in CDPATH first. */
static int find_in_cdpath(
        struct cmd *c, const char *name, bool physical, struct vpath *out, bool *print)
{
    struct str list;
    bool plain = name[0] != '/' && !(name[0] == '.' && strchr("/.", name[1]));
    if (!name[0] || !plain || !vars_get(c->shell->vars, STR("CDPATH"), &list))
        return ENOENT;
    while (list.len) {
        struct str dir = str_cut(&list, ':');
        char *text = arena_printf(
                c->arena, "%.*s%s%s", STR_ARG(dir), dir.len ? "/" : "", name);
        if (!find_dir(c, str_of(text), physical, out)) {
            *print = dir.len > 0;
            return 0;
        }
    }
    return ENOENT;
}

/* The operand of cd: a name, HOME without one, OLDPWD for "-"; NULL was reported. */
static const char *target(struct cmd *c, int i, bool *print)
{
    const char *variable = i >= c->argc              ? "HOME"
                           : strcmp(c->argv[i], "-") ? NULL
                                                     : "OLDPWD";
    if (!variable)
        return c->argv[i];
    *print = i < c->argc;
    const char *value = cmd_env(c, variable);
    if (!value)
        cmd_err(c, "%s not set", variable);
    return value;
}

static int change(struct cmd *c, const char *name, bool physical, bool print)
{
    struct vpath path;
    int errnum = find_in_cdpath(c, name, physical, &path, &print);
    if (errnum && !*name)
        return 0;
    if (errnum)
        errnum = find_dir(c, str_of(name), physical, &path);
    struct str value;
    if (errnum && (c->shell->shopt & SHOPT_CDABLE_VARS) &&
            vars_get(c->shell->vars, str_of(name), &value) &&
            !find_dir(c, value, physical, &path)) {
        errnum = 0;
        if (!cmd_printf(c, "%.*s\n", STR_ARG(value)))
            return 1;
    }
    if (errnum) {
        cmd_err_file(c, name, errnum);
        return 1;
    }
    if (!enter(c->shell, path))
        return 1;
    return !print || cmd_printf(c, "%s\n", path.text.data) ? 0 : 1;
}

static int cmd_cd(struct cmd *c)
{
    bool physical = c->shell->set & SET_PHYSICAL, print = false;
    struct letters l = letters_of(c, "LPe@", "cd [-L|[-P [-e]] [-@]] [dir]");
    for (int k; (k = letters_next(&l)) != CMD_END;) {
        if (k == CMD_BAD)
            return 2;
        if (k == 'L' || k == 'P')
            physical = k == 'P';
    }
    if (c->argc - l.index > 1) {
        cmd_err(c, "too many arguments");
        return 1;
    }
    const char *name = target(c, l.index, &print);
    return name ? change(c, name, physical, print) : 1;
}

static int cmd_pwd(struct cmd *c)
{
    bool physical = c->shell->set & SET_PHYSICAL;
    struct letters l = letters_of(c, "LP", "pwd [-LP]");
    for (int k; (k = letters_next(&l)) != CMD_END;) {
        if (k == CMD_BAD)
            return 2;
        physical = k == 'P';
    }
    struct vpath path = c->cwd;
    int errnum = physical ? vfs_resolve(c->vfs, path, VFS_FOLLOW, c->arena, &path) : 0;
    if (errnum) {
        cmd_err_file(c, "error retrieving current directory", errnum);
        return 1;
    }
    return cmd_printf(c, "%s\n", path.text.data) ? 0 : 1;
}

static void push(struct shell *sh, struct str dir)
{
    GROW(sh->dirs, sh->dir_count, sh->dir_cap);
    sh->dirs[sh->dir_count++] = str_of(xstrdup(arena_cstr(sh->arena, dir)));
}

/* Entry n of the list that `dirs` prints: 0 is the current directory. */
static struct str entry(const struct shell *sh, size_t n)
{
    return n ? sh->dirs[sh->dir_count - n] : sh->cwd.text;
}

static void drop(struct shell *sh, size_t n)
{
    size_t at = sh->dir_count - n;
    free((char *)(uintptr_t)sh->dirs[at].data);
    memmove(&sh->dirs[at], &sh->dirs[at + 1], (n - 1) * sizeof(*sh->dirs));
    sh->dir_count--;
}

/* With HOME at the start written as ~. */
static struct str shorten(struct cmd *c, struct str dir, bool full)
{
    const char *home = cmd_env(c, "HOME");
    struct str h = str_of(home ? home : "");
    if (full || h.len < 2 || !str_starts(dir, h) ||
            (dir.len > h.len && dir.data[h.len] != '/'))
        return dir;
    return str_of(arena_printf(c->arena, "~%s", dir.data + h.len));
}

static bool print_stack(struct cmd *c, bool full, bool lines, bool numbers)
{
    struct shell *sh = c->shell;
    for (size_t i = 0; i <= sh->dir_count; i++) {
        struct str dir = shorten(c, entry(sh, i), full);
        const char *before = i && !lines ? " " : "";
        if (numbers ? !cmd_printf(c, "%2zu  %.*s\n", i, STR_ARG(dir))
                    : !cmd_printf(c, "%s%.*s%s", before, STR_ARG(dir), lines ? "\n" : ""))
            return false;
    }
    return lines || cmd_putc(c, '\n');
}

/* +N counts from the left, -N from the right; false: it is neither. */
static bool stack_index(struct cmd *c, const char *arg, size_t *out)
{
    int64_t n;
    if ((arg[0] != '+' && arg[0] != '-') || !str_int(str_of(arg + 1), &n) || n < 0)
        return false;
    size_t count = c->shell->dir_count + 1;
    *out = (uint64_t)n >= count ? count
           : arg[0] == '+'      ? (size_t)n
                                : count - 1 - (size_t)n;
    return true;
}

static int out_of_range(struct cmd *c, const char *arg)
{
    if (!c->shell->dir_count)
        cmd_err(c, "directory stack empty");
    else
        cmd_err(c, "%s: directory stack index out of range", arg);
    return 1;
}

/* pushd +N: that entry to the top, the rest rotates. */
static int rotate(struct cmd *c, size_t n, bool stay)
{
    struct shell *sh = c->shell;
    size_t count = sh->dir_count + 1;
    struct str *all = arena_alloc(c->arena, count * sizeof(*all));
    for (size_t i = 0; i < count; i++)
        all[i] = arena_str(c->arena, entry(sh, (i + n) % count));
    if (!stay && change(c, all[0].data, false, false))
        return 1;
    while (sh->dir_count)
        drop(sh, 1);
    for (size_t i = count; i-- > 1;)
        push(sh, all[i]);
    return print_stack(c, false, false, false) ? 0 : 1;
}

static int cmd_pushd(struct cmd *c)
{
    struct shell *sh = c->shell;
    int i = 1;
    bool stay = i < c->argc && !strcmp(c->argv[i], "-n");
    i += stay;
    if (i < c->argc && !strcmp(c->argv[i], "--"))
        i++;
    size_t n = 1;
    if (i >= c->argc && !sh->dir_count) {
        cmd_err(c, "no other directory");
        return 1;
    }
    if (i >= c->argc || stack_index(c, c->argv[i], &n))
        return n > sh->dir_count ? out_of_range(c, c->argv[i]) : rotate(c, n, stay);
    if (sh->dir_count >= MAX_DIRS) {
        cmd_err(c, "directory stack full");
        return 1;
    }
    struct str old = arena_str(c->arena, sh->cwd.text);
    if (stay)
        old = str_of(c->argv[i]);
    else if (change(c, c->argv[i], false, false))
        return 1;
    push(sh, old);
    return print_stack(c, false, false, false) ? 0 : 1;
}

static int cmd_popd(struct cmd *c)
{
    struct shell *sh = c->shell;
    int i = 1;
    size_t n = 0;
    bool stay = i < c->argc && !strcmp(c->argv[i], "-n");
    i += stay;
    if (!sh->dir_count)
        return out_of_range(c, "");
    if (i < c->argc && !stack_index(c, c->argv[i], &n)) {
        cmd_err(c, "%s: invalid argument", c->argv[i]);
        return letters_usage(c, "popd [-n] [+N | -N]");
    }
    if (n > sh->dir_count)
        return out_of_range(c, c->argv[i]);
    if (n == 0 && !stay) {
        if (change(c, entry(sh, 1).data, false, false))
            return 1;
        n = 1;
    }
    drop(sh, n ? n : 1);
    return print_stack(c, false, false, false) ? 0 : 1;
}

static int cmd_dirs(struct cmd *c)
{
    struct shell *sh = c->shell;
    bool full = false, lines = false, numbers = false;
    for (int i = 1; i < c->argc; i++) {
        size_t n;
        if (stack_index(c, c->argv[i], &n)) {
            if (n > sh->dir_count)
                return out_of_range(c, c->argv[i]);
            struct str dir = shorten(c, entry(sh, n), full);
            return cmd_printf(c, "%.*s\n", STR_ARG(dir)) ? 0 : 1;
        }
        if (!strcmp(c->argv[i], "-c")) {
            while (sh->dir_count)
                drop(sh, 1);
            return 0;
        }
        if (c->argv[i][0] != '-' ||
                strspn(c->argv[i] + 1, "lpv") != strlen(c->argv[i] + 1)) {
            cmd_err(c, "%s: invalid option", c->argv[i]);
            return letters_usage(c, "dirs [-clpv] [+N] [-N]");
        }
        full |= strchr(c->argv[i], 'l') != NULL;
        lines |= strchr(c->argv[i], 'p') != NULL;
        numbers |= strchr(c->argv[i], 'v') != NULL;
    }
    return print_stack(c, full, lines || numbers, numbers) ? 0 : 1;
}

const struct command command_cd = { .name = "cd",
    .run = cmd_cd,
    .usage = "[-L|-P] [DIR]",
    .summary = "Change the current directory to DIR (default: $HOME; -: the one before).",
    .flags = CMD_BUILTIN | CMD_SHELL };

const struct command command_pwd = { .name = "pwd",
    .run = cmd_pwd,
    .usage = "[-L|-P]",
    .summary = "Print the current directory (-P: with links resolved).",
    .flags = CMD_BUILTIN };

const struct command command_pushd = { .name = "pushd",
    .run = cmd_pushd,
    .usage = "[-n] [+N | -N | DIR]",
    .summary = "Enter DIR and remember where we were; without it: exchange the top two.",
    .flags = CMD_BUILTIN | CMD_SHELL };

const struct command command_popd = { .name = "popd",
    .run = cmd_popd,
    .usage = "[-n] [+N | -N]",
    .summary = "Go back to the directory that pushd remembered.",
    .flags = CMD_BUILTIN | CMD_SHELL };

const struct command command_dirs = { .name = "dirs",
    .run = cmd_dirs,
    .usage = "[-clpv] [+N | -N]",
    .summary = "Print the remembered directories.",
    .flags = CMD_BUILTIN | CMD_SHELL };
