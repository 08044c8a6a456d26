#include "base/datetime.h"
#include "search/dirwalk.h"
#include "shell/builtin/files.h"
#include "shell/builtin/number.h"
#include "shell/builtin/quote.h"
#include "shell/pattern.h"

#include <stdio.h>

enum { OPT_APPARENT = 256, OPT_EXCLUDE, OPT_SI, OPT_TIME };

static const struct cmd_opt options[] = {
    { '0', "null", ARG_NONE, NULL, "lines end with NUL" },
    { 'a', "all", ARG_NONE, NULL, "print files too, not only directories" },
    { OPT_APPARENT, "apparent-size", ARG_NONE, NULL, "sizes, not what is allocated" },
    { 'B', "block-size", ARG_REQUIRED, "SIZE", "count in units of SIZE" },
    { 'b', "bytes", ARG_NONE, NULL, "the same as --apparent-size --block-size=1" },
    { 'c', "total", ARG_NONE, NULL, "print a sum at the end" },
    { 'D', "dereference-args", ARG_NONE, NULL, "follow links among the operands" },
    { 'H', NULL, ARG_NONE, NULL, "the same" },
    { 'd', "max-depth", ARG_REQUIRED, "N", "print only down to N levels" },
    { OPT_EXCLUDE, "exclude", ARG_REQUIRED, "PATTERN", "leave out such files" },
    { 'h', "human-readable", ARG_NONE, NULL, "sizes like 1K 234M 2G" },
    { 'k', NULL, ARG_NONE, NULL, "the same as --block-size=1K (the default)" },
    { 'L', "dereference", ARG_NONE, NULL, "follow links" },
    { 'l', "count-links", ARG_NONE, NULL, "count a file once for each of its links" },
    { 'm', NULL, ARG_NONE, NULL, "the same as --block-size=1M" },
    { 'P', "no-dereference", ARG_NONE, NULL, "do not follow links (the default)" },
    { 'S', "separate-dirs", ARG_NONE, NULL, "directories without those in them" },
    { OPT_SI, "si", ARG_NONE, NULL, "like -h, with powers of 1000" },
    { 's', "summarize", ARG_NONE, NULL, "only a sum for each operand" },
    { 't', "threshold", ARG_REQUIRED, "SIZE",
            "leave out what is smaller (-SIZE: greater)" },
    { OPT_TIME, "time", ARG_NONE, NULL, "print when something in it was last changed" },
    { 'x', "one-file-system", ARG_NONE, NULL, "(ignored)" },
    { 0 },
};

struct sum {
    uint64_t bytes;
    int64_t newest_ns;
};

struct seen {
    uint64_t dev, ino;
};

struct du {
    struct cmd *c;
    bool all, apparent, total, follow_root, follow, human, si, separate, summarize, time,
            count_links;
    char end;
    uint64_t unit, threshold;
    bool at_most;
    const char *unit_letter;
    size_t max_depth;
    const char **exclude;
    size_t exclude_count, exclude_cap;
    struct sum *levels; /* of the open directories, by depth */
    size_t level_count, level_cap;
    struct seen *seen; /* a hash table of files with several links */
    size_t seen_count, seen_cap;
    struct sum grand;
    int status;
};

static bool seen_insert(struct seen *table, size_t cap, struct seen item)
{
    size_t i = (item.ino * 0x9e3779b97f4a7c15u ^ item.dev) & (cap - 1);
    for (; table[i].ino; i = (i + 1) & (cap - 1))
        if (table[i].ino == item.ino && table[i].dev == item.dev)
            return false;
    table[i] = item;
    return true;
}

/* False: it was there. */
static bool seen_add(struct du *d, const struct vfs_stat *st)
{
    if (d->seen_count * 2 >= d->seen_cap) {
        size_t cap = d->seen_cap ? d->seen_cap * 2 : 64;
        struct seen *table = xcalloc(cap, sizeof(*table));
        for (size_t i = 0; i < d->seen_cap; i++)
            if (d->seen[i].ino)
                seen_insert(table, cap, d->seen[i]);
        free(d->seen);
        d->seen = table;
        d->seen_cap = cap;
    }
    bool added = !st->ino ||
                 seen_insert(d->seen, d->seen_cap, (struct seen){ st->dev, st->ino });
    d->seen_count += added;
    return added;
}

static bool is_counted(struct du *d, const struct vfs_stat *st)
{
    bool may_repeat = st->nlink > 1 || st->type == VFS_DIR || d->follow || d->c->argc > 1;
    return d->count_links || !may_repeat || seen_add(d, st);
}

static bool print_size(struct du *d, struct sum sum, const char *name)
{
    char text[24];
    if (d->threshold &&
            (d->at_most ? sum.bytes > d->threshold : sum.bytes < d->threshold))
        return true;
    if (d->human || d->si)
        number_human(sum.bytes, d->si ? 1000 : 1024, text);
    else
        snprintf(text, sizeof(text), "%llu%s",
                (unsigned long long)(sum.bytes / d->unit + (sum.bytes % d->unit != 0)),
                d->unit_letter);
    auto_buf line = BUF(65536);
    buf_addf(&line, "%s\t", text);
    if (d->time)
        datetime_format(
                STR("%Y-%m-%d %H:%M\t"), datetime_from_ns(sum.newest_ns), false, &line);
    buf_addf(&line, "%s%c", name, d->end);
    return cmd_put(d->c, buf_str(&line));
}

static struct sum *level_of(struct du *d, size_t depth)
{
    while (d->level_count <= depth) {
        GROW(d->levels, d->level_count, d->level_cap);
        d->levels[d->level_count++] = (struct sum){ 0 };
    }
    return &d->levels[depth];
}

static void add(struct sum *to, struct sum what)
{
    to->bytes += what.bytes;
    to->newest_ns = what.newest_ns > to->newest_ns ? what.newest_ns : to->newest_ns;
}

static struct sum size_of(const struct du *d, const struct vfs_stat *st)
{
    return (struct sum){ d->apparent ? st->size : st->blocks * 512, st->mtime_ns };
}

static bool is_excluded(const struct du *d, const struct dirwalk_entry *e)
{
    for (size_t i = 0; i < d->exclude_count; i++) {
        struct str pattern = str_of(d->exclude[i]);
        if (pattern_match(pattern, str_of(e->name), 0) ||
                pattern_match(pattern, str_of(e->path), 0))
            return true;
    }
    return false;
}

static bool is_printed(const struct du *d, size_t depth, bool is_dir)
{
    return !depth || (!d->summarize && depth <= d->max_depth && (is_dir || d->all));
}

static bool end_dir(struct du *d, const struct dirwalk_entry *e)
{
    struct sum own = *level_of(d, e->depth);
    d->levels[e->depth] = (struct sum){ 0 };
    if (e->depth && !d->separate)
        add(level_of(d, e->depth - 1), own);
    if (!e->depth || d->separate)
        add(&d->grand, own);
    return !is_printed(d, e->depth, true) || print_size(d, own, e->path);
}

static bool add_file(struct du *d, const struct dirwalk_entry *e)
{
    struct sum own = size_of(d, &e->st);
    add(e->depth ? level_of(d, e->depth - 1) : &d->grand, own);
    return !is_printed(d, e->depth, false) || print_size(d, own, e->path);
}

static bool step(struct du *d, struct dirwalk *w, const struct dirwalk_entry *e)
{
    switch (e->step) {
    case WALK_DIR:
        if (is_excluded(d, e) || !is_counted(d, &e->st)) {
            dirwalk_skip(w);
            return true;
        }
        *level_of(d, e->depth) = size_of(d, &e->st);
        return true;
    case WALK_FILE:
        return is_excluded(d, e) || !is_counted(d, &e->st) || add_file(d, e);
    case WALK_UNREADABLE:
        cmd_err(d->c, "cannot read directory %s: %s", quote(d->c, e->path),
                errno_text(e->errnum));
        d->status = 1;
        return end_dir(d, e);
    case WALK_DIR_END:
        return end_dir(d, e);
    case WALK_FAILED:
        break;
    }
    cmd_err(d->c, "cannot access %s: %s", quote(d->c, e->path), errno_text(e->errnum));
    d->status = 1;
    return true;
}

static bool measure(struct du *d, const char *name)
{
    bool ok = true;
    struct dirwalk *w = file_walk(d->c, name, d->follow_root, d->follow);
    for (struct dirwalk_entry e; ok && dirwalk_next(w, &e);) {
        struct arena_mark mark = arena_mark(d->c->arena);
        ok = step(d, w, &e);
        arena_rewind(d->c->arena, mark);
    }
    dirwalk_destroy(w);
    return ok && !budget_stopped(d->c->budget);
}

/* SIZE, or a letter alone, which is shown after each number then. */
static bool set_unit(struct du *d, const char *value)
{
    bool letter = *value < '0' || *value > '9';
    const char *text = letter ? arena_printf(d->c->arena, "1%s", value) : value;
    if (number_size(str_of(text), &d->unit) && d->unit) {
        d->unit_letter = letter ? value : "";
        return true;
    }
    cmd_err(d->c, "invalid -B argument %s", quote(d->c, value));
    return false;
}

static bool set_depth(struct du *d, const char *value)
{
    uint64_t depth;
    if (!number_plain(str_of(value), &depth)) {
        cmd_err(d->c, "invalid maximum depth %s", quote(d->c, value));
        try_help(d->c, 1);
        return false;
    }
    d->max_depth = (size_t)depth;
    return true;
}

static bool set_threshold(struct du *d, const char *value)
{
    d->at_most = *value == '-';
    if (number_size(str_of(value + d->at_most), &d->threshold))
        return true;
    cmd_err(d->c, "invalid --threshold argument %s", quote(d->c, value));
    return false;
}

static bool set_value(struct du *d, int key, const char *value)
{
    switch (key) {
    case 'B':
        return set_unit(d, value);
    case 'd':
        return set_depth(d, value);
    case 't':
        return set_threshold(d, value);
    case OPT_EXCLUDE:
        GROW(d->exclude, d->exclude_count, d->exclude_cap);
        d->exclude[d->exclude_count++] = value;
        return true;
    case 'k':
        d->human = d->si = false;
        return set_unit(d, "1024");
    case 'm':
        d->human = d->si = false;
        return set_unit(d, "1048576");
    case 'b':
        d->apparent = true;
        return set_unit(d, "1");
    default:
        return key != CMD_BAD;
    }
}

static bool set_option(struct du *d, int key, const char *value)
{
    switch (key) {
    case '0':
        d->end = 0;
        return true;
    case 'a':
        return d->all = true;
    case OPT_APPARENT:
        return d->apparent = true;
    case 'c':
        return d->total = true;
    case 'D':
    case 'H':
        return d->follow_root = true;
    case 'h':
        return d->human = true;
    case OPT_SI:
        return d->si = true;
    case 'L':
        return d->follow = true;
    case 'l':
        return d->count_links = true;
    case 'P':
        d->follow = d->follow_root = false;
        return true;
    case 'S':
        return d->separate = true;
    case 's':
        return d->summarize = true;
    case OPT_TIME:
        return d->time = true;
    default:
        return set_value(d, key, value);
    }
}

static int run(struct du *d)
{
    struct cmd *c = d->c;
    if (d->summarize && d->all) {
        cmd_err(c, "cannot both summarize and show all entries");
        return try_help(c, 1);
    }
    if (d->summarize && d->max_depth != SIZE_MAX && d->max_depth) {
        cmd_err(c, "warning: summarizing conflicts with --max-depth=%zu", d->max_depth);
        return try_help(c, 1);
    }
    for (int i = 0; i < c->argc; i++)
        if (!measure(d, c->argv[i]))
            return 1;
    if (!c->argc && !measure(d, "."))
        return 1;
    if (d->total && !print_size(d, d->grand, "total"))
        return 1;
    return d->status;
}

static int cmd_du(struct cmd *c)
{
    struct du d = {
        .c = c, .end = '\n', .unit = 1024, .unit_letter = "", .max_depth = SIZE_MAX
    };
    struct cmd_options o = cmd_options(c);
    bool ok = true;
    for (int k; ok && (k = cmd_next(&o)) != CMD_END;)
        ok = set_option(&d, k, o.value);
    int status = ok ? run(&d) : 1;
    free(d.exclude);
    free(d.levels);
    free(d.seen);
    return status;
}

const struct command command_du = {
    "du",
    cmd_du,
    options,
    "[OPTION]... [FILE]...",
    "Show how much space trees take.",
    0,
};
