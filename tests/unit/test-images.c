#include "tool/images.h"

#include "unit.h"

static json_t *image(const char *type, size_t bytes)
{
    auto_buf data = BUF(bytes + 1);
    for (size_t i = 0; i < bytes; i++)
        buf_addc(&data, i + 1 == bytes ? '=' : 'A');
    return json_pack("{s:s, s:o}", "mime", type, "data", json_text(buf_str(&data)));
}

/* What is no picture has no place in a reply, and is told. */
static void test_kinds(void **state UNUSED)
{
    static const struct {
        const char *image;
        bool fine;
    } cases[] = {
        { "{\"mime\":\"image/png\",\"data\":\"iVBORw==\"}", true },
        { "{\"mime\":\"image/jpeg\",\"data\":\"+/Az09a=\"}", true },
        { "{\"mime\":\"image/png\",\"data\":\"\"}", false },
        { "{\"mime\":\"image/png\",\"data\":\"====\"}", false },
        { "{\"mime\":\"image/png\",\"data\":\"AAA\"}", false },
        { "{\"mime\":\"image/png\",\"data\":\"A=AA\"}", false },
        { "{\"mime\":\"image/png\",\"data\":\"AA A\"}", false },
        { "{\"mime\":\"image/png\",\"data\":\"AA\\u0000A\"}", false },
        { "{\"mime\":\"image/png\",\"data\":7}", false },
        { "{\"mime\":\"text/html\",\"data\":\"AAAA\"}", false },
        { "{\"data\":\"AAAA\"}", false },
        { "7", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err;
        json_t *one;
        auto_buf note = BUF(1000), text = BUF(1000);
        buf_addf(&text, "[%s]", cases[i].image);
        assert_true(json_parse(buf_str(&text), &one, &err));
        json_auto_t *chosen = images_choose(one, &note);
        assert_int_equal(json_array_size(chosen), cases[i].fine);
        if (cases[i].fine)
            assert_int_equal(note.len, 0);
        else
            assert_memory_equal(note.data, "[paddock: 1 of 1 images is left out", 35);
        json_decref(one);
    }
}

static size_t choose(size_t count, size_t bytes, struct buf *note)
{
    json_auto_t *images = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(images, image("image/png", bytes));
    json_auto_t *chosen = images_choose(images, note);
    return json_array_size(chosen);
}

static void test_limits(void **state UNUSED)
{
    static const struct {
        size_t count, bytes, shown;
    } cases[] = {
        { 0, 4, 0 },
        { IMAGES_MAX, 4, IMAGES_MAX },
        { IMAGES_MAX + 3, 4, IMAGES_MAX },
        { 1, IMAGES_MAX_BYTES, 1 },
        { 1, IMAGES_MAX_BYTES + 4, 0 },
        { 3, IMAGES_MAX_BYTES / 2, 2 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_buf note = BUF(1000);
        assert_int_equal(choose(cases[i].count, cases[i].bytes, &note), cases[i].shown);
        assert_int_equal(note.len > 0, cases[i].shown < cases[i].count);
    }
    auto_buf note = BUF(1000);
    assert_null(images_choose(NULL, &note));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
