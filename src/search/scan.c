/* Searching one file: a window of whole lines moves over it. */
#include "search/scan.h"

#include "base/lanes.h"
#include "base/utf8.h"
#include "search/excerpt.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define READ_SIZE   ((size_t)96 << 10)
#define KEEP_BUFFER ((size_t)1 << 20) /* a bigger one is given back after the file */
#define FLUSH_SIZE  ((size_t)32 << 10)

struct scanner {
    const struct scan *scan;
    struct regex *re;
    char *data; /* the window */
    size_t cap;

    /* of the file being searched */
    const struct scan_file *file;
    struct scan_sink *sink;
    size_t len;      /* bytes in the window */
    size_t pos;      /* everything before it has been looked at */
    size_t no_eol;   /* from `pos` to here no line ends; before `pos`: nothing is known */
    uint64_t offset; /* of the window in the file */
    bool at_eof;

    size_t counted; /* newlines before it are in `line` */
    uint64_t line;

    uint64_t after_left; /* lines of trailing context still to print */
    uint64_t printed;    /* offset in the file up to which lines were printed */
    bool *any_printed;   /* in this file or one before: groups are set apart */

    size_t next_match, next_match_end; /* -v: the matching line ahead */
    bool has_next_match;

    uint64_t selected;
    bool binary;   /* NULs: no lines are shown */
    bool withheld; /* a line was selected and not shown */
    bool failed, stopped;
};

struct scanner *scanner_create(const struct scan *scan, struct regex *re)
{
    struct scanner *s = xcalloc(1, sizeof(*s));
    s->scan = scan;
    s->re = re;
    return s;
}

void scanner_destroy(struct scanner *s)
{
    if (!s)
        return;
    free(s->data);
    free(s);
}

static void message(struct scanner *s, const char *what)
{
    buf_addf(&s->sink->messages, "grep: %s: %s\n", s->file->name, what);
}

/* More bytes to `to` from a file. */
static size_t scan_read_fd(int fd, char *to, size_t size, int *errnum)
{
    ssize_t n;
    do
        n = read(fd, to, size);
    while (n < 0 && errno == EINTR);
    *errnum = n < 0 ? errno : 0;
    return n < 0 ? 0 : (size_t)n;
}

static size_t read_some(struct scanner *s, char *to, size_t size, int *errnum)
{
    const struct scan_file *file = s->file;
    *errnum = 0;
    return file->fd >= 0 ? scan_read_fd(file->fd, to, size, errnum)
                         : file->read(file->source, to, size, errnum);
}

/* Where in the window the unprinted context before `pos` begins. */
static size_t context_start(const struct scanner *s, size_t pos)
{
    size_t from = pos;
    size_t least = s->printed > s->offset ? (size_t)(s->printed - s->offset) : 0;
    for (uint64_t n = s->scan->before; n && from > least; n--) {
        const char *eol = from > 1 ? memrchr(s->data, s->scan->eol, from - 1) : NULL;
        from = eol ? (size_t)(eol + 1 - s->data) : 0;
    }
    return from < least ? least : from;
}

static uint64_t count_byte(const char *p, const char *end, char byte)
{
    uint64_t n = 0;
    lanes_t wanted = lanes_all(byte);
    while (end - p >= LANES) {
        lanes_t counts = { 0 }; /* each may reach 255 */
        for (int i = 0; i < 255 && end - p >= LANES; i++, p += LANES) {
            counts -= (lanes_t)(lanes_load(p) == wanted);
        }
        for (int i = 0; i < LANES; i++)
            n += counts[i];
    }
    for (; p < end; p++)
        n += *p == byte;
    return n;
}

static void count_lines(struct scanner *s, size_t upto)
{
    if (s->scan->line_numbers && upto > s->counted) {
        s->line += count_byte(s->data + s->counted, s->data + upto, s->scan->eol);
        s->counted = upto;
    }
}

static void drop_front(struct scanner *s, size_t n)
{
    if (!n)
        return;
    count_lines(s, n);
    memmove(s->data, s->data + n, s->len - n);
    s->len -= n;
    s->pos -= n;
    s->offset += n;
    s->counted -= n < s->counted ? n : s->counted;
    s->no_eol -= n < s->no_eol ? n : s->no_eol;
}

static bool make_room(struct scanner *s)
{
    if (s->cap - s->len >= READ_SIZE / 2)
        return true;
    drop_front(s, context_start(s, s->pos));
    if (s->cap - s->len >= READ_SIZE / 2)
        return true;
    size_t cap = s->cap ? s->cap * 2 : READ_SIZE * 2;
    if (cap > s->scan->max_line + READ_SIZE)
        cap = s->scan->max_line + READ_SIZE;
    if (cap <= s->cap) {
        char text[80];
        snprintf(text, sizeof(text), "line or context longer than %zu MiB", s->len >> 20);
        message(s, text);
        return false;
    }
    s->data = xrealloc(s->data, cap);
    s->cap = cap;
    return true;
}

/* In a binary file NULs end lines too, as they do for GNU. */
static bool look_for_nul(struct scanner *s, size_t from)
{
    const struct scan *g = s->scan;
    if (g->binary == BINARY_TEXT || !g->eol)
        return true;
    char *at = memchr(s->data + from, 0, s->len - from);
    if (!at)
        return true;
    if (g->binary == BINARY_SKIP)
        return false;
    s->binary = true;
    for (char *p = at; (p = memchr(p, 0, (size_t)(s->data + s->len - p))); p++)
        *p = g->eol;
    return true;
}

/* More of the file into the window; false: stop with what there is. */
static bool fill(struct scanner *s)
{
    int errnum;
    if (!make_room(s)) {
        s->failed = true;
        return false;
    }
    size_t old = s->len, n = read_some(s, s->data + s->len, s->cap - s->len, &errnum);
    if (errnum) {
        if (!s->scan->no_messages)
            message(s, strerror(errnum));
        s->failed = true;
        return false;
    }
    s->at_eof = !n;
    s->len += n;
    s->stopped = !s->sink->alive(s->sink, 1 + n / 1024);
    return !s->stopped && look_for_nul(s, old);
}

/* The end of the whole lines in the window.  A long line comes in many pieces: each byte
 * of it is looked at once. */
static size_t lines_end(struct scanner *s)
{
    if (s->at_eof)
        return s->len;
    size_t from = s->no_eol > s->pos ? s->no_eol : s->pos;
    const char *eol =
            s->len > from ? memrchr(s->data + from, s->scan->eol, s->len - from) : NULL;
    if (!eol)
        s->no_eol = s->len;
    return eol ? (size_t)(eol + 1 - s->data) : s->pos;
}

/* Hand on what was printed, when it is enough; false: stop. */
static bool go_on(struct scanner *s)
{
    bool now = s->sink->out.len >= FLUSH_SIZE || s->scan->line_buffered;
    s->stopped = !s->sink->alive(s->sink, 1) || (now && !s->sink->flush(s->sink, false));
    return !s->stopped;
}

static void put_number(struct scanner *s, uint64_t n, char mark)
{
    char text[32], *p = text + sizeof(text);
    *--p = mark;
    do
        *--p = (char)('0' + n % 10);
    while (n /= 10);
    size_t len = (size_t)(text + sizeof(text) - p);
    for (size_t width = s->scan->align_tab ? 20 : 0; width > len; width--)
        buf_addc(&s->sink->out, ' ');
    buf_add(&s->sink->out, (struct str){ p, len });
}

static void put_name(struct scanner *s, char mark)
{
    buf_add(&s->sink->out, str_of(s->file->name));
    buf_addc(&s->sink->out, s->scan->null_names ? 0 : mark);
}

/* Text that is no UTF-8 is not shown, unless asked for. */
static bool is_shown(struct scanner *s, size_t start, size_t end)
{
    struct str text = { s->data + start, end - start };
    if (!s->binary && (s->scan->binary == BINARY_TEXT || utf8_valid(text)))
        return true;
    s->withheld |= s->scan->binary == BINARY_MESSAGE;
    return false;
}

/* As somebody else writes it. */
static void show_line(struct scanner *s, size_t start, size_t end, char mark)
{
    count_lines(s, start);
    const struct scan_line line = { mark, s->line + 1, { s->data + start, end - start } };
    s->scan->show(&line, s->re, &s->sink->out);
}

static void put_line(struct scanner *s, size_t start, size_t end, char mark)
{
    const struct scan *g = s->scan;
    if (g->show) {
        show_line(s, start, end, mark);
        return;
    }
    if (s->file->with_name)
        put_name(s, mark);
    if (g->line_numbers) {
        count_lines(s, start);
        put_number(s, s->line + 1, mark);
    }
    if (g->byte_offsets)
        put_number(s, s->offset + start, mark);
    if (g->align_tab && (s->file->with_name || g->line_numbers || g->byte_offsets))
        buf_addc(&s->sink->out, '\t');
    struct str text = { s->data + start, end - start };
    if (g->max_shown)
        excerpt_add(text, g->max_shown, mark == ':' ? s->re : NULL, &s->sink->out);
    else
        buf_add(&s->sink->out, text);
    buf_addc(&s->sink->out, g->eol);
}

static bool put_matches(struct scanner *s, size_t start, size_t end)
{
    struct str line = { s->data + start, end - start };
    struct regex_match m;
    for (size_t at = 0; at <= line.len;) {
        if (regex_search(s->re, line, at, false, &m) != REGEX_YES)
            break;
        size_t from = (size_t)m.start[0], to = (size_t)m.end[0];
        if (to > from && is_shown(s, start + from, start + to))
            put_line(s, start + from, start + to, ':');
        at = to > from ? to : to + 1;
        if (!go_on(s))
            return false;
    }
    return true;
}

static size_t line_end(const struct scanner *s, size_t start, size_t end)
{
    const char *eol = memchr(s->data + start, s->scan->eol, end - start);
    return eol ? (size_t)(eol - s->data) : end;
}

static void note_printed(struct scanner *s, size_t end)
{
    s->printed = s->offset + end + 1;
    *s->any_printed = true;
}

/* Lines of context in [from, to), at most `*left` of them. */
static bool put_context(struct scanner *s, size_t from, size_t to, uint64_t *left)
{
    while (from < to && *left) {
        size_t end = line_end(s, from, to);
        if (!s->scan->only_matching && is_shown(s, from, end)) {
            put_line(s, from, end, '-');
            note_printed(s, end);
        }
        from = end + 1;
        --*left;
        if (!go_on(s))
            return false;
    }
    return true;
}

static void put_separator(struct scanner *s, size_t start)
{
    const struct scan *g = s->scan;
    bool gap = !s->printed || s->offset + start > s->printed;
    if (!g->sets_apart || !g->group_separator || !*s->any_printed || !gap)
        return;
    if (g->show) {
        const struct scan_line none = { .text = str_of(g->group_separator) };
        g->show(&none, s->re, &s->sink->out);
    } else {
        buf_add(&s->sink->out, str_of(g->group_separator));
        buf_addc(&s->sink->out, '\n');
    }
}

/* A selected line, with the context before it. */
static bool put_selected(struct scanner *s, size_t start, size_t end)
{
    size_t before = context_start(s, start);
    uint64_t all = UINT64_MAX;
    put_separator(s, before);
    if (!put_context(s, before, start, &all))
        return false;
    s->after_left = s->scan->after;
    if (s->scan->only_matching) {
        note_printed(s, end);
        return s->scan->invert || put_matches(s, start, end);
    }
    if (is_shown(s, start, end)) {
        put_line(s, start, end, ':');
        note_printed(s, end);
    }
    return go_on(s);
}

/* The first line in [pos, end) that the pattern matches. */
static bool find_match(
        struct scanner *s, size_t pos, size_t end, size_t *start, size_t *stop)
{
    struct str lines = { s->data, end };
    enum regex_result r;
    while ((r = regex_find_line(s->re, lines, pos, s->scan->eol, start, stop)) ==
            REGEX_LIMIT) {
        if (!s->failed)
            message(s, "exceeded PCRE's backtracking limit");
        s->failed = s->sink->gave_up = true;
        s->stopped = s->scan->stop_at_limit;
        if (s->stopped || *stop + 1 >= end)
            return false;
        pos = *stop + 1;
    }
    return r == REGEX_YES;
}

/* The first line that the pattern does not match. */
static bool find_other(
        struct scanner *s, size_t pos, size_t end, size_t *start, size_t *stop)
{
    for (; pos < end; pos = s->next_match_end + 1) {
        if (!s->has_next_match || s->next_match < pos) {
            s->has_next_match = true;
            if (!find_match(s, pos, end, &s->next_match, &s->next_match_end))
                s->next_match = end;
        }
        if (s->next_match > pos) {
            *start = pos;
            *stop = line_end(s, pos, end);
            return true;
        }
    }
    return false;
}

static bool find_selected(
        struct scanner *s, size_t pos, size_t end, size_t *start, size_t *stop)
{
    return s->scan->invert ? find_other(s, pos, end, start, stop)
                           : find_match(s, pos, end, start, stop);
}

/* Does a selected line have to be printed? */
static bool prints_lines(const struct scanner *s)
{
    return s->scan->report == REPORT_LINES && !s->binary;
}

/* Is the answer known, so that the rest of the file need not be read? */
static bool is_decided(const struct scanner *s)
{
    if (s->selected >= (uint64_t)s->scan->max_count)
        return true;
    return s->selected && s->scan->report != REPORT_COUNT && !prints_lines(s);
}

/* All whole lines of the window; false: stop. */
static bool search_lines(struct scanner *s)
{
    size_t end = lines_end(s), start, stop;
    s->has_next_match = false;
    while (s->pos < end && !is_decided(s)) {
        bool found = find_selected(s, s->pos, end, &start, &stop);
        size_t upto = found ? start : end;
        if (prints_lines(s) && !put_context(s, s->pos, upto, &s->after_left))
            return false;
        s->pos = upto;
        if (!found)
            break;
        s->selected++;
        s->withheld |= s->binary;
        if (prints_lines(s) && !put_selected(s, start, stop))
            return false;
        s->pos = stop + 1 < end ? stop + 1 : end;
    }
    return true;
}

/* After the last line that -m allows, only its context is printed. */
static void finish_context(struct scanner *s)
{
    while (prints_lines(s) && s->after_left) {
        size_t end = lines_end(s);
        if (!put_context(s, s->pos, end, &s->after_left))
            return;
        s->pos = end;
        if (s->at_eof || !s->after_left || !fill(s))
            return;
    }
}

static void search_file(struct scanner *s)
{
    while (!s->at_eof && !is_decided(s))
        if (!fill(s) || !search_lines(s))
            return;
    finish_context(s);
}

static void report(struct scanner *s)
{
    struct buf *out = &s->sink->out;
    switch (s->scan->report) {
    case REPORT_COUNT:
        if (s->file->with_name)
            put_name(s, ':');
        buf_addf(out, "%llu\n", (unsigned long long)s->selected);
        break;
    case REPORT_WITH:
    case REPORT_WITHOUT:
        if (!s->selected == (s->scan->report == REPORT_WITHOUT)) {
            buf_add(out, str_of(s->file->name));
            buf_addc(out, s->scan->null_names ? 0 : '\n');
        }
        break;
    case REPORT_LINES:
        if (s->withheld)
            message(s, "binary file matches");
        break;
    case REPORT_NOTHING:
        break;
    }
}

static void start_file(
        struct scanner *s, const struct scan_file *file, struct scan_sink *sink)
{
    s->file = file;
    s->sink = sink;
    s->any_printed = &sink->any_printed;
    sink->gave_up = false;
    s->len = s->pos = s->counted = s->no_eol = 0;
    s->offset = s->line = s->printed = s->after_left = s->selected = 0;
    s->at_eof = s->binary = s->withheld = s->failed = s->stopped = false;
}

bool scan_file(struct scanner *s, const struct scan_file *file, struct scan_sink *sink,
        bool *selected)
{
    start_file(s, file, sink);
    search_file(s);
    if (!s->stopped)
        report(s);
    *selected = s->selected > 0;
    if (s->cap > KEEP_BUFFER) {
        free(s->data);
        s->data = NULL;
        s->cap = 0;
    }
    return !s->failed;
}
