/*
 * fs_grep: files are searched by the engine of grep, in helper threads when there are
 * many.  A thread hands over what it found as records, kept by file until all is known
 * (fs-hits.h).
 */
#include "search/excerpt.h"
#include "search/scan.h"
#include "search/text.h"
#include "worker/fs-hits.h"
#include "worker/fs-select.h"

#define DEFAULT_RESULTS 100
#define MAX_RESULTS     2000
#define MAX_CONTEXT     1000
#define MAX_LINE        300 /* characters shown of one */
#define LONGEST_LINE    ((size_t)64 << 20)
#define POOL_AFTER      16 /* files: fewer are searched before threads would have started */

/* What a thread says of a file instead of lines. */
enum { SAYS_BINARY = 'B', SAYS_UNREADABLE = 'U', SAYS_GAVE_UP = 'L' };

struct grep {
    struct fs *fs;
    struct fs_select *select;
    struct scan scan;
    struct scan_pool *pool; /* NULL: not started */
    struct searcher *searcher;
    bool single; /* one file that was named: never skipped as binary */
    struct fs_hits hits;
    uint64_t binary, unreadable, files;
    char *gave_up; /* the file in which the expression took too long, or NULL */
};

struct searcher {
    const struct grep *grep;
    struct scanner *scanner;
    struct regex *re;
    struct text_reader reader;
};

static void *create_searcher(void *owner)
{
    struct grep *g = owner;
    struct searcher *s = xcalloc(1, sizeof(*s));
    s->grep = g;
    s->re = regex_copy(g->scan.re);
    s->scanner = scanner_create(&g->scan, s->re);
    return s;
}

static void destroy_searcher(void *p)
{
    struct searcher *s = p;
    scanner_destroy(s->scanner);
    regex_destroy(s->re);
    text_reader_finish(&s->reader);
    free(s);
}

static void add_record(const struct scan_line *line, struct regex *re, struct buf *out)
{
    struct fs_hit r = { .number = line->number, .mark = line->mark };
    size_t at = out->len;
    buf_add(out, (struct str){ (const char *)&r, sizeof(r) });
    excerpt_add(line->text, MAX_LINE, line->mark == ':' ? re : NULL, out);
    r.len = (uint32_t)(out->len - at - sizeof(r));
    memcpy(out->data + at, &r, sizeof(r));
}

static size_t read_text(void *source, char *to, size_t size, int *errnum)
{
    size_t got = 0;
    *errnum = text_read(source, to, size, &got);
    return got;
}

static bool say(struct scan_sink *sink, char what)
{
    buf_clear(&sink->messages);
    buf_addc(&sink->messages, what);
    return false;
}

static bool search_file(
        void *p, const struct scan_file *file, struct scan_sink *sink, bool *selected)
{
    struct searcher *s = p;
    *selected = false;
    if (text_start(&s->reader, file->file))
        return say(sink, SAYS_UNREADABLE);
    if (s->reader.has_nul && !s->grep->single)
        return say(sink, SAYS_BINARY);
    const struct scan_file text = {
        .name = file->name, .fd = -1, .read = read_text, .source = &s->reader
    };
    bool ok = scan_file(s->scanner, &text, sink, selected);
    return ok || say(sink, sink->gave_up ? SAYS_GAVE_UP : SAYS_UNREADABLE);
}

static void hear(struct grep *g, const char *name, struct str messages)
{
    if (!messages.len)
        return;
    char what = messages.data[messages.len - 1];
    g->binary += what == SAYS_BINARY;
    g->unreadable += what == SAYS_UNREADABLE;
    if (what == SAYS_GAVE_UP && !g->gave_up)
        g->gave_up = xstrdup(name);
}

static bool take_records(void *owner, const struct scan_text *text)
{
    struct grep *g = owner;
    hear(g, text->name, text->messages);
    if (text->out.len) {
        fs_hits_add(&g->hits, text->name, !*text->separated, text->out);
        *text->separated = true;
    }
    return !g->gave_up && !g->hits.enough;
}

static bool file_ended(void *owner, const char *name, bool selected, bool failed)
{
    (void)name, (void)selected, (void)failed;
    const struct grep *g = owner;
    return !g->gave_up && !g->hits.enough;
}

static const struct scan_pool_ops pool_ops = {
    .create = create_searcher,
    .destroy = destroy_searcher,
    .search = search_file,
    .print = take_records,
    .ended = file_ended,
};

static bool keep(struct scan_sink *sink, bool force)
{
    (void)force;
    return sink->out.len < LONGEST_LINE;
}

static bool alive(struct scan_sink *sink, uint64_t steps)
{
    struct grep *g = sink->owner;
    return budget_spend(&g->fs->budget, steps);
}

/* Without threads; takes the file over. */
static bool search_here(struct grep *g, struct vfile *file, const char *name)
{
    struct scan_sink sink = { .out = BUF(2 * LONGEST_LINE),
        .messages = BUF(65536),
        .flush = keep,
        .alive = alive,
        .owner = g };
    const struct scan_file one = { .name = name, .file = file, .fd = -1 };
    bool selected, separated = false;
    if (!g->searcher)
        g->searcher = create_searcher(g);
    search_file(g->searcher, &one, &sink, &selected);
    const struct scan_text text = { name, buf_str(&sink.out), buf_str(&sink.messages),
        &separated };
    bool more = take_records(g, &text);
    buf_finish(&sink.out);
    buf_finish(&sink.messages);
    vfile_close(file);
    return more;
}

static bool search_found(struct grep *g, const struct fs_found *found)
{
    struct vfile *file;
    struct vfs_stat st;
    if (found->type != VFS_FILE && found->type != VFS_LINK)
        return true;
    int errnum = vfs_open(g->fs->vfs, found->at, VFS_READ, 0, &file);
    if (errnum) {
        g->unreadable++;
        return true;
    }
    if (vfile_stat(file, &st) || st.type != VFS_FILE) {
        vfile_close(file);
        return true;
    }
    const char *name = arena_cstr(g->fs->arena, fs_printable(g->fs, found->shown));
    if (!g->pool && !g->hits.enough && ++g->files == POOL_AFTER)
        g->pool = scan_pool_create(&pool_ops, g, &g->fs->budget);
    if (g->pool && vfile_fd(file) >= 0)
        return scan_pool_submit(g->pool, file, name, true);
    /* Threads and a store that is no real file would get in each other's way. */
    scan_pool_finish(TAKE(g->pool));
    return search_here(g, file, name);
}

static void search_all(struct grep *g)
{
    struct fs_found found;
    while (fs_select_next(g->select, &found))
        if (!search_found(g, &found))
            break;
    scan_pool_finish(TAKE(g->pool));
}

static void add_count(struct buf *out, uint64_t count, const char *what)
{
    if (count)
        buf_addf(out, "%s%llu %s.", out->len ? " " : "", (unsigned long long)count, what);
}

static void write_notes(struct grep *g, bool more, struct buf *notes)
{
    if (more)
        buf_addf(notes,
                "Showing first %llu matches%snarrow path, file_glob or grep_regex.",
                (unsigned long long)g->hits.shown,
                g->hits.full ? ", as many as fit. To see more: "
                             : ". To see more: raise max_results, or ");
    add_count(notes, g->binary, "binary file(s) skipped");
    add_count(notes, g->unreadable, "unreadable file(s) skipped");
    fs_select_notes(g->select, notes);
}

static void write_reply(struct grep *g)
{
    auto_buf notes = BUF(4096);
    struct buf *out = g->fs->text;
    bool more = fs_hits_write(&g->hits, g->scan.after, out);
    write_notes(g, more, &notes);
    if (!g->hits.shown)
        buf_addf(out, "No matches for '%.*s' found under '%.*s'.",
                STR_ARG(fs_text_arg(g->fs, "grep_regex")),
                STR_ARG(fs_select_start(g->select)->given));
    if (notes.len)
        buf_addf(out, g->hits.shown ? "\n[%s]" : " (%s)", notes.data);
    if (notes.len || !g->hits.shown)
        buf_addc(out, '\n');
}

static bool run(struct grep *g)
{
    search_all(g);
    if (fs_select_failed(g->select))
        return true;
    if (g->gave_up)
        return fs_fail(g->fs,
                "grep_regex needs too many steps for a line of '%s'; make it simpler, "
                "e.g. without nested repeats like (a+)+",
                g->gave_up);
    write_reply(g);
    return false;
}

static bool check_start(struct grep *g)
{
    enum vfs_type type = fs_select_start_type(g->select);
    struct vfile *file;
    g->single = type != VFS_DIR;
    if (!g->single)
        return true;
    if (type != VFS_FILE)
        return !fs_fail_type(g->fs, fs_select_start(g->select), type);
    int errnum = vfs_open(g->fs->vfs, fs_select_start(g->select)->at, VFS_READ, 0, &file);
    if (errnum)
        return !fs_fail_errno(g->fs, "read", fs_select_start(g->select), errnum);
    vfile_close(file);
    return true;
}

/* Everything that the arguments say about matching and showing. */
static bool set_up(struct grep *g)
{
    struct fs *fs = g->fs;
    struct error err;
    struct str pattern = fs_text_arg(fs, "grep_regex");
    int64_t max = fs_int_arg(fs, "max_results", 0);
    int64_t per_file = fs_int_arg(fs, "max_results_per_file", 0);
    int64_t context = fs_int_arg(fs, "context_lines", g->single ? 4 : 1);
    unsigned flags = REGEX_NEWLINE | REGEX_NO_GROUPS;
    flags |= fs_bool_arg(fs, "case_sensitive", false) ? 0 : REGEX_FOLD;
    max = max > 0 ? max : max ? 1 : DEFAULT_RESULTS;
    max = max < MAX_RESULTS ? max : MAX_RESULTS;
    fs_hits_init(&g->hits, (uint64_t)max, g->single);
    context = context < 0 ? 0 : context < MAX_CONTEXT ? context : MAX_CONTEXT;
    g->scan = (struct scan){ .line_numbers = true,
        .no_messages = true,
        .binary = BINARY_TEXT,
        .max_count = per_file > 0 ? per_file : INT64_MAX,
        .before = (uint64_t)context,
        .after = (uint64_t)context,
        .group_separator = "--",
        .sets_apart = true,
        .stop_at_limit = true,
        .eol = '\n',
        .max_line = LONGEST_LINE,
        .show = add_record };
    if (g->scan.max_count > max)
        g->scan.max_count = max + 1; /* one more says that there are more */
    if (regex_compile(pattern, REGEX_PYTHON, (enum regex_flags)flags, &g->scan.re, &err))
        return true;
    return !fs_fail(fs, "Invalid grep_regex '%.*s': %s", STR_ARG(pattern), err.message);
}

bool fs_grep(struct fs *fs)
{
    if (!fs_text_arg(fs, "grep_regex").len)
        return fs_fail(fs, "grep_regex is empty");
    struct grep g = { .fs = fs, .select = fs_select_create(fs, true) };
    if (!g.select)
        return true;
    bool is_error = !check_start(&g) || !set_up(&g) || run(&g);
    if (g.searcher)
        destroy_searcher(g.searcher);
    regex_destroy(g.scan.re);
    fs_hits_finish(&g.hits);
    fs_select_destroy(g.select);
    free(g.gave_up);
    return is_error;
}
