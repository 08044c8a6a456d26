#include "sanitized.h"
#include "shell/pattern.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct match_case {
    const char *pattern, *text;
    bool matches;
};

struct trim_case {
    const char *pattern, *text, *left[4];
};

static const struct match_case match_cases[] = {
    { "", "", true },
    { "", "a", false },
    { "abc", "abc", true },
    { "abc", "ab", false },
    { "abc", "abcd", false },
    { "abc", "ABC", false },
    { "*", "", true },
    { "*", "a", true },
    { "*", ".a", true },
    { "*", "a/b", true },
    { "?", "", false },
    { "?", "a", true },
    { "?", "é", true },
    { "?", "ab", false },
    { "?", "/", true },
    { "a*c", "ac", true },
    { "a*c", "abc", true },
    { "a*c", "abbc", true },
    { "a*c", "abcd", false },
    { "a*c", "aXcYc", true },
    { "*.txt", "a.txt", true },
    { "*.txt", ".txt", true },
    { "*.txt", "a.txt~", false },
    { "*.txt", "x.y.txt", true },
    { "a*b*c", "abc", true },
    { "a*b*c", "aXbYc", true },
    { "a*b*c", "acb", false },
    { "a*b*c", "abcabc", true },
    { "**a", "a", true },
    { "**a", "ba", true },
    { "**a", "b", false },
    { "*a*a*a*", "aaa", true },
    { "*a*a*a*", "aa", false },
    { "*a*a*a*", "xaxaxax", true },
    { "a?c", "abc", true },
    { "a?c", "ac", false },
    { "a?c", "aéc", true },
    { "a?c", "a/c", true },
    { "[abc]", "a", true },
    { "[abc]", "c", true },
    { "[abc]", "d", false },
    { "[abc]", "ab", false },
    { "[abc]", "", false },
    { "[!abc]", "a", false },
    { "[!abc]", "d", true },
    { "[!abc]", "é", true },
    { "[!abc]", "", false },
    { "[^abc]", "a", false },
    { "[^abc]", "d", true },
    { "[a-c]x", "ax", true },
    { "[a-c]x", "cx", true },
    { "[a-c]x", "dx", false },
    { "[a-c]x", "-x", false },
    { "[a-]", "a", true },
    { "[a-]", "-", true },
    { "[a-]", "b", false },
    { "[-a]", "-", true },
    { "[-a]", "a", true },
    { "[-a]", "b", false },
    { "[]a]", "]", true },
    { "[]a]", "a", true },
    { "[]a]", "b", false },
    { "[!]a]", "]", false },
    { "[!]a]", "b", true },
    { "[]-a]", "]", true },
    { "[]-a]", "^", true },
    { "[]-a]", "a", true },
    { "[]-a]", "b", false },
    { "[[:alpha:]]", "a", true },
    { "[[:alpha:]]", "Z", true },
    { "[[:alpha:]]", "é", true },
    { "[[:alpha:]]", "1", false },
    { "[[:alpha:]]", "_", false },
    { "[[:digit:][:upper:]]", "1", true },
    { "[[:digit:][:upper:]]", "Q", true },
    { "[[:digit:][:upper:]]", "q", false },
    { "[[:space:]]", " ", true },
    { "[[:space:]]", "\t", true },
    { "[[:space:]]", "\n", true },
    { "[[:space:]]", "x", false },
    { "[![:space:]]", "x", true },
    { "[![:space:]]", " ", false },
    { "[[:alnum:]_]*", "_x", true },
    { "[[:alnum:]_]*", "9", true },
    { "[[:alnum:]_]*", "-", false },
    { "[[:punct:]]", "!", true },
    { "[[:punct:]]", "~", true },
    { "[[:punct:]]", "a", false },
    { "[[:xdigit:]]", "f", true },
    { "[[:xdigit:]]", "g", false },
    { "[[:xdigit:]]", "F", true },
    { "[[:word:]]", "_", true },
    { "[[:word:]]", "a", true },
    { "[[:word:]]", "-", false },
    { "[[:blank:]]", " ", true },
    { "[[:blank:]]", "\t", true },
    { "[[:blank:]]", "\n", false },
    { "[[:cntrl:]]", "\001", true },
    { "[[:cntrl:]]", "a", false },
    { "[[:foo:]]", "f", false },
    { "[[:foo:]]", "o", false },
    { "[[:foo:]]", ":", false },
    { "[a", "[a", true },
    { "[a", "a", false },
    { "[", "[", true },
    { "[]", "[]", true },
    { "[]", "", false },
    { "[!", "[!", true },
    { "a[", "a[", true },
    { "[[:alpha:]", "a:", false },
    { "[[:alpha:]", "[", false },
    { "[[:alpha:]", "a", false },
    { "\\*", "*", true },
    { "\\*", "a", false },
    { "\\*", "\\*", false },
    { "\\a", "a", true },
    { "\\a", "\\a", false },
    { "a\\", "a\\", true },
    { "a\\", "a", false },
    { "[\\]]", "]", true },
    { "[\\]]", "\\", false },
    { "[\\a]", "a", true },
    { "[\\a]", "\\", false },
    { "[a\\-c]", "a", true },
    { "[a\\-c]", "-", true },
    { "[a\\-c]", "b", false },
    { "[a\\-c]", "c", true },
    { "\\[a]", "[a]", true },
    { "\\[a]", "a", false },
    { "\\\\", "\\", true },
    { "\\\\", "\\\\", false },
    { "[é-ü]", "ê", true },
    { "[é-ü]", "e", false },
    { "[é-ü]", "ü", true },
    { "[à-ö]x", "éx", true },
    { "[à-ö]x", "zx", false },
    { "é*", "é", true },
    { "é*", "éa", true },
    { "é*", "e", false },
    { "*é", "aé", true },
    { "*é", "é", true },
    { "??", "éé", true },
    { "??", "é", false },
    { "??", "ab", true },
    { "??", "€a", true },
    { "[!é]", "e", true },
    { "[!é]", "é", false },
    { "€", "€", true },
    { "[z-a]", "m", false },
    { "[z-a]", "z", false },
    { "[z-a]", "a", false },
    { "[a-a]", "a", true },
    { "[a-a]", "b", false },
    { "[.]", ".", true },
    { "[a/b]", "/", true },
    { "[a/b]", "a", true },
    { "*[!x]", "ax", false },
    { "*[!x]", "xa", true },
    { "*[!x]", "é", true },
    { "[[.a.]]", "a", true },
    { "[[.a.]]", "b", false },
    { "[[=a=]]", "a", true },
    { "[[=a=]]", "b", false },
    { "[[.-.]]", "-", true },
    { "[[.-.]]", "a", false },
    { "[*?]", "*", true },
    { "[*?]", "?", true },
    { "[*?]", "a", false },
    { "[[]", "[", true },
    { "[[]", "a", false },
    { "[a-z-9]", "-", true },
    { "[a-z-9]", "9", true },
    { "[a-z-9]", "5", false },
    { "[a-z-9]", "b", true },
    { "?(a)b", "b", true },
    { "?(a)b", "ab", true },
    { "?(a)b", "aab", false },
    { "*(a)b", "b", true },
    { "*(a)b", "ab", true },
    { "*(a)b", "aaab", true },
    { "*(a)b", "cb", false },
    { "+(a)b", "b", false },
    { "+(a)b", "ab", true },
    { "+(a)b", "aab", true },
    { "@(a|b)c", "ac", true },
    { "@(a|b)c", "bc", true },
    { "@(a|b)c", "abc", false },
    { "@(a|b)c", "c", false },
    { "!(a)", "", true },
    { "!(a)", "a", false },
    { "!(a)", "b", true },
    { "!(a)", "aa", true },
    { "!(a|b)c", "c", true },
    { "!(a|b)c", "ac", false },
    { "!(a|b)c", "bc", false },
    { "!(a|b)c", "dc", true },
    { "!(a|b)c", "abc", true },
    { "!(*.txt)", "a.txt", false },
    { "!(*.txt)", "a.c", true },
    { "!(*.txt)", "", true },
    { "*(a|b|cd)", "abcd", true },
    { "*(a|b|cd)", "abcdc", false },
    { "*(a|b|cd)", "", true },
    { "*(a|b|cd)", "cdcd", true },
    { "+(ab|c)d", "abcabd", true },
    { "+(ab|c)d", "d", false },
    { "+(ab|c)d", "cd", true },
    { "+(ab|c)d", "abd", true },
    { "@(|a)b", "b", true },
    { "@(|a)b", "ab", true },
    { "?(a|ab)b", "ab", true },
    { "?(a|ab)b", "abb", true },
    { "?(a|ab)b", "b", true },
    { "?(a|ab)b", "aabb", false },
    { "*(*(a)b)c", "aabbc", true },
    { "*(*(a)b)c", "c", true },
    { "*(*(a)b)c", "abac", false },
    { "+([0-9])", "123", true },
    { "+([0-9])", "", false },
    { "+([0-9])", "12a", false },
    { "+([[:digit:]]).@(jpg|png)", "12.jpg", true },
    { "+([[:digit:]]).@(jpg|png)", ".png", false },
    { "+([[:digit:]]).@(jpg|png)", "3.gif", false },
    { "!(!(a))", "a", true },
    { "!(!(a))", "b", false },
    { "!(!(a))", "", false },
    { "*!(x)", "xx", true },
    { "*!(x)", "", true },
    { "a!(b)c", "ac", true },
    { "a!(b)c", "abc", false },
    { "a!(b)c", "abbc", true },
    { "a!(b)c", "adc", true },
    { "@(a", "@(a", true },
    { "@(a", "a", false },
    { "(a)", "(a)", true },
    { "(a)", "a", false },
    { "a|b", "a|b", true },
    { "a|b", "a", false },
    { "@(a|b", "@(a|b", true },
    { "@(a\\|b)", "a|b", true },
    { "@(a\\|b)", "a", false },
    { "@([)])", ")", true },
    { "@(a(b)c)", "a(b)c", true },
    { "+(\\*)", "**", true },
    { "+(\\*)", "a", false },
    { "!()", "", false },
    { "!()", "a", true },
    { "@()", "", true },
    { "@()", "a", false },
    { "+()", "", true },
    { "+()", "a", false },
    { "*(foo|bar)baz", "foobarbaz", true },
    { "*(foo|bar)baz", "baz", true },
    { "*(foo|bar)baz", "fobaz", false },
    { "!(foo)*", "foo", true },
    { "!(foo)*", "bar", true },
    { "!(foo)*", "foobar", true },
    { "!(foo*)", "foobar", false },
    { "!(foo*)", "barfoo", true },
    { "!(foo*)", "fo", true },
    { "?(*)x", "x", true },
    { "?(*)x", "abx", true },
    { "?(*)x", "y", false },
    { "@(@(a|b)|c)d", "ad", true },
    { "@(@(a|b)|c)d", "cd", true },
    { "@(@(a|b)|c)d", "d", false },
    { "+(+(a)b)", "aabab", true },
    { "+(+(a)b)", "aab", true },
    { "+(+(a)b)", "ab", true },
    { "+(+(a)b)", "a", false },
    { "*([^/])", "abc", true },
    { "*([^/])", "a/b", false },
    { "!([0-9])", "1", false },
    { "!([0-9])", "12", true },
    { "!([0-9])", "a", true },
    { "+(é)", "éé", true },
    { "+(é)", "e", false },
    { "x?(y", "x?(y", true },
    { "x?(y", "xy", false },
    { "!(a)b", "ab", false },
    { "!(a)b", "b", true },
    { "!(a)b", "cb", true },
    { "!(a)b", "aab", true },
    { "*a!(b)*", "ab", true },
    { "*a!(b)*", "a", true },
    { "*a!(b)*", "xaby", true },
    { "*a!(b)*", "x", false },
    { "-*", "-x", true },
    { "-*", "x", false },
    { "#*", "#a", true },
    { "~", "~", true },
    { "a\nb", "a\nb", true },
    { "*\n*", "a\nb", true },
    { "*\n*", "ab", false },
    { "[\n]", "\n", true },
};

/* With PATTERN_FOLD. */
static const struct match_case fold_cases[] = {
    { "ABC", "abc", true },
    { "a*", "ABC", true },
    { "[a-c]", "B", true },
    { "[A-C]", "b", true },
    { "[!a]", "A", false },
    { "É", "é", true },
    { "é", "É", true },
    { "+(ab)", "aBAb", true },
    { "[[:upper:]]", "a", false },
    { "[[:lower:]]", "A", false },
    { "ß", "ß", true },
    { "x", "y", false },
    { "[é]", "É", true },
    { "?(A)b", "aB", true },
};

/* What is left after #, ##, %, %%. */
static const struct trim_case trim_cases[] = {
    { "*/", "/a/b/c.tar.gz",
            { "a/b/c.tar.gz", "c.tar.gz", "/a/b/c.tar.gz", "/a/b/c.tar.gz" } },
    { "/", "/a/b/c.tar.gz",
            { "a/b/c.tar.gz", "a/b/c.tar.gz", "/a/b/c.tar.gz", "/a/b/c.tar.gz" } },
    { ".*", "/a/b/c.tar.gz",
            { "/a/b/c.tar.gz", "/a/b/c.tar.gz", "/a/b/c.tar", "/a/b/c" } },
    { "*", "/a/b/c.tar.gz", { "/a/b/c.tar.gz", "", "/a/b/c.tar.gz", "" } },
    { "?", "/a/b/c.tar.gz",
            { "a/b/c.tar.gz", "a/b/c.tar.gz", "/a/b/c.tar.g", "/a/b/c.tar.g" } },
    { "*.", "/a/b/c.tar.gz", { "tar.gz", "gz", "/a/b/c.tar.gz", "/a/b/c.tar.gz" } },
    { "/a", "/a/b/c.tar.gz",
            { "/b/c.tar.gz", "/b/c.tar.gz", "/a/b/c.tar.gz", "/a/b/c.tar.gz" } },
    { "c*", "/a/b/c.tar.gz", { "/a/b/c.tar.gz", "/a/b/c.tar.gz", "/a/b/", "/a/b/" } },
    { ".gz", "/a/b/c.tar.gz",
            { "/a/b/c.tar.gz", "/a/b/c.tar.gz", "/a/b/c.tar", "/a/b/c.tar" } },
    { "*.gz", "/a/b/c.tar.gz", { "", "", "/a/b/c.tar", "" } },
    { "[/a]", "/a/b/c.tar.gz",
            { "a/b/c.tar.gz", "a/b/c.tar.gz", "/a/b/c.tar.gz", "/a/b/c.tar.gz" } },
    { "", "/a/b/c.tar.gz",
            { "/a/b/c.tar.gz", "/a/b/c.tar.gz", "/a/b/c.tar.gz", "/a/b/c.tar.gz" } },
    { "x", "/a/b/c.tar.gz",
            { "/a/b/c.tar.gz", "/a/b/c.tar.gz", "/a/b/c.tar.gz", "/a/b/c.tar.gz" } },
    { "*/b", "/a/b/c.tar.gz",
            { "/c.tar.gz", "/c.tar.gz", "/a/b/c.tar.gz", "/a/b/c.tar.gz" } },
    { "+(/*)", "/a/b/c.tar.gz", { "a/b/c.tar.gz", "", "/a/b", "" } },
    { "a", "aaa", { "aa", "aa", "aa", "aa" } },
    { "a*", "aaa", { "aa", "", "aa", "" } },
    { "*a", "aaa", { "aa", "", "aa", "" } },
    { "aa", "aaa", { "a", "a", "a", "a" } },
    { "?", "aaa", { "aa", "aa", "aa", "aa" } },
    { "*(a)", "aaa", { "aaa", "", "aaa", "" } },
    { "+(a)", "aaa", { "aa", "", "aa", "" } },
    { "!(a)", "aaa", { "aaa", "", "aaa", "" } },
    { "@(a|aa)", "aaa", { "aa", "a", "aa", "a" } },
    { "?", "éàü", { "àü", "àü", "éà", "éà" } },
    { "*", "éàü", { "éàü", "", "éàü", "" } },
    { "é", "éàü", { "àü", "àü", "éàü", "éàü" } },
    { "?ü", "éàü", { "éàü", "éàü", "é", "é" } },
    { "[é]", "éàü", { "àü", "àü", "éàü", "éàü" } },
    { "*à", "éàü", { "ü", "ü", "éàü", "éàü" } },
    { "ü", "éàü", { "éàü", "éàü", "éà", "éà" } },
    { "??", "éàü", { "ü", "ü", "é", "é" } },
    { "*(?)", "éàü", { "éàü", "", "éàü", "" } },
    { "!(x)", "éàü", { "éàü", "", "éàü", "" } },
    { "€", "éàü", { "éàü", "éàü", "éàü", "éàü" } },
    { "*foo", "foobarfoo", { "barfoo", "", "foobar", "" } },
    { "foo*", "foobarfoo", { "barfoo", "", "foobar", "" } },
    { "*o", "foobarfoo", { "obarfoo", "", "foobarfo", "" } },
    { "o*", "foobarfoo", { "foobarfoo", "foobarfoo", "foobarfo", "f" } },
    { "f*o", "foobarfoo", { "obarfoo", "", "foobar", "" } },
    { "*b*", "foobarfoo", { "arfoo", "", "foo", "" } },
    { "b*", "foobarfoo", { "foobarfoo", "foobarfoo", "foo", "foo" } },
    { "@(foo|bar)", "foobarfoo", { "barfoo", "barfoo", "foobar", "foobar" } },
    { "+(foo|bar)", "foobarfoo", { "barfoo", "", "foobar", "" } },
    { "!(foo)", "foobarfoo", { "foobarfoo", "", "foobarfoo", "" } },
    { "*!(o)", "foobarfoo", { "foobarfoo", "", "foobarfoo", "" } },
    { "*( )", "  x  ", { "  x  ", "x  ", "  x  ", "  x" } },
    { "+([[:space:]])", "  x  ", { " x  ", "x  ", "  x ", "  x" } },
    { "* ", "  x  ", { " x  ", "", "  x ", "" } },
    { " *", "  x  ", { " x  ", "", "  x ", "" } },
    { "[! ]*", "  x  ", { "  x  ", "  x  ", "  ", "  " } },
    { "*[! ]", "  x  ", { "  ", "  ", "  x  ", "  x  " } },
    { "", "  x  ", { "  x  ", "  x  ", "  x  ", "  x  " } },
    { "*\\\\", "a\\b*c", { "b*c", "b*c", "a\\b*c", "a\\b*c" } },
    { "*\\*", "a\\b*c", { "c", "c", "a\\b*c", "a\\b*c" } },
    { "a\\\\", "a\\b*c", { "b*c", "b*c", "a\\b*c", "a\\b*c" } },
    { "\\**", "a\\b*c", { "a\\b*c", "a\\b*c", "a\\b", "a\\b" } },
    { "*", "a\\b*c", { "a\\b*c", "", "a\\b*c", "" } },
    { "*", "", { "", "", "", "" } },
    { "", "", { "", "", "", "" } },
    { "?", "", { "", "", "", "" } },
    { "a", "", { "", "", "", "" } },
    { "*(a)", "", { "", "", "", "" } },
    { "?", "日本語", { "本語", "本語", "日本", "日本" } },
    { "*本", "日本語", { "語", "語", "日本語", "日本語" } },
    { "本*", "日本語", { "日本語", "日本語", "日", "日" } },
    { "??", "日本語", { "語", "語", "日", "日" } },
    { "[日]", "日本語", { "本語", "本語", "日本語", "日本語" } },
    { "*", "日本語", { "日本語", "", "日本語", "" } },
    { "日本", "日本語", { "語", "語", "日本語", "日本語" } },
};

static void check_matches(
        const struct match_case *cases, size_t count, enum pattern_flags flags)
{
    for (size_t i = 0; i < count; i++) {
        const struct match_case *c = &cases[i];
        if (pattern_match(str_of(c->pattern), str_of(c->text), flags) != c->matches)
            fail_msg("'%s' against '%s'", c->pattern, c->text);
    }
}

static void test_match(void **state)
{
    (void)state;
    check_matches(match_cases, ARRAY_LEN(match_cases), PATTERN_EXTGLOB);
    check_matches(fold_cases, ARRAY_LEN(fold_cases), PATTERN_EXTGLOB | PATTERN_FOLD);
}

static void check_left(const struct trim_case *c, int op, struct str left)
{
    if (!str_is(left, c->left[op]))
        fail_msg("'%s' trimmed by '%s' (%d): '%.*s', not '%s'", c->text, c->pattern, op,
                STR_ARG(left), c->left[op]);
}

static void test_trim(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(trim_cases); i++) {
        const struct trim_case *c = &trim_cases[i];
        struct str pattern = str_of(c->pattern), text = str_of(c->text);
        for (int longest = 0; longest < 2; longest++) {
            ptrdiff_t cut = pattern_match_prefix(pattern, text, longest, PATTERN_EXTGLOB);
            check_left(c, longest, str_from(text, cut > 0 ? (size_t)cut : 0));
            cut = pattern_match_suffix(pattern, text, longest, PATTERN_EXTGLOB);
            check_left(c, 2 + longest,
                    str_sub(text, 0, text.len - (cut > 0 ? (size_t)cut : 0)));
        }
    }
}

static void test_pathname_flags(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        enum pattern_flags flags;
        bool matches;
    } cases[] = {
        { "*", ".a", PATTERN_PERIOD, false },
        { "?a", ".a", PATTERN_PERIOD, false },
        { "*.a", ".a", PATTERN_PERIOD, false },
        { "[.]a", ".a", PATTERN_PERIOD, false },
        { ".*", ".a", PATTERN_PERIOD, true },
        { "*.a", "x.a", PATTERN_PERIOD, true },
        { "*", "a/b", PATTERN_PATHNAME, false },
        { "*/*", "a/b", PATTERN_PATHNAME, true },
        { "a?b", "a/b", PATTERN_PATHNAME, false },
        { "*/b", "a/.x/b", PATTERN_PATHNAME, false },
        { "a/*", "a/.b", PATTERN_PATHNAME | PATTERN_PERIOD, false },
        { "a/.*", "a/.b", PATTERN_PATHNAME | PATTERN_PERIOD, true },
        { "!(x)", ".a", PATTERN_PERIOD | PATTERN_EXTGLOB, false },
        { "@(.a|b)", ".a", PATTERN_PERIOD | PATTERN_EXTGLOB, true },
        { "+(a)", "+(a)", 0, true },
        { "+(a)", "a", 0, false },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (pattern_match(str_of(cases[i].pattern), str_of(cases[i].text),
                    cases[i].flags) != cases[i].matches)
            fail_msg("'%s' against '%s'", cases[i].pattern, cases[i].text);
}

static void test_magic_and_quoting(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        bool magic;
    } cases[] = {
        { "abc", false },
        { "a*", true },
        { "a\\*", false },
        { "a?", true },
        { "[", false },
        { "[a", false },
        { "[a]", true },
        { "\\[a]", false },
        { "+(a)", true },
        { "+(a", false },
        { "\\+(a)", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (pattern_is_magic(str_of(cases[i].pattern), PATTERN_EXTGLOB) != cases[i].magic)
            fail_msg("'%s'", cases[i].pattern);
    auto_buf quoted = BUF(100);
    auto_buf plain = BUF(100);
    struct str text = STR("a*b?[c]\\+(d|e)\n-^!");
    pattern_quote(text, &quoted);
    pattern_unquote(buf_str(&quoted), &plain);
    assert_true(str_eq(buf_str(&plain), text));
    assert_true(pattern_match(buf_str(&quoted), text, PATTERN_EXTGLOB));
    assert_false(pattern_is_magic(buf_str(&quoted), PATTERN_EXTGLOB));
}

static void test_find(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        int from, start, end; /* start -1: none */
    } cases[] = {
        { "b", "abcb", 0, 1, 2 },
        { "b", "abcb", 2, 3, 4 },
        { "x", "abc", 0, -1, 0 },
        { "a*", "xaya", 0, 1, 4 },
        { "[ab]", "xxb", 0, 2, 3 },
        { "?", "éa", 0, 0, 2 },
        { "+(ab)", "xababx", 0, 1, 5 },
        { "*(z)", "ab", 0, 0, 0 },
        { "@(ab|abc)", "xabcd", 0, 1, 4 },
        { "a*b", "aaa", 0, -1, 0 },
        { "?(abc)*x", "abcx", 0, 0, 4 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_arena *arena = arena_create();
        struct pattern *p =
                pattern_compile(str_of(cases[i].pattern), PATTERN_EXTGLOB, arena);
        size_t start = 0, end = 0;
        bool found = pattern_find(
                p, str_of(cases[i].text), (size_t)cases[i].from, &start, &end);
        if (found != (cases[i].start >= 0) ||
                (found && ((int)start != cases[i].start || (int)end != cases[i].end)))
            fail_msg("'%s' in '%s': %d %zu %zu", cases[i].pattern, cases[i].text, found,
                    start, end);
    }
}

/* A megabyte against patterns that are slow when done carelessly; a hang is a failure. */
static void test_large(void **state)
{
    (void)state;
    size_t size = SANITIZED ? 1 << 17 : 1 << 20;
    auto_free char *data = xmalloc(size);
    memset(data, 'a', size);
    struct str text = { data, size };
    assert_false(pattern_match(STR("*a*a*a*a*a*a*a*b"), text, 0));
    assert_true(pattern_match(STR("*(a)"), text, PATTERN_EXTGLOB));
    assert_false(pattern_match(STR("*(*(a)|+(aa))b"), text, PATTERN_EXTGLOB));
    assert_int_equal(pattern_match_prefix(STR("*/"), text, true, 0), -1);
    assert_int_equal(pattern_match_suffix(STR(".*"), text, false, 0), -1);
    assert_int_equal(pattern_match_suffix(STR("a*"), text, false, 0), 1);
    assert_int_equal(pattern_match_prefix(STR("*a"), text, true, 0), size);
    pattern_match(STR("!(!(!(*a*b)))"), text, PATTERN_EXTGLOB);
    auto_arena *arena = arena_create();
    struct pattern *p = pattern_compile(STR("a*b"), 0, arena);
    size_t start, end;
    assert_false(pattern_find(p, text, 0, &start, &end));
    memset(data, '(', size);
    assert_false(pattern_match(text, text, PATTERN_EXTGLOB) &&
                 pattern_match(STR("x"), text, 0));
    for (size_t i = 0; i < size; i += 2)
        data[i] = '@';
    pattern_match(text, STR("x"), PATTERN_EXTGLOB);
}

/* The `n`-th text of these letters: "", "a", "b", ..., "aa", ... */
static struct str nth(size_t n, const char *letters, char text[8])
{
    size_t base = strlen(letters), len = 0;
    for (; n; n = (n - 1) / base)
        text[len++] = letters[(n - 1) % base];
    return (struct str){ text, len };
}

/* Patterns of stars and literals have a shorter road, which PATTERN_PATHNAME bars;
 * without a slash in the text it changes nothing else. */
static void test_starred(void **state)
{
    (void)state;
    char one[8], two[8];
    for (size_t p = 0; p < (SANITIZED ? 250 : 1000); p++)
        for (size_t t = 0; t < 150; t++) {
            struct str pattern = nth(p, "ab*", one), text = nth(t, "ab", two);
            assert_int_equal(pattern_match(pattern, text, 0),
                    pattern_match(pattern, text, PATTERN_PATHNAME));
            for (int longest = 0; longest < 2; longest++) {
                assert_int_equal(pattern_match_prefix(pattern, text, longest, 0),
                        pattern_match_prefix(pattern, text, longest, PATTERN_PATHNAME));
                assert_int_equal(pattern_match_suffix(pattern, text, longest, 0),
                        pattern_match_suffix(pattern, text, longest, PATTERN_PATHNAME));
            }
        }
}

int main(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_match),
        cmocka_unit_test(test_trim),
        cmocka_unit_test(test_pathname_flags),
        cmocka_unit_test(test_magic_and_quoting),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_starred),
        cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
