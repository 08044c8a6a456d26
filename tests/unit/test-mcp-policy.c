/* Which tools of other MCP servers may be called, and with what. */
#include "policy/mcp.h"

#include "config-world.h"
#include "unit.h"

#include <stdio.h>

#define BOX                                                                        \
    "[mcp.box]\ntools = { 'get_.*' = true, 'list_.*' = true, get_secret = false, " \
    "'drop_.*' = false, drop_all = true }\n"

struct asker {
    struct world world;
    struct policy *policy;
    struct refusal why;
};

static void begin(struct asker *a, const char *text)
{
    open_world(&a->world);
    a->policy = load_text(&a->world, text, true);
    refusal_init(&a->why);
}

static void end(struct asker *a)
{
    refusal_finish(&a->why);
    close_world(&a->world);
}

/* `arguments`: JSON, or NULL for none. */
static bool ask(
        struct asker *a, struct str server, struct str tool, const char *arguments)
{
    struct error err;
    json_t *json = NULL;
    refusal_clear(&a->why);
    if (arguments)
        assert_true(json_parse(str_of(arguments), &json, &err));
    bool allowed = mcp_decide(a->policy, server, tool, json, &a->why);
    assert_true(allowed == !a->why.what.len);
    assert_true(allowed == !a->why.rule.len);
    json_decref(json);
    return allowed;
}

static void test_names(void **state UNUSED)
{
    static const struct {
        struct str tool;
        bool allowed;
    } cases[] = {
        { STR("get_item"), true }, { STR("list_"), true }, { STR("get_secret"), false },
        { STR("get_secrets"), true },
        { STR("drop_all"), false }, /* a true behind a false */
        { STR("drop_one"), false }, { STR("get"), false }, { STR("xget_item"), false },
        { STR("Get_item"), false }, { STR(""), false }, { STR("*"), false },
        { STR("get_item\n"), false }, { STR("get_item\nset_item"), false },
        { STR("get_item\0x"), false }, { STR("get_\x7F"), false },
        { STR("__proto__"), false }, { STR("get_item.x/y"), true },
        { STR("get_\xFF"), true }, /* it is sent as U+FFFD, which matches too */
    };
    struct asker a;
    begin(&a, BOX);
    const struct policy_mcp *box = mcp_find_section(a.policy, STR("box"));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (ask(&a, STR("box"), cases[i].tool, NULL) != cases[i].allowed)
            fail_msg("%.*s", STR_ARG(cases[i].tool));
        assert_true(mcp_offers(box, cases[i].tool) == cases[i].allowed);
    }
    end(&a);
}

/* All is matched whole, whatever a pattern would do with ends of lines. */
static void test_control_characters(void **state UNUSED)
{
    struct asker a;
    begin(&a, "[mcp.box]\ntools = { '(?s).*' = true }\n");
    assert_true(ask(&a, STR("box"), STR("a b"), NULL));
    assert_false(ask(&a, STR("box"), STR(""), NULL));
    assert_false(ask(&a, STR("box"), STR("a\nb"), NULL));
    assert_false(ask(&a, STR("box"), STR("a\0b"), NULL));
    end(&a);
}

static void expect(const struct asker *a, const char *code, const char *what,
        const char *rule, unsigned line, const char *hint)
{
    assert_string_equal(a->why.code, code);
    assert_string_equal(a->why.what.data, what);
    assert_string_equal(a->why.rule.data, rule);
    assert_int_equal(a->why.origin.line, line);
    if (!strstr(a->why.hint.data, hint))
        fail_msg("%s: no '%s'", a->why.hint.data, hint);
}

static void test_refusals(void **state UNUSED)
{
    struct asker a;
    begin(&a, "[mcp.box]\ndescription = 'x'\n[mcp.box.tools]\n'get_.*' = true\n"
              "get_secret = false\n[mcp.box.arguments]\n'.*' = { id = '[a-z]+' }\n"
              "[mcp.empty]\n[deny_messages]\n'^box get_sec' = 'Ask for it.'\n");
    assert_false(ask(&a, STR("box"), STR("get_secret"), NULL));
    expect(&a, "mcp-tool",
            "calling the tool 'get_secret' of the MCP server 'box' is not permitted",
            "[mcp.box.tools] 'get_secret' = false", 5,
            "[Ask for it.] Tools whose whole name matches one of these may be called: "
            "'get_.*'; but none that matches one of: 'get_secret'.");
    assert_false(ask(&a, STR("box"), STR("set\nx"), NULL));
    expect(&a, "mcp-tool",
            "calling the tool 'set\\nx' of the MCP server 'box' is not permitted",
            "[mcp.box] tools: no pattern allows it", 1, "'get_.*'");
    assert_false(ask(&a, STR("empty"), STR("x"), NULL));
    expect(&a, "mcp-tool",
            "calling the tool 'x' of the MCP server 'empty' is not permitted",
            "[mcp.empty] tools: no pattern allows it", 8,
            "No tool of this server may be called.");
    assert_false(ask(&a, STR("bx"), STR("get_item"), NULL));
    expect(&a, "mcp-server", "calling the MCP server 'bx' is not permitted",
            "only servers with a section [mcp.NAME] are called", 0,
            "Did you mean 'box'? The policy has sections for: 'box', 'empty'");
    assert_false(ask(&a, STR("box"), STR("get_item"), "{\"id\": \"7\"}"));
    expect(&a, "mcp-arguments",
            "calling the tool 'get_item' of the MCP server 'box' is not permitted with "
            "the argument 'id' = '7'",
            "[mcp.box.arguments] '.*' = { 'id' = '[a-z]+' }", 7, "pattern matches");
    assert_false(ask(&a, STR("box"), STR("get_item"), NULL));
    expect(&a, "mcp-arguments",
            "calling the tool 'get_item' of the MCP server 'box' is not permitted "
            "without the argument 'id'",
            "[mcp.box.arguments] '.*' = { 'id' = '[a-z]+' }", 7, "");
    end(&a);
}

static void test_servers(void **state UNUSED)
{
    struct asker a;
    begin(&a, "[mcp.box.tools]\n'.*' = true\n[mcp.'a.b'.tools]\n'.*' = true\n"
              "[mcp.__proto__.tools]\nx = true\n");
    assert_true(ask(&a, STR("box"), STR("x"), NULL));
    assert_true(ask(&a, STR("a.b"), STR("x"), NULL));
    assert_true(ask(&a, STR("__proto__"), STR("x"), NULL));
    assert_false(ask(&a, STR("a"), STR("x"), NULL));
    assert_false(ask(&a, STR("Box"), STR("x"), NULL));
    assert_false(ask(&a, STR("box\n"), STR("x"), NULL));
    assert_false(ask(&a, STR("box\0"), STR("x"), NULL));
    assert_false(ask(&a, STR(""), STR("x"), NULL));
    assert_false(ask(&a, STR("constructor"), STR("x"), NULL));
    end(&a);
}

static void test_arguments(void **state UNUSED)
{
    static const struct {
        const char *tool, *arguments;
        bool allowed;
    } cases[] = {
        { "create", "{\"repo\": \"us/one\"}", true },
        { "create", "{\"repo\": \"us/one\", \"other\": \"them/two\"}", true },
        { "create", "{\"repo\": \"them/two\"}", false },
        { "create", "{\"repo\": \"xus/one\"}", false },
        { "create", "{\"repo\": \"us/one\\n\"}", false },
        { "create", "{\"repo\": \"us/one\\u0000/x\"}", false },
        { "create", "{\"repo\": [\"us/one\"]}", false },
        { "create", "{\"repo\": null}", false },
        { "create", "{\"Repo\": \"us/one\"}", false },
        /* Some servers do not tell upper from lower case, and take the last one. */
        { "create", "{\"repo\": \"us/one\", \"Repo\": \"them/two\"}", false },
        { "create", "{\"REPO\": \"us/one\", \"repo\": \"us/one\"}", false },
        { "create", "{\"repo\": \"us/one\", \"label\\u017f\": [\"x\"]}", false },
        { "create", "{\"repo\": \"us/one\", \"repo_\": 1, \"rep\": 1}", true },
        { "pick", "{\"k\": \"a\"}", true },
        { "pick", "{\"k\": \"a\", \"\\u212a\": \"b\"}", false },
        { "get", "{\"repo\": \"us/one\", \"Repo\": \"them/two\"}", true },
        { "create", "{\"repo\": \"us/one\", \"labels\": [\"bug\"]}", true },
        { "create", "{\"repo\": \"us/one\", \"labels\": [ \"bug\" ]}", true },
        { "create", "{\"repo\": \"us/one\", \"labels\": \"\"}", true },
        { "create", "{\"repo\": \"us/one\", \"labels\": [\"bug\", \"x\"]}", false },
        { "create", "{\"repo\": \"us/one\", \"labels\": {\"bug\": 1}}", false },
        { "create", "{}", false },
        { "create", NULL, false },
        { "create_two", "{\"repo\": \"us/one\"}", false }, /* n is missing */
        { "create_two", "{\"repo\": \"us/one\", \"n\": 12}", true },
        { "create_two", "{\"repo\": \"us/one\", \"n\": 12.5}", false },
        { "create_two", "{\"repo\": \"us/one\", \"n\": true}", false },
        { "create_two", "{\"n\": 12}", false }, /* both lines hold */
        { "get", "{\"repo\": \"them/two\"}", true },
    };
    struct asker a;
    begin(&a, "[mcp.box.tools]\n'.*' = true\n[mcp.box.arguments]\n"
              "'create.*' = { repo = 'us/[^/\\x00\\n]*', labels = '|\\[\"bug\"\\]' }\n"
              "'create_two' = { n = '[0-9]+' }\n'pick' = { k = 'a' }\n");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (ask(&a, STR("box"), str_of(cases[i].tool), cases[i].arguments) !=
                cases[i].allowed)
            fail_msg("%s %s", cases[i].tool, cases[i].arguments);
    end(&a);
}

/* A pattern that cannot be decided is no permission, and is a prohibition. */
static void test_limits(void **state UNUSED)
{
    static char many[40001];
    struct asker a;
    memset(many, 'a', sizeof(many) - 1);
    begin(&a, "[mcp.yes.tools]\n'(a+)+[bc]' = true\n[mcp.no.tools]\n'(a+)+[bc]' = false\n"
              "'.*' = true\n[mcp.arg.tools]\n'.*' = true\n[mcp.arg.arguments]\n"
              "'(a+)+[bc]' = { x = 'y' }\n[mcp.value.tools]\n'.*' = true\n"
              "[mcp.value.arguments]\nt = { x = '(a+)+[bc]|.*' }\n");
    assert_false(ask(&a, STR("yes"), str_of(many), NULL));
    assert_false(ask(&a, STR("no"), str_of(many), NULL));
    assert_true(ask(&a, STR("no"), STR("c"), NULL));
    assert_false(ask(&a, STR("arg"), str_of(many), NULL));
    assert_true(ask(&a, STR("arg"), STR("c"), NULL));
    const char *json = arena_printf(a.world.arena, "{\"x\": \"%s\"}", many);
    assert_false(ask(&a, STR("value"), STR("t"), json));
    assert_true(ask(&a, STR("value"), STR("t"), "{\"x\": \"a\"}"));
    end(&a);
}

/* However patterns are arranged, what one of them forbids is not called, and what none
 * allows is not either. */
static void test_deny_wins(void **state UNUSED)
{
    static const char *const patterns[] = { ".*", "a", "ab?", "[ab]+", "b.*", "" };
    static const char *const names[] = { "a", "ab", "b", "ba", "c" };
    static const bool matches[ARRAY_LEN(patterns)][ARRAY_LEN(names)] = {
        { true, true, true, true, true },
        { true, false, false, false, false },
        { true, true, false, false, false },
        { true, true, true, true, false },
        { false, false, true, true, false },
        { false, false, false, false, false },
    };
    unsigned seed = 7;
    struct asker a;
    open_world(&a.world);
    refusal_init(&a.why);
    for (unsigned round = 0; round < 60; round++) {
        auto_buf text = BUF(4096);
        bool denied[ARRAY_LEN(names)] = { false }, allowed[ARRAY_LEN(names)] = { false };
        unsigned first = round % ARRAY_LEN(patterns);
        buf_add(&text, STR("[mcp.box.tools]\n"));
        for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
            size_t p = (i + first) % ARRAY_LEN(patterns);
            seed = seed * 1103515245 + 12345;
            unsigned choice = (seed >> 16) % 3;
            if (choice == 2)
                continue;
            buf_addf(&text, "'%s' = %s\n", patterns[p], choice ? "true" : "false");
            for (size_t n = 0; n < ARRAY_LEN(names); n++)
                if (matches[p][n])
                    *(choice ? &allowed[n] : &denied[n]) = true;
        }
        a.policy = load_text(&a.world, text.data, true);
        for (size_t n = 0; n < ARRAY_LEN(names); n++)
            if (ask(&a, STR("box"), str_of(names[n]), "{}") != (allowed[n] && !denied[n]))
                fail_msg("%s of\n%s", names[n], text.data);
    }
    end(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_control_characters),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_servers),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_deny_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
