#include "shell/builtin/files.h"
#include "shell/builtin/number.h"
#include "shell/builtin/quote.h"

#include <errno.h>

static const struct cmd_opt options[] = {
    { 'c', "no-create", ARG_NONE, NULL, "do not make files" },
    { 'r', "reference", ARG_REQUIRED, "FILE", "use the size of FILE" },
    { 's', "size", ARG_REQUIRED, "[+-<>/%]SIZE",
            "to SIZE; + - change it, < at most, > at least, / down and % up to a "
            "multiple" },
    { 0 },
};

struct truncate {
    struct cmd *c;
    bool no_create;
    const char *reference, *text;
    char how; /* + - < > / %, or 0 */
    uint64_t size, base;
};

static bool parse_size(struct truncate *t)
{
    const char *text = t->text;
    while (*text == ' ')
        text++;
    if (*text && strchr("+-<>/%", *text))
        t->how = *text++;
    if (!number_size(str_of(text), &t->size))
        cmd_err(t->c, "Invalid number: %s", quote(t->c, t->text));
    else if (!t->size && (t->how == '/' || t->how == '%'))
        cmd_err(t->c, "division by zero");
    else
        return true;
    return false;
}

static uint64_t new_size(const struct truncate *t, uint64_t now)
{
    uint64_t n = t->size, rest = n ? now % n : 0;
    switch (t->how) {
    case '+':
        return now > UINT64_MAX - n ? UINT64_MAX : now + n;
    case '-':
        return now > n ? now - n : 0;
    case '<':
        return now < n ? now : n;
    case '>':
        return now > n ? now : n;
    case '/':
        return now - rest;
    case '%':
        return rest ? now + (n - rest) : now;
    default:
        return n;
    }
}

static bool truncate_one(struct truncate *t, const char *name)
{
    struct vfile *file;
    struct vfs_stat st;
    enum vfs_open_flags flags = t->no_create ? VFS_WRITE : VFS_WRITE | VFS_CREATE;
    int errnum = file_open(t->c, name, flags, 0666, &file);
    if (errnum == ENOENT && t->no_create)
        return true;
    if (errnum) {
        cmd_err(t->c, "cannot open %s for writing: %s", quote(t->c, name),
                errno_text(errnum));
        return false;
    }
    errnum = vfile_stat(file, &st);
    uint64_t now = t->reference ? t->base : st.size;
    if (!errnum)
        errnum = vfile_truncate(file, t->text ? new_size(t, now) : now);
    vfile_close(file);
    if (!errnum)
        return true;
    cmd_err(t->c, "failed to truncate %s: %s", quote(t->c, name), errno_text(errnum));
    return false;
}

static bool check(struct truncate *t)
{
    struct cmd *c = t->c;
    struct vfs_stat st;
    if (!t->text && !t->reference) {
        cmd_err(c, "you must specify either '--size' or '--reference'");
        try_help(c, 1);
        return false;
    }
    if (t->text && !parse_size(t))
        return false;
    if (t->reference && t->text && !t->how) {
        cmd_err(c, "you must specify a relative '--size' with '--reference'");
        try_help(c, 1);
        return false;
    }
    if (!c->argc) {
        cmd_err(c, "missing file operand");
        try_help(c, 1);
        return false;
    }
    int errnum = t->reference ? file_stat(c, t->reference, VFS_FOLLOW, &st) : 0;
    if (errnum)
        cmd_err(c, "cannot stat %s: %s", quote(c, t->reference), errno_text(errnum));
    else if (t->reference)
        t->base = st.size;
    return !errnum;
}

static int cmd_truncate(struct cmd *c)
{
    struct truncate t = { .c = c };
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (k == CMD_BAD)
            return 1;
        t.no_create |= k == 'c';
        t.reference = k == 'r' ? o.value : t.reference;
        t.text = k == 's' ? o.value : t.text;
    }
    if (!check(&t))
        return 1;
    int status = 0;
    for (int i = 0; i < c->argc && cmd_tick(c); i++)
        if (!truncate_one(&t, c->argv[i]))
            status = 1;
    return status;
}

const struct command command_truncate = {
    "truncate",
    cmd_truncate,
    options,
    "OPTION... FILE...",
    "Make files shorter or longer.",
    0,
};
