/* What find's operators and tests say of one file. */
#include "shell/builtin/files.h"
#include "shell/builtin/find.h"
#include "shell/pattern.h"

bool find_eval(struct find *f, const struct find_expr *e, struct find_file *file)
{
    return e->eval(f, e, file);
}

bool find_and(struct find *f, const struct find_expr *e, struct find_file *file)
{
    for (size_t i = 0; i < e->count; i++)
        if (f->quit || !find_eval(f, e->items[i], file))
            return false;
    return true;
}

bool find_or(struct find *f, const struct find_expr *e, struct find_file *file)
{
    for (size_t i = 0; i < e->count && !f->quit; i++)
        if (find_eval(f, e->items[i], file))
            return true;
    return false;
}

bool find_comma(struct find *f, const struct find_expr *e, struct find_file *file)
{
    bool last = false;
    for (size_t i = 0; i < e->count && !f->quit; i++)
        last = find_eval(f, e->items[i], file);
    return last;
}

bool find_not(struct find *f, const struct find_expr *e, struct find_file *file)
{
    return !find_eval(f, e->items[0], file);
}

bool find_true(struct find *f, const struct find_expr *e, struct find_file *file)
{
    (void)f, (void)e, (void)file;
    return true;
}

bool find_false(struct find *f, const struct find_expr *e, struct find_file *file)
{
    (void)f, (void)e, (void)file;
    return false;
}

static bool matches(const struct find_expr *e, struct str text)
{
    return pattern_match(e->text, text, e->fold ? PATTERN_FOLD : 0);
}

bool find_name(struct find *f, const struct find_expr *e, struct find_file *file)
{
    (void)f;
    return matches(e, file->name);
}

bool find_path(struct find *f, const struct find_expr *e, struct find_file *file)
{
    (void)f;
    return matches(e, str_of(file->path));
}

bool find_link_name(struct find *f, const struct find_expr *e, struct find_file *file)
{
    struct str target;
    struct arena_mark mark = arena_mark(f->c->arena);
    bool ok = file->type == VFS_LINK && !file_readlink(f->c, file->path, &target) &&
              matches(e, target);
    arena_rewind(f->c->arena, mark);
    return ok;
}

bool find_regex(struct find *f, const struct find_expr *e, struct find_file *file)
{
    enum regex_result r = regex_search(e->regex, str_of(file->path), 0, false, NULL);
    if (r == REGEX_LIMIT) {
        cmd_err(f->c, "'%s': the regular expression takes too long", file->path);
        f->status = 1;
    }
    return r == REGEX_YES;
}

static enum vfs_follow follow_of(const struct find *f, const struct find_file *file)
{
    bool follow = f->follow || (f->follow_operands && !file->depth);
    return follow && file->type != VFS_LINK ? VFS_FOLLOW : VFS_NOFOLLOW;
}

bool find_stat(struct find *f, struct find_file *file)
{
    if (file->has_stat)
        return true;
    int errnum = file_stat(f->c, file->path, follow_of(f, file), &file->st);
    if (errnum)
        find_failed(f, file->path, errnum);
    file->has_stat = !errnum;
    return !errnum;
}

int64_t find_time_of(const struct vfs_stat *st, enum find_time time)
{
    return time == TIME_ACCESS   ? st->atime_ns
           : time == TIME_CHANGE ? st->ctime_ns
                                 : st->mtime_ns;
}

static bool compare(enum find_compare how, uint64_t value, uint64_t with)
{
    return how == COMPARE_MORE   ? value > with
           : how == COMPARE_LESS ? value < with
                                 : value == with;
}

bool find_type(struct find *f, const struct find_expr *e, struct find_file *file)
{
    (void)f;
    return e->types >> file->type & 1;
}

/* Of a link: the type it leads to, or a link if that is nowhere; under -L the reverse. */
bool find_target_type(struct find *f, const struct find_expr *e, struct find_file *file)
{
    struct vfs_stat st;
    enum vfs_type type = file->type;
    if (follow_of(f, file) == VFS_FOLLOW &&
            !file_stat(f->c, file->path, VFS_NOFOLLOW, &st))
        type = st.type;
    else if (type == VFS_LINK && !file_stat(f->c, file->path, VFS_FOLLOW, &st))
        type = st.type;
    return e->types >> type & 1;
}

bool find_empty(struct find *f, const struct find_expr *e, struct find_file *file)
{
    (void)e;
    if (file->type == VFS_FILE)
        return find_stat(f, file) && !file->st.size;
    if (file->type != VFS_DIR)
        return false;
    auto_arena *arena = arena_create();
    struct vpath path;
    struct vfs_entry *entries;
    size_t count = 0;
    int errnum = vpath_parse(str_of(file->path), f->c->cwd, arena, &path);
    if (!errnum)
        errnum = vfs_list(f->c->vfs, path, arena, &entries, &count);
    if (errnum)
        find_failed(f, file->path, errnum);
    return !errnum && !count;
}

bool find_size(struct find *f, const struct find_expr *e, struct find_file *file)
{
    if (!find_stat(f, file))
        return false;
    uint64_t units = file->st.size / e->unit + (file->st.size % e->unit != 0);
    return compare(e->compare, units, e->number);
}

bool find_number(struct find *f, const struct find_expr *e, struct find_file *file)
{
    if (!find_stat(f, file))
        return false;
    const struct vfs_stat *st = &file->st;
    uint64_t value = e->variant == 'l'   ? st->nlink
                     : e->variant == 'i' ? st->ino
                     : e->variant == 'u' ? st->uid
                                         : st->gid;
    return compare(e->compare, value, e->number);
}

bool find_owner(struct find *f, const struct find_expr *e, struct find_file *file)
{
    return find_stat(f, file) && (e->variant ? file->st.gid : file->st.uid) == e->number;
}

bool find_age(struct find *f, const struct find_expr *e, struct find_file *file)
{
    if (!find_stat(f, file))
        return false;
    int64_t time = find_time_of(&file->st, e->age_time);
    if (e->age_compare == COMPARE_MORE)
        return time < e->age_from;
    return time >= e->age_from && (e->age_compare == COMPARE_LESS || time < e->age_to);
}

bool find_newer(struct find *f, const struct find_expr *e, struct find_file *file)
{
    return find_stat(f, file) && find_time_of(&file->st, e->time) > e->than_ns;
}

bool find_perm_test(struct find *f, const struct find_expr *e, struct find_file *file)
{
    if (!find_stat(f, file))
        return false;
    uint32_t mode = file->st.mode & 07777;
    uint32_t wanted = file->type == VFS_DIR ? e->dir_mode : e->mode;
    if (e->perm == PERM_EXACT)
        return mode == wanted;
    return e->perm == PERM_ALL ? (mode & wanted) == wanted : !wanted || mode & wanted;
}

bool find_access(struct find *f, const struct find_expr *e, struct find_file *file)
{
    struct vpath path;
    struct arena_mark mark = arena_mark(f->c->arena);
    bool ok = !cmd_path(f->c, file->path, &path) &&
              !vfs_access(f->c->vfs, path, e->variant);
    arena_rewind(f->c->arena, mark);
    return ok;
}

bool find_same_file(struct find *f, const struct find_expr *e, struct find_file *file)
{
    return find_stat(f, file) && file->st.dev == e->dev && file->st.ino == e->ino;
}
