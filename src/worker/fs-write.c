/* fs_append and fs_delete. */
#include "base/linediff.h"
#include "base/textline.h"
#include "base/utf8.h"
#include "edit/lookalike.h"
#include "edit/match.h"
#include "worker/fs.h"

#include <errno.h>

#define TAIL_SIZE    8192  /* looked at before something is appended */
#define MAX_DELETED  16384 /* characters shown of what was deleted */
#define MAX_APPENDED 65536
#define MAX_PARENTS  256

enum { CONTEXT = 3, MAX_ATTEMPTS = 10 };

static size_t count_lines(struct str text)
{
    size_t count = 0;
    for (size_t at = 0; at < text.len; at = textline_next(text, at))
        count++;
    return count;
}

/* The lines of `text`, each with `mark` before it, until `max` characters are used up. */
static void add_lines(
        struct str text, char mark, size_t max, const char *what, struct buf *out)
{
    struct str shown = str_sub(text, 0, utf8_offset(text, max));
    for (size_t at = 0; at < shown.len; at = textline_next(shown, at)) {
        buf_addc(out, mark);
        buf_add(out, str_sub(shown, at, textline_end(shown, at) - at));
        buf_addc(out, '\n');
    }
    if (shown.len < text.len)
        buf_addf(out, "[truncated: %s exceeded %zu KB]\n", what, max >> 10);
}

static void add_names(struct str from, struct str to, struct buf *out)
{
    buf_addf(out, "--- %.*s\n+++ %.*s\n", STR_ARG(from), STR_ARG(to));
}

/* Appending. */
struct append {
    struct fs *fs;
    struct fs_path path;
    struct str content; /* as given */
    struct str tail;    /* of the file before: whole lines, but perhaps the last */
    uint64_t lines;     /* of the file before, if `counted` */
    bool counted;
    struct vpath made[MAX_PARENTS]; /* directories that were created */
    size_t made_count;
};

/* Make the directories above the file, the topmost first. */
static int make_parents(struct append *a)
{
    struct vfs_stat st;
    struct str path = a->path.at.text;
    for (size_t i = 1; i < path.len; i++) {
        if (path.data[i] != '/')
            continue;
        struct vpath dir = { arena_str(a->fs->arena, str_sub(path, 0, i)), false };
        if (!vfs_stat(a->fs->vfs, dir, VFS_FOLLOW, &st))
            continue;
        if (a->made_count == MAX_PARENTS)
            return ENAMETOOLONG;
        int errnum = vfs_mkdir(a->fs->vfs, dir, 0777);
        if (errnum && errnum != EEXIST)
            return errnum;
        if (!errnum)
            a->made[a->made_count++] = dir;
    }
    return 0;
}

static int create(struct append *a)
{
    int errnum = make_parents(a);
    if (!errnum)
        errnum = vfs_replace(a->fs->vfs, a->path.at, a->content,
                VFS_WRITE | VFS_CREATE | VFS_EXCLUSIVE, NULL);
    while (errnum && a->made_count) {
        int left UNUSED = vfs_rmdir(a->fs->vfs, a->made[--a->made_count]);
    }
    return errnum;
}

static bool tell_created(struct append *a)
{
    struct buf *out = a->fs->text;
    if (!a->content.len) {
        buf_addf(out, "Created the empty file '%.*s'.\n", STR_ARG(a->path.given));
        return false;
    }
    add_names(a->path.given, a->path.given, out);
    buf_addf(out, "@@ -0,0 +1,%zu @@\n", count_lines(a->content));
    add_lines(a->content, '+', MAX_APPENDED, "the content", out);
    return false;
}

static bool refuse_encoding(struct append *a, const char *what, uint64_t at)
{
    return fs_fail(a->fs,
            "'%.*s' is %s (seen at byte %llu); text was not appended to it, which would "
            "mix encodings",
            STR_ARG(a->path.given), what, (unsigned long long)at);
}

/* What the file ends with.  False: it was said why not. */
static bool read_tail(struct append *a, struct vfile *file, uint64_t size)
{
    char *data = arena_alloc(a->fs->arena, TAIL_SIZE), start[2] = { 0 };
    uint64_t from = size > TAIL_SIZE ? size - TAIL_SIZE : 0;
    size_t got = 0, len = 0;
    int errnum = vfile_pread(file, start, sizeof(start), 0, &got);
    if (!errnum)
        errnum = vfile_pread(file, data, TAIL_SIZE, from, &len);
    if (errnum)
        return !fs_fail_errno(a->fs, "read", &a->path, errnum);
    if (got == 2 && (!memcmp(start, "\xFF\xFE", 2) || !memcmp(start, "\xFE\xFF", 2)))
        return !refuse_encoding(a, "UTF-16 text", 0);
    struct str tail = { data, len };
    while (from && tail.len && (tail.data[0] & 0xC0) == 0x80)
        tail = str_from(tail, 1); /* the rest of a character */
    size_t valid = utf8_valid_len(tail);
    if (valid < tail.len)
        return !refuse_encoding(a, "binary or not UTF-8", size - tail.len + valid);
    if (from)
        tail = str_from(tail, textline_next(tail, 0));
    a->tail = tail;
    a->counted = size <= FS_MAX_COUNTED && fs_count_lines(a->fs, file, &a->lines);
    return true;
}

/* The content with the file's own line breaks, on a line of its own. */
static struct str make_addition(const struct append *a)
{
    enum eol eol = eol_main(a->tail);
    const char *newline = eol == EOL_CRLF ? "\r\n" : eol == EOL_CR ? "\r" : "\n";
    bool as_given = a->content.len && memchr(a->content.data, '\r', a->content.len);
    auto_buf out = BUF(2 * a->content.len + 2);
    bool open = a->tail.len && !strchr("\r\n", a->tail.data[a->tail.len - 1]);
    buf_add(&out, open ? str_of(newline) : STR(""));
    for (struct str rest = a->content; rest.len;) {
        size_t left = rest.len;
        struct str line = str_cut(&rest, '\n');
        buf_add(&out, line);
        if (line.len < left)
            buf_add(&out, as_given ? STR("\n") : str_of(newline));
    }
    return arena_str(a->fs->arena, buf_str(&out));
}

/* Where the last `n` lines of the text begin, and how many there are. */
static size_t last_lines(struct str text, size_t n, size_t *count)
{
    size_t starts[CONTEXT], total = 0;
    for (size_t at = 0; at < text.len; at = textline_next(text, at))
        starts[total++ % n] = at;
    *count = total < n ? total : n;
    return total ? starts[(total - *count) % n] : 0;
}

static bool tell_appended(struct append *a)
{
    struct buf *out = a->fs->text;
    size_t shown, from = last_lines(a->tail, CONTEXT, &shown);
    size_t before = a->counted ? (size_t)a->lines : count_lines(a->tail);
    size_t added = count_lines(a->content);
    add_names(a->path.given, a->path.given, out);
    buf_addf(out, "@@ -");
    linediff_add_range(before - shown, before, out);
    buf_addf(out, " +");
    linediff_add_range(before - shown, before + added, out);
    buf_addf(out, " @@\n");
    add_lines(str_from(a->tail, from), ' ', TAIL_SIZE, "the context", out);
    add_lines(a->content, '+', MAX_APPENDED, "the content", out);
    return false;
}

/* All of it, or the file is as it was. */
static int write_addition(struct vfile *file, uint64_t size, struct str addition)
{
    struct vfs_stat now;
    int errnum = vfile_write(file, addition);
    bool grew = errnum && !vfile_stat(file, &now) && now.size > size &&
                now.size < size + addition.len;
    int unused UNUSED = grew ? vfile_truncate(file, size) : 0;
    return errnum;
}

static bool append_to(struct append *a, struct vfile *file, const struct vfs_stat *st)
{
    if (st->type != VFS_FILE)
        return fs_fail_type(a->fs, &a->path, st->type);
    if (!read_tail(a, file, st->size))
        return true;
    if (!a->content.len) {
        buf_addf(a->fs->text, "content is empty: nothing was appended to '%.*s'.\n",
                STR_ARG(a->path.given));
        return false;
    }
    int errnum = write_addition(file, st->size, make_addition(a));
    if (errnum)
        return fs_fail_errno(a->fs, "write to", &a->path, errnum);
    return tell_appended(a);
}

/* The file that has the name, locked: one that is replaced meanwhile would take what is
 * appended with it.  ESTALE: it was. */
static int open_locked(struct append *a, struct vfile **out, struct vfs_stat *st)
{
    struct vfs_stat named;
    struct vfile *file;
    int errnum =
            vfs_open(a->fs->vfs, a->path.at, VFS_READ | VFS_WRITE | VFS_APPEND, 0, &file);
    if (errnum)
        return errnum;
    vfile_lock(file);
    errnum = vfile_stat(file, st);
    if (!errnum)
        errnum = vfs_stat(a->fs->vfs, a->path.at, VFS_FOLLOW, &named);
    if (!errnum && (named.dev != st->dev || named.ino != st->ino))
        errnum = ESTALE;
    if (errnum)
        vfile_close(file);
    else
        *out = file;
    return errnum;
}

static bool append_existing(struct append *a)
{
    struct vfile *file;
    struct vfs_stat st;
    int errnum = ESTALE;
    for (int i = 0; i < MAX_ATTEMPTS && errnum == ESTALE; i++)
        errnum = open_locked(a, &file, &st);
    if (errnum)
        return fs_fail_errno(a->fs, "write to", &a->path, errnum);
    bool is_error = append_to(a, file, &st);
    vfile_close(file);
    return is_error;
}

/* A name as it was shown, with U+FFFD for bytes that are no UTF-8: no new file is meant.
 */
static bool is_as_shown(struct append *a)
{
    auto_buf unused = BUF(8192);
    struct fs *fs = a->fs;
    return memmem(a->path.given.data, a->path.given.len, "\xEF\xBF\xBD", 3) &&
           lookalikes_tell(fs->vfs, a->path.at, fs->workspace.text, fs->arena, &unused);
}

bool fs_append(struct fs *fs)
{
    struct append a = { .fs = fs, .content = fs_text_arg(fs, "content") };
    struct vfs_stat st;
    if (!fs_path_arg(fs, "path", &a.path))
        return true;
    int errnum = vfs_stat(fs->vfs, a.path.at, VFS_FOLLOW, &st);
    if (!errnum && st.type != VFS_FILE)
        return fs_fail_type(fs, &a.path, st.type);
    if (errnum == ENOENT && !vfs_stat(fs->vfs, a.path.at, VFS_NOFOLLOW, &st))
        return fs_fail(fs, "'%.*s' is a symbolic link to nothing", STR_ARG(a.path.given));
    if (!errnum)
        return append_existing(&a);
    if (errnum == ENOENT && is_as_shown(&a))
        return fs_fail_missing(fs, "File", &a.path);
    if (errnum == ENOENT)
        errnum = create(&a);
    if (!errnum)
        return tell_created(&a);
    return errnum == EEXIST ? append_existing(&a)
                            : fs_fail_errno(fs, "create", &a.path, errnum);
}

/* What a file held, or what else is to be said about it. */
struct removed {
    struct str text;
    const char *instead; /* NULL: show the text */
};

static struct removed look_at_file(struct fs *fs, const struct fs_path *path)
{
    enum { MAX_BYTES = 4 * (MAX_DELETED + 1) };
    struct vfile *file;
    char *data = arena_alloc(fs->arena, MAX_BYTES);
    size_t len = 0, got = 1;
    int errnum = vfs_open(fs->vfs, path->at, VFS_READ, 0, &file);
    if (errnum)
        return (struct removed){ .instead = "(not readable)" };
    while (!errnum && got && len < MAX_BYTES) {
        errnum = vfile_read(file, data + len, MAX_BYTES - len, &got);
        len += got;
    }
    vfile_close(file);
    struct str text = { data, len };
    size_t whole = len < MAX_BYTES ? len : utf8_offset(text, MAX_DELETED + 1);
    text.len = whole;
    bool is_text = !errnum && utf8_valid(text);
    return (struct removed){ text, is_text ? NULL : "(binary file)" };
}

static struct removed look_at_link(struct fs *fs, const struct fs_path *path)
{
    struct str target;
    if (vfs_readlink(fs->vfs, path->at, fs->arena, &target))
        return (struct removed){ .instead = "(symbolic link)" };
    return (struct removed){ .instead = arena_printf(fs->arena, "(symbolic link to %.*s)",
                                     STR_ARG(target)) };
}

static bool tell_deleted(
        struct fs *fs, const struct fs_path *path, const struct removed *removed)
{
    add_names(path->given, STR("/dev/null"), fs->text);
    if (removed->instead) {
        buf_addf(fs->text, "@@ -1 +0,0 @@\n-%s\n", removed->instead);
        return false;
    }
    struct str text = removed->text;
    struct str shown = str_sub(text, 0, utf8_offset(text, MAX_DELETED));
    if (!shown.len)
        buf_addf(fs->text, "(the file was empty)\n");
    else
        buf_addf(fs->text, "@@ -1,%zu +0,0 @@\n", count_lines(shown));
    add_lines(text, '-', MAX_DELETED, "file", fs->text);
    return false;
}

static bool delete_directory(struct fs *fs, const struct fs_path *path)
{
    int errnum = vfs_rmdir(fs->vfs, path->at);
    if (errnum == ENOTEMPTY)
        return fs_fail(fs,
                "Cannot delete '%.*s': the directory is not empty; delete what is in it "
                "first (fs_find lists it)",
                STR_ARG(path->given));
    if (errnum)
        return fs_fail_errno(fs, "delete", path, errnum);
    const struct removed removed = { .instead = "(empty directory)" };
    return tell_deleted(fs, path, &removed);
}

bool fs_delete(struct fs *fs)
{
    struct fs_path path;
    struct vfs_stat st;
    if (!fs_path_arg(fs, "path", &path))
        return true;
    int errnum = vfs_stat(fs->vfs, path.at, VFS_NOFOLLOW, &st);
    if (errnum)
        return fs_fail_errno(fs, "delete", &path, errnum);
    if (str_is(path.shown, "."))
        return fs_fail(fs, "Cannot delete '%.*s': it is the workspace itself",
                STR_ARG(path.given));
    if (st.type == VFS_DIR)
        return delete_directory(fs, &path);
    struct removed removed = { .instead = arena_printf(
                                       fs->arena, "(%s)", fs_type_name(st.type)) };
    if (st.type == VFS_FILE)
        removed = look_at_file(fs, &path);
    else if (st.type == VFS_LINK)
        removed = look_at_link(fs, &path);
    errnum = vfs_unlink(fs->vfs, path.at);
    if (errnum)
        return fs_fail_errno(fs, "delete", &path, errnum);
    return tell_deleted(fs, &path, &removed);
}
