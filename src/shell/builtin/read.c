#include "shell/assign.h"
#include "shell/builtin/letters.h"
#include "shell/expand.h"
#include "shell/state.h"

#include <errno.h>

static const char usage[] = "read [-ers] [-a array] [-d delim] [-i text] [-n nchars] [-N "
                            "nchars] [-p prompt] [-t timeout] [-u fd] [name ...]";

struct read {
    struct cmd *c;
    struct stream *in;
    const char *array;
    bool raw;
    char delimiter;
    int64_t chars; /* at most; -1: a whole line */
    bool exact;    /* -N: delimiters do not end it */
    bool only_poll;
};

static bool take_fd(struct read *r, const char *text)
{
    int64_t fd;
    struct shell *sh = r->c->shell;
    if (!str_int(str_of(text), &fd) || fd < 0 || fd >= SHELL_FDS) {
        cmd_err(r->c, "%s: invalid file descriptor specification", text);
        return false;
    }
    if (!sh->fds[fd]) {
        cmd_err(r->c, "%s: invalid file descriptor: Bad file descriptor", text);
        return false;
    }
    r->in = sh->fds[fd];
    return true;
}

static bool take_count(struct read *r, const char *text)
{
    if (str_int(str_of(text), &r->chars) && r->chars >= 0)
        return true;
    cmd_err(r->c, "%s: invalid number", text);
    return false;
}

/* There is no terminal that could keep us waiting, so only its form matters. */
static bool take_timeout(struct read *r, const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    if (*end || end == text || seconds < 0) {
        cmd_err(r->c, "%s: invalid timeout specification", text);
        return false;
    }
    r->only_poll = seconds == 0;
    return true;
}

static int take_options(struct read *r, struct letters *l)
{
    for (int k; (k = letters_next(l)) != CMD_END;) {
        bool ok = true;
        switch (k) {
        case 'a':
            r->array = l->value;
            break;
        case 'd':
            r->delimiter = l->value[0];
            break;
        case 'n':
        case 'N':
            ok = take_count(r, l->value);
            r->exact = k == 'N';
            break;
        case 'p': /* shown to a terminal only */
            break;
        case 'r':
            r->raw = true;
            break;
        case 't':
            ok = take_timeout(r, l->value);
            break;
        case 'u':
            ok = take_fd(r, l->value);
            break;
        case CMD_BAD:
            return 2;
        default: /* -e -i -s: for a terminal */
            break;
        }
        if (!ok)
            return 1;
    }
    return 0;
}

/*
 * One line into `text`.  A backslash before a character stays there, marked by a \1 in
 * `escaped` at its place, so that splitting leaves the character alone.
 */
struct line {
    struct buf text, escaped;
    bool complete; /* the delimiter was there */
};

static void put(struct line *line, char c, bool escaped)
{
    if (!c)
        return; /* bash drops NUL bytes */
    buf_addc(&line->text, c);
    buf_addc(&line->escaped, escaped);
}

/* Is the character at `c` finished?  Bytes of a UTF-8 sequence count once. */
static bool starts_char(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

/* The bytes of a view that are plain text up to the delimiter; the quick way. */
static size_t plain_run(const struct read *r, struct str view)
{
    const char *end = memchr(view.data, r->delimiter, view.len);
    size_t n = end ? (size_t)(end - view.data) : view.len;
    if (!r->raw) {
        const char *slash = memchr(view.data, '\\', n);
        if (slash)
            n = (size_t)(slash - view.data);
    }
    return memchr(view.data, 0, n) ? 0 : n;
}

static bool add_plain(struct line *line, struct str s)
{
    buf_add(&line->text, s);
    char *marks = buf_reserve(&line->escaped, s.len);
    if (!marks)
        return false;
    memset(marks, 0, s.len);
    line->escaped.len += s.len;
    return true;
}

/* Read up to the delimiter, the count or the end. */
static void read_line(struct read *r, struct line *line)
{
    struct str view;
    bool after_backslash = false;
    int64_t left = r->chars;
    while (left != 0 && cmd_tick(r->c) && stream_peek(r->in, &view)) {
        size_t n = r->chars < 0 && !after_backslash ? plain_run(r, view) : 0;
        if (n) {
            bool fits = add_plain(line, str_sub(view, 0, n));
            stream_consume(r->in, n);
            if (!fits)
                return;
            continue;
        }
        char c = view.data[0];
        stream_consume(r->in, 1);
        if (after_backslash) {
            after_backslash = false;
            if (c == '\n')
                continue;
            put(line, c, true);
        } else if (c == '\\' && !r->raw) {
            after_backslash = true;
            continue;
        } else if (c == r->delimiter && !r->exact) {
            line->complete = true;
            return;
        } else {
            put(line, c, false);
        }
        if (r->chars < 0)
            continue;
        /* the rest of a multi-byte character belongs to the one just counted */
        while ((unsigned char)c >= 0xc0 && stream_peek(r->in, &view) &&
                !starts_char(view.data[0])) {
            put(line, view.data[0], false);
            stream_consume(r->in, 1);
        }
        left--;
    }
    line->complete = r->chars >= 0 && left == 0;
}

static bool is_ifs(struct str ifs, char c)
{
    return c && ifs.len && memchr(ifs.data, c, ifs.len);
}

static bool is_blank(struct str ifs, char c)
{
    return (c == ' ' || c == '\t' || c == '\n') && is_ifs(ifs, c);
}

struct splitter {
    struct str ifs, text;
    const char *escaped;
    size_t at;
};

static bool separates(const struct splitter *s, size_t i)
{
    return !s->escaped[i] && is_ifs(s->ifs, s->text.data[i]);
}

static bool blank_at(const struct splitter *s, size_t i)
{
    return !s->escaped[i] && is_blank(s->ifs, s->text.data[i]);
}

static void skip_blanks(struct splitter *s)
{
    while (s->at < s->text.len && blank_at(s, s->at))
        s->at++;
}

static bool next_field(struct splitter *s, struct str *out)
{
    skip_blanks(s);
    if (s->at >= s->text.len)
        return false;
    size_t start = s->at;
    while (s->at < s->text.len && !separates(s, s->at))
        s->at++;
    *out = str_sub(s->text, start, s->at - start);
    skip_blanks(s);
    if (s->at < s->text.len && separates(s, s->at))
        s->at++;
    return true;
}

/* What is left for the last name: all, without blanks at the end; and without the one
 * separator at its end if there is only one field. */
static struct str last_field(struct splitter *s)
{
    skip_blanks(s);
    struct splitter one = *s;
    struct str field = { "", 0 };
    if (next_field(&one, &field) && one.at >= s->text.len)
        return field;
    size_t end = s->text.len;
    while (end > s->at && blank_at(s, end - 1))
        end--;
    return str_sub(s->text, s->at, end - s->at);
}

static bool assign_names(struct read *r, char **names, int count, struct splitter *s)
{
    for (int i = 0; i < count; i++) {
        struct str value = { "", 0 };
        if (i + 1 == count)
            value = last_field(s);
        else if (!next_field(s, &value))
            value = STR("");
        value = arena_str(r->c->arena, value);
        if (!assign_text(r->c->shell, "read", str_of(names[i]), value))
            return false;
    }
    return true;
}

static bool assign_array(struct read *r, struct splitter *s)
{
    struct error err;
    struct shell *sh = r->c->shell;
    struct str name = str_of(r->array), field;
    if (!vars_clear_array(sh->vars, name, false, &err)) {
        cmd_err(r->c, "%s", err.message);
        return false;
    }
    for (int64_t i = 0; next_field(s, &field); i++)
        if (!cmd_tick(r->c) || !vars_set_index(sh->vars, name, i, field, &err))
            return false;
    return true;
}

static bool store(struct read *r, struct line *line, char **names, int count)
{
    struct splitter s = { .text = buf_str(&line->text), .escaped = line->escaped.data };
    static char reply[] = "REPLY";
    char *only_reply = reply;
    if (!vars_get(r->c->shell->vars, STR("IFS"), &s.ifs))
        s.ifs = STR(" \t\n");
    s.ifs = arena_str(r->c->arena, s.ifs);
    if (r->array)
        return assign_array(r, &s);
    if (!count || r->exact) /* unsplit */
        s.ifs = STR("");
    return assign_names(r, count ? names : &only_reply, count ? count : 1, &s);
}

static bool names_are_valid(struct cmd *c, int first)
{
    struct str name, key;
    bool indexed;
    for (int i = first; i < c->argc; i++)
        if (!assign_split(str_of(c->argv[i]), &name, &key, &indexed)) {
            cmd_err(c, "`%s': not a valid identifier", c->argv[i]);
            return false;
        }
    return true;
}

static int cmd_read(struct cmd *c)
{
    struct read r = { .c = c, .in = c->in, .delimiter = '\n', .chars = -1 };
    struct letters l = letters_of(c, "ersa:d:i:n:N:p:t:u:", usage);
    int status = take_options(&r, &l);
    if (status)
        return status;
    if (!names_are_valid(c, l.index) || (r.array && !letters_name(c, r.array)))
        return 1;
    struct str view;
    if (r.only_poll)
        return stream_peek(r.in, &view) ? 0 : 1;
    struct line line = { BUF(c->budget->max_memory), BUF(c->budget->max_memory), false };
    read_line(&r, &line);
    int error = stream_error(r.in);
    if (error && error != ECANCELED && !line.complete)
        cmd_err(c, "read error: %s", strerror(error));
    bool ok = true;
    if (line.text.full)
        ok = budget_stop(c->budget, BUDGET_MEMORY);
    else if (budget_stopped(c->budget))
        ok = false;
    else
        ok = store(&r, &line, c->argv + l.index, c->argc - l.index);
    bool complete = line.complete;
    buf_finish(&line.text);
    buf_finish(&line.escaped);
    return ok && complete ? 0 : 1;
}

const struct command command_read = { .name = "read",
    .run = cmd_read,
    .usage = "[-rs] [-a ARRAY] [-d DELIM] [-n|-N COUNT] [-p PROMPT] [-t S] [-u FD] "
             "[NAME]...",
    .summary = "Read a line into variables, split by $IFS.",
    .flags = CMD_BUILTIN | CMD_SHELL };
