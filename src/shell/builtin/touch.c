#include "base/datetime.h"
#include "shell/builtin/files.h"
#include "shell/builtin/quote.h"

#include <errno.h>

enum { OPT_TIME = 256 };

static const struct cmd_opt options[] = {
    { 'a', NULL, ARG_NONE, NULL, "change only the access time" },
    { 'c', "no-create", ARG_NONE, NULL, "do not make files" },
    { 'd', "date", ARG_REQUIRED, "STRING", "use this date instead of now" },
    { 'f', NULL, ARG_NONE, NULL, "(ignored)" },
    { 'h', "no-dereference", ARG_NONE, NULL, "change a link itself" },
    { 'm', NULL, ARG_NONE, NULL, "change only the modification time" },
    { 'r', "reference", ARG_REQUIRED, "FILE", "use the times of FILE" },
    { 't', NULL, ARG_REQUIRED, "STAMP", "use [[CC]YY]MMDDhhmm[.ss]" },
    { OPT_TIME, "time", ARG_REQUIRED, "WORD", "access (atime, use) or modify (mtime)" },
    { 0 },
};

struct touch {
    struct cmd *c;
    bool access, modify, no_create, no_follow;
    const char *date, *stamp, *reference;
    int64_t atime_ns, mtime_ns;
};

static bool bad_date(struct touch *t, const char *text)
{
    cmd_err(t->c, "invalid date format %s", quote(t->c, text));
    return false;
}

/* -r, and a -d that starts from there. */
static bool use_reference(struct touch *t, struct datetime *now)
{
    struct vfs_stat st;
    int errnum =
            file_stat(t->c, t->reference, t->no_follow ? VFS_NOFOLLOW : VFS_FOLLOW, &st);
    if (errnum) {
        cmd_err(t->c, "failed to get attributes of %s: %s", quote(t->c, t->reference),
                errno_text(errnum));
        return false;
    }
    t->atime_ns = st.atime_ns;
    t->mtime_ns = st.mtime_ns;
    *now = datetime_from_ns(st.mtime_ns);
    return true;
}

static bool find_times(struct touch *t)
{
    struct datetime now = datetime_now(), when;
    t->atime_ns = t->mtime_ns = VFS_TIME_NOW;
    if (t->reference && !use_reference(t, &now))
        return false;
    const char *text = t->date ? t->date : t->stamp;
    if (text) {
        bool ok = t->date ? datetime_parse(str_of(text), now, false, &when)
                          : datetime_parse_stamp(str_of(text), now, false, &when);
        if (!ok || !datetime_to_ns(when, &t->mtime_ns))
            return bad_date(t, text);
        t->atime_ns = t->mtime_ns;
    }
    if (t->access && !t->modify)
        t->mtime_ns = VFS_TIME_KEEP;
    if (t->modify && !t->access)
        t->atime_ns = VFS_TIME_KEEP;
    return true;
}

static bool failed(struct touch *t, const char *what, const char *name, int errnum)
{
    cmd_err(t->c, "%s %s: %s", what, quote(t->c, name), errno_text(errnum));
    return false;
}

static bool create(struct touch *t, const char *name)
{
    struct vfile *file;
    size_t len = strlen(name);
    if (len && name[len - 1] == '/')
        return failed(t, "setting times of", name, ENOENT);
    int errnum = file_open(t->c, name, VFS_WRITE | VFS_CREATE, 0666, &file);
    if (errnum)
        return failed(t, "cannot touch", name, errnum);
    vfile_close(file);
    return true;
}

static bool touch_one(struct touch *t, const char *name)
{
    enum vfs_follow follow = t->no_follow ? VFS_NOFOLLOW : VFS_FOLLOW;
    struct vfs_stat st;
    int errnum = file_stat(t->c, name, follow, &st);
    if (errnum == ENOENT && (t->no_create || t->no_follow))
        return t->no_create || failed(t, "setting times of", name, errnum);
    if (errnum == ENOENT && !create(t, name))
        return false;
    if (errnum && errnum != ENOENT)
        return failed(t, "cannot touch", name, errnum);
    errnum = file_set_times(t->c, name, follow, t->atime_ns, t->mtime_ns);
    return !errnum || failed(t, "setting times of", name, errnum);
}

static bool set_option(struct touch *t, int key, const char *value)
{
    switch (key) {
    case 'a':
        return t->access = true;
    case 'm':
        return t->modify = true;
    case 'c':
        return t->no_create = true;
    case 'd':
        t->date = value;
        return true;
    case 'f':
        return true;
    case 'h':
        return t->no_follow = true;
    case 'r':
        t->reference = value;
        return true;
    case 't':
        t->stamp = value;
        return true;
    case OPT_TIME:
        if (*value == 'a' || *value == 'u')
            return t->access = true;
        return t->modify = true;
    default:
        return false;
    }
}

static int cmd_touch(struct cmd *c)
{
    struct touch t = { .c = c };
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        if (!set_option(&t, k, o.value))
            return 1;
    if ((t.date || t.reference) && t.stamp) {
        cmd_err(c, "cannot specify times from more than one source");
        return try_help(c, 1);
    }
    if (!find_times(&t))
        return 1;
    if (!c->argc) {
        cmd_err(c, "missing file operand");
        return try_help(c, 1);
    }
    int status = 0;
    for (int i = 0; i < c->argc && cmd_tick(c); i++)
        if (strcmp(c->argv[i], "-") && !touch_one(&t, c->argv[i]))
            status = 1;
    return status;
}

const struct command command_touch = {
    "touch",
    cmd_touch,
    options,
    "[OPTION]... FILE...",
    "Set the times of files to now; make those that are not there.",
    0,
};
