/* fs_str_replace: the engine of edit/, with words of its own. */
#include "base/textline.h"
#include "edit/edit.h"
#include "edit/udiff.h"
#include "worker/fs-partial.h"
#include "worker/fs.h"

#include <errno.h>

#define MAX_DIFF 65536

enum { MAX_MATCHES = 5 };

static size_t count_lines(struct str text)
{
    size_t lines = 0;
    for (size_t at = 0; at < text.len; at = textline_next(text, at))
        lines++;
    return lines;
}

static void tell_missed(const struct edit_matches *m, struct buf *out)
{
    if (!fs_partial_add(m->text, m->old_text, out)) {
        buf_addf(out,
                "No exact match found in '%.*s'. No partial matches detected. The file "
                "has "
                "%zu lines; fs_readfile shows them.\n",
                STR_ARG(m->path), count_lines(m->text));
        return;
    }
    buf_addf(out,
            "\nTip: copy the text from the file, without line numbers, with its own "
            "indentation.\n");
}

static void tell_ambiguous(const struct edit_matches *m, struct buf *out)
{
    size_t shown = m->shown < MAX_MATCHES ? m->shown : MAX_MATCHES;
    size_t line = 1, at = 0;
    buf_addf(out, "Multiple matches found. Showing %zu of %zu exact matches:\n", shown,
            m->count);
    for (size_t i = 0; i < shown; i++) {
        for (size_t next;
                at < m->text.len && (next = textline_next(m->text, at)) <= m->at[i];
                at = next)
            line++;
        buf_addf(out, "\nMatch %zu (line %zu):\n", i + 1, line);
        fs_partial_lines(m->text, line > 1 ? line - 1 : 1, line + 1, out);
    }
    buf_addf(out,
            "\nTip: add lines around it to oldStr until it is unique, or choose one "
            "with start_line and end_line. Nothing was changed.");
}

static void tell_changed(struct str before, struct str after, struct buf *out)
{
    udiff_add(before, after, MAX_DIFF, out);
}

static const struct edit_face face = {
    .words = { "oldStr", "newStr" },
    .utf8_only = true,
    .overlapping = true,
    .missed = tell_missed,
    .ambiguous = tell_ambiguous,
    .changed = tell_changed,
};

static uint64_t line_arg(const struct fs *fs, const char *name)
{
    int64_t line = fs_int_arg(fs, name, 0);
    return line > 0 ? (uint64_t)line : 0;
}

static bool replace(
        struct fs *fs, const struct fs_path *path, struct edit_request *request)
{
    struct edit_result result;
    struct str detail = STR("");
    struct error err = { 0 };
    if (edit_apply(fs->vfs, request, fs->arena, &result, &detail, &err)) {
        buf_addf(fs->text, "--- %.*s\n+++ %.*s\n", STR_ARG(path->given),
                STR_ARG(path->given));
        buf_add(fs->text, result.snippet);
        return false;
    }
    if (err.code == ERR_DENIED)
        return fs_fail_errno(fs, "edit", path, EACCES);
    if (!detail.len)
        return fs_fail(fs, "Cannot edit '%.*s': %s%s%s", STR_ARG(path->given),
                err.message, err.hint[0] ? ". " : "", err.hint);
    buf_add(fs->text, detail);
    buf_addc(fs->text, '\n');
    return true;
}

bool fs_str_replace(struct fs *fs)
{
    struct fs_path path;
    struct vfs_stat st;
    struct edit_request request = { .old_text = fs_text_arg(fs, "oldStr"),
        .new_text = fs_text_arg(fs, "newStr"),
        .first_line = line_arg(fs, "start_line"),
        .last_line = line_arg(fs, "end_line"),
        .face = &face };
    if (!fs_path_arg(fs, "path", &path))
        return true;
    if (!request.old_text.len)
        return fs_fail(fs, "oldStr is empty; fs_append adds text to a file");
    if (request.last_line && request.first_line > request.last_line)
        return fs_fail(fs, "start_line %llu is after end_line %llu",
                (unsigned long long)request.first_line,
                (unsigned long long)request.last_line);
    int errnum = vfs_stat(fs->vfs, path.at, VFS_FOLLOW, &st);
    if (errnum)
        return fs_fail_errno(fs, "edit", &path, errnum);
    if (st.type != VFS_FILE)
        return fs_fail_type(fs, &path, st.type);
    request.path = path.at;
    request.shown_path = path.given;
    return replace(fs, &path, &request);
}
