/* fs_str_replace of a real worker: exact bytes, and nothing at all when it refuses. */
#include "base/utf8.h"
#include "fs-world.h"

#include <sys/stat.h>

static void test_replacing(void **state)
{
    struct fs_world *w = *state;
    static const struct {
        struct str content;
        const char *args;
        struct str after;
    } table[] = {
        { STR("red\ngreen\nblue\n"), "{'path':'f','oldStr':'green','newStr':'x'}",
                STR("red\nx\nblue\n") },
        { STR("a\nlast"), "{'path':'f','oldStr':'last','newStr':'last\\n'}",
                STR("a\nlast\n") },
        { STR("p: P\n"), "{'path':'f','oldStr':'P','newStr':'$$1 $& \\\\1 %s'}",
                STR("p: $$1 $& \\1 %s\n") },
        { STR("a\r\nb\r\nc\r\n"), "{'path':'f','oldStr':'a\\nb','newStr':'x\\ny'}",
                STR("x\r\ny\r\nc\r\n") },
        { STR("a\nb\r\nc\n"), "{'path':'f','oldStr':'c','newStr':'C'}",
                STR("a\nb\r\nC\n") },
        { STR("a\rb\rc\r"), "{'path':'f','oldStr':'b\\nc','newStr':'B\\nC'}",
                STR("a\rB\rC\r") },
        { STR("\xef\xbb\xbf"
              "a\n"),
                "{'path':'f','oldStr':'a','newStr':'b'}",
                STR("\xef\xbb\xbf"
                    "b\n") },
        /* Windows, in lines as fs_readfile counts them. */
        { STR("k\na\nk\n"), "{'path':'f','oldStr':'k','newStr':'Z','end_line':1}",
                STR("Z\na\nk\n") },
        { STR("k\na\nk\n"), "{'path':'f','oldStr':'k','newStr':'Z','start_line':2}",
                STR("k\na\nZ\n") },
        { STR("k\fk\nk\n"),
                "{'path':'f','oldStr':'k','newStr':'Z','start_line':2,'end_line':2}",
                STR("k\fZ\nk\n") },
        { STR("k\r\nk\r\nk"), "{'path':'f','oldStr':'k','newStr':'a\\nb','start_line':3}",
                STR("k\r\nk\r\na\r\nb") },
        { STR("k\nk\n"),
                "{'path':'f','oldStr':'k\\n','newStr':'','start_line':2,'end_line':99}",
                STR("k\n") },
        { STR("k\na\n"),
                "{'path':'f','oldStr':'k','newStr':'Z','start_line':0,'end_line':null}",
                STR("Z\na\n") },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        put(w, "f", table[i].content);
        expect_part(w, "fs_str_replace", table[i].args, "--- f\n+++ f\n@@ -", NULL);
        if (!holds(w, "f", table[i].after))
            fail_msg("case %zu", i);
    }
}

static void test_the_diff(void **state)
{
    struct fs_world *w = *state;
    auto_buf content = BUF(4096);
    for (int i = 1; i <= 40; i++)
        buf_addf(&content, "line %d\n", i);
    put(w, "f", buf_str(&content));
    expect(w, "fs_str_replace",
            "{'path':'f','oldStr':'line 20\\nline 21\\n','newStr':'line 20\\nnew\\n'}",
            "--- f\n+++ f\n@@ -18,7 +18,7 @@\n line 18\n line 19\n line 20\n-line 21\n"
            "+new\n line 22\n line 23\n line 24\n");
    put_text(w, "f", "a\nb");
    expect(w, "fs_str_replace", "{'path':'f','oldStr':'b','newStr':'c\\n'}",
            "--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n");
}

static void test_refusals_change_nothing(void **state)
{
    struct fs_world *w = *state;
    static const struct {
        struct str content;
        const char *args, *part, *other;
    } table[] = {
        { STR("x = 0\ny = 0\n"), "{'path':'f','oldStr':'= 0','newStr':'= 1'}",
                "Multiple matches found. Showing 2 of 2 exact matches:",
                "\nMatch 2 (line 2):\n     1| x = 0\n     2| y = 0\n" },
        { STR("xaaay\n"), "{'path':'f','oldStr':'aa','newStr':'b'}", "2 of 2", NULL },
        { STR("a\ra\r"), "{'path':'f','oldStr':'a\\n','newStr':'b'}", "2 of 2",
                "line 2" },
        { STR("if (x  ==  1) {\n\treturn  y;\n}\n"),
                "{'path':'f','oldStr':'if (x == 1) {\\n  return y;','newStr':'z'}",
                "partial matches (whitespace-normalized):",
                "\nNear line 1 (score: 2/2 lines):\n     1| if (x  ==  1) {\n" },
        { STR("alpha\nbeta\ngamma\n"),
                "{'path':'f','oldStr':'beta\\ndelta','newStr':'x'}",
                "No exact match. Showing 1 of 1 partial matches (exact):",
                "Near line 2 (score: 1/2 lines):" },
        { STR("end\nend\nend\nend\n"),
                "{'path':'f','oldStr':'end\\nmissing','newStr':'x'}", "score: 1/2",
                NULL },
        { STR("Foo-Bar\n"), "{'path':'f','oldStr':'foo.bar','newStr':'x'}",
                "(alnum-only)", NULL },
        { STR("a\nb\n"), "{'path':'f','oldStr':'zzz','newStr':'q'}",
                "No exact match found in 'f'. No partial matches detected.", "2 lines" },
        { STR("def a():\n    return 1\n"),
                "{'path':'f','oldStr':'2|     return 1','newStr':'2|     return 2'}",
                "oldStr carries line numbers", "line 2" },
        { STR("in\xc2\xa0it\n"), "{'path':'f','oldStr':'in it','newStr':'x'}",
                "U+00A0 (no-break space)", NULL },
        { STR("f() {\n\tx;\n}\n"), "{'path':'f','oldStr':'f() {\\n    x;','newStr':'y'}",
                "1 tab", "4 spaces" },
        { STR("a\nb\nc\n"), "{'path':'f','oldStr':'c','newStr':'C','end_line':2}",
                "outside of the lines asked for, at line 3", NULL },
        { STR("a\nb\n"), "{'path':'f','oldStr':'a','newStr':'C','start_line':9}",
                "only 2 lines", NULL },
        { STR("a\nb\n"),
                "{'path':'f','oldStr':'a','newStr':'C','start_line':2,'end_line':1}",
                "start_line 2 is after end_line 1", NULL },
        { STR("a\n"), "{'path':'f','oldStr':'','newStr':'C'}", "oldStr is empty", NULL },
        { STR("a\n"), "{'path':'f','oldStr':'a','newStr':'a'}", "identical", "newStr" },
        { STR("a \xe9\n"), "{'path':'f','oldStr':'a','newStr':'b'}",
                "binary or not UTF-8 (byte 2)", NULL },
        { STR("\xff\xfe"
              "a\0"),
                "{'path':'f','oldStr':'a','newStr':'b'}", "UTF-16", NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        put(w, "f", table[i].content);
        expect_error(w, "fs_str_replace", table[i].args, table[i].part, table[i].other);
        if (!holds(w, "f", table[i].content))
            fail_msg("case %zu", i);
    }
    expect_error(w, "fs_str_replace", "{'path':'no','oldStr':'a','newStr':'b'}",
            "File not found: 'no'", NULL);
    put_folder(w, "d");
    expect_error(w, "fs_str_replace", "{'path':'d','oldStr':'a','newStr':'b'}",
            "is a directory", NULL);
}

static void test_the_mode_stays(void **state)
{
    struct fs_world *w = *state;
    auto_buf path = BUF(100);
    struct stat st;
    put_text(w, "run.sh", "echo X\n");
    buf_addf(&path, "%s/run.sh", w->folder);
    assert_int_equal(chmod(path.data, 0750), 0);
    expect_part(w, "fs_str_replace", "{'path':'run.sh','oldStr':'X','newStr':'Y'}",
            "+echo Y\n", NULL);
    expect_part(
            w, "fs_append", "{'path':'run.sh','content':'echo Z\\n'}", "+echo Z\n", NULL);
    assert_int_equal(stat(path.data, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0750);
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void add_random_text(uint32_t *seed, const char *eol, struct buf *out)
{
    static const char *const parts[] = { "a", "b", " ", "\t", "\xc3\xa9", "xy", "" };
    size_t lines = 1 + next_random(seed) % 8;
    for (size_t i = 0; i < lines; i++) {
        for (uint32_t n = next_random(seed) % 6; n; n--)
            buf_add(out, str_of(parts[next_random(seed) % ARRAY_LEN(parts)]));
        if (i + 1 < lines || next_random(seed) % 2)
            buf_add(out, str_of(eol));
    }
}

/* Whole characters, and no half of a CR LF: what a client can have seen. */
static bool can_be_asked_for(struct str text, size_t from, struct str old)
{
    struct str before = str_sub(text, 0, from), after = str_from(text, from + old.len);
    return old.len && utf8_valid(old) &&
           !(str_ends(before, STR("\r")) && str_starts(old, STR("\n"))) &&
           !(str_ends(old, STR("\r")) && str_starts(after, STR("\n")));
}

/* Where it replaces, every byte outside of the one match is as it was; where it refuses,
 * all of them are. */
static void test_bytes_outside_stay(void **state)
{
    struct fs_world *w = *state;
    static const char *const eols[] = { "\n", "\r\n", "\r" };
    uint32_t seed = 7;
    size_t replaced = 0;
    for (int round = 0; round < 400; round++) {
        auto_buf text = BUF(4096);
        auto_buf after = BUF(8192);
        if (next_random(&seed) % 3 == 0)
            buf_add(&text, STR("\xef\xbb\xbf"));
        size_t bom = text.len;
        add_random_text(&seed, eols[next_random(&seed) % 3], &text);
        if (text.len < bom + 2)
            continue;
        size_t from = bom + next_random(&seed) % (text.len - bom);
        size_t len = 1 + next_random(&seed) % 6;
        struct str old = str_sub(buf_str(&text), from, len);
        if (!can_be_asked_for(buf_str(&text), from, old))
            continue;
        put(w, "f", buf_str(&text));
        json_t *args = json_object();
        json_object_set_new(args, "path", json_string("f"));
        json_object_set_new(args, "oldStr", json_text(old));
        json_object_set_new(args, "newStr", json_string("NEW"));
        bool is_error = client_call(&w->client, "fs_str_replace", args);
        buf_add(&after, str_sub(buf_str(&text), 0, from));
        buf_add(&after, STR("NEW"));
        buf_add(&after, str_from(buf_str(&text), from + old.len));
        if (!holds(w, "f", is_error ? buf_str(&text) : buf_str(&after)))
            fail_msg("round %d: %s", round, w->client.text);
        replaced += !is_error;
    }
    assert_true(replaced > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FS_WORLD(test_replacing),
        IN_FS_WORLD(test_the_diff),
        IN_FS_WORLD(test_refusals_change_nothing),
        IN_FS_WORLD(test_the_mode_stays),
        IN_FS_WORLD(test_bytes_outside_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
