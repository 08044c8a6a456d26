#include "shell/builtin/find.h"

#include "shell/builtin/files.h"
#include "shell/builtin/quote.h"

#include <errno.h>

void find_failed(struct find *f, const char *name, int errnum)
{
    cmd_err(f->c, "'%s': %s", name, errno_text(errnum));
    f->status = 1;
}

static struct find_file file_of(const struct dirwalk_entry *e)
{
    struct str bare = name_without_slashes(e->path);
    const char *slash = bare.len > 1 ? memrchr(bare.data, '/', bare.len) : NULL;
    size_t from = slash ? (size_t)(slash + 1 - bare.data) : 0;
    return (struct find_file){ .path = e->path,
        .name = str_from(bare, from),
        .depth = e->depth,
        .root_len = e->root_len,
        .type = e->st.type,
        .st = e->st,
        .has_stat = e->depth == 0 };
}

static void evaluate(struct find *f, struct find_file *file)
{
    if (file->depth >= f->min_depth)
        find_eval(f, f->root, file);
    if (f->c->out_failed || budget_stopped(f->c->budget))
        f->quit = true;
}

/* May what is in the directory be looked at? */
static bool descends(struct find *f, struct find_file *dir)
{
    if (dir->depth >= f->max_depth)
        return false;
    if (!f->one_device)
        return true;
    if (!find_stat(f, dir))
        return false;
    if (!dir->depth)
        f->root_dev = dir->st.dev;
    return dir->st.dev == f->root_dev;
}

static void visit_directory(struct find *f, struct dirwalk *w, struct find_file *dir)
{
    bool enter = descends(f, dir);
    if (!f->depth_first || !enter)
        evaluate(f, dir);
    if (!enter || (dir->prune && !f->depth_first))
        dirwalk_skip(w);
}

static void walk_failed(struct find *f, const struct dirwalk_entry *e)
{
    if (e->errnum != ELOOP) {
        find_failed(f, e->path, e->errnum);
        return;
    }
    cmd_err(f->c, "File system loop detected; '%s' is one of the directories it lies in",
            e->path);
    f->status = 1;
}

static void visit(struct find *f, struct dirwalk *w, const struct dirwalk_entry *e)
{
    struct find_file file = file_of(e);
    switch (e->step) {
    case WALK_FILE:
        evaluate(f, &file);
        break;
    case WALK_DIR:
        visit_directory(f, w, &file);
        break;
    case WALK_UNREADABLE:
        find_failed(f, e->path, e->errnum);
        if (f->depth_first)
            evaluate(f, &file);
        break;
    case WALK_DIR_END:
        if (f->depth_first)
            evaluate(f, &file);
        break;
    case WALK_FAILED:
        walk_failed(f, e);
        break;
    }
}

static void walk(struct find *f, const char *start)
{
    struct dirwalk_entry e;
    if (!*start) {
        find_failed(f, start, ENOENT);
        return;
    }
    struct dirwalk *w = file_walk(f->c, start, f->follow_operands, f->follow);
    dirwalk_types_only(w);
    while (!f->quit && dirwalk_next(w, &e))
        visit(f, w, &e);
    dirwalk_destroy(w);
}

/* -H, -L, -P and what is ignored; where the operands begin. */
static int read_leading_options(struct find *f, int argc, char **argv)
{
    int i = 1;
    for (; i < argc; i++) {
        const char *arg = argv[i];
        if (!strcmp(arg, "-H") || !strcmp(arg, "-L") || !strcmp(arg, "-P")) {
            f->follow = arg[1] == 'L';
            f->follow_operands = arg[1] != 'P';
        } else if (!strcmp(arg, "--"))
            return i + 1;
        else if (strncmp(arg, "-O", 2) != 0)
            break;
    }
    return i;
}

static bool starts_expression(const char *arg)
{
    return (arg[0] == '-' && arg[1]) || !strcmp(arg, "(") || !strcmp(arg, "!");
}

static void finish(struct find *f)
{
    for (size_t i = 0; i < f->exec_count; i++)
        find_exec_finish(f, f->execs[i]);
    for (size_t i = 0; i < f->regex_count; i++)
        regex_destroy(f->regexes[i]);
    free(f->execs);
    free(f->regexes);
}

static int cmd_find(struct cmd *c)
{
    struct find f = { .c = c, .max_depth = UINT64_MAX, .now = datetime_now() };
    int from = read_leading_options(&f, c->argc, c->argv), to = from;
    while (to < c->argc && !starts_expression(c->argv[to]))
        to++;
    if (find_parse(&f, c->argc, c->argv, to)) {
        for (int i = from; i < to && !f.quit; i++)
            walk(&f, c->argv[i]);
        if (from == to)
            walk(&f, ".");
    } else {
        f.status = 1;
        f.exec_count = 0;
    }
    finish(&f);
    return f.status;
}

const struct command command_find_files = {
    "find",
    cmd_find,
    NULL,
    "[-H] [-L] [-P] [PATH]... [EXPRESSION]",
    "List the files below each PATH (default: .) for which EXPRESSION holds.\n"
    "\n"
    "Operators: ( EXPR )  ! EXPR  -not EXPR  EXPR -a EXPR  EXPR -o EXPR  EXPR , EXPR\n"
    "Options: -maxdepth N -mindepth N -depth -xdev -mount -daystart -follow -regextype "
    "TYPE\n"
    "Names: -name -iname -path -ipath -wholename -iwholename -lname -ilname -regex "
    "-iregex\n"
    "Tests: -type -xtype -empty -size -links -inum -samefile -perm -user -group -uid "
    "-gid\n"
    "  -readable -writable -executable -true -false -amin -cmin -mmin -atime -ctime "
    "-mtime\n"
    "  -newer -anewer -cnewer -newerXY (X: a c m, Y: a c m or t with a date)\n"
    "Actions: -print -print0 -printf FORMAT -ls -prune -quit -delete\n"
    "  -exec COMMAND ; -exec COMMAND {} + -execdir COMMAND ; -execdir COMMAND {} +",
    0,
};
