#include "confine/job.h"
#include "unit.h"

static void write_and_parse(
        const struct job *job, struct buf *bytes, struct arena *arena, struct job *out)
{
    struct wire_message m;
    struct error err;
    bool got;
    job_write(job, bytes);
    assert_false(bytes->full);
    struct str rest = buf_str(bytes);
    assert_true(wire_parse(&rest, &m, &got, &err) && got);
    assert_true(job_parse(&m, arena, out, &err));
}

static void expect_strings(const char *const *have, const char *const *want)
{
    for (; *want; want++, have++)
        assert_string_equal(*have, *want);
    assert_null(*have);
}

static void test_there_and_back(void **state UNUSED)
{
    const char *const argv[] = { "true", "", "a b\n", "\xff\xfe", NULL };
    const char *const env[] = { "A=\xc3\x28", "B=", NULL };
    const struct view_path paths[] = { { VIEW_WRITABLE, "/w" },
        { VIEW_READ_ONLY, "/w/\xff" }, { VIEW_HIDDEN, "/h" }, { VIEW_VISIBLE, "/v" } };
    const struct job job = { .program = "/bin/tr\xffue",
        .cwd = "/w",
        .argv = argv,
        .env = env,
        .paths = paths,
        .path_count = ARRAY_LEN(paths),
        .sandboxed = true,
        .max_processes = UINT32_MAX,
        .tmp_bytes = (uint64_t)1 << 40,
        .max_landlock = 3 };
    auto_buf bytes = BUF(4096);
    auto_arena *arena = arena_create();
    struct job back;
    write_and_parse(&job, &bytes, arena, &back);
    assert_string_equal(back.program, job.program);
    assert_string_equal(back.cwd, job.cwd);
    expect_strings(back.argv, argv);
    expect_strings(back.env, env);
    assert_int_equal(back.path_count, job.path_count);
    for (size_t i = 0; i < job.path_count; i++) {
        assert_int_equal(back.paths[i].rule, paths[i].rule);
        assert_string_equal(back.paths[i].path, paths[i].path);
    }
    assert_true(back.sandboxed && !back.network);
    assert_int_equal(back.max_processes, job.max_processes);
    assert_int_equal(back.tmp_bytes, job.tmp_bytes);
    assert_int_equal(back.max_landlock, 3);
}

static void test_nothing_to_say(void **state UNUSED)
{
    const char *const argv[] = { "x", NULL }, *const env[] = { NULL };
    const struct job job = { .program = "/x", .cwd = "/", .argv = argv, .env = env };
    auto_buf bytes = BUF(4096);
    auto_arena *arena = arena_create();
    struct job back;
    write_and_parse(&job, &bytes, arena, &back);
    assert_null(back.env[0]);
    assert_int_equal(back.path_count, 0);
}

#define OPTIONS                                                      \
    STR("{\"sandboxed\":true,\"network\":false,\"max_processes\":1," \
        "\"tmp_bytes\":0,\"max_landlock\":0}")

static void test_malformed(void **state UNUSED)
{
    const struct str none = STR("");
    const struct wire_message cases[] = {
        { WIRE_SETUP, 6, { OPTIONS, STR("/x"), STR("/"), STR("x\0"), none, none } },
        { WIRE_LAUNCH, 5, { OPTIONS, STR("/x"), STR("/"), STR("x\0"), none } },
        { WIRE_LAUNCH, 6, { STR("{}"), STR("/x"), STR("/"), STR("x\0"), none, none } },
        { WIRE_LAUNCH, 6, { STR("x"), STR("/x"), STR("/"), STR("x\0"), none, none } },
        { WIRE_LAUNCH, 6, { OPTIONS, STR("x"), STR("/"), STR("x\0"), none, none } },
        { WIRE_LAUNCH, 6, { OPTIONS, STR("/x\0y"), STR("/"), STR("x\0"), none, none } },
        { WIRE_LAUNCH, 6, { OPTIONS, none, STR("/"), STR("x\0"), none, none } },
        { WIRE_LAUNCH, 6, { OPTIONS, STR("/x"), none, STR("x\0"), none, none } },
        { WIRE_LAUNCH, 6, { OPTIONS, STR("/x"), STR("/"), none, none, none } },
        { WIRE_LAUNCH, 6, { OPTIONS, STR("/x"), STR("/"), STR("x"), none, none } },
        { WIRE_LAUNCH, 6,
                { OPTIONS, STR("/x"), STR("/"), STR("x\0"), STR("A=1"), none } },
        { WIRE_LAUNCH, 6,
                { OPTIONS, STR("/x"), STR("/"), STR("x\0"), none, STR("w/x") } },
        { WIRE_LAUNCH, 6,
                { OPTIONS, STR("/x"), STR("/"), STR("x\0"), none, STR("q/x\0") } },
        { WIRE_LAUNCH, 6,
                { OPTIONS, STR("/x"), STR("/"), STR("x\0"), none, STR("wx\0") } },
        { WIRE_LAUNCH, 6, { OPTIONS, STR("/x"), STR("/"), STR("x\0"), none, STR("\0") } },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_arena *arena = arena_create();
        struct job job;
        struct error err = { 0 };
        assert_false(job_parse(&cases[i], arena, &job, &err));
        assert_int_equal(err.code, ERR_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_nothing_to_say),
        cmocka_unit_test(test_malformed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
