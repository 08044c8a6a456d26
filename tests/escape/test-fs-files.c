/* fs_readfile, fs_stat, fs_append, fs_delete and fs_str_replace of a real worker. */
#include "fs-world.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_readfile_shows_numbered_lines(void **state)
{
    struct fs_world *w = *state;
    static const struct {
        struct str content;
        const char *text;
    } table[] = {
        { STR("a\nb\n"), "1| a\n2| b\n" },
        { STR("a\nb"), "1| a\n2| b\n" },
        { STR(""), "\n" },
        { STR("\n\nx\n\n"), "1| \n2| \n3| x\n4| \n" },
        { STR("a\r\nb\r\n"), "1| a\n2| b\n" },
        { STR("a\rb\r"), "1| a\n2| b\n" },
        { STR("a\fb\vc\x1c"
              "d\xc2\x85"
              "e\xe2\x80\xa8"
              "f\n"),
                "1| a\n2| b\n3| c\n4| d\n5| e\n6| f\n" },
        { STR("\xef\xbb\xbfq\n"), "1| q\n" },
        { STR("1\n2\n3\n4\n5\n6\n7\n8\n9\n\xc3\xa4\n"),
                " 1| 1\n 2| 2\n 3| 3\n 4| 4\n 5| 5\n 6| 6\n 7| 7\n 8| 8\n 9| 9\n"
                "10| \xc3\xa4\n" },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        put(w, "f", table[i].content);
        expect(w, "fs_readfile", "{'path':'f'}", table[i].text);
    }
}

static void test_readfile_ranges(void **state)
{
    struct fs_world *w = *state;
    put_text(w, "f", "a\nb\nc\nd\n");
    static const struct {
        const char *args, *text;
    } table[] = {
        { "{'path':'f','start':2,'end':3}", "2| b\n3| c\n\n[Showing lines 2-3 of 4.]\n" },
        { "{'path':'f','start':3}", "3| c\n4| d\n\n[Showing lines 3-4 of 4.]\n" },
        { "{'path':'f','end':1}", "1| a\n\n[Showing lines 1-1 of 4.]\n" },
        { "{'path':'f','start':0,'end':99}", "1| a\n2| b\n3| c\n4| d\n" },
        { "{'path':'f','start':-1,'end':1}", "4| d\n\n[Showing lines 4-4 of 4.]\n" },
        { "{'path':'f','start':-9}", "1| a\n2| b\n3| c\n4| d\n" },
        { "{'path':'f','start':null,'end':null}", "1| a\n2| b\n3| c\n4| d\n" },
        { "{'path':'f','start':9}", "[No lines in that range: the file has 4 lines.]\n" },
        { "{'path':'f','start':3,'end':2}",
                "[No lines in that range: the file has 4 lines.]\n" },
        { "{'path':'f','end':-3}", "[No lines in that range: the file has 4 lines.]\n" },
        { "{'path':'f','start':-9223372036854775808}", "1| a\n2| b\n3| c\n4| d\n" },
        { "{'path':'f','start':9223372036854775807,'end':9223372036854775807}",
                "[No lines in that range: the file has 4 lines.]\n" },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        expect(w, "fs_readfile", table[i].args, table[i].text);
}

/* The hints, followed to the letter, show every line once. */
static void test_readfile_hints_lead_through_the_file(void **state)
{
    struct fs_world *w = *state;
    auto_buf content = BUF((size_t)1 << 20);
    auto_buf seen = BUF((size_t)1 << 20);
    for (int i = 0; i < 4000; i++)
        buf_addf(&content, "line %d of a file that does not fit\n", i);
    put(w, "f", buf_str(&content));
    for (unsigned long start = 1, calls = 0; start; calls++) {
        auto_buf args = BUF(100);
        bool is_error;
        assert_true(calls < 10);
        buf_addf(&args, "{'path':'f','start':%lu}", start);
        const char *text = call(w, "fs_readfile", args.data, &is_error);
        assert_false(is_error);
        assert_true(strlen(text) < 60000);
        const char *next = strstr(text, "Use start=");
        start = next ? strtoul(next + 10, NULL, 10) : 0;
        for (const char *at; (at = strstr(text, "| ")); text = strchr(at, '\n') + 1)
            buf_add(&seen, (struct str){ at + 2, strcspn(at + 2, "\n") + 1 });
    }
    assert_true(str_eq(buf_str(&seen), buf_str(&content)));
}

static void test_readfile_of_a_line_that_does_not_fit(void **state)
{
    struct fs_world *w = *state;
    auto_buf content = BUF((size_t)1 << 20);
    for (int i = 0; i < 70000; i++)
        buf_addc(&content, i < 60000 ? 'a' : 'z');
    buf_add(&content, STR("\nafter\n"));
    put(w, "f", buf_str(&content));
    expect_part(w, "fs_readfile", "{'path':'f'}", "[20000 more characters of this line]",
            "Use start=2 to continue.");
    expect_part(w, "fs_readfile", "{'path':'f','start':2}", "2| after\n", NULL);
    put(w, "f", str_sub(buf_str(&content), 0, 70000));
    expect_part(w, "fs_readfile", "{'path':'f'}", "Use start=-1 to see the end", NULL);
    expect_part(w, "fs_readfile", "{'path':'f','start':-1}",
            "1| [the line begins before this] aaaa", "zzzz\n");
}

static void make_hole(struct fs_world *w, const char *name, off_t size)
{
    auto_buf path = BUF(100);
    put_text(w, name, "");
    buf_addf(&path, "%s/%s", w->folder, name);
    assert_int_equal(truncate(path.data, size), 0);
}

/* One line that is longer than the time that there is: the call ends, not its process. */
static void test_readfile_of_a_line_without_end(void **state)
{
    struct fs_world *w = *state;
    make_hole(w, "f", (off_t)1 << 42);
    expect_error(w, "fs_readfile", "{'path':'f'}", "Cannot read 'f': stopped: time limit",
            NULL);
    expect_error(w, "fs_readfile", "{'path':'f','start':2}", "time limit", NULL);
    expect_part(w, "fs_grep", "{'grep_regex':'x','path':'f'}", "No matches", NULL);
}

/* A gigabyte is not read to show the end of it. */
static void test_readfile_tail_of_a_huge_file(void **state)
{
    struct fs_world *w = *state;
    auto_buf path = BUF(100);
    make_hole(w, "f", (off_t)3 << 30);
    buf_addf(&path, "%s/f", w->folder);
    FILE *file = fopen(path.data, "r+");
    assert_non_null(file);
    fseeko(file, 0, SEEK_END);
    fputs("one\n\xc3\xa4two\nLAST LINE\n", file);
    fclose(file);
    expect_part(w, "fs_readfile", "{'path':'f','start':-2}",
            "-2| \xc3\xa4two\n-1| LAST LINE\n", "whose lines are not counted");
    expect_part(w, "fs_readfile", "{'path':'f','start':-1}", "-1| LAST LINE\n", NULL);
    /* The line before holds the hole, and does not fit beside them. */
    expect_part(w, "fs_readfile", "{'path':'f','start':-3}", "-1| LAST LINE\n",
            "Showing the last 2 lines");
    expect_part(w, "fs_stat", "{'path':'f'}", "size: 3221225492 bytes",
            "lines: (not counted");
    assert_int_equal(unlink(path.data), 0);
}

static void test_what_cannot_be_read(void **state)
{
    struct fs_world *w = *state;
    auto_buf path = BUF(100);
    put_folder(w, "d");
    put(w, "latin", STR("ab\n\xe9\n"));
    put(w, "wide", STR("\xff\xfeh\0i\0"));
    put_text(w,
            "at\xe2\x80\xaf"
            "2.txt",
            "x");
    put_text(w, "u\xcc\x88.txt", "x");
    put_text(w, "README.md", "x");
    buf_addf(&path, "%s/pipe", w->folder);
    assert_int_equal(mkfifo(path.data, 0644), 0);
    buf_clear(&path);
    buf_addf(&path, "%s/dangling", w->folder);
    assert_int_equal(symlink("nowhere", path.data), 0);
    static const struct {
        const char *args, *part, *other;
    } table[] = {
        { "{'path':'d'}", "is a directory", "fs_find" },
        { "{'path':'pipe'}", "not a regular file", "FIFO" },
        { "{'path':'latin'}", "binary or not UTF-8", "byte 3" },
        { "{'path':'wide'}", "UTF-16", "fs_grep" },
        { "{'path':'nothing.txt'}", "File not found: 'nothing.txt'", NULL },
        { "{'path':'nothing/x.txt'}", "File not found: 'nothing/x.txt'", NULL },
        { "{'path':'README.md/x'}", "File not found", NULL },
        { "{'path':'dangling'}", "File not found: 'dangling'", "leads nowhere" },
        { "{'path':'at 2.txt'}", "U+202F (narrow no-break space)",
                "at\xe2\x80\xaf"
                "2.txt" },
        { "{'path':'\xc3\xbc.txt'}", "u\xcc\x88.txt", "U+00FC" },
        { "{'path':'readme.md'}", "README.md", NULL },
        { "{'path':'  '}", "'path' is empty", NULL },
        { "{'path':'a\\u0000b'}", "NUL", NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        expect_error(w, "fs_readfile", table[i].args, table[i].part, table[i].other);
    expect_part(w, "fs_readfile",
            "{'path':'at\xe2\x80\xaf"
            "2.txt'}",
            "1| x", NULL);
}

static void test_stat(void **state)
{
    struct fs_world *w = *state;
    put_text(w, "f", "a\fb\nc");
    put(w, "latin", STR("\xe9\n"));
    put_folder(w, "d");
    expect(w, "fs_stat", "{'path':'nothing'}", "exists: false\n");
    expect_part(w, "fs_stat", "{'path':'f'}",
            "exists: true\ntype: file\nsize: 5 bytes\nlines: 3\nmodified: 20", NULL);
    expect_part(w, "fs_stat", "{'path':'latin'}", "lines: (binary or unreadable)", NULL);
    expect_part(w, "fs_stat", "{'path':'d'}", "type: directory", "modified: ");
    expect_part(w, "fs_stat", "{'path':'.'}", "type: directory", NULL);
}

static void test_append(void **state)
{
    struct fs_world *w = *state;
    expect(w, "fs_append", "{'path':'a/b/f','content':'x\\ny\\n'}",
            "--- a/b/f\n+++ a/b/f\n@@ -0,0 +1,2 @@\n+x\n+y\n");
    expect(w, "fs_append", "{'path':'a/b/f','content':'z'}",
            "--- a/b/f\n+++ a/b/f\n@@ -1,2 +1,3 @@\n x\n y\n+z\n");
    expect(w, "fs_append", "{'path':'a/b/f','content':'end\\n'}",
            "--- a/b/f\n+++ a/b/f\n@@ -1,3 +1,4 @@\n x\n y\n z\n+end\n");
    assert_true(holds(w, "a/b/f", STR("x\ny\nz\nend\n")));
    expect_part(w, "fs_append", "{'path':'a/b/f','content':''}", "nothing was appended",
            NULL);
    expect_part(w, "fs_append", "{'path':'empty','content':''}", "Created", NULL);
    assert_true(holds(w, "a/b/f", STR("x\ny\nz\nend\n")) && holds(w, "empty", STR("")));
}

static void test_append_keeps_what_the_file_is(void **state)
{
    struct fs_world *w = *state;
    static const struct {
        struct str content;
        const char *args;
        struct str after;
    } table[] = {
        { STR("a\r\nb"), "{'path':'f','content':'c\\nd\\n'}",
                STR("a\r\nb\r\nc\r\nd\r\n") },
        { STR("a\r\n"), "{'path':'f','content':'c\\r\\nd'}", STR("a\r\nc\r\nd") },
        { STR("a\rb"), "{'path':'f','content':'c'}", STR("a\rb\rc") },
        { STR("\xef\xbb\xbf"
              "a"),
                "{'path':'f','content':'b'}",
                STR("\xef\xbb\xbf"
                    "a\nb") },
        { STR(""), "{'path':'f','content':'b'}", STR("b") },
        { STR("$&"), "{'path':'f','content':'$1 %s'}", STR("$&\n$1 %s") },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        put(w, "f", table[i].content);
        expect_part(w, "fs_append", table[i].args, "+++ f\n", NULL);
        if (!holds(w, "f", table[i].after))
            fail_msg("case %zu", i);
    }
    auto_buf long_file = BUF(65536);
    for (int i = 0; i < 5000;
            i++) /* a character lies across the place that is read from */
        buf_add(&long_file, STR("\xe2\x82\xac"));
    put(w, "f", buf_str(&long_file));
    expect_part(w, "fs_append", "{'path':'f','content':'b'}", "+b\n", NULL);
}

static void test_append_refusals_change_nothing(void **state)
{
    struct fs_world *w = *state;
    auto_buf path = BUF(100);
    put_folder(w, "d");
    put(w, "latin", STR("\xe9\n"));
    put(w, "wide",
            STR("\xff\xfe"
                "a\0"));
    put_text(w, "f", "x\n");
    buf_addf(&path, "%s/dangling", w->folder);
    assert_int_equal(symlink("nowhere", path.data), 0);
    expect_error(w, "fs_append", "{'path':'d','content':'x'}", "is a directory", NULL);
    expect_error(w, "fs_append", "{'path':'latin','content':'x'}", "not UTF-8", "byte 0");
    expect_error(w, "fs_append", "{'path':'wide','content':'x'}", "UTF-16", NULL);
    expect_error(w, "fs_append", "{'path':'f/x','content':'x'}", "Error", NULL);
    expect_error(w, "fs_append", "{'path':'dangling','content':'x'}", "link", NULL);
    expect_error(w, "fs_append", "{'path':'new/a.key','content':'x'}", "denied", NULL);
    assert_true(holds(w, "latin", STR("\xe9\n")) && holds(w, "f", STR("x\n")));
    assert_true(holds(w, "wide",
            STR("\xff\xfe"
                "a\0")));
    assert_false(has(w, "nowhere") || has(w, "new"));
}

static void test_delete(void **state)
{
    struct fs_world *w = *state;
    auto_buf link = BUF(100);
    put_text(w, "f", "a\nb\n");
    put_text(w, "full/x", "x");
    put_text(w, "empty", "");
    put(w, "bin", STR("\0\xff"));
    put_folder(w, "d");
    buf_addf(&link, "%s/link", w->folder);
    assert_int_equal(symlink("full", link.data), 0);
    expect(w, "fs_delete", "{'path':'f'}",
            "--- f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n");
    expect_part(w, "fs_delete", "{'path':'bin'}", "-(binary file)\n", NULL);
    expect_part(w, "fs_delete", "{'path':'d'}", "-(empty directory)\n", NULL);
    expect_part(w, "fs_delete", "{'path':'empty'}", "--- empty\n+++ /dev/null\n", NULL);
    expect_part(w, "fs_delete", "{'path':'link'}", "-(symbolic link to full)\n", NULL);
    expect_error(w, "fs_delete", "{'path':'full'}", "not empty", NULL);
    expect_error(w, "fs_delete", "{'path':'.'}", "workspace", NULL);
    expect_error(w, "fs_delete", "{'path':'full/..'}", "workspace", NULL);
    expect_error(w, "fs_delete", "{'path':'f'}", "File not found: 'f'", NULL);
    assert_false(has(w, "f") || has(w, "bin") || has(w, "d") || has(w, "link"));
    assert_true(holds(w, "full/x", STR("x")));
}

static void test_delete_shows_only_so_much(void **state)
{
    struct fs_world *w = *state;
    auto_buf content = BUF(65536);
    for (int i = 0; i < 30000; i++)
        buf_addc(&content, i % 50 ? 'x' : '\n');
    put(w, "f", buf_str(&content));
    expect_part(
            w, "fs_delete", "{'path':'f'}", "[truncated: file exceeded 16 KB]\n", NULL);
    assert_false(has(w, "f"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FS_WORLD(test_readfile_shows_numbered_lines),
        IN_FS_WORLD(test_readfile_ranges),
        IN_FS_WORLD(test_readfile_hints_lead_through_the_file),
        IN_FS_WORLD(test_readfile_of_a_line_that_does_not_fit),
        IN_FS_WORLD(test_readfile_tail_of_a_huge_file),
        cmocka_unit_test_setup_teardown(test_readfile_of_a_line_without_end,
                fs_world_set_up_brief, fs_world_tear_down),
        IN_FS_WORLD(test_what_cannot_be_read),
        IN_FS_WORLD(test_stat),
        IN_FS_WORLD(test_append),
        IN_FS_WORLD(test_append_keeps_what_the_file_is),
        IN_FS_WORLD(test_append_refusals_change_nothing),
        IN_FS_WORLD(test_delete),
        IN_FS_WORLD(test_delete_shows_only_so_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
