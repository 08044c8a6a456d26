#include "base/clean-text.h"

#include "unit.h"

#include "base/utf8.h"

static const struct {
    const char *in, *cleaned, *raw;
} cases[] = {
    { "", "", "" },
    { "plain\nlines\n", "plain\nlines\n", "plain\nlines\n" },
    { "no end", "no end", "no end" },
    { "\n\n", "\n\n", "\n\n" },
    { "one\r\ntwo\r\n", "one\ntwo\n", "one\ntwo\n" },
    { "bad \xff\xc3 byte", "bad \ufffd\ufffd byte", "bad \ufffd\ufffd byte" },
    { "gr\u00fc\u00dfe \u2603\n", "gr\u00fc\u00dfe \u2603\n",
            "gr\u00fc\u00dfe \u2603\n" },
    /* rewritten lines */
    { "1%\r50%\r100%\ndone\n", "100%\ndone\n", "1%\r50%\r100%\ndone\n" },
    { "\r1%\r2%\n", "2%\n", "\r1%\r2%\n" },
    { "1%\r2%\r\n", "2%\n", "1%\r2%\n" },
    { "1%\r2%\r", "2%", "1%\r2%\r" },
    { "a\r\r\r\n", "a\n", "a\r\r\n" },
    { "\r", "", "\r" },
    { "x\r\x1b[K\n", "x\n", "x\r\x1b[K\n" },
    { "50%\r\x1b[2K100%\n", "100%\n", "50%\r\x1b[2K100%\n" },
    /* escape sequences */
    { "\x1b[31mred\x1b[0m", "red", "\x1b[31mred\x1b[0m" },
    { "\x1b[1;38;5;208mx\x1b[m", "x", NULL },
    { "\x1b[?25lx\x1b[?25h", "x", NULL },
    { "\x1b[4 qx", "x", NULL },
    { "\x1b]0;title\ax", "x", NULL },
    { "\x1b]8;;http://a/b\x1b\\link\x1b]8;;\x1b\\!", "link!", NULL },
    { "\x1bP1$r0m\x1b\\x", "x", NULL },
    { "\x1b(Bx\x1b)0y", "xy", NULL },
    { "\x1b"
      "7x\x1b"
      "8\x1b=\x1b>\x1b"
      "c",
            "x", NULL },
    { "\x1b[2Ja\x1b[Hb", "ab", NULL },
    /* what is no whole sequence takes nothing else along */
    { "x\x1b", "x", NULL },
    { "x\x1b[", "x", NULL },
    { "x\x1b[31", "x", NULL },
    { "a\x1b[31\u00e9", "a\u00e9", NULL },
    { "\x1b]0;no end\nnext\n", "0;no end\nnext\n", NULL },
    { "\x1b]0;no end", "0;no end", NULL },
    { "\x1b]a\x1b]b\ac", "ac", NULL },
    { "\x1b[31m\n\x1b[0m\n", "\n\n", NULL },
};

static void test_cases(void **state UNUSED)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_buf cleaned = BUF(4096), raw = BUF(4096);
        clean_text(str_of(cases[i].in), false, &cleaned);
        clean_text(str_of(cases[i].in), true, &raw);
        assert_string_equal(buf_str(&cleaned).data, cases[i].cleaned);
        if (cases[i].raw)
            assert_string_equal(buf_str(&raw).data, cases[i].raw);
    }
}

static void test_nul_is_kept(void **state UNUSED)
{
    auto_buf out = BUF(64);
    clean_text(STR("a\0b\n"), false, &out);
    assert_int_equal(out.len, 4);
    assert_memory_equal(out.data, "a\0b\n", 4);
}

/* Any bytes give valid text, and it takes no longer than the text is long. */
static void test_hostile(void **state UNUSED)
{
    static const char *const units[] = { "\x1b]", "\x1b", "\x1b[", "\r", "\x1bP\x1b",
        "\xff", "\x1b[\r\n", "\x1b]\xc2" };
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        auto_buf in = BUF((size_t)1 << 21), out = BUF((size_t)1 << 23);
        while (in.len < (size_t)1 << 20)
            buf_add(&in, str_of(units[i]));
        clean_text(buf_str(&in), false, &out);
        assert_true(utf8_valid(buf_str(&out)));
        assert_false(out.full);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_nul_is_kept),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
