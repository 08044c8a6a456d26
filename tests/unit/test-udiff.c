#include "edit/udiff.h"

#include "base/textline.h"
#include "unit.h"

static void test_hunks(void **state UNUSED)
{
    static const struct {
        const char *before, *after, *diff;
    } table[] = {
        { "a\n", "a\n", "" },
        { "", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n" },
        { "a\n", "", "@@ -1 +0,0 @@\n-a\n" },
        { "a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n" },
        { "a\nb", "a\nb\n",
                "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n" },
        { "a\r\nb\r\n", "a\r\nc\r\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n" },
        { "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nX\n6\n7\n8\n9\n",
                "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+X\n 6\n 7\n 8\n" },
        { "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n",
                "1\nX\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\nY\n14\n",
                "@@ -1,5 +1,5 @@\n 1\n-2\n+X\n 3\n 4\n 5\n"
                "@@ -10,5 +10,5 @@\n 10\n 11\n 12\n-13\n+Y\n 14\n" },
        { "a\na\na\n", "a\na\n", "@@ -1,3 +1,2 @@\n a\n a\n-a\n" },
        { "x\n", "x\ny\n", "@@ -1 +1,2 @@\n x\n+y\n" },
        { "a\fb\n", "a\fB\n", "@@ -1,2 +1,2 @@\n a\n-b\n+B\n" },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        auto_buf out = BUF(4096);
        udiff_add(str_of(table[i].before), str_of(table[i].after), 4096, &out);
        if (!str_is(buf_str(&out), table[i].diff))
            fail_msg("case %zu: '%.*s'", i, STR_ARG(buf_str(&out)));
    }
}

/* Put the lines of a diff's side together, with the lines of `before` between hunks. */
static void apply(struct str before, struct str diff, struct buf *out)
{
    size_t at = 0, line = 1;
    for (struct str rest = diff; rest.len;) {
        struct str row = str_cut(&rest, '\n');
        if (str_starts(row, STR("@@ -"))) {
            size_t start = strtoul(row.data + 4, NULL, 10);
            bool none = row.data[4] == '0' ||
                        memmem(row.data, strcspn(row.data, "+"), ",0", 2);
            for (; line < start + none; line++) {
                buf_add(out, str_sub(before, at, textline_next(before, at) - at));
                at = textline_next(before, at);
            }
            continue;
        }
        if (row.data[0] != '+') {
            at = textline_next(before, at);
            line++;
        }
        if (row.data[0] != '-') {
            buf_add(out, str_from(row, 1));
            buf_addc(out, '\n');
        }
    }
    buf_add(out, str_from(before, at));
}

/* A diff says all of the change. */
static void test_random_texts(void **state UNUSED)
{
    uint32_t seed = 3;
    for (int round = 0; round < 3000; round++) {
        auto_buf before = BUF(4096);
        auto_buf after = BUF(4096);
        auto_buf diff = BUF(65536);
        auto_buf made = BUF(65536);
        for (int i = 0; i < 30; i++) {
            seed = seed * 1664525u + 1013904223u;
            char letter = (char)('a' + (seed >> 20) % 3);
            unsigned what = (seed >> 10) % 8;
            if (what != 0)
                buf_addf(&before, "%c\n", letter);
            if (what != 1)
                buf_addf(&after, "%c\n", what == 2 ? 'z' : letter);
        }
        udiff_add(buf_str(&before), buf_str(&after), 65536, &diff);
        apply(buf_str(&before), buf_str(&diff), &made);
        if (!str_eq(buf_str(&made), buf_str(&after)))
            fail_msg("'%s' '%s': '%s'", before.data, after.data, diff.data);
    }
}

static void test_a_ceiling(void **state UNUSED)
{
    auto_buf before = BUF(65536);
    auto_buf out = BUF(65536);
    for (int i = 0; i < 1000; i++)
        buf_addf(&before, "line %d\n", i);
    udiff_add(buf_str(&before), STR(""), 2048, &out);
    assert_in_range(out.len, 2048, 2200);
    assert_true(
            str_ends(buf_str(&out), STR("[truncated: the diff is longer than 2 KB]\n")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hunks),
        cmocka_unit_test(test_random_texts),
        cmocka_unit_test(test_a_ceiling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
