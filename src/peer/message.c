#include "peer/message.h"

#include "base/utf8.h"

#include <ctype.h>
#include <stdio.h>

static struct str without_mark(struct str line)
{
    struct str mark = STR("\xef\xbb\xbf"); /* of byte order */
    return str_starts(line, mark) ? str_from(line, mark.len) : line;
}

static bool parse_repaired(struct str line, json_t **out, struct error *err)
{
    if (utf8_valid(line))
        return json_parse(line, out, err);
    auto_buf repaired = BUF(line.len * 3 + 1);
    utf8_repair(line, &repaired);
    return json_parse(buf_str(&repaired), out, err);
}

bool peer_line_parse(struct str line, json_t **out, struct error *err)
{
    *err = (struct error){ .code = ERR_NONE };
    line = without_mark(line);
    bool object = line.len && line.data[0] == '{';
    bool array = line.len && line.data[0] == '[';
    if ((!object && !array) || !parse_repaired(line, out, err)) {
        if (!object) /* "[info] listening" */
            err->code = ERR_NONE;
        return false;
    }
    return true;
}

static bool is_id(const json_t *value)
{
    return json_is_string(value) || json_is_integer(value);
}

static enum peer_message_kind kind_of(const json_t *value, const struct peer_message *m)
{
    const json_t *id = json_object_get(value, "id");
    if (json_is_string(json_object_get(value, "method")))
        return !id ? PEER_NOTIFICATION : is_id(id) ? PEER_REQUEST : PEER_NOISE;
    if (json_is_object(json_object_get(value, "error")))
        return m->has_id || !id || json_is_null(id) ? PEER_ERROR : PEER_NOISE;
    return m->has_id && json_object_get(value, "result") ? PEER_RESULT : PEER_NOISE;
}

/* If a number of the message has more than 64 bits, all are reals (json.h). */
static bool read_id(const json_t *value, json_int_t *out)
{
    double real = json_real_value(value);
    if (json_is_real(value) && real >= 0 && real < 1e15)
        *out = (json_int_t)real;
    else
        *out = json_integer_value(value);
    return json_is_integer(value) || (json_is_real(value) && (double)*out == real);
}

void peer_message_read(const json_t *value, struct peer_message *out)
{
    const json_t *id = json_object_get(value, "id");
    *out = (struct peer_message){ .id_value = id,
        .method = json_get_str(value, "method", STR("")) };
    out->has_id = read_id(id, &out->id);
    out->kind = kind_of(value, out);
    if (out->kind == PEER_ERROR)
        out->body = json_object_get(value, "error");
    else if (out->kind == PEER_RESULT)
        out->body = json_object_get(value, "result");
}

/* "7" with nothing behind it that would make it another number. */
static bool starts_with_number(struct str text, struct str number)
{
    if (!str_starts(text, number))
        return false;
    return text.len == number.len || !isalnum((unsigned char)text.data[number.len]);
}

static struct str skip_blanks(struct str text)
{
    while (text.len && (*text.data == ' ' || *text.data == '\t'))
        text = str_from(text, 1);
    return text;
}

bool peer_line_answers(struct str line, json_int_t id)
{
    static const char key[] = "\"id\"";
    char number[24];
    snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, id);
    for (const char *at; (at = memmem(line.data, line.len, key, sizeof(key) - 1));) {
        line = str_from(line, (size_t)(at - line.data) + sizeof(key) - 1);
        struct str rest = skip_blanks(line);
        if (rest.len && *rest.data == ':' &&
                starts_with_number(skip_blanks(str_from(rest, 1)), str_of(number)))
            return true;
    }
    return false;
}

/* Controls of C0 and C1, and what makes text look as if it stood in another order. */
static bool is_hidden(uint32_t code)
{
    return (code < 0x20 && code != '\n' && code != '\t') ||
           (code >= 0x7f && code < 0xa0) || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
           (code >= 0xe0000 && code <= 0xe007f);
}

void peer_add_text(struct str text, size_t max, const char *newline, struct buf *out)
{
    size_t end = out->len + max;
    while (text.len) {
        uint32_t code;
        size_t len = utf8_decode(text, &code);
        struct str shown = str_sub(text, 0, len);
        if (!len || is_hidden(code))
            shown = STR("\xef\xbf\xbd");
        else if (code == '\n')
            shown = str_of(newline);
        if (out->len + shown.len > end) {
            buf_add(out, STR("..."));
            return;
        }
        buf_add(out, shown);
        text = str_from(text, len ? len : 1);
    }
}
