#include "command-world.h"
#include "unit.h"

#include <stdio.h>
#include <unistd.h>

#define ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));
    world_create(w);
    world_file(w, "out/secret file.txt", "x\n", 0644);
    world_file(w, "home/private.txt", "x\n", 0644);
    world_file(w, "ws/docs/a b.md", "spaced\n", 0644);
    world_file(w, "ws/odd:/x", "x\n", 0644);
    world_file(w, "ws/sub/.ssh/id", "x\n", 0644);
    world_file(w, "ws/sub/deep/x.txt", "x\n", 0644);
    world_file(w, "ws/src/.npmrc", "x\n", 0644);
    world_file(w, "ws/tools/jobs_readme.txt", "x\n", 0644);
    world_link(w, "../out", "ws/outdir");
    world_link(w, "../../out/secret.txt", "ws/deep/outrel");
    world_link(w, "chain2", "ws/chain1");
    world_link(w, world_path(w, "out/secret.txt"), "ws/chain2");
    world_link(w, "../out/sub", "ws/updir");
    world_file(w, "out/sub/x", "x\n", 0644);
    world_link(w, ".pyddock", "ws/polink");
    world_link(w, "tools/jobs", "ws/joblink");
    world_link(w, "src/.npmrc", "ws/npmlink");
    world_link(w, "loop2", "ws/loop1");
    world_link(w, "loop1", "ws/loop2");
    world_guard(w, "/\\.ssh/", GUARD_DENY_AGENT);
    world_guard(w, "/\\.npmrc$", GUARD_DENY_ALL);
    world_guard(w, "/\\.env(\\.[^/]*)?$", GUARD_WORKSPACE);
    world_guard(w, "/\\.git/", GUARD_READ_ONLY);
    world_variable(w, "PATH", "/usr/bin:/bin");
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    world_destroy(*state);
    free(*state);
    return 0;
}

static const char *fill(struct world *w, const char *text)
{
    static const struct {
        const char *mark, *path;
    } marks[] = { { "@WS@", "ws" }, { "@OUT@", "out" }, { "@HOME@", "home" } };
    const char *first = NULL;
    size_t mark = 0;
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        const char *at = strstr(text, marks[i].mark);
        if (!at || (first && at > first))
            continue;
        first = at;
        mark = i;
    }
    if (first)
        return arena_printf(w->arena, "%.*s%s%s", (int)(first - text), text,
                world_path(w, marks[mark].path),
                fill(w, first + strlen(marks[mark].mark)));
    return text;
}

/* Try a line of a table of vectors; true: let through. */
static bool try_line(struct world *w, const char *line)
{
    json_error_t error;
    json_auto_t *vector = json_loads(line, 0, &error);
    if (!json_is_array(vector))
        fail_msg("%s: %s", line, error.text);
    const char *words[64] = { NULL };
    size_t i;
    json_t *word;
    json_array_foreach (vector, i, word) {
        assert_true(i + 1 < ARRAY_LEN(words));
        words[i] = fill(w, json_string_value(word));
    }
    return world_try(w, words[0], words + 1, "");
}

/* Every line of the table is decided as `expected`; there are at least `least`. */
static void try_table(struct world *w, const char *name, bool expected, unsigned least)
{
    FILE *f = fopen(arena_printf(w->arena, "%s/%s", TEST_DATA, name), "re");
    assert_non_null(f);
    char line[4096];
    unsigned wrong = 0, count = 0;
    while (fgets(line, sizeof(line), f)) {
        if (line[0] != '[')
            continue;
        count++;
        if (try_line(w, line) == expected)
            continue;
        wrong++;
        print_error("%s%s\n", line, expected ? world_refusal(w) : "was let through");
    }
    fclose(f);
    assert_int_equal(wrong, 0);
    assert_true(count >= least);
}

static void test_harmless(void **state)
{
    world_section(*state, "all", ".*");
    world_ready(*state);
    try_table(*state, "harmless-vectors.txt", true, 300);
}

static void test_harmful(void **state)
{
    world_section(*state, "all", ".*");
    world_ready(*state);
    try_table(*state, "harmful-vectors.txt", false, 120);
}

static void test_modes(void **state)
{
    struct world *w = *state;
    world_section(w, "w", "^w$");
    world_section(w, "p", "^p$")->arg_paths = ARG_PATHS_PROTECTED;
    world_section(w, "n", "^n$")->arg_paths = ARG_PATHS_NONE;
    world_ready(w);
    static const struct {
        const char *arg;
        bool workspace, protected;
    } table[] = {
        { "notes.txt", true, true },
        { "/etc/passwd", false, true },
        { "../out/secret.txt", false, true },
        { "outlink", false, true },
        { "~/private.txt", false, true },
        { "~/.ssh/id", false, false },
        { "src/.npmrc", false, false },
        { ".env", true, true },
        { "../out/.env", false, false },
        { ".git/config", true, true },
        { ".pyddock/x", false, false },
        { "polink/x", false, false },
        { "--file=tools/jobs/run.sh", false, false },
        { ".pyddock/tmp/x", true, true },
        { "loop1", false, false },
        { "loop1/x", false, false },
        { "/dev/null", true, true },
        { "/dev/stdin", true, true },
        { "/dev/sda", false, false },
        { "", true, true },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (world_try(w, "w", ARGS(table[i].arg), "") != table[i].workspace)
            fail_msg("'%s' in mode workspace", table[i].arg);
        if (world_try(w, "p", ARGS(table[i].arg), "") != table[i].protected)
            fail_msg("'%s' in mode protected: %s", table[i].arg, world_refusal(w));
        assert_true(world_try(w, "n", ARGS(table[i].arg), ""));
    }
}

/* Relative to the folder it starts in, and to the workspace. */
static void test_relative(void **state)
{
    struct world *w = *state;
    world_section(w, "all", ".*");
    world_link(w, "../../out", "ws/sub/escape");
    world_ready(w);
    static const struct {
        const char *arg, *cwd;
        bool allowed;
    } table[] = {
        { "deep/x.txt", "sub", true },
        { "../notes.txt", "sub", false },
        { "deep/../deep", "sub", true },
        { "escape", "sub", false },
        { "escape", "", true },
        { "sub/escape", "", false },
        { "outlink", "sub", false },
        { "tools/jobs/run.sh", "sub", false },
        { "jobs/run.sh", "tools", false },
        { "jobs/run.sh", "", true },
        { "../../out", "sub/deep", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (world_try(w, "x", ARGS(table[i].arg), table[i].cwd) != table[i].allowed)
            fail_msg("'%s' in '%s'", table[i].arg, table[i].cwd);
    /* The way out that is named is one. */
    assert_false(world_try(w, "x", ARGS("../notes.txt"), "sub"));
    const char *absolute = world_path(w, "ws/notes.txt");
    assert_non_null(strstr(world_refusal(w), absolute));
    assert_true(world_try(w, "x", ARGS(absolute), "sub"));
}

/* Without a sandbox what is not there yet could be made. */
static void test_without_sandbox(void **state)
{
    struct world *w = *state;
    world_section(w, "bare", "^bare$")->sandbox = SANDBOX_NONE;
    world_section(w, "boxed", "^boxed$");
    world_ready(w);
    const char *fresh = fill(w, "@OUT@/a new file");
    assert_true(world_try(w, "boxed", ARGS(fresh), ""));
    assert_false(world_try(w, "bare", ARGS(fresh), ""));
    assert_false(world_try(w, "bare", ARGS(".pyddock/a new file"), ""));
    assert_true(world_try(w, "bare", ARGS("see a new file"), ""));
    assert_true(world_try(w, "boxed", ARGS("/no-such-top-folder/d"), ""));
    bool root = !access("/", W_OK);
    assert_int_equal(world_try(w, "bare", ARGS("/no-such-top-folder/d"), ""), !root);
}

/* Other writable paths are as good as the workspace. */
static void test_writable(void **state)
{
    struct world *w = *state;
    struct policy_path cache = { STR("~/.cache"), str_of(world_path(w, "home/.cache")),
        { NULL, 0 } };
    struct policy_shell *section = world_section(w, "x", "^x$");
    section->writable = &cache;
    section->writable_count = 1;
    world_section(w, "y", "^y$");
    w->writable[1] = (struct policy_path){ STR("../out/sub"),
        str_of(world_path(w, "out/sub")), { NULL, 0 } };
    w->policy.writable_count = 2;
    world_ready(w);
    assert_true(world_try(w, "x", ARGS("~/.cache/x"), ""));
    assert_false(world_try(w, "y", ARGS("~/.cache/x"), ""));
    assert_true(world_try(w, "y", ARGS("../out/sub/new"), ""));
    assert_true(world_try(w, "y", ARGS("updir/new"), ""));
    assert_false(world_try(w, "y", ARGS("../out/subway"), ""));
}

static void test_refusal(void **state)
{
    struct world *w = *state;
    world_section(w, "x", "^x$");
    world_ready(w);
    static const struct {
        const char *arg, *code, *shown;
    } table[] = {
        { "--a=../out/x", "outside",
                "argument '--a=../out/x' is not permitted: '@OUT@/x' is outside the "
                "workspace\nRule: [shell.x] arg_paths = \"workspace\" "
                "(.pyddock/pyddock.toml:7)\nName a path in the workspace '@WS@', "
                "relative to it." },
        { "tools/jobs/run.sh", "write-protected",
                "arg_paths = \"workspace\" and the protected folder '@WS@/tools/jobs' "
                "(.pyddock/pyddock.toml:7)" },
        { ".pyddock/x", "write-protected", "is in .pyddock/, which is write-protected" },
        { "src/.npmrc", "guard",
                "argument 'src/.npmrc' is not permitted: it names '@WS@/src/.npmrc'\n"
                "Rule: [filesystem.guards] '/\\.npmrc$' = \"deny-all\"" },
        { "a\x01,outlink", "outside", "argument 'a\\x01,outlink' is" },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        assert_false(world_try(w, "x", ARGS(table[i].arg), ""));
        assert_string_equal(w->why.code, table[i].code);
        if (!strstr(world_refusal(w), fill(w, table[i].shown)))
            fail_msg("%s", world_refusal(w));
    }
}

/* However many marks an argument has, it is decided, and the end is looked at. */
static void test_large(void **state)
{
    struct world *w = *state;
    world_section(w, "x", "^x$");
    world_ready(w);
    static const struct {
        const char *unit;
        bool allowed;
    } table[] = {
        { "\"a\":1,", true },
        { "a/", true },
        { "../a/", false },
        { "a=", true },
        { "/,", false },
        { "x,y:z;", true },
        { "outlin", true },
        { "./", true },
        { "@", true },
        { "-a", true },
        { "file:", false },
        { "file:%2e%2e/,", false },
        { "ab://,", true },
        { "name:a,", true },
    };
    enum { SIZE = 130000 };
    static const char end[] = ",/etc/passwd";
    auto_free char *text = xmalloc(SIZE + 1);
    text[SIZE] = 0;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        size_t len = strlen(table[i].unit);
        for (size_t k = 0; k < SIZE; k++)
            text[k] = table[i].unit[k % len];
        if (world_try(w, "x", ARGS(text), "") != table[i].allowed)
            fail_msg("many '%s'", table[i].unit);
        memcpy(text + SIZE - strlen(end), end, strlen(end));
        assert_false(world_try(w, "x", ARGS(text), ""));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_harmless, setup, teardown),
        cmocka_unit_test_setup_teardown(test_harmful, setup, teardown),
        cmocka_unit_test_setup_teardown(test_modes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_relative, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_sandbox, setup, teardown),
        cmocka_unit_test_setup_teardown(test_writable, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refusal, setup, teardown),
        cmocka_unit_test_setup_teardown(test_large, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
