/* What find does with a file: -prune, -quit, -delete, -exec. */
#include "shell/builtin/files.h"
#include "shell/builtin/find.h"

#define MAX_BATCH_BYTES ((size_t)128 << 10)
#define MAX_BATCH_ITEMS 4096

struct find_exec {
    char **argv; /* the template, without ; or {} + */
    int argc;
    bool in_directory;   /* -execdir */
    struct arena *arena; /* of the files collected for + */
    char **items;
    size_t count, cap, bytes;
    struct str directory; /* -execdir: theirs */
};

bool find_prune(struct find *f, const struct find_expr *e, struct find_file *file)
{
    (void)f, (void)e;
    return file->prune = true;
}

bool find_quit(struct find *f, const struct find_expr *e, struct find_file *file)
{
    (void)e, (void)file;
    return f->quit = true;
}

bool find_delete(struct find *f, const struct find_expr *e, struct find_file *file)
{
    (void)e;
    if (str_is(file->name, ".") || str_is(file->name, ".."))
        return true;
    int errnum = file->type == VFS_DIR ? file_rmdir(f->c, file->path)
                                       : file_unlink(f->c, file->path);
    if (!errnum)
        return true;
    cmd_err(f->c, "cannot delete '%s': %s", file->path, strerror(errnum));
    f->status = 1;
    return false;
}

static bool parse_braces_plus(struct find_parser *p, struct find_exec *x)
{
    for (int i = 0; i < x->argc; i++)
        if (strstr(x->argv[i], "{}")) {
            cmd_err(p->f->c, "Only one instance of {} is supported with -exec%s ... +",
                    x->in_directory ? "dir" : "");
            return false;
        }
    return true;
}

bool find_exec_parse(struct find_parser *p, const char *name, struct find_exec **out)
{
    struct find *f = p->f;
    struct find_exec *x = arena_zalloc(f->c->arena, sizeof(*x));
    int end = p->next;
    bool plus = false;
    x->in_directory = !strcmp(name, "-execdir");
    for (; end < p->argc && strcmp(p->argv[end], ";") != 0; end++) {
        plus = end > p->next && !strcmp(p->argv[end], "+") &&
               !strcmp(p->argv[end - 1], "{}");
        if (plus)
            break;
    }
    x->argv = p->argv + p->next;
    x->argc = end - p->next - (plus ? 1 : 0);
    if (end >= p->argc || x->argc < 1) {
        cmd_err(f->c, "missing argument to `%s'", name);
        return false;
    }
    p->next = end + 1;
    *out = x;
    if (!plus)
        return true;
    GROW(f->execs, f->exec_count, f->exec_cap);
    f->execs[f->exec_count++] = x;
    return parse_braces_plus(p, x);
}

/* Run it; -1: the whole command must end. */
static int run(struct find *f, int argc, char **argv, struct str directory)
{
    struct cmd *c = f->c;
    struct cmd there = *c;
    struct arena_mark mark = arena_mark(c->arena);
    if (directory.len && vpath_parse(directory, c->cwd, c->arena, &there.cwd))
        return 1;
    int status = cmd_run(&there, argc, argv, c->in, c->out, c->err);
    arena_rewind(c->arena, mark);
    if (stream_error(c->out))
        c->out_failed = true;
    if (budget_stopped(c->budget) || c->out_failed)
        f->quit = true;
    return status;
}

/* `text` with every {} replaced. */
static char *fill_in(struct arena *arena, const char *text, const char *path)
{
    auto_buf out = BUF((size_t)16 << 20);
    const char *at;
    for (; (at = strstr(text, "{}")); text = at + 2) {
        buf_add(&out, (struct str){ text, (size_t)(at - text) });
        buf_add(&out, str_of(path));
    }
    buf_add(&out, str_of(text));
    return arena_cstr(arena, buf_str(&out));
}

/* For -execdir: where the file is, and what it is called there. */
static struct str directory_of(const struct find_file *file)
{
    struct str path = str_of(file->path);
    size_t len = (size_t)(file->name.data - path.data);
    return len ? str_sub(path, 0, len) : STR(".");
}

static char *name_there(struct arena *arena, const struct find_file *file)
{
    bool root = file->name.len && file->name.data[0] == '/';
    return arena_printf(arena, "%s%.*s", root ? "" : "./", STR_ARG(file->name));
}

bool find_exec_one(struct find *f, const struct find_expr *e, struct find_file *file)
{
    const struct find_exec *x = e->exec;
    auto_arena *arena = arena_create();
    char **argv = arena_alloc(arena, ((size_t)x->argc + 1) * sizeof(char *));
    const char *name = x->in_directory ? name_there(arena, file) : file->path;
    for (int i = 0; i < x->argc; i++)
        argv[i] = fill_in(arena, x->argv[i], name);
    argv[x->argc] = NULL;
    struct str none = { "", 0 };
    return !run(f, x->argc, argv, x->in_directory ? directory_of(file) : none);
}

void find_exec_finish(struct find *f, struct find_exec *x)
{
    size_t argc = (size_t)x->argc + x->count;
    if (x->count && !f->quit) {
        char **argv = arena_alloc(x->arena, (argc + 1) * sizeof(char *));
        for (int i = 0; i < x->argc; i++)
            argv[i] = arena_cstr(x->arena, str_of(x->argv[i]));
        memcpy(argv + x->argc, x->items, x->count * sizeof(char *));
        argv[argc] = NULL;
        if (run(f, (int)argc, argv, x->directory))
            f->status = 1;
    }
    arena_destroy(x->arena);
    free(x->items);
    x->arena = NULL;
    x->items = NULL;
    x->count = x->cap = x->bytes = 0;
    x->directory.len = 0;
}

bool find_exec_many(struct find *f, const struct find_expr *e, struct find_file *file)
{
    struct find_exec *x = e->exec;
    struct str directory = x->in_directory ? directory_of(file) : (struct str){ "", 0 };
    bool elsewhere = x->count && !str_eq(directory, x->directory);
    if (elsewhere || x->bytes > MAX_BATCH_BYTES || x->count >= MAX_BATCH_ITEMS)
        find_exec_finish(f, x);
    if (!x->arena)
        x->arena = arena_create();
    if (!x->count)
        x->directory = arena_str(x->arena, directory);
    GROW(x->items, x->count, x->cap);
    char *item = x->in_directory ? name_there(x->arena, file)
                                 : arena_cstr(x->arena, str_of(file->path));
    x->items[x->count++] = item;
    x->bytes += strlen(item) + 1;
    return true;
}
