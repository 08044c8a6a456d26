#include "shell/builtin/ls.h"

#include "shell/builtin/files.h"
#include "shell/builtin/number.h"
#include "shell/builtin/quote.h"
#include "shell/pattern.h"

#include <errno.h>

enum {
    OPT_COLOR = 256,
    OPT_FULL_TIME,
    OPT_GROUP_DIRS,
    OPT_HIDE,
    OPT_INDICATOR,
    OPT_FILE_TYPE,
    OPT_SI,
    OPT_SORT,
    OPT_TIME,
    OPT_TIME_STYLE,
    OPT_FORMAT,
    OPT_QUOTING,
    OPT_ZERO,
    OPT_IGNORED,
};

static const struct cmd_opt options[] = {
    { 'a', "all", ARG_NONE, NULL, "list names that begin with a dot too" },
    { 'A', "almost-all", ARG_NONE, NULL, "the same without . and .." },
    { 'b', "escape", ARG_NONE, NULL, "unprintable characters as C escapes" },
    { 'B', "ignore-backups", ARG_NONE, NULL, "leave out names that end with ~" },
    { 'c', NULL, ARG_NONE, NULL,
            "show and sort by the time of the last change of status" },
    { 'C', NULL, ARG_NONE, NULL, "in columns" },
    { OPT_COLOR, "color", ARG_OPTIONAL, "WHEN", "(ignored: there is no terminal)" },
    { 'd', "directory", ARG_NONE, NULL, "list directories themselves" },
    { 'f', NULL, ARG_NONE, NULL, "the same as -aU" },
    { 'F', "classify", ARG_OPTIONAL, "WHEN", "append one of */=@| to names" },
    { OPT_FILE_TYPE, "file-type", ARG_NONE, NULL, "the same without *" },
    { OPT_FORMAT, "format", ARG_REQUIRED, "WORD",
            "across, commas, long, single-column, verbose, vertical" },
    { OPT_FULL_TIME, "full-time", ARG_NONE, NULL,
            "the same as -l --time-style=full-iso" },
    { 'g', NULL, ARG_NONE, NULL, "like -l, without owner" },
    { OPT_GROUP_DIRS, "group-directories-first", ARG_NONE, NULL, "directories first" },
    { 'G', "no-group", ARG_NONE, NULL, "with -l: without group" },
    { 'h', "human-readable", ARG_NONE, NULL, "sizes like 1K 234M 2G" },
    { OPT_HIDE, "hide", ARG_REQUIRED, "PATTERN",
            "leave out such names, unless -a or -A" },
    { 'H', "dereference-command-line", ARG_NONE, NULL,
            "follow links among the operands" },
    { 'i', "inode", ARG_NONE, NULL, "print the inode number" },
    { OPT_INDICATOR, "indicator-style", ARG_REQUIRED, "WORD",
            "none, slash, file-type, classify" },
    { 'I', "ignore", ARG_REQUIRED, "PATTERN", "leave out such names" },
    { 'k', "kibibytes", ARG_NONE, NULL, "(the default)" },
    { 'l', NULL, ARG_NONE, NULL, "with details" },
    { 'L', "dereference", ARG_NONE, NULL, "follow links" },
    { 'm', NULL, ARG_NONE, NULL, "separated by commas" },
    { 'n', "numeric-uid-gid", ARG_NONE, NULL,
            "like -l, with numbers for owner and group" },
    { 'N', "literal", ARG_NONE, NULL, "names as they are (the default)" },
    { 'o', NULL, ARG_NONE, NULL, "like -l, without group" },
    { 'p', NULL, ARG_NONE, NULL, "append / to directories" },
    { 'q', "hide-control-chars", ARG_NONE, NULL, "unprintable characters as ?" },
    { 'Q', "quote-name", ARG_NONE, NULL, "names in double quotes" },
    { OPT_QUOTING, "quoting-style", ARG_REQUIRED, "WORD",
            "literal, shell-escape, shell-escape-always, c, escape" },
    { 'r', "reverse", ARG_NONE, NULL, "the other way round" },
    { 'R', "recursive", ARG_NONE, NULL, "list what is in directories too" },
    { 's', "size", ARG_NONE, NULL, "print the allocated size, in blocks of 1 KiB" },
    { 'S', NULL, ARG_NONE, NULL, "sort by size, largest first" },
    { OPT_SI, "si", ARG_NONE, NULL, "like -h, with powers of 1000" },
    { OPT_SORT, "sort", ARG_REQUIRED, "WORD",
            "none, size, time, version, extension, name" },
    { 't', NULL, ARG_NONE, NULL, "sort by time, newest first" },
    { OPT_TIME, "time", ARG_REQUIRED, "WORD",
            "atime, access, use; ctime, status; mtime, modification" },
    { OPT_TIME_STYLE, "time-style", ARG_REQUIRED, "STYLE",
            "full-iso, long-iso, iso, locale, or +FORMAT as of date" },
    { 'T', "tabsize", ARG_REQUIRED, "COLS", "(ignored)" },
    { 'u', NULL, ARG_NONE, NULL, "show and sort by the time of the last access" },
    { 'U', NULL, ARG_NONE, NULL, "do not sort" },
    { 'v', NULL, ARG_NONE, NULL, "sort by the numbers in names" },
    { 'w', "width", ARG_REQUIRED, "COLS", "width of a line (80)" },
    { 'x', NULL, ARG_NONE, NULL, "in columns, filled line by line" },
    { 'X', NULL, ARG_NONE, NULL, "sort by extension" },
    { 'Z', "context", ARG_NONE, NULL, "(ignored)" },
    { OPT_ZERO, "zero", ARG_NONE, NULL, "lines end with NUL" },
    { '1', NULL, ARG_NONE, NULL, "one name for each line (the default)" },
    { 0 },
};

/* Directories still to be listed, the next one last. */
struct pending {
    char **names;
    size_t count, cap;
};

static void failed(
        struct ls *ls, const char *what, const char *name, int errnum, int status)
{
    cmd_err(ls->c, "cannot %s %s: %s", what, quote(ls->c, name), errno_text(errnum));
    if (ls->status < status)
        ls->status = status;
}

static bool needs_stat(const struct ls *ls)
{
    return ls->layout == LS_LONG || ls->inode || ls->blocks || ls->sort == LS_BY_TIME ||
           ls->sort == LS_BY_SIZE || ls->marks == LS_MARK_ALL;
}

static bool needs_type(const struct ls *ls)
{
    return ls->recursive || ls->marks || ls->dirs_first;
}

/* What a link points to: its text for -l, its type for marks and order. */
static void look_behind_link(
        struct ls *ls, const char *path, struct arena *arena, struct ls_file *f)
{
    struct str target;
    struct vfs_stat st;
    bool shown = ls->layout == LS_LONG;
    if (shown && !file_readlink(ls->c, path, &target))
        f->target = arena_str(arena, target);
    if ((ls->dirs_first || (shown && ls->marks)) &&
            !file_stat(ls->c, path, VFS_FOLLOW, &st)) {
        f->target_type = st.type;
        f->target_mode = st.mode;
    }
}

/* An entry of a directory.  What cannot be looked at is reported, and still listed. */
static void look(struct ls *ls, const char *dir, struct arena *arena, struct ls_file *f)
{
    struct arena_mark mark = arena_mark(ls->c->arena);
    bool here_itself = !strcmp(dir, ".");
    const char *path = here_itself ? f->name.data : name_join(ls->c, dir, f->name.data);
    bool follow = ls->follow == LS_FOLLOW_ALL;
    f->target_type = VFS_UNKNOWN;
    if (needs_stat(ls) || f->st.type == VFS_UNKNOWN ||
            (follow && f->st.type == VFS_LINK && needs_type(ls))) {
        struct vfs_stat st;
        int errnum = file_stat(ls->c, path, follow ? VFS_FOLLOW : VFS_NOFOLLOW, &st);
        if (errnum) {
            failed(ls, "access", path, errnum, 1);
        } else {
            f->st = st;
            f->has_stat = true;
        }
    }
    if (f->st.type == VFS_LINK && (f->has_stat || ls->dirs_first))
        look_behind_link(ls, path, arena, f);
    arena_rewind(ls->c->arena, mark);
}

static bool is_wanted(const struct ls *ls, struct str name)
{
    if (name.data[0] == '.' && ls->hidden == LS_NO_HIDDEN)
        return false;
    for (size_t i = 0; i < ls->ignore_count; i++) {
        struct str pattern = str_of(ls->ignore[i]);
        bool hide = pattern.data[0] == 'h'; /* --hide is off under -a */
        if (!(hide && ls->hidden != LS_NO_HIDDEN) &&
                pattern_match(str_from(pattern, 1), name, PATTERN_PERIOD))
            return false;
    }
    return true;
}

static void add_file(
        struct ls_file **files, size_t *count, struct str name, enum vfs_type type)
{
    (*files)[(*count)++] = (struct ls_file){ .name = name, .st.type = type };
}

/* The wanted entries of a directory, looked at and sorted. */
static int read_dir(struct ls *ls, const char *dir, struct arena *arena,
        struct ls_file **out, size_t *out_count)
{
    struct vpath path;
    struct vfs_entry *entries;
    size_t count = 0, listed = 0;
    int errnum = vpath_parse(str_of(dir), ls->c->cwd, arena, &path);
    if (!errnum)
        errnum = vfs_list(ls->c->vfs, path, arena, &entries, &listed);
    if (errnum)
        return errnum;
    struct ls_file *files = arena_alloc(arena, (listed + 2) * sizeof(*files));
    if (ls->hidden == LS_ALL) {
        add_file(&files, &count, STR("."), VFS_DIR);
        add_file(&files, &count, STR(".."), VFS_DIR);
    }
    for (size_t i = 0; i < listed; i++)
        if (is_wanted(ls, entries[i].name))
            add_file(&files, &count, entries[i].name, entries[i].type);
    for (size_t i = 0; i < count && cmd_tick(ls->c); i++)
        look(ls, dir, arena, &files[i]);
    ls_sort_files(ls, files, count);
    *out = files;
    *out_count = count;
    return 0;
}

static void push(struct pending *p, const char *name)
{
    GROW(p->names, p->count, p->cap);
    p->names[p->count++] = xstrdup(name);
}

/* For -R: what is in it comes next, in order. */
static void push_dirs(struct ls *ls, const char *dir, const struct ls_file *files,
        size_t count, struct pending *p)
{
    for (size_t i = count; i--;) {
        if (files[i].st.type != VFS_DIR || str_is(files[i].name, ".") ||
                str_is(files[i].name, ".."))
            continue;
        struct arena_mark mark = arena_mark(ls->c->arena);
        push(p, name_join(ls->c, dir, files[i].name.data));
        arena_rewind(ls->c->arena, mark);
    }
}

/* One that -R has come to. */
static bool enters_remote(struct ls *ls, const char *dir, struct arena *arena)
{
    struct vpath path;
    return !vpath_parse(str_of(dir), ls->c->cwd, arena, &path) &&
           vfs_enters_remote(ls->c->vfs, path);
}

static bool list_dir(
        struct ls *ls, const char *dir, bool is_operand, bool header, struct pending *p)
{
    auto_arena *arena = arena_create();
    struct ls_file *files;
    size_t count;
    int errnum = !is_operand && enters_remote(ls, dir, arena)
                         ? EREMOTE
                         : read_dir(ls, dir, arena, &files, &count);
    if (errnum) {
        failed(ls, "open directory", dir, errnum, is_operand ? 2 : 1);
        return true;
    }
    auto_buf head = BUF(65536);
    if (header) {
        if (ls->printed)
            buf_addc(&head, ls->end);
        ls_add_quoted(ls, str_of(dir), &head);
        buf_addf(&head, ":%c", ls->end);
    }
    ls->printed = true;
    if (ls->recursive)
        push_dirs(ls, dir, files, count, p);
    bool total = ls->layout == LS_LONG || ls->blocks;
    return cmd_put(ls->c, buf_str(&head)) &&
           (!total || ls_print_total(ls, files, count)) && ls_print(ls, files, count);
}

/* 0, or an errno; follows links as operands are. */
static int look_at_operand(struct ls *ls, const char *name, struct ls_file *f)
{
    *f = (struct ls_file){ .name = str_of(name), .target_type = VFS_UNKNOWN };
    bool follow = ls->follow != LS_NO_FOLLOW;
    int errnum = file_stat(ls->c, name, follow ? VFS_FOLLOW : VFS_NOFOLLOW, &f->st);
    bool wanted = !errnum && (ls->follow != LS_FOLLOW_DIRS || f->st.type == VFS_DIR);
    if (follow && !wanted && ls->follow != LS_FOLLOW_ALL)
        errnum = file_stat(ls->c, name, VFS_NOFOLLOW, &f->st);
    if (errnum)
        return errnum;
    f->has_stat = true;
    if (f->st.type == VFS_LINK)
        look_behind_link(ls, name, ls->c->arena, f);
    return 0;
}

/* Files among the operands are listed first; directories are what is left. */
static size_t split_operands(
        struct ls *ls, struct ls_file *files, struct ls_file *dirs, size_t *dir_count)
{
    struct cmd *c = ls->c;
    size_t file_count = 0;
    for (int i = 0; i < c->argc && cmd_tick(c); i++) {
        struct ls_file f;
        int errnum = look_at_operand(ls, c->argv[i], &f);
        if (errnum)
            failed(ls, "access", c->argv[i], errnum, 2);
        else if (f.st.type == VFS_DIR && !ls->dirs_themselves)
            dirs[(*dir_count)++] = f;
        else
            files[file_count++] = f;
    }
    return file_count;
}

static bool list_pending(struct ls *ls, struct pending *p, size_t operands, bool header)
{
    bool ok = true;
    while (ok && p->count && cmd_tick(ls->c)) {
        char *dir = p->names[--p->count];
        bool is_operand = p->count < operands;
        operands = is_operand ? p->count : operands;
        struct arena_mark mark = arena_mark(ls->c->arena);
        ok = list_dir(ls, dir, is_operand, header, p);
        arena_rewind(ls->c->arena, mark);
        free(dir);
    }
    while (p->count)
        free(p->names[--p->count]);
    free(p->names);
    return ok;
}

static char *here[] = { (char[]){ "." }, NULL };

static void list_operands(struct ls *ls)
{
    struct cmd *c = ls->c;
    if (!c->argc) {
        c->argv = here;
        c->argc = 1;
    }
    size_t dir_count = 0, room = (size_t)c->argc * sizeof(struct ls_file);
    struct ls_file *files = arena_alloc(c->arena, 2 * room);
    struct ls_file *dirs = arena_alloc(c->arena, room);
    size_t file_count = split_operands(ls, files, dirs, &dir_count);
    /* The columns are as wide as if the directories were shown among the files. */
    memcpy(files + file_count, dirs, dir_count * sizeof(*dirs));
    ls->measured_too = dir_count;
    ls_sort_files(ls, files, file_count);
    ls_sort_files(ls, dirs, dir_count);
    if (file_count && !ls_print(ls, files, file_count))
        return;
    ls->measured_too = 0;
    ls->printed = file_count != 0;
    struct pending p = { 0 };
    for (size_t i = dir_count; i--;)
        push(&p, dirs[i].name.data);
    list_pending(ls, &p, dir_count, c->argc > 1 || ls->recursive);
}

struct word {
    const char *word;
    int value;
};

/* The value of an unambiguous abbreviation; -1: reported. */
static int choose(
        struct ls *ls, const struct word *words, const char *option, const char *value)
{
    for (; words->word; words++)
        if (*value && str_starts(str_of(words->word), str_of(value)))
            return words->value;
    cmd_err(ls->c, "invalid argument %s for '--%s'", quote(ls->c, value), option);
    ls->status = 1;
    try_help(ls->c, 1);
    return -1;
}

static bool set_time_style(struct ls *ls, const char *style)
{
    static const struct {
        const char *name, *recent, *old;
    } styles[] = {
        { "full-iso", "%Y-%m-%d %H:%M:%S.%N %z", "%Y-%m-%d %H:%M:%S.%N %z" },
        { "long-iso", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M" },
        { "iso", "%m-%d %H:%M", "%Y-%m-%d " },
        { "locale", "%b %e %H:%M", "%b %e  %Y" },
    };
    if (!strncmp(style, "posix-", 6))
        style = "locale";
    if (*style == '+') {
        const char *line = strchr(style, '\n');
        ls->time_old = arena_cstr(
                ls->c->arena, line ? (struct str){ style + 1, (size_t)(line - style - 1) }
                                   : str_of(style + 1));
        ls->time_recent = line ? line + 1 : ls->time_old;
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(styles); i++)
        if (!strcmp(style, styles[i].name)) {
            ls->time_recent = styles[i].recent;
            ls->time_old = styles[i].old;
            return true;
        }
    cmd_err(ls->c, "invalid argument %s for 'time style'", quote(ls->c, style));
    return false;
}

static bool set_word(struct ls *ls, int key, const char *value)
{
    static const struct word sorts[] = { { "none", LS_UNSORTED }, { "size", LS_BY_SIZE },
        { "time", LS_BY_TIME }, { "version", LS_BY_VERSION },
        { "extension", LS_BY_EXTENSION }, { "name", LS_BY_NAME }, { 0 } };
    static const struct word times[] = { { "atime", LS_ACCESSED },
        { "access", LS_ACCESSED }, { "use", LS_ACCESSED }, { "ctime", LS_CHANGED },
        { "status", LS_CHANGED }, { "mtime", LS_MODIFIED },
        { "modification", LS_MODIFIED }, { 0 } };
    static const struct word marks[] = { { "none", LS_NO_MARKS },
        { "slash", LS_MARK_DIRS }, { "file-type", LS_MARK_TYPES },
        { "classify", LS_MARK_ALL }, { 0 } };
    static const struct word layouts[] = { { "across", LS_ACROSS },
        { "horizontal", LS_ACROSS }, { "commas", LS_COMMAS }, { "long", LS_LONG },
        { "verbose", LS_LONG }, { "single-column", LS_LINES }, { "vertical", LS_DOWN },
        { 0 } };
    static const struct word quotes[] = { { "literal", LS_LITERAL },
        { "shell-escape", LS_LITERAL }, { "shell-escape-always", LS_SHELL_QUOTES },
        { "shell", LS_LITERAL }, { "shell-always", LS_SHELL_QUOTES },
        { "c", LS_C_QUOTES }, { "escape", LS_ESCAPE }, { 0 } };
    int chosen = -1;
    if (key == OPT_SORT && (chosen = choose(ls, sorts, "sort", value)) >= 0)
        ls->sort = (enum ls_sort)chosen;
    else if (key == OPT_TIME && (chosen = choose(ls, times, "time", value)) >= 0)
        ls->time = (enum ls_time)chosen;
    else if (key == OPT_INDICATOR &&
             (chosen = choose(ls, marks, "indicator-style", value)) >= 0)
        ls->marks = (enum ls_marks)chosen;
    else if (key == OPT_FORMAT && (chosen = choose(ls, layouts, "format", value)) >= 0)
        ls->layout = (enum ls_layout)chosen;
    else if (key == OPT_QUOTING &&
             (chosen = choose(ls, quotes, "quoting-style", value)) >= 0)
        ls->quotes = (enum ls_quotes)chosen;
    return chosen >= 0;
}

static bool add_ignore(struct ls *ls, char kind, const char *pattern)
{
    GROW(ls->ignore, ls->ignore_count, ls->ignore_cap);
    ls->ignore[ls->ignore_count++] = arena_printf(ls->c->arena, "%c%s", kind, pattern);
    return true;
}

static bool set_width(struct ls *ls, const char *value)
{
    uint64_t width;
    if (!number_plain(str_of(value), &width)) {
        cmd_err(ls->c, "invalid line width: %s", quote(ls->c, value));
        return false;
    }
    ls->width = width ? (size_t)width : SIZE_MAX / 8;
    return true;
}

/* Options that show or choose more. */
static bool set_details(struct ls *ls, int key, const char *value)
{
    switch (key) {
    case 'g':
        ls->no_owner = true;
        ls->layout = LS_LONG;
        return true;
    case 'o':
        ls->no_group = true;
        ls->layout = LS_LONG;
        return true;
    case 'n':
        ls->numeric = true;
        ls->layout = LS_LONG;
        return true;
    case OPT_FULL_TIME:
        ls->layout = LS_LONG;
        return set_time_style(ls, "full-iso");
    case OPT_TIME_STYLE:
        return set_time_style(ls, value);
    case 'G':
        return ls->no_group = true;
    case 'h':
        ls->si = false;
        return ls->human = true;
    case OPT_SI:
        return ls->si = true;
    case 'i':
        return ls->inode = true;
    case 's':
        return ls->blocks = true;
    case 'F':
        ls->marks = value && (!strcmp(value, "never") || !strcmp(value, "auto"))
                            ? LS_NO_MARKS
                            : LS_MARK_ALL;
        return true;
    case 'p':
        ls->marks = LS_MARK_DIRS;
        return true;
    case OPT_FILE_TYPE:
        ls->marks = LS_MARK_TYPES;
        return true;
    case 'b':
        ls->quotes = LS_ESCAPE;
        return true;
    case 'N':
        ls->quotes = LS_LITERAL;
        return true;
    case 'q':
        ls->quotes = LS_QUESTION;
        return true;
    case 'Q':
        ls->quotes = LS_C_QUOTES;
        return true;
    default:
        return key < OPT_SORT || set_word(ls, key, value);
    }
}

static bool set_layout(struct ls *ls, enum ls_layout layout)
{
    ls->layout = layout;
    return true;
}

static bool set_sort(struct ls *ls, enum ls_sort sort)
{
    ls->sort = sort;
    return true;
}

static bool set_option(struct ls *ls, int key, const char *value, bool *sorted)
{
    switch (key) {
    case CMD_BAD:
        return false;
    case 'a':
        ls->hidden = LS_ALL;
        return true;
    case 'A':
        ls->hidden = LS_ALMOST_ALL;
        return true;
    case 'B':
        return add_ignore(ls, 'I', "*~") && add_ignore(ls, 'I', ".*~");
    case 'c':
        ls->time = LS_CHANGED;
        return true;
    case 'u':
        ls->time = LS_ACCESSED;
        return true;
    case 'C':
        return set_layout(ls, LS_DOWN);
    case 'x':
        return set_layout(ls, LS_ACROSS);
    case 'm':
        return set_layout(ls, LS_COMMAS);
    case 'l':
        return set_layout(ls, LS_LONG);
    case '1':
        return ls->layout == LS_LONG || set_layout(ls, LS_LINES);
    case 'd':
        return ls->dirs_themselves = true;
    case 'f':
        ls->hidden = LS_ALL;
        return *sorted = set_sort(ls, LS_UNSORTED);
    case OPT_GROUP_DIRS:
        return ls->dirs_first = true;
    case OPT_HIDE:
        return add_ignore(ls, 'h', value);
    case 'I':
        return add_ignore(ls, 'I', value);
    case 'H':
        ls->follow = LS_FOLLOW_OPERANDS;
        return true;
    case 'L':
        ls->follow = LS_FOLLOW_ALL;
        return true;
    case 'r':
        return ls->reverse = true;
    case 'R':
        return ls->recursive = true;
    case 'S':
        return *sorted = set_sort(ls, LS_BY_SIZE);
    case 't':
        return *sorted = set_sort(ls, LS_BY_TIME);
    case 'U':
        return *sorted = set_sort(ls, LS_UNSORTED);
    case 'v':
        return *sorted = set_sort(ls, LS_BY_VERSION);
    case 'X':
        return *sorted = set_sort(ls, LS_BY_EXTENSION);
    case 'w':
        return set_width(ls, value);
    case OPT_ZERO:
        ls->end = 0;
        return true;
    default:
        *sorted |= key == OPT_SORT;
        return set_details(ls, key, value);
    }
}

static int cmd_ls(struct cmd *c)
{
    struct ls ls = { .c = c, .end = '\n', .width = 80, .now = datetime_now() };
    bool sorted = false;
    if (!set_time_style(&ls, "locale"))
        return 2;
    const char *columns = cmd_env(c, "COLUMNS");
    uint64_t width;
    if (columns && number_plain(str_of(columns), &width) && width)
        ls.width = (size_t)width;
    struct cmd_options o = cmd_options(c);
    bool ok = true;
    for (int k; ok && (k = cmd_next(&o)) != CMD_END;)
        ok = set_option(&ls, k, o.value, &sorted);
    /* A time that is not shown is what to sort by. */
    if (!sorted && ls.time != LS_MODIFIED && ls.layout != LS_LONG)
        ls.sort = LS_BY_TIME;
    if (ls.follow == LS_FOLLOW_DIRS &&
            (ls.layout == LS_LONG || ls.dirs_themselves || ls.marks == LS_MARK_ALL))
        ls.follow = LS_NO_FOLLOW;
    if (ls.dirs_themselves)
        ls.recursive = false;
    if (ok)
        list_operands(&ls);
    free(ls.ignore);
    return ok || ls.status ? ls.status : 2;
}

const struct command command_ls = {
    "ls",
    cmd_ls,
    options,
    "[OPTION]... [FILE]...",
    "List files and what is in directories.",
    0,
};
