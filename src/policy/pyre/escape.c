#include "base/utf8.h"
#include "policy/pyre/internal.h"

static bool is_octal(struct str token)
{
    return token.len == 1 && token.data[0] >= '0' && token.data[0] <= '7';
}

static bool is_digit(struct str token)
{
    return token.len == 1 && token.data[0] >= '0' && token.data[0] <= '9';
}

static bool is_hex(struct str token)
{
    return token.len == 1 && strchr("0123456789abcdefABCDEF", token.data[0]) &&
           token.data[0];
}

static struct str written(const struct py_reader *r, size_t at)
{
    return str_sub(r->text, at, r->at - at);
}

static bool bad_escape(struct py_reader *r, size_t at)
{
    return py_fail(r, at, "bad escape %.*s", STR_ARG(written(r, at)));
}

/* \xhh, \uhhhh, \Uhhhhhhhh */
static bool read_hex(struct py_reader *r, size_t at, unsigned digits, uint32_t *out)
{
    uint64_t code = 0;
    unsigned count = 0;
    for (; count < digits && is_hex(py_peek(r)); count++) {
        char c = py_get(r).data[0];
        code = code * 16 + (unsigned)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    if (count < digits)
        return py_fail(r, at, "incomplete escape %.*s", STR_ARG(written(r, at)));
    if (code > 0x10ffff)
        return bad_escape(r, at);
    if (code >= 0xd800 && code < 0xe000)
        return py_fail(r, at, "unsupported: the surrogate %.*s", STR_ARG(written(r, at)));
    *out = (uint32_t)code;
    return true;
}

/* The escape written from `at` to here. */
static bool octal_value(struct py_reader *r, size_t at, uint32_t *out)
{
    struct str digits = str_from(written(r, at), 1);
    uint32_t code = 0;
    for (size_t i = 0; i < digits.len; i++)
        code = code * 8 + (unsigned)(digits.data[i] - '0');
    if (code > 0377)
        return py_fail(r, at, "octal escape value %.*s outside of range 0-0o377",
                STR_ARG(written(r, at)));
    *out = code;
    return true;
}

static bool read_octal(struct py_reader *r, size_t at, uint32_t *out)
{
    for (unsigned i = 0; i < 2 && is_octal(py_peek(r)); i++)
        py_get(r);
    return octal_value(r, at, out);
}

bool py_check_reference(struct py_reader *r, size_t group, size_t at)
{
    bool known = group < r->group_count;
    if (known && r->groups[group].open)
        return py_fail(r, at, "cannot refer to an open group");
    if (r->lookbehind_groups && !known)
        return py_fail(r, at, "cannot refer to an open group");
    if (r->lookbehind_groups && group >= r->lookbehind_groups)
        return py_fail(r, r->at,
                "cannot refer to group defined in the same lookbehind subpattern");
    return true;
}

/* A number that does not start with 0: three octal digits, or a group. */
static bool read_number(
        struct py_reader *r, struct str token, size_t at, struct py_escape *out)
{
    if (is_digit(py_peek(r))) {
        struct str second = py_get(r), first = str_from(token, 1);
        if (is_octal(first) && is_octal(second) && is_octal(py_peek(r))) {
            py_get(r);
            return octal_value(r, at, &out->code);
        }
    }
    int64_t group = 0;
    if (!str_int(str_from(written(r, at), 1), &group) || (size_t)group >= r->group_count)
        return py_fail(r, at + 1, "invalid group reference %d", (int)group);
    out->kind = PY_REFERENCE;
    out->code = (uint32_t)group;
    return py_check_reference(r, (size_t)group, at);
}

static bool read_letter(
        struct py_reader *r, char c, size_t at, bool in_set, struct py_escape *out)
{
    static const char plain[] = "abfnrtv", values[] = "\a\b\f\n\r\t\v";
    const char *known = strchr(plain, c);
    if (known && (c != 'b' || in_set)) {
        out->code = (unsigned char)values[known - plain];
        return true;
    }
    out->code = (unsigned char)c;
    if (strchr("dDsSwW", c)) {
        out->kind = PY_CATEGORY;
        return true;
    }
    if (strchr("AZbB", c) && !in_set) {
        out->kind = PY_PLACE;
        return true;
    }
    if (c == 'x' || c == 'u' || c == 'U')
        return read_hex(r, at, c == 'x' ? 2 : c == 'u' ? 4 : 8, &out->code);
    if (c == 'N')
        return py_fail(r, at, "unsupported: a character by its name, \\N{...}");
    return bad_escape(r, at);
}

bool py_read_escape(struct py_reader *r, struct str token, size_t at, bool in_set,
        struct py_escape *out)
{
    char c = token.data[1];
    *out = (struct py_escape){ .kind = PY_CODE };
    if ((c | 32) >= 'a' && (c | 32) <= 'z')
        return read_letter(r, c, at, in_set, out);
    if (c == '0' || (in_set && c >= '0' && c <= '7'))
        return read_octal(r, at, &out->code);
    if (c >= '1' && c <= '9')
        return in_set ? bad_escape(r, at) : read_number(r, token, at, out);
    utf8_decode(str_from(token, 1), &out->code);
    return true;
}
