#include "shell/expand.h"
#include "shell/state.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct world {
    struct vfs *vfs;
    struct shell *sh;
    struct shell_limits limits;
    struct buf out, err;
};

static void make_file(struct vfs *vfs, const char *path)
{
    struct vpath p = { .text = str_of(path) };
    int error = vfs_replace(vfs, p, STR(""), VFS_CREATE, NULL);
    assert_int_equal(error, 0);
}

static int set_up(void **state)
{
    static const char *const dirs[] = { "/d", "/d/e", "/.hidden" };
    static const char *const files[] = { "/a.c", "/b.c", "/d/f.c", "/d/e/g.c", "/.x" };
    struct world *w = xcalloc(1, sizeof(*w));
    struct vfs_options options = { 0 };
    w->vfs = vfs_create(&options);
    int error = vfs_mount_memory(w->vfs, VPATH_ROOT, 1 << 20);
    assert_int_equal(error, 0);
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        error = vfs_mkdir(w->vfs, (struct vpath){ .text = str_of(dirs[i]) }, 0755);
        assert_int_equal(error, 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        make_file(w->vfs, files[i]);
    struct shell_options shell = { .vfs = w->vfs, .name = "test", .cwd = VPATH_ROOT };
    w->sh = shell_create(&shell);
    w->limits = SHELL_LIMITS;
    w->out = w->err = BUF(1 << 20);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    shell_destroy(w->sh);
    vfs_destroy(w->vfs);
    buf_finish(&w->out);
    buf_finish(&w->err);
    free(w);
    return 0;
}

static int run(struct world *w, const char *script)
{
    bool exited;
    struct stream *in = stream_null(), *out = stream_buffer(&w->out),
                  *err = stream_buffer(&w->err);
    buf_clear(&w->out);
    buf_clear(&w->err);
    int status =
            shell_run(w->sh, str_of(script), &w->limits, NULL, in, out, err, &exited);
    stream_unref(in);
    stream_unref(out);
    stream_unref(err);
    return status;
}

static void check(struct world *w, const char *script, const char *expected)
{
    run(w, script);
    if (!str_is(buf_str(&w->out), expected))
        fail_msg("%s\ngives '%.*s' %.*s", script, STR_ARG(buf_str(&w->out)),
                STR_ARG(buf_str(&w->err)));
}

static void test_words(void **state)
{
    struct world *w = *state;
    check(w, "x='a  b'; echo $x \"$x\" {1,2}$((1+1)) $(echo s)", "a b a  b 12 22 s\n");
    check(w, "a=(1 '2 3'); for i in \"${a[@]}\"; do echo \"<$i>\"; done", "<1>\n<2 3>\n");
    check(w, "echo ${x#a} \"${x// /_}\" ${#x} ${nope:-d}", "b a__b 4 d\n");
}

static void test_globs_in_memory(void **state)
{
    struct world *w = *state;
    check(w, "echo *; echo .*; echo */*.c", "a.c b.c d\n.hidden .x\nd/f.c\n");
    check(w, "shopt -s globstar; echo **/*.c; cd d; echo /*.c ../*.c *",
            "a.c b.c d/e/g.c d/f.c\n/a.c /b.c ../a.c ../b.c e f.c\n");
    check(w, "echo zz* 'a.c'* [", "zz* a.c* [\n");
}

/* Each ends in the named limit, in bounded memory, and the session goes on. */
static void test_limits(void **state)
{
    static const char *const scripts[] = {
        "echo {1..100000000}",
        "echo "
        "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}",
        "x=a; while :; do x=$x$x; done",
        "x=a; while :; do x+=$x; done",
        "a=(x); while :; do a+=(\"${a[@]}\"); done",
        "for ((i=0;;i++)); do a[i]=$i; done",
        "declare -A m; for ((i=0;;i++)); do m[$i]=; done",
        "x=$(while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done)",
        "x=aaaaaaaaaaaaaaaa; x=$x$x$x$x; x=$x$x$x$x; x=$x$x$x$x; y=${x//a/$x}; "
        "y=${y//a/$x}",
        "x='*'; while :; do x=\"$x $x\"; set -- $x; done",
        "x=a; while :; do x=${x/#/$x}; y=${x^^}; z=(${x@Q} ${x@Q}); done",
    };
    struct world *w = *state;
    w->limits.max_memory = 1 << 20;
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
        int status = run(w, scripts[i]);
        struct str err = buf_str(&w->err);
        if (status != 126 || !memmem(err.data, err.len, "too large", 9))
            fail_msg("%s: %d '%.*s'", scripts[i], status, STR_ARG(err));
        check(w, "unset a m x y z; set --; echo alive", "alive\n");
    }
}

static void test_recursion(void **state)
{
    struct world *w = *state;
    assert_int_equal(run(w, "x=y y=x; echo $((x))"), 1);
    assert_int_equal(
            run(w, "x=1; for i in {1..500}; do x=\"($x)\"; done; echo $((x))"), 1);
    assert_int_equal(run(w, "v0=1; for i in {1..900}; do declare v$i=v$((i-1))+1; done\n"
                            "echo $((v900))"),
            0);
    assert_true(str_is(buf_str(&w->out), "901\n"));
    check(w, "x=a; for i in {1..60}; do x=\"\\${nope:-$x}\"; done; eval \"echo $x\"",
            "a\n");
}

static void test_quotes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *single, *backslash, *twice;
    } cases[] = {
        { "abc", "'abc'", "abc", "\"abc\"" },
        { "", "''", "''", "\"\"" },
        { "a b", "'a b'", "a\\ b", "\"a b\"" },
        { "it's", "'it'\\''s'", "it\\'s", "\"it's\"" },
        { "a\"$`\\", "'a\"$`\\'", "a\\\"\\$\\`\\\\", "\"a\\\"\\$\\`\\\\\"" },
        { "a\nb\t\033\001'", "$'a\\nb\\t\\E\\001\\''", "$'a\\nb\\t\\E\\001\\''",
                "$'a\\nb\\t\\E\\001\\''" },
        { "~a#b~", "'~a#b~'", "\\~a#b~", "\"~a#b~\"" },
        { "\xff", "$'\\377'", "$'\\377'", "$'\\377'" },
    };
    auto_arena *arena = arena_create();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str text = str_of(cases[i].text);
        assert_string_equal(expand_quote(text, arena).data, cases[i].single);
        assert_string_equal(expand_quote_backslash(text, arena).data, cases[i].backslash);
        assert_string_equal(expand_quote_double(text, arena).data, cases[i].twice);
    }
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_WORLD(test_words),
        WITH_WORLD(test_globs_in_memory),
        WITH_WORLD(test_limits),
        WITH_WORLD(test_recursion),

        cmocka_unit_test(test_quotes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
