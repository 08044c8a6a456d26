#include "tool/describe.h"

#include "sanitized.h"
#include "unit.h"

#define MANY 200

static struct policy_regex regexes[MANY];
static struct peer_definitions servers;

static void init_regexes(void)
{
    for (size_t i = 0; i < MANY; i++)
        regexes[i].text = STR("some-long-word(\\s|$)");
}

static struct policy_shell shell(const char *name, const char *command)
{
    return (struct policy_shell){ .name = str_of(name),
        .command = { .text = str_of(command) },
        .mode = MODE_DENY,
        .network = true };
}

static struct str describe(
        const struct policy *policy, const char *text, struct arena *arena)
{
    json_auto_t *definition = json_pack("{s:s}", "description", text);
    describe_fill(
            definition, &(struct described){ .policy = policy, .servers = &servers });
    return arena_str(arena, json_get_str(definition, "description", STR("")));
}

static void test_seconds(void **state UNUSED)
{
    static const struct {
        double seconds;
        const char *want;
    } cases[] = { { 30, "30.0" }, { 0, "0.0" }, { -1, "-1.0" }, { 0.25, "0.25" },
        { 99999, "99999.0" }, { 1e300, "1e+300" } };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_buf text = BUF(64);
        describe_seconds(cases[i].seconds, &text);
        assert_string_equal(text.data, cases[i].want);
    }
}

static void test_sections(void **state UNUSED)
{
    auto_arena *arena = arena_create();
    struct policy_shell shells[] = { shell("lint", "^my-lint$"), shell("build", "ops/.*"),
        shell("free", "^freely$"), shell("none", "^none$") };
    struct policy_regex allow[] = { { .text = STR("check .*") },
        { .text = STR("report$") } };
    struct policy_regex deny[] = { { .text = STR("--publish") } };
    shells[0].allow = (struct policy_regexes){ allow, 2 };
    shells[0].deny = (struct policy_regexes){ deny, 1 }; /* not shown */
    shells[1].mode = shells[2].mode = MODE_ALLOW;
    shells[1].deny = (struct policy_regexes){ deny, 1 };
    shells[1].network = false;
    shells[2].sandbox = SANDBOX_NONE;
    const struct policy policy = {
        .timeout_ms = 17000, .max_timeout_ms = 333500, .shells = shells, .shell_count = 4
    };
    struct str text = describe(&policy, "{timeouts} Commands:{policy}\nEnd.", arena);
    assert_string_equal(text.data,
            "Timeout: 17.0s by default, 333.5s at most. Commands:\n"
            "  lint (pattern: ^my-lint$): deny-by-default, allowed arg patterns: check "
            ".*, "
            "report$\n"
            "  build (pattern: ops/.*; no network): allow-by-default, denied arg "
            "patterns: "
            "--publish\n"
            "  free (pattern: ^freely$; not sandboxed): allow-by-default, no "
            "restrictions\n"
            "  none (pattern: ^none$): deny-by-default\n"
            "End.");
}

/* However much there is, it fits, whole entries are cut, and each cut is told. */
static void test_room(void **state UNUSED)
{
    init_regexes();
    static struct policy_shell shells[MANY];
    for (size_t sections = 1; sections <= MANY; sections += 7)
        for (size_t patterns = 0; patterns <= MANY; patterns += 50) {
            auto_arena *arena = arena_create();
            for (size_t i = 0; i < sections; i++) {
                shells[i] = shell("some-name", "^some-name$");
                shells[i].allow = (struct policy_regexes){ regexes, patterns };
            }
            const struct policy policy = { .shells = shells, .shell_count = sections };
            struct str text =
                    describe(&policy, "Prose before.{policy} Prose after.", arena);
            assert_in_range(text.len, 1, DESCRIBE_MAX_BYTES);
            assert_true(str_ends(text, STR(" Prose after.")));
            assert_non_null(strstr(text.data, "some-name"));
            if (sections > 100)
                assert_non_null(strstr(text.data, " more: paddock policy show"));
            if (sections == 1 && patterns)
                assert_non_null(strstr(text.data, "some-long-word, some-long-word"));
            if (sections == 1 && patterns == 200)
                assert_non_null(strstr(text.data, " more Prose"));
        }
}

/* A long section does not push the others out. */
static void test_fair(void **state UNUSED)
{
    init_regexes();
    auto_arena *arena = arena_create();
    struct policy_shell shells[] = { shell("big", "^big$"), shell("small", "^small$"),
        shell("last", "^last$") };
    shells[0].allow = (struct policy_regexes){ regexes, MANY };
    shells[1].allow = shells[2].allow = (struct policy_regexes){ regexes, 2 };
    const struct policy policy = { .shells = shells, .shell_count = 3 };
    struct str text = describe(&policy, "{policy}", arena);
    assert_non_null(
            strstr(text.data, "  last (pattern: ^last$): deny-by-default, allowed "
                              "arg patterns: some-long-word, some-long-word"));
}

static struct policy_mcp_tool tool(const char *pattern, bool allowed)
{
    return (struct policy_mcp_tool){ { .text = str_of(pattern) }, allowed };
}

static void test_servers(void **state UNUSED)
{
    auto_arena *arena = arena_create();
    const struct policy_mcp_tool tools[] = { tool("get_.*", true), tool("drop", false),
        tool("list_.*", true) };
    const struct policy_mcp_argument argument = { STR("repo"), { .text = STR("x") } };
    const struct policy_mcp_rule rules[] = {
        { { .text = STR("get_.*") }, &argument, 1 },
    };
    const struct policy_mcp sections[] = {
        { .name = STR("box"),
                .description = STR("Items\n\n of a box.\n"),
                .tools = tools,
                .tool_count = 3 },
        { .name = STR("a\nb \x1B[31m"),
                .description = STR(""),
                .tools = tools + 1,
                .tool_count = 1,
                .rules = rules,
                .rule_count = 1 },
    };
    const struct peer_definition items[] = {
        { .name = sections[0].name, .section = &sections[0], .program = "/bin/box" },
        { .name = sections[1].name, .section = &sections[1], .program = "/bin/box" },
    };
    servers = (struct peer_definitions){ items, 2, NULL, 0 };
    struct str text = describe(NULL, "Servers:{servers} End.", arena);
    servers = (struct peer_definitions){ .count = 0 };
    assert_string_equal(text.data,
            "Servers:\n"
            "  box: Items of a box. [tools: get_.*, list_.*; not: drop]\n"
            "  \"a\\nb \\u001b[31m\" [tools: none; not: drop; some arguments are "
            "limited] "
            "End.");
    text = describe(NULL, "Servers:{servers} End.", arena);
    assert_string_equal(text.data, "Servers: End.");
}

/* However much there is, it fits, and is the same every time. */
static void test_servers_room(void **state UNUSED)
{
    static struct policy_mcp_tool tools[MANY];
    static struct policy_mcp sections[MANY];
    static struct peer_definition items[MANY];
    static char words[3001];
    for (size_t i = 0; i < MANY; i++)
        tools[i] = tool("some_long_tool_name_.*", i % 3 > 0);
    for (size_t i = 0; i + 3 < sizeof(words); i += 3)
        memcpy(words + i, "a\xC3\xA9", 3);
    for (size_t count = 1; count <= MANY; count += SANITIZED ? 106 : 53)
        for (size_t patterns = 0; patterns <= MANY; patterns += 95)
            for (size_t len = 0; len < 3000; len += 501) {
                auto_arena *arena = arena_create();
                for (size_t i = 0; i < count; i++) {
                    sections[i] = (struct policy_mcp){ .name = STR("some-server"),
                        .description = { words, len },
                        .tools = tools,
                        .tool_count = patterns };
                    items[i] = (struct peer_definition){ .name = sections[i].name,
                        .section = &sections[i] };
                }
                servers = (struct peer_definitions){ items, count, NULL, 0 };
                struct str text = describe(NULL, "Before.{servers} After.", arena);
                assert_in_range(text.len, 1, DESCRIBE_MAX_BYTES);
                assert_true(str_ends(text, STR(" After.")));
                assert_non_null(strstr(text.data, "\n  some-server"));
                assert_null(strstr(text.data, "\xEF\xBF\xBD")); /* no half character */
                if (count > 100)
                    assert_non_null(strstr(text.data, " more: paddock policy show"));
                if (count == 1 && patterns)
                    assert_non_null(
                            strstr(text.data, "[tools: some_long_tool_name_.*, "));
                struct str again = describe(NULL, "Before.{servers} After.", arena);
                assert_true(str_eq(text, again));
            }
    servers = (struct peer_definitions){ .count = 0 };
}

static struct policy_import import(const char *name, enum import_kind kind)
{
    return (struct policy_import){ .name = str_of(name), .kind = kind };
}

static void test_python(void **state UNUSED)
{
    auto_arena *arena = arena_create();
    struct policy_import imports[] = { import("json", IMPORT_ALLOWED),
        import("P4", IMPORT_PIP), import("abc", IMPORT_ALLOWED),
        import("_heapq", IMPORT_ALLOWED), import("socket", IMPORT_DENIED),
        import("ours", IMPORT_PATH) };
    const struct policy_text calls[] = { { .text = STR("eval") },
        { .text = STR("breakpoint") } };
    struct policy_regex deny[] = { { .text = STR("write_.*") },
        { .text = STR("sink_.*") } };
    const struct policy_regexes patterns = { deny, 2 };
    struct policy_restriction restrictions[] = {
        { .name = STR("P4"), .mode = MODE_DENY, .class_allow = patterns },
        { .name = STR("socket"), .mode = MODE_ALLOW, .class_deny = patterns },
        { .name = STR("absent"), .mode = MODE_ALLOW, .class_deny = patterns },
        { .name = STR("jsonish"), .mode = MODE_ALLOW, .class_deny = patterns },
        { .name = STR("ours.part"), .mode = MODE_ALLOW, .class_deny = patterns },
        { .name = STR("abc"), .mode = MODE_ALLOW, .module_deny = patterns },
    };
    struct policy policy = { .imports = imports,
        .import_count = ARRAY_LEN(imports),
        .block_calls = { calls, 2 },
        .restrictions = restrictions,
        .restriction_count = ARRAY_LEN(restrictions) };
    assert_string_equal(describe(&policy, "Python.{python}", arena).data,
            "Python.\n\nAvailable imports: P4, abc, json, ours\n"
            "Blocked calls: eval, breakpoint\n\nRestrictions:\n"
            "  P4: deny-by-default, allowed methods: write_.*, sink_.*\n"
            "  ours.part: blocked functions: write_.*, sink_.*");
    policy.restriction_count = policy.block_calls.count = policy.import_count = 0;
    assert_string_equal(describe(&policy, "Python.{python}", arena).data, "Python.");
    const struct peer_definition items[] = { { .name = STR("box") },
        { .name = STR("tracker") } };
    servers = (struct peer_definitions){ items, 2, NULL, 0 };
    struct str text = describe(&policy, "Python.{python}", arena);
    servers = (struct peer_definitions){ .count = 0 };
    assert_string_equal(text.data,
            "Python.\nimport pyddock_mcp: pyddock_mcp.call(server, tool, arguments) "
            "returns the result, parsed; pyddock_mcp.tools(server) lists the tools. "
            "Servers: box, tracker");
}

/* However much there is, all of its kinds are there. */
static void test_python_room(void **state UNUSED)
{
    init_regexes();
    static struct policy_import imports[MANY];
    static struct policy_text calls[MANY];
    static struct policy_restriction restrictions[MANY];
    static struct peer_definition items[MANY];
    for (size_t i = 0; i < MANY; i++) {
        items[i].name = STR("a_server_with_a_long_name");
        imports[i] = import("module_with_a_long_name", IMPORT_ALLOWED);
        calls[i].text = STR("call_with_a_long_name");
    }
    for (size_t n = 0; n < 4 * 4 * 4 * 4; n++) {
        static const size_t counts[] = { 0, 1, 17, MANY };
        auto_arena *arena = arena_create();
        struct policy policy = { .imports = imports,
            .import_count = counts[n % 4],
            .block_calls = { calls, counts[n / 4 % 4] },
            .restrictions = restrictions,
            .restriction_count = counts[n / 16 % 4] };
        for (size_t i = 0; i < MANY; i++)
            restrictions[i] =
                    (struct policy_restriction){ .name = STR("module_with_a_long_name"),
                        .class_allow = { regexes, counts[n / 64] } };
        char before[1200];
        memset(before, '-', sizeof(before));
        memcpy(before + sizeof(before) - 9, "{python}", 9);
        servers = (struct peer_definitions){ items, counts[n / 4 % 4], NULL, 0 };
        struct str text = describe(&policy, before, arena);
        servers = (struct peer_definitions){ .count = 0 };
        bool restricted =
                policy.import_count && policy.restriction_count && counts[n / 64];
        assert_in_range(text.len, 1, DESCRIBE_MAX_BYTES);
        assert_int_equal(
                !strstr(text.data, "imports: module_with_"), !policy.import_count);
        assert_int_equal(
                !strstr(text.data, "calls: call_with"), !policy.block_calls.count);
        assert_int_equal(!strstr(text.data, "Servers: a_server"), !counts[n / 4 % 4]);
        assert_int_equal(!strstr(text.data, "allowed methods: some-long-w"), !restricted);
        if (policy.import_count == MANY)
            assert_non_null(strstr(text.data, " more: paddock policy show"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seconds),
        cmocka_unit_test(test_sections),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_fair),
        cmocka_unit_test(test_servers),
        cmocka_unit_test(test_servers_room),
        cmocka_unit_test(test_python),
        cmocka_unit_test(test_python_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
