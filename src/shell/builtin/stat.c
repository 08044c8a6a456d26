#include "base/datetime.h"
#include "shell/builtin/escape.h"
#include "shell/builtin/files.h"
#include "shell/builtin/quote.h"
#include "shell/builtin/users.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define IO_BLOCK 4096 /* backends do not tell */

enum { OPT_PRINTF = 256 };

static const struct cmd_opt options[] = {
    { 'L', "dereference", ARG_NONE, NULL, "follow links" },
    { 'c', "format", ARG_REQUIRED, "FORMAT",
            "print FORMAT and a newline: %n name, %s size, %a mode, %y time, ..." },
    { OPT_PRINTF, "printf", ARG_REQUIRED, "FORMAT",
            "the same with escapes, without the newline" },
    { 't', "terse", ARG_NONE, NULL, "everything in one line" },
    { 0 },
};

struct stat_cmd {
    struct cmd *c;
    bool follow, escapes, newline;
    const char *format; /* NULL: the usual lines */
};

struct spec { /* %[flags][width][.precision]letter */
    char flags[8];
    int width, precision; /* -1: not given */
    char letter;
};

static uint32_t raw_mode(const struct vfs_stat *st)
{
    static const uint32_t types[] = { [VFS_FILE] = S_IFREG,
        [VFS_DIR] = S_IFDIR,
        [VFS_LINK] = S_IFLNK,
        [VFS_FIFO] = S_IFIFO,
        [VFS_SOCKET] = S_IFSOCK,
        [VFS_CHAR] = S_IFCHR,
        [VFS_BLOCK] = S_IFBLK,
        [VFS_UNKNOWN] = 0 };
    return types[st->type] | st->mode;
}

static bool number_of(char letter, const struct vfs_stat *st, uint64_t *out)
{
    switch (letter) {
    case 'b':
        *out = st->blocks;
        return true;
    case 'B':
        *out = 512;
        return true;
    case 'd':
        *out = st->dev;
        return true;
    case 'g':
        *out = st->gid;
        return true;
    case 'h':
        *out = st->nlink;
        return true;
    case 'i':
        *out = st->ino;
        return true;
    case 'o':
        *out = IO_BLOCK;
        return true;
    case 's':
        *out = st->size;
        return true;
    case 'u':
        *out = st->uid;
        return true;
    case 't':
    case 'T':
    case 'r':
    case 'W':
        *out = 0;
        return true;
    default:
        return false;
    }
}

static bool time_of(char letter, const struct vfs_stat *st, int64_t *ns)
{
    char lower = (char)(letter | 0x20);
    *ns = lower == 'x' ? st->atime_ns : lower == 'y' ? st->mtime_ns : st->ctime_ns;
    return lower == 'x' || lower == 'y' || lower == 'z';
}

static void add_time(const struct spec *spec, int64_t ns, struct buf *out)
{
    struct datetime t = datetime_from_ns(ns);
    if (spec->letter >= 'a') {
        datetime_format(STR("%Y-%m-%d %H:%M:%S.%N %z"), t, false, out);
        return;
    }
    buf_addf(out, "%lld", (long long)t.seconds);
    if (spec->precision == -1)
        return;
    char digits[16];
    snprintf(digits, sizeof(digits), "%09d", t.ns);
    int len = spec->precision < 9 ? spec->precision : 9;
    buf_addf(out, "%s%.*s", len ? "." : "", len, digits);
}

static void add_quoted_name(
        struct stat_cmd *s, const char *name, const struct vfs_stat *st, struct buf *out)
{
    struct str target;
    buf_add(out, str_of(quote(s->c, name)));
    if (st->type == VFS_LINK && !file_readlink(s->c, name, &target))
        buf_addf(out, " -> %s", quote(s->c, target.data));
}

static void add_owner(const char *name, struct buf *out)
{
    buf_add(out, str_of(name ? name : "UNKNOWN"));
}

/* The text of a letter that is no number; false: there is no such letter. */
static bool add_text(struct stat_cmd *s, const struct spec *spec, const char *name,
        const struct vfs_stat *st, struct buf *out)
{
    char mode[11];
    int64_t ns;
    switch (spec->letter) {
    case 'A':
        mode_text(st->type, st->mode, mode);
        buf_add(out, str_of(mode));
        return true;
    case 'F':
        buf_add(out, str_of(file_type_name(st)));
        return true;
    case 'G':
        add_owner(group_name(s->c, st->gid), out);
        return true;
    case 'U':
        add_owner(user_name(s->c, st->uid), out);
        return true;
    case 'm':
        buf_addc(out, '/');
        return true;
    case 'n':
        buf_add(out, str_of(name));
        return true;
    case 'N':
        add_quoted_name(s, name, st, out);
        return true;
    case 'w':
        buf_addc(out, '-');
        return true;
    case 'C':
        buf_addc(out, '?');
        return true;
    default:
        if (!time_of(spec->letter, st, &ns))
            return false;
        add_time(spec, ns, out);
        return true;
    }
}

static void add_padded(
        const struct spec *spec, struct str text, bool number, struct buf *out)
{
    bool left = strchr(spec->flags, '-'), zero = number && strchr(spec->flags, '0');
    size_t width = spec->width > 0 ? (size_t)spec->width : 0;
    size_t pad = width > text.len ? width - text.len : 0;
    for (size_t i = 0; !left && i < pad; i++)
        buf_addc(out, zero ? '0' : ' ');
    buf_add(out, text);
    for (size_t i = 0; left && i < pad; i++)
        buf_addc(out, ' ');
}

static void add_spec(struct stat_cmd *s, const struct spec *spec, const char *name,
        const struct vfs_stat *st, struct buf *out)
{
    auto_buf text = BUF(65536);
    uint64_t n;
    bool number = true, prefix = strchr(spec->flags, '#');
    if (spec->letter == 'a')
        buf_addf(&text, prefix && st->mode ? "0%o" : "%o", st->mode);
    else if (spec->letter == 'f' || spec->letter == 'D')
        buf_addf(&text, prefix ? "0x%llx" : "%llx",
                (unsigned long long)(spec->letter == 'f' ? raw_mode(st) : st->dev));
    else if (number_of(spec->letter, st, &n))
        buf_addf(&text, "%llu", (unsigned long long)n);
    else if (add_text(s, spec, name, st, &text))
        number = spec->letter >= 'X' && spec->letter <= 'Z';
    else
        buf_addc(&text, '?');
    struct str value = buf_str(&text);
    if (!number && spec->precision >= 0)
        value = str_sub(value, 0, (size_t)spec->precision);
    add_padded(spec, value, number, out);
}

static int read_int(struct str s, size_t *i)
{
    int n = 0;
    for (; *i < s.len && s.data[*i] >= '0' && s.data[*i] <= '9'; ++*i)
        if (n < 100000)
            n = n * 10 + (s.data[*i] - '0');
    return n;
}

/* The part of a spec after '%'; returns its length, 0: there is none. */
static size_t read_spec(struct str s, struct spec *out)
{
    *out = (struct spec){ .width = -1, .precision = -1 };
    size_t i = 0, flags = 0;
    for (; i < s.len && strchr("-+ #0'", s.data[i]); i++)
        if (flags + 1 < sizeof(out->flags))
            out->flags[flags++] = s.data[i];
    if (i < s.len && s.data[i] >= '1' && s.data[i] <= '9')
        out->width = read_int(s, &i);
    if (i < s.len && s.data[i] == '.') {
        i++;
        bool given = i < s.len && s.data[i] >= '0' && s.data[i] <= '9';
        out->precision = given ? read_int(s, &i) : 9;
    }
    if (i >= s.len)
        return 0;
    out->letter = s.data[i];
    return i + 1;
}

static void add_format(struct stat_cmd *s, struct str format, const char *name,
        const struct vfs_stat *st, struct buf *out)
{
    for (size_t i = 0; i < format.len; i++) {
        struct spec spec;
        char ch = format.data[i];
        struct str rest = str_from(format, i + 1);
        size_t used = 0;
        if (ch == '\\' && s->escapes) {
            if ((used = escape_read(rest, &ch)))
                buf_addc(out, ch);
            else
                buf_addc(out, '\\');
        } else if (ch == '%' && (used = read_spec(rest, &spec))) {
            if (spec.letter == '%')
                buf_addc(out, '%');
            else
                add_spec(s, &spec, name, st, out);
        } else {
            buf_addc(out, ch);
        }
        i += used;
    }
}

static void add_usual(
        struct stat_cmd *s, const char *name, const struct vfs_stat *st, struct buf *out)
{
    struct str target;
    buf_addf(out, "  File: %s", name);
    if (st->type == VFS_LINK && !file_readlink(s->c, name, &target))
        buf_addf(out, " -> %.*s", STR_ARG(target));
    add_format(
            s, STR("\n  Size: %-10s\tBlocks: %-10b IO Block: %-6o %F\n"), name, st, out);
    buf_addf(out, "Device: %u,%u\t", major(st->dev), minor(st->dev));
    add_format(s,
            STR("Inode: %-10i  Links: %h\n"
                "Access: (%04a/%10A)  Uid: (%5u/%8U)   Gid: (%5g/%8G)\n"
                "Access: %x\nModify: %y\nChange: %z\n Birth: %w\n"),
            name, st, out);
}

static bool show(struct stat_cmd *s, const char *name)
{
    struct vfs_stat st;
    int errnum;
    struct vfile *in = !strcmp(name, "-") ? stream_vfile(s->c->in) : NULL;
    if (in)
        errnum = vfile_stat(in, &st);
    else
        errnum = file_stat(s->c, name, s->follow ? VFS_FOLLOW : VFS_NOFOLLOW, &st);
    if (errnum) {
        cmd_err(s->c, "cannot statx %s: %s", quote(s->c, name), errno_text(errnum));
        return false;
    }
    auto_buf out = BUF(1 << 20);
    if (s->format)
        add_format(s, str_of(s->format), name, &st, &out);
    else
        add_usual(s, name, &st, &out);
    if (s->newline)
        buf_addc(&out, '\n');
    return cmd_put(s->c, buf_str(&out));
}

static int cmd_stat(struct cmd *c)
{
    struct stat_cmd s = { .c = c };
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (k == CMD_BAD)
            return 1;
        s.follow |= k == 'L';
        if (k == 'L')
            continue;
        s.format = k == 't' ? "%n %s %b %f %u %g %D %i %h %t %T %X %Y %Z %W %o" : o.value;
        s.newline = k != OPT_PRINTF;
        s.escapes = k == OPT_PRINTF;
    }
    if (!c->argc)
        return missing_operand(c);
    int status = 0;
    for (int i = 0; i < c->argc && !c->out_failed && cmd_tick(c); i++)
        if (!show(&s, c->argv[i]))
            status = 1;
    return status;
}

const struct command command_stat = {
    "stat",
    cmd_stat,
    options,
    "[OPTION]... FILE...",
    "Show what is known about files.",
    0,
};
