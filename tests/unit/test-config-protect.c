#include "config-world.h"
#include "policy/config/internal.h"
#include "policy/own-programs.h"
#include "policy/protect.h"

#include "unit.h"

#include <limits.h>

/* The folders of a command pattern, joined by "|"; "<all>" is the workspace. */
static void places_of(const char *pattern, struct buf *out)
{
    auto_arena *arena = arena_create();
    struct conf_scripts places = conf_script_places(str_of(pattern), arena);
    buf_clear(out);
    for (size_t i = 0; i < places.count; i++)
        buf_addf(out, "%s%.*s", i ? "|" : "",
                STR_ARG(places.items[i].len ? places.items[i] : STR("<all>")));
}

#define FOUR "(a|b)(c|d)(e|f)(g|h)"

static void test_script_places(void **state UNUSED)
{
    static const struct {
        const char *pattern, *want;
    } cases[] = {
        { "^git$", "" },
        { "^(git|p4)$", "" },
        { "npm.*", "" },
        { "\\.kiro/scripts/.*", ".kiro/scripts" },
        { "^\\.kiro/scripts/.*\\.(ps1|sh)$", ".kiro/scripts" },
        { ".kiro/scripts/.*", ".kiro/scripts" },
        { "^scripts/deploy\\.sh$", "scripts" },
        { "scripts/a|tools/b", "scripts|tools" },
        { "^(scripts|tools)/.*\\.sh$", "scripts|tools" },
        { "^(?:a|b(?:c|d))/x/.*", "a/x|bc/x|bd/x" },
        { "^(\\./tools/x|git)$", "./tools" },
        { "/usr/bin/.*", "/usr/bin" },
        { "^/opt/x$", "/opt" },
        { "\\.kiro\\\\scripts\\\\.*", ".kiro/scripts" },
        { "a\\/b\\/.*", "a/b" },
        { "a/b[0-9]/.*", "a" },
        { "a/b+/.*", "a" },
        { "a/bc?/.*", "a" },
        { "a/(b|c)*/x", "a" },
        { "a/(?P<n>b)/x", "a" },
        { "a/\\w+/x", "a" },
        { "a/[|)/]x/y", "a" },
        { "[]|]a/y", "<all>" },
        { "(a|[)|]b)/y", "a|<all>" },
        { "[a-z]+/run", "<all>" },
        { ".*/run\\.sh", "<all>" },
        { "^\\./gradlew$", "./gradlew" },
        { "^\\.tool\\Z", ".tool" },
        { "^\\./gradlew", "<all>" },
        { "\\.tool", "<all>" },
        { FOUR FOUR FOUR FOUR FOUR FOUR FOUR "|x/y", NULL },
        { "(a|b|c|d|e|f|g|h)(a|b|c|d|e|f|g|h)(a|b|c)/x", NULL },
    };
    auto_buf got = BUF(1 << 16);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        places_of(cases[i].pattern, &got);
        if (!cases[i].want)
            assert_non_null(strstr(buf_str(&got).data, "<all>"));
        else if (strcmp(buf_str(&got).data, cases[i].want) != 0)
            fail_msg("%s: %s, not %s", cases[i].pattern, buf_str(&got).data,
                    cases[i].want);
    }
}

static void test_resolve(void **state UNUSED)
{
    static const struct {
        const char *path, *want; /* below the world, unless "" */
    } cases[] = {
        { "ws", "ws" },
        { "ws/./a//b/", "ws/a/b" },
        { "ws/none/../x", "ws/x" },
        { "ws/link/x", "outside/x" },
        { "ws/link/../x", "x" },
        { "ws/dangling/x/../y", "ws/gone/y" },
        { "ws/absolute/x", "outside/x" },
        { "ws/ring/x", NULL },
        { "ws/file/x", "ws/file/x" },
        { "ws/../../../../../../..", "" },
    };
    struct world w;
    open_world(&w);
    make_folder(&w, "outside");
    put(&w, "ws/file", "");
    make_link(&w, "ws/link", "../outside");
    make_link(&w, "ws/dangling", "gone");
    make_link(&w, "ws/absolute", in_world(&w, "outside").data);
    make_link(&w, "ws/ring", "ring2");
    make_link(&w, "ws/ring2", "ring");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *got = protect_resolve(in_world(&w, cases[i].path).data, w.arena);
        if (!cases[i].want)
            assert_null(got);
        else if (!cases[i].want[0])
            assert_string_equal(got, "/");
        else
            assert_string_equal(got, in_world(&w, cases[i].want).data);
    }
    close_world(&w);
}

static const struct policy_protected *find_protected(
        const struct policy *p, enum protected_kind kind, struct str path)
{
    for (size_t i = 0; i < p->protected_count; i++)
        if (p->protected[i].kind == kind && str_eq(p->protected[i].path, path))
            return &p->protected[i];
    return NULL;
}

/* What does not exist yet is protected too, and both ends of a link. */
static void test_protected(void **state UNUSED)
{
    struct world w;
    open_world(&w);
    make_folder(&w, "outside");
    make_link(&w, "ws/tools", "second");
    make_link(&w, "ws/second", "../third");
    make_link(&w, "third", in_world(&w, "outside").data);
    struct policy *p = load_text(&w,
            "[imports]\nlib = \"libs/lib\"\n[shell.scripts]\nmode = \"allow\"\n"
            "command = '^(scripts|tools)/.*'\n",
            true);
    const struct policy_protected *one =
            find_protected(p, PROTECTED_POLICY, in_world(&w, "ws/.pyddock"));
    assert_non_null(one);
    assert_true(str_eq(one->except, in_world(&w, "ws/.pyddock/tmp")));
    one = find_protected(p, PROTECTED_PACKAGE, in_world(&w, "ws/libs/lib"));
    assert_non_null(one);
    assert_int_equal(one->origin.line, 2);
    one = find_protected(p, PROTECTED_SCRIPTS, in_world(&w, "ws/scripts"));
    assert_non_null(one);
    assert_int_equal(one->origin.line, 5);
    assert_non_null(find_protected(p, PROTECTED_SCRIPTS, in_world(&w, "ws/tools")));
    assert_non_null(find_protected(p, PROTECTED_SCRIPTS, in_world(&w, "ws/second")));
    assert_non_null(find_protected(p, PROTECTED_SCRIPTS, in_world(&w, "third")));
    assert_non_null(find_protected(p, PROTECTED_SCRIPTS, in_world(&w, "outside")));
    assert_int_equal(p->warnings.count, 0);
    close_world(&w);
}

/* A policy folder or file that is a link: where it leads is protected like itself. */
static void test_linked_policy(void **state UNUSED)
{
    struct world w;
    open_world(&w);
    make_folder(&w, "ws/conf");
    put(&w, "ws/shared.toml", EMPTY);
    make_link(&w, "ws/conf/pyddock.toml", "../shared.toml");
    remove_folder(&w, "ws/.pyddock");
    make_link(&w, "ws/.pyddock", "conf");
    struct policy *p = load_good(&w, NULL);
    assert_string_equal(p->base, ".pyddock/pyddock.toml");
    assert_non_null(find_protected(p, PROTECTED_POLICY, in_world(&w, "ws/.pyddock")));
    assert_non_null(find_protected(p, PROTECTED_POLICY, in_world(&w, "ws/conf")));
    assert_non_null(find_protected(p, PROTECTED_POLICY, in_world(&w, "ws/shared.toml")));
    close_world(&w);
}

/* A link on the way to a file of the policy, and the name that the workspace was given.
 */
static void test_ways_to_the_policy(void **state UNUSED)
{
    struct world w;
    struct policy *p = NULL;
    struct error err = { 0 };
    open_world(&w);
    make_folder(&w, "ws/shared");
    put(&w, "ws/shared/over.toml", "[filesystem]\n");
    make_link(&w, "ws/link", "shared");
    make_link(&w, "ws/.pyddock/pyddock.override.toml", "../link/over.toml");
    make_link(&w, "given", "ws");
    const struct config_request request = { .workspace = in_world(&w, "given").data,
        .home = in_world(&w, "home").data };
    assert_true(config_load(&request, w.arena, &p, &err));
    static const char *const protected[] = { "ws/.pyddock",
        "ws/.pyddock/pyddock.override.toml", "ws/link/over.toml", "ws/shared/over.toml",
        "given/.pyddock" };
    for (size_t i = 0; i < ARRAY_LEN(protected); i++)
        if (!find_protected(p, PROTECTED_POLICY, in_world(&w, protected[i])))
            fail_msg("%s is not protected", protected[i]);
    const struct policy_protected *file =
            find_protected(p, PROTECTED_POLICY, in_world(&w, "ws/shared/over.toml"));
    assert_int_equal(file->except.len, 0);
    close_world(&w);
}

/* Wherever a helper would be looked for, it cannot be written, even if none is there. */
static void test_own_programs(void **state UNUSED)
{
    static const char *const names[] = { "paddock", "paddock-python",
        "worker/paddock-worker", "launch/paddock-launch", "python/paddock-python",
        "bridge/paddock-bridge" };
    struct world w;
    auto_buf own = BUF(PATH_MAX);
    open_world(&w);
    assert_int_equal(own_folder(&own), 0);
    struct policy *p = load_text(&w, EMPTY, false);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (!find_protected(p, PROTECTED_PROGRAM,
                    str_of(arena_printf(w.arena, "%s%s", own.data, names[i]))))
            fail_msg("%s is not protected", names[i]);
    own.data[own.len - 1] = 0;
    *strrchr(own.data, '/') = 0;
    if (!find_protected(p, PROTECTED_PROGRAM,
                str_of(arena_printf(
                        w.arena, "%s/libexec/paddock/paddock-worker", own.data))))
        fail_msg("the installed helpers are not protected");
    close_world(&w);
}

static void test_warnings(void **state UNUSED)
{
    static const struct {
        const char *text, *want;
        unsigned line;
    } cases[] = {
        { "[shell.x]\nmode = \"allow\"\nallow = [\n\"a\"]\n",
                "[shell.x] allow: has no effect with mode = \"allow\"", 4 },
        { "[shell.x]\nmode = \"deny\"\n",
                "[shell.x] allow: is empty, so that no call of it is permitted", 1 },
        { "[shell.x]\nmode = \"allow\"\ncommand = '.*/x$'\n",
                "[shell.x] command: may find programs anywhere in the workspace, so that "
                "nothing there can be written; begin the pattern with a folder, or end "
                "it "
                "with '$' if it names one file",
                3 },
        { "[filesystem]\nwritable_paths = [\n\".\", \"out\"]\n",
                "[filesystem] writable_paths: 'out' does not exist, and can be written "
                "only after it does and the server is started again",
                3 },
        { "[filesystem]\nwritable_paths = [\".\", \"..\"]\n",
                "[filesystem] writable_paths: '..' has your home in it, and so what your "
                "shell and other programs run when they start",
                2 },
        { "[restrictions.sqlite3]\nmode = \"allow\"\n",
                "[restrictions.sqlite3] has no effect, since [import_overrides] replaces "
                "the module (.pyddock/pyddock.override.toml:4)",
                1 },
    };
    struct world w;
    open_world(&w);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *text = arena_printf(w.arena, "%s%s", cases[i].text,
                strstr(cases[i].text, "sqlite3") ? "[import_overrides]\nsqlite3 = true\n"
                                                 : "");
        struct policy *p = load_text(&w, text, true);
        assert_int_equal(p->warnings.count, 1);
        assert_string_equal(p->warnings.items[0].text.data, cases[i].want);
        assert_int_equal(p->warnings.items[0].origin.line, cases[i].line);
    }
    close_world(&w);
}

static void check_refused(struct world *w, const char *file, const char *part)
{
    struct policy *p = NULL;
    struct error err = { 0 };
    assert_false(load(w, file, &p, &err));
    if (!strstr(err.message, part))
        fail_msg("%s; wanted: %s", err.message, part);
}

/* Something else than a file where a file should be is no reason for other rules. */
static void test_odd_files(void **state UNUSED)
{
    struct world w;
    open_world(&w);
    make_folder(&w, "ws/.pyddock/pyddock.toml");
    check_refused(&w, NULL, ".pyddock/pyddock.toml:1: is not a file");
    remove_folder(&w, "ws/.pyddock/pyddock.toml");
    make_link(&w, "ws/.pyddock/pyddock.toml", "nowhere");
    check_refused(&w, NULL, ".pyddock/pyddock.toml:1: cannot be opened");
    put(&w, "ws/.pyddock/pyddock.toml", NULL);
    make_fifo(&w, "ws/.pyddock/pyddock.override.toml");
    check_refused(&w, NULL, ".pyddock/pyddock.override.toml:1: is not a file");
    put(&w, "ws/.pyddock/pyddock.override.toml", NULL);
    check_refused(&w, "/nowhere/x.toml", "/nowhere/x.toml:1: cannot be opened");
    auto_buf big = BUF(CONFIG_MAX_BYTES + 8192);
    while (big.len <= CONFIG_MAX_BYTES)
        buf_add(&big, STR("# a comment that is only long, and then some more of it\n"));
    put(&w, "ws/.pyddock/pyddock.toml", big.data);
    check_refused(&w, NULL, ".pyddock/pyddock.toml:1: is larger than 1048576 bytes");
    close_world(&w);
}

/* --config FILE: neither base nor overlay. */
static void test_given_file(void **state UNUSED)
{
    struct world w;
    open_world(&w);
    put(&w, "ws/.pyddock/pyddock.override.toml", "not toml");
    put(&w, "given.toml", EMPTY "[shell.x]\nmode = \"allow\"\n");
    struct policy *p = load_good(&w, in_world(&w, "given.toml").data);
    assert_int_equal(p->shell_count, 1);
    assert_string_equal(p->shells[0].origin.file, in_world(&w, "given.toml").data);
    assert_int_equal(p->shells[0].origin.line, 6);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_script_places),
        cmocka_unit_test(test_resolve),
        cmocka_unit_test(test_protected),
        cmocka_unit_test(test_linked_policy),
        cmocka_unit_test(test_ways_to_the_policy),
        cmocka_unit_test(test_own_programs),
        cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_odd_files),
        cmocka_unit_test(test_given_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
