/* Syntax, longest match, errors, line search; and a comparison with the C library's
 * matcher over generated patterns. */
#include "search/regex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <regex.h>

struct match_case {
    const char *pattern, *subject;
    int start, end; /* -1: no match */
    unsigned flags;
};

static struct regex *compile(
        const char *pattern, enum regex_syntax syntax, unsigned flags)
{
    struct error err;
    struct regex *re = NULL;
    if (!regex_compile(str_of(pattern), syntax, flags, &re, &err))
        fail_msg("'%s': %s", pattern, err.message);
    return re;
}

static void check(const struct match_case *c, enum regex_syntax syntax)
{
    struct regex_match m = { .start = { -1 }, .end = { -1 } };
    struct regex *re = compile(c->pattern, syntax, c->flags);
    enum regex_result r = regex_search(re, str_of(c->subject), 0, false, &m);
    if (r != (c->start < 0 ? REGEX_NO : REGEX_YES) ||
            (r == REGEX_YES && (m.start[0] != c->start || m.end[0] != c->end)))
        fail_msg("'%s' in '%s': got %d [%td,%td)", c->pattern, c->subject, (int)r,
                m.start[0], m.end[0]);
    regex_destroy(re);
}

static void check_all(const struct match_case *cases, size_t n, enum regex_syntax syntax)
{
    for (size_t i = 0; i < n; i++)
        check(&cases[i], syntax);
}

static void test_basic(void **state)
{
    (void)state;
    static const struct match_case cases[] = {
        { "a", "xa", 1, 2, 0 },
        { "", "abc", 0, 0, 0 },
        { "*a", "b*a", 1, 3, 0 },
        { "^*a", "*a", 0, 2, 0 },
        { "\\(*a\\)", "*a", 0, 2, 0 },
        { "\\(^*a\\)", "*a", 0, 2, 0 },
        { "x\\|*b", "*b", 0, 2, 0 },
        { "a\\{2\\}", "caaa", 1, 3, 0 },
        { "a\\{,2\\}b", "aaab", 1, 4, 0 },
        { "a\\{2,\\}", "caaa", 1, 4, 0 },
        { "a\\{,\\}", "aaa", 0, 3, 0 },
        { "a\\{1\\}\\{2\\}", "aaa", 0, 2, 0 },
        { "a+b?", "aab a+b?", 4, 8, 0 },
        { "a\\+b\\?", "caab", 1, 4, 0 },
        { "a{1}", "a a{1}", 2, 6, 0 },
        { "a|b", "b a|b", 2, 5, 0 },
        { "a\\|ab", "ab", 0, 2, 0 },
        { "a^b$c", "a^b$c", 0, 5, 0 },
        { "a\\(^b\\)", "ab a^b", -1, -1, 0 },
        { "x\\|^b", "^b", -1, -1, 0 },
        { "a^*", "a^^", 0, 3, 0 },
        { "a$*", "a$$", 0, 3, 0 },
        { "\\(a$\\)", "ba", 1, 2, 0 },
        { "a$\\|b", "ca", 1, 2, 0 },
        { "\\(ab\\)\\1", "ababab", 0, 4, 0 },
        { "\\(a*\\)b\\1", "aabaa", 0, 5, 0 },
        { "[]a]*", "]a]b", 0, 3, 0 },
        { "[^]a]", "]ab", 2, 3, 0 },
        { "[a-]*", "-a-b", 0, 3, 0 },
        { "[\\]", "a\\", 1, 2, 0 },
        { "[\\n]", "n", 0, 1, 0 },
        { "[[=a=]b]*", "abc", 0, 2, 0 },
        { "[[.-.]-0]*", "-./0", 0, 4, 0 },
        { "[[:digit:][:upper:]]*", "A1b", 0, 2, 0 },
        { "[^[:space:]]*", "ab c", 0, 2, 0 },
        { "\\<b", "ab b", 3, 4, 0 },
        { "a\\>", "ab ca", 4, 5, 0 },
        { "\\bfoo\\b", "foobar foo", 7, 10, 0 },
        { "\\Boo\\B", "oo foox", 4, 6, 0 },
        { "\\w*\\W", "ab_1 c", 0, 5, 0 },
        { "\\s\\S", "a b", 1, 3, 0 },
        { "\\`b", "ab", -1, -1, 0 },
        { "a\\'", "aba", 2, 3, 0 },
        { "\\a\\%", "a%", 0, 2, 0 },
        { "a.b", "a\nb", 0, 3, 0 },
        { "a.b", "a\nb", -1, -1, REGEX_NEWLINE },
        { "a[^x]b", "a\nb", -1, -1, REGEX_NEWLINE },
        { "a\\sb", "a\nb", -1, -1, REGEX_NEWLINE },
        { "a[[:space:]]b", "a\nb", 0, 3, 0 },
        { "^b$", "a\nb\nc", 2, 3, REGEX_NEWLINE },
        { "^b$", "a\nb\nc", -1, -1, 0 },
        { "a$", "a\n", -1, -1, 0 },
        { "b\na", "ccab", 2, 3, REGEX_MULTI },
        { "\\(a\\)\\1\n\\(b\\)\\1", "abb", 1, 3, REGEX_MULTI },
        { "AB", "xab", 1, 3, REGEX_FOLD },
        { "[A-C]*", "abcd", 0, 3, REGEX_FOLD },
        { "[[:lower:]]*", "aB1", 0, 2, REGEX_FOLD },
        { "[^a]", "Ab", 1, 2, REGEX_FOLD },
        { "ab*", "abbc ab", 5, 7, REGEX_WORD | (unsigned)REGEX_FOLD },
        { "foo", "foobar foo", 7, 10, REGEX_WORD },
        { "foo\\|foo-b", "foo-bar", 0, 3, REGEX_WORD },
        { "a*", "aab", -1, -1, REGEX_LINE },
        { "a*b", "aab", 0, 3, REGEX_LINE },
    };
    check_all(cases, ARRAY_LEN(cases), REGEX_BASIC);
}

static void test_extended(void **state)
{
    (void)state;
    static const struct match_case cases[] = {
        { "a+b?c*", "xaab", 1, 4, 0 },
        { "*a", "ba", 1, 2, 0 },
        { "+a", "ba", 1, 2, 0 },
        { "a|*b", "b", 0, 1, 0 },
        { "(*a)", "a", 0, 1, 0 },
        { "^*ab", "ab", 0, 2, 0 },
        { "a**", "aa", 0, 2, 0 },
        { "a+*?", "aa", 0, 2, 0 },
        { "a{2}{2}", "aaaaa", 0, 4, 0 },
        { "a{1", "a{1", 0, 3, 0 },
        { "a{,2", "a{,2", 0, 4, 0 },
        { "a{x}", "a{x}", 0, 4, 0 },
        { "a{,2}", "aaa", 0, 2, 0 },
        { "a{0}b", "ab", 1, 2, 0 },
        { "()b", "b", 0, 1, 0 },
        { "a||b", "b", 0, 1, 0 },
        { "a(|X)b", "aXb", 0, 3, 0 },
        { ")", "a)", 1, 2, 0 },
        { "a)", "a)", 0, 2, 0 },
        { "}]", "}]", 0, 2, 0 },
        { "\\(a\\)", "(a)", 0, 3, 0 },
        { "a^b", "a^b", -1, -1, 0 },
        { "a$b", "a$b", -1, -1, 0 },
        { "(^a)b", "ab", 0, 2, 0 },
        { "(a|ab)(c|bcd)(d*)", "abcd", 0, 4, 0 },
        { "a|ab|abc", "abcd", 0, 3, 0 },
        { "(a|ab)*c", "aababc", 0, 6, 0 },
        { "(a*)(ab)*", "aab", 0, 3, 0 },
        { "(a|b)*", "abac", 0, 3, 0 },
        { "(foo|foobar)(bar)?x?", "foobarx", 0, 7, 0 },
        { "(a(b))\\1?", "abab", 0, 4, 0 },
        { "(.)(.)\\2\\1", "xabbay", 1, 5, 0 },
        { "(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", -1, -1, 0 },
        { "(a|aa)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", -1, -1, 0 },
        { "^(([a-z])+.)+[A-Z]([a-z])+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", -1, -1,
                0 },
        { "x*", "", 0, 0, 0 },
        { "é+", "aéé", 1, 5, 0 },
        { "[é-ü]+", "aéüz", 1, 5, 0 },
        { "[^é]", "éa", 2, 3, 0 },
        { "a.c", "aéc", 0, 4, 0 },
        { "a.c",
                "a\xffz a\xff"
                "c",
                -1, -1, 0 },
        { "b.*",
                "\xff"
                "bx\xff",
                1, 3, 0 },
        { "\\w+", "-éa-", 1, 4, 0 },
        { "[[:alpha:]]+", "1ñ2", 1, 3, 0 },
        { "[[:digit:]]", "\xd9\xa3", -1, -1, 0 },
        { "É", "é", 0, 2, REGEX_FOLD },
        { "k", "\xe2\x84\xaa", 0, 3, REGEX_FOLD },
        { "[k]", "\xe2\x84\xaa", 0, 3, REGEX_FOLD },
        { "\\bé", "aé é", 4, 6, 0 },
        { "a|é", "é", 0, 2, REGEX_WORD },
        { "(é|ée)(ex)?", "éex", 0, 4, 0 },
        { "\xff+", "a\xff\xff", 1, 3, 0 },
    };
    check_all(cases, ARRAY_LEN(cases), REGEX_EXTENDED);
}

static void test_perl_and_fixed(void **state)
{
    (void)state;
    static const struct match_case perl[] = {
        { "a|ab", "ab", 0, 1, 0 },
        { "\\d+(?=x)", "1 23x", 2, 4, 0 },
        { "a.*?b", "aabab", 0, 3, 0 },
        { "(?i)AB", "ab", 0, 2, 0 },
        { "foo\\Kbar", "foobar", 3, 6, 0 },
        { "\\w", "é", -1, -1, 0 },
        { "[é]", "é", 0, 2, 0 },
        { "(?<!a)b", "abb", 2, 3, 0 },
        { "b", "ab b", 3, 4, REGEX_WORD },
        { "a|b", "ab", -1, -1, REGEX_LINE },
    };
    static const struct match_case fixed[] = {
        { "a.*", "ab a.*", 3, 6, 0 },
        { "[x", "a[x", 1, 3, 0 },
        { "foo\nfoobar", "foobar", 0, 6, REGEX_MULTI },
        { "FOO", "a foo", 2, 5, REGEX_FOLD },
        { "", "a", 0, 0, 0 },
        { "\\", "a\\", 1, 2, 0 },
    };
    check_all(perl, ARRAY_LEN(perl), REGEX_PERL);
    check_all(fixed, ARRAY_LEN(fixed), REGEX_FIXED);
}

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *message;
        enum regex_syntax syntax;
    } cases[] = {
        { "\\(a", "Unmatched ( or \\(", REGEX_BASIC },
        { "a\\)", "Unmatched ) or \\)", REGEX_BASIC },
        { "(a", "Unmatched ( or \\(", REGEX_EXTENDED },
        { "[a", "Unmatched [, [^, [:, [., or [=", REGEX_BASIC },
        { "[]", "Unmatched [, [^, [:, [., or [=", REGEX_BASIC },
        { "[[:alpha:", "Unmatched [, [^, [:, [., or [=", REGEX_BASIC },
        { "[b-a]", "Invalid range end", REGEX_BASIC },
        { "[a-a-z]", "Invalid range end", REGEX_BASIC },
        { "[[:alpha:]-z]", "Invalid range end", REGEX_BASIC },
        { "[[:foo:]]", "Invalid character class name", REGEX_BASIC },
        { "[:space:]", "character class syntax is [[:space:]], not [:space:]",
                REGEX_BASIC },
        { "[[.hyphen.]]", "Invalid collation character", REGEX_BASIC },
        { "a\\", "Trailing backslash", REGEX_BASIC },
        { "\\1", "Invalid back reference", REGEX_BASIC },
        { "(a)\\2", "Invalid back reference", REGEX_EXTENDED },
        { "(a\\1)", "Invalid back reference", REGEX_EXTENDED },
        { "a\\{1", "Unmatched \\{", REGEX_BASIC },
        { "a\\{x\\}", "Invalid content of \\{\\}", REGEX_BASIC },
        { "a\\{2,1\\}", "Invalid content of \\{\\}", REGEX_BASIC },
        { "a{2,1}", "Invalid content of \\{\\}", REGEX_EXTENDED },
        { "a{1,2,3}", "Invalid content of \\{\\}", REGEX_EXTENDED },
        { "a{99999}", "Regular expression too big", REGEX_EXTENDED },
        { "((x{1,255}){1,255}){1,255}", "Regular expression too big", REGEX_EXTENDED },
        { "(", "missing closing parenthesis", REGEX_PERL },
        { "a{2,1}", "numbers out of order in {} quantifier", REGEX_PERL },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = { .message = "" };
        struct regex *re;
        if (regex_compile(str_of(cases[i].pattern), cases[i].syntax, 0, &re, &err))
            fail_msg("'%s' compiles", cases[i].pattern);
        assert_string_equal(err.message, cases[i].message);
    }
}

static void test_groups(void **state)
{
    (void)state;
    struct regex_match m;
    struct regex *re = compile("(a|ab)(c|bcd)?(d*)(x)?", REGEX_EXTENDED, 0);
    assert_int_equal(regex_groups(re), 4);
    assert_int_equal(regex_search(re, STR("-abcdd"), 0, false, &m), REGEX_YES);
    assert_int_equal(m.groups, 5);
    assert_int_equal(m.end[0], 6);
    assert_int_equal(m.start[1], 1);
    assert_int_equal(m.end[3], 6);
    assert_int_equal(m.start[4], -1);
    regex_destroy(re);
    re = compile("^a", REGEX_BASIC, 0);
    assert_int_equal(regex_search(re, STR("aa"), 0, true, &m), REGEX_NO);
    assert_int_equal(regex_search(re, STR("aa"), 1, false, &m), REGEX_NO);
    regex_destroy(re);
}

static size_t count_lines(struct regex *re, struct str text, char eol)
{
    size_t n = 0, start, end;
    for (size_t from = 0; regex_find_line(re, text, from, eol, &start, &end) == REGEX_YES;
            from = end + 1) {
        assert_true(start >= from && end <= text.len);
        assert_true(!start || text.data[start - 1] == eol);
        assert_true(end == text.len || text.data[end] == eol);
        n++;
    }
    return n;
}

static size_t count_slowly(struct regex *re, struct str text, char eol)
{
    size_t n = 0;
    while (text.len) {
        struct str line = str_cut(&text, eol);
        n += regex_search(re, line, 0, false, NULL) == REGEX_YES;
    }
    return n;
}

static void test_lines(void **state)
{
    (void)state;
    static const char *const patterns[] = { "1", "^$", "$", "", "x*", "7$", "^12",
        "[^0-9]", "line 1.*3", "foo|bar7", "(9|99)0?$", "é", "\\bé", "N 5", "\\s7",
        "a\\W*1", "(.)\\1\\1", "zzz", "\\w+ [0-9]+ (foo|bar)", "[[:alpha:]x]{4} 2",
        "line[^[:digit:]] 3?", "\\`line", "3\\'" };
    static const unsigned flags[] = { 0, REGEX_FOLD, REGEX_WORD, REGEX_LINE };
    auto_buf text = BUF((size_t)1 << 20);
    for (int i = 0; i < 3000; i++)
        buf_addf(&text, "line %d %s%s\n%s", i, i % 3 ? "foo" : "é", i % 7 ? "" : "bar7",
                i % 11 ? "" : "\n");
    buf_add(&text, STR("last line 13"));
    for (size_t i = 0; i < ARRAY_LEN(patterns); i++)
        for (size_t j = 0; j < 2 * ARRAY_LEN(flags); j++) {
            enum regex_syntax syntax = j % 2 ? REGEX_PERL : REGEX_EXTENDED;
            if (syntax == REGEX_PERL && strpbrk(patterns[i], "`'"))
                continue;
            struct regex *re = compile(patterns[i], syntax,
                    flags[j / 2] | REGEX_NEWLINE | (unsigned)REGEX_MULTI);
            size_t fast = count_lines(re, buf_str(&text), '\n');
            size_t slow = count_slowly(re, buf_str(&text), '\n');
            if (fast != slow)
                fail_msg("'%s' (flags %u): %zu lines, not %zu", patterns[i], flags[j / 2],
                        fast, slow);
            struct regex *copy = regex_copy(re);
            assert_int_equal(count_lines(copy, buf_str(&text), '\n'), slow);
            regex_destroy(re);
            regex_destroy(copy);
        }
    struct regex *re = compile("b$", REGEX_BASIC, 0);
    assert_int_equal(count_lines(re, (struct str){ "ab\0a\nb\0c", 8 }, 0), 2);
    regex_destroy(re);
}

/* A list of texts is searched by an automaton of its own: it must agree with the same
 * list as a regular expression. */
static void test_words(void **state)
{
    (void)state;
    static const unsigned flags[] = { 0, REGEX_FOLD, REGEX_WORD, REGEX_LINE,
        REGEX_FOLD | (unsigned)REGEX_WORD };
    static const char *const subjects[] = { "", "a", "ab", "abc", "xabcab", "bcd abcd",
        "ABC bc", "a b", "foo", "xfoofoobarx", "foobar", "foo bar", "\n", "x\nfoo",
        "zz ab-c", "c.d", "éab", "abé ab" };
    struct str fixed = STR("a\nab\nabcd\nbc\nbcd\nfoo\nfoobar\noba\nc.d\nbar");
    struct str same = STR("a|ab|abcd|bc|bcd|foo|foobar|oba|c\\.d|bar");
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        struct error err;
        struct regex *words, *re;
        unsigned all = flags[i] | REGEX_MULTI | REGEX_NEWLINE;
        assert_true(regex_compile(fixed, REGEX_FIXED, all, &words, &err));
        assert_true(regex_compile(same, REGEX_EXTENDED, all, &re, &err));
        for (size_t j = 0; j < ARRAY_LEN(subjects); j++) {
            struct regex_match a = { .start = { -1 } }, b = { .start = { -1 } };
            struct str s = str_of(subjects[j]);
            for (size_t from = 0; from <= s.len; from++) {
                if (((unsigned char)s.data[from] & 0xC0) == 0x80)
                    continue; /* inside a character */
                enum regex_result r = regex_search(words, s, from, false, &a);
                if (r != regex_search(re, s, from, false, &b) ||
                        (r == REGEX_YES &&
                                (a.start[0] != b.start[0] || a.end[0] != b.end[0])))
                    fail_msg("flags %u, '%s' from %zu: %d [%td,%td) not [%td,%td)",
                            flags[i], subjects[j], from, (int)r, a.start[0], a.end[0],
                            b.start[0], b.end[0]);
                assert_int_equal(regex_search(words, s, from, false, NULL), r);
            }
        }
        regex_destroy(words);
        regex_destroy(re);
    }
}

/* --- against the C library -------------------------------------------------------------
 */

static unsigned next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*seed >> 33);
}

static void add_pattern(struct buf *out, uint64_t *seed, int depth)
{
    unsigned parts = 1 + next_random(seed) % 3;
    for (unsigned i = 0; i < parts; i++) {
        unsigned kind = next_random(seed) % 10;
        if (kind < 5)
            buf_addc(out, "abc"[next_random(seed) % 3]);
        else if (kind == 5)
            buf_add(out, next_random(seed) % 2 ? STR("[ab]") : STR("[^b]"));
        else if (kind == 6)
            buf_addc(out, '.');
        else if (depth) {
            buf_addc(out, '(');
            add_pattern(out, seed, depth - 1);
            if (next_random(seed) % 2) {
                buf_addc(out, '|');
                add_pattern(out, seed, depth - 1);
            }
            buf_addc(out, ')');
        } else
            buf_addc(out, 'a');
        static const char *const repeats[] = { "*", "+", "?", "{2}", "{1,2}", "", "", "",
            "", "" };
        buf_add(out, str_of(repeats[next_random(seed) % ARRAY_LEN(repeats)]));
    }
}

static void test_like_libc(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 4000; i++) {
        auto_buf pattern = BUF(4096);
        char subject[12] = "";
        add_pattern(&pattern, &seed, 2);
        regex_t theirs;
        if (regcomp(&theirs, pattern.data, REG_EXTENDED))
            continue;
        struct regex *ours = compile(pattern.data, REGEX_EXTENDED, 0);
        for (int j = 0; j < 6; j++) {
            for (size_t k = 0; k < 11; k++)
                subject[k] = "abc"[next_random(&seed) % 3];
            regmatch_t wanted = { -1, -1 };
            struct regex_match m = { .start = { -1 }, .end = { -1 } };
            regexec(&theirs, subject, 1, &wanted, 0);
            regex_search(ours, str_of(subject), 0, false, &m);
            if (m.start[0] != wanted.rm_so || m.end[0] != wanted.rm_eo)
                fail_msg("'%s' in '%s': [%td,%td) but libc has [%d,%d)", pattern.data,
                        subject, m.start[0], m.end[0], wanted.rm_so, wanted.rm_eo);
        }
        regfree(&theirs);
        regex_destroy(ours);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_basic),
        cmocka_unit_test(test_extended),
        cmocka_unit_test(test_perl_and_fixed),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_like_libc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
