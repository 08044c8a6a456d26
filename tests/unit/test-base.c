#include "base/arena.h"
#include "base/budget.h"
#include "base/file.h"
#include "base/utf8.h"
#include "base/wire.h"
#include "sanitized.h"
#include "scratch.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void append_a(void *p)
{
    buf_addc(p, 'a');
}

static void append_b(void *p)
{
    buf_addc(p, 'b');
}

static void test_arena_runs_what_was_deferred_since_the_mark(void **state)
{
    (void)state;
    auto_buf order = BUF(100);
    struct arena *a = arena_create();
    arena_defer(a, append_a, &order);
    struct arena_mark mark = arena_mark(a);
    for (int i = 0; i < 1000; i++)
        memset(arena_alloc(a, 5000), i, 5000);
    arena_defer(a, append_b, &order);
    arena_defer(a, append_b, &order);
    arena_rewind(a, mark);
    assert_true(str_is(buf_str(&order), "bb"));
    assert_true(arena_size(a) < 20000);
    arena_destroy(a);
    assert_true(str_is(buf_str(&order), "bba"));
    arena_destroy(NULL);
}

static void test_arena_text(void **state)
{
    (void)state;
    auto_arena *a = arena_create();
    struct str copy = arena_str(a, STR("abc"));
    assert_int_equal(copy.data[3], 0);
    assert_string_equal(arena_printf(a, "%s-%d", "x", 7), "x-7");
    assert_int_equal((uintptr_t)arena_alloc(a, 1) % 16, 0);
}

static void test_buf_ceiling(void **state)
{
    (void)state;
    auto_buf b = BUF(5);
    buf_add(&b, STR("abc"));
    assert_false(b.full);
    buf_add(&b, STR("def"));
    assert_true(b.full);
    buf_add(&b, STR("g"));
    assert_true(str_is(buf_str(&b), "abc"));
    buf_clear(&b);
    buf_addf(&b, "%d", 12345);
    assert_true(str_is(buf_str(&b), "12345"));
}

static void test_str(void **state)
{
    (void)state;
    struct str rest = STR("a,b,,c");
    static const char *const want[] = { "a", "b", "", "c" };
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        assert_true(str_is(str_cut(&rest, ','), want[i]));
    assert_int_equal(rest.len, 0);
    assert_true(str_cmp(STR("a"), STR("ab")) < 0);
    assert_true(str_cmp(STR("b"), STR("ab")) > 0);
    assert_true(str_starts(STR("abc"), STR("ab")) && !str_starts(STR("a"), STR("ab")));
    assert_true(str_ends(STR("abc"), STR("bc")) && !str_ends(STR("c"), STR("bc")));
    assert_int_equal(str_sub(STR("abc"), 2, 9).len, 1);
}

static void test_str_which(void **state UNUSED)
{
    static const char *const words[] = { "one", "two" };
    assert_int_equal(str_which(STR("one"), words, 2), 0);
    assert_int_equal(str_which(STR("two"), words, 2), 1);
    assert_int_equal(str_which(STR("tw"), words, 2), 2);
    assert_int_equal(str_which(STR("two"), words, 1), 1);
    assert_int_equal(str_which(STR(""), words, 0), 0);
}

static void test_buf_ways(void **state UNUSED)
{
    auto_buf b = BUF(100);
    buf_add_hex(&b, "\x00\x7f\xa0\xff", 4);
    assert_true(str_is(buf_str(&b), "007fa0ff"));
    buf_clear(&b);
    buf_add_shown(&b, STR("a\tb\n\x1b[1m\x7f\0 \xc3\xa9"));
    assert_true(str_is(buf_str(&b), "a?b??[1m?? \xc3\xa9"));
    buf_clear(&b);
    buf_add_escaped(&b, STR("a\tb\n\x7f\0 \xc3\xa9"));
    assert_true(str_is(buf_str(&b), "a\\x09b\\x0a\\x7f\\x00 \xc3\xa9"));
}

static void test_file_read(void **state UNUSED)
{
    char folder[] = "/tmp/paddock-base-XXXXXX";
    scratch_make(folder);
    auto_arena *arena = arena_create();
    struct str text = STR("before");
    const char *fifo = arena_printf(arena, "%s/fifo", folder);
    const char *file = arena_printf(arena, "%s/file", folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(file_read(fifo, 10, arena, &text), EISDIR);
    assert_int_equal(file_read(folder, 10, arena, &text), EISDIR);
    assert_int_equal(file_read(file, 10, arena, &text), ENOENT);
    auto_fd int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "abc", 3), 3);
    assert_int_equal(file_read(file, 2, arena, &text), EFBIG);
    assert_true(str_is(text, "before"));
    assert_int_equal(file_read(file, 3, arena, &text), 0);
    assert_string_equal(text.data, "abc");
    scratch_remove(folder);
}

static void test_str_count(void **state UNUSED)
{
    assert_int_equal(str_count(STR(""), 'a'), 0);
    assert_int_equal(str_count(STR("abca"), 'a'), 2);
    assert_int_equal(str_count(STR("\n\n\n"), '\n'), 3);
    assert_int_equal(str_count(STR("bcd"), 'a'), 0);
}

static void test_str_int(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } cases[] = {
        { "0", true, 0 },
        { "-7", true, -7 },
        { "+7", true, 7 },
        { "9223372036854775807", true, INT64_MAX },
        { "-9223372036854775808", true, INT64_MIN },
        { "9223372036854775808", false, 0 },
        { "-9223372036854775809", false, 0 },
        { "", false, 0 },
        { "-", false, 0 },
        { "1x", false, 0 },
        { " 1", false, 0 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t n = 99;
        assert_int_equal(str_int(str_of(cases[i].text), &n), cases[i].ok);
        assert_true(n == (cases[i].ok ? cases[i].value : 99));
    }
}

static void test_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *repaired;
        bool valid;
    } cases[] = {
        { "plain", "plain", true },
        { "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
                true },
        { "a\xffz", "a\xef\xbf\xbdz", false },
        { "\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd", false }, /* overlong NUL */
        { "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", false }, /* surrogate */
        { "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", false },
        { "\xe2\x82", "\xef\xbf\xbd", false }, /* cut off: one mark for the part */
        { "\xe2\x82z", "\xef\xbf\xbdz", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_buf out = BUF(1000);
        assert_int_equal(utf8_valid(str_of(cases[i].bytes)), cases[i].valid);
        utf8_repair(str_of(cases[i].bytes), &out);
        assert_true(str_is(buf_str(&out), cases[i].repaired));
        assert_true(utf8_valid(buf_str(&out)));
    }
    assert_int_equal(utf8_count(STR("a\xc3\xa9\xff!")), 4);
    assert_int_equal(utf8_offset(STR("a\xc3\xa9z"), 2), 3);
    static const struct str mixed = STR("a\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80\xff");
    static const size_t starts[] = { 0, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11 };
    static const size_t ends[] = { 0, 1, 1, 1, 1, 5, 5, 5, 8, 10, 11, 11 };
    assert_int_equal(utf8_cost(mixed), 10);
    for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
        assert_int_equal(utf8_cost_offset(mixed, i), starts[i]);
        assert_int_equal(utf8_cost_tail(mixed, i), ends[i]);
    }
    char text[4];
    uint32_t code;
    for (uint32_t c = 1; c < 0x110000; c += 97) {
        if (c >= 0xd800 && c < 0xe000)
            continue;
        size_t n = utf8_write(c, text);
        assert_int_equal(utf8_decode((struct str){ text, n }, &code), n);
        assert_int_equal(code, c);
    }
}

static void test_budget_keeps_the_first_reason(void **state)
{
    (void)state;
    volatile sig_atomic_t alarm = 0;
    struct budget b = { .steps = 10, .max_steps = 10, .alarm = &alarm };
    assert_true(budget_spend(&b, 10));
    assert_false(budget_spend(&b, 1));
    assert_int_equal(b.stop, BUDGET_STEPS);
    alarm = BUDGET_TIME;
    assert_false(budget_spend(&b, 0));
    char text[128];
    budget_describe(&b, text, sizeof(text));
    assert_non_null(strstr(text, "10 steps"));

    b = (struct budget){ .steps = 10, .timeout_ms = 1500, .alarm = &alarm };
    assert_true(budget_stopped(&b));
    assert_false(budget_spend(&b, 1));
    budget_describe(&b, text, sizeof(text));
    assert_non_null(strstr(text, "time limit of 1.500 s"));
}

static void test_wire_round_trip(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    struct wire_message m = { WIRE_CALL, 2, { STR("run"), STR("{\"a\":\0}") } };
    struct error err;
    assert_true(wire_send(ends[0], &m, &err));
    assert_true(wire_send(ends[0], &m, &err));
    struct wire_reader r;
    wire_reader_init(&r, ends[1]);
    for (int i = 0; i < 2; i++) {
        struct wire_message got;
        assert_true(wire_receive(&r, &got, &err));
        assert_int_equal(got.kind, WIRE_CALL);
        assert_int_equal(got.count, 2);
        assert_true(str_eq(got.fields[0], m.fields[0]));
        assert_true(str_eq(got.fields[1], m.fields[1]));
    }
    close(ends[0]);
    struct wire_message none;
    assert_false(wire_receive(&r, &none, &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    wire_reader_finish(&r);
    close(ends[1]);
}

static void test_wire_refuses_nonsense(void **state)
{
    (void)state;
    static const struct str cases[] = {
        STR("\x01\x00\x00\x00\x01"),                     /* shorter than a head */
        STR("\xff\xff\xff\xff"),                         /* too large */
        STR("\x02\x00\x00\x00\x00\x00"),                 /* no such kind */
        STR("\x02\x00\x00\x00\x01\x09"),                 /* too many fields */
        STR("\x06\x00\x00\x00\x01\x01\xff\x00\x00\x00"), /* field beyond the end */
        STR("\x03\x00\x00\x00\x01\x00x"),                /* bytes left over */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str bytes = cases[i];
        struct wire_message m;
        struct error err;
        bool got;
        assert_false(wire_parse(&bytes, &m, &got, &err));
        assert_int_equal(err.code, ERR_INVALID);
    }
    struct str part = STR("\x06\x00\x00");
    struct wire_message m;
    struct error err;
    bool got = true;
    assert_true(wire_parse(&part, &m, &got, &err));
    assert_false(got);
}

static NORETURN void fill_memory(void)
{
    volatile sig_atomic_t flag = 0;
    const struct rlimit limit = { 256 << 20, 256 << 20 };
    if (setrlimit(RLIMIT_DATA, &limit) || !memory_reserve(64 << 20, &flag, BUDGET_HEAP))
        _exit(1);
    struct buf *kept = xmalloc(1000 * sizeof(*kept));
    size_t count = 0;
    while (!flag && count < 1000) {
        kept[count] = BUF(1 << 20);
        buf_reserve(&kept[count++], 1 << 20);
    }
    bool fits = flag == BUDGET_HEAP && !memory_reserve(64 << 20, &flag, BUDGET_HEAP);
    while (count)
        buf_finish(&kept[--count]);
    free(kept);
    _exit(fits && memory_reserve(64 << 20, &flag, BUDGET_HEAP) ? 0 : 2);
}

static void test_the_end_of_memory_is_told(void **state)
{
    (void)state;
    if (SANITIZED)
        skip(); /* its shadow is larger than any limit */
    int status;
    pid_t child = fork();
    if (!child)
        fill_memory();
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arena_runs_what_was_deferred_since_the_mark),
        cmocka_unit_test(test_arena_text),
        cmocka_unit_test(test_buf_ceiling),
        cmocka_unit_test(test_str),
        cmocka_unit_test(test_str_which),
        cmocka_unit_test(test_buf_ways),
        cmocka_unit_test(test_file_read),
        cmocka_unit_test(test_str_count),
        cmocka_unit_test(test_str_int),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_budget_keeps_the_first_reason),
        cmocka_unit_test(test_the_end_of_memory_is_told),
        cmocka_unit_test(test_wire_round_trip),
        cmocka_unit_test(test_wire_refuses_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
