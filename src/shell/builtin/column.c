#include "shell/builtin/input.h"
#include "shell/builtin/number.h"
#include "shell/builtin/quote.h"
#include "shell/builtin/width.h"

static const struct cmd_opt options[] = {
    { 'c', "output-width", ARG_REQUIRED, "N", "width of the output (80)" },
    { 'L', "keep-empty-lines", ARG_NONE, NULL, "do not leave out empty lines" },
    { 'l', "table-columns-limit", ARG_REQUIRED, "N",
            "the last of N columns takes the rest" },
    { 'N', "table-columns", ARG_REQUIRED, "NAMES", "a line of names above, with commas" },
    { 'o', "output-separator", ARG_REQUIRED, "STRING", "what is between columns" },
    { 'R', "table-right", ARG_REQUIRED, "COLUMNS", "align these to the right" },
    { 's', "separator", ARG_REQUIRED, "CHARS", "what is between columns of the input" },
    { 't', "table", ARG_NONE, NULL, "make a table" },
    { 'x', "fillrows", ARG_NONE, NULL, "fill rows before columns" },
    { 0 },
};

#define MAX_COLUMNS 4096

struct row {
    struct str *cells;
    size_t count;
};

struct column {
    struct cmd *c;
    bool table, fill_rows, keep_empty;
    const char *separators, *between, *names, *right;
    uint64_t width, limit;
    struct row *rows;
    size_t count, cap;
    size_t widths[MAX_COLUMNS];
    bool is_right[MAX_COLUMNS];
    size_t columns; /* of the widest row */
};

static bool is_separator(const struct column *col, char ch)
{
    return col->separators ? ch && strchr(col->separators, ch) : ch == ' ' || ch == '\t';
}

/* The next cell; without -s separators of any length count as one. */
static struct str next_cell(const struct column *col, struct str *rest, bool last)
{
    size_t len = 0;
    while (len < rest->len && (last || !is_separator(col, rest->data[len])))
        len++;
    struct str cell = str_sub(*rest, 0, len);
    bool more = len < rest->len;
    len += more;
    while (!col->separators && len < rest->len && is_separator(col, rest->data[len]))
        len++;
    *rest = str_from(*rest, len);
    if (more && !rest->len && col->separators) /* an empty cell at the end */
        *rest = (struct str){ cell.data + cell.len, 0 };
    return cell;
}

static bool add_row(struct column *col, struct str line)
{
    struct arena *arena = col->c->arena;
    struct str cells[MAX_COLUMNS], rest = arena_str(arena, line);
    size_t count = 0;
    while (!col->separators && rest.len && is_separator(col, rest.data[0]))
        rest = str_from(rest, 1);
    uint64_t limit = col->limit ? col->limit : MAX_COLUMNS;
    while (rest.len && count < MAX_COLUMNS)
        cells[count] = next_cell(col, &rest, count + 1 >= limit), count++;
    struct row row = { arena_alloc(arena, (count + 1) * sizeof(*cells)), count };
    memcpy(row.cells, cells, count * sizeof(*cells));
    GROW(col->rows, col->count, col->cap);
    col->rows[col->count++] = row;
    return arena_size(arena) < col->c->budget->max_memory ||
           budget_stop(col->c->budget, BUDGET_MEMORY);
}

static bool is_blank(struct str line)
{
    for (size_t i = 0; i < line.len; i++)
        if (line.data[i] != ' ' && line.data[i] != '\t')
            return false;
    return true;
}

static bool read_rows(struct column *col, struct stream *in)
{
    struct str line;
    while (input_line(col->c, in, '\n', &line, NULL)) {
        if (is_blank(line) && !col->keep_empty)
            continue;
        if (col->table) {
            if (!add_row(col, line))
                return false;
            continue;
        }
        GROW(col->rows, col->count, col->cap);
        struct str *cell = arena_alloc(col->c->arena, sizeof(*cell));
        *cell = arena_str(col->c->arena, line);
        col->rows[col->count++] = (struct row){ cell, 1 };
    }
    return !budget_stopped(col->c->budget);
}

static void measure(struct column *col)
{
    for (size_t i = 0; i < col->count; i++) {
        const struct row *row = &col->rows[i];
        col->columns = row->count > col->columns ? row->count : col->columns;
        for (size_t k = 0; k < row->count; k++) {
            size_t width = text_width(row->cells[k]);
            col->widths[k] = width > col->widths[k] ? width : col->widths[k];
        }
    }
}

static void add_cell(
        const struct column *col, const struct row *row, size_t k, struct buf *out)
{
    struct str cell = k < row->count ? row->cells[k] : (struct str){ "", 0 };
    size_t width = text_width(cell);
    size_t pad = col->widths[k] > width ? col->widths[k] - width : 0;
    bool last = k + 1 == col->columns;
    for (size_t i = 0; col->is_right[k] && i < pad; i++)
        buf_addc(out, ' ');
    buf_add(out, cell);
    for (size_t i = 0; !col->is_right[k] && !last && i < pad; i++)
        buf_addc(out, ' ');
    if (!last)
        buf_add(out, str_of(col->between));
}

static bool print_table(struct column *col)
{
    auto_buf line = BUF(col->c->budget->max_memory);
    measure(col);
    for (size_t i = 0; i < col->count && cmd_tick(col->c); i++) {
        buf_clear(&line);
        for (size_t k = 0; k < col->columns; k++)
            add_cell(col, &col->rows[i], k, &line);
        buf_addc(&line, '\n');
        if (!cmd_put(col->c, buf_str(&line)))
            return false;
    }
    return true;
}

static bool print_filled(struct column *col)
{
    size_t widest = 0;
    for (size_t i = 0; i < col->count; i++) {
        size_t width = text_width(col->rows[i].cells[0]);
        widest = width > widest ? width : widest;
    }
    size_t cell = (widest + 8) / 8 * 8;
    size_t columns = (size_t)col->width / cell ? (size_t)col->width / cell : 1;
    size_t rows = (col->count + columns - 1) / columns;
    auto_buf line = BUF(col->c->budget->max_memory);
    for (size_t r = 0; r < rows && cmd_tick(col->c); r++) {
        buf_clear(&line);
        for (size_t k = 0; k < columns; k++) {
            size_t i = col->fill_rows ? r * columns + k : k * rows + r;
            size_t next = col->fill_rows ? i + 1 : i + rows;
            bool last = k + 1 == columns || next >= col->count;
            if (i >= col->count)
                break;
            buf_add(&line, col->rows[i].cells[0]);
            size_t at = text_width(col->rows[i].cells[0]);
            for (; !last && at < cell; at = (at + 8) / 8 * 8)
                buf_addc(&line, '\t');
        }
        buf_addc(&line, '\n');
        if (!cmd_put(col->c, buf_str(&line)))
            return false;
    }
    return true;
}

static bool set_number(
        struct column *col, const char *what, const char *value, uint64_t *out)
{
    if (number_plain(str_of(value), out) && *out)
        return true;
    cmd_err(col->c, "invalid %s argument: %s", what, quote(col->c, value));
    return false;
}

static bool set_option(struct column *col, int key, const char *value)
{
    switch (key) {
    case 'c':
        return set_number(col, "columns", value, &col->width);
    case 'L':
        return col->keep_empty = true;
    case 'l':
        return set_number(col, "columns limit", value, &col->limit);
    case 'N':
        col->names = value;
        return true;
    case 'o':
        col->between = value;
        return true;
    case 'R':
        col->right = value;
        return true;
    case 's':
        col->separators = value;
        return true;
    case 't':
        return col->table = true;
    case 'x':
        return col->fill_rows = true;
    default:
        return false;
    }
}

/* -N: the names are the first row. */
static bool add_names(struct column *col)
{
    if (!col->names)
        return true;
    const char *separators = col->separators;
    col->separators = ",";
    bool ok = add_row(col, str_of(col->names));
    col->separators = separators;
    return ok;
}

/* -R: numbers or names of columns. */
static bool find_right(struct column *col)
{
    for (struct str rest = str_of(col->right ? col->right : ""); rest.len;) {
        struct str word = str_cut(&rest, ',');
        uint64_t n = 0;
        if (!number_plain(word, &n))
            for (size_t i = 0; col->names && i < col->rows[0].count; i++)
                n = str_eq(col->rows[0].cells[i], word) ? i + 1 : n;
        if (!n || n > MAX_COLUMNS) {
            cmd_err(col->c, "undefined column name '%.*s'", STR_ARG(word));
            return false;
        }
        col->is_right[n - 1] = true;
    }
    return true;
}

static int cmd_column(struct cmd *c)
{
    struct column *col = arena_zalloc(c->arena, sizeof(*col));
    *col = (struct column){ .c = c, .between = "  ", .width = 80 };
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        if (!set_option(col, k, o.value))
            return 1;
    struct inputs in = inputs_open(c);
    bool ok = add_names(col) && find_right(col);
    while (ok && inputs_next(&in))
        ok = read_rows(col, in.stream);
    if (!ok)
        inputs_stop(&in);
    ok = ok && (col->table ? print_table(col) : print_filled(col));
    free(col->rows);
    return ok ? in.status : 1;
}

const struct command command_column = {
    "column",
    cmd_column,
    options,
    "[OPTION]... [FILE]...",
    "Arrange text in columns.",
    0,
};
