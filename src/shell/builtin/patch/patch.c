#include "shell/builtin/patch/patch.h"

#include "shell/builtin/files.h"
#include "shell/builtin/number.h"
#include "shell/builtin/quote.h"

#include <errno.h>

enum { OPT_DRY_RUN = 256 };

static const struct cmd_opt options[] = {
    { 'p', "strip", ARG_REQUIRED, "NUM", "take NUM components off the names" },
    { 'i', "input", ARG_REQUIRED, "PATCHFILE", "read the patch from there" },
    { 'R', "reverse", ARG_NONE, NULL, "from new to old" },
    { 's', "silent", ARG_NONE, NULL, "say only what goes wrong" },
    { 's', "quiet", ARG_NONE, NULL, NULL },
    { 'o', "output", ARG_REQUIRED, "FILE", "write there" },
    { OPT_DRY_RUN, "dry-run", ARG_NONE, NULL, "change nothing" },
    { 'u', "unified", ARG_NONE, NULL, "(found out by itself)" },
    { 'n', "normal", ARG_NONE, NULL, "(found out by itself)" },
    { 'N', "forward", ARG_NONE, NULL, "(as always here)" },
    { 'f', "force", ARG_NONE, NULL, "(nothing is asked here)" },
    { 't', "batch", ARG_NONE, NULL, "(nothing is asked here)" },
    { 0 },
};

struct patch {
    struct cmd *c;
    uint64_t strip; /* UINT64_MAX: only the last component counts */
    const char *patch_name, *output;
    bool reverse, silent, dry_run;
};

/* One file being patched. */
struct job {
    struct patch *p;
    const char *name;
    bool is_new;
    struct vfs_stat st;
    struct buf old, new, rejects;
    struct patch_text text;
    size_t done; /* lines of the old text that are in `new` already */
    ptrdiff_t offset, growth;
    size_t failed;
};

static const char *strip_name(const struct patch *p, struct str name)
{
    char *text = arena_cstr(p->c->arena, name);
    if (p->strip == UINT64_MAX)
        return name_base(p->c, text);
    for (uint64_t n = p->strip; n; n--) {
        char *slash = strchr(text, '/');
        if (!slash)
            return NULL;
        text = slash + strspn(slash, "/");
    }
    return text;
}

static bool exists(const struct patch *p, const char *name)
{
    struct vfs_stat st;
    return name && !file_stat(p->c, name, VFS_FOLLOW, &st) && st.type == VFS_FILE;
}

/* The one that is there; for a new file, the new name.  NULL: nothing fits. */
static const char *choose_name(const struct patch *p, const struct patch_file *f)
{
    const char *names[2] = { NULL, NULL };
    for (int i = 0; i < 2; i++)
        if (f->names[i].len && !str_is(f->names[i], "/dev/null"))
            names[i] = strip_name(p, f->names[i]);
    for (int i = 0; i < 2; i++)
        if (exists(p, names[i]))
            return names[i];
    return f->is_null[0] || (f->count && !f->hunks[0].count[0]) ? names[1] : NULL;
}

static void split_text(struct job *j)
{
    struct str rest = buf_str(&j->old);
    size_t cap = 0;
    while (rest.len) {
        const char *end = memchr(rest.data, '\n', rest.len);
        size_t len = end ? (size_t)(end - rest.data) + 1 : rest.len;
        GROW(j->text.lines, j->text.count, cap);
        j->text.lines[j->text.count++] = str_sub(rest, 0, len);
        rest = str_from(rest, len);
    }
}

static void copy_until(struct job *j, size_t at)
{
    for (; j->done < at; j->done++)
        buf_add(&j->new, j->text.lines[j->done]);
}

static void put_hunk(struct job *j, const struct patch_hunk *h, size_t at)
{
    copy_until(j, at);
    for (size_t i = 0; i < h->line_count; i++) {
        char mark = h->lines[i].mark;
        if (mark == '+')
            buf_add(&j->new, h->lines[i].text);
        else if (mark == ' ' && j->done < j->text.count)
            buf_add(&j->new, j->text.lines[j->done]);
        if (mark != '+')
            j->done++;
    }
}

static bool say_where(struct job *j, size_t number, size_t at, ptrdiff_t offset, int fuzz)
{
    auto_buf out = BUF(512);
    if (j->p->silent || (!offset && !fuzz))
        return true;
    buf_addf(&out, "Hunk #%zu succeeded at %zu", number,
            (size_t)((ptrdiff_t)at + 1 + j->growth));
    if (fuzz)
        buf_addf(&out, " with fuzz %d", fuzz);
    if (offset)
        buf_addf(&out, " (offset %td line%s)", offset,
                offset == 1 || offset == -1 ? "" : "s");
    buf_add(&out, STR(".\n"));
    return cmd_put(j->p->c, buf_str(&out));
}

static void reject(struct job *j, const struct patch_file *f, const struct patch_hunk *h)
{
    if (!j->failed++)
        buf_add(&j->rejects, f->header);
    buf_add(&j->rejects, h->source);
}

/* False: stdout failed. */
static bool apply_hunk(struct job *j, const struct patch_file *f, size_t index)
{
    const struct patch_hunk *h = &f->hunks[index];
    size_t expected = h->start[0] - (h->start[0] && h->count[0]), at;
    ptrdiff_t guess = (ptrdiff_t)expected + j->offset;
    int fuzz;
    if (guess < 0)
        guess = 0;
    if (!patch_find(j->p->c, &j->text, j->done, (size_t)guess, h, &at, &fuzz)) {
        reject(j, f, h);
        return cmd_printf(j->p->c, "Hunk #%zu FAILED at %zu.\n", index + 1,
                (size_t)((ptrdiff_t)expected + 1 + j->offset + j->growth));
    }
    j->offset = (ptrdiff_t)at - (ptrdiff_t)expected;
    put_hunk(j, h, at);
    bool ok = say_where(j, index + 1, at, j->offset, fuzz);
    j->growth += (ptrdiff_t)h->count[1] - (ptrdiff_t)h->count[0];
    return ok;
}

static int read_old(struct job *j)
{
    struct stream *in;
    int errnum = file_stat(j->p->c, j->name, VFS_FOLLOW, &j->st);
    j->is_new = errnum == ENOENT;
    if (j->is_new)
        return 0;
    if (!errnum)
        errnum = cmd_open(j->p->c, j->name, false, &in);
    if (errnum)
        return errnum;
    if (!stream_read_all(in, &j->old))
        errnum = j->old.full ? EFBIG : stream_error(in);
    stream_unref(in);
    return errnum;
}

static int make_parents(struct job *j)
{
    char *name = arena_cstr(j->p->c->arena, str_of(j->name));
    for (char *p = strchr(name + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = 0;
        int errnum = file_mkdir(j->p->c, name, 0777);
        *p = '/';
        if (errnum && errnum != EEXIST)
            return errnum;
    }
    return 0;
}

static int replace(struct job *j, const char *name, struct buf *data, bool is_new)
{
    struct vpath path;
    int errnum = data->full ? EFBIG : cmd_path(j->p->c, name, &path);
    if (errnum)
        return errnum;
    if (is_new && (errnum = make_parents(j)))
        return errnum;
    return vfs_replace(j->p->c->vfs, path, buf_str(data),
            is_new ? VFS_CREATE | VFS_EXCLUSIVE : 0, is_new ? NULL : &j->st);
}

/* A file of its own, whether or not it is there. */
static int write_whole(struct cmd *c, const char *name, struct buf *data)
{
    struct stream *out;
    int errnum = cmd_create(c, name, VFS_TRUNCATE, &out);
    if (errnum)
        return errnum;
    if (!stream_write(out, buf_str(data)) || !stream_flush(out))
        errnum = stream_error(out);
    stream_unref(out);
    return errnum;
}

/* With the folders that it leaves empty. */
static int remove_file(struct job *j)
{
    struct cmd *c = j->p->c;
    char *name = arena_cstr(c->arena, str_of(j->name)), *slash;
    int errnum = file_unlink(c, name);
    bool empty = !errnum;
    while (empty && (slash = strrchr(name, '/'))) {
        *slash = 0;
        empty = *name && !file_rmdir(c, name);
    }
    return errnum;
}

static int store(struct job *j, const struct patch_file *f)
{
    struct patch *p = j->p;
    bool changed = j->failed < f->count;
    if (p->dry_run || !changed)
        return 0;
    if (p->output)
        return write_whole(p->c, p->output, &j->new);
    if (f->is_null[1] && !j->new.len && !j->failed)
        return remove_file(j);
    return replace(j, j->name, &j->new, j->is_new);
}

static bool report_failed(struct job *j, const struct patch_file *f, int *status)
{
    struct cmd *c = j->p->c;
    if (!j->failed)
        return true;
    *status = 1;
    const char *name = arena_printf(c->arena, "%s.rej", j->name);
    if (!cmd_printf(c, "%zu out of %zu hunk%s FAILED", j->failed, f->count,
                f->count == 1 ? "" : "s"))
        return false;
    if (j->p->dry_run)
        return cmd_putc(c, '\n');
    int errnum = write_whole(c, name, &j->rejects);
    if (errnum)
        cmd_err(c, "%s: %s", quote_maybe(c, name), errno_text(errnum));
    return cmd_printf(c, " -- saving rejects to file %s\n", name);
}

static bool say_file(struct job *j)
{
    struct patch *p = j->p;
    const char *verb = p->dry_run ? "checking" : "patching";
    return p->output ? cmd_printf(p->c, "%s file %s (read from %s)\n", verb, p->output,
                               j->name)
                     : cmd_printf(p->c, "%s file %s\n", verb, j->name);
}

static int run_job(struct job *j, const struct patch_file *f)
{
    struct cmd *c = j->p->c;
    int status = 0, errnum = read_old(j);
    if (!errnum) {
        split_text(j);
        if (!j->p->silent && !say_file(j))
            return 2;
        for (size_t i = 0; i < f->count; i++)
            if (!apply_hunk(j, f, i))
                return 2;
        copy_until(j, j->text.count);
        errnum = budget_stopped(c->budget) ? ECANCELED : store(j, f);
    }
    if (errnum) {
        cmd_err(c, "**** Can't change file %s : %s", j->name, errno_text(errnum));
        return 2;
    }
    return report_failed(j, f, &status) ? status : 2;
}

static int patch_one(struct patch *p, struct patch_file *f, const char *name)
{
    struct cmd *c = p->c;
    if (p->reverse)
        patch_reverse(f);
    if (!name)
        name = choose_name(p, f);
    if (!name) {
        cmd_err(c, "can't find file to patch; give its name, or -p NUM");
        return 1;
    }
    size_t max = c->budget->max_memory;
    struct job j = {
        .p = p, .name = name, .old = BUF(max), .new = BUF(max), .rejects = BUF(max)
    };
    int status = run_job(&j, f);
    buf_finish(&j.old);
    buf_finish(&j.new);
    buf_finish(&j.rejects);
    free(j.text.lines);
    return status;
}

static int patch_all(struct patch *p, struct str text)
{
    int status = 0;
    size_t line = 1, bad = 0, files = 0, size = text.len;
    const char *name = p->c->argc ? p->c->argv[0] : NULL;
    for (bool more = true; more && status < 2; files += more) {
        struct patch_file f;
        more = patch_parse(p->c, &text, &line, &f, &bad);
        int result = more ? patch_one(p, &f, name) : 0;
        status = result > status ? result : status;
        patch_file_finish(&f);
    }
    if (bad) {
        cmd_err(p->c, "**** malformed patch at line %zu", bad);
        return 2;
    }
    if (!files && size) {
        cmd_err(p->c, "**** Only garbage was found in the patch input.");
        return 2;
    }
    return budget_stopped(p->c->budget) ? 2 : status;
}

static bool set_option(struct patch *p, int key, const char *value)
{
    switch (key) {
    case 'p':
        if (number_plain(str_of(value), &p->strip))
            return true;
        cmd_err(p->c, "**** strip count %s is not a number", value);
        return false;
    case 'i':
        p->patch_name = value;
        return true;
    case 'o':
        p->output = value;
        return true;
    case 'R':
        return p->reverse = true;
    case 's':
        return p->silent = true;
    case OPT_DRY_RUN:
        return p->dry_run = true;
    default:
        return key != CMD_BAD;
    }
}

static int cmd_patch(struct cmd *c)
{
    struct patch p = { .c = c, .strip = UINT64_MAX, .patch_name = "-" };
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        if (!set_option(&p, k, o.value))
            return 2;
    if (c->argc > 2) {
        extra_operand(c, c->argv[2]);
        return 2;
    }
    if (c->argc == 2)
        p.patch_name = c->argv[1];
    struct stream *in;
    auto_buf text = BUF(c->budget->max_memory);
    int errnum = cmd_open(c, p.patch_name, true, &in);
    if (!errnum) {
        if (!stream_read_all(in, &text))
            errnum = text.full ? EFBIG : stream_error(in);
        stream_unref(in);
    }
    if (errnum) {
        cmd_err(c, "**** Can't open patch file %s : %s", p.patch_name,
                errno_text(errnum));
        return 2;
    }
    return patch_all(&p, buf_str(&text));
}

const struct command command_patch = {
    "patch",
    cmd_patch,
    options,
    "[OPTION]... [ORIGFILE [PATCHFILE]]",
    "Change files as a diff says.",
    0,
};
