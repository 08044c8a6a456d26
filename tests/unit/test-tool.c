#include "tool/tool.h"

#include "unit.h"

static void test_table(void **state UNUSED)
{
    for (size_t i = 0; i < tool_source_count; i++) {
        json_t *definition;
        struct error err;
        assert_true(json_parse(str_of(tool_sources[i].json), &definition, &err));
        assert_string_equal(tool_sources[i].name,
                json_string_value(json_object_get(definition, "name")));
        if (i)
            assert_true(strcmp(tool_sources[i - 1].name, tool_sources[i].name) < 0);
        /* What agents give us is for nobody on the way; and we ask nothing of clients. */
        assert_null(strstr(tool_sources[i].json, "x-mcp-header"));
        assert_null(json_object_get(definition, "needs"));
        json_decref(definition);
    }
}

static struct toolset *create_of(const struct toolset_config *config)
{
    struct toolset *tools;
    struct error err;
    assert_true(toolset_create(config, &tools, &err));
    return tools;
}

#define create(...) create_of(&(struct toolset_config){ __VA_ARGS__ })

/* What clients and registries ask of a definition. */
static void test_definitions(void **state UNUSED)
{
    for (int kind = 0; kind < 3; kind++) {
        int read_only = kind == 1;
        struct toolset *tools = create(.read_only = read_only, .host_view = kind == 2,
                .places = TOOL_IN_SHELL);
        json_t *list = toolset_list(tools, false);
        assert_int_equal(json_array_size(list), read_only ? 1 : 2);
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *tool = json_array_get(list, i);
            struct str text = json_get_str(tool, "description", STR(""));
            const json_t *hints = json_object_get(tool, "annotations");
            const json_t *schema = json_object_get(tool, "inputSchema");
            assert_in_range(text.len, 1, 2048);
            assert_null(memmem(text.data, text.len, "{commands}", 10));
            assert_null(json_object_get(tool, "read_only"));
            assert_null(json_object_get(tool, "host"));
            assert_string_equal(
                    json_string_value(json_object_get(schema, "type")), "object");
            assert_true(json_is_false(json_object_get(schema, "additionalProperties")));
            assert_true(json_equal(
                    json_object_get(tool, "title"), json_object_get(hints, "title")));
            assert_int_equal(
                    json_is_true(json_object_get(hints, "readOnlyHint")), read_only);
        }
        assert_non_null(toolset_find_schema(tools, STR("run"), false));
        assert_int_equal(!toolset_find_schema(tools, STR("edit"), false), read_only);
        assert_null(toolset_find_schema(tools, STR("ru"), false));
        assert_null(toolset_find_schema(tools, STR(""), false));
        toolset_destroy(tools);
    }
}

static void test_read_only_says_so(void **state UNUSED)
{
    struct toolset *tools = create(.read_only = true, .places = TOOL_IN_SHELL);
    const json_t *run = json_array_get(toolset_list(tools, false), 0);
    assert_non_null(
            strstr(json_string_value(json_object_get(run, "description")), "READ-ONLY"));
    assert_true(json_is_false(
            json_object_get(json_object_get(run, "annotations"), "destructiveHint")));
    toolset_destroy(tools);
}

/* Where a shell does not stay by itself, a call can ask for one, and only there. */
static void test_kept(void **state UNUSED)
{
    for (int kind = 0; kind < 3; kind++) {
        struct toolset *tools = create(.read_only = kind == 1, .host_view = kind == 2,
                .places = TOOL_IN_SHELL | TOOL_IN_POOL);
        for (int kept = 0; kept < 2; kept++) {
            const json_t *list = toolset_list(tools, kept);
            for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *tool = json_array_get(list, i);
                struct str name = json_get_str(tool, "name", STR(""));
                const json_t *schema = toolset_find_schema(tools, name, kept);
                assert_ptr_equal(schema, json_object_get(tool, "inputSchema"));
                const json_t *properties = json_object_get(schema, "properties");
                bool in_shell = tool_find_place(name) == TOOL_IN_SHELL;
                assert_int_equal(
                        !json_object_get(properties, "session"), !kept || !in_shell);
                assert_true(json_object_size(properties) > (kept && in_shell));
                assert_null(json_object_get(tool, "kept"));
                struct str text = json_get_str(tool, "description", STR(""));
                assert_in_range(text.len, 1, 2048);
                assert_null(memmem(text.data, text.len, "{state}", 7));
                if (str_is(name, "run"))
                    assert_int_equal(
                            !memmem(text.data, text.len, "fresh shell", 11), !kept);
            }
        }
        toolset_destroy(tools);
    }
}

static void test_selection(void **state UNUSED)
{
    static const struct {
        const char *only;
        size_t count; /* 0: refused */
    } cases[] = {
        { NULL, 2 },
        { "run", 1 },
        { "run,edit", 2 },
        { "run,run,", 1 },
        { "", 0 },
        { "run,,edit", 0 },
        { "run, edit", 0 },
        { "run,ru", 0 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct toolset_config config = { .places = TOOL_IN_SHELL, .only = cases[i].only };
        struct toolset *tools = NULL;
        struct error err;
        assert_int_equal(toolset_create(&config, &tools, &err), cases[i].count > 0);
        if (tools)
            assert_int_equal(json_array_size(toolset_list(tools, false)), cases[i].count);
        else
            assert_non_null(strstr(err.message, "the tools are: edit, run"));
        toolset_destroy(tools);
    }
}

static void test_places(void **state UNUSED)
{
    struct toolset *tools = create(.places = TOOL_IN_SHELL | TOOL_IN_SERVER);
    assert_true(toolset_has_place(tools, TOOL_IN_SHELL));
    assert_false(toolset_has_place(tools, TOOL_IN_SERVER)); /* no policy */
    toolset_destroy(tools);
    assert_int_equal(tool_find_place(STR("run")), TOOL_IN_SHELL);
    assert_int_equal(tool_find_place(STR("no")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_definitions),
        cmocka_unit_test(test_read_only_says_so),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_selection),
        cmocka_unit_test(test_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
