#include "fuzz.h"
#include "policy/deny.h"

/* By definition, for `*`, `?` and plain characters; exponential, so only for short ones.
 */
static bool matches(struct str pattern, struct str text)
{
    if (!pattern.len)
        return !text.len;
    if (pattern.data[0] == '*')
        return matches(str_from(pattern, 1), text) ||
               (text.len && matches(pattern, str_from(text, 1)));
    return text.len && (pattern.data[0] == '?' || pattern.data[0] == text.data[0]) &&
           matches(str_from(pattern, 1), str_from(text, 1));
}

static bool is_simple(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if ((unsigned char)s.data[i] >= 0x80 || s.data[i] == '[')
            return false;
    }
    return s.len <= 10;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, size }, pattern = str_cut(&text, '\n');
    bool plain = glob_component_match(pattern, text, false);
    bool folded = glob_component_match(pattern, text, true);
    if (is_simple(pattern) && is_simple(text)) {
        assert(plain == matches(pattern, text));
        assert(!plain || folded);
    }
    return 0;
}
