/* Which files grep searches: operands, trees, what the globs let through. */
#include "search/dirwalk.h"
#include "shell/builtin/files.h"
#include "shell/builtin/grep.h"
#include "shell/builtin/quote.h"
#include "shell/pattern.h"

#include <errno.h>

#define POOL_AFTER 16 /* files: fewer are searched before threads would have started */

static void grep_note(struct grep_run *run, bool selected, bool failed)
{
    run->selected |= selected;
    run->failed |= failed;
    if (selected && run->g->scan.report == REPORT_NOTHING)
        run->stop = true;
    if (run->c->out_failed || budget_stopped(run->c->budget))
        run->stop = true;
}

static void search_file(struct grep_run *run, const struct scan_file *file)
{
    bool selected;
    bool ok = scan_file(run->scanner, file, &run->sink, &selected);
    if (!run->sink.flush(&run->sink, true))
        run->stop = true;
    grep_note(run, selected, !ok);
}

/* A stream as the engine reads one. */
struct source {
    struct stream *stream;
    char eol;
    bool by_line; /* no further than the line being looked at */
};

/* At most one line of the stream, or 0 at its end. */
static size_t read_line_part(struct source *source, char *to, size_t size)
{
    struct str view;
    if (!stream_peek(source->stream, &view))
        return 0;
    const char *eol = memchr(view.data, source->eol, view.len);
    size_t n = eol ? (size_t)(eol + 1 - view.data) : view.len;
    n = n < size ? n : size;
    memcpy(to, view.data, n);
    stream_consume(source->stream, n);
    return n;
}

static size_t read_source(void *p, char *to, size_t size, int *errnum)
{
    struct source *source = p;
    size_t n = source->by_line ? read_line_part(source, to, size)
                               : stream_read(source->stream, to, size);
    if (!n)
        *errnum = stream_error(source->stream);
    return n;
}

struct thread {
    struct scanner *scanner;
    struct regex *re;
};

static void *create_thread(void *owner)
{
    const struct grep_run *run = owner;
    struct thread *t = xcalloc(1, sizeof(*t));
    t->re = regex_copy(run->g->scan.re);
    t->scanner = scanner_create(&run->g->scan, t->re);
    return t;
}

static void destroy_thread(void *searcher)
{
    struct thread *t = searcher;
    scanner_destroy(t->scanner);
    regex_destroy(t->re);
    free(t);
}

static bool search_in_thread(void *searcher, const struct scan_file *file,
        struct scan_sink *sink, bool *selected)
{
    struct thread *t = searcher;
    return scan_file(t->scanner, file, sink, selected);
}

/* Files are set apart as groups of lines are, where lines have context. */
static bool print_text(void *owner, const struct scan_text *text)
{
    struct grep_run *run = owner;
    const struct scan *scan = &run->g->scan;
    bool groups =
            scan->report == REPORT_LINES && scan->sets_apart && scan->group_separator;
    if (groups && text->out.len && !*text->separated) {
        if (run->sink.any_printed) {
            buf_add(&run->sink.out, str_of(scan->group_separator));
            buf_addc(&run->sink.out, '\n');
        }
        *text->separated = run->sink.any_printed = true;
    }
    buf_add(&run->sink.out, text->out);
    buf_add(&run->sink.messages, text->messages);
    bool much = run->sink.out.len > 32768 || run->sink.messages.len;
    if (much && !run->sink.flush(&run->sink, true))
        run->stop = true;
    return !run->stop;
}

static bool file_ended(void *owner, const char *name, bool selected, bool failed)
{
    (void)name;
    grep_note(owner, selected, failed);
    return !((struct grep_run *)owner)->stop;
}

static const struct scan_pool_ops pool_ops = {
    .create = create_thread,
    .destroy = destroy_thread,
    .search = search_in_thread,
    .print = print_text,
    .ended = file_ended,
};

static void finish_pool(struct grep_run *run)
{
    scan_pool_finish(TAKE(run->pool));
    if (!run->sink.flush(&run->sink, true))
        run->stop = true;
}

static bool glob_matches(const struct grep_glob *glob, const char *name, bool is_operand)
{
    if (pattern_match(glob->pattern, str_of(name), 0))
        return true;
    /* An operand may also match from any of its slashes on. */
    for (const char *p = name; is_operand && (p = strchr(p, '/')); p++)
        if (p[1] && p[1] != '/' && pattern_match(glob->pattern, str_of(p + 1), 0))
            return true;
    return false;
}

static bool grep_glob_takes(
        const struct grep_glob *globs, size_t count, const char *name, bool is_operand)
{
    for (size_t i = count; i-- > 0;)
        if (glob_matches(&globs[i], name, is_operand))
            return globs[i].include;
    return !count || !globs[0].include;
}

static bool takes_file(const struct grep *g, const char *name, bool is_operand)
{
    return grep_glob_takes(g->globs, g->glob_count, name, is_operand);
}

static bool takes_dir(const struct grep *g, const char *name, bool is_operand)
{
    return grep_glob_takes(g->dir_globs, g->dir_glob_count, name, is_operand);
}

struct tree {
    struct grep_run *run;
    size_t skip; /* what is not shown of each path: "./" */
    bool with_name;
};

static void tell(struct grep_run *run, const char *name, const char *what)
{
    auto_buf text = BUF(65536);
    buf_addf(&text, "grep: %s: %s\n", name, what);
    if (run->pool)
        run->stop |= !scan_pool_message(run->pool, text.data);
    else
        buf_add(&run->sink.messages, buf_str(&text));
}

static void tell_errno(struct grep_run *run, const char *name, int errnum)
{
    if (!run->g->scan.no_messages)
        tell(run, name, errno_text(errnum));
    run->failed = true;
}

static void search_tree_file(struct tree *t, const struct dirwalk_entry *e)
{
    struct grep_run *run = t->run;
    struct vfile *file;
    if (!takes_file(run->g, e->depth ? e->name : e->path, !e->depth))
        return;
    int errnum = file_open(run->c, e->path, VFS_READ, 0, &file);
    const char *name = e->path + t->skip;
    if (errnum) {
        tell_errno(run, name, errnum);
        return;
    }
    if (!run->pool && ++run->walked == POOL_AFTER)
        run->pool = scan_pool_create(&pool_ops, run, run->c->budget);
    if (run->pool && vfile_fd(file) >= 0) {
        run->stop |= !scan_pool_submit(run->pool, file, name, t->with_name);
        return;
    }
    /* Threads and a store that is no real file would get in each other's way. */
    finish_pool(run);
    struct stream *stream = stream_file(file, true, false);
    struct source source = { .stream = stream };
    struct scan_file one = { .name = name,
        .with_name = t->with_name,
        .fd = vfile_fd(file),
        .read = read_source,
        .source = &source };
    search_file(run, &one);
    stream_unref(stream);
}

static void visit(struct tree *t, struct dirwalk *w, const struct dirwalk_entry *e)
{
    struct grep_run *run = t->run;
    const char *name = e->path + t->skip;
    switch (e->step) {
    case WALK_FILE:
        if (e->st.type == VFS_FILE)
            search_tree_file(t, e);
        else if (e->st.type == VFS_LINK && run->g->dirs == DIRS_FOLLOW)
            tell_errno(run, name, ENOENT);
        break;
    case WALK_DIR:
        if (e->depth && !takes_dir(run->g, e->name, false))
            dirwalk_skip(w);
        break;
    case WALK_DIR_END:
        break;
    case WALK_UNREADABLE:
        tell_errno(run, name, e->errnum);
        break;
    case WALK_FAILED:
        if (e->errnum == ELOOP)
            tell(run, name, "warning: recursive directory loop");
        else
            tell_errno(run, name, e->errnum);
        break;
    }
}

static void search_tree(struct grep_run *run, const char *root, bool shown)
{
    struct tree t = { .run = run,
        .skip = shown ? 0 : strlen(root) + 1,
        .with_name = run->g->with_names != 0 };
    bool follow = run->g->dirs == DIRS_FOLLOW;
    struct dirwalk *w = file_walk(run->c, root, true, follow);
    dirwalk_types_only(w);
    struct dirwalk_entry e;
    while (!run->stop && dirwalk_next(w, &e))
        visit(&t, w, &e);
    grep_note(run, false, false);
    dirwalk_destroy(w);
    finish_pool(run);
}

void grep_here(struct grep_run *run)
{
    search_tree(run, ".", false);
}

static void search_stream(
        struct grep_run *run, struct stream *stream, const char *name, bool several)
{
    const struct grep *g = run->g;
    struct vfile *file = stream == run->c->in ? NULL : stream_vfile(stream);
    struct source source = {
        .stream = stream,
        .eol = g->scan.eol,
        .by_line = stream == run->c->in && g->scan.max_count != INT64_MAX,
    };
    struct scan_file one = {
        .name = name,
        .with_name = g->with_names < 0 ? several : g->with_names,
        .fd = file ? vfile_fd(file) : -1,
        .read = read_source,
        .source = &source,
    };
    search_file(run, &one);
}

void grep_operand(struct grep_run *run, const char *operand, bool several)
{
    struct cmd *c = run->c;
    const struct grep *g = run->g;
    struct stream *stream;
    if (!strcmp(operand, "-")) {
        search_stream(run, c->in, g->label ? g->label : "(standard input)", several);
        return;
    }
    if (file_is_dir(c, operand)) {
        if (g->dirs == DIRS_SKIP || !takes_dir(g, operand, true))
            return;
        if (g->dirs != DIRS_READ) {
            search_tree(run, operand, true);
            return;
        }
    } else if (!takes_file(g, operand, true))
        return;
    int errnum = cmd_open(c, operand, false, &stream);
    if (errnum) {
        tell_errno(run, operand, errnum);
        run->sink.flush(&run->sink, true);
        return;
    }
    search_stream(run, stream, operand, several);
    stream_unref(stream);
}
