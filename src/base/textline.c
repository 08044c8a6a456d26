#include "base/textline.h"

#include "base/lanes.h"
#include "base/utf8.h"

size_t textline_break(struct str text, size_t at)
{
    unsigned char c = (unsigned char)text.data[at];
    if (c == '\r')
        return at + 1 < text.len && text.data[at + 1] == '\n' ? 2 : 1;
    if (c < 0x80)
        return (c >= '\n' && c <= '\f') || (c >= 0x1c && c <= 0x1e);
    if (c != 0xc2 && c != 0xe2)
        return 0;
    uint32_t code;
    size_t len = utf8_decode(str_from(text, at), &code);
    return code == 0x85 || code == 0x2028 || code == 0x2029 ? len : 0;
}

/* Bytes with which a line break can begin. */
static lanes_t may_break(lanes_t v)
{
    return (lanes_t)(v - '\n' <= 3) | (lanes_t)(v - 0x1c <= 2) | (lanes_t)(v == 0xc2) |
           (lanes_t)(v == 0xe2);
}

size_t textline_end(struct str text, size_t at)
{
    while (at < text.len) {
        if (text.len - at >= LANES) {
            unsigned mask = lanes_mask(may_break(lanes_load(text.data + at)));
            at += mask ? (size_t)__builtin_ctz(mask) : LANES;
            if (!mask)
                continue;
        }
        if (textline_break(text, at))
            break;
        at++;
    }
    return at;
}

size_t textline_next(struct str text, size_t at)
{
    size_t end = textline_end(text, at);
    return end < text.len ? end + textline_break(text, end) : end;
}

size_t textline_plain(struct str text)
{
    size_t i = 0;
    for (; text.len - i >= LANES; i += LANES) {
        lanes_t v = lanes_load(text.data + i);
        unsigned mask = lanes_mask((lanes_t)(v - '\v' <= 2) | (lanes_t)(v - 0x1c <= 2) |
                                   (lanes_t)(v >= 0x80));
        if (mask)
            return i + (size_t)__builtin_ctz(mask);
    }
    for (; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c >= 0x80 || (c >= '\v' && c <= '\r') || (c >= 0x1c && c <= 0x1e))
            break;
    }
    return i;
}
