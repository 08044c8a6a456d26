#include "shell/builtin/ls.h"
#include "shell/builtin/version.h"

#include <stdlib.h>

int64_t ls_time_of(const struct ls *ls, const struct ls_file *file)
{
    switch (ls->time) {
    case LS_ACCESSED:
        return file->st.atime_ns;
    case LS_CHANGED:
        return file->st.ctime_ns;
    case LS_MODIFIED:
        break;
    }
    return file->st.mtime_ns;
}

static struct str extension(struct str name)
{
    const char *dot = name.len ? memrchr(name.data, '.', name.len) : NULL;
    return dot ? str_from(name, (size_t)(dot - name.data)) : (struct str){ "", 0 };
}

static bool is_dir(const struct ls_file *f)
{
    return f->st.type == VFS_DIR || (f->st.type == VFS_LINK && f->target_type == VFS_DIR);
}

static int compare(const struct ls *ls, const struct ls_file *a, const struct ls_file *b)
{
    int order = 0;
    switch (ls->sort) {
    case LS_BY_TIME: {
        int64_t x = ls_time_of(ls, a), y = ls_time_of(ls, b);
        order = (x < y) - (x > y);
        break;
    }
    case LS_BY_SIZE:
        order = (a->st.size < b->st.size) - (a->st.size > b->st.size);
        break;
    case LS_BY_EXTENSION:
        order = str_cmp(extension(a->name), extension(b->name));
        break;
    case LS_BY_VERSION:
        order = version_cmp(a->name, b->name);
        break;
    case LS_BY_NAME:
    case LS_UNSORTED:
        break;
    }
    return order ? order : str_cmp(a->name, b->name);
}

static int compare_files(const void *x, const void *y, void *user)
{
    const struct ls *ls = user;
    const struct ls_file *a = x, *b = y;
    if (ls->dirs_first && is_dir(a) != is_dir(b))
        return is_dir(a) ? -1 : 1;
    if (ls->sort == LS_UNSORTED) /* as they were */
        return (a > b) - (a < b);
    int order = compare(ls, a, b);
    return ls->reverse ? -order : order;
}

void ls_sort_files(const struct ls *ls, struct ls_file *files, size_t count)
{
    if (count > 1 && (ls->sort != LS_UNSORTED || ls->dirs_first))
        qsort_r(files, count, sizeof(*files), compare_files,
                &(struct ls){ .sort = ls->sort,
                        .time = ls->time,
                        .dirs_first = ls->dirs_first,
                        .reverse = ls->reverse });
}
