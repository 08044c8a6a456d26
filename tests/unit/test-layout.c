#include "base/path.h"
#include "confine/layout.h"
#include "unit.h"

#include <string.h>

#define MAX_PATHS 8

struct layout_case {
    struct view_path paths[MAX_PATHS];
    const char *expected; /* kind and path of each mount */
    bool tmp;
};

static const struct layout_case cases[] = {
    { { { 0, NULL } }, "", false },
    { { { VIEW_WRITABLE, "/w" } }, "writable /w\n", false },
    { { { VIEW_READ_ONLY, "/etc" } }, "", false },
    { { { VIEW_READ_ONLY, "/w/.git" }, { VIEW_WRITABLE, "/w" } },
            "writable /w\nread-only /w/.git\n", false },
    { { { VIEW_WRITABLE, "/w" }, { VIEW_READ_ONLY, "/w/a/b/c" } },
            "writable /w\npin /w/a\npin /w/a/b\nread-only /w/a/b/c\n", false },
    { { { VIEW_WRITABLE, "/w" }, { VIEW_HIDDEN, "/w/a/key" } },
            "writable /w\npin /w/a\nhidden /w/a/key\n", false },
    /* What is hidden hides all below it. */
    { { { VIEW_HIDDEN, "/h/.ssh" }, { VIEW_HIDDEN, "/h/.ssh/id" },
              { VIEW_WRITABLE, "/h/.ssh/w" } },
            "hidden /h/.ssh\n", false },
    { { { VIEW_WRITABLE, "/w" }, { VIEW_READ_ONLY, "/w/.p" },
              { VIEW_WRITABLE, "/w/.p/tmp" } },
            "writable /w\nread-only /w/.p\nwritable /w/.p/tmp\n", false },
    { { { VIEW_WRITABLE, "/w" }, { VIEW_READ_ONLY, "/w/.p" },
              { VIEW_READ_ONLY, "/w/.p/x" }, { VIEW_WRITABLE, "/w/.p/a" },
              { VIEW_READ_ONLY, "/w/.p/a/b/c" } },
            "writable /w\nread-only /w/.p\nwritable /w/.p/a\npin /w/.p/a/b\n"
            "read-only /w/.p/a/b/c\n",
            false },
    /* The last one counts. */
    { { { VIEW_WRITABLE, "/w" }, { VIEW_READ_ONLY, "/w/g" }, { VIEW_WRITABLE, "/w/g" } },
            "writable /w\n", false },
    { { { VIEW_WRITABLE, "/w" }, { VIEW_WRITABLE, "/w/g" }, { VIEW_READ_ONLY, "/w/g" } },
            "writable /w\nread-only /w/g\n", false },
    /* A rule is no pin, and a name that begins the same is not below. */
    { { { VIEW_WRITABLE, "/w" }, { VIEW_READ_ONLY, "/w/a" },
              { VIEW_READ_ONLY, "/w/ab/c" } },
            "writable /w\nread-only /w/a\npin /w/ab\nread-only /w/ab/c\n", false },
    { { { VIEW_WRITABLE, "/w" }, { VIEW_READ_ONLY, "/w/a/b" },
              { VIEW_READ_ONLY, "/w/a/c" } },
            "writable /w\npin /w/a\nread-only /w/a/b\nread-only /w/a/c\n", false },
    { { { VIEW_WRITABLE, "/" }, { VIEW_READ_ONLY, "/a/b" } }, "pin /a\nread-only /a/b\n",
            false },
    { { { VIEW_WRITABLE, "/tmp/w" }, { VIEW_READ_ONLY, "/tmp/bin" },
              { VIEW_READ_ONLY, "/tmp/w/x" }, { VIEW_HIDDEN, "/tmp/secret" } },
            "private /dev/shm\nprivate /tmp\nread-only /tmp/bin in /tmp\n"
            "writable /tmp/w in /tmp\nread-only /tmp/w/x\nprivate /var/tmp\n",
            true },
    { { { VIEW_VISIBLE, "/usr/bin" }, { VIEW_VISIBLE, "/tmp" },
              { VIEW_VISIBLE, "/tmp/w/a" }, { VIEW_WRITABLE, "/tmp/w" },
              { VIEW_VISIBLE, "/tmp/w" }, { VIEW_VISIBLE, "/tmp/h" },
              { VIEW_READ_ONLY, "/tmp/h/x" }, { VIEW_HIDDEN, "/tmp/h/.ssh" } },
            "private /dev/shm\nprivate /tmp\nvisible /tmp/h in /tmp\nhidden /tmp/h/.ssh\n"
            "writable /tmp/w in /tmp\nprivate /var/tmp\n",
            true },
    { { { VIEW_WRITABLE, "/tmp" } },
            "private /dev/shm\nwritable /tmp\nprivate /var/tmp\n", true },
};

static const char *const kinds[] = {
    [LAYOUT_PIN] = "pin",
    [LAYOUT_VISIBLE] = "visible",
    [LAYOUT_PRIVATE] = "private",
    [LAYOUT_WRITABLE] = "writable",
    [LAYOUT_READ_ONLY] = "read-only",
    [LAYOUT_HIDDEN] = "hidden",
};

static void describe(const struct layout *layout, struct buf *out)
{
    for (size_t i = 0; i < layout->count; i++) {
        const struct layout_item *item = &layout->items[i];
        buf_addf(out, "%s %s%s%s\n", kinds[item->kind], item->path,
                item->top ? " in " : "", item->top ? item->top->path : "");
    }
}

static void test_layouts(void **state UNUSED)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_arena *arena = arena_create();
        auto_buf text = BUF(4096);
        struct view_request request = { .paths = cases[i].paths,
            .private_tmp = cases[i].tmp };
        while (request.path_count < MAX_PATHS && cases[i].paths[request.path_count].path)
            request.path_count++;
        struct layout layout;
        layout_make(&request, arena, &layout);
        describe(&layout, &text);
        assert_string_equal(text.data ? text.data : "", cases[i].expected);
    }
}

/* Above before below, whatever lies between them in the order of bytes. */
static void test_order(void **state UNUSED)
{
    auto_arena *arena = arena_create();
    const struct view_path paths[] = { { VIEW_READ_ONLY, "/w/a/z" },
        { VIEW_READ_ONLY, "/w/a-b" }, { VIEW_WRITABLE, "/w" }, { VIEW_HIDDEN, "/w/a!" } };
    const struct view_request request = { .paths = paths,
        .path_count = ARRAY_LEN(paths) };
    struct layout layout;
    layout_make(&request, arena, &layout);
    for (size_t i = 0; i < layout.count; i++)
        for (size_t j = 0; j < i; j++)
            assert_false(path_is_beneath(
                    str_of(layout.items[j].path), str_of(layout.items[i].path)));
    assert_int_equal(layout.count, 5);
}

/* Two names for one place would get round the order. */
static void test_odd_names(void **state UNUSED)
{
    static const char *const names[] = { "/tmp/../etc", "/tmp//x", "/tmp/x/", "/./tmp",
        "/tmp/..", "/tmp/.", "tmp", "", "//", "/tmp/x/../../y" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        for (enum view_rule rule = VIEW_WRITABLE; rule <= VIEW_VISIBLE; rule++) {
            auto_arena *arena = arena_create();
            const struct view_path path = { rule, names[i] };
            const struct view_request request = {
                .paths = &path, .path_count = 1, .private_tmp = true
            };
            struct layout layout;
            layout_make(&request, arena, &layout);
            assert_int_equal(layout.is_malformed, rule != VIEW_VISIBLE);
            assert_int_equal(layout.count, 3);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_odd_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
