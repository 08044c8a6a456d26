#include "edit/edit.h"

#include "base/textline.h"
#include "base/utf8.h"
#include "edit/internal.h"
#include "edit/lookalike.h"

#include <errno.h>
#include <stdio.h>

/* An editing call and what it holds. */
struct edit {
    struct vfs *vfs;
    const struct edit_request *request;
    struct str old_text, new_text; /* without a BOM if the file has its own */
    char *content;                 /* the whole file, owned */
    struct str whole, body;        /* `body` comes after the BOM */
    struct span window;            /* of the body: where the text is looked for */
    const struct edit_face *face;
    struct vfs_stat seen; /* when it was read */
    struct arena *arena;
    struct error *err;
    struct buf detail;
};

static const struct edit_face edit_face = { .words = { "old_string", "new_string" } };

enum { MAX_DETAIL = 64 << 10, MAX_SNIPPET = 256 << 10 };

static bool refuse_same(const struct edit *e)
{
    return error_set(e->err, ERR_INVALID, "%s and %s are identical; nothing to do",
            e->face->words.old_name, e->face->words.new_name);
}

static void edit_finish(struct edit *e)
{
    free(e->content);
    buf_finish(&e->detail);
}

/* The message is what the system says, nothing before it. */
static bool set_errno(struct error *err, int errnum)
{
    error_errno(err, errnum, "edit");
    snprintf(err->message, sizeof(err->message), "%s", strerror(errnum));
    return false;
}

static bool create_file(struct edit *e, struct edit_result *out)
{
    int error = vfs_replace(e->vfs, e->request->path, e->new_text,
            VFS_WRITE | VFS_CREATE | VFS_EXCLUSIVE, NULL);
    if (error == EEXIST)
        return error_set(e->err, ERR_EXISTS,
                "file already exists; to change it, give the text to replace in %s",
                e->face->words.old_name);
    if (!error) {
        out->created = true;
        return true;
    }
    set_errno(e->err, error);
    if (error == ENOENT)
        error_hint(e->err, "Its directory does not exist; make it with mkdir -p.");
    return false;
}

static bool too_large(struct error *err, const char *what)
{
    return error_set(
            err, ERR_LIMIT, "%s is larger than %zu MiB", what, EDIT_MAX_FILE >> 20);
}

/* Everything up to the end; a file that shrinks or grows meanwhile is noticed later. */
static int read_content(struct vfile *f, struct edit *e)
{
    size_t size = (size_t)e->seen.size, len = 0, got = 1;
    e->content = malloc(size + 1);
    if (!e->content)
        return ENOMEM;
    while (len < size && got) {
        int error = vfile_read(f, e->content + len, size - len, &got);
        if (error)
            return error;
        len += got;
    }
    e->whole = (struct str){ e->content, len };
    return 0;
}

static bool read_file(struct edit *e)
{
    struct vfile *f;
    free(TAKE(e->content));
    int error = vfs_open(e->vfs, e->request->path, VFS_READ, 0, &f);
    if (!error) {
        error = vfile_stat(f, &e->seen);
        bool fits = e->seen.size <= EDIT_MAX_FILE;
        if (!error && e->seen.type == VFS_DIR)
            error = EISDIR;
        if (!error && fits)
            error = read_content(f, e);
        vfile_close(f);
        if (!error && !fits)
            return too_large(e->err, "the file");
    }
    if (!error)
        return true;
    if (error == EOPNOTSUPP)
        return error_set(e->err, ERR_INVALID, "not a regular file");
    set_errno(e->err, error);
    if (error == ENOENT) {
        lookalikes_tell(e->vfs, e->request->path, STR(""), e->arena, &e->detail);
        error_hint(
                e->err, "To create a file, pass an empty %s.", e->face->words.old_name);
    }
    return false;
}

#define BOM STR("\xEF\xBB\xBF")

static struct str without_bom(struct str s)
{
    return str_starts(s, BOM) ? str_from(s, BOM.len) : s;
}

static bool is_utf16(struct str s)
{
    return (str_starts(s, STR("\xFF\xFE")) || str_starts(s, STR("\xFE\xFF"))) &&
           memchr(s.data, 0, s.len);
}

static bool look_at_encoding(struct edit *e)
{
    e->old_text = e->request->old_text;
    e->new_text = e->request->new_text;
    e->body = without_bom(e->whole);
    if (is_utf16(e->whole))
        return error_set(e->err, ERR_UNSUPPORTED,
                "the file is UTF-16 text, which edit cannot change; only UTF-8 and "
                "encodings that contain ASCII are supported");
    size_t valid = e->face->utf8_only ? utf8_valid_len(e->body) : e->body.len;
    if (valid < e->body.len)
        return error_set(e->err, ERR_UNSUPPORTED,
                "the file is binary or not UTF-8 (byte %zu)",
                e->whole.len - e->body.len + valid);
    if (e->body.len == e->whole.len)
        return true;
    struct str bare = without_bom(e->old_text);
    if (bare.len)
        e->old_text = bare;
    e->new_text = without_bom(e->new_text);
    return true;
}

/* The bytes of the lines that are asked for. */
static bool find_window(struct edit *e)
{
    uint64_t first = e->request->first_line, last = e->request->last_line, line = 1;
    size_t from = 0;
    e->window = (struct span){ 0, e->body.len };
    if (!first && !last)
        return true;
    for (; line < first && from < e->body.len; line++)
        from = textline_next(e->body, from);
    if (first > 1 && from == e->body.len)
        return error_set(e->err, ERR_INVALID, "the file has only %llu lines",
                (unsigned long long)line - 1);
    size_t to = last ? from : e->body.len;
    for (; line <= last && to < e->body.len; line++)
        to = textline_next(e->body, to);
    e->window = (struct span){ from, to - from };
    return true;
}

static struct str window_text(const struct edit *e)
{
    return str_sub(e->body, e->window.from, e->window.len);
}

/* The next match in the window, as a part of the body. */
static bool next_match(const struct edit *e, struct finder *f, struct span *out)
{
    if (!finder_next(f, out))
        return false;
    out->from += e->window.from;
    return true;
}

struct matches {
    size_t count;
    size_t first[MAX_PLACES]; /* where the first ones begin */
};

static struct matches count_matches(const struct edit *e, struct finder *f)
{
    struct matches m = { 0 };
    struct span span;
    f->overlapping = e->face->overlapping && !e->request->replace_all;
    while (next_match(e, f, &span)) {
        if (m.count < MAX_PLACES)
            m.first[m.count] = span.from;
        m.count++;
    }
    f->overlapping = false;
    finder_rewind(f);
    return m;
}

static size_t shown_places(const struct matches *m)
{
    return m->count < MAX_PLACES ? m->count : MAX_PLACES;
}

static struct edit_matches describe_matches(const struct edit *e, const struct matches *m)
{
    return (struct edit_matches){ .path = e->request->shown_path,
        .text = e->body,
        .old_text = e->old_text,
        .count = m->count,
        .at = m->first,
        .shown = shown_places(m) };
}

/* It may be there, but not in the lines that were asked for. */
static bool tell_outside(struct edit *e, enum eol main)
{
    if (e->window.len == e->body.len)
        return false;
    auto_finder f = { 0 };
    struct matches m = { 0 };
    struct span span;
    finder_init(&f, e->body, main, e->old_text);
    for (; finder_next(&f, &span); m.count++)
        if (m.count < MAX_PLACES)
            m.first[m.count] = span.from;
    if (!m.count)
        return false;
    buf_addf(&e->detail, "%sIt does occur outside of the lines asked for, at ",
            e->detail.len ? "\n" : "");
    show_places(e->body, main, m.first, shown_places(&m), m.count, &e->detail);
    buf_addc(&e->detail, '.');
    return true;
}

/* Why the text is not there. */
static void tell_reasons(struct edit *e, enum eol main)
{
    const struct miss miss = { .text = e->body,
        .main = main,
        .old_text = e->old_text,
        .new_text = e->new_text,
        .words = &e->face->words,
        .quiet = e->face->missed };
    auto_buf reasons = BUF(MAX_DETAIL);
    diagnose(&miss, &reasons);
    if (e->detail.len && reasons.len)
        buf_addc(&e->detail, '\n');
    buf_add(&e->detail, buf_str(&reasons));
}

static bool refuse_missing(struct edit *e, enum eol main, const struct matches *m)
{
    const struct edit_matches matches = describe_matches(e, m);
    if (e->face->missed)
        e->face->missed(&matches, &e->detail);
    if (!tell_outside(e, main))
        tell_reasons(e, main);
    return error_set(e->err, ERR_NOT_FOUND,
            "%s not found (it must match exactly, including whitespace and "
            "indentation)",
            e->face->words.old_name);
}

static bool refuse_ambiguous(
        struct edit *e, const struct finder *f, const struct matches *m)
{
    const struct edit_matches matches = describe_matches(e, m);
    if (e->face->ambiguous) {
        e->face->ambiguous(&matches, &e->detail);
    } else {
        buf_addf(&e->detail, "It begins at ");
        show_places(e->body, f->main, m->first, shown_places(m), m->count, &e->detail);
        buf_addf(&e->detail, ".");
    }
    return error_set(e->err, ERR_INVALID,
            "%s appears %zu times; add surrounding lines to make it unique, or set "
            "replace_all to true",
            e->face->words.old_name, m->count);
}

static bool check_count(struct edit *e, const struct finder *f, const struct matches *m)
{
    if (!m->count)
        return refuse_missing(e, f->main, m);
    return m->count == 1 || e->request->replace_all || refuse_ambiguous(e, f, m);
}

/* The new content, and where the first replacement lies in its body. */
struct outcome {
    char *content; /* owned */
    struct str whole, body;
    struct span first;
};

static struct insertion insertion_in(
        const struct edit *e, struct finder *f, struct span at)
{
    at.from -= e->window.from;
    return insertion_at(f, e->old_text, e->new_text, at);
}

/* SIZE_MAX: larger than a file may be. */
static size_t outcome_size(struct edit *e, struct finder *f)
{
    size_t size = e->whole.len;
    struct span span;
    while (next_match(e, f, &span)) {
        struct insertion i = insertion_in(e, f, span);
        size = size - span.len + insertion_size(&i);
        if (size > 2 * EDIT_MAX_FILE)
            return SIZE_MAX;
    }
    finder_rewind(f);
    return size <= EDIT_MAX_FILE ? size : SIZE_MAX;
}

static char *copy(char *to, const char *from, size_t len)
{
    if (len)
        memcpy(to, from, len);
    return to + len;
}

static void fill_outcome(struct edit *e, struct finder *f, struct outcome *out)
{
    size_t bom = e->whole.len - e->body.len, done = 0;
    char *to = copy(out->content, e->whole.data, bom);
    struct span span;
    for (bool first = true; next_match(e, f, &span); first = false) {
        struct insertion i = insertion_in(e, f, span);
        to = copy(to, e->body.data + done, span.from - done);
        size_t len = insertion_size(&i);
        if (first)
            out->first = (struct span){ (size_t)(to - out->content) - bom, len };
        insertion_write(&i, to);
        to += len;
        done = span.from + span.len;
    }
    to = copy(to, e->body.data + done, e->body.len - done);
    out->whole.data = out->content;
    out->whole.len = (size_t)(to - out->content);
    out->body = str_from(out->whole, bom);
}

static bool build_outcome(struct edit *e, struct finder *f, struct outcome *out)
{
    size_t size = outcome_size(e, f);
    if (size == SIZE_MAX)
        return too_large(e->err, "the result");
    out->content = malloc(size + 1);
    if (!out->content)
        return set_errno(e->err, ENOMEM);
    fill_outcome(e, f, out);
    return !str_eq(out->whole, e->whole) || refuse_same(e);
}

/* What the file looks like now, around the first replacement. */
static struct str make_snippet(const struct edit *e, const struct finder *f,
        const struct matches *m, const struct outcome *o, struct arena *arena)
{
    auto_buf b = BUF(MAX_SNIPPET);
    if (e->face->changed) {
        e->face->changed(e->body, o->body, &b);
        return arena_str(arena, buf_str(&b));
    }
    enum eol main = eol_main(o->body);
    show_region(o->body, main, o->first.from, o->first.from + o->first.len, 3, &b);
    if (!o->body.len)
        buf_addf(&b, "(the file is empty now)");
    if (m->count > 1) {
        buf_addf(&b, "\nBefore the edit the %zu places began at ", m->count);
        show_places(e->body, f->main, m->first, shown_places(m), m->count, &b);
        buf_addf(&b, ".");
    }
    return arena_str(arena, buf_str(&b));
}

/* 0, an errno, or -1 with the error filled. */
static int change_file(struct edit *e, struct arena *arena, struct edit_result *out)
{
    if (!read_file(e) || !look_at_encoding(e))
        return -1;
    if (str_eq(e->old_text, e->new_text))
        return refuse_same(e) ? 0 : -1;
    if (!find_window(e))
        return -1;
    auto_finder f = { 0 };
    finder_init(&f, window_text(e), eol_main(e->body), e->old_text);
    struct matches m = count_matches(e, &f);
    struct outcome o = { 0 };
    bool ok = check_count(e, &f, &m) && build_outcome(e, &f, &o);
    int error =
            ok ? vfs_replace(e->vfs, e->request->path, o.whole, VFS_WRITE, &e->seen) : -1;
    if (!error) {
        out->count = m.count;
        out->snippet = make_snippet(e, &f, &m, &o, arena);
    }
    free(o.content);
    return error;
}

static bool change(struct edit *e, struct arena *arena, struct edit_result *out)
{
    int error = ESTALE;
    for (int i = 0; i < EDIT_MAX_ATTEMPTS && error == ESTALE; i++)
        error = change_file(e, arena, out);
    if (error == ESTALE) {
        error_set(e->err, ERR_IO, "file changed while it was being edited");
        return error_hint(
                e->err, "Something else is writing to it; nothing was changed.");
    }
    if (error > 0)
        set_errno(e->err, error);
    return !error;
}

bool edit_apply(struct vfs *vfs, const struct edit_request *request, struct arena *arena,
        struct edit_result *out, struct str *detail, struct error *err)
{
    AUTO(edit_finish)
    struct edit e = {
        .vfs = vfs,
        .request = request,
        .face = request->face ? request->face : &edit_face,
        .new_text = request->new_text,
        .err = err,
        .arena = arena,
        .detail = BUF(MAX_DETAIL),
    };
    struct edit_result result = { .path = request->path };
    bool ok =
            request->old_text.len ? change(&e, arena, &result) : create_file(&e, &result);
    if (!ok) {
        *detail = arena_str(arena, buf_str(&e.detail));
        return false;
    }
    if (vfs_resolve(vfs, request->path, VFS_FOLLOW, arena, &result.path))
        result.path = request->path; /* gone already: name it as it was asked for */
    *out = result;
    return true;
}
