#include "shell/letter.h"

#include "base/utf8.h"

#include <wctype.h>

#define BAD_BYTE 0x110000U /* + the byte */

size_t letter_decode(struct str s, uint32_t *code)
{
    unsigned char first = (unsigned char)s.data[0];
    if (first < 0x80) {
        *code = first;
        return 1;
    }
    size_t len = utf8_decode(s, code);
    if (len)
        return len;
    *code = BAD_BYTE + first;
    return 1;
}

uint32_t letter_change(uint32_t code, enum letter_case to)
{
    if (code >= BAD_BYTE || to == LETTER_KEEP)
        return code;
    wint_t upper = towupper(code), lower = towlower(code);
    if (to == LETTER_TOGGLE)
        return upper != code ? upper : lower;
    return to == LETTER_UPPER ? upper : lower;
}

bool letter_in_class(uint32_t code, struct str class)
{
    char name[16];
    if (code >= BAD_BYTE || class.len >= sizeof(name))
        return false;
    if (str_is(class, "word"))
        return code == '_' || iswalnum(code);
    if (str_is(class, "ascii"))
        return code < 0x80;
    memcpy(name, class.data, class.len);
    name[class.len] = 0;
    wctype_t type = wctype(name);
    return type && iswctype(code, type);
}

void letter_add(struct buf *out, struct str s, enum letter_case to)
{
    uint32_t code = 0;
    if (letter_decode(s, &code) != s.len || code >= BAD_BYTE ||
            letter_change(code, to) == code) {
        buf_add(out, s);
        return;
    }
    char bytes[4];
    buf_add(out, (struct str){ bytes, utf8_write(letter_change(code, to), bytes) });
}

void letter_add_all(struct buf *out, struct str s, enum letter_case to)
{
    while (s.len) {
        uint32_t code = 0;
        size_t len = letter_decode(s, &code);
        letter_add(out, str_sub(s, 0, len), to);
        s = str_from(s, len);
    }
}
