#include "unit.h"

#include "sanitized.h"
#include "shell/parse.h"
#include "tree-dump.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_OUT  ((size_t)64 << 20)
#define MAX_DUMP ((size_t)1 << 20) /* subscripts in subscripts are shown twice each */

/* --- helpers --- */

static struct script *parse(struct str text, struct parse_error *err)
{
    struct script *s = NULL;
    *err = (struct parse_error){ .message = "" };
    return parse_script(text, STR("test"), NULL, &s, err) ? s : NULL;
}

static void describe_error(const struct parse_error *err, struct buf *out)
{
    buf_addf(out, "%u:%u: %s%s", err->pos.line, err->pos.column, err->message,
            err->is_incomplete ? " (incomplete)" : "");
}

/* The tree, or the error, in one line. */
static void describe(struct str text, struct buf *out)
{
    struct parse_error err;
    struct script *s = parse(text, &err);
    if (!s) {
        describe_error(&err, out);
        return;
    }
    if (s->root)
        dump_node(s->root, out);
    if (s->warning.len) {
        buf_addc(out, '\n');
        buf_add(out, s->warning);
    }
    script_unref(s);
}

static void print(struct str text, struct buf *out)
{
    struct parse_error err;
    struct script *s = parse(text, &err);
    if (s && s->root)
        ast_print(s->root, out);
    script_unref(s);
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

/* The next block of a file: what follows `%%` is `note`, the lines up to the next are
 * `text`. */
static bool next_block(struct str *rest, struct str *note, struct str *text)
{
    while (rest->len && !str_starts(*rest, STR("%%")))
        str_cut(rest, '\n');
    if (!rest->len)
        return false;
    *note = str_from(str_cut(rest, '\n'), 2);
    const char *end = memmem(rest->data, rest->len, "\n%%", 3);
    size_t len = end ? (size_t)(end - rest->data) : rest->len - 1;
    *text = str_sub(*rest, 0, len);
    *rest = str_from(*rest, len + 1);
    return true;
}

/* --- trees and errors --- */

static void test_cases(void **state UNUSED)
{
    auto_buf file = BUF(MAX_OUT);
    read_file(TEST_DATA "/parse-cases.txt", &file);
    struct str rest = buf_str(&file), note, text;
    size_t count = 0;
    for (; next_block(&rest, &note, &text); count++) {
        const char *arrow = memmem(text.data, text.len, "\n=>\n", 4);
        assert_non_null(arrow);
        struct str script = str_sub(text, 0, (size_t)(arrow - text.data));
        auto_buf out = BUF(MAX_OUT);
        describe(script, &out);
        struct str want = str_from(text, script.len + 4);
        if (!str_eq(buf_str(&out), want))
            fail_msg("%.*s\nwant: %.*s\ngot:  %s", STR_ARG(script), STR_ARG(want),
                    buf_str(&out).data);
    }
    assert_in_range(count, 100, 1000);
}

/* --- the same answers as bash --- */

/* Does bash take the script?  Its status says little about [[ ]]: the messages do. */
static bool bash_accepts(struct str script)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    char *text = strndup(script.data, script.len);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 2);
        execlp("bash", "bash", "-O", "extglob", "-n", "-c", text, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    char message[4096] = "";
    ssize_t n = read(ends[0], message, sizeof(message) - 1);
    close(ends[0]);
    free(text);
    int status;
    waitpid(pid, &status, 0);
    bool complains = n > 0 && !strstr(message, "warning:");
    return status == 0 && !complains;
}

static void test_bash(void **state UNUSED)
{
    if (system("bash -c : 2>/dev/null") != 0)
        skip();
    auto_buf file = BUF(MAX_OUT);
    read_file(TEST_DATA "/parse-snippets.txt", &file);
    struct str rest = buf_str(&file), note, text;
    size_t count = 0;
    for (; next_block(&rest, &note, &text); count++) {
        struct parse_error err;
        struct script *s = parse(text, &err);
        bool same = bash_accepts(text) == (s != NULL);
        if (same == str_starts(note, STR(" differs")))
            fail_msg("bash decides otherwise (%s):\n%.*s", s ? "accepted" : err.message,
                    STR_ARG(text));
        script_unref(s);
    }
    assert_in_range(count, 300, 10000);
}

/* --- printing --- */

static void check_round_trip(struct str script)
{
    auto_buf first = BUF(MAX_OUT), second = BUF(MAX_OUT), a = BUF(MAX_OUT),
             b = BUF(MAX_OUT);
    print(script, &first);
    print(buf_str(&first), &second);
    if (!str_eq(buf_str(&first), buf_str(&second)))
        fail_msg("%.*s\nprints as\n%s\nand that as\n%s", STR_ARG(script),
                buf_str(&first).data, buf_str(&second).data);
    describe(buf_str(&first), &a);
    describe(buf_str(&second), &b);
    assert_string_equal(buf_str(&a).data, buf_str(&b).data);
}

static void round_trip_file(const char *path)
{
    auto_buf file = BUF(MAX_OUT);
    read_file(path, &file);
    struct str rest = buf_str(&file), note, text;
    while (next_block(&rest, &note, &text)) {
        const char *arrow = memmem(text.data, text.len, "\n=>\n", 4);
        if (arrow)
            text.len = (size_t)(arrow - text.data);
        check_round_trip(text);
    }
}

static void test_round_trip(void **state UNUSED)
{
    round_trip_file(TEST_DATA "/parse-cases.txt");
    round_trip_file(TEST_DATA "/parse-snippets.txt");
}

static void test_print(void **state UNUSED)
{
    static const struct {
        const char *script, *text;
    } cases[] = {
        { "a   b>c", "a b > c" },
        { "f(){ a;b; }", "f () \n{ \n    a;\n    b\n}" },
        { "f() if a;then b;else c;fi", "f () \n{ \n    if a; then\n        b;\n    "
                                       "else\n        c;\n    fi\n}" },
        { "for x in a b;do c;done>d", "for x in a b;\ndo\n    c;\ndone > d" },
        { "case $x in a|b)c;;d);;esac",
                "case $x in \n    a | b)\n        c\n    ;;\n    d)\n\n    ;;\nesac" },
        { "f(){ cat <<E\nx\nE\nb;}", "f () \n{ \n    cat <<E\nx\nE\n\n    b\n}" },
        { "(a;b)&&{ c;}|d&e", "( a;\nb ) && { \n    c\n} | d & e" },
        { "while a;do b&done", "while a; do\n    b &\ndone" },
        { "a=(1   2 [k]=v)  b", "a=(1 2 [k]=v) b" },
        { "a <b \\", "a \\\\ < b" },
        { ">a if <b", "> a < b if" },
        { "a >&2 <&3 &>f 2>>g", "a 1>&2 0<&3 &> f 2>> g" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_buf out = BUF(MAX_OUT);
        print(str_of(cases[i].script), &out);
        assert_string_equal(buf_str(&out).data, cases[i].text);
    }
}

/* --- expressions given as text --- */

static void test_arith(void **state UNUSED)
{
    static const struct {
        const char *text, *tree;
    } cases[] = {
        { "", "0" },
        { " 1 + 2 ", "(+ 1 2)" },
        { "a = b, c", "(, (= a b) c)" },
        { "1 +", "1 +: syntax error: operand expected (error token is \"+\")" },
        { "1 2", "1 2: syntax error in expression (error token is \"2\")" },
        { "08", "08: value too great for base (error token is \"08\")" },
        { "1x", "1x: value too great for base (error token is \"1x\")" },
        { "65#1", "65#1: invalid arithmetic base (error token is \"65#1\")" },
        { "(1", "(1: missing `)' (error token is \"1\")" },
        { "1 = 2",
                "1 = 2: attempted assignment to non-variable (error token is \"= 2\")" },
        { "a ? 1",
                "a ? 1: `:' expected for conditional expression (error token is \"1\")" },
        { "a[", "a[: bad array subscript (error token is \"a[\")" },
        { "$x", "$x: syntax error: operand expected (error token is \"$x\")" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_arena *arena = arena_create();
        auto_buf out = BUF(MAX_OUT);
        struct arith *tree;
        struct parse_error err;
        if (parse_arith(str_of(cases[i].text), arena, &tree, &err))
            dump_arith(tree, &out);
        else
            buf_add(&out, str_of(err.message));
        assert_string_equal(buf_str(&out).data, cases[i].tree);
    }
}

/* --- aliases --- */

static bool find_alias(void *user UNUSED, struct str name, struct str *text)
{
    static const char *const aliases[][2] = { { "ll", "ls -l" }, { "ls", "ls -F" },
        { "sudo", "sudo " }, { "begin", "if a; then" }, { "loop", "loop x" },
        { "two", "a; b" }, { "quoted", "echo 'x y'" }, { "none", "" } };
    for (size_t i = 0; i < ARRAY_LEN(aliases); i++) {
        if (str_is(name, aliases[i][0])) {
            *text = str_of(aliases[i][1]);
            return true;
        }
    }
    return false;
}

static void test_aliases(void **state UNUSED)
{
    static const struct {
        const char *script, *tree;
    } cases[] = {
        { "ll x", "(cmd ls -F -l x)" },
        { "sudo ll x", "(cmd sudo ls -F -l x)" },
        { "echo ll", "(cmd echo ll)" },
        { "\\ll; 'll'; $ll", "(list (cmd 'l'l) (cmd 'll') (cmd ${ll}))" },
        { "begin b; fi", "(if (cmd a) (cmd b))" },
        { "loop loop", "(cmd loop x loop)" },
        { "two c && ll", "(list (cmd a) (&& (cmd b c) (cmd ls -F -l)))" },
        { "x=1 ll", "(cmd [x=1] ls -F -l)" },
        { "a | ll", "(pipe (cmd a) (cmd ls -F -l))" },
        { "quoted z", "(cmd echo 'x y' z)" },
        { "none ll", "(cmd ls -F -l)" },
        { "$(ll) ${x:-$(ll)}", "(cmd $((cmd ls -F -l)) ${x -: <$((cmd ls -F -l))>})" },
    };
    struct parse_options options = { .extglob = true, .alias = find_alias };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct script *s = NULL;
        struct parse_error err;
        auto_buf out = BUF(MAX_OUT);
        if (parse_script(str_of(cases[i].script), STR("test"), &options, &s, &err))
            dump_node(s->root, &out);
        else
            describe_error(&err, &out);
        script_unref(s);
        assert_string_equal(buf_str(&out).data, cases[i].tree);
    }
}

/* --- what cannot run --- */

static void test_unsupported(void **state UNUSED)
{
    static const char *const places[] = { "coproc a", "f() { if a; then coproc b; fi; }",
        "echo \"${x:-$(coproc a)}\"", "export x=$(coproc a)", "x[$(coproc a)]=1",
        "[[ a == $(coproc a) ]]", "((a + $(coproc a)))", "cat <<E\n$(coproc a)\nE",
        "cat <(coproc a)", "{a,$(coproc a)}", "case x in a) coproc b;; esac",
        "a && ! coproc b", "for x in `coproc a`; do b; done", "${x:$(coproc a)}" };
    struct parse_error err;
    struct pos where;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        struct script *s = parse(str_of(places[i]), &err);
        assert_non_null(s);
        assert_string_equal(script_unsupported(s, NULL, NULL, &where), "coproc");
        assert_int_equal(where.line, i == 7 ? 2 : 1);
        script_unref(s);
    }
    static const char *const commands[][2] = { { "echo a; f() { if x; then fg; fi; }",
                                                       "fg" },
        { "x=$(history)", "history" }, { "command bind a", "bind" },
        { "builtin disown", "disown" }, { "set -eum", "set -m" },
        { "set -e -o vi", "set -o vi" }, { "set -eo monitor x", "set -m" } };
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
        struct script *c = parse(str_of(commands[i][0]), &err);
        const char *text = script_unsupported(c, NULL, NULL, &where);
        assert_non_null(text);
        assert_ptr_equal(strstr(text, commands[i][1]), text);
        script_unref(c);
    }
    static const char *const harmless[] = { "fg() { a; }; fg", "echo fg", "set +m +H",
        "set -- -m", "set - -m", "set x -m", "set -o pipefail -e", "set -ex -- -H" };
    for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++) {
        struct script *c = parse(str_of(harmless[i]), &err);
        assert_null(script_unsupported(c, NULL, NULL, &where));
        script_unref(c);
    }
    struct script *s = parse(STR("echo coproc"), &err);
    assert_null(script_unsupported(s, NULL, NULL, &where));
    script_unref(s);
}

/* --- text that is not nice --- */

static void test_bytes(void **state UNUSED)
{
    struct parse_error err;
    auto_buf out = BUF(MAX_OUT);
    static const char with_nul[] = "ec\0ho \0a\0";
    describe((struct str){ with_nul, sizeof(with_nul) - 1 }, &out);
    assert_string_equal(buf_str(&out).data, "(cmd echo a)");
    struct script *s = parse(STR("echo \xff\xfe \xc3("), &err);
    assert_null(s);
    s = parse(STR(" \n\t# only a comment\n"), &err);
    assert_non_null(s);
    assert_null(s->root);
    script_unref(script_ref(s));
    script_unref(s);
    script_unref(NULL);
}

static void test_too_long(void **state UNUSED)
{
    struct parse_error err;
    size_t len = PARSE_MAX_TEXT + 1;
    char *text = malloc(len);
    memset(text, 'a', len);
    assert_null(parse((struct str){ text, len }, &err));
    assert_string_equal(err.message, "the script is too long (limit: 16 MiB)");
    struct script *s = parse((struct str){ text, len - 1 }, &err);
    assert_non_null(s);
    script_unref(s);
    free(text);
}

/* --- depth and size --- */

struct hostile {
    const char *before, *repeat, *middle, *after, *end;
};

/* Brackets of every kind, and chains that make a tree as deep. */
static const struct hostile nests[] = {
    { "", "(", "a", ")", "" },
    { "", "( ", "a", " )", "" },
    { "", "{ ", "a", "; }", "" },
    { "", "$(", "a", ")", "" },
    { "", "\"$(", "a", ")\"", "" },
    { "", "<(", "a", ")", "" },
    { "", "${x:-", "a", "}", "" },
    { "\"", "${x:-", "a", "}", "\"" },
    { "", "\"${x:-", "a", "}\"", "" },
    { "", "${x#", "a", "}", "" },
    { "", "${x/", "a", "}", "" },
    { "", "${x:", "1", "}", "" },
    { "", "${x[", "1", "]}", "" },
    { "", "$((", "1", "))", "" },
    { "", "$((1+", "1", "))", "" },
    { "", "$[", "1", "]", "" },
    { "", "$(( a[", "1", "] ))", "" },
    { "echo $((", "(", "1", ")", "))" },
    { "echo $((", "-", "1", "", "))" },
    { "echo $((", "- ", "1", "", "))" },
    { "echo $((", "1+", "1", "", "))" },
    { "echo $((", "1**", "1", "", "))" },
    { "echo $((", "a[", "1", "]", "))" },
    { "echo $((", "a=", "1", "", "))" },
    { "echo $((", "1?", "1", ":1", "))" },
    { "echo $((", "1,", "1", "", "))" },
    { "((", "(", "1", ")", "))" },
    { "echo ", "{a,", "b", "}", "" },
    { "echo ", "{", "b", "}", "" },
    { "echo ", "@(", "b", ")", "" },
    { "[[ ", "( ", "b", " )", " ]]" },
    { "[[ ", "! ", "b", "", " ]]" },
    { "[[ ", "a && ", "b", "", " ]]" },
    { "[[ a =~ ", "(", "b", ")", " ]]" },
    { "", "a && ", "b", "", "" },
    { "", "a | ", "b", "", "" },
    { "", "! ", "b", "", "" },
    { "", "if a; then ", "b", "; fi", "" },
    { "if a; then b; ", "elif c; then d; ", "", "", "fi" },
    { "", "while a; do ", "b", "; done", "" },
    { "", "for x in a; do ", "b", "; done", "" },
    { "", "case x in a) ", "b", ";; esac", "" },
    { "", "f() { ", "b", "; }", "" },
    { "", "coproc { ", "b", "; }", "" },
    { "", "x=$(", "b", ")", "" },
    { "", "export x=$(", "b", ")", "" },
    { "", "x=(", "b", ")", "" },
    { "", "x=([1]=$(", "b", "))", "" },
    { "a[", "b[", "1", "]", "]=1" },
    { "cat <<E\n", "$(", "b", ")", "\nE\n" },
    { "", "cat <<E ", "", "", "" },
    { "", "a=1 ", "b", "", "" },
    { "", "a ", "b", "", "" },
    { "", "a; ", "b", "", "" },
    { "", "a & ", "b", "", "" },
    { "", "\n", "b", "", "" },
    { "", "> a ", "b", "", "" },
    { "", "'", "b", "", "" },
    { "", "\"", "b", "", "" },
    { "", "\\\n", "b", "", "" },
    { "", "#\n", "b", "", "" },
    { "", "a[ ", "b", "", "" },
    { "echo ", "a[", "b", "", "" },
    { "echo ", "a[1]=", "b", "", "" },
    { "a=(", "[", "b", "", ")" },
    { "a=(", "[1]=2 ", "b", "", ")" },
    { "echo ", "{a,b}", "b", "", "" },
    { "echo ", "{a,b} ", "b", "", "" },
    { "echo ", "{", "b", "", "" },
    { "echo ", "{1..2}", "b", "", "" },
    { "echo ", "~", "b", "", "" },
    { "x=", "~:", "b", "", "" },
    { "echo ", "$x", "b", "", "" },
    { "echo ", "$((1)) ", "b", "", "" },
    { "echo ", "`a` ", "b", "", "" },
    { "cat <<E\n", "a\\\n", "b", "", "\nE\n" },
    { "cat <<-'E'\n", "\ta\n", "b", "", "\nE\n" },
    { "cat <<E\n", "E ", "b", "", "\nE\n" },
    { "cat <<E\n", "$x\n", "b", "", "\nE\n" },
};

static void build(const struct hostile *h, size_t n, struct buf *out)
{
    buf_add(out, str_of(h->before));
    for (size_t i = 0; i < n; i++)
        buf_add(out, str_of(h->repeat));
    buf_add(out, str_of(h->middle));
    for (size_t i = 0; i < n; i++)
        buf_add(out, str_of(h->after));
    buf_add(out, str_of(h->end));
}

static void parse_hostile(const struct hostile *h, size_t n)
{
    auto_buf text = BUF(PARSE_MAX_TEXT), dumped = BUF(MAX_DUMP), printed = BUF(MAX_OUT);
    build(h, n, &text);
    struct parse_error err;
    struct script *s = parse(buf_str(&text), &err);
    if (!s) {
        assert_true(err.message[0]);
        return;
    }
    /* What parses can be walked on the same stack. */
    struct pos where;
    script_unsupported(s, NULL, NULL, &where);
    if (s->root && n < 10000) {
        dump_node(s->root, &dumped);
        ast_print(s->root, &printed);
    }
    script_unref(s);
}

static void *parse_all_hostile(void *p UNUSED)
{
    static const size_t counts[] = { 3, 49, 66, 99, 199, 1000, 20000 };
    for (size_t i = 0; i < ARRAY_LEN(nests); i++)
        for (size_t j = 0; j < ARRAY_LEN(counts); j++)
            parse_hostile(&nests[i], counts[j]);
    return NULL;
}

/* Coroutines have stacks of this size; sanitizers make frames several times larger. */
#define STACK_SIZE ((size_t)(SANITIZED ? 2048 : 256) << 10)

static void test_small_stack(void **state UNUSED)
{
    pthread_attr_t attr;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attr), 0);
    assert_int_equal(pthread_attr_setstacksize(&attr, STACK_SIZE), 0);
    assert_int_equal(pthread_create(&thread, &attr, parse_all_hostile, NULL), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
}

/* Very many of anything end soon: this hangs if something is quadratic. */
static void test_very_many(void **state UNUSED)
{
    for (size_t i = 0; i < ARRAY_LEN(nests); i++)
        parse_hostile(&nests[i], SANITIZED ? 25000 : 100000);
}

/* --- by hand: test-parse [-p] SCRIPT shows the tree, or the script printed --- */

static int show(struct str text, bool as_text)
{
    auto_buf out = BUF(MAX_OUT);
    if (as_text)
        print(text, &out);
    else
        describe(text, &out);
    printf("%s\n", buf_str(&out).data);
    struct parse_error err;
    struct script *s = parse(text, &err);
    script_unref(s);
    return s ? 0 : 2;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_bash),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_arith),
        cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_unsupported),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_small_stack),
        cmocka_unit_test(test_very_many),
    };
    if (argc > 1)
        return show(str_of(argv[argc - 1]), argc > 2);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
