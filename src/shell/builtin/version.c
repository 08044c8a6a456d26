#include "shell/builtin/version.h"

static bool is_digit(char ch)
{
    return ch >= '0' && ch <= '9';
}

static bool is_letter(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
}

/* The end and a digit first, but for '~' which is before even those; then letters. */
static int rank(struct str s, size_t i)
{
    if (i >= s.len || is_digit(s.data[i]))
        return 0;
    if (s.data[i] == '~')
        return -1;
    return is_letter(s.data[i]) ? (unsigned char)s.data[i]
                                : (unsigned char)s.data[i] + 256;
}

static size_t skip_digits(struct str s, size_t i)
{
    while (i < s.len && is_digit(s.data[i]))
        i++;
    return i;
}

static size_t skip_zeros(struct str s, size_t i)
{
    while (i < s.len && s.data[i] == '0')
        i++;
    return i;
}

static int compare_parts(struct str a, struct str b)
{
    size_t i = 0, j = 0;
    while (i < a.len || j < b.len) {
        while ((i < a.len && !is_digit(a.data[i])) ||
                (j < b.len && !is_digit(b.data[j]))) {
            int order = rank(a, i) - rank(b, j);
            if (order)
                return order;
            i++;
            j++;
        }
        i = skip_zeros(a, i);
        j = skip_zeros(b, j);
        size_t i_end = skip_digits(a, i), j_end = skip_digits(b, j);
        if (i_end - i != j_end - j)
            return i_end - i < j_end - j ? -1 : 1;
        int order = str_cmp(str_sub(a, i, i_end - i), str_sub(b, j, j_end - j));
        if (order)
            return order;
        i = i_end;
        j = j_end;
    }
    return 0;
}

/* Length without the file name extensions: (.LETTER[letters, digits, ~]*)* at the end. */
static size_t stem_len(struct str s)
{
    size_t stem = s.len, at = s.len;
    while (at > 1) {
        size_t i = at;
        while (i && (is_letter(s.data[i - 1]) || is_digit(s.data[i - 1]) ||
                            s.data[i - 1] == '~'))
            i--;
        if (i < 2 || i == at || s.data[i - 1] != '.' || is_digit(s.data[i]))
            break;
        stem = at = i - 1;
    }
    return stem;
}

/* "", ".", "..", other hidden names, the rest. */
static int class_of(struct str s)
{
    if (!s.len)
        return 0;
    if (s.data[0] != '.')
        return 4;
    return s.len == 1 ? 1 : s.len == 2 && s.data[1] == '.' ? 2 : 3;
}

int version_cmp(struct str a, struct str b)
{
    int order = class_of(a) - class_of(b);
    if (order)
        return order;
    size_t a_stem = stem_len(a), b_stem = stem_len(b);
    bool same_stem = a_stem == b_stem && !memcmp(a.data, b.data, a_stem);
    if (!same_stem)
        order = compare_parts(str_sub(a, 0, a_stem), str_sub(b, 0, b_stem));
    return order ? order : compare_parts(a, b);
}
