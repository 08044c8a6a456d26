#include "cli/options.h"

#include "unit.h"

#define MAX_WORDS 16

static bool parse(const char *const *words, struct arena *arena,
        struct mcpath_options *out, struct error *err)
{
    char *argv[MAX_WORDS + 2] = { xstrdup("mcpath") };
    int argc = 1;
    for (; argc <= MAX_WORDS && words[argc - 1]; argc++)
        argv[argc] = arena_cstr(arena, str_of(words[argc - 1]));
    bool fine = mcpath_options_parse(argc, argv, arena, out, err);
    free(argv[0]);
    return fine;
}

static void test_defaults(void **state UNUSED)
{
    auto_arena *arena = arena_create();
    const char *const none[] = { NULL };
    struct mcpath_options o;
    struct error err;
    assert_true(parse(none, arena, &o, &err));
    assert_string_equal(o.root.path, ".");
    assert_int_equal(o.max_output, 30000);
    assert_int_equal(o.timeout_ms, 55000);
    assert_int_equal(o.http.port, 8000);
    assert_string_equal(o.http.host, "127.0.0.1");
    assert_false(o.read_only || o.help || o.version);
    assert_true(!o.http.wanted && !o.deny_count && !o.mount_count);
}

static void test_values(void **state UNUSED)
{
    auto_arena *arena = arena_create();
    const char *const words[] = { "--read-only", "/srv", "--deny=*.a", "--deny", "b c",
        "--timeout=1.25", "--max-output=7", "--max-steps", "5000000000", "--max-depth=9",
        "--max-memory", "64", NULL };
    struct mcpath_options o;
    struct error err;
    assert_true(parse(words, arena, &o, &err));
    assert_string_equal(o.root.path, "/srv");
    assert_true(o.read_only);
    assert_int_equal(o.deny_count, 2);
    assert_string_equal(o.deny[0], "*.a");
    assert_string_equal(o.deny[1], "b c");
    assert_null(o.deny[2]);
    assert_int_equal(o.timeout_ms, 1250);
    assert_int_equal(o.max_output, 7);
    assert_true(o.max_steps == 5000000000 && o.max_depth == 9 && o.max_memory_mib == 64);
    const char *const mounts[] = { "--mount", "a=memory://", "--mount=b.c-d=file:///tmp",
        "--max-output", "0", "memory://x", NULL };
    assert_true(parse(mounts, arena, &o, &err));
    assert_int_equal(o.max_output, 30000);
    assert_int_equal(o.root.kind, SETUP_MEMORY);
    assert_true(str_is(o.mounts[0].at, "/mnt/a") && str_is(o.mounts[1].at, "/mnt/b.c-d"));
    assert_string_equal(o.mounts[1].location.path, "/tmp");
    const char *const dashes[] = { "--", "--read-only", NULL };
    assert_true(parse(dashes, arena, &o, &err));
    assert_string_equal(o.root.path, "--read-only");
    const char *const help[] = { "--nonsense", "--help", NULL };
    assert_true(parse(help, arena, &o, &err));
    assert_true(o.help);
}

static void test_refusals(void **state UNUSED)
{
    static const struct {
        const char *words[MAX_WORDS];
        const char *want;
    } cases[] = {
        { { "--reed-only" }, "did you mean '--read-only'?" },
        { { "--max_output=3" }, "did you mean '--max-output'?" },
        { { "-x" }, "unknown option '-x'; see --help" },
        { { "a", "b" }, "'b' is a second one" },
        { { "" }, "cannot be empty" },
        { { "--read-only=yes" }, "takes no value" },
        { { "--deny" }, "needs a value" },
        { { "--deny", "" }, "option '--deny': " },
        { { "--deny", "a/b" }, "option '--deny': " },
        { { "--deny=\xff" }, "not UTF-8" },
        { { "--max-output", "x" }, "not a whole number" },
        { { "--max-output", "-1" }, "not a whole number" },
        { { "--max-output", "99999999999999999999" }, "not a whole number" },
        { { "--max-steps", "0" }, "not a whole number" },
        { { "--max-steps", "1e9" }, "not a whole number" },
        { { "--max-depth", "100001" }, "not a whole number" },
        { { "--max-memory", "0" }, "not a whole number" },
        { { "--timeout", "0" }, "not a number of seconds" },
        { { "--timeout", "-1" }, "not a number of seconds" },
        { { "--timeout", "1.2345" }, "not a number of seconds" },
        { { "--timeout", "1.-5" }, "not a number of seconds" },
        { { "--timeout", "." }, "not a number of seconds" },
        { { "--timeout", "86401" }, "not a number of seconds" },
        { { "--port", "70000" }, "not a whole number" },
        { { "--host=" }, "cannot be empty" },
        { { "--transport", "pipe" }, "neither stdio nor http" },
        { { "--transport=http", "--host=10.0.0.1" }, "'--token-file' is needed" },
        { { "--transport=http", "--host=localhost.localdomain" }, "is no address" },
        { { "--transport=http", "--tls-key=x" }, "go together" },
        { { "--max-sessions", "0" }, "not a whole number" },
        { { "--mount", "a" }, "is not NAME=URL" },
        { { "--mount", "../a=b" }, "is not NAME=URL" },
        { { "--mount", "a/b=c" }, "is not NAME=URL" },
        { { "--mount", "a=" }, "cannot be empty" },
        { { "--mount", "a=b", "--mount", "a=c" }, "'a' is mounted already" },
        { { "--mount", "a=gs://b" }, "not in this build yet" },
        { { "s3://bucket" }, "the scheme 's3' is not in this build yet" },
        { { "zip::s3://b/x.zip" }, "the scheme 'zip' is not in this build yet" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_arena *arena = arena_create();
        struct mcpath_options o;
        struct error err = { 0 };
        assert_false(parse(cases[i].words, arena, &o, &err));
        if (!strstr(err.message, cases[i].want))
            fail_msg("'%s' is not in '%s'", cases[i].want, err.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
