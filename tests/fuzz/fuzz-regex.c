/* Compile the first line of the input in every syntax, search the rest, and compare: the
 * bounds must lie in the subject, and a line search must agree with a search by lines. */
#include "base/utf8.h"
#include "fuzz.h"
#include "search/regex.h"

static void search_all(struct regex *re, struct str text)
{
    struct regex_match m;
    for (size_t at = 0;
            at <= text.len && regex_search(re, text, at, false, &m) == REGEX_YES;) {
        size_t start = (size_t)m.start[0], end = (size_t)m.end[0];
        assert(m.start[0] >= 0 && end <= text.len);
        for (size_t i = 0; i < m.groups; i++)
            assert(m.start[i] < 0 || (size_t)m.end[i] <= text.len);
        at = end > at ? end : at + 1;
        (void)start;
    }
}

/* Next to bytes that are no characters, PCRE2 may or may not see an empty match,
 * depending on what follows: then only the bounds are checked. */
static void find_lines(struct regex *re, struct str text)
{
    size_t start, end, from = 0;
    bool valid = utf8_valid(text);
    enum regex_result r;
    while ((r = regex_find_line(re, text, from, '\n', &start, &end)) != REGEX_NO) {
        assert(start >= from && start <= end && end <= text.len);
        struct str line = str_sub(text, start, end - start);
        assert(!valid || r == REGEX_LIMIT ||
                regex_search(re, line, 0, false, NULL) == REGEX_YES);
        for (struct str skipped = str_sub(text, from, start - from); skipped.len;)
            assert(regex_search(re, str_cut(&skipped, '\n'), 0, false, NULL) !=
                            REGEX_YES ||
                    !valid);
        from = end + 1;
        if (from >= text.len)
            break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned modes[] = { 0, REGEX_FOLD, REGEX_WORD, REGEX_LINE };
    if (size < 2)
        return 0;
    struct str text = { (const char *)data + 1, size - 1 };
    struct str pattern = str_cut(&text, '\n');
    unsigned flags = modes[data[0] & 3] | REGEX_NEWLINE | REGEX_MULTI;
    for (int syntax = REGEX_BASIC; syntax <= REGEX_FIXED; syntax++) {
        struct error err;
        struct regex *re;
        if (!regex_compile(pattern, (enum regex_syntax)syntax, flags, &re, &err))
            continue;
        search_all(re, text);
        find_lines(re, text);
        struct regex *copy = regex_copy(re);
        search_all(copy, text);
        regex_destroy(copy);
        regex_destroy(re);
    }
    return 0;
}
