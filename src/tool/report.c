#include "tool/report.h"

#include "base/clean-text.h"
#include "base/utf8.h"

#include <sys/wait.h>

/* What is between the two parts of a stream that are shown. */
struct gap {
    uint64_t bytes, lines;
};

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Without the bytes at the end that begin a character which was cut. */
static struct str without_cut_end(struct str s)
{
    size_t len = s.len, back = 0;
    while (back < 3 && back < len && is_continuation(s.data[len - 1 - back]))
        back++;
    if (back == len)
        return s;
    size_t start = len - 1 - back;
    unsigned char lead = (unsigned char)s.data[start];
    size_t need = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    return need > back + 1 ? str_sub(s, 0, start) : s;
}

static struct str without_cut_start(struct str s)
{
    size_t skip = 0;
    while (skip < 3 && skip < s.len && is_continuation(s.data[skip]))
        skip++;
    return str_from(s, skip);
}

static void leave_out(struct gap *gap, struct str text)
{
    gap->bytes += text.len;
    gap->lines += str_count(text, '\n');
}

static bool is_mark(struct str line)
{
    static const char *const marks[] = { "--- RESULT ---", "--- STDOUT ---",
        "--- STDERR ---",
        "--- EXIT CODE: ", "[paddock: ", "[truncated: ", "TimeoutError: the command ",
        "TimeoutError: the snippet did not " };
    for (size_t i = 0; i < ARRAY_LEN(marks); i++)
        if (str_starts(line, str_of(marks[i])))
            return true;
    return false;
}

/* What a program wrote.  It does not speak for us: a line that begins as ours do is set
 * off by a space. */
static void add_text(struct str text, struct buf *out)
{
    while (text.len) {
        const char *newline = memchr(text.data, '\n', text.len);
        size_t len = newline ? (size_t)(newline - text.data) + 1 : text.len;
        if (is_mark(text))
            buf_addc(out, ' ');
        buf_add(out, str_sub(text, 0, len));
        text = str_from(text, len);
    }
}

static void write_gap(const struct gap *gap, const char *what, struct buf *out)
{
    buf_addf(out,
            "\n\n[truncated: %s exceeded 64 KB. %llu lines (%llu bytes) are left out "
            "here; narrow it, or write it to a file and read that.]\n\n",
            what, (unsigned long long)gap->lines, (unsigned long long)gap->bytes);
}

static uint64_t write_cut(struct str head, struct str tail, struct gap gap,
        const struct report_style *style, struct buf *out)
{
    size_t head_chars = REPORT_MAX_CHARS - style->tail_chars;
    struct str shown_head = str_sub(head, 0, utf8_cost_offset(head, head_chars));
    size_t end = utf8_cost_tail(tail, style->tail_chars);
    struct str shown_tail = str_from(tail, tail.len - end);
    leave_out(&gap, str_from(head, shown_head.len));
    leave_out(&gap, str_sub(tail, 0, tail.len - shown_tail.len));
    add_text(shown_head, out);
    write_gap(&gap, style->what, out);
    add_text(shown_tail, out);
    return gap.bytes;
}

/* All of it is here, in two pieces at most. */
static uint64_t report_whole(const struct command_stream *stream,
        const struct report_style *style, struct buf *out)
{
    auto_buf bytes = BUF(stream->head.len + stream->tail.len + 1);
    buf_add(&bytes, stream->head);
    buf_add(&bytes, stream->tail);
    auto_buf text = BUF(bytes.max * 3);
    clean_text(buf_str(&bytes), style->raw, &text);
    struct str all = buf_str(&text);
    if (utf8_cost(all) <= REPORT_MAX_CHARS) {
        add_text(all, out);
        return 0;
    }
    size_t half = utf8_cost_offset(all, REPORT_MAX_CHARS - style->tail_chars);
    return write_cut(
            str_sub(all, 0, half), str_from(all, half), (struct gap){ 0 }, style, out);
}

uint64_t report_stream(const struct command_stream *stream,
        const struct report_style *style, struct buf *out)
{
    if (!stream->dropped)
        return report_whole(stream, style, out);
    auto_buf head = BUF(stream->head.len * 3 + 1), tail = BUF(stream->tail.len * 3 + 1);
    clean_text(without_cut_end(stream->head), style->raw, &head);
    clean_text(without_cut_start(stream->tail), style->raw, &tail);
    const struct gap gap = { stream->dropped, stream->dropped_lines };
    return write_cut(buf_str(&head), buf_str(&tail), gap, style, out);
}

static void add_section(const char *name, struct str text, struct buf *out)
{
    buf_addf(out, "--- %s ---\n", name);
    buf_add(out, text);
    buf_addc(out, '\n');
}

void report_write(const struct report *r, struct buf *out)
{
    if (r->has_result)
        add_section("RESULT", r->result, out);
    if (r->out.len)
        add_section("STDOUT", r->out, out);
    if (r->err.len)
        add_section("STDERR", r->err, out);
    buf_addf(out, "--- EXIT CODE: %d ---", r->exit_code);
}

int report_exit_code(int wait_status)
{
    return WIFSIGNALED(wait_status) ? -WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}
