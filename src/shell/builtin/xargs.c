#include "shell/builtin/number.h"
#include "shell/builtin/quote.h"

#define DEFAULT_CHARS 131072 /* GNU's default for one command line */

enum { STATUS_SOME_FAILED = 123, STATUS_STOPPED = 124 };

static const struct cmd_opt options[] = {
    { '0', "null", ARG_NONE, NULL, "items end with NUL; no quotes" },
    { 'a', "arg-file", ARG_REQUIRED, "FILE", "read the items from FILE" },
    { 'd', "delimiter", ARG_REQUIRED, "CHAR", "items end with CHAR; no quotes" },
    { 'E', NULL, ARG_REQUIRED, "END", "an item equal to END ends the input" },
    { 'e', "eof", ARG_OPTIONAL, "END", "the same" },
    { 'I', NULL, ARG_REQUIRED, "R", "replace R in the command by a line of input" },
    { 'i', "replace", ARG_OPTIONAL, "R", "the same; without R: {}" },
    { 'L', "max-lines", ARG_REQUIRED, "N", "use at most N lines for each command" },
    { 'l', NULL, ARG_OPTIONAL, "N", "the same; without N: 1" },
    { 'n', "max-args", ARG_REQUIRED, "N", "use at most N items for each command" },
    { 'P', "max-procs", ARG_REQUIRED, "N", "(commands run one after the other)" },
    { 'r', "no-run-if-empty", ARG_NONE, NULL, "do nothing if there are no items" },
    { 's', "max-chars", ARG_REQUIRED, "N", "at most N bytes for each command line" },
    { 't', "verbose", ARG_NONE, NULL, "print each command on stderr first" },
    { 'x', "exit", ARG_NONE, NULL, "end if a command line becomes too long" },
    { 0 },
};

struct xargs {
    struct cmd *c;
    struct stream *in, *child_in;
    bool delimited; /* items end with `delimiter`, nothing else is special */
    char delimiter;
    const char *end_word, *replace, *file;
    uint64_t max_items, max_lines, max_chars;
    bool skip_empty, verbose, strict;

    struct str view; /* of the input, from `at` on not used yet */
    size_t at;
    struct buf item;
    bool line_ended; /* right after the item */

    struct buf items; /* of the next command, each ended by a NUL */
    uint64_t item_count, line_count;
    size_t command_size; /* bytes of the command that was given */
    int status;
};

static int next_char(struct xargs *x)
{
    if (x->at == x->view.len) {
        stream_consume(x->in, x->view.len);
        x->view.len = x->at = 0;
        if (!cmd_tick(x->c) || !stream_peek(x->in, &x->view)) {
            x->view.len = 0;
            return -1;
        }
    }
    return (unsigned char)x->view.data[x->at++];
}

enum item { ITEM_NONE, ITEM_FOUND, ITEM_BAD };

static enum item bad_quote(struct xargs *x, int quote)
{
    cmd_err(x->c,
            "unmatched %s quote; by default quotes are special to xargs unless you use "
            "the "
            "-0 option",
            quote == '"' ? "double" : "single");
    return ITEM_BAD;
}

/* The rest of a quoted part. */
static bool take_quoted(struct xargs *x, int quote)
{
    int ch;
    while ((ch = next_char(x)) >= 0 && ch != '\n') {
        if (ch == quote)
            return true;
        buf_addc(&x->item, (char)ch);
    }
    return false;
}

/* A word, or with -I a line; blanks, quotes and backslashes are special. */
static enum item next_word(struct xargs *x)
{
    bool any = false;
    int ch;
    while ((ch = next_char(x)) >= 0) {
        bool blank = ch == ' ' || ch == '\t';
        if (ch == '\n' || (blank && !(x->replace && any))) {
            x->line_ended = ch == '\n';
            if (any)
                return ITEM_FOUND;
            continue;
        }
        any = true;
        if (ch == '\'' || ch == '"') {
            if (!take_quoted(x, ch))
                return bad_quote(x, ch);
        } else if (ch != '\\' || (ch = next_char(x)) >= 0) {
            buf_addc(&x->item, (char)ch);
        }
    }
    x->line_ended = true;
    return any ? ITEM_FOUND : ITEM_NONE;
}

static enum item next_delimited(struct xargs *x)
{
    int ch;
    x->line_ended = true;
    while ((ch = next_char(x)) >= 0) {
        if (ch == (unsigned char)x->delimiter)
            return ITEM_FOUND;
        buf_addc(&x->item, (char)ch);
    }
    return x->item.len ? ITEM_FOUND : ITEM_NONE;
}

static enum item next_item(struct xargs *x)
{
    if (!cmd_tick(x->c))
        return ITEM_BAD;
    buf_clear(&x->item);
    enum item found = x->delimited ? next_delimited(x) : next_word(x);
    if (found == ITEM_FOUND && x->end_word && !x->delimited &&
            str_is(buf_str(&x->item), x->end_word))
        return ITEM_NONE;
    return found;
}

static void show_command(struct xargs *x, int argc, char **argv)
{
    auto_buf line = BUF(x->c->budget->max_memory);
    for (int i = 0; i < argc; i++)
        buf_addf(&line, "%s%s", i ? " " : "", quote_maybe(x->c, argv[i]));
    buf_addc(&line, '\n');
    bool unused UNUSED = stream_write(x->c->err, buf_str(&line));
}

/* False: no further command may run; the status is set. */
static bool run(struct xargs *x, int argc, char **argv)
{
    struct cmd *c = x->c;
    if (x->verbose)
        show_command(x, argc, argv);
    int status = cmd_run(c, argc, argv, x->child_in, c->out, c->err);
    if (budget_stopped(c->budget))
        return false;
    if (stream_error(c->out)) {
        c->out_failed = true;
        return false;
    }
    if (status == 126 || status == 127) {
        x->status = status;
        return false;
    }
    if (status == 255) {
        cmd_err(c, "%s: exited with status 255; aborting", argv[0]);
        x->status = STATUS_STOPPED;
        return false;
    }
    if (status)
        x->status = STATUS_SOME_FAILED;
    return true;
}

/* The command with the items that were collected. */
static bool run_items(struct xargs *x)
{
    struct cmd *c = x->c;
    size_t count = (size_t)c->argc + x->item_count;
    char **argv = xmalloc((count + 1) * sizeof(*argv));
    memcpy(argv, c->argv, (size_t)c->argc * sizeof(*argv));
    char *at = x->items.data;
    for (size_t i = (size_t)c->argc; i < count; i++) {
        argv[i] = at;
        at += strlen(at) + 1;
    }
    argv[count] = NULL;
    bool ok = run(x, (int)count, argv);
    free(argv);
    buf_clear(&x->items);
    x->item_count = x->line_count = 0;
    return ok;
}

static void replace_all(
        const char *text, const char *what, struct str by, struct buf *out)
{
    size_t len = strlen(what);
    for (const char *at; len && (at = strstr(text, what)); text = at + len) {
        buf_add(out, (struct str){ text, (size_t)(at - text) });
        buf_add(out, by);
    }
    buf_add(out, str_of(text));
}

/* -I: the command with the item put in. */
static bool run_replaced(struct xargs *x)
{
    struct cmd *c = x->c;
    struct arena_mark mark = arena_mark(c->arena);
    char **argv = arena_alloc(c->arena, ((size_t)c->argc + 1) * sizeof(*argv));
    auto_buf text = BUF(c->budget->max_memory);
    for (int i = 0; i < c->argc; i++) {
        buf_clear(&text);
        replace_all(c->argv[i], x->replace, buf_str(&x->item), &text);
        argv[i] = arena_cstr(c->arena, buf_str(&text));
    }
    argv[c->argc] = NULL;
    bool ok = run(x, c->argc, argv);
    arena_rewind(c->arena, mark);
    return ok;
}

static bool too_long(struct xargs *x)
{
    cmd_err(x->c, "argument line too long");
    x->status = 1;
    return false;
}

/* Put the item into the next command, running it when it is full. */
static bool add_item(struct xargs *x)
{
    size_t size = x->item.len + 1;
    if (x->command_size + x->items.len + size > x->max_chars) {
        if (!x->item_count || x->strict)
            return too_long(x);
        if (!run_items(x))
            return false;
        if (x->command_size + size > x->max_chars)
            return too_long(x);
    }
    /* A NUL inside an item cannot be passed on: it ends there, as in execve(). */
    buf_add(&x->items, str_of(x->item.data ? x->item.data : ""));
    buf_addc(&x->items, 0);
    x->item_count++;
    x->line_count += x->line_ended;
    if ((x->max_items && x->item_count >= x->max_items) ||
            (x->max_lines && x->line_count >= x->max_lines))
        return run_items(x);
    return true;
}

static void run_all(struct xargs *x)
{
    bool ran = false;
    enum item found;
    while ((found = next_item(x)) == ITEM_FOUND) {
        ran = true;
        if (!(x->replace ? run_replaced(x) : add_item(x)))
            return;
    }
    if (found == ITEM_BAD)
        x->status = 1;
    if (budget_stopped(x->c->budget))
        return;
    /* What was complete before a bad quote is still run, as GNU does. */
    bool alone = !ran && !x->skip_empty && !x->replace && found == ITEM_NONE;
    if (x->item_count || alone)
        run_items(x);
}

/* One character, or an escape: \n \t \0 \\ \xHH \OOO. */
static bool parse_delimiter(const char *text, char *out)
{
    static const char names[] = "abtnvfr";
    if (text[0] != '\\' || !text[1]) {
        *out = text[0];
        return text[0] && !text[1];
    }
    const char *at = strchr(names, text[1]);
    if (!text[2] && (at || text[1] == '\\')) {
        *out = at ? (char)(at - names + 7) : '\\';
        return true;
    }
    char *end;
    bool hex = text[1] == 'x';
    unsigned long value = strtoul(text + 1 + hex, &end, hex ? 16 : 8);
    *out = (char)value;
    return !*end && value < 256 && end > text + 1 + hex;
}

static bool set_delimiter(struct xargs *x, const char *text)
{
    x->delimited = true;
    if (parse_delimiter(text, &x->delimiter))
        return true;
    cmd_err(x->c,
            "Invalid input delimiter specification %s: the delimiter must be either a "
            "single "
            "character or an escape sequence starting with \\.",
            text);
    return false;
}

static bool set_count(struct xargs *x, int key, const char *text, uint64_t *out)
{
    if (!number_plain(str_of(text), out))
        cmd_err(x->c, "invalid number \"%s\" for -%c option", text, key);
    else if (!*out && key != 'P')
        cmd_err(x->c, "value %s for -%c option should be >= 1", text, key);
    else
        return true;
    try_help(x->c, 1);
    return false;
}

/* -I, -L and -n exclude each other: the last one given counts. */
static bool set_mode(struct xargs *x, int key, const char *value)
{
    x->replace = NULL;
    x->max_items = x->max_lines = 0;
    if (key == 'I' || key == 'i') {
        x->replace = value ? value : "{}";
        return true;
    }
    return set_count(
            x, key, value ? value : "1", key == 'n' ? &x->max_items : &x->max_lines);
}

static bool set_option(struct xargs *x, int key, const char *value)
{
    uint64_t ignored;
    switch (key) {
    case '0':
        x->delimited = true;
        x->delimiter = 0;
        return true;
    case 'a':
        x->file = value;
        return true;
    case 'd':
        return set_delimiter(x, value);
    case 'E':
    case 'e':
        x->end_word = value && *value ? value : NULL;
        return true;
    case 'I':
    case 'i':
    case 'L':
    case 'l':
    case 'n':
        return set_mode(x, key, value);
    case 'P':
        return set_count(x, key, value, &ignored);
    case 'r':
        return x->skip_empty = true;
    case 's':
        return set_count(x, key, value, &x->max_chars);
    case 't':
        return x->verbose = true;
    case 'x':
        return x->strict = true;
    default:
        return false;
    }
}

static bool open_input(struct xargs *x)
{
    if (!x->file) {
        x->in = stream_ref(x->c->in);
        x->child_in = stream_null();
        return true;
    }
    x->child_in = stream_ref(x->c->in);
    int errnum = cmd_open(x->c, x->file, true, &x->in);
    if (errnum)
        cmd_err(x->c, "Cannot open input file %s: %s", quote(x->c, x->file),
                errno_text(errnum));
    return !errnum;
}

static char *default_command[] = { (char[]){ "echo" }, NULL };

static int cmd_xargs(struct cmd *c)
{
    struct xargs x = { .c = c, .max_chars = DEFAULT_CHARS };
    struct cmd_options o = cmd_options(c);
    o.stop_early = true;
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        if (!set_option(&x, k, o.value))
            return 1;
    if (!c->argc) {
        c->argv = default_command;
        c->argc = 1;
    }
    for (int i = 0; i < c->argc; i++)
        x.command_size += strlen(c->argv[i]) + 1;
    x.item = x.items = BUF(c->budget->max_memory);
    x.status = 1;
    if (open_input(&x)) {
        x.status = 0;
        run_all(&x);
        stream_consume(x.in, x.at);
    }
    stream_unref(x.in);
    stream_unref(x.child_in);
    buf_finish(&x.item);
    buf_finish(&x.items);
    return x.status;
}

const struct command command_xargs = {
    "xargs",
    cmd_xargs,
    options,
    "[OPTION]... [COMMAND [ARGUMENT]...]",
    "Run a command with arguments read from standard input.",
    CMD_PREFIX,
};
