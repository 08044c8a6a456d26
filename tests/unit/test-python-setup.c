#include "policy/python-setup.h"

#include "policy/pyre/pyre.h"

#include "base/json.h"
#include "path-world.h"
#include "unit.h"

static const struct origin here = { "policy.toml", 7 };

static void destroy_pattern(void *pattern)
{
    pyre_destroy(pattern);
}

static struct policy_regexes regexes(struct arena *arena, const char *text)
{
    struct error err;
    struct policy_regex *one = arena_zalloc(arena, sizeof(*one));
    *one = (struct policy_regex){ .text = str_of(text), .origin = here };
    assert_true(pyre_create(one->text, 0, &one->pattern, &err));
    arena_defer(arena, destroy_pattern, one->pattern);
    return (struct policy_regexes){ one, 1 };
}

static struct policy_texts texts(struct arena *arena, const char *text)
{
    struct policy_text *one = arena_zalloc(arena, sizeof(*one));
    *one = (struct policy_text){ str_of(text), here };
    return (struct policy_texts){ one, 1 };
}

/* One of each. */
static void fill_policy(struct path_world *w)
{
    struct policy *p = &w->policy;
    p->imports = arena_zalloc(w->arena, 2 * sizeof(*p->imports));
    p->imports[0] =
            (struct policy_import){ STR("yaml"), IMPORT_PIP, STR("PyYAML"), here };
    p->imports[1] = (struct policy_import){ STR("os"), IMPORT_DENIED, STR(""), here };
    p->import_count = 2;
    p->block_calls = texts(w->arena, "eval");
    p->block_attributes = texts(w->arena, "__globals__");
    p->import_overrides = texts(w->arena, "weather");
    p->audit = arena_zalloc(w->arena, sizeof(*p->audit));
    p->audit[0] = (struct policy_audit){ STR("ctypes.*"), AUDIT_AGENT_DENY, here };
    p->audit_count = 1;
    p->restrictions = arena_zalloc(w->arena, sizeof(*p->restrictions));
    p->restrictions[0] = (struct policy_restriction){ .name = STR("boto3"),
        .mode = MODE_ALLOW,
        .module_allow = regexes(w->arena, "client"),
        .module_deny = regexes(w->arena, "^_"),
        .class_allow = regexes(w->arena, "get_.*"),
        .class_deny = regexes(w->arena, "delete"),
        .origin = here };
    p->restriction_count = 1;
    p->messages = arena_zalloc(w->arena, sizeof(*p->messages));
    p->messages[0] = (struct policy_message){ regexes(w->arena, "requests").items[0],
        STR("use \"httpx\"\n\xff") };
    p->message_count = 1;
}

static void test_round_trip(void **state UNUSED)
{
    static const struct str sys_path[] = { { "/w/lib", 6 }, { "/w/\xe9", 4 } };
    static const struct str trusted[] = { { "/w/lib", 6 } };
    static const char *const env[] = { "HOME=/h", "EMPTY=", "ODD=\xff=", NULL };
    static const struct python_shim shims[] = {
        { { "weather", 7 }, { "/w/weather.py", 13 }, { "x = '\xc3\xa9'\n", 9 } },
    };
    struct path_world w;
    struct python_setup out;
    struct error err;
    path_world_init(&w, "*");
    fill_policy(&w);
    const struct python_setup in = { .paths = w.paths,
        .policy = &w.policy,
        .sys_path = sys_path,
        .sys_path_count = 2,
        .trusted = trusted,
        .trusted_count = 1,
        .env = env,
        .shims = shims,
        .shim_count = 1,
        .network = true,
        .hashes = true,
        .mcp = true };
    auto_buf json = BUF((size_t)1 << 20), again = BUF((size_t)1 << 20);
    python_setup_write(&in, &json);
    auto_arena *arena = arena_create();
    if (!python_setup_parse(buf_str(&json), arena, &out, &err))
        fail_msg("%s", err.message);
    assert_true(out.network && out.hashes && out.mcp && !out.events);
    assert_int_equal(out.sys_path_count, 2);
    assert_string_equal(out.sys_path[1].data, "/w/\xe9");
    assert_string_equal(out.env[1], "EMPTY=");
    assert_string_equal(out.env[2], "ODD=\xff=");
    assert_null(out.env[3]);
    assert_string_equal(out.shims[0].text.data, "x = '\xc3\xa9'\n");
    assert_string_equal(out.policy->home.data, "/h");
    assert_string_equal(out.policy->workspace_real.data, "/w");
    const struct policy *p = out.policy;
    assert_int_equal(p->imports[0].kind, IMPORT_PIP);
    assert_string_equal(p->imports[0].value.data, "PyYAML");
    assert_int_equal(p->audit[0].disposition, AUDIT_AGENT_DENY);
    assert_string_equal(p->audit[0].origin.file, "policy.toml");
    assert_int_equal(p->audit[0].origin.line, 7);
    assert_string_equal(p->messages[0].text.data, "use \"httpx\"\n\xff");
    const struct policy_restriction *r = &p->restrictions[0];
    assert_int_equal(
            pyre_match(r->class_allow.items[0].pattern, PYRE_FULLMATCH, STR("get_x")),
            PYRE_YES);
    python_setup_write(&out, &again);
    assert_string_equal(json.data, again.data);
    path_world_finish(&w);
}

/* Set what is at `path` ("policy/audit/0/disposition") to the JSON `value`. */
static void set_at(json_t *object, const char *path, const char *value)
{
    struct error err;
    struct str rest = str_of(path);
    json_t *new_value = NULL;
    if (*value && !json_parse(str_of(value), &new_value, &err))
        fail_msg("%s", err.message);
    while (object) {
        int64_t index = 0;
        auto_free char *key = str_copy(str_cut(&rest, '/'));
        bool in_array = str_int(str_of(key), &index);
        if (rest.len) {
            object = in_array ? json_array_get(object, (size_t)index)
                              : json_object_get(object, key);
            continue;
        }
        int failure = !new_value ? json_object_del(object, key)
                      : in_array ? json_array_set_new(object, (size_t)index, new_value)
                                 : json_object_set_new(object, key, new_value);
        assert_int_equal(failure, 0);
        return;
    }
    fail_msg("nothing is at '%s'", path);
}

static void test_malformed(void **state UNUSED)
{
    static const struct {
        const char *path, *value, *want; /* value "": it is missing */
    } cases[] = {
        { "paths", "", "setup: " },
        { "paths", "[]", "setup: " },
        { "policy", "", "setup: python: " },
        { "policy/imports", "{}", "setup: python: 'imports' must be a list" },
        { "policy/imports/0/kind", "4", "import 1: 'kind' must be a number up to 3" },
        { "policy/imports/0/kind", "-1", "import 1: 'kind' must be" },
        { "policy/imports/0/kind", "\"pip\"", "import 1: 'kind' must be" },
        { "policy/imports/1/name", "7", "import 2: 'name' must be a string" },
        { "policy/imports/1/name", "\"\\u0100\"", "a character that is no byte" },
        { "policy/imports/1/name", "\"a\\u0000b\"", "a character that is no byte" },
        { "policy/imports/1/line", "-1", "'line' must be a number of a line" },
        { "policy/audit/0/disposition", "9", "audit 1: 'disposition' must be" },
        { "policy/restrictions/0/mode", "2", "restriction 1: 'mode' must be" },
        { "policy/restrictions/0/class_deny/0/text", "\"(\"", "class_deny 1: " },
        { "policy/messages/0/regex", "\"[\"", "message 1: " },
        { "policy/block_calls", "\"eval\"", "'block_calls' must be a list" },
        { "policy/overrides/0", "\"weather\"", "overrides 1: " },
        { "sys_path", "null", "'sys_path' must be a list" },
        { "sys_path/0", "\"/w\"", "sys_path 1: " },
        { "trusted/0/text", "[]", "trusted 1: " },
        { "env/0/text", "\"HOME\"", "env 1 must be NAME=value" },
        { "shims", "", "'shims' must be a list" },
        { "shims/0/text", "", "shim 1" },
        { "shims/0/path", "1", "shim 1: 'path' must be a string" },
        { "network", "1", "'network' must be true or false" },
        { "events", "", "'events' must be true or false" },
        { "hashes", "\"true\"", "'hashes' must be true or false" },
        { "mcp", "1", "'mcp' must be true or false" },
    };
    static const struct str one[] = { { "/w/lib", 6 } };
    static const char *const env[] = { "HOME=/h", NULL };
    static const struct python_shim shim = { { "a", 1 }, { "b", 1 }, { "c", 1 } };
    struct path_world w;
    path_world_init(&w, "*");
    fill_policy(&w);
    const struct python_setup in = { w.paths, &w.policy, one, 1, one, 1, env, &shim, 1,
        false, false, false, false };
    auto_buf good = BUF((size_t)1 << 20);
    python_setup_write(&in, &good);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_arena *arena = arena_create();
        auto_buf bad = BUF((size_t)1 << 20);
        struct python_setup out;
        struct error err = { 0 };
        json_t *object = NULL;
        assert_true(json_parse(buf_str(&good), &object, &err));
        set_at(object, cases[i].path, cases[i].value);
        json_write(object, &bad);
        json_decref(object);
        if (python_setup_parse(buf_str(&bad), arena, &out, &err))
            fail_msg("%s = %s is taken", cases[i].path, cases[i].value);
        if (!strstr(err.message, cases[i].want))
            fail_msg(
                    "%s: '%s' is not in '%s'", cases[i].path, cases[i].want, err.message);
        assert_int_equal(strncmp(err.message, "setup: ", 7), 0);
    }
    path_world_finish(&w);
}

static void test_no_object(void **state UNUSED)
{
    static const char *const bad[] = { "", "[]", "{}", "1", "{\"paths\":", "\xff" };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        auto_arena *arena = arena_create();
        struct python_setup out;
        struct error err = { 0 };
        assert_false(python_setup_parse(str_of(bad[i]), arena, &out, &err));
        assert_int_equal(strncmp(err.message, "setup: ", 7), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_no_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
