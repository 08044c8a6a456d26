#include "search/text.h"

#include "base/textline.h"
#include "unit.h"
#include "vfs-world.h"

static struct vfile *open_with(struct world *w, struct str content)
{
    struct vfile *file;
    assert_int_equal(vfs_replace(w->vfs, at(w, "f"), content,
                             (enum vfs_open_flags)(VFS_WRITE | VFS_CREATE), NULL),
            0);
    assert_int_equal(vfs_open(w->vfs, at(w, "f"), VFS_READ, 0, &file), 0);
    return file;
}

/* The whole text, read in steps of `step` bytes. */
static struct str read_all(
        struct world *w, struct str content, size_t step, uint64_t *bad_at, bool *has_nul)
{
    struct text_reader r = { 0 };
    struct vfile *file = open_with(w, content);
    auto_buf text = BUF((size_t)16 << 20);
    size_t got = 1;
    assert_int_equal(text_start(&r, file), 0);
    while (got) {
        assert_int_equal(text_read(&r, buf_reserve(&text, step), step, &got), 0);
        text.len += got;
    }
    *bad_at = r.bad_at;
    *has_nul = r.has_nul;
    text_reader_finish(&r);
    vfile_close(file);
    return arena_str(w->arena, buf_str(&text));
}

static void test_reading(void **state UNUSED)
{
    static const struct {
        struct str content, text;
        uint64_t bad_at;
        bool has_nul;
    } table[] = {
        { STR(""), STR(""), TEXT_FINE, false },
        { STR("a\nb"), STR("a\nb"), TEXT_FINE, false },
        { STR("a\r\nb\rc\r"), STR("a\nb\nc\n"), TEXT_FINE, false },
        { STR("\r\r\n\n"), STR("\n\n\n"), TEXT_FINE, false },
        { STR("a\v\f\x1c\x1d\x1e"
              "b\x1f"),
                STR("a\n\n\n\n\nb\x1f"), TEXT_FINE, false },
        { STR("a\xc2\x85"
              "b\xe2\x80\xa8\xe2\x80\xa9"),
                STR("a\nb\n\n"), TEXT_FINE, false },
        { STR("\xef\xbb\xbfq"), STR("q"), TEXT_FINE, false },
        { STR("\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x8d"),
                STR("\xc3\xa4\xe2\x82\xac\xf0\x9f\x90\x8d"), TEXT_FINE, false },
        { STR("ab\xe9 c"), STR("ab\xef\xbf\xbd c"), 2, false },
        { STR("\xef\xbb\xbf"
              "a\xe2\x82"),
                STR("a\xef\xbf\xbd\xef\xbf\xbd"), 4, false },
        { STR("a\0b"), STR("a\0b"), TEXT_FINE, true },
        { STR("\xff\xfeh\0\r\0\n\0i\0"), STR("h\ni"), TEXT_FINE, false },
        { STR("\xfe\xff\0h\x20\x28\xd8\x3d\xdc\x0d"), STR("h\n\xf0\x9f\x90\x8d"),
                TEXT_FINE, false },
        { STR("\xff\xfe"
              "a\0\x0d\xdc"
              "b\0"),
                STR("a\xef\xbf\xbd"
                    "b"),
                4, false },
        { STR("\xff\xfe"
              "a\0b"),
                STR("a\xef\xbf\xbd"), 4, false },
    };
    struct world *w = world_create(WORLD_MEMORY);
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        for (size_t step = 8; step < 64; step += 5) {
            uint64_t bad_at;
            bool has_nul;
            struct str text = read_all(w, table[i].content, step, &bad_at, &has_nul);
            if (!str_eq(text, table[i].text) || bad_at != table[i].bad_at ||
                    has_nul != table[i].has_nul)
                fail_msg("case %zu: '%.*s' %llu", i, STR_ARG(text),
                        (unsigned long long)bad_at);
        }
    world_destroy(w);
}

/* Whatever lies across the places where blocks end. */
static void test_blocks(void **state UNUSED)
{
    static const struct str parts[] = { STR("\r\n"), STR("\xe2\x82\xac"),
        STR("\xe2\x80\xa8"), STR("\xf0\x9f\x90\x8d"), STR("\r"), STR("\n") };
    struct world *w = world_create(WORLD_MEMORY);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        for (size_t shift = 0; shift < 6; shift++) {
            auto_buf content = BUF((size_t)1 << 20);
            uint64_t bad_at;
            bool has_nul;
            while (content.len < 65536 - shift)
                buf_addc(&content, 'x');
            buf_add(&content, parts[i]);
            buf_add(&content, STR("end"));
            struct str text = read_all(w, buf_str(&content), 4096, &bad_at, &has_nul);
            bool is_break = textline_break(parts[i], 0);
            struct str tail = str_from(text, content.len - parts[i].len - 3);
            assert_true(bad_at == TEXT_FINE && str_ends(tail, STR("end")));
            assert_int_equal(tail.len, 3 + (is_break ? 1 : parts[i].len));
        }
    world_destroy(w);
}

static void test_lines(void **state UNUSED)
{
    struct world *w = world_create(WORLD_MEMORY);
    auto_buf content = BUF((size_t)1 << 20);
    auto_text_lines l = { 0 };
    for (int i = 0; i < 100000; i++)
        buf_addc(&content, 'x');
    buf_add(&content, STR("\nb\n\nc"));
    struct vfile *file = open_with(w, buf_str(&content));
    assert_int_equal(text_lines_start(&l, file), 0);
    static const size_t wanted[] = { 100000, 1, 0, 1 };
    size_t line = 0, len = 0;
    struct str part;
    bool ended = false;
    while (text_lines_next(&l, &part, &ended)) {
        len += part.len;
        if (!ended)
            continue;
        assert_int_equal(len, wanted[line++]);
        len = 0;
    }
    assert_int_equal(l.error, 0);
    assert_int_equal(line, 3);
    assert_int_equal(len, wanted[3]);
    vfile_close(file);
    world_destroy(w);
}

static void test_line_breaks(void **state UNUSED)
{
    struct str text =
            STR("one two three four five\r\nsix seven eight nine ten\xe2\x80\xa8"
                "x\xc2\xa0y\n");
    assert_int_equal(textline_end(text, 0), 23);
    assert_int_equal(textline_next(text, 0), 25);
    assert_int_equal(textline_end(text, 25), 49);
    assert_int_equal(textline_next(text, 25), 52);
    assert_int_equal(textline_end(text, 52), 56);
    assert_int_equal(textline_next(text, 52), 57);
    assert_int_equal(textline_next(text, 57), 57);
    assert_int_equal(textline_plain(text), 23);
    assert_int_equal(textline_plain(str_from(text, 25)), 24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_line_breaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
