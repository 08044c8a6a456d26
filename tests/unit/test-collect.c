#include "broker/collect.h"

#include "unit.h"

/* Whatever the sizes of the pieces, what is kept and what is counted is the stream. */
static void test_pieces(void **state UNUSED)
{
    static const size_t sizes[] = { 0, 1, 7, 30, 31, 64 };
    char stream[200];
    for (size_t i = 0; i < sizeof(stream); i++)
        stream[i] = i % 5 == 4 ? '\n' : (char)('a' + i % 26);
    for (size_t h = 0; h < ARRAY_LEN(sizes); h++)
        for (size_t t = 0; t < ARRAY_LEN(sizes); t++)
            for (size_t piece = 1; piece < 150; piece += 13)
                for (size_t length = 0; length <= sizeof(stream); length += 25) {
                    struct str all = { stream, length };
                    struct collector c;
                    collector_init(&c, sizes[h], sizes[t]);
                    for (size_t at = 0; at < length; at += piece)
                        collector_add(&c, str_sub(all, at, piece));
                    struct str head = buf_str(&c.head), tail = collector_tail(&c);
                    size_t dropped = (size_t)collector_dropped(&c);
                    struct str gap = str_sub(all, head.len, dropped);
                    assert_int_equal(head.len + dropped + tail.len, length);
                    assert_true(str_eq(head, str_sub(all, 0, head.len)));
                    assert_true(str_eq(tail, str_from(all, length - tail.len)));
                    assert_int_equal(collector_dropped_lines(&c), str_count(gap, '\n'));
                    collector_finish(&c);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_pieces) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
