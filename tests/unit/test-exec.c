/* A shell from one run to the next: what stays, what a limit leaves behind. */
#include "shell/setopt.h"
#include "shell/state.h"
#include "unit.h"

#define MEMORY ((uint64_t)16 << 20)

struct session {
    struct vfs *vfs;
    struct shell *sh;
    struct buf out, err;
    bool exited;
};

static void begin(struct session *s)
{
    static const struct vfs_options options = { .umask = 022 };
    s->vfs = vfs_create(&options);
    assert_int_equal(vfs_mount_memory(s->vfs, VPATH_ROOT, MEMORY), 0);
    struct shell_options shell = { .vfs = s->vfs, .name = "mcpath", .cwd = VPATH_ROOT };
    s->sh = shell_create(&shell);
    s->out = s->err = BUF(1 << 20);
}

static void end(struct session *s)
{
    shell_destroy(s->sh);
    vfs_destroy(s->vfs);
    buf_finish(&s->out);
    buf_finish(&s->err);
}

static int run_limited(
        struct session *s, const char *text, const struct shell_limits *limits)
{
    buf_clear(&s->out);
    buf_clear(&s->err);
    struct stream *in = stream_null();
    struct stream *out = stream_buffer(&s->out), *err = stream_buffer(&s->err);
    int status = shell_run(s->sh, str_of(text), limits, NULL, in, out, err, &s->exited);
    stream_unref(in);
    stream_unref(out);
    stream_unref(err);
    return status;
}

static int run(struct session *s, const char *text)
{
    return run_limited(s, text, &SHELL_LIMITS);
}

static void expect(struct session *s, const char *text, int status, const char *out)
{
    assert_int_equal(run(s, text), status);
    assert_string_equal(buf_str(&s->out).data, out);
}

/* Each line runs after those before it, in the same session. */
static const struct {
    const char *text;
    int status;
    const char *out;
} steps[] = {
    { "x=1; export y=2; a=(1 2 3); f() { echo \"f $1 $x\"; }", 0, "" },
    { "echo $x $y ${#a[@]}; f z", 0, "1 2 3\nf z 1\n" },
    { "mkdir d; cd d", 0, "" },
    { "pwd; echo $PWD $OLDPWD", 0, "/d\n/d /\n" },
    { "(exit 7)", 7, "" },
    { "echo $?", 0, "7\n" },
    { "set -u; shopt -s nullglob; alias q=echo", 0, "" },
    { "[ -o nounset ] && shopt -q nullglob && alias q; set +u", 0, "alias q='echo'\n" },
    { "set -- p q", 0, "" },
    { "echo $# $2", 0, "2 q\n" },
    { "exec 5> kept; echo one >&5", 0, "" },
    { "echo two >&5; exec 5>&-; cat kept", 0, "one\ntwo\n" },
    { "trap 'echo bye' EXIT; echo hi", 0, "hi\nbye\n" },
    { "echo the trap is gone", 0, "the trap is gone\n" },
    { "if", 2, "" },
    { "echo $?", 0, "2\n" },
    { "pushd / >/dev/null; dirs", 0, "/ /d\n" },
    { "popd >/dev/null; pwd", 0, "/d\n" },
    { "exec > /dev/null; echo lost", 0, "" },
    { "echo the next run writes again", 0, "the next run writes again\n" },
    { "while read -r l; do echo \"<$l>\"; done < <(echo a; echo b) & echo first", 0,
            "first\n<a>\n<b>\n" },
    { "unset -f f; f 2>/dev/null", 127, "" },
    { "g() { local l=1; x=changed; return 3; }; g", 3, "" },
    { "echo $x ${l-none}", 0, "changed none\n" },
    { "# only a comment", 0, "" },
    { "", 0, "" },
};

static void test_state_stays(void **state UNUSED)
{
    struct session s;
    begin(&s);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        expect(&s, steps[i].text, steps[i].status, steps[i].out);
    end(&s);
}

static void test_exit_is_told(void **state UNUSED)
{
    struct session s;
    begin(&s);
    expect(&s, "x=5; exit 3; echo no", 3, "");
    assert_true(s.exited);
    expect(&s, "echo $x $?", 0, "5 3\n");
    assert_false(s.exited);
    expect(&s, "set -e; false; echo no", 1, "");
    assert_false(s.exited);
    end(&s);
}

/* Whatever a limit interrupts, the session can be used afterwards. */
static void test_limits_leave_a_usable_session(void **state UNUSED)
{
    static const struct {
        const char *text, *named;
    } cases[] = {
        { "while true; do :; done", "steps" },
        { "f() { f; }; f", "recursion" },
        { ":(){ :|:; };:", "recursion" },
        { "b() { b & b & }; b", "at once" },
        { "x=$(while :; do :; done)", "steps" },
        { "{ while :; do :; done; } > o", "steps" },
        { "f() { local x=1; set -- a; while :; do :; done; }; f 1 2", "steps" },
        { "while :; do echo y; done | while :; do read x; done", "steps" },
        { "cat <(while :; do :; done)", "steps" },
        { "while :; do :; done & wait", "steps" },
        { "trap 'while :; do :; done' EXIT", "steps" },
        { "exec 3< <(while :; do echo y; done); read x <&3; while :; do :; done",
                "steps" },
    };
    struct shell_limits limits = SHELL_LIMITS;
    limits.max_steps = 100000;
    limits.max_depth = 200;
    struct session s;
    begin(&s);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(run_limited(&s, cases[i].text, &limits), 126);
        assert_non_null(strstr(buf_str(&s.err).data, cases[i].named));
        expect(&s, "unset -f : f b; trap - EXIT; unset x; echo $# in $PWD", 0,
                "0 in /\n");
    }
    end(&s);
}

static void test_refused_whole(void **state UNUSED)
{
    struct session s;
    begin(&s);
    expect(&s, "echo before; coproc cat", 2, "");
    assert_non_null(strstr(buf_str(&s.err).data, "coproc"));
    end(&s);
}

static void test_options_are_found(void **state UNUSED)
{
    const struct setopt *o, *last = NULL;
    for (size_t i = 0; (o = setopt_at(i)); i++, last = o)
        assert_true(setopt_find(str_of(o->name)) == o &&
                    (!last || strcmp(last->name, o->name) < 0));
    for (size_t i = 0; (o = shopt_at(i)); i++) /* bash lists autocd first */
        assert_true(shopt_find(str_of(o->name)) == o);
}

/* Not among the shell tests, which bash runs too. */
static void test_what_a_variable_without_value_would_remove(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "rm -rf $none/*",
        "rm -r \"$none\"/d",
        "rm --rec -- f \"${none}/d\"",
        "empty=; rm -fR $empty/*",
        "HOME=; for i in 1; do rm -rf $HOME/f; done",
    };
    struct session s;
    begin(&s);
    assert_int_equal(run(&s, "mkdir d e; echo 1 > f; echo 2 > d/g; dir=e; set -- d"), 0);
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        assert_int_equal(run(&s, refused[i]), 1);
        assert_non_null(strstr(s.err.data, "nothing was removed"));
        assert_non_null(strstr(s.err.data, " is not set"));
        expect(&s, "find . -type f", 0, "./d/g\n./f\n");
    }
    expect(&s, "rm -rf $dir/* $dir; rm -r $1/*; rm -f $none/x; echo $?; ls -R", 0,
            "0\n.:\nd\nf\n\n./d:\n");
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_state_stays),
        cmocka_unit_test(test_exit_is_told),
        cmocka_unit_test(test_limits_leave_a_usable_session),
        cmocka_unit_test(test_refused_whole),
        cmocka_unit_test(test_options_are_found),
        cmocka_unit_test(test_what_a_variable_without_value_would_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
