#include "shell/builtin/files.h"
#include "shell/builtin/mode.h"
#include "shell/builtin/quote.h"

#include <errno.h>

static const struct cmd_opt options[] = {
    { 'm', "mode", ARG_REQUIRED, "MODE", "permissions, as chmod takes them" },
    { 'p', "parents", ARG_NONE, NULL,
            "make the directories above too; existing is fine" },
    { 'v', "verbose", ARG_NONE, NULL, "print a line for each directory made" },
    { 0 },
};

struct mkdir {
    struct cmd *c;
    bool parents, verbose;
    const struct mode_change *mode; /* NULL: what the umask leaves */
};

static bool failed(struct mkdir *m, const char *name, int errnum)
{
    cmd_err(m->c, "cannot create directory %s: %s", quote(m->c, name),
            errno_text(errnum));
    return false;
}

static bool made(struct mkdir *m, const char *name)
{
    return !m->verbose ||
           cmd_printf(m->c, "%s: created directory %s\n", m->c->name, quote(m->c, name));
}

static int set_mode(struct mkdir *m, const char *name)
{
    if (!m->mode)
        return 0;
    uint32_t mode = mode_apply(m->mode, 0777 & ~0u, true, MODE_UMASK);
    return file_chmod(m->c, name, mode);
}

static bool make_one(struct mkdir *m, const char *name)
{
    int errnum = file_mkdir(m->c, name, 0777);
    if (!errnum)
        errnum = set_mode(m, name);
    return errnum ? failed(m, name, errnum) : made(m, name);
}

/* One directory on the way of -p: EEXIST is fine if it is one. */
static bool make_part(struct mkdir *m, const char *name, bool last)
{
    int errnum = file_mkdir(m->c, name, 0777);
    if (!errnum && last)
        errnum = set_mode(m, name);
    if (!errnum)
        return made(m, name);
    if (file_is_dir(m->c, name))
        return true;
    struct vfs_stat st;
    if (errnum == EEXIST && !last && !file_stat(m->c, name, VFS_FOLLOW, &st))
        errnum = ENOTDIR;
    return failed(m, name, errnum);
}

static bool make_all(struct mkdir *m, const char *name)
{
    struct str s = name_without_slashes(name);
    for (size_t i = 1; i < s.len && cmd_tick(m->c); i++) {
        if (s.data[i] != '/' || s.data[i - 1] == '/')
            continue;
        if (!make_part(m, arena_cstr(m->c->arena, str_sub(s, 0, i)), false))
            return false;
    }
    return s.len ? make_part(m, arena_cstr(m->c->arena, s), true) : make_one(m, name);
}

static int cmd_mkdir(struct cmd *c)
{
    struct mkdir m = { .c = c };
    struct cmd_options o = cmd_options(c);
    const char *mode = NULL;
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (k == CMD_BAD)
            return 1;
        m.parents |= k == 'p';
        m.verbose |= k == 'v';
        if (k == 'm')
            mode = o.value;
    }
    if (!c->argc)
        return missing_operand(c);
    if (mode && !(m.mode = mode_parse(mode, c->arena))) {
        cmd_err(c, "invalid mode %s", quote(c, mode));
        return 1;
    }
    int status = 0;
    for (int i = 0; i < c->argc && cmd_tick(c); i++)
        if (!(m.parents ? make_all(&m, c->argv[i]) : make_one(&m, c->argv[i])))
            status = 1;
    return status;
}

const struct command command_mkdir = {
    "mkdir",
    cmd_mkdir,
    options,
    "[OPTION]... DIRECTORY...",
    "Make directories.",
    0,
};
