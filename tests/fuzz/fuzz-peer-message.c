#include "base/lines.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "peer/message.h"

#define MAX_LINE 4096
#define MAX_TEXT 300

static void check_message(const json_t *value)
{
    struct peer_message m;
    peer_message_read(value, &m);
    switch (m.kind) {
    case PEER_RESULT:
        assert(m.has_id && m.body);
        break;
    case PEER_ERROR:
        assert(json_is_object(m.body));
        break;
    case PEER_REQUEST:
        assert(json_is_string(m.id_value) || json_is_integer(m.id_value));
        break;
    case PEER_NOTIFICATION:
        assert(!m.id_value);
        break;
    case PEER_NOISE:
        break;
    }
}

/* What is shown of it is text, and not more than was asked for. */
static void check_text(struct str line)
{
    auto_buf shown = BUF(MAX_TEXT + 3), one = BUF(MAX_TEXT + 3);
    peer_add_text(line, MAX_TEXT, PEER_ONE_LINE, &one);
    assert(!one.full && !str_count(buf_str(&one), '\n'));
    peer_add_text(line, MAX_TEXT, PEER_INDENTED, &shown);
    assert(!shown.full && utf8_valid(buf_str(&shown)));
    for (size_t i = 0; i < shown.len; i++)
        assert((unsigned char)shown.data[i] >= 0x20 || strchr("\n\t", shown.data[i]));
}

static void on_line(void *user UNUSED, struct str line)
{
    struct error err;
    json_auto_t *value = NULL;
    check_text(line);
    bool seen = peer_line_answers(line, 7);
    (void)seen;
    if (!peer_line_parse(line, &value, &err))
        return;
    if (!json_is_array(value))
        check_message(value);
    for (size_t i = 0; i < json_array_size(value); i++)
        check_message(json_array_get(value, i));
}

static void on_too_long(void *user UNUSED)
{
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lines lines;
    struct str all = { (const char *)data, size };
    lines_init(&lines, MAX_LINE, on_line, on_too_long, NULL);
    for (size_t at = 0; at < size; at += 100)
        lines_add(&lines, str_sub(all, at, 100));
    lines_end(&lines);
    lines_finish(&lines);
    return 0;
}
