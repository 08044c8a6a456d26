/* What find prints: paths, -printf formats, -ls. */
#include "base/utf8.h"
#include "shell/builtin/escape.h"
#include "shell/builtin/files.h"
#include "shell/builtin/find.h"
#include "shell/builtin/users.h"

#include <ctype.h>
#include <errno.h>

#define MAX_WIDTH 4096
#define HALF_YEAR (31556952 / 2) /* seconds */

bool find_print(struct find *f, const struct find_expr *e, struct find_file *file)
{
    (void)e;
    return cmd_put(f->c, str_of(file->path)) && cmd_putc(f->c, '\n');
}

bool find_print0(struct find *f, const struct find_expr *e, struct find_file *file)
{
    (void)e;
    return cmd_put(f->c, str_of(file->path)) && cmd_putc(f->c, 0);
}

struct piece {
    struct str literal; /* before the directive */
    char directive;     /* 0: none; 'T': a time, whose letter follows */
    enum find_time time;
    char time_letter;
    bool left, zeros, alternate;
    int width, precision; /* -1: not given */
};

struct find_format {
    struct piece *pieces;
    size_t count, cap;
    bool stop; /* \c: nothing after it */
};

#define DIRECTIVES "abcdDfFgGhHiklmMnpPsStuUyY"

static void warn(struct find *f, const char *what, const char *text, size_t len)
{
    cmd_err(f->c, "warning: %s `%.*s'", what, (int)len, text);
}

/* Flags, width and precision at `t`; where they end. */
static const char *read_flags(const char *t, struct piece *piece)
{
    for (; *t && strchr("-0+ #", *t); t++) {
        piece->left |= *t == '-';
        piece->zeros |= *t == '0';
        piece->alternate |= *t == '#';
    }
    for (; isdigit((unsigned char)*t); t++)
        if (piece->width < MAX_WIDTH)
            piece->width = piece->width * 10 + (*t - '0');
    if (*t != '.')
        return t;
    piece->precision = 0;
    while (isdigit((unsigned char)*++t))
        if (piece->precision < MAX_WIDTH)
            piece->precision = piece->precision * 10 + (*t - '0');
    return t;
}

static bool read_time(const char *t, struct piece *piece)
{
    bool is_time = *t && strchr("ACT", *t) && t[1];
    if (is_time) {
        piece->time = *t == 'A' ? TIME_ACCESS : *t == 'C' ? TIME_CHANGE : TIME_MODIFY;
        piece->time_letter = t[1];
        piece->directive = 'T';
    }
    return is_time;
}

/* A directive at `t`, which is after the %; how long it is, 0: none, with a warning. */
static size_t read_directive(struct find *f, const char *t, struct piece *piece)
{
    const char *letter = read_flags(t, piece);
    size_t len = (size_t)(letter - t) + 1;
    if (read_time(letter, piece))
        return len + 1;
    if (*letter && strchr(DIRECTIVES, *letter)) {
        piece->directive = *letter;
        return len;
    }
    if (*letter && strchr("ACT", *letter))
        cmd_err(f->c,
                "warning: format directive `%%%c' should be followed by another "
                "character",
                *letter);
    else
        warn(f, "unrecognized format directive", t - 1, len + (*letter != 0));
    return 0;
}

static void add_piece(struct find *f, struct find_format *format, struct piece piece,
        struct buf *literal)
{
    piece.literal = arena_str(f->c->arena, buf_str(literal));
    buf_clear(literal);
    if (format->count == format->cap) {
        size_t cap = format->cap ? format->cap * 2 : 8;
        struct piece *more = arena_alloc(f->c->arena, cap * sizeof(*more));
        if (format->count)
            memcpy(more, format->pieces, format->count * sizeof(*more));
        format->pieces = more;
        format->cap = cap;
    }
    format->pieces[format->count++] = piece;
}

/* At a backslash; how much was read. */
static size_t read_escape(struct find *f, const char *t, struct buf *literal)
{
    char c;
    size_t len = t[1] == '"' || t[1] == 'x' ? 0 : escape_read(str_of(t + 1), &c);
    if (len) {
        buf_addc(literal, c);
        return len + 1;
    }
    if (t[1])
        warn(f, "unrecognized escape", t, 2);
    buf_add(literal, (struct str){ t, t[1] ? 2 : 1 });
    return t[1] ? 2 : 1;
}

bool find_format_parse(struct find *f, const char *text, struct find_format **out)
{
    struct find_format *format = arena_zalloc(f->c->arena, sizeof(*format));
    auto_buf literal = BUF((size_t)1 << 20);
    const char *t = text;
    while (*t && !format->stop) {
        struct piece piece = { .precision = -1 };
        size_t len;
        if (*t == '\\') {
            format->stop = t[1] == 'c';
            t += format->stop ? 2 : read_escape(f, t, &literal);
        } else if (*t != '%') {
            buf_addc(&literal, *t++);
        } else if (t[1] == '%') {
            buf_addc(&literal, '%');
            t += 2;
        } else if (!t[1]) {
            cmd_err(f->c, "error: %% at end of format string");
            return false;
        } else if ((len = read_directive(f, t + 1, &piece))) {
            add_piece(f, format, piece, &literal);
            t += 1 + len;
        } else
            buf_addc(&literal, *t++);
    }
    struct piece end = { .precision = -1 };
    add_piece(f, format, end, &literal);
    *out = format;
    return true;
}

static void add_time(int64_t ns, char letter, struct buf *out)
{
    static const struct {
        char letter;
        const char *before, *after; /* around the fraction */
    } with_fraction[] = {
        { '@', "%s", "" }, { '+', "%Y-%m-%d+%H:%M:%S", "" }, { 'S', "%S", "" },
        { 'T', "%H:%M:%S", "" }, { 'X', "%H:%M:%S", "" },
        { 't', "%a %b %e %H:%M:%S", " %Y" }, /* %t, %a and %c */
    };
    struct datetime t = datetime_from_ns(ns);
    for (size_t i = 0; i < ARRAY_LEN(with_fraction); i++)
        if (with_fraction[i].letter == letter) {
            datetime_format(str_of(with_fraction[i].before), t, false, out);
            buf_addf(out, ".%09d0", (int)t.ns);
            datetime_format(str_of(with_fraction[i].after), t, false, out);
            return;
        }
    char format[] = { '%', letter, 0 };
    if (strchr("aAbBcCdDeFgGhHIjklmMnprRsuUVwWxyYzZ", letter))
        datetime_format(str_of(letter == 'x' ? "%m/%d/%y" : format), t, false, out);
    else
        buf_add(out, str_of(format));
}

static struct str directory_of(const struct find_file *file)
{
    struct str path = str_of(file->path);
    const char *slash = memrchr(path.data, '/', path.len);
    return slash ? str_sub(path, 0, (size_t)(slash - path.data)) : STR(".");
}

static struct str below_operand(const struct find_file *file)
{
    struct str rest = str_from(str_of(file->path), file->root_len);
    return str_starts(rest, STR("/")) ? str_from(rest, 1) : rest;
}

static void add_link(struct find *f, const struct find_file *file, struct buf *out)
{
    struct str target;
    struct arena_mark mark = arena_mark(f->c->arena);
    if (file->type == VFS_LINK && !file_readlink(f->c, file->path, &target))
        buf_add(out, target);
    arena_rewind(f->c->arena, mark);
}

/* %Y: the type where a link leads; N: nowhere, L: in a circle, ?: it cannot be told. */
static char target_type(struct find *f, const struct find_file *file)
{
    struct vfs_stat st;
    if (file->type != VFS_LINK)
        return find_type_letter(file->type);
    int errnum = file_stat(f->c, file->path, VFS_FOLLOW, &st);
    if (!errnum)
        return find_type_letter(st.type);
    return errnum == ENOENT || errnum == ENOTDIR ? 'N' : errnum == ELOOP ? 'L' : '?';
}

static void add_name_part(struct find *f, const struct piece *p,
        const struct find_file *file, struct buf *out)
{
    switch (p->directive) {
    case 'p':
        buf_add(out, str_of(file->path));
        break;
    case 'f':
        buf_add(out, str_of(file->name.data)); /* with slashes after it */
        break;
    case 'h':
        buf_add(out, directory_of(file));
        break;
    case 'P':
        buf_add(out, below_operand(file));
        break;
    case 'H':
        buf_add(out, (struct str){ file->path, file->root_len });
        break;
    case 'l':
        add_link(f, file, out);
        break;
    case 'd':
        buf_addf(out, "%zu", file->depth);
        break;
    case 'y':
        buf_addc(out, find_type_letter(file->type));
        break;
    case 'Y':
        buf_addc(out, target_type(f, file));
        break;
    default: /* F */
        buf_add(out, STR("unknown"));
        break;
    }
}

static void add_owner(const char *name, uint32_t id, struct buf *out)
{
    if (name)
        buf_add(out, str_of(name));
    else
        buf_addf(out, "%u", id);
}

static void add_number(uint64_t n, struct buf *out)
{
    buf_addf(out, "%llu", (unsigned long long)n);
}

static void add_stat_part(
        struct find *f, const struct piece *p, const struct vfs_stat *st, struct buf *out)
{
    char mode[11];
    switch (p->directive) {
    case 's':
        add_number(st->size, out);
        break;
    case 'b':
    case 'k':
        add_number(p->directive == 'b' ? st->blocks : (st->blocks + 1) / 2, out);
        break;
    case 'S':
        buf_addf(out, "%g",
                st->size ? 512.0 * (double)st->blocks / (double)st->size : 1.0);
        break;
    case 'm':
        buf_addf(out, p->alternate ? "0%o" : "%o", st->mode & 07777);
        break;
    case 'M':
        mode_text(st->type, st->mode, mode);
        buf_add(out, str_of(mode));
        break;
    case 'n':
        add_number(st->nlink, out);
        break;
    case 'i':
    case 'D':
        add_number(p->directive == 'i' ? st->ino : st->dev, out);
        break;
    case 'u':
        add_owner(user_name(f->c, st->uid), st->uid, out);
        break;
    case 'g':
        add_owner(group_name(f->c, st->gid), st->gid, out);
        break;
    case 'U':
    case 'G':
        add_number(p->directive == 'U' ? st->uid : st->gid, out);
        break;
    case 'a':
    case 'c':
    case 't':
        add_time(find_time_of(st, p->directive == 'a'   ? TIME_ACCESS
                                  : p->directive == 'c' ? TIME_CHANGE
                                                        : TIME_MODIFY),
                't', out);
        break;
    default: /* T */
        add_time(find_time_of(st, p->time), p->time_letter, out);
        break;
    }
}

static void add_padded(const struct piece *p, struct str text, struct buf *out)
{
    bool zeros = p->zeros && !p->left && (p->directive == 'd' || p->directive == 'm');
    if (p->precision >= 0 && (size_t)p->precision < text.len)
        text.len = (size_t)p->precision;
    size_t width = (size_t)p->width, pad = width > text.len ? width - text.len : 0;
    for (size_t i = 0; !p->left && i < pad; i++)
        buf_addc(out, zeros ? '0' : ' ');
    buf_add(out, text);
    for (size_t i = 0; p->left && i < pad; i++)
        buf_addc(out, ' ');
}

static bool add_directive(
        struct find *f, const struct piece *p, struct find_file *file, struct buf *out)
{
    auto_buf text = BUF(65536);
    if (strchr("pfhPHldyYF", p->directive))
        add_name_part(f, p, file, &text);
    else if (find_stat(f, file))
        add_stat_part(f, p, &file->st, &text);
    else
        return false;
    add_padded(p, buf_str(&text), out);
    return true;
}

bool find_printf(struct find *f, const struct find_expr *e, struct find_file *file)
{
    auto_buf line = BUF((size_t)16 << 20);
    for (size_t i = 0; i < e->format->count; i++) {
        const struct piece *p = &e->format->pieces[i];
        buf_add(&line, p->literal);
        if (p->directive && !add_directive(f, p, file, &line))
            break;
    }
    return cmd_put(f->c, buf_str(&line));
}

/* Names as -ls shows them: blanks and what cannot be printed as escapes. */
static void add_escaped(struct str name, struct buf *out)
{
    static const char letters[] = "abtnvfr"; /* of 7 to 13 */
    for (size_t i = 0; i < name.len;) {
        uint32_t code;
        struct str rest = str_from(name, i);
        size_t len = utf8_decode(rest, &code);
        unsigned char c = (unsigned char)name.data[i];
        if (c >= 7 && c <= 13)
            buf_addf(out, "\\%c", letters[c - 7]);
        else if (c == ' ' || c == '\\' || c == '"')
            buf_addf(out, "\\%c", c);
        else if (len && code >= ' ' && code != 127)
            buf_add(out, str_sub(rest, 0, len));
        else
            buf_addf(out, "\\%03o", c);
        i += len ? len : 1;
    }
}

static void add_owner_column(const char *name, uint32_t id, struct buf *out)
{
    if (name)
        buf_addf(out, " %-8s", name);
    else
        buf_addf(out, " %-8u", id);
}

bool find_ls(struct find *f, const struct find_expr *e, struct find_file *file)
{
    (void)e;
    auto_buf line = BUF(262144);
    auto_buf target = BUF(65536);
    char mode[11];
    if (!find_stat(f, file))
        return true;
    const struct vfs_stat *st = &file->st;
    mode_text(st->type, st->mode, mode);
    buf_addf(&line, "%9llu %6llu %s %3llu", (unsigned long long)st->ino,
            (unsigned long long)((st->blocks + 1) / 2), mode,
            (unsigned long long)st->nlink);
    add_owner_column(user_name(f->c, st->uid), st->uid, &line);
    add_owner_column(group_name(f->c, st->gid), st->gid, &line);
    buf_addf(&line, " %8llu ", (unsigned long long)st->size);
    struct datetime t = datetime_from_ns(st->mtime_ns);
    int64_t age = f->now.seconds - t.seconds;
    bool recent = age < HALF_YEAR && age > -3600;
    datetime_format(recent ? STR("%b %e %H:%M ") : STR("%b %e  %Y "), t, false, &line);
    add_escaped(str_of(file->path), &line);
    add_link(f, file, &target);
    if (target.len) {
        buf_add(&line, STR(" -> "));
        add_escaped(buf_str(&target), &line);
    }
    buf_addc(&line, '\n');
    return cmd_put(f->c, buf_str(&line));
}
