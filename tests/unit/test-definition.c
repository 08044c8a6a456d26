/* What a definition file says, and how a server is started by it. */
#include "definition-world.h"
#include "peer/definition-parts.h"

#include "unit.h"

#include <stdio.h>

/* "NAME=value" of the environment, or NULL. */
static const char *find_env(const struct peer_definition *d, const char *name)
{
    size_t len = strlen(name);
    for (const char *const *one = d->env; *one; one++)
        if (!strncmp(*one, name, len) && (*one)[len] == '=')
            return *one + len + 1;
    return NULL;
}

static size_t count_of(const char *const *list)
{
    size_t count = 0;
    while (list[count])
        count++;
    return count;
}

static void test_program(void **state UNUSED)
{
    struct definitions d;
    open_definitions(&d);
    put(&d.world, "ws/.pyddock/mcp.json",
            "{\n\"other\": {\"box\": 1},\n\"mcpServers\": {\n  \"else\": {},\n"
            "  \"box\" : {\"command\": \"tool\", \"args\": [\"box\", \"--flag\", \"\"],\n"
            "    \"env\": {\"B\": \"${HOME}\", \"USER\": \"you\", \"LD_PRELOAD\": \"x\"},"
            "    \"disabled\": true, \"autoApprove\": [\"x\"], \"type\": \"stdio\"}}}");
    load_definitions(&d, "[mcp.none.tools]\nx = true\n" BOX);
    assert_int_equal(d.all.count, 1);
    const struct peer_definition *box = &d.all.items[0];
    assert_ptr_equal(box, peer_find(&d.all, STR("box")));
    assert_null(peer_find(&d.all, STR("none")));
    assert_null(peer_find(&d.all, STR("else")));
    assert_true(str_is(box->name, "box"));
    assert_ptr_equal(box->section, &d.policy->mcp[1]);
    assert_string_equal(box->origin.file, ".pyddock/mcp.json");
    assert_int_equal(box->origin.line, 5);
    assert_string_equal(box->program, in_world(&d.world, "bin/tool").data);
    assert_null(box->url);
    assert_int_equal(count_of(box->argv), 4);
    assert_string_equal(box->argv[0], "tool");
    assert_string_equal(box->argv[2], "--flag");
    assert_string_equal(box->argv[3], "");
    assert_int_equal(count_of(box->env), 5);
    assert_string_equal(find_env(box, "B"), "${HOME}");
    assert_string_equal(find_env(box, "USER"), "you");
    assert_string_equal(find_env(box, "LD_PRELOAD"), "x");
    assert_string_equal(find_env(box, "HOME"), in_world(&d.world, "home").data);
    assert_null(find_env(box, "API_TOKEN"));
    assert_null(find_env(box, "OTHER"));
    assert_null(find_env(box, "TMPDIR"));
    /* Without what is relative, and without ws/bin, where agents may write. */
    assert_string_equal(find_env(box, "PATH"),
            arena_printf(d.world.arena, "%s:/bin", in_world(&d.world, "bin").data));
    assert_true(
            is_warned(&d, "[mcp.none]: no definition file has a server of that name"));
    assert_true(is_warned(&d, "unless [mcp.box] variables lists names"));
    assert_int_equal(d.policy->warnings.count, 2);
    close_definitions(&d);
}

static void test_url(void **state UNUSED)
{
    struct definitions d;
    open_definitions(&d);
    put(&d.world, "ws/.pyddock/mcp.json",
            "{\"servers\": {\"box\": {\"type\": \"http\", \"url\": "
            "\"https://h/mcp?a=b\", "
            "\"headers\": {\"Authorization\": \"Bearer ${API_TOKEN}\", \"X-A\": \"\"}, "
            "\"env\": {\"HTTPS_PROXY\": \"http://p\"}}}}");
    load_definitions(&d, BOX "[mcp.box]\nvariables = [\"API_TOKEN\"]\n");
    assert_int_equal(d.all.count, 1);
    const struct peer_definition *box = &d.all.items[0];
    assert_null(box->program);
    assert_null(box->argv);
    assert_string_equal(box->url, "https://h/mcp?a=b");
    assert_int_equal(count_of(box->headers), 2);
    assert_string_equal(box->headers[0], "Authorization: Bearer t0ken");
    assert_string_equal(box->headers[1], "X-A: ");
    assert_string_equal(find_env(box, "HTTPS_PROXY"), "http://p");
    assert_int_equal(d.policy->warnings.count, 0);
    close_definitions(&d);
}

/* What makes a server unavailable, and what is said then. */
static void test_refused(void **state UNUSED)
{
    static const struct {
        const char *server, *want;
    } cases[] = {
        { "5", "its definition is no object" },
        { "null", "its definition is no object" },
        { "{}", "neither a \"command\" nor a \"url\"" },
        { "{\"command\": \"tool\", \"url\": \"http://h/\"}",
                "a \"command\" and a \"url\"" },
        { "{\"command\": \"\"}", "\"command\" is no string, or empty" },
        { "{\"command\": [\"tool\"]}", "\"command\" is no string, or empty" },
        { "{\"command\": \"tool\\u0000x\"}", "\"command\" has a NUL in it" },
        { "{\"command\": \"absent\"}", "'absent' is in no folder of PATH" },
        { "{\"command\": \"a\\nb\"}", "'a?b' is in no folder of PATH" },
        { "{\"command\": \"/absent/tool\"}", "'/absent/tool' does not exist" },
        { "{\"command\": \"./tool\"}", "'./tool' does not exist" },
        { "{\"command\": \"/bin\"}", "'/bin' is no program" },
        { "{\"command\": \"/etc/passwd\"}", "'/etc/passwd' is no program" },
        { "{\"command\": \"tool\", \"args\": \"x\"}", "\"args\" is no list of strings" },
        { "{\"command\": \"tool\", \"args\": [1]}", "an entry that is no string" },
        { "{\"command\": \"tool\", \"args\": [\"a\\u0000\"]}", "\"args\" has a NUL" },
        { "{\"command\": \"tool\", \"env\": []}", "\"env\" is no object of strings" },
        { "{\"command\": \"tool\", \"env\": {\"A\": 1}}", "\"env\" 'A' is no string" },
        { "{\"command\": \"tool\", \"env\": {\"A=B\": \"1\"}}",
                "'A=B', which is no name of a variable" },
        { "{\"command\": \"tool\", \"env\": {\"\": \"1\"}}", "no name of a variable" },
        { "{\"command\": \"tool\", \"env\": {\"A\\n\": \"1\"}}",
                "no name of a variable" },
        { "{\"command\": \"tool\", \"env\": {\"A\": \"\\u0000\"}}",
                "\"env\" 'A' has a NUL" },
        { "{\"command\": \"tool\", \"type\": \"http\"}",
                "\"type\" 'http' does not go with \"command\"" },
        { "{\"url\": \"http://h/\", \"type\": \"stdio\"}",
                "\"type\" 'stdio' does not go with \"url\"" },
        { "{\"url\": \"http://h/\", \"type\": \"sse\"}", "the old HTTP+SSE transport" },
        { "{\"url\": \"http://h/\", \"transport\": \"sse\"}", "HTTP+SSE" },
        { "{\"url\": \"http://h/\", \"type\": 5}", "\"type\" '' does not go" },
        { "{\"url\": \"ftp://h/\"}", "no address that begins with http:// or https://" },
        { "{\"url\": \"http://\"}", "no address" },
        { "{\"url\": \"http://h/a b\"}", "no address" },
        { "{\"url\": \"http://h/\\r\\nX: y\"}", "no address" },
        { "{\"url\": 7}", "no address" },
        { "{\"url\": \"http://h/\", \"headers\": {\"A\": \"x\\r\\nB: y\"}}",
                "\"headers\" 'A' has control characters" },
        { "{\"url\": \"http://h/\", \"headers\": {\"A:\": \"x\"}}",
                "'A:', which is no name of a header" },
        { "{\"url\": \"http://h/\", \"headers\": {\"\": \"x\"}}", "no name of a header" },
        { "{\"url\": \"http://h/\", \"headers\": {\"A\": \"x\", \"a\": \"y\"}}",
                "\"headers\" has 'A' more than once" },
        { "{\"url\": \"http://h/\", \"headers\": [\"A: b\"]}",
                "\"headers\" is no object" },
    };
    struct definitions d;
    open_definitions(&d);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_buf text = BUF(4096);
        buf_addf(&text, "{\"mcpServers\": {\"box\": %s}}", cases[i].server);
        put(&d.world, "ws/.pyddock/mcp.json", text.data);
        load_definitions(&d, BOX);
        if (d.all.count || d.policy->warnings.count != 1 ||
                !is_warned(&d, cases[i].want) ||
                !is_warned(&d, "the server 'box' is not available: "))
            fail_msg("%s: %s", cases[i].server, d.policy->warnings.items[0].text.data);
    }
    close_definitions(&d);
}

/* One of them does not take others with it. */
static void test_one_of_many(void **state UNUSED)
{
    struct definitions d;
    open_definitions(&d);
    put(&d.world, "ws/.pyddock/mcp.json",
            "{\"mcpServers\": {\"a\": {\"command\": \"absent\"}, \"b\": 5, "
            "\"__proto__\": {\"command\": \"tool\"}, \"box\": {\"command\": \"tool\"}, "
            "\"a.b\": {\"command\": \"tool\"}}}");
    load_definitions(&d, "[mcp.a.tools]\nx = true\n[mcp.b.tools]\nx = true\n" BOX
                         "[mcp.'a.b'.tools]\nx = true\n[mcp.__proto__.tools]\nx = true\n"
                         "[mcp.Box.tools]\nx = true\n");
    assert_int_equal(d.all.count, 3);
    assert_true(str_is(d.all.items[0].name, "box"));
    assert_true(str_is(d.all.items[1].name, "a.b"));
    assert_true(str_is(d.all.items[2].name, "__proto__"));
    assert_int_equal(d.policy->warnings.count, 3);
    close_definitions(&d);
}

static void test_files_refused(void **state UNUSED)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "", "is not plain JSON (comments, trailing commas" },
        { "{\"mcpServers\": {\"box\": {\"command\": \"tool\"},}}", "is not plain JSON" },
        { "// x\n{\"mcpServers\": {\"box\": {\"command\": \"tool\"}}}",
                "is not plain JSON" },
        { "{\"mcpServers\": {\"box\": {\"command\": \"tool\"}, \"box\": 1}}",
                "is not plain JSON" },
        { "{\"mcpServers\": {\"box\": {\"command\": \"tool\", \"command\": \"x\"}}}",
                "is not plain JSON" },
        { "[{\"mcpServers\": {\"box\": {\"command\": \"tool\"}}}]", "has no object" },
        { "{\"mcpServers\": [{\"box\": {\"command\": \"tool\"}}]}", "has no object" },
        { "{\"box\": {\"command\": \"tool\"}}", "has no object" },
        { "{\"mcpservers\": {\"box\": {\"command\": \"tool\"}}}", "has no object" },
    };
    struct definitions d;
    open_definitions(&d);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        put(&d.world, "ws/.pyddock/mcp.json", cases[i].text);
        load_definitions(&d, BOX);
        if (d.all.count || !is_warned(&d, "is not read: it ") ||
                !is_warned(&d, cases[i].want))
            fail_msg("%s: %s", cases[i].text, d.policy->warnings.items[0].text.data);
    }
    put(&d.world, "ws/.pyddock/mcp.json", NULL);
    make_fifo(&d.world, "ws/.pyddock/mcp.json");
    load_definitions(&d, BOX);
    assert_int_equal(d.all.count, 0);
    assert_true(is_warned(&d, "is not read: it is no file"));
    char *big = arena_alloc(d.world.arena, DEFINITION_MAX_BYTES + 2);
    memset(big, ' ', DEFINITION_MAX_BYTES + 1);
    big[DEFINITION_MAX_BYTES + 1] = 0;
    put(&d.world, "ws/.pyddock/mcp.json", big);
    load_definitions(&d, BOX);
    assert_true(is_warned(&d, "is not read: it is larger than 1 MiB"));
    close_definitions(&d);
}

static void test_both_keys(void **state UNUSED)
{
    struct definitions d;
    open_definitions(&d);
    put(&d.world, "ws/.pyddock/mcp.json",
            "{\"mcpServers\": {\"a\": {\"command\": \"tool\"}, \"box\": {\"command\": "
            "\"tool\"}}, \"servers\": {\"b\": {\"command\": \"tool\"}, \"box\": "
            "{\"command\": \"tool\"}}}");
    load_definitions(&d, "[mcp.a.tools]\nx = true\n[mcp.b.tools]\nx = true\n" BOX);
    assert_int_equal(d.all.count, 2);
    assert_null(peer_find(&d.all, STR("box")));
    assert_true(is_warned(&d, "it is defined twice"));
    close_definitions(&d);
}

static void test_variables(void **state UNUSED)
{
    static const struct {
        const char *value, *want; /* NULL: the server is not available */
        const char *warning;
    } cases[] = {
        { "plain", "plain", NULL },
        { "${API_TOKEN}", "t0ken", NULL },
        { "a${API_TOKEN}b${API_TOKEN}", "at0kenbt0ken", NULL },
        { "${EMPTY}", "", NULL },
        { "$API_TOKEN $ {API_TOKEN} }", "$API_TOKEN $ {API_TOKEN} }", NULL },
        { "$${API_TOKEN}", "$t0ken", NULL },
        { "${OTHER}", NULL, "names ${OTHER}, which [mcp.box] variables does not list" },
        { "${api_token}", NULL, "names ${api_token}, which" },
        { "${UNSET}", NULL, "names ${UNSET}, which is not set" },
        { "${}", NULL, "names ${}, which" },
        { "${env:API_TOKEN}", NULL, "names ${env:API_TOKEN}, which" },
        { "${API_TOKEN", NULL, "has '${' without '}'" },
        { "${${API_TOKEN}}", NULL, "names ${${API_TOKEN}, which" },
    };
    struct definitions d;
    open_definitions(&d);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_buf text = BUF(4096);
        buf_addf(&text,
                "{\"mcpServers\": {\"box\": {\"command\": \"tool\", \"args\": "
                "[\"${API_TOKEN}\"], \"env\": {\"V\": \"%s\"}}}}",
                cases[i].value);
        put(&d.world, "ws/.pyddock/mcp.json", text.data);
        load_definitions(&d,
                BOX "[mcp.box]\nvariables = ['API_TOKEN', 'EMPTY', 'UNSET', 'TWO']\n");
        if (d.all.count != (cases[i].want != NULL) ||
                (cases[i].warning && !is_warned(&d, cases[i].warning)))
            fail_msg("%s", cases[i].value);
        if (!cases[i].want)
            continue;
        assert_string_equal(find_env(&d.all.items[0], "V"), cases[i].want);
        assert_string_equal(d.all.items[0].argv[1], "${API_TOKEN}");
        assert_true(is_warned(&d, "\"args\" of 'box' are taken as they are"));
        assert_false(is_warned(&d, "unless [mcp.box] variables"));
        load_definitions(&d, BOX);
        assert_string_equal(find_env(&d.all.items[0], "V"), cases[i].value);
        load_definitions(&d, BOX "[mcp.box]\nvariables = []\n");
        assert_string_equal(find_env(&d.all.items[0], "V"), cases[i].value);
    }
    put(&d.world, "ws/.pyddock/mcp.json",
            "{\"mcpServers\": {\"box\": {\"url\": \"http://h/\", \"headers\": {\"A\": "
            "\"${TWO}\"}}}}");
    load_definitions(&d, BOX "[mcp.box]\nvariables = ['TWO']\n");
    assert_int_equal(d.all.count, 0);
    assert_true(is_warned(&d, "\"headers\" 'A' has control characters in it"));
    close_definitions(&d);
}

/* What agents can read in the file is told. */
static void test_secrets(void **state UNUSED)
{
    static const struct {
        const char *server, *overlay;
        bool warned;
    } cases[] = {
        { "{\"command\": \"tool\", \"env\": {\"API_TOKEN\": \"abc123\"}}", "", true },
        { "{\"command\": \"tool\", \"env\": {\"MODE\": \"blue\"}}", "", false },
        { "{\"url\": \"http://h/\", \"headers\": {\"authorization\": \"x\"}}", "", true },
        { "{\"command\": \"tool\", \"env\": {\"API_TOKEN\": \"${API_TOKEN}\"}}",
                "[mcp.box]\nvariables = ['API_TOKEN']\n", false },
        { "{\"command\": \"tool\", \"env\": {\"API_TOKEN\": \"abc123\"}}",
                "[filesystem.guards]\n'/\\.pyddock/mcp\\.json$' = \"deny-agent\"\n",
                false },
    };
    struct definitions d;
    open_definitions(&d);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_buf text = BUF(4096), overlay = BUF(4096);
        buf_addf(&text, "{\"mcpServers\": {\"box\": %s}}", cases[i].server);
        buf_addf(&overlay, BOX "%s", cases[i].overlay);
        put(&d.world, "ws/.pyddock/mcp.json", text.data);
        load_definitions(&d, overlay.data);
        assert_int_equal(d.all.count, 1);
        if (is_warned(&d, "looks like a secret, and agents may read") != cases[i].warned)
            fail_msg("%s %s", cases[i].server, cases[i].overlay);
        assert_false(is_warned(&d, "abc123"));
    }
    close_definitions(&d);
}

static void test_limits(void **state UNUSED)
{
    auto_buf text = BUF(DEFINITION_MAX_BYTES);
    struct definitions d;
    open_definitions(&d);
    buf_add(&text, STR("{\"mcpServers\": {\"box\": {\"command\": \"tool\", \"args\": ["));
    for (unsigned i = 0; i < DEFINITION_MAX_ITEMS; i++)
        buf_add(&text, STR("\"x\", "));
    buf_add(&text, STR("\"x\"]}}}"));
    put(&d.world, "ws/.pyddock/mcp.json", text.data);
    load_definitions(&d, BOX);
    assert_int_equal(d.all.count, 0);
    assert_true(is_warned(&d, "\"args\" has more than 1000 entries"));
    buf_clear(&text);
    buf_add(&text,
            STR("{\"mcpServers\": {\"box\": {\"command\": \"tool\", \"args\": [\""));
    for (size_t i = 0; i < DEFINITION_MAX_STRING; i++)
        buf_addc(&text, 'x');
    buf_add(&text, STR("\"]}}}"));
    put(&d.world, "ws/.pyddock/mcp.json", text.data);
    load_definitions(&d, BOX);
    assert_int_equal(d.all.count, 0);
    assert_true(is_warned(&d, "is longer than 131072 bytes"));
    close_definitions(&d);
}

/* No section, no look at any file. */
static void test_no_section(void **state UNUSED)
{
    struct definitions d;
    open_definitions(&d);
    put(&d.world, "ws/.pyddock/mcp.json", "not JSON");
    load_definitions(&d, "");
    assert_int_equal(d.all.count, 0);
    assert_int_equal(d.all.file_count, 0);
    assert_int_equal(d.policy->warnings.count, 0);
    close_definitions(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_program),
        cmocka_unit_test(test_url),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_one_of_many),
        cmocka_unit_test(test_files_refused),
        cmocka_unit_test(test_both_keys),
        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_no_section),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
