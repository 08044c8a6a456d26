/* A shell saved and loaded is the same shell, and bytes that are none change nothing. */
#include "shell/save.h"
#include "shell/shell.h"
#include "unit.h"

#define MEMORY ((uint64_t)16 << 20)

struct world {
    struct vfs *vfs;
    struct shell *a, *b;
    struct buf out;
};

static struct shell *new_shell(struct vfs *vfs)
{
    const struct shell_options options = {
        .vfs = vfs, .name = "mcpath", .cwd = VPATH_ROOT
    };
    return shell_create(&options);
}

static void begin(struct world *w)
{
    static const struct vfs_options options = { .umask = 022 };
    w->vfs = vfs_create(&options);
    assert_int_equal(vfs_mount_memory(w->vfs, VPATH_ROOT, MEMORY), 0);
    w->a = new_shell(w->vfs);
    w->b = new_shell(w->vfs);
    w->out = BUF(1 << 20);
}

static void end(struct world *w)
{
    shell_destroy(w->a);
    shell_destroy(w->b);
    vfs_destroy(w->vfs);
    buf_finish(&w->out);
}

static int run(struct world *w, struct shell *sh, const char *text)
{
    bool exited;
    buf_clear(&w->out);
    struct stream *in = stream_null(), *out = stream_buffer(&w->out);
    int status = shell_run(sh, str_of(text), &SHELL_LIMITS, NULL, in, out, out, &exited);
    stream_unref(in);
    stream_unref(out);
    return status;
}

static json_t *parsed(struct str text)
{
    struct error err;
    json_t *value = NULL;
    if (!json_parse(text, &value, &err))
        fail_msg("%s in %.*s", err.message, STR_ARG(text));
    return value;
}

/* Put what `from` is into `to`, in a world that has forgotten its umask. */
static void copy(struct world *w, struct shell *from, struct shell *to)
{
    struct error err;
    auto_buf text = BUF(SHELL_SAVE_MAX);
    assert_true(shell_save(from, &text, &err));
    vfs_set_umask(w->vfs, 022);
    json_auto_t *state = parsed(buf_str(&text));
    if (!shell_load(to, state, &err))
        fail_msg("%s: %s", err.message, text.data);
}

/* Everything that a shell shows of itself. */
static const char all[] =
        "echo \"$? [$_] ${PIPESTATUS[*]} $! $$ $BASHPID $# $0 $* $-\"\n"
        "declare -p | grep -v SECONDS; declare -f; declare -F; alias -p; set -o; set +o\n"
        "shopt; trap -p; dirs -v; umask; pwd; pwd -P; getopts abc: name -a -b; echo "
        "$name\n"
        "RANDOM=1; echo $RANDOM";

/* What is done before, and what may be asked afterwards beside all that. */
static const struct {
    const char *before, *after;
} cases[] = {
    { "", "echo $((SECONDS < 100))" },
    { "x=1 y='a b' z=; export x; readonly y; declare -i n=3; declare -l l=ABC u; declare "
      "-u "
      "u=abc; declare -c c=abc; declare -t t=1",
            "n=2+2; l=DEF; u=def; c=def; echo $n $l $u $c; y=2; echo ${z-unset}" },
    { "declare a; declare -i b; declare -x c; declare -A m; declare -a i; declare -r r",
            "echo ${a-u} ${b-u} ${c-u} ${#m[@]} ${#i[@]}; declare -p a b c m i r" },
    { "a=(1 'two words' ''); a[9]=z; a[1000000]=far; declare -A m=([k]=v ['a b']='c\nd' "
      "[]=e); e=(); declare -A f=()",
            "echo \"${!a[@]}\" \"${a[@]}\"; for k in \"${!m[@]}\"; do echo "
            "\"$k=${m[$k]}\"; "
            "done; a+=(last); m[new]=1; declare -p a m e f" },
    { "declare -A m; for i in {1..3000}; do m[key$i]=$i; done",
            "echo \"${!m[@]}\" | md5sum; m[key3001]=x; echo \"${!m[@]}\" | md5sum" },
    { "declare -n r=x; x=5; declare -n none; declare -n e='arr[2]'; arr=(0 1 2)",
            "r=6; echo $x $r; e=two; echo \"${arr[@]}\"; declare -p r none e; unset -n "
            "r; "
            "declare -p r x" },
    { "declare -ra fixed=(1 2); declare -rA also=([a]=b); declare -ri number=7",
            "fixed[0]=x; also[a]=x; number=8; declare -p fixed also number" },
    { "b=$'\\xff\\xfe raw \\x80'; declare -A m=([$'\\xc3']=$'\\xa9')",
            "printf %s \"$b\" | od -c; for k in \"${!m[@]}\"; do printf %s "
            "\"$k${m[$k]}\" | "
            "od -c; done" },
    { "f() { local x=1; echo \"f $1 $x $FUNCNAME\"; }; g() ( cd /; pwd ); h() "
      "for i "
      "in 1 2; do echo $i; done; readonly -f h; export -f g",
            "f a; g; h; h() { :; }; f() { echo new; }; f; bash -c g; unset -f g; g" },
    { "f() { cat <<X; cat <<-'Y'; } >&2\nbody $1 `echo b`\nX\n\traw $1\n\tY\n",
            "f arg; declare -f f" },
    { "function a.b { echo dotted; }; function if-not { echo odd; }; 'time2' () { :; }; "
      "f() { "
      "time ls / >/dev/null; }; g() { [[ a == b* ]] && ((1+1)) || ! true; case $1 in "
      "(a|b) "
      "echo x;;& *) echo y;& z) ;; esac; select q in a; do break; done; }; k() { "
      "function "
      "inner { echo in; }; inner; }",
            "a.b; if-not; g a; k; declare -f a.b g k" },
    { "alias q='echo hi' w=q; shopt -s expand_aliases", "q; w; unalias q; alias" },
    { "set -u -f -o pipefail; shopt -s nullglob extglob globstar; set -o noclobber; set "
      "+B; "
      "shopt -u sourcepath; set -o vi; shopt -s autocd",
            "echo a{b,c} *; echo $nope" },
    { "trap 'echo err' ERR; trap 'echo dbg' DEBUG; trap '' INT; trap 'echo t' TERM; trap "
      "'echo ret' RETURN",
            "trap - DEBUG; false; f() { :; }; f; trap -p" },
    { "set -- one 'two words' ''; shift 0", "printf '<%s>' \"$@\"; shift; echo $#" },
    { "mkdir -p /a/b /c; cd /a/b; pushd /c >/dev/null; pushd /a >/dev/null",
            "popd; popd; pwd; cd -; echo $OLDPWD" },
    { "mkdir /gone; cd /gone; rmdir /gone", "pwd; ls; cd /; pwd" },
    { "umask 077", "umask; touch /private; stat -c %a /private; rm /private" },
    { "true | false | (exit 3)", "" },
    { "(exit 9)", "" },
    { "sleep 0 & wait; (exit 2) & wait $!", "echo $!; (echo $BASHPID); true & echo $!" },
    { "getopts ab:c one -a -bx -c; getopts ab:c one -abx", "echo $one $OPTIND" },
    { "getopts abc one -abc; getopts abc one -abc", "getopts abc one -abc; echo $one" },
    { "RANDOM=42; echo $RANDOM >/dev/null", "echo $RANDOM $RANDOM" },
    { "SECONDS=5000", "echo $((SECONDS / 100))" },
    { "SECONDS=-5000", "echo $((SECONDS / 100))" },
    { "SECONDS=9223372036854775807", "echo $((SECONDS / 100))" },
    { "SECONDS=-9223372036854775807", "echo $((SECONDS / 100))" },
    { "[[ abcd =~ (b)(c) ]]; mapfile -t lines < <(printf 'a\\nb\\n'); read x y <<< '1 2 "
      "3'",
            "echo ${BASH_REMATCH[@]} ${lines[@]} $x $y" },
    { "SECONDS=-5000", "echo $((SECONDS / 100))" },
    { "pushd -n below >/dev/null; mkdir /below", "popd; pwd" },
    { "bind() { echo mine $1; }; f() { bind a; }; g() { bind b; }",
            "f; unset -f bind; g" },
    { "bind() { :; }; f() { bind a; }; unset -f bind", "f" },
    { "IFS=:; v=a:b:c", "set -- $v; echo $#; echo \"$*\"" },
    { "PS4='> '; set -x", "echo traced" },
    { "unset PATH HOME IFS; HISTSIZE=3", "set -- a b; echo $*" },
};

static void compare(struct world *w, const char *before, const char *probe)
{
    int status = run(w, w->a, probe);
    auto_buf expected = BUF(1 << 20);
    buf_add(&expected, buf_str(&w->out));
    int other = run(w, w->b, probe);
    if (!str_eq(buf_str(&expected), buf_str(&w->out)) || status != other)
        fail_msg("after %s\n%s: status %d\n%s\nand %d\n%s", before, probe, status,
                expected.data, other, w->out.data ? w->out.data : "");
}

static void test_round_trip(void **state UNUSED)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct world w;
        begin(&w);
        run(&w, w.a, cases[i].before);
        uint32_t mask = vfs_umask(w.vfs);
        copy(&w, w.a, w.b);
        assert_int_equal(vfs_umask(w.vfs), mask);
        struct shell *twice = new_shell(w.vfs);
        copy(&w, w.b, twice);
        shell_destroy(w.b);
        w.b = twice;
        compare(&w, cases[i].before, cases[i].after);
        end(&w);

        begin(&w);
        run(&w, w.a, cases[i].before);
        copy(&w, w.a, w.b);
        compare(&w, cases[i].before, all);
        end(&w);
    }
}

static void test_what_cannot_be_kept(void **state UNUSED)
{
    static const struct {
        const char *before, *why, *undo;
        enum error_code code;
    } refused[] = {
        { "exec 3< /dev/null", "descriptor 3 is open, and cannot be kept", "exec 3<&-",
                ERR_UNSUPPORTED },
        { "exec 9>&1 {fd}</dev/null", "descriptor 9 is open, and cannot be kept",
                "exec 9>&- {fd}<&-", ERR_UNSUPPORTED },
        { "x=$(yes | head -c 5000000)", "take more than 4096 KiB", "x=", ERR_LIMIT },
        { "a=({1..300000})", "take more than", "unset a", ERR_LIMIT },
        { "declare -n r; declare -a r", "could not be read again", "unset -n r",
                ERR_UNSUPPORTED },
    };
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct world w;
        struct error err = { 0 };
        auto_buf text = BUF(SHELL_SAVE_MAX);
        begin(&w);
        run(&w, w.a, refused[i].before);
        buf_add(&text, STR("as it was"));
        if (shell_save(w.a, &text, &err))
            fail_msg("kept: %s", refused[i].before);
        assert_int_equal(err.code, refused[i].code);
        if (!strstr(err.message, refused[i].why))
            fail_msg("%s", err.message);
        assert_string_equal(buf_str(&text).data, "as it was");
        run(&w, w.a, refused[i].undo);
        buf_clear(&text);
        if (!shell_save(w.a, &text, &err))
            fail_msg("after %s: %s", refused[i].undo, err.message);
        end(&w);
    }
}

/* One change that makes a good state a bad one. */
static const struct {
    const char *key, *value;
} broken[] = {
    { "version", "2" },
    { "version", "\"1\"" },
    { "cwd", "\"relative\"" },
    { "cwd", "7" },
    { "cwd", "\"\"" },
    { "cwd", "{\"bytes\":\"/\\u0100\"}" },
    { "umask", "512" },
    { "umask", "-1" },
    { "set", "-1" },
    { "shopt", "1.5" },
    { "pids", "[1,2]" },
    { "pids", "[1,2,4294967296]" },
    { "seconds", "\"5\"" },
    { "seconds", "-4000000001" },
    { "random", "[1]" },
    { "getopts", "[0,-1]" },
    { "status", "256" },
    { "pipe_status", "[\"0\"]" },
    { "pipe_status", "0" },
    { "last_arg", "null" },
    { "last_arg", "\"a\\u0000b\"" },
    { "args", "[]" },
    { "args", "[\"a\",1]" },
    { "vars", "{}" },
    { "vars", "[[\"x\",0]]" },
    { "vars", "[[\"1x\",0,\"\"]]" },
    { "vars", "[[\"x\",2048,\"\"]]" },
    { "vars", "[[\"x\",-1,\"\"]]" },
    { "vars", "[[\"x\",0,\"\"],[\"x\",0,\"\"]]" },
    { "vars", "[[\"x\",0,[]]]" },
    { "vars", "[[\"x\",64,\"text\"]]" },
    { "vars", "[[\"x\",64,[\"0\"]]]" },
    { "vars", "[[\"x\",64,[\"-1\",\"v\"]]]" },
    { "vars", "[[\"x\",64,[\"one\",\"v\"]]]" },
    { "vars", "[[\"x\",192,[]]]" },
    { "vars", "[[\"x\",96,[]]]" },
    { "vars", "[[\"x\",32,\"1 2\"]]" },
    { "functions", "[[\"f\",0,1,\"\"]]" },
    { "functions", "[[\"\",0,1,\"\",\"{ :; }\"]]" },
    { "functions", "[[\"f\",4,1,\"\",\"{ :; }\"]]" },
    { "functions", "[[\"f\",0,1,\"\",\"{ :; }; echo now\"]]" },
    { "functions", "[[\"f\",0,1,\"\",\"{ :; }\\necho now\"]]" },
    { "functions", "[[\"f\",0,1,\"\",\"echo now\"]]" },
    { "functions", "[[\"f\",0,1,\"\",\"{ coproc cat; }\"]]" },
    { "functions", "[[\"f\",0,1,\"\",\"\"]]" },
    { "aliases", "[\"a\"]" },
    { "dirs", "[7]" },
    { "dirs", "\"/\"" },
    { "traps", "[0]" },
    { "traps", "[1000,\"echo\"]" },
    { "traps", "[1,\"a\",1,\"b\"]" },
};

/* As it was: what it shows of itself is the same. */
static void test_broken_states_change_nothing(void **state UNUSED)
{
    struct world w;
    begin(&w);
    run(&w, w.a, "x=1; f() { :; }; alias q=w; trap 'echo t' TERM; cd /; set -u");
    run(&w, w.b, "kept=1; g() { echo g; }");
    auto_buf text = BUF(SHELL_SAVE_MAX), before = BUF(1 << 20);
    struct error err;
    assert_true(shell_save(w.a, &text, &err));
    run(&w, w.b, all);
    run(&w, w.b, "OPTIND=1; : last");
    run(&w, w.b, all);
    buf_add(&before, buf_str(&w.out));
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        json_auto_t *changed = parsed(buf_str(&text));
        json_t *value =
                json_loads(broken[i].value, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        assert_non_null(value);
        json_object_set_new(changed, broken[i].key, value);
        if (shell_load(w.b, changed, &err))
            fail_msg("%s = %s was taken", broken[i].key, broken[i].value);
        assert_int_equal(err.code, ERR_INVALID);
        assert_non_null(strstr(err.message, broken[i].key));
        json_object_del(changed, broken[i].key);
        bool optional = !strcmp(broken[i].key, "random");
        assert_true(optional || !shell_load(w.b, changed, &err));
    }
    assert_false(shell_load(w.b, NULL, &err));
    run(&w, w.b, "OPTIND=1; : last");
    run(&w, w.b, all);
    assert_string_equal(w.out.data, before.data);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_what_cannot_be_kept),
        cmocka_unit_test(test_broken_states_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
