#include "unit.h"

#include "shell/analyse.h"
#include "shell/parse.h"

#include <stdio.h>

#define MAX_OUT   ((size_t)64 << 20)
#define MAX_STEPS ((uint64_t)10 << 20)

/* --- helpers --- */

static bool analyse(struct str text, uint64_t steps, struct arena *arena,
        struct analysis *out, struct error *err)
{
    struct budget budget = { .steps = steps, .max_steps = steps };
    struct parse_error why;
    struct script *script;
    if (!parse_script(text, STR("test"), NULL, &script, &why))
        fail_msg("%.*s: %s", STR_ARG(text), why.message);
    bool done = script_analyse(script, &budget, arena, out, err);
    script_unref(script); /* nothing of the list looks into it */
    return done;
}

static void describe_word(const struct analyse_word *w, struct buf *out)
{
    buf_addf(out,
            w->is_literal  ? " %.*s"
            : w->is_single ? " <%.*s>"
                           : " <%.*s>*",
            STR_ARG(w->text));
}

static void describe_folder(const struct analyse_folder *folder, struct buf *out)
{
    if (!folder->is_known)
        buf_addf(out, " in ?%u", folder->line);
    else if (folder->path.len)
        buf_addf(out, " in %.*s", STR_ARG(folder->path));
}

static void describe_command(const struct analyse_command *c, struct buf *out)
{
    static const char *const kinds[] = { "builtin", "function", "maybe", "program",
        "dynamic" };
    buf_addf(out, "%u %s", c->line, kinds[c->kind]);
    if (c->defined_at)
        buf_addf(out, ":%u", c->defined_at);
    if (*c->via)
        buf_addf(out, " (%s)", c->via);
    for (size_t i = 0; i < c->assign_count; i++) {
        buf_addf(out, " %.*s=", STR_ARG(c->assigns[i].name));
        describe_word(&c->assigns[i].value, out);
    }
    for (size_t i = 0; i < c->count; i++)
        describe_word(&c->words[i], out);
    buf_addf(out, "%s%s", c->gets_more ? " ..." : "", c->is_elsewhere ? " @" : "");
    describe_folder(&c->folder, out);
    buf_addc(out, '\n');
}

static void describe(const struct analysis *a, struct buf *out)
{
    static const char *const ways[] = { "read", "write", "append", "read-write" };
    for (size_t i = 0; i < a->count; i++)
        describe_command(&a->commands[i], out);
    for (size_t i = 0; i < a->redirect_count; i++) {
        buf_addf(out, "%u %s%s", a->redirects[i].line, ways[a->redirects[i].how],
                a->redirects[i].is_device ? " device" : "");
        describe_word(&a->redirects[i].target, out);
        describe_folder(&a->redirects[i].folder, out);
        buf_addc(out, '\n');
    }
    for (size_t i = 0; i < a->unknown_count; i++)
        buf_addf(out, "%u unknown %s: %.*s\n", a->unknown[i].line, a->unknown[i].what,
                STR_ARG(a->unknown[i].text));
}

static void read_file(const char *path, struct buf *out)
{
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    char *room;
    size_t n = 1;
    while (n && (room = buf_reserve(out, 4096))) {
        n = fread(room, 1, 4096, f);
        out->len += n;
    }
    fclose(f);
}

/* The text from `%%` to the next: the script, "=>", the list. */
static bool next_case(struct str *rest, struct str *script, struct str *want)
{
    while (rest->len && !str_starts(*rest, STR("%%")))
        str_cut(rest, '\n');
    if (!rest->len)
        return false;
    str_cut(rest, '\n');
    const char *end = memmem(rest->data, rest->len, "\n%%", 3);
    struct str text = str_sub(*rest, 0, end ? (size_t)(end - rest->data) + 1 : rest->len);
    const char *arrow = memmem(text.data, text.len, "\n=>\n", 4);
    assert_non_null(arrow);
    *script = str_sub(text, 0, (size_t)(arrow - text.data));
    *want = str_from(text, script->len + 4);
    *rest = str_from(*rest, text.len);
    return true;
}

/* --- what is listed --- */

static void test_cases(void **state UNUSED)
{
    auto_buf file = BUF(MAX_OUT);
    read_file(TEST_DATA "/analyse-cases.txt", &file);
    struct str rest = buf_str(&file), script, want;
    size_t count = 0;
    for (; next_case(&rest, &script, &want); count++) {
        auto_arena *arena = arena_create();
        auto_buf out = BUF(MAX_OUT);
        struct analysis a;
        struct error err = { 0 };
        assert_true(analyse(script, MAX_STEPS, arena, &a, &err));
        describe(&a, &out);
        if (!str_eq(buf_str(&out), want))
            fail_msg("%.*s\nwant:\n%.*s\ngot:\n%.*s", STR_ARG(script), STR_ARG(want),
                    STR_ARG(buf_str(&out)));
    }
    assert_in_range(count, 50, 1000);
}

static void test_nothing(void **state UNUSED)
{
    auto_arena *arena = arena_create();
    struct analysis a;
    struct error err = { 0 };
    assert_true(analyse(STR("# only this\n"), MAX_STEPS, arena, &a, &err));
    assert_int_equal(a.count + a.redirect_count + a.unknown_count, 0);
}

/* --- limits --- */

static void repeat(const char *text, size_t count, struct buf *out)
{
    for (size_t i = 0; i < count; i++)
        buf_add(out, str_of(text));
}

/* `text` `count` times, then `end`: refused as too much, and in no time. */
static void check_limit(const char *text, size_t count, const char *end)
{
    auto_arena *arena = arena_create();
    auto_buf script = BUF(MAX_OUT);
    struct analysis a;
    struct error err = { 0 };
    repeat(text, count, &script);
    buf_add(&script, str_of(end));
    assert_false(analyse(buf_str(&script), MAX_STEPS, arena, &a, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_in_range(arena_size(arena), 0, (size_t)256 << 20);
}

static void test_limits(void **state UNUSED)
{
    check_limit(":\n", ANALYSE_MAX_WORDS + 1, "");
    check_limit("nohup ", 2000, "ls");
    check_limit("env A=b ", 1000, "ls");
    check_limit("<a ", ANALYSE_MAX_WORDS, "ls");
    check_limit("eval \"$x\";", ANALYSE_MAX_WORDS, "");
}

static void test_budget(void **state UNUSED)
{
    auto_arena *arena = arena_create();
    struct analysis a;
    struct error err = { 0 };
    assert_false(analyse(STR("a; b; c; d; e; f"), 10, arena, &a, &err));
    assert_int_equal(err.code, ERR_LIMIT);
}

/* Beyond a depth, text in text is told and not read. */
static void test_depth(void **state UNUSED)
{
    auto_arena *arena = arena_create();
    auto_buf evals = BUF(MAX_OUT), finds = BUF(MAX_OUT);
    struct analysis a;
    struct error err = { 0 };
    repeat("eval ", 100, &evals);
    buf_add(&evals, STR("git push"));
    assert_true(analyse(buf_str(&evals), MAX_STEPS, arena, &a, &err));
    assert_int_equal(a.count, ANALYSE_MAX_DEPTH + 1);
    assert_int_equal(a.unknown_count, 1);
    assert_string_equal(a.unknown[0].what, "script too deep in others");

    repeat("find . -exec ", 100, &finds);
    assert_true(analyse(buf_str(&finds), MAX_STEPS, arena, &a, &err));
    assert_in_range(a.unknown_count, 1, 100);
    assert_string_equal(a.unknown[0].what, "command too deep in others");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
