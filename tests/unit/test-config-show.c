#include "config-world.h"
#include "policy/config/internal.h"

#include "unit.h"

static bool same(const struct toml_value *a, const struct toml_value *b);

static bool same_items(const struct toml_value *a, const struct toml_value *b)
{
    bool good = true;
    for (size_t i = 0; good && i < a->count; i++) {
        const struct toml_item *other = a->type == TOML_TABLE
                                                ? toml_find(b, a->items[i].key)
                                                : (i < b->count ? &b->items[i] : NULL);
        good = other && same(&a->items[i].value, &other->value);
    }
    return good;
}

/* Is everything of `a` in `b`, with the same value? */
static bool same(const struct toml_value *a, const struct toml_value *b)
{
    return a->type == b->type && str_eq(a->text, b->text) && a->integer == b->integer &&
           (a->real > b->real) == (a->real < b->real) && a->truth == b->truth &&
           same_items(a, b) && (a->type == TOML_TABLE || a->count == b->count);
}

static void show(struct world *w, const char *overlay, struct policy **policy,
        struct toml_value *tree, struct buf *text)
{
    struct error err = { 0 };
    *policy = load_text(w, overlay, true);
    config_show(*policy, text);
    if (!toml_parse(buf_str(text), "shown", w->arena, tree, &err))
        fail_msg("%s in:\n%s", err.message, buf_str(text).data);
}

/* What is shown, read again, says the same and shows the same. */
static void test_round_trip(void **state UNUSED)
{
    static const char *const overlays[] = {
        "",
        "[execution]\ntimeout = 0.5\n",
        "[shell.\"a b.c\"]\nmode = \"allow\"\ncommand = \"it's \\\"x\\\"\\t\"\n",
        "[shell.x]\nmode = \"deny\"\nallow = [\n'a',\n'b\\s']\nenv = { pass = ['A'] }\n",
        "[mcp.box]\ndescription = \"a\\nb\"\ntools = { 'get_.*' = true }\n[mcp.cup]\n",
        "[mcp.box]\nkeep_alive = 5\nvariables = ['A']\nnetwork = false\n"
        "sandbox = \"workspace\"\n"
        "[mcp.box.arguments]\n'a.*' = { r = 'x\\s', \"a b\" = '' }\nb = {}\n",
        "[filesystem.guards]\n\"/it's/\" = \"allow\"\n\"/\\\"/\" = \"allow\"\n",
        "[audit_log]\npath = \"/var/log/paddock.jsonl\"\n",
        "[env]\ndeny = []\n[deny_messages]\n",
    };
    struct world w;
    open_world(&w);
    for (size_t i = 0; i < ARRAY_LEN(overlays); i++) {
        struct policy *policy, *again;
        struct toml_value tree, second;
        auto_buf text = BUF(1 << 20), more = BUF(1 << 20);
        struct error err = { 0 };
        show(&w, overlays[i], &policy, &tree, &text);
        assert_true(same(policy->source, &tree));
        put_policy(&w, buf_str(&text).data, false);
        again = load_good(&w, NULL);
        config_show(again, &more);
        assert_true(toml_parse(buf_str(&more), "again", w.arena, &second, &err));
        assert_true(same(&tree, &second) && same(&second, &tree));
    }
    close_world(&w);
}

/* Each line with a value says where it comes from. */
static void test_origins(void **state UNUSED)
{
    struct world w;
    struct policy *policy;
    struct toml_value tree;
    auto_buf text = BUF(1 << 20);
    open_world(&w);
    show(&w, "[execution]\ntimeout = 7\n[shell.x]\nmode = \"allow\"\n[mcp.x]\n", &policy,
            &tree, &text);
    struct str rest = buf_str(&text);
    bool seen = false;
    while (rest.len) {
        struct str line = str_cut(&rest, '\n');
        bool comment = !line.len || line.data[0] == '#' || str_is(line, "]");
        const char *origin = memmem(line.data, line.len, "  # ", 4);
        if (!comment && !origin)
            fail_msg("no origin: %.*s", STR_ARG(line));
        if (str_starts(line, STR("timeout = 7 "))) {
            seen = true;
            assert_true(str_ends(line, STR("  # .pyddock/pyddock.override.toml:2")));
        }
    }
    assert_true(seen);
    assert_non_null(strstr(text.data, "\nsandbox = \"workspace\" "));
    assert_non_null(strstr(text.data, "\nsandbox = \"none\" "));
    assert_non_null(strstr(text.data, "\nkeep_alive = 0 "));
    assert_non_null(strstr(text.data, "/ws/.pyddock, but for "));
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_origins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
