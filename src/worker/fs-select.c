#include "worker/fs-select.h"

#include "policy/pyre/pyre.h"
#include "search/pathglob.h"
#include "worker/fs-ignore.h"

#include <errno.h>

enum { MAX_DEPTH = 2048 + 1 }; /* components of a path */

struct fs_select {
    struct fs *fs;
    struct fs_path start;
    enum vfs_type start_type;
    struct dirwalk *walk;
    struct arena *scratch; /* of one entry */
    struct arena_mark scratch_start;

    struct pathglob glob; /* one part: of the name alone */
    struct pyre *regex, *exclude;
    bool by_glob, by_path, wants_hidden;
    struct str pattern;
    pathglob_states states[MAX_DEPTH]; /* after the folder at each depth */

    struct fs_ignore *ignore; /* NULL: not respected */
    uint64_t hidden, excluded, ignored, unreadable, remote;
    char *first_remote; /* that was not entered */
    bool regex_failed;
    int start_errno; /* the folder itself cannot be listed */
};

static bool compile(struct fs *fs, const char *name, bool fold, struct pyre **out)
{
    struct error err;
    struct str text = fs_text_arg(fs, name);
    if (!text.len)
        return true;
    if (pyre_create(text, fold ? PYRE_FOLD : 0, out, &err))
        return true;
    fs_fail(fs, "Invalid %s '%.*s': %s", name, STR_ARG(text), err.message);
    return false;
}

/* The glob applies to the path if it has a slash; a hidden name must be asked for. */
static bool read_glob(struct fs_select *s, struct str text, bool fold)
{
    struct error err;
    const char *slash = memrchr(text.data, '/', text.len);
    struct str last = slash ? str_from(text, (size_t)(slash + 1 - text.data)) : text;
    s->by_glob = true;
    s->by_path = slash;
    s->wants_hidden = str_starts(last, STR("."));
    s->pattern = text;
    while (s->by_path && str_starts(text, STR("./")))
        text = str_from(text, 2);
    if (pathglob_parse(text, fold, s->fs->arena, &s->glob, &err))
        return true;
    fs_fail(s->fs, "Invalid file_glob '%.*s': %s", STR_ARG(s->pattern), err.message);
    return false;
}

static bool read_filter(struct fs_select *s, bool fold)
{
    struct str glob = fs_text_arg(s->fs, "file_glob");
    struct str regex = fs_text_arg(s->fs, "file_regex");
    if (glob.len && regex.len) {
        fs_fail(s->fs, "give file_glob or file_regex, not both");
        return false;
    }
    if (!regex.len)
        return read_glob(s, glob.len ? glob : STR("*"), fold);
    s->pattern = regex;
    s->by_path = memchr(regex.data, '/', regex.len);
    return compile(s->fs, "file_regex", fold, &s->regex);
}

static bool find_start(struct fs_select *s)
{
    struct vfs_stat st;
    if (!fs_path_arg(s->fs, "path", &s->start))
        return false;
    int errnum = vfs_stat(s->fs->vfs, s->start.at, VFS_FOLLOW, &st);
    if (errnum == ENOENT || errnum == ENOTDIR)
        return !fs_fail_missing(s->fs, "Path", &s->start);
    if (errnum)
        return !fs_fail_errno(s->fs, "search", &s->start, errnum);
    s->start_type = st.type;
    return true;
}

static void start_walk(struct fs_select *s)
{
    const struct dirwalk_view view = { s->fs->vfs, s->fs->workspace, &s->fs->budget };
    s->walk = dirwalk_create(&view, s->start.at.text.data, true, false);
    dirwalk_types_only(s->walk);
    s->scratch = arena_create();
    s->scratch_start = arena_mark(s->scratch);
    if (fs_bool_arg(s->fs, "respect_gitignore", false) && s->start_type == VFS_DIR)
        s->ignore = fs_ignore_create(s->fs, s->start.at);
}

struct fs_select *fs_select_create(struct fs *fs, bool case_sensitive)
{
    struct fs_select *s = xcalloc(1, sizeof(*s));
    s->fs = fs;
    if (!read_filter(s, !case_sensitive) ||
            !compile(fs, "exclude_regex", !case_sensitive, &s->exclude) ||
            !find_start(s)) {
        fs_select_destroy(s);
        return NULL;
    }
    start_walk(s);
    return s;
}

void fs_select_destroy(struct fs_select *s)
{
    pyre_destroy(s->regex);
    pyre_destroy(s->exclude);
    fs_ignore_destroy(s->ignore);
    if (s->walk)
        dirwalk_destroy(s->walk);
    arena_destroy(s->scratch);
    free(s->first_remote);
    free(s);
}

const struct fs_path *fs_select_start(const struct fs_select *s)
{
    return &s->start;
}

enum vfs_type fs_select_start_type(const struct fs_select *s)
{
    return s->start_type;
}

const char *fs_select_filter(const struct fs_select *s)
{
    return s->by_glob ? "file_glob" : "file_regex";
}

struct str fs_select_pattern(const struct fs_select *s)
{
    return s->pattern;
}

static bool finds(struct fs_select *s, struct pyre *re, struct str text)
{
    enum pyre_result r = pyre_match(re, PYRE_SEARCH, text);
    s->regex_failed |= r == PYRE_LIMIT;
    return r == PYRE_YES;
}

/* Is it left out, whatever the filter says?  Counts it. */
static bool left_out(struct fs_select *s, struct str rel, struct str name, bool is_dir)
{
    if (str_starts(name, STR(".")) && (is_dir || !s->wants_hidden))
        return ++s->hidden;
    if (s->exclude && finds(s, s->exclude, rel))
        return ++s->excluded;
    if (s->ignore && fs_ignore_has(s->ignore, rel, is_dir))
        return ++s->ignored;
    return false;
}

/* Can anything below the folder match? */
static bool may_hold(struct fs_select *s, size_t depth, struct str name)
{
    if (depth + 1 >= MAX_DEPTH)
        return false;
    if (!s->by_glob || !s->by_path)
        return true;
    s->states[depth] = depth ? pathglob_step(&s->glob, s->states[depth - 1], name)
                             : pathglob_start(&s->glob);
    return pathglob_goes_on(&s->glob, s->states[depth]);
}

static bool is_wanted(struct fs_select *s, size_t depth, struct str rel, struct str name)
{
    if (s->regex)
        return finds(s, s->regex, s->by_path ? rel : name);
    pathglob_states before = s->by_path ? s->states[depth - 1] : pathglob_start(&s->glob);
    return pathglob_accepts(&s->glob, pathglob_step(&s->glob, before, name));
}

/* The path from the start; "" for that itself. */
static struct str rel_path(const struct dirwalk_entry *e)
{
    struct str path = str_from(str_of(e->path), e->root_len);
    return str_starts(path, STR("/")) ? str_from(path, 1) : path;
}

static void enter_or_skip(struct fs_select *s, const struct dirwalk_entry *e)
{
    struct str rel = rel_path(e), name = str_of(e->name);
    if ((e->depth && left_out(s, rel, name, true)) || !may_hold(s, e->depth, name))
        dirwalk_skip(s->walk);
    else if (s->ignore)
        fs_ignore_enter(s->ignore, rel);
}

/* What a link leads to: a folder is no file; what cannot be seen remains a link. */
static bool is_folder_link(struct fs_select *s, struct vpath at)
{
    struct vfs_stat st;
    return !vfs_stat(s->fs->vfs, at, VFS_FOLLOW, &st) && st.type == VFS_DIR;
}

static struct str shown_path(struct fs_select *s, struct str rel)
{
    struct str start = s->start.shown;
    if (str_is(start, "."))
        return rel;
    const char *slash = str_ends(start, STR("/")) ? "" : "/";
    return str_of(
            arena_printf(s->scratch, "%.*s%s%.*s", STR_ARG(start), slash, STR_ARG(rel)));
}

/* A file that is searched though it is the start: the filter does not apply. */
static bool take_start(struct fs_select *s, struct fs_found *out)
{
    *out = (struct fs_found){ s->start.shown, s->start.at, s->start_type };
    return true;
}

static bool take_file(
        struct fs_select *s, const struct dirwalk_entry *e, struct fs_found *out)
{
    struct str rel = rel_path(e), name = str_of(e->name);
    if (!e->depth)
        return take_start(s, out);
    if (left_out(s, rel, name, false) || !is_wanted(s, e->depth, rel, name))
        return false;
    struct vpath at;
    if (vpath_parse(str_of(e->path), s->fs->workspace, s->scratch, &at) ||
            (e->st.type == VFS_LINK && is_folder_link(s, at)))
        return false;
    *out = (struct fs_found){ shown_path(s, rel), at, e->st.type };
    return true;
}

/* One step of the walk; true: it was a file that is wanted. */
static bool visit(
        struct fs_select *s, const struct dirwalk_entry *e, struct fs_found *out)
{
    switch (e->step) {
    case WALK_FILE:
        return take_file(s, e, out);
    case WALK_DIR:
        enter_or_skip(s, e);
        return false;
    case WALK_UNREADABLE:
        if (e->errnum == EREMOTE && !s->remote++)
            s->first_remote = str_copy(str_of(e->path + e->root_len));
        s->unreadable += e->errnum != EREMOTE;
        s->start_errno = e->depth ? s->start_errno : e->errnum;
        if (s->ignore)
            fs_ignore_leave(s->ignore);
        return false;
    case WALK_DIR_END:
        if (s->ignore)
            fs_ignore_leave(s->ignore);
        return false;
    case WALK_FAILED:
        s->unreadable++;
        return false;
    }
    return false;
}

bool fs_select_next(struct fs_select *s, struct fs_found *out)
{
    struct dirwalk_entry e;
    arena_rewind(s->scratch, s->scratch_start);
    while (!s->regex_failed && dirwalk_next(s->walk, &e))
        if (visit(s, &e, out))
            return !s->regex_failed;
    return false;
}

bool fs_select_failed(struct fs_select *s)
{
    if (s->start_errno)
        return fs_fail_errno(s->fs, "search", &s->start, s->start_errno);
    return s->regex_failed &&
           fs_fail(s->fs,
                   "file_regex or exclude_regex needs too many steps for a path; make it "
                   "simpler, e.g. without nested repeats like (a+)+");
}

static void add_note(struct buf *out, uint64_t count, const char *what)
{
    if (count)
        buf_addf(out, "%s%llu %s.", out->len ? " " : "", (unsigned long long)count, what);
}

void fs_select_notes(const struct fs_select *s, struct buf *out)
{
    add_note(out, s->unreadable, "unreadable file(s)/dir(s) skipped");
    if (s->remote)
        buf_addf(out,
                "%s'%s'%s skipped: a file system that may be slow (FUSE or network); "
                "name "
                "it as path to search it.",
                out->len ? " " : "", s->first_remote + (*s->first_remote == '/'),
                s->remote > 1 ? " and others" : "");
    add_note(out, s->hidden, "hidden file(s)/dir(s) skipped");
    add_note(out, s->excluded, "excluded by exclude_regex");
    add_note(out, s->ignored, "ignored by .gitignore");
    if (!budget_spend(&s->fs->budget, 0)) {
        char why[256];
        budget_describe(&s->fs->budget, why, sizeof(why));
        struct str place = dirwalk_place(s->walk);
        if (str_starts(place, STR("/")))
            place = str_from(place, 1);
        buf_addf(out, "%sIncomplete: %s", out->len ? " " : "", why);
        if (place.len)
            buf_addf(out,
                    ", when the search was at '%.*s'; leave that out with "
                    "exclude_regex, or name another path",
                    STR_ARG(place));
        buf_addc(out, '.');
    }
}
