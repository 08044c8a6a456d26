#include "policy/paths.h"

#include "base/json.h"
#include "policy/paths-internal.h"

#include "path-world.h"
#include "unit.h"

/* Which uses are allowed: "lrw", a dash for one that is not. */
static const char *uses(const struct path_policy *p, const char *path)
{
    static char text[4];
    for (int i = 0; i < 3; i++)
        text[i] = path_allowed(p, str_of(path), (enum path_use)i, NULL) ? "lrw"[i] : '-';
    return text;
}

static void expect_uses(const struct path_policy *p, const char *path, const char *want)
{
    if (strcmp(uses(p, path), want))
        fail_msg("%s: %s", path, uses(p, path));
}

static const struct {
    const char *path, *uses;
} decisions[] = {
    { "/", "lr-" },
    { "/w", "lrw" },
    { "/w/a", "lrw" },
    { "/wx/a", "lr-" },
    { "/etc/passwd", "lr-" },
    { "/h/.ssh", "---" },
    { "/h/.ssh/id", "---" },
    { "/h/.SSH/id", "---" },
    { "/h/.s\xE2\x80\x8Bsh/id", "---" },
    { "/h/.\xC5\xBFsh/id", "---" }, /* a long s */
    { "/h/.\xC3\x9Fh/id", "---" },  /* a sharp s */
    { "/h/.\xC3\xA7h/id", "lr-" },
    { "/w/.kiro/\xEF\xAC\x86", "lrw" }, /* a ligature, of no guard */
    { "/h/x.ssh/id", "lr-" },
    { "/w/.ssh/id", "---" },
    { "/w/.npmrc", "---" },
    { "/w/.NPMRC", "---" },
    { "/w/.npmrc/x", "lrw" },
    { "/w/.env", "lrw" },
    { "/w/.env.local", "lrw" },
    { "/h/.env", "---" },
    { "/w/.git", "lr-" },
    { "/w/.git/config", "lr-" },
    { "/w/sub/.git/config", "lr-" },
    { "/w/.gitignore", "lrw" },
    { "/w/.GIT/config", "lr-" },
    { "/w/.kiro", "lrw" },
    { "/w/.kiro/settings", "lr-" },
    { "/w/.kiro/settings.old", "lr-" },
    { "/w/a.key", "---" },
    { "/w/open.key", "lrw" }, /* the first match wins */
    { "/h/open.key", "lrw" },
    { "/h/Open.key", "---" }, /* what allows is taken as it stands */
    { "/opt/data", "lr-" },
    { "/opt/data/x", "lrw" },
    { "/w/.pyddock", "lr-" },
    { "/w/.pyddock/pyddock.toml", "lr-" },
    { "/w/.PyDdock/pyddock.toml", "lr-" },
    { "/w/.pyddock/tmp", "lr-" },
    { "/w/.pyddock/tmp/x", "lrw" },
    { "/w/.pyddock/tmpfoo", "lr-" },
    { "/w/.pyddock/TMP/x", "lr-" },
    { "/w/.pyddockx", "lrw" },
    { "/w/tools", "lrw" },
    { "/w/tools/jobs", "lr-" },
    { "/w/tools/jobs/a", "lr-" },
    { "/w/tools/jobs2", "lrw" },
    { "/dev/null", "lrw" },
    { "/dev/zero", "---" },
    { "/dev/shm/x", "lr-" },
    { "/proc/cpuinfo", "lr-" },
    { "/proc/1/environ", "---" },
    { "/proc/self/environ", "---" },
    { "/proc/thread-self/mem", "---" },
    { "", "---" },
    { "w", "---" },
    { "/w/../w/a", "---" },
    { "/w/./a", "---" },
    { "/w//a", "---" },
    { "/w/", "---" },
};

/* Where everything may be written there is still what sets the kernel. */
static void test_settings(void **state UNUSED)
{
    struct path_world w;
    path_world_init(&w, "*");
    w.policy.writable[0].path = STR("/");
    w.paths = path_policy_create(&w.policy, w.arena);
    expect_uses(w.paths, "/etc/passwd", "lrw");
    expect_uses(w.paths, "/proc", "lr-");
    expect_uses(w.paths, "/proc/sys/kernel/core_pattern", "lr-");
    expect_uses(w.paths, "/sys/kernel/uevent_helper", "lr-");
    expect_uses(w.paths, "/proc/self/oom_score_adj", "---");
    expect_uses(w.paths, "/processes/x", "lrw");
    path_world_finish(&w);
}

static void test_decisions(void **state UNUSED)
{
    struct path_world w;
    path_world_init(&w, "*");
    for (size_t i = 0; i < ARRAY_LEN(decisions); i++)
        expect_uses(w.paths, decisions[i].path, decisions[i].uses);
    assert_false(path_allowed(w.paths, (struct str){ "/w/a\0b", 6 }, PATH_LOOK, NULL));
    path_world_finish(&w);
}

static void test_readable_paths(void **state UNUSED)
{
    static const struct {
        const char *path, *uses;
    } table[] = {
        { "/", "l--" },
        { "/r", "l--" },
        { "/r/x", "lr-" },
        { "/r/xy", "---" },
        { "/r/x/y", "lr-" },
        { "/w/a", "l-w" },
        { "/w/open.key", "lrw" },
        { "/w/.git/config", "l--" },
        { "/r/x/.git/config", "lr-" },
        { "/etc", "---" },
    };
    struct path_world w;
    path_world_init(&w, "/r/x");
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        expect_uses(w.paths, table[i].path, table[i].uses);
    path_world_finish(&w);
}

static void test_trees(void **state UNUSED)
{
    static const struct {
        const char *path;
        bool allowed;
    } table[] = {
        { "/w/a", true },
        { "/w/.kiro", false }, /* .kiro/settings may lie in it */
        { "/w/.KIRO", false },
        { "/w/sub/.kiro", false },
        { "/w/tools", false },
        { "/w/TOOLS", false },
        { "/w/tools/other", true },
        { "/w", false },
        { "/w/.pyddock", false },
        { "/w/.pyddock/tmp", false },
        { "/w/.pyddock/tmp/x", true },
        { "/w/.git", false },
    };
    struct path_world w;
    path_world_init(&w, "*");
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (path_tree_allowed(w.paths, str_of(table[i].path), NULL) != table[i].allowed)
            fail_msg("%s", table[i].path);
    assert_true(path_passable(w.paths, STR("/w/.git")));
    assert_true(path_passable(w.paths, STR("/etc")));
    assert_false(path_passable(w.paths, STR("/h/.ssh")));
    path_world_finish(&w);
}

static void test_refusals_name_the_rule(void **state UNUSED)
{
    static const struct {
        const char *path;
        enum path_use use;
        const char *code, *text;
    } table[] = {
        { "/w/.git/config", PATH_WRITE, "guard",
                "writing '/w/.git/config' is not permitted\n"
                "Rule: [filesystem.guards] '/\\.git/' = \"read-only\" (policy.toml:7)\n"
                "It can be read; what may change it is a command that the policy "
                "allows." },
        { "/h/x", PATH_WRITE, "writes-restricted",
                "writing '/h/x' is not permitted: writes are restricted\n"
                "Rule: [filesystem] writable_paths = [\".\"] (policy.toml:7)\n"
                "Use a path below '/w'." },
        { "/w/.pyddock/x", PATH_WRITE, "write-protected",
                "writing '/w/.pyddock/x' is not permitted\n"
                "Rule: '/w/.pyddock' is write-protected: it holds the policy (.pyddock/) "
                "(always)\n"
                "Files for the moment may be written below '/w/.pyddock/tmp/'." },
        { "/h/a\nRule: x", PATH_WRITE, "writes-restricted",
                "writing '/h/a\\x0aRule: x' is not permitted: writes are restricted\n"
                "Rule: [filesystem] writable_paths = [\".\"] (policy.toml:7)\n"
                "Use a path below '/w'." },
        { "/proc/1/environ", PATH_READ, "special-file",
                "reading '/proc/1/environ' is not permitted\n"
                "Rule: what belongs to a process is not looked into (always)" },
    };
    struct path_world w;
    path_world_init(&w, "*");
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        auto_refusal why;
        auto_buf text = BUF(4096);
        refusal_init(&why);
        assert_false(path_allowed(w.paths, str_of(table[i].path), table[i].use, &why));
        refusal_write(&why, &text);
        assert_string_equal(text.data, table[i].text);
        assert_string_equal(why.code, table[i].code);
    }
    path_world_finish(&w);
}

static void test_a_pattern_that_gives_up_refuses(void **state UNUSED)
{
    struct path_world w;
    path_world_init(&w, "*");
    struct policy_guard slow[] = { path_guard(w.arena, "(a|a|aa)+$", GUARD_ALLOW) };
    w.policy.guards = slow;
    w.policy.guard_count = 1;
    w.paths = path_policy_create(&w.policy, w.arena);
    char path[400] = "/w/";
    memset(path + 3, 'a', 300);
    strcpy(path + 303, "/b");
    expect_uses(w.paths, path, "---");
    expect_uses(w.paths, "/w/b", "lrw");
    path_world_finish(&w);
}

static void test_literals(void **state UNUSED)
{
    static const struct {
        const char *pattern, *literal;
    } table[] = {
        { "/\\.ssh/", "/.ssh/" },
        { "/\\.aws/credentials$", "/.aws/credentials" },
        { "/\\.env(\\.[^/]*)?$", "/.env" },
        { "^/opt/data/", "/opt/data/" },
        { "/ab?", "/a" },
        { "/ab*c", "/a" },
        { "/ab+c", "/ab" },
        { "/ab{0,2}c", "/a" },
        { "/a|/b", "" },
        { "/a(b|c)", "/a" },
        { "/a[|]b", "/a" },
        { "/a[]|]b|c", "" },
        { "(?i)/a", "" },
        { "(/a)?b", "" },
        { "[ab]c", "" },
        { "\\.key$", ".key" },
        { "/a\\|b", "/a|b" },
        { "/a\\d", "/a" },
        { "/\xC3\xA9t\xC3\xA9", "/" },
        { ".*", "" },
        { "", "" },
        { "\\", "" },
    };
    auto_arena *arena = arena_create();
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct str literal = guard_literal(str_of(table[i].pattern), arena);
        assert_string_equal(literal.data, table[i].literal);
    }
}

/* Of a machine that does not exist, all that is protected is absent. */
static void test_absent(void **state UNUSED)
{
    static const char *const want[] = { "/w/.pyddock", "/w/tools/jobs", "/w/.ssh",
        "/w/.npmrc", "/w/.git", "/w/.kiro/settings", "/w/.kiro/settingss",
        "/w/.kiro/settings.json", "/w/.kiro/settings.local.json" };
    struct path_world w;
    path_world_init(&w, "*");
    const char *const *absent = path_policy_absent(w.paths, w.arena);
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        assert_string_equal(absent[i], want[i]);
    assert_null(absent[ARRAY_LEN(want)]);
    w.policy.writable_count = 0;
    assert_null(path_policy_absent(w.paths, w.arena)[0]);
    path_world_finish(&w);
}

static void test_json_round_trip(void **state UNUSED)
{
    struct path_world w;
    struct error err = { 0 };
    struct path_policy *again;
    path_world_init(&w, "*");
    w.policy.protected[1].path = STR("/w/caf\xE9"); /* no UTF-8 */
    w.paths = path_policy_create(&w.policy, w.arena);
    json_auto_t *json = path_policy_json(w.paths);
    if (!path_policy_parse(json, w.arena, &again, &err))
        fail_msg("%s", err.message);
    for (size_t i = 0; i < ARRAY_LEN(decisions); i++)
        assert_string_equal(
                uses(w.paths, decisions[i].path), uses(again, decisions[i].path));
    expect_uses(again, "/w/caf\xE9/x", "lr-");
    expect_uses(again, "/w/caf\xC3\xA9/x", "lrw");
    json_auto_t *second = path_policy_json(again);
    assert_true(json_equal(json, second));
    assert_true(str_is(path_policy_workspace(again), "/w"));
    assert_true(str_is(path_policy_home(again), "/h"));
    path_world_finish(&w);
}

static void test_json_that_is_malformed(void **state UNUSED)
{
#define REST                                                                             \
    "\"home\":\"\",\"readable_all\":true,\"writable\":[],\"readable\":[],\"guards\":[]," \
    "\"protected\":[]}"
    static const char *const bad[] = {
        "[]",
        "{}",
        "{\"workspace\":\"w\"," REST,
        "{\"workspace\":1," REST,
        "{\"workspace\":\"/\\u0100\"," REST,
        "{\"workspace\":\"/\\u0000\"," REST,
        "{\"workspace\":\"/\",\"home\":\"\",\"readable_all\":1,\"writable\":[],"
        "\"readable\":[],\"guards\":[],\"protected\":[]}",
        "{\"workspace\":\"/\",\"home\":\"\",\"readable_all\":true,\"writable\":{},"
        "\"readable\":[],\"guards\":[],\"protected\":[]}",
        "{\"workspace\":\"/"
        "\",\"home\":\"\",\"readable_all\":true,\"writable\":[{\"text\":"
        "\"\",\"path\":\"x\"}],\"readable\":[],\"guards\":[],\"protected\":[]}",
        "{\"workspace\":\"/\",\"home\":\"\",\"readable_all\":true,\"writable\":[],"
        "\"readable\":[],\"guards\":[{\"regex\":\"(\",\"disposition\":\"allow\"}],"
        "\"protected\":[]}",
        "{\"workspace\":\"/\",\"home\":\"\",\"readable_all\":true,\"writable\":[],"
        "\"readable\":[],\"guards\":[{\"regex\":\"a\",\"disposition\":\"perhaps\"}],"
        "\"protected\":[]}",
        "{\"workspace\":\"/\",\"home\":\"\",\"readable_all\":true,\"writable\":[],"
        "\"readable\":[],\"guards\":[],\"protected\":[{\"kind\":\"policy\"}]}",
        "{\"workspace\":\"/\",\"home\":\"\",\"readable_all\":true,\"writable\":[],"
        "\"readable\":[],\"guards\":[],\"protected\":[{\"kind\":\"moon\",\"path\":\"/"
        "\",\"except\":\"\"}]}",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        auto_arena *arena = arena_create();
        json_auto_t *json = NULL;
        struct error err = { 0 };
        struct path_policy *out = NULL;
        assert_true(json_parse(str_of(bad[i]), &json, &err));
        if (path_policy_parse(json, arena, &out, &err))
            fail_msg("%s", bad[i]);
        assert_int_equal(strncmp(err.message, "paths: ", 7), 0);
        assert_null(out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decisions),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_readable_paths),
        cmocka_unit_test(test_trees),
        cmocka_unit_test(test_refusals_name_the_rule),
        cmocka_unit_test(test_a_pattern_that_gives_up_refuses),
        cmocka_unit_test(test_literals),
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_json_round_trip),
        cmocka_unit_test(test_json_that_is_malformed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
