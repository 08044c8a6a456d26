#include "fuzz.h"
#include "shell/pattern.h"

#define MAX_SIZE 300 /* !(...) inside !(...) is slow on purpose-made text */

static void check_prefix(struct str pattern, struct str text, enum pattern_flags flags)
{
    ptrdiff_t shortest = pattern_match_prefix(pattern, text, false, flags);
    ptrdiff_t longest = pattern_match_prefix(pattern, text, true, flags);
    assert(shortest <= longest && longest <= (ptrdiff_t)text.len);
    assert((shortest < 0) == (longest < 0));
    if (longest >= 0)
        assert(pattern_match(pattern, str_sub(text, 0, (size_t)longest), flags));
    if (pattern_match(pattern, text, flags))
        assert(longest == (ptrdiff_t)text.len);
}

static void check_suffix(struct str pattern, struct str text, enum pattern_flags flags)
{
    ptrdiff_t shortest = pattern_match_suffix(pattern, text, false, flags);
    ptrdiff_t longest = pattern_match_suffix(pattern, text, true, flags);
    assert(shortest <= longest && longest <= (ptrdiff_t)text.len);
    if (longest >= 0)
        assert(pattern_match(pattern, str_from(text, text.len - (size_t)longest), flags));
    if (pattern_match(pattern, text, flags))
        assert(longest == (ptrdiff_t)text.len);
}

static void check_find(struct str pattern, struct str text, enum pattern_flags flags)
{
    auto_arena *arena = arena_create();
    struct pattern *p = pattern_compile(pattern, flags, arena);
    size_t start = 0, end = 0;
    if (!pattern_find(p, text, 0, &start, &end))
        return;
    assert(start <= end && end <= text.len);
    assert(pattern_test(p, str_sub(text, start, end - start)));
}

static void check_quoted(struct str text, enum pattern_flags flags)
{
    auto_buf quoted = BUF(text.len * 2);
    auto_buf plain = BUF(text.len * 2);
    pattern_quote(text, &quoted);
    pattern_unquote(buf_str(&quoted), &plain);
    assert(str_eq(buf_str(&plain), text));
    assert(!pattern_is_magic(buf_str(&quoted), flags));
    assert(pattern_match(buf_str(&quoted), text, flags));
}

/* The input is flags, pattern, 0x01, text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size || size > MAX_SIZE)
        return 0;
    struct str text = { (const char *)data + 1, size - 1 };
    struct str pattern = str_cut(&text, 1);
    enum pattern_flags trims = data[0] & (PATTERN_FOLD | PATTERN_EXTGLOB);
    check_prefix(pattern, text, trims);
    check_suffix(pattern, text, trims);
    check_find(pattern, text, trims);
    check_quoted(text, trims);
    (void)pattern_match(pattern, text, data[0] & 15);
    return 0;
}
