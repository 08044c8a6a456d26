#include "base/utf8.h"
#include "shell/builtin/ls.h"
#include "shell/builtin/number.h"
#include "shell/builtin/quote.h"
#include "shell/builtin/width.h"

#include <stdio.h>

char ls_mark_of(const struct ls *ls, enum vfs_type type, uint32_t mode)
{
    if (type == VFS_DIR)
        return ls->marks >= LS_MARK_DIRS ? '/' : 0;
    if (ls->marks < LS_MARK_TYPES)
        return 0;
    switch (type) {
    case VFS_LINK:
        return '@';
    case VFS_FIFO:
        return '|';
    case VFS_SOCKET:
        return '=';
    case VFS_FILE:
        return ls->marks == LS_MARK_ALL && (mode & 0111) ? '*' : 0;
    case VFS_DIR:
    case VFS_CHAR:
    case VFS_BLOCK:
    case VFS_UNKNOWN:
        break;
    }
    return 0;
}

static void add_c_escape(unsigned char byte, bool quotes, struct buf *out)
{
    static const char names[] = "abtnvfr"; /* 7..13 */
    if (byte >= 7 && byte <= 13)
        buf_addf(out, "\\%c", names[byte - 7]);
    else if (byte == '\\' || (byte == '"' && quotes) || (byte == ' ' && !quotes))
        buf_addf(out, "\\%c", byte);
    else
        buf_addf(out, "\\%03o", byte);
}

/* Characters as they are, or escaped as C does, or as '?'. */
static void add_escaped(enum ls_quotes how, struct str name, struct buf *out)
{
    for (size_t i = 0, len; i < name.len; i += len) {
        uint32_t code;
        len = utf8_decode(str_from(name, i), &code);
        bool printable = len && char_width(code) >= 0;
        bool special = code == '\\' || (how == LS_C_QUOTES ? code == '"' : code == ' ');
        len = len ? len : 1;
        if (how == LS_QUESTION) {
            buf_add(out, printable ? str_sub(name, i, len) : STR("?"));
            continue;
        }
        if (printable && !(special && len == 1))
            buf_add(out, str_sub(name, i, len));
        else
            for (size_t k = 0; k < len; k++)
                add_c_escape((unsigned char)name.data[i + k], how == LS_C_QUOTES, out);
    }
}

void ls_add_quoted(const struct ls *ls, struct str name, struct buf *out)
{
    switch (ls->quotes) {
    case LS_LITERAL:
        buf_add(out, name);
        break;
    case LS_C_QUOTES:
        buf_addc(out, '"');
        add_escaped(ls->quotes, name, out);
        buf_addc(out, '"');
        break;
    case LS_QUESTION:
    case LS_ESCAPE:
        add_escaped(ls->quotes, name, out);
        break;
    case LS_SHELL_QUOTES:
        quote_add(name, out);
        break;
    }
}

void ls_add_name(const struct ls *ls, const struct ls_file *f, struct buf *out)
{
    ls_add_quoted(ls, f->name, out);
    char mark = ls_mark_of(ls, f->st.type, f->st.mode);
    if (mark)
        buf_addc(out, mark);
}

const char *ls_size_text(const struct ls *ls, uint64_t bytes, bool blocks, char out[24])
{
    if (ls->human || ls->si)
        number_human(bytes, ls->si ? 1000 : 1024, out);
    else
        snprintf(out, 24, "%llu",
                (unsigned long long)(blocks ? (bytes + 1023) / 1024 : bytes));
    return out;
}

static int decimal_width(uint64_t n)
{
    int width = 1;
    for (; n >= 10; n /= 10)
        width++;
    return width;
}

struct ls_widths ls_measure(
        const struct ls *ls, const struct ls_file *files, size_t count)
{
    struct ls_widths w = { 0 };
    char text[24];
    for (size_t i = 0; i < count; i++) {
        int inode = decimal_width(files[i].st.ino);
        int blocks = (int)strlen(ls_size_text(ls, files[i].st.blocks * 512, true, text));
        w.inode = inode > w.inode ? inode : w.inode;
        w.blocks = blocks > w.blocks ? blocks : w.blocks;
    }
    return w;
}

void ls_add_numbers(
        const struct ls *ls, const struct ls_file *f, struct ls_widths w, struct buf *out)
{
    char text[24];
    if (ls->inode && f->has_stat)
        buf_addf(out, "%*llu ", w.inode, (unsigned long long)f->st.ino);
    else if (ls->inode)
        buf_addf(out, "%*s ", w.inode, "?");
    if (ls->blocks)
        buf_addf(out, "%*s ", w.blocks,
                f->has_stat ? ls_size_text(ls, f->st.blocks * 512, true, text) : "?");
}

bool ls_print_total(struct ls *ls, const struct ls_file *files, size_t count)
{
    uint64_t blocks = 0;
    char text[24];
    for (size_t i = 0; i < count; i++)
        blocks += files[i].st.blocks;
    return cmd_printf(
            ls->c, "total %s%c", ls_size_text(ls, blocks * 512, true, text), ls->end);
}

static struct str whole_name(
        const struct ls *ls, const struct ls_file *f, struct ls_widths w, struct buf *out)
{
    buf_clear(out);
    ls_add_numbers(ls, f, w, out);
    ls_add_name(ls, f, out);
    return buf_str(out);
}

static bool print_lines(struct ls *ls, const struct ls_file *files, size_t count)
{
    struct ls_widths w = ls_measure(ls, files, count);
    auto_buf line = BUF(65536);
    for (size_t i = 0; i < count; i++) {
        whole_name(ls, &files[i], w, &line);
        buf_addc(&line, ls->end);
        if (!cmd_tick(ls->c) || !cmd_put(ls->c, buf_str(&line)))
            return false;
    }
    return true;
}

static bool print_commas(struct ls *ls, const struct ls_file *files, size_t count)
{
    auto_buf name = BUF(65536);
    size_t column = 0;
    for (size_t i = 0; i < count && cmd_tick(ls->c); i++) {
        struct str text = whole_name(ls, &files[i], (struct ls_widths){ 0 }, &name);
        size_t width = text_width(text);
        if (i && column + 2 + width >= ls->width && ls->width) {
            if (!cmd_put(ls->c, STR(",\n")))
                return false;
            column = 0;
        } else if (i) {
            if (!cmd_put(ls->c, STR(", ")))
                return false;
            column += 2;
        }
        if (!cmd_put(ls->c, text))
            return false;
        column += width;
    }
    return !count || cmd_putc(ls->c, ls->end);
}

struct grid {
    size_t rows, columns;
    size_t *column_widths;
};

/* Does a grid of so many columns fit?  Fills the widths of the columns. */
static bool fits(const struct ls *ls, const size_t *widths, size_t count, struct grid *g)
{
    size_t total = 0;
    memset(g->column_widths, 0, g->columns * sizeof(size_t));
    for (size_t i = 0; i < count; i++) {
        size_t column = ls->layout == LS_DOWN ? i / g->rows : i % g->columns;
        size_t width = widths[i] + (column + 1 < g->columns ? 2 : 0);
        if (width <= g->column_widths[column])
            continue;
        total += width - g->column_widths[column];
        g->column_widths[column] = width;
        if (total >= ls->width)
            return false;
    }
    return true;
}

static void choose_grid(
        const struct ls *ls, const size_t *widths, size_t count, struct grid *g)
{
    size_t most = (ls->width + 2) / 3; /* the narrowest column has three */
    for (g->columns = count < most ? count : most; g->columns > 1; g->columns--) {
        g->rows = (count + g->columns - 1) / g->columns;
        if (fits(ls, widths, count, g))
            return;
    }
    g->rows = count;
    g->columns = 1;
    g->column_widths[0] = 0;
}

/* Blanks from one column to another: tabs where they reach. */
static void add_indent(size_t from, size_t to, struct buf *out)
{
    while (from < to) {
        bool tab = to / 8 > (from + 1) / 8;
        buf_addc(out, tab ? '\t' : ' ');
        from = tab ? from + 8 - from % 8 : from + 1;
    }
}

static bool print_row(struct ls *ls, const struct ls_file *files, const size_t *widths,
        size_t count, const struct grid *g, size_t row, struct ls_widths w)
{
    auto_buf line = BUF(1 << 20), name = BUF(65536);
    size_t column_start = 0, at = 0;
    for (size_t column = 0; column < g->columns; column++) {
        size_t i = ls->layout == LS_DOWN ? column * g->rows + row
                                         : row * g->columns + column;
        if (i >= count)
            break;
        add_indent(at, column_start, &line);
        buf_add(&line, whole_name(ls, &files[i], w, &name));
        at = column_start + widths[i];
        column_start += g->column_widths[column];
    }
    buf_addc(&line, ls->end);
    return cmd_put(ls->c, buf_str(&line));
}

static bool print_grid(struct ls *ls, const struct ls_file *files, size_t count)
{
    struct ls_widths w = ls_measure(ls, files, count);
    size_t *widths = xmalloc((count + 1) * sizeof(*widths));
    struct grid g = { .column_widths = xcalloc(count + 1, sizeof(size_t)) };
    auto_buf name = BUF(65536);
    for (size_t i = 0; i < count; i++)
        widths[i] = text_width(whole_name(ls, &files[i], w, &name));
    bool ok = true;
    if (count)
        choose_grid(ls, widths, count, &g);
    for (size_t row = 0; ok && count && row < g.rows; row++)
        ok = cmd_tick(ls->c) && print_row(ls, files, widths, count, &g, row, w);
    free(widths);
    free(g.column_widths);
    return ok;
}

bool ls_print(struct ls *ls, struct ls_file *files, size_t count)
{
    switch (ls->layout) {
    case LS_LONG:
        return ls_print_long(ls, files, count);
    case LS_LINES:
        return print_lines(ls, files, count);
    case LS_COMMAS:
        return print_commas(ls, files, count);
    case LS_DOWN:
    case LS_ACROSS:
        break;
    }
    return print_grid(ls, files, count);
}
