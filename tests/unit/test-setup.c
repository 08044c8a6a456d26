#include "policy/setup.h"

#include "unit.h"

static void test_round_trip(void **state UNUSED)
{
    const struct str deny[] = { STR("*.bak"), STR("a \"b\"") };
    const struct str files[] = { STR("/usr/bin/git") };
    const struct setup_root roots[] = {
        { .at = STR("/"), .kind = SETUP_LOCAL, .fd = 4, .host_path = STR("/srv/p") },
        { .at = STR("/mnt/x"), .kind = SETUP_MEMORY, .fd = -1 },
    };
    struct setup in = { .name = STR("mcpath"),
        .read_only = true,
        .deny = deny,
        .deny_count = 2,
        .max_output = 30000,
        .timeout_ms = 55000,
        .max_steps = 600000000000,
        .max_depth = 7,
        .max_memory_mib = 9,
        .door = 5,
        .files = files,
        .file_count = 1,
        .roots = roots,
        .root_count = 2 };
    auto_buf json = BUF(4096), again = BUF(4096);
    setup_write(&in, &json);
    auto_arena *arena = arena_create();
    struct setup out;
    struct error err;
    assert_true(setup_parse(buf_str(&json), arena, &out, &err));
    assert_int_equal(out.roots[1].fd, -1);
    assert_true(out.max_steps == 600000000000 && out.max_depth == 7);
    assert_int_equal(out.max_memory_mib, 9);
    assert_int_equal(out.door, 5);
    assert_true(out.file_count == 1 && str_eq(out.files[0], files[0]));
    setup_write(&out, &again);
    assert_string_equal(json.data, again.data);
    assert_non_null(strstr(json.data, "\"fd\":4,\"host_path\":\"/srv/p\""));
}

static void test_refusals(void **state UNUSED)
{
#define HEAD "{\"name\":\"m\",\"timeout_ms\":1,"
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        HEAD "\"max_output\":0,\"roots\":[{\"at\":\"/\",\"kind\":\"memory\"}]}",
        HEAD "\"max_output\":1,\"roots\":[]}",
        HEAD "\"max_output\":1,\"roots\":[{\"at\":\"/\",\"kind\":\"moon\"}]}",
        HEAD "\"max_output\":1,\"roots\":[{\"at\":\"/\",\"kind\":\"local\"}]}",
        HEAD "\"max_output\":1,\"max_steps\":-1,\"roots\":[{\"at\":\"/"
             "\",\"kind\":\"memory\"}]}",
        HEAD
        "\"max_output\":1,\"deny\":[1],\"roots\":[{\"at\":\"/\",\"kind\":\"memory\"}]}",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        auto_arena *arena = arena_create();
        struct setup out;
        struct error err = { 0 };
        assert_false(setup_parse(str_of(bad[i]), arena, &out, &err));
        assert_int_equal(strncmp(err.message, "setup: ", 7), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
