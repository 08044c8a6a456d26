/* Each primary of find by name: how its argument is read. */
#include "shell/builtin/files.h"
#include "shell/builtin/find.h"
#include "shell/builtin/mode.h"
#include "shell/builtin/number.h"
#include "shell/builtin/users.h"

#include <ctype.h>
#include <unistd.h>

typedef bool parse_fn(struct find_parser *p, const char *name, struct find_expr *out);

struct primary {
    const char *name;
    parse_fn *parse;
    find_eval_fn *eval;
    int variant;
};

static bool fail(struct find_parser *p, const char *message)
{
    cmd_err(p->f->c, "%s", message);
    return false;
}

/* The argument of `name`, or NULL: reported. */
static const char *argument(struct find_parser *p, const char *name)
{
    if (p->next < p->argc)
        return p->argv[p->next++];
    cmd_err(p->f->c, "missing argument to `%s'", name);
    return NULL;
}

enum { OPTION_NOTHING, OPTION_DEPTH, OPTION_DEVICE, OPTION_DAY_START, OPTION_FOLLOW };

static bool parse_option(struct find_parser *p, const char *name, struct find_expr *out)
{
    (void)name;
    switch (out->variant) {
    case OPTION_DEPTH:
        p->f->depth_first = p->f->has_depth = true;
        break;
    case OPTION_DEVICE:
        p->f->one_device = true;
        break;
    case OPTION_DAY_START:
        p->day_start = true;
        break;
    case OPTION_FOLLOW:
        p->f->follow = p->f->follow_operands = true;
        break;
    default:
        break;
    }
    return true;
}

static bool parse_depth(struct find_parser *p, const char *name, struct find_expr *out)
{
    const char *arg = argument(p, name);
    uint64_t n;
    if (!arg)
        return false;
    if (!number_plain(str_of(arg), &n)) {
        cmd_err(p->f->c,
                "Expected a positive decimal integer argument to %s, but got '%s'", name,
                arg);
        return false;
    }
    *(out->variant ? &p->f->min_depth : &p->f->max_depth) = n;
    return true;
}

static bool parse_regex_type(
        struct find_parser *p, const char *name, struct find_expr *out)
{
    static const char extended[] =
            " awk egrep gnu-awk posix-awk posix-egrep posix-extended ";
    static const char basic[] = " ed grep posix-basic posix-minimal-basic sed ";
    const char *arg = argument(p, name);
    (void)out;
    if (!arg)
        return false;
    const char *word = arena_printf(p->f->c->arena, " %s ", arg);
    p->emacs = !strcmp(arg, "emacs") || !strcmp(arg, "findutils-default");
    if (strstr(extended, word))
        p->syntax = REGEX_EXTENDED;
    else if (p->emacs || strstr(basic, word))
        p->syntax = REGEX_BASIC;
    else {
        cmd_err(p->f->c,
                "Unknown regular expression type '%s'; valid types are "
                "'findutils-default', "
                "'ed', 'emacs', 'gnu-awk', 'grep', 'posix-awk', 'awk', 'posix-basic', "
                "'posix-egrep', 'egrep', 'posix-extended', 'posix-minimal-basic', 'sed'.",
                arg);
        return false;
    }
    return true;
}

enum { PATTERN_EXACT, PATTERN_FOLDED };

static bool parse_pattern(struct find_parser *p, const char *name, struct find_expr *out)
{
    const char *arg = argument(p, name);
    if (!arg)
        return false;
    out->text = str_of(arg);
    out->fold = out->variant == PATTERN_FOLDED;
    return true;
}

/* Bytes of the bracket expression at the start of `t`, its "]" included. */
static size_t bracket_length(struct str t)
{
    size_t i = t.len > 1 && t.data[1] == '^' ? 2 : 1;
    for (bool first = true; i < t.len && (first || t.data[i] != ']'); first = false) {
        const char *end = NULL;
        if (t.data[i] == '[' && i + 1 < t.len && t.data[i + 1] == ':')
            end = memmem(t.data + i, t.len - i, ":]", 2);
        i = end ? (size_t)(end + 2 - t.data) : i + 1;
    }
    return i < t.len ? i + 1 : t.len;
}

/* Emacs' syntax is a BRE in which + and ? repeat. */
static void emacs_to_basic(struct str t, struct buf *out)
{
    for (size_t i = 0, len; i < t.len; i += len) {
        char c = t.data[i];
        len = c == '[' ? bracket_length(str_from(t, i)) : c == '\\' ? 2 : 1;
        if (c == '+' || c == '?')
            buf_addc(out, '\\');
        buf_add(out, str_sub(t, i, len));
    }
}

static bool parse_regex(struct find_parser *p, const char *name, struct find_expr *out)
{
    struct find *f = p->f;
    struct error err;
    auto_buf text = BUF(65536);
    const char *arg = argument(p, name);
    unsigned flags = REGEX_LINE | REGEX_NO_GROUPS;
    if (!arg)
        return false;
    if (out->variant == PATTERN_FOLDED)
        flags |= REGEX_FOLD;
    if (p->emacs)
        emacs_to_basic(str_of(arg), &text);
    else
        buf_add(&text, str_of(arg));
    if (!regex_compile(buf_str(&text), p->syntax, flags, &out->regex, &err)) {
        cmd_err(f->c, "failed to compile regular expression '%s': %s", arg, err.message);
        return false;
    }
    GROW(f->regexes, f->regex_count, f->regex_cap);
    f->regexes[f->regex_count++] = out->regex;
    return true;
}

static const char type_letters[] = {
    [VFS_FILE] = 'f',
    [VFS_DIR] = 'd',
    [VFS_LINK] = 'l',
    [VFS_FIFO] = 'p',
    [VFS_SOCKET] = 's',
    [VFS_CHAR] = 'c',
    [VFS_BLOCK] = 'b',
    [VFS_UNKNOWN] = 'U',
};

char find_type_letter(enum vfs_type type)
{
    return type_letters[type];
}

static bool parse_type(struct find_parser *p, const char *name, struct find_expr *out)
{
    struct cmd *c = p->f->c;
    const char *arg = argument(p, name);
    if (!arg)
        return false;
    for (const char *t = arg;; t++) {
        const char *at = *t ? memchr(type_letters, *t, VFS_UNKNOWN) : NULL;
        if (!at && *t != 'D') {
            if (*t || t == arg)
                cmd_err(c, "Unknown argument to %s: %s", name, t);
            else
                cmd_err(c,
                        "Last file type in list argument to %s is missing, i.e., list is "
                        "ending on: ','",
                        name);
            return false;
        }
        if (at)
            out->types |= 1u << (at - type_letters);
        if (!*++t)
            return true;
        if (*t != ',') {
            cmd_err(c, "Must separate multiple arguments to %s using: ','", name);
            return false;
        }
    }
}

static enum find_compare read_compare(const char **text)
{
    char sign = **text;
    if (sign != '+' && sign != '-')
        return COMPARE_EQUAL;
    ++*text;
    return sign == '+' ? COMPARE_MORE : COMPARE_LESS;
}

static bool parse_size(struct find_parser *p, const char *name, struct find_expr *out)
{
    static const char units[] = "bcwkMG";
    static const uint64_t sizes[] = { 512, 1, 2, 1 << 10, 1 << 20, 1 << 30 };
    const char *arg = argument(p, name);
    if (!arg)
        return false;
    const char *text = arg;
    out->compare = read_compare(&text);
    struct str number = str_of(text);
    char last = number.len ? number.data[number.len - 1] : 0;
    const char *unit = last ? strchr(units, last) : NULL;
    number.len -= unit ? 1 : 0;
    out->unit = unit ? sizes[unit - units] : 512;
    if (last && !unit && !isdigit((unsigned char)last)) {
        cmd_err(p->f->c, "invalid -size type `%c'", last);
        return false;
    }
    if (number_plain(number, &out->number))
        return true;
    cmd_err(p->f->c, "Invalid argument `%s' to -size", arg);
    return false;
}

static bool parse_number(struct find_parser *p, const char *name, struct find_expr *out)
{
    const char *arg = argument(p, name), *text = arg;
    if (!arg)
        return false;
    out->compare = read_compare(&text);
    if (number_plain(str_of(text), &out->number))
        return true;
    cmd_err(p->f->c, "invalid argument `%s' to `%s'", arg, name);
    return false;
}

enum { OWNER_USER, OWNER_GROUP };

/* Names are those that ls shows; everything else is a number. */
static bool parse_owner(struct find_parser *p, const char *name, struct find_expr *out)
{
    struct cmd *c = p->f->c;
    bool group = out->variant == OWNER_GROUP;
    uint32_t ids[] = { 0, group ? getegid() : geteuid() };
    const char *arg = argument(p, name);
    if (!arg)
        return false;
    out->compare = COMPARE_EQUAL;
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        const char *known = group ? group_name(c, ids[i]) : user_name(c, ids[i]);
        out->number = ids[i];
        if (known && !strcmp(known, arg))
            return true;
    }
    if (number_plain(str_of(arg), &out->number))
        return true;
    cmd_err(c, "'%s' is not the name of a%s", arg,
            group ? "n existing group" : " known user");
    return false;
}

static bool parse_perm(struct find_parser *p, const char *name, struct find_expr *out)
{
    const char *arg = argument(p, name);
    if (!arg)
        return false;
    out->perm = *arg == '-' ? PERM_ALL : *arg == '/' ? PERM_ANY : PERM_EXACT;
    struct mode_change *mode =
            mode_parse(arg + (out->perm != PERM_EXACT), p->f->c->arena);
    if (!mode) {
        cmd_err(p->f->c, "invalid mode '%s'", arg);
        return false;
    }
    out->mode = mode_apply(mode, 0, false, 0);
    out->dir_mode = mode_apply(mode, 0, true, 0);
    return true;
}

static bool parse_nothing(struct find_parser *p, const char *name, struct find_expr *out)
{
    (void)p, (void)name, (void)out;
    return true;
}

#define DAY_SECONDS 86400

enum { AGE_DAYS = 4 }; /* added to an enum find_time; without it, minutes */

/* What ages are measured from: now, or the end of this day. */
static struct datetime age_origin(const struct find_parser *p)
{
    struct datetime midnight;
    if (!p->day_start ||
            !datetime_parse(STR("tomorrow 0:00"), p->f->now, false, &midnight))
        return p->f->now;
    return midnight;
}

/*
 * N days: the age in whole days is N.  N minutes: it is above N-1 and at most N, so that
 * the bounds are those of the next younger file.
 */
static void set_age(struct find_expr *out, int64_t origin, double n, bool days)
{
    double unit = (days ? DAY_SECONDS : 60) * 1e9, most = 4e18 / unit - 1;
    n = n < most ? n : most;
    int64_t this = (int64_t)(n * unit);
    int64_t older = days ? (int64_t)((n + 1) * unit) : this;
    int64_t younger = days ? this : (int64_t)((n - 1) * unit);
    out->age_from = origin - older + days;
    out->age_to = origin - younger + days;
    if (out->age_compare == COMPARE_LESS)
        out->age_from = origin - this + 1;
}

static bool parse_age(struct find_parser *p, const char *name, struct find_expr *out)
{
    const char *arg = argument(p, name), *text = arg;
    char *end;
    int64_t origin;
    if (!arg)
        return false;
    out->age_compare = read_compare(&text);
    double n = isdigit((unsigned char)*text) || *text == '.' ? strtod(text, &end) : -1;
    if (n < 0 || *end || text == end || strpbrk(text, "xXeEnN")) {
        cmd_err(p->f->c, "invalid argument `%s' to `%s'", arg, name);
        return false;
    }
    if (!datetime_to_ns(age_origin(p), &origin))
        return fail(p, "the clock is wrong");
    out->age_time = (enum find_time)(out->variant & 3);
    set_age(out, origin, n, out->variant & AGE_DAYS);
    return true;
}

static bool stat_reference(struct find_parser *p, const char *arg, struct vfs_stat *st)
{
    int errnum = file_stat(
            p->f->c, arg, p->f->follow_operands ? VFS_FOLLOW : VFS_NOFOLLOW, st);
    if (errnum)
        find_failed(p->f, arg, errnum);
    return !errnum;
}

static bool parse_date(struct find_parser *p, const char *arg, int64_t *ns)
{
    struct datetime t;
    if (datetime_parse(str_of(arg), p->f->now, false, &t) && datetime_to_ns(t, ns))
        return true;
    cmd_err(p->f->c, "I cannot figure out how to interpret '%s' as a date or time", arg);
    return false;
}

static bool find_time_letter(char letter, enum find_time *out)
{
    *out = letter == 'a' ? TIME_ACCESS : letter == 'c' ? TIME_CHANGE : TIME_MODIFY;
    return letter == 'a' || letter == 'c' || letter == 'm';
}

/* -newerXY; -newer, -anewer and -cnewer are -newermm, -neweram and -newercm. */
static bool parse_newer_letters(
        struct find_parser *p, const char *name, char x, char y, struct find_expr *out)
{
    enum find_time of_reference;
    struct vfs_stat st;
    if (!find_time_letter(x, &out->time) ||
            (y != 't' && !find_time_letter(y, &of_reference))) {
        cmd_err(p->f->c, "invalid predicate `%s'", name);
        return false;
    }
    const char *arg = argument(p, name);
    if (!arg)
        return false;
    if (y == 't')
        return parse_date(p, arg, &out->than_ns);
    if (!stat_reference(p, arg, &st))
        return false;
    out->than_ns = find_time_of(&st, of_reference);
    return true;
}

static bool parse_newer(struct find_parser *p, const char *name, struct find_expr *out)
{
    return parse_newer_letters(p, name, (char)out->variant, 'm', out);
}

static bool parse_same_file(
        struct find_parser *p, const char *name, struct find_expr *out)
{
    const char *arg = argument(p, name);
    struct vfs_stat st;
    if (!arg || !stat_reference(p, arg, &st))
        return false;
    out->dev = st.dev;
    out->ino = st.ino;
    return true;
}

enum { ACTION_PLAIN, ACTION_DELETE, ACTION_PRUNE, ACTION_QUIT };

static bool parse_action(struct find_parser *p, const char *name, struct find_expr *out)
{
    struct find *f = p->f;
    (void)name;
    if (out->variant == ACTION_DELETE)
        f->depth_first = f->has_delete = true;
    f->has_prune |= out->variant == ACTION_PRUNE;
    /* These two leave the printing to others. */
    f->has_action |= out->variant != ACTION_PRUNE && out->variant != ACTION_QUIT;
    return true;
}

static bool parse_printf(struct find_parser *p, const char *name, struct find_expr *out)
{
    const char *arg = argument(p, name);
    p->f->has_action = true;
    return arg && find_format_parse(p->f, arg, &out->format);
}

static bool parse_exec(struct find_parser *p, const char *name, struct find_expr *out)
{
    p->f->has_action = true;
    bool ok = find_exec_parse(p, name, &out->exec);
    if (ok && p->argv[p->next - 1][0] == '+')
        out->eval = find_exec_many;
    return ok;
}

static const struct primary primaries[] = {
    { "-amin", parse_age, find_age, TIME_ACCESS },
    { "-anewer", parse_newer, find_newer, 'a' },
    { "-atime", parse_age, find_age, TIME_ACCESS | AGE_DAYS },
    { "-cmin", parse_age, find_age, TIME_CHANGE },
    { "-cnewer", parse_newer, find_newer, 'c' },
    { "-ctime", parse_age, find_age, TIME_CHANGE | AGE_DAYS },
    { "-d", parse_option, find_true, OPTION_DEPTH },
    { "-daystart", parse_option, find_true, OPTION_DAY_START },
    { "-delete", parse_action, find_delete, ACTION_DELETE },
    { "-depth", parse_option, find_true, OPTION_DEPTH },
    { "-empty", parse_nothing, find_empty, 0 },
    { "-exec", parse_exec, find_exec_one, 0 },
    { "-execdir", parse_exec, find_exec_one, 0 },
    { "-executable", parse_nothing, find_access, X_OK },
    { "-false", parse_nothing, find_false, 0 },
    { "-follow", parse_option, find_true, OPTION_FOLLOW },
    { "-gid", parse_number, find_number, 'g' },
    { "-group", parse_owner, find_owner, OWNER_GROUP },
    { "-ignore_readdir_race", parse_option, find_true, OPTION_NOTHING },
    { "-ilname", parse_pattern, find_link_name, PATTERN_FOLDED },
    { "-iname", parse_pattern, find_name, PATTERN_FOLDED },
    { "-inum", parse_number, find_number, 'i' },
    { "-ipath", parse_pattern, find_path, PATTERN_FOLDED },
    { "-iregex", parse_regex, find_regex, PATTERN_FOLDED },
    { "-iwholename", parse_pattern, find_path, PATTERN_FOLDED },
    { "-links", parse_number, find_number, 'l' },
    { "-lname", parse_pattern, find_link_name, PATTERN_EXACT },
    { "-ls", parse_action, find_ls, ACTION_PLAIN },
    { "-maxdepth", parse_depth, find_true, 0 },
    { "-mindepth", parse_depth, find_true, 1 },
    { "-mmin", parse_age, find_age, TIME_MODIFY },
    { "-mount", parse_option, find_true, OPTION_DEVICE },
    { "-mtime", parse_age, find_age, TIME_MODIFY | AGE_DAYS },
    { "-name", parse_pattern, find_name, PATTERN_EXACT },
    { "-newer", parse_newer, find_newer, 'm' },
    { "-noignore_readdir_race", parse_option, find_true, OPTION_NOTHING },
    { "-noleaf", parse_option, find_true, OPTION_NOTHING },
    { "-nowarn", parse_option, find_true, OPTION_NOTHING },
    { "-path", parse_pattern, find_path, PATTERN_EXACT },
    { "-perm", parse_perm, find_perm_test, 0 },
    { "-print", parse_action, find_print, ACTION_PLAIN },
    { "-print0", parse_action, find_print0, ACTION_PLAIN },
    { "-printf", parse_printf, find_printf, 0 },
    { "-prune", parse_action, find_prune, ACTION_PRUNE },
    { "-quit", parse_action, find_quit, ACTION_QUIT },
    { "-readable", parse_nothing, find_access, R_OK },
    { "-regex", parse_regex, find_regex, PATTERN_EXACT },
    { "-regextype", parse_regex_type, find_true, 0 },
    { "-samefile", parse_same_file, find_same_file, 0 },
    { "-size", parse_size, find_size, 0 },
    { "-true", parse_nothing, find_true, 0 },
    { "-type", parse_type, find_type, 0 },
    { "-uid", parse_number, find_number, 'u' },
    { "-user", parse_owner, find_owner, OWNER_USER },
    { "-warn", parse_option, find_true, OPTION_NOTHING },
    { "-wholename", parse_pattern, find_path, PATTERN_EXACT },
    { "-writable", parse_nothing, find_access, W_OK },
    { "-xdev", parse_option, find_true, OPTION_DEVICE },
    { "-xtype", parse_type, find_target_type, 0 },
};

static int compare_primary(const void *name, const void *entry)
{
    return strcmp(name, ((const struct primary *)entry)->name);
}

static bool unknown(struct find_parser *p, const char *name)
{
    auto_buf text = BUF(8192);
    for (size_t i = 0; i < ARRAY_LEN(primaries); i++)
        buf_addf(&text, " %s", primaries[i].name);
    cmd_err(p->f->c, "unknown predicate `%s' (supported:%s -newerXY)", name, text.data);
    return false;
}

bool find_parse_primary(struct find_parser *p, const char *name, struct find_expr *out)
{
    const struct primary *found = bsearch(
            name, primaries, ARRAY_LEN(primaries), sizeof(primaries[0]), compare_primary);
    if (!found && !strncmp(name, "-newer", 6) && strlen(name) == 8) {
        out->eval = find_newer;
        return parse_newer_letters(p, name, name[6], name[7], out);
    }
    if (!found)
        return unknown(p, name);
    out->eval = found->eval;
    out->variant = found->variant;
    return found->parse(p, name, out);
}
