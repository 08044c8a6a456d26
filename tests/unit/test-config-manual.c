/* The manual tells the truth: its examples are policies, and it names every key. */
#include "config-world.h"
#include "peer/definition-parts.h"

#include "unit.h"

#include <stdio.h>

#define MANUAL    TEST_DATA "/../../doc/pyddock.toml.5.scd"
#define MAX_BYTES ((size_t)1 << 20)

static void read_manual(struct buf *out)
{
    FILE *file = fopen(MANUAL, "r");
    int c;
    assert_non_null(file);
    while ((c = fgetc(file)) != EOF)
        buf_addc(out, (char)c);
    fclose(file);
    assert_true(out->len > 1000 && !out->full);
}

/* The next block between lines of three backquotes, as the page shows it. */
static bool next_example(struct str *rest, struct buf *out)
{
    bool inside = false;
    buf_clear(out);
    while (rest->len) {
        struct str line = str_cut(rest, '\n');
        if (str_is(line, "```")) {
            if (inside)
                return true;
            inside = true;
            continue;
        }
        for (size_t i = 0; inside && i < line.len; i++) {
            i += line.data[i] == '\\' && i + 1 < line.len;
            buf_addc(out, line.data[i]);
        }
        if (inside)
            buf_addc(out, '\n');
    }
    return false;
}

/* JSON is a file of definitions. */
static bool is_definition(struct str example)
{
    struct error err = { 0 };
    json_auto_t *json = NULL;
    if (!str_starts(example, STR("{")))
        return false;
    if (!definition_parse(example, &json, &err))
        fail_msg("%s: %s", example.data, err.message);
    return true;
}

static void test_examples(void **state UNUSED)
{
    struct world w;
    auto_buf manual = BUF(MAX_BYTES), example = BUF(MAX_BYTES);
    size_t count = 0;
    open_world(&w);
    make_folder(&w, "home/scratch"); /* which one of them may write */
    read_manual(&manual);
    struct str rest = buf_str(&manual);
    for (; next_example(&rest, &example); count++) {
        if (is_definition(buf_str(&example)))
            continue;
        struct policy *p = load_text(&w, buf_str(&example).data, true);
        if (p->warnings.count)
            fail_msg("%s: %s", example.data, p->warnings.items[0].text.data);
    }
    assert_true(count >= 8);
    close_world(&w);
}

/* Every key that the built-in policy or a default has is in bold or in an example. */
static void check_named(const struct buf *manual, struct str key)
{
    auto_buf bold = BUF(256), used = BUF(256);
    buf_addf(&bold, "*%.*s*", STR_ARG(key));
    buf_addf(&used, "%.*s =", STR_ARG(key));
    if (!strstr(manual->data, bold.data) && !strstr(manual->data, used.data))
        fail_msg("the manual does not name '%.*s'", STR_ARG(key));
}

static void test_keys(void **state UNUSED)
{
    static const char *const keys[] = { "timeout", "max_timeout", "writable_paths",
        "readable_paths", "block_calls", "block_attributes", "mode", "module_allow",
        "module_deny", "class_allow", "class_deny", "command", "allow", "deny",
        "arg_paths", "sandbox", "network", "default", "pass", "description", "tools",
        "path", "max_bytes", "keep", "arguments", "keep_alive", "variables" };
    static const char *const sections[] = { "execution", "imports", "import_overrides",
        "filesystem", "filesystem.guards", "ast", "audit", "restrictions.NAME",
        "shell.NAME", "env], [shell.NAME.env", "deny_messages", "mcp.NAME", "audit_log" };
    static const char *const words[] = { "deny-agent", "deny-all", "read-only",
        "workspace", "fs-write-pair", "agent-deny", "sqlite-connect", "observe", "inert",
        "snapshot", "protected", "none" };
    auto_buf manual = BUF(MAX_BYTES);
    read_manual(&manual);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        check_named(&manual, str_of(keys[i]));
    for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
        auto_buf heading = BUF(256);
        buf_addf(&heading, "\n# [%s]\n", sections[i]);
        if (!strstr(manual.data, heading.data))
            fail_msg("the manual has no section '%s'", sections[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        assert_non_null(strstr(manual.data, words[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples),
        cmocka_unit_test(test_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
