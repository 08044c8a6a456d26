/* Which files are compared with which. */
#include "shell/builtin/diff/diff.h"

#include "shell/builtin/files.h"
#include "shell/builtin/input.h"
#include "shell/builtin/quote.h"
#include "shell/pattern.h"

#include <errno.h>

#define BINARY_LOOK ((size_t)32 << 10)

static int worse(int a, int b)
{
    return a > b ? a : b;
}

static bool is_binary(const struct diff_file *f)
{
    struct str start = str_sub(buf_str(&f->text), 0, BINARY_LOOK);
    return start.len && memchr(start.data, 0, start.len);
}

static int say_same(struct diff *d, const char *a, const char *b)
{
    if (d->report_same && !cmd_printf(d->c, "Files %s and %s are identical\n", a, b))
        return 2;
    return 0;
}

static int say_different(
        struct diff *d, const char *what, const char *a, const char *b, int status)
{
    return cmd_printf(d->c, "%s %s and %s differ\n", what, a, b) ? status : 2;
}

static int compare_lines(struct diff *d, struct diff_pair *pair, bool in_tree)
{
    const char *a = pair->files[0].name, *b = pair->files[1].name;
    size_t count, shown = 0;
    if (!diff_split(d, pair) || !diff_compare(d, pair))
        return 2;
    struct linediff_hunk *hunks = diff_hunks(d, pair, &count);
    for (size_t i = 0; i < count; i++)
        shown += !hunks[i].is_ignored;
    if (!shown)
        return say_same(d, a, b);
    if (d->style == DIFF_BRIEF)
        return say_different(d, "Files", a, b, 1);
    if (in_tree && !cmd_printf(d->c, "diff%s %s %s\n", d->switches, a, b))
        return 2;
    return diff_print(d, pair, hunks, count) ? 1 : 2;
}

static bool compares_bytes(const struct diff *d)
{
    return d->space == SPACE_KEEP && !d->ignore_case && !d->ignore_cr &&
           !d->ignore_blank_lines;
}

static int compare_pair(struct diff *d, struct diff_pair *pair, bool in_tree)
{
    struct diff_file *f = pair->files;
    if (!diff_read(d, &f[0]) || !diff_read(d, &f[1]))
        return 2;
    bool same = str_eq(buf_str(&f[0].text), buf_str(&f[1].text));
    if (same)
        return say_same(d, f[0].name, f[1].name);
    if (!d->as_text && (is_binary(&f[0]) || is_binary(&f[1])))
        return d->style == DIFF_BRIEF
                       ? say_different(d, "Files", f[0].name, f[1].name, 1)
                       : say_different(d, "Binary files", f[0].name, f[1].name, 1);
    if (d->style == DIFF_BRIEF && compares_bytes(d))
        return say_different(d, "Files", f[0].name, f[1].name, 1);
    return compare_lines(d, pair, in_tree);
}

static int compare_files(
        struct diff *d, const char *a, bool no_a, const char *b, bool no_b, bool in_tree)
{
    struct diff_pair pair = { .files = { { .name = a, .is_missing = no_a },
                                      { .name = b, .is_missing = no_b } } };
    int status = compare_pair(d, &pair, in_tree);
    diff_pair_finish(&pair);
    return status;
}

struct folder {
    const char *name; /* as it is shown */
    struct vfs_entry *entries;
    size_t count, at;
};

static int compare_any(struct diff *d, const char *a, const char *b, bool in_tree);
static int compare_folders(struct diff *d, const char *a, const char *b);

static bool is_excluded(const struct diff *d, struct str name)
{
    for (size_t i = 0; i < d->exclude_count; i++)
        if (pattern_match(str_of(d->excludes[i]), name, 0))
            return true;
    return false;
}

static bool list(struct diff *d, struct folder *f, bool is_missing)
{
    struct vpath path;
    if (is_missing)
        return true;
    int errnum = cmd_path(d->c, f->name, &path);
    if (!errnum)
        errnum = vfs_list(d->c->vfs, path, d->c->arena, &f->entries, &f->count);
    if (errnum)
        cmd_err(d->c, "%s: %s", quote_maybe(d->c, f->name), errno_text(errnum));
    return !errnum;
}

/* The next entry that counts, or NULL. */
static const struct vfs_entry *look(struct diff *d, struct folder *f)
{
    while (f->at < f->count && is_excluded(d, f->entries[f->at].name))
        f->at++;
    return f->at < f->count ? &f->entries[f->at] : NULL;
}

static int compare_trees(
        struct diff *d, const char *a, bool no_a, const char *b, bool no_b);

/* An entry that only one side has. */
static int lone(struct diff *d, const struct folder *has, const struct folder *other,
        const char *name, bool first)
{
    struct cmd *c = d->c;
    if (!d->new_file)
        return cmd_printf(c, "Only in %s: %s\n", has->name, name) ? 1 : 2;
    const char *here = name_join(c, has->name, name);
    const char *there = name_join(c, other->name, name);
    const char *a = first ? here : there, *b = first ? there : here;
    if (!file_is_dir(c, here))
        return compare_files(d, a, !first, b, first, true);
    return d->recursive ? compare_trees(d, a, !first, b, first) : 1;
}

static int both(
        struct diff *d, const struct folder *a, const struct folder *b, const char *name)
{
    return compare_any(
            d, name_join(d->c, a->name, name), name_join(d->c, b->name, name), true);
}

static int compare_trees(
        struct diff *d, const char *a, bool no_a, const char *b, bool no_b)
{
    struct folder f[2] = { { .name = a }, { .name = b } };
    int status = 0;
    struct arena_mark mark = arena_mark(d->c->arena);
    if (!list(d, &f[0], no_a) || !list(d, &f[1], no_b))
        return 2;
    while (cmd_tick(d->c) && !d->c->out_failed) {
        const struct vfs_entry *x = look(d, &f[0]), *y = look(d, &f[1]);
        if (!x && !y)
            break;
        int order = !x ? 1 : !y ? -1 : str_cmp(x->name, y->name);
        const char *name = order <= 0 ? x->name.data : y->name.data;
        int result = !order ? both(d, &f[0], &f[1], name)
                            : lone(d, &f[order > 0], &f[order < 0], name, order < 0);
        status = worse(status, result);
        f[0].at += order <= 0;
        f[1].at += order >= 0;
    }
    arena_rewind(d->c->arena, mark);
    return status;
}

static int compare_folders(struct diff *d, const char *a, const char *b)
{
    if (d->recursive)
        return compare_trees(d, a, false, b, false);
    return cmd_printf(d->c, "Common subdirectories: %s and %s\n", a, b) ? 0 : 2;
}

static const char *type_name(const struct vfs_stat *st)
{
    static const char *const names[] = { [VFS_FILE] = "regular file",
        [VFS_DIR] = "directory",
        [VFS_LINK] = "symbolic link",
        [VFS_FIFO] = "fifo",
        [VFS_SOCKET] = "socket",
        [VFS_CHAR] = "character special file",
        [VFS_BLOCK] = "block special file",
        [VFS_UNKNOWN] = "file" };
    if (st->type == VFS_FILE && !st->size)
        return "regular empty file";
    return names[st->type];
}

static int stat_operand(struct diff *d, const char *name, struct vfs_stat *st)
{
    struct stream *in;
    if (input_is_stdin(name)) {
        *st = (struct vfs_stat){ .type = VFS_FILE };
        return 0;
    }
    int errnum = file_stat(d->c, name, VFS_FOLLOW, st);
    if (errnum && !cmd_open(d->c, name, false, &in)) { /* /dev/fd/63 */
        stream_unref(in);
        *st = (struct vfs_stat){ .type = VFS_FILE };
        return 0;
    }
    return errnum;
}

/* Two entries of the same name. */
static int compare_any(struct diff *d, const char *a, const char *b, bool in_tree)
{
    struct vfs_stat st[2];
    const char *names[] = { a, b };
    for (int i = 0; i < 2; i++) {
        int errnum = stat_operand(d, names[i], &st[i]);
        if (errnum) {
            cmd_err(d->c, "%s: %s", quote_maybe(d->c, names[i]), errno_text(errnum));
            return 2;
        }
    }
    if (st[0].type == VFS_DIR && st[1].type == VFS_DIR)
        return compare_folders(d, a, b);
    if (st[0].type == st[1].type)
        return compare_files(d, a, false, b, false, in_tree);
    return cmd_printf(d->c, "File %s is a %s while file %s is a %s\n", a,
                   type_name(&st[0]), b, type_name(&st[1]))
                   ? 1
                   : 2;
}

int diff_paths(struct diff *d, const char *a, const char *b)
{
    struct vfs_stat st[2];
    struct cmd *c = d->c;
    int errnum[2] = { stat_operand(d, a, &st[0]), stat_operand(d, b, &st[1]) };
    const char *names[] = { a, b };
    int missing = (errnum[0] == ENOENT) + (errnum[1] == ENOENT);
    if (d->new_file && missing == 1)
        return !errnum[0] && st[0].type == VFS_DIR
                       ? compare_trees(d, a, errnum[0], b, errnum[1])
                       : compare_files(d, a, errnum[0], b, errnum[1], false);
    for (int i = 0; i < 2; i++)
        if (errnum[i])
            cmd_err(c, "%s: %s", quote_maybe(c, names[i]), errno_text(errnum[i]));
    if (errnum[0] || errnum[1])
        return 2;
    bool dirs[2] = { st[0].type == VFS_DIR, st[1].type == VFS_DIR };
    if (dirs[0] && dirs[1])
        return compare_trees(d, a, false, b, false);
    if (dirs[0])
        a = name_join(c, a, name_base(c, b));
    else if (dirs[1])
        b = name_join(c, b, name_base(c, a));
    return compare_any(d, a, b, false);
}
