#include "shell/builtin/files.h"
#include "shell/builtin/quote.h"

#include <errno.h>
#include <sys/random.h>

enum { OPT_SUFFIX = 256 };

static const struct cmd_opt options[] = {
    { 'd', "directory", ARG_NONE, NULL, "make a directory" },
    { 'u', "dry-run", ARG_NONE, NULL, "only print a name" },
    { 'q', "quiet", ARG_NONE, NULL, "do not report errors" },
    { OPT_SUFFIX, "suffix", ARG_REQUIRED, "SUFF", "append SUFF to the template" },
    { 'p', "tmpdir", ARG_OPTIONAL, "DIR", "make it in DIR, or in /tmp" },
    { 't', NULL, ARG_NONE, NULL, "make it in the directory of temporary files" },
    { 0 },
};

struct mktemp {
    struct cmd *c;
    bool directory, dry, quiet, in_tmp;
    const char *suffix, *dir;
};

/* -p DIR and -pDIR want an argument, --tmpdir may go without. */
static void join_values(struct cmd *c)
{
    for (int i = 1; i + 1 < c->argc && strcmp(c->argv[i], "--"); i++) {
        const char *arg = c->argv[i];
        size_t len = strlen(arg);
        if (arg[0] != '-' || arg[1] == '-' || len < 2 || arg[len - 1] != 'p' ||
                strspn(arg + 1, "duqtp") != len - 1)
            continue;
        c->argv[i] = arena_printf(c->arena, "%s%s", arg, c->argv[i + 1]);
        memmove(&c->argv[i + 1], &c->argv[i + 2],
                (size_t)(c->argc - i - 1) * sizeof(*c->argv));
        c->argc--;
    }
}

/* $TMPDIR, /tmp if the view has it, else the working directory. */
static const char *temp_dir(struct cmd *c)
{
    const char *dir = cmd_env(c, "TMPDIR");
    if (dir && *dir && file_is_dir(c, dir))
        return dir;
    return file_is_dir(c, "/tmp") ? "/tmp" : c->cwd.text.data;
}

static bool failed(struct mktemp *m, const char *message)
{
    if (!m->quiet)
        cmd_err(m->c, "%s", message);
    return false;
}

/* Where the row of X is: before the suffix. */
static bool find_marks(
        struct mktemp *m, const char *template, size_t *start, size_t *count)
{
    struct arena *arena = m->c->arena;
    const char *last = strrchr(template, 'X');
    const char *shown = quote(m->c, template);
    size_t end = last ? (size_t)(last - template) + 1 : 0;
    if (m->suffix && template[end])
        return failed(m,
                arena_printf(arena, "with --suffix, template %s must end in X", shown));
    const char *suffix = m->suffix ? m->suffix : template + end;
    *start = end;
    while (*start && template[*start - 1] == 'X')
        --*start;
    *count = end - *start;
    if (*count < 3)
        return failed(m, arena_printf(arena, "too few X's in template %s", shown));
    if (strchr(suffix, '/'))
        return failed(
                m, arena_printf(arena, "invalid suffix %s, contains directory separator",
                           quote(m->c, suffix)));
    return true;
}

static void fill_marks(char *marks, size_t count)
{
    static const char letters[] =
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    for (size_t i = 0; i < count; i++) {
        unsigned char byte;
        do
            if (getrandom(&byte, 1, 0) != 1)
                byte = (unsigned char)i;
        while (byte >= 248); /* so that each letter is as likely */
        marks[i] = letters[byte % 62];
    }
}

static int make(struct mktemp *m, const char *name)
{
    struct vfs_stat st;
    if (m->dry)
        return file_stat(m->c, name, VFS_NOFOLLOW, &st) ? 0 : EEXIST;
    if (m->directory)
        return file_mkdir(m->c, name, 0700);
    struct vfile *file;
    int errnum =
            file_open(m->c, name, VFS_WRITE | VFS_CREATE | VFS_EXCLUSIVE, 0600, &file);
    if (!errnum)
        vfile_close(file);
    return errnum;
}

static int run(struct mktemp *m, const char *template)
{
    struct cmd *c = m->c;
    size_t start, count;
    if (!find_marks(m, template, &start, &count))
        return 1;
    char *name = arena_printf(c->arena, "%s%s", template, m->suffix ? m->suffix : "");
    char *shown = arena_cstr(c->arena, str_of(name));
    if (m->in_tmp) {
        if (*template == '/') {
            failed(m,
                    arena_printf(c->arena,
                            "invalid template, %s; with --tmpdir, it may not be absolute",
                            quote(c, template)));
            return 1;
        }
        const char *dir = m->dir && *m->dir ? m->dir : temp_dir(c);
        name = name_join(c, dir, name);
        start += strlen(name) - strlen(shown);
    }
    int errnum = EEXIST;
    for (int attempt = 0; errnum == EEXIST && attempt < 1000 && cmd_tick(c); attempt++) {
        fill_marks(name + start, count);
        errnum = make(m, name);
    }
    if (!errnum)
        return cmd_printf(c, "%s\n", name) ? 0 : 1;
    memset(name + start, 'X', count);
    failed(m, arena_printf(c->arena, "failed to create %s via template %s: %s",
                      m->directory ? "directory" : "file", quote(c, name),
                      errno_text(errnum)));
    return 1;
}

static int cmd_mktemp(struct cmd *c)
{
    struct mktemp m = { .c = c };
    join_values(c);
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        switch (k) {
        case 'd':
            m.directory = true;
            break;
        case 'u':
            m.dry = true;
            break;
        case 'q':
            m.quiet = true;
            break;
        case OPT_SUFFIX:
            m.suffix = o.value;
            break;
        case 'p':
            m.dir = o.value;
            m.in_tmp = true;
            break;
        case 't':
            m.in_tmp = true;
            break;
        default:
            return 1;
        }
    if (c->argc > 1) {
        cmd_err(c, "too many templates");
        return try_help(c, 1);
    }
    m.in_tmp |= !c->argc;
    return run(&m, c->argc ? c->argv[0] : "tmp.XXXXXXXXXX");
}

const struct command command_mktemp = {
    "mktemp",
    cmd_mktemp,
    options,
    "[OPTION]... [TEMPLATE]",
    "Make a temporary file and print its name.",
    0,
};
