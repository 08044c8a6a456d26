#include "policy/config/toml.h"

#include "unit.h"

#include <stdio.h>

/* "key@line:column" of each item, tables in brackets. */
static void describe(const struct toml_value *table, struct buf *out)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct toml_item *item = &table->items[i];
        buf_addf(out, "%s%.*s@%u:%u", i ? " " : "", STR_ARG(item->key), item->origin.line,
                item->column);
        if (item->value.type != TOML_TABLE)
            continue;
        buf_addc(out, '[');
        describe(&item->value, out);
        buf_addc(out, ']');
    }
}

static void test_order(void **state UNUSED)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "", "" },
        { "z = 1\na = 2", "z@1:1 a@2:1" },
        { "[t]\nb = 1\na = 2\n[s]\n", "t@1:2[b@2:1 a@3:1] s@4:2[]" },
        { "[t.z]\n[t.a]\n[t]\nm = 1", "t@1:2[z@1:4[] a@2:4[] m@4:1]" },
        { "b.y = 1\na = 1\nb.x = 2", "b@1:1[y@1:3 x@3:3] a@2:1" },
        { "t = { z = 1, a = 2 }", "t@1:1[z@1:7 a@1:14]" },
        { "\"/\\\\.z\" = 1\n'/\\.a' = 2", "/\\.z@1:1 /\\.a@2:1" },
        { "[\"a.b\".'c d']\nx = 1", "a.b@1:2[c d@1:8[x@2:1]]" },
        { "# c\r\n[t]\r\na = 1\r\n", "t@2:2[a@3:1]" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_arena *arena = arena_create();
        auto_buf out = BUF(4096);
        struct toml_value root;
        struct error err = { 0 };
        if (!toml_parse(str_of(cases[i].text), "f", arena, &root, &err))
            fail_msg("%s: %s", cases[i].text, err.message);
        describe(&root, &out);
        assert_string_equal(buf_str(&out).data, cases[i].want);
    }
}

static void test_values(void **state UNUSED)
{
    static const struct {
        const char *text;
        enum toml_type type;
    } cases[] = {
        { "'a'", TOML_STRING },
        { "\"\"\"\na\\\n  b\"\"\"", TOML_STRING },
        { "-3", TOML_INTEGER },
        { "0x10", TOML_INTEGER },
        { "1.5", TOML_REAL },
        { "nan", TOML_REAL },
        { "true", TOML_BOOL },
        { "[1,'a',[]]", TOML_ARRAY },
        { "{}", TOML_TABLE },
        { "2024-01-02", TOML_DATE },
        { "07:32:00", TOML_DATE },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_arena *arena = arena_create();
        struct toml_value root;
        struct error err = { 0 };
        struct str text = str_of(arena_printf(arena, "\nkey =  %s", cases[i].text));
        if (!toml_parse(text, "f", arena, &root, &err))
            fail_msg("%s: %s", cases[i].text, err.message);
        const struct toml_item *item = toml_find(&root, STR("key"));
        assert_non_null(item);
        assert_int_equal(item->value.type, cases[i].type);
        assert_int_equal(item->value.origin.line, 2);
        assert_int_equal(item->value.column, 8);
        assert_null(toml_find(&root, STR("ke")));
    }
}

static struct toml_value value_of(struct arena *arena, struct str text)
{
    struct toml_value root;
    struct error err;
    assert_true(toml_parse(text, "f", arena, &root, &err));
    return root.items[0].value;
}

static void test_contents(void **state UNUSED)
{
    auto_arena *arena = arena_create();
    struct toml_value v = value_of(arena, STR("a = \"x\\u0000\\n\\u00e9\""));
    assert_true(str_eq(v.text, STR("x\0\n\xc3\xa9")));
    v = value_of(arena, STR("\xef\xbb\xbf" /* a byte order mark */
                            "a = \"\"\"x\\\n  \xc3\xa9\"\"\" # \xc3\xa9"));
    assert_true(str_eq(v.text, STR("x\xc3\xa9")));
    v = value_of(arena, STR("a = [1,\n 2.5,\n  true]"));
    assert_int_equal(v.count, 3);
    assert_int_equal(v.items[0].value.integer, 1);
    assert_true(v.items[0].value.real == 1.0);
    assert_true(v.items[1].value.real == 2.5);
    assert_true(v.items[2].value.truth);
    assert_int_equal(v.items[2].origin.line, 3);
    assert_int_equal(v.items[2].column, 3);
}

static void test_errors(void **state UNUSED)
{
    static const struct {
        const char *text;
        unsigned line;
        const char *part; /* of the message */
    } cases[] = {
        { "a = 1\na = 2", 2, "not TOML" },
        { "a = 1\n\n[t\nb = 2", 3, "not TOML" },
        { "a = ", 1, "not TOML" },
        { "a = 1\nb = 'x\n", 2, "not TOML" },
        { "a = \"\\q\"", 1, "not TOML" },
        { "a = 1 b = 2", 1, "not TOML" },
        { "[t]\n[t]", 2, "not TOML" },
        { "a = 1\n[\n[im\n", 2, "not TOML" },
        { "[[\n]]", 1, "not TOML" },
        { "\xc3\xa9 = 1", 1, "not TOML" },
        { "a = \xc3\xa9", 1, "not TOML" },
        { "a = tru\ne[x]", 1, "not TOML" },
        { "[.a]", 1, "not TOML" },
        { "[a.]", 1, "not TOML" },
        { "= 1", 1, "not TOML" },
        { "a.=1", 1, "not TOML" },
        { "a = [1", 1, "not TOML" },
        { "a = {b = 1", 1, "not TOML" },
        { "a = 99999999999999999999", 1, "not TOML" },
        { "a = 1\nb = 'x\xff'", 2, "the text is not UTF-8" },
        { "\n\n# \xc3", 3, "the text is not UTF-8" },
        { "a = 'x'\n[a.b]", 2, "not TOML" },
        { "b = 1\na = \"\"\"", 2, "not TOML" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_arena *arena = arena_create();
        struct toml_value root;
        struct error err = { 0 };
        assert_false(toml_parse(str_of(cases[i].text), "f", arena, &root, &err));
        char start[100];
        snprintf(start, sizeof(start), "f:%u: %s", cases[i].line, cases[i].part);
        assert_null(strchr(err.message, '\n'));
        if (!str_starts(str_of(err.message), str_of(start)))
            fail_msg("%s: %s", cases[i].text, err.message);
    }
}

static void repeat(struct buf *out, const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_add(out, str_of(text));
}

static bool parses(const char *before, const char *piece, size_t count, const char *after)
{
    auto_arena *arena = arena_create();
    auto_buf text = BUF((size_t)4 << 20);
    struct toml_value root;
    struct error err = { 0 };
    buf_add(&text, str_of(before));
    repeat(&text, piece, count);
    buf_add(&text, str_of(after));
    bool good = toml_parse(buf_str(&text), "f", arena, &root, &err);
    assert_true(good || err.code != ERR_NONE);
    return good;
}

/* Depth costs an error, never the stack. */
static void test_depth(void **state UNUSED)
{
    assert_true(parses("", "a.", TOML_MAX_DEPTH - 1, "b = 1"));
    assert_false(parses("", "a.", TOML_MAX_DEPTH, "b = 1"));
    assert_false(parses("", "a.", 500000, "b = 1"));
    assert_false(parses("[", "a.", 500000, "b]"));
    assert_false(parses("[", "'a' . ", 150000, "b]"));
    assert_false(parses("x = \"\"\"\n\\\"\"\"\"\"\n[", "a.", 500000, "b]"));
    assert_false(parses("x = '''\n'''\n", "a.", 500000, "b = 1"));
    assert_false(parses("x = '\"'\n", "a.", 500000, "b = 1"));
    assert_false(parses("x = [[", "[", 500000, "]"));
    assert_false(parses("x = ", "{ a = ", 200000, "1"));
    assert_false(parses("x = ", "{ a.a.a.a.a.a.a.a = ", 30, "1"));
    assert_true(parses("x = '", "a.", 1000, "b'"));
    assert_true(parses("x = [", "'a.b.c.d',\n", TOML_MAX_ITEMS, "]"));
    assert_true(parses("", "# a.b.c.d\n", 10000, ""));
    assert_false(parses("x = [", "1,", TOML_MAX_ITEMS + 1, "]"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_contents),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
