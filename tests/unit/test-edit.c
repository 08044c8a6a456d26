#include "vfs-world.h"

#include "edit/edit.h"
#include "sanitized.h"
#include "vfs/backend.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char name[] = "f.txt";

struct answer {
    bool ok;
    struct edit_result result;
    struct str detail;
    struct error err;
};

static struct answer edit(
        struct world *w, const char *path, struct str old, struct str new, bool all)
{
    struct edit_request request = { .path = at(w, path),
        .shown_path = str_of(path),
        .old_text = old,
        .new_text = new,
        .replace_all = all };
    struct answer a = { 0 };
    a.ok = edit_apply(w->vfs, &request, w->arena, &a.result, &a.detail, &a.err);
    return a;
}

static void put_bytes(struct world *w, const char *path, struct str content)
{
    int flags = VFS_WRITE | VFS_CREATE;
    assert_int_equal(
            vfs_replace(w->vfs, at(w, path), content, (enum vfs_open_flags)flags, NULL),
            0);
}

static struct str bytes_of(struct world *w, const char *path)
{
    struct vfile *f;
    size_t size = (size_t)stat_of(w, path).size, got = 0;
    char *data = arena_zalloc(w->arena, size + 1);
    assert_int_equal(vfs_open(w->vfs, at(w, path), VFS_READ, 0, &f), 0);
    assert_int_equal(vfile_pread(f, data, size, 0, &got), 0);
    vfile_close(f);
    return (struct str){ data, got };
}

static void check_bytes(struct world *w, const char *path, struct str expect)
{
    struct str have = bytes_of(w, path);
    if (!str_eq(have, expect))
        fail_msg("has '%.*s', not '%.*s'", STR_ARG(have), STR_ARG(expect));
}

static void test_replacing(void **state)
{
    (void)state;
    static const struct {
        struct str content, old, new, expect;
        bool all;
    } table[] = {
        { STR("a b c\n"), STR("b"), STR("X"), STR("a X c\n"), false },
        { STR("aa bb aa\naa\n"), STR("aa"), STR("cc"), STR("cc bb cc\ncc\n"), true },
        { STR("aaaa"), STR("aa"), STR("b"), STR("bb"), true },
        { STR("one\ntwo\nthree\n"), STR("two\n"), STR(""), STR("one\nthree\n"), false },
        { STR("x"), STR("x"), STR(""), STR(""), false },
        { STR("a\nb\nc\n"), STR("c\n"), STR("C\n"), STR("a\nb\nC\n"), false },
        { STR("no newline"), STR("newline"), STR("end"), STR("no end"), false },
        { STR("price: P\n"), STR("P"), STR("$$1 $& \\1 %s"),
                STR("price: $$1 $& \\1 %s\n"), false },
        { STR("a\0b\n"), STR("a\0b"), STR("\0"), STR("\0\n"), false },
        /* Line endings: matched across styles, inserted in the file's. */
        { STR("int a;\r\nint b;\r\nint c;\r\n"), STR("int a;\nint b;"),
                STR("int a;\nint x;"), STR("int a;\r\nint x;\r\nint c;\r\n"), false },
        { STR("a\r\nb\r\n"), STR("b"), STR("x\ny"), STR("a\r\nx\r\ny\r\n"), false },
        { STR("a\r\nb\r\nc"), STR("b"), STR("B"), STR("a\r\nB\r\nc"), false },
        { STR("alpha\rbeta\rgamma\r"), STR("alpha\nbeta"), STR("ALPHA\nbeta"),
                STR("ALPHA\rbeta\rgamma\r"), false },
        { STR("a\nb\nc\n"), STR("a\r\nb"), STR("x\r\ny"), STR("x\ny\nc\n"), false },
        { STR("a\nb\nc\n"), STR("a\rb"), STR("x\ry"), STR("x\ny\nc\n"), false },
        { STR("a\nb\r\nc\r\n"), STR("b\nc"), STR("b\nx\nc"), STR("a\nb\r\nx\r\nc\r\n"),
                false },
        { STR("a\nb\r\n"), STR("a"), STR("x\ny"), STR("x\ny\nb\r\n"), false },
        { STR("a\nb\r\n"), STR("b"), STR("x\ny"), STR("a\nx\r\ny\r\n"), false },
        { STR("a\r\nb"), STR("\nb"), STR("\nc"), STR("a\r\nc"), false },
        { STR("a\r\nb\r\nc\r\nb\r\n"), STR("b\n"), STR("x\n"),
                STR("a\r\nx\r\nc\r\nx\r\n"), true },
        /* What is about CR explicitly is literal. */
        { STR("a\r\nb\r\n"), STR("a\r\n"), STR("a\n"), STR("a\nb\r\n"), false },
        { STR("a\nb\n"), STR("a"), STR("a\r\nx"), STR("a\r\nx\nb\n"), false },
        { STR("p 1\rp 2\n"), STR("p 1"), STR("q"), STR("q\rp 2\n"), false },
        /* BOM and other encodings. */
        { STR("\xEF\xBB\xBFx = 1\n"), STR("x = 1"), STR("x = 2"),
                STR("\xEF\xBB\xBFx = 2\n"), false },
        { STR("\xEF\xBB\xBFx\n"), STR("\xEF\xBB\xBFx"), STR("y"), STR("\xEF\xBB\xBFy\n"),
                false },
        { STR("\xFE\xF0\xFF\nx = 1\n"), STR("x = 1"), STR("x = 2"),
                STR("\xFE\xF0\xFF\nx = 2\n"), false },
        { STR("/* \xC0\xCC */\r\nint x;\r\n"), STR("int x;"), STR("int y;"),
                STR("/* \xC0\xCC */\r\nint y;\r\n"), false },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct world *w = world_create(WORLD_MEMORY);
        put_bytes(w, name, table[i].content);
        struct answer a = edit(w, name, table[i].old, table[i].new, table[i].all);
        if (!a.ok)
            fail_msg("row %zu: %s", i, a.err.message);
        check_bytes(w, name, table[i].expect);
        world_destroy(w);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        struct str content, old, new;
        enum error_code code;
        const char *message, *detail;
    } table[] = {
        { STR("x\n"), STR("x"), STR("x"), ERR_INVALID,
                "old_string and new_string are identical; nothing to do", "" },
        { STR("a\r\nb"), STR("a\nb"), STR("a\r\nb"), ERR_INVALID,
                "old_string and new_string are identical; nothing to do", "" },
        { STR("a\nb\na\n"), STR("a"), STR("x"), ERR_INVALID,
                "old_string appears 2 times; add surrounding lines to make it unique, or "
                "set replace_all to true",
                "It begins at lines 1 and 3." },
        { STR("\xFF\xFEx\0\n\0"), STR("x"), STR("y"), ERR_UNSUPPORTED,
                "the file is UTF-16 text, which edit cannot change; only UTF-8 and "
                "encodings that contain ASCII are supported",
                "" },
        { STR(""), STR("x"), STR("y"), ERR_NOT_FOUND,
                "old_string not found (it must match exactly, including whitespace and "
                "indentation)",
                "The file is empty." },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct world *w = world_create(WORLD_MEMORY);
        put_bytes(w, name, table[i].content);
        struct answer a = edit(w, name, table[i].old, table[i].new, false);
        assert_false(a.ok);
        assert_string_equal(a.err.message, table[i].message);
        assert_int_equal(a.err.code, table[i].code);
        assert_string_equal(a.detail.data, table[i].detail);
        check_bytes(w, name, table[i].content);
        world_destroy(w);
    }
}

static void test_near_misses(void **state)
{
    (void)state;
    static const struct {
        const char *content, *old, *says;
    } table[] = {
        { "if x:\n    go()\n", "if x:\n  go()",
                "It nearly matches 1 time, at line 1:\n"
                "     1\tif x:\n"
                "     2\t    go()\n"
                "Indentation of line 2: the file has 4 spaces, old_string has 2 "
                "spaces." },
        { "func f() {\n\tif x {\n\t\treturn\n\t}\n}\n",
                "    if x {\n        return\n    }",
                "Indentation of line 2: the file has 1 tab, old_string has 4 spaces.\n"
                "(and 2 more such differences)" },
        { "the task list\xC2\xA0in sprint\n", "list in sprint",
                "Line 1, column 14: the file has U+00A0 (no-break space), old_string has "
                "1 "
                "space." },
        { "say \xE2\x80\x9Chi\xE2\x80\x9D\n", "say \"hi\"",
                "Line 1, column 5: the file has U+201C (left double quotation mark), "
                "old_string has '\"'." },
        { "a  \nb\n", "a\nb",
                "End of line 1: the file has 2 spaces, old_string has nothing." },
        { "x\nfoo\n", "foo  ",
                "Line 2, column 4: the file has nothing, old_string has 2 spaces." },
        { "a\n\n\nb\n", "a\n\nb",
                "After line 1: the file has 3 line breaks, old_string has 2." },
        { "Hello World\n", "hello world",
                "Line 1, column 1: the file has 'H', old_string has 'h' (letter case).\n"
                "(and 1 more such difference)" },
        { "f(a, b)\n", "f(a,b)",
                "Line 1, column 5: the file has 1 space, old_string has nothing." },
        { "def a():\n    return 1\n", "     2\t    return 1",
                "old_string carries line numbers that are not part of the file; without "
                "them "
                "it occurs 1 time, at line 2." },
        { "a\nb\n", "a\\nb",
                "old_string has backslash escapes where the file has the characters "
                "themselves; with those it occurs 1 time, at line 1." },
        { "s = \"a\\nb\"\n", "\"a\nb\"",
                "The file has backslash escapes (\\n, \\t or \\\") where old_string has "
                "the "
                "characters themselves; with those it occurs 1 time, at line 1." },
        { "one\ntwo\nTHREE\nfour\n", "one\ntwo\nthree and more\nfour",
                "Nearest passage: 3 of the 4 lines of old_string are there.\n"
                "     1\tone\n     2\ttwo\n     3\tTHREE\n     4\tfour\n"
                "First difference at line 3 (line 3 of old_string):\n"
                "  file:       THREE\n"
                "  old_string: three and more\n" },
        { "begin\n\tone(a);\n\ttwo();\nend\n", "begin\n  one(a);\n  two();\nfinish",
                "Nearest passage: 3 of the 4 lines of old_string are there.\n"
                "     1\tbegin\n     2\t\tone(a);\n     3\t\ttwo();\n     4\tend\n"
                "Indentation of line 2: the file has 1 tab, old_string has 2 spaces.\n"
                "(and 1 more such line)\n"
                "First difference at line 4 (line 4 of old_string):\n" },
        { "int count_words(char *s);\nint x;\n", "int count_word(char *text);",
                "No line of old_string is in the file; most like it is line 1:\n"
                "     1\tint count_words(char *s);" },
        { "abc\n", "zzzzzz", "Nothing in the file resembles it." },
        { "new text here\n", "old text gone",
                "new_string is in the file already: it occurs 1 time, at line 1." },
        { "x\n", " \n ", "old_string has only blanks." },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct world *w = world_create(WORLD_MEMORY);
        put(w, name, table[i].content);
        struct answer a =
                edit(w, name, str_of(table[i].old), STR("new text here"), false);
        assert_false(a.ok);
        assert_int_equal(a.err.code, ERR_NOT_FOUND);
        if (!strstr(a.detail.data, table[i].says))
            fail_msg("row %zu says '%s'", i, a.detail.data);
        assert_content(w, name, table[i].content);
        world_destroy(w);
    }
}

static void test_snippets(void **state)
{
    (void)state;
    static const struct {
        const char *content, *old, *new, *snippet;
        bool all;
    } table[] = {
        { "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "5\n", "five\n",
                "     2\t2\n     3\t3\n     4\t4\n     5\tfive\n     6\t6\n     7\t7\n   "
                "  8\t8",
                false },
        { "a\nb\n", "b", "B", "     1\ta\n     2\tB", false },
        { "a\r\nb\r\n", "b", "x\ny", "     1\ta\n     2\tx\n     3\ty", false },
        { "a\nb\nc\n", "c\n", "", "     1\ta\n     2\tb", false },
        { "x", "x", "", "(the file is empty now)", false },
        { "a\nb\na\n", "a", "x",
                "     1\tx\n     2\tb\n     3\tx\nBefore the edit the 2 places began at "
                "lines 1 "
                "and 3.",
                true },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct world *w = world_create(WORLD_MEMORY);
        put(w, name, table[i].content);
        struct answer a =
                edit(w, name, str_of(table[i].old), str_of(table[i].new), table[i].all);
        assert_true(a.ok);
        assert_string_equal(a.result.snippet.data, table[i].snippet);
        world_destroy(w);
    }
}

static void test_long_lines_are_cut(void **state)
{
    (void)state;
    struct world *w = world_create(WORLD_MEMORY);
    char *line = arena_zalloc(w->arena, 20001);
    for (int i = 0; i < 20000; i += 2)
        memcpy(line + i, "\xC3\xA9", 2);
    line[0] = 'a', line[1] = 'b';
    line[1999] = 'x';
    put(w, name, line);
    struct answer a = edit(w, name, STR("ab"), STR("c"), false);
    assert_true(a.ok);
    assert_true(a.result.snippet.len < 2100);
    assert_non_null(strstr(a.result.snippet.data, "more bytes)"));
    world_destroy(w);
}

static void test_creating(void **state)
{
    (void)state;
    struct world *w = world_create(WORLD_MEMORY);
    struct answer a = edit(w, "n", STR(""), STR("text\r\n"), false);
    assert_true(a.ok && a.result.created);
    assert_string_equal(a.result.path.text.data, "/n");
    assert_content(w, "n", "text\r\n");
    a = edit(w, "n", STR(""), STR("other"), false);
    assert_int_equal(a.err.code, ERR_EXISTS);
    assert_string_equal(a.err.message,
            "file already exists; to change it, give the text to replace in old_string");
    assert_content(w, "n", "text\r\n");
    a = edit(w, "no/dir", STR(""), STR("x"), false);
    assert_string_equal(a.err.message, "No such file or directory");
    assert_non_null(strstr(a.err.hint, "mkdir -p"));
    make_dir(w, "d");
    assert_int_equal(edit(w, "d", STR(""), STR("x"), false).err.code, ERR_EXISTS);
    a = edit(w, ".env", STR(""), STR("x"), false);
    assert_string_equal(a.err.message, "Permission denied");
    world_destroy(w);
}

static void test_paths(void **state)
{
    (void)state;
    struct world *w = world_create(WORLD_LOCAL);
    put(w, "x.sh", "echo a\n");
    assert_int_equal(vfs_chmod(w->vfs, at(w, "x.sh"), 0750), 0);
    make_link(w, "x.sh", "ln");
    make_dir(w, "d");
    put_hidden(w, ".env", "SECRET=1\n");
    make_link(w, ".env", "l");
    make_link(w, "/etc/passwd", "out");
    struct answer a = edit(w, "ln", STR("echo a"), STR("echo b"), false);
    assert_true(a.ok);
    assert_string_equal(a.result.path.text.data, "/x.sh");
    assert_content(w, "x.sh", "echo b\n");
    assert_int_equal(stat_of(w, "x.sh").mode, 0750);
    assert_int_equal(lstat_of(w, "ln").type, VFS_LINK);
    static const struct {
        const char *path, *message;
    } table[] = {
        { ".env", "Permission denied" },
        { "l", "Permission denied" },
        { "out", "Permission denied" },
        { "d", "Is a directory" },
        { "d/", "Is a directory" },
        { "x.sh/", "Not a directory" },
        { "none", "No such file or directory" },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        a = edit(w, table[i].path, STR("root"), STR("x"), false);
        assert_false(a.ok);
        assert_string_equal(a.err.message, table[i].message);
        assert_int_equal(a.detail.len, 0);
    }
    assert_string_equal(names_in(w, "."), "d l ln out x.sh");
    world_destroy(w);
}

/* Another program that changes the file whenever it is about to be replaced. */
struct rival {
    struct vfs_ops ops;
    const struct vfs_ops *real;
    void *self;
    int times;
};

static struct rival rival;

static int rival_replace(void *self, const char *path, struct str data,
        enum vfs_open_flags flags, uint32_t mode, const struct vfs_stat *expect)
{
    struct vfile *f;
    if (rival.times-- > 0) {
        assert_int_equal(rival.real->open(self, path, VFS_WRITE | VFS_APPEND, 0, &f), 0);
        assert_int_equal(vfile_write(f, STR("rival\n")), 0);
        vfile_close(f);
    }
    return rival.real->replace(self, path, data, flags, mode, expect);
}

static void ignore(void *self)
{
    (void)self;
}

static void test_lost_updates(void **state)
{
    (void)state;
    static const int attempts[] = { 1, EDIT_MAX_ATTEMPTS - 1, EDIT_MAX_ATTEMPTS };
    for (size_t i = 0; i < ARRAY_LEN(attempts); i++) {
        struct world *w = world_create(WORLD_LOCAL);
        int times = attempts[i];
        auto_buf rivals = BUF(1000);
        for (int n = 0; n < times; n++)
            buf_addf(&rivals, "rival\n");
        put(w, name, "alpha\n");
        rival = (struct rival){ *w->ops, w->ops, w->self, times };
        rival.ops.replace = rival_replace;
        rival.ops.destroy = ignore;
        struct vfs *own = w->vfs;
        struct vfs_options options = {
            .deny = w->deny, .read_only = false, .umask = 022
        };
        w->vfs = vfs_create(&options);
        assert_int_equal(vfs_mount(w->vfs, VPATH_ROOT, &rival.ops, w->self), 0);
        struct answer a = edit(w, name, STR("alpha"), STR("beta"), false);
        bool in_time = times < EDIT_MAX_ATTEMPTS;
        assert_int_equal(a.ok, in_time);
        if (!in_time)
            assert_string_equal(a.err.message, "file changed while it was being edited");
        assert_content(w, name,
                arena_printf(
                        w->arena, "%s\n%s", in_time ? "beta" : "alpha", rivals.data));
        vfs_destroy(w->vfs);
        w->vfs = own;
        world_destroy(w);
    }
}

/* A disk quota: the write fails, the file is as it was, and we live on. */
static void test_file_size_limit(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        struct world *w = world_create(WORLD_LOCAL);
        char *data = arena_zalloc(w->arena, 20001);
        memset(data, '0', 20000);
        put(w, name, data);
        make_dir(w, "d");
        signal(SIGXFSZ, SIG_IGN); /* as the worker does */
        struct rlimit limit = { 16384, 16384 };
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        struct answer a = edit(w, name, STR("0000"), STR("1111"), true);
        bool right = !a.ok && a.err.code == ERR_LIMIT &&
                     !strcmp(content_of(w, name), data) &&
                     !strcmp(names_in(w, "."), "d f.txt");
        world_destroy(w);
        _exit(right ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16 & 0x7fff;
}

/* Whatever the bytes and line endings around it: only the span changes. */
static void test_nothing_else_changes(void **state)
{
    (void)state;
    static const char *const pieces[] = { "\n", "\r\n", "\r", "\xEF\xBB\xBF", "\xE9",
        "\xC3\xA9", "word", "  ", "\t", "\xC2\xA0" };
    unsigned seed = 7;
    for (int round = 0; round < 500; round++) {
        struct world *w = world_create(WORLD_MEMORY);
        auto_buf before = BUF(4096);
        auto_buf after = BUF(4096);
        for (int half = 0; half < 2; half++) {
            for (unsigned n = next_random(&seed) % 30; n; n--)
                buf_add(&before, str_of(pieces[next_random(&seed) % ARRAY_LEN(pieces)]));
            buf_add(&before, half ? STR("") : STR("NEEDLE"));
        }
        size_t at = (size_t)(strstr(before.data, "NEEDLE") - before.data);
        buf_add(&after, str_sub(buf_str(&before), 0, at));
        buf_add(&after, STR("PIN"));
        buf_add(&after, str_from(buf_str(&before), at + 6));
        put_bytes(w, name, buf_str(&before));
        assert_true(edit(w, name, STR("NEEDLE"), STR("PIN"), false).ok);
        check_bytes(w, name, buf_str(&after));
        world_destroy(w);
    }
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Texts on which a careless search takes minutes. */
static void test_large_files_end(void **state)
{
    (void)state;
    struct world *w = world_create(WORLD_MEMORY);
    size_t size = SANITIZED ? 2 << 20 : 10 << 20;
    char *data = arena_alloc(w->arena, size + 1);
    static const char *const lines[] = { "    }\n", "  return value + 1;\n", "a", "x\r\n",
        " " };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        size_t len = strlen(lines[i]);
        for (size_t j = 0; j < size; j++)
            data[j] = lines[i][j % len];
        put_bytes(w, name, (struct str){ data, size });
        const char *old = "";
        for (int j = 0; j < 100; j++)
            old = arena_printf(w->arena, "%s%s%s", old, lines[i], j == 99 ? "Q" : "");
        int64_t begin = now_ms();
        assert_false(edit(w, name, str_of(old), STR("new text here"), false).ok);
        int64_t took = now_ms() - begin;
        print_message("%zu MiB of '%.5s': %d ms\n", size >> 20, lines[i], (int)took);
        assert_true(took < 20000);
    }
    world_destroy(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replacing),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_near_misses),
        cmocka_unit_test(test_snippets),
        cmocka_unit_test(test_long_lines_are_cut),
        cmocka_unit_test(test_creating),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_lost_updates),
        cmocka_unit_test(test_file_size_limit),
        cmocka_unit_test(test_nothing_else_changes),
        cmocka_unit_test(test_large_files_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
