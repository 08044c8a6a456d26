#include "policy/deputy/git-config.h"
#include "policy/deputy/git-index.h"
#include "scratch.h"
#include "unit.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* As `git config --list -z` prints it: "name\nvalue\0", or "name\0" without a value. */
static void print_settings(const struct git_settings *settings, struct buf *out)
{
    for (size_t i = 0; i < settings->count; i++) {
        const struct git_setting *s = &settings->items[i];
        buf_add(out, s->section);
        if (s->has_subsection)
            buf_addf(out, ".%.*s", STR_ARG(s->subsection));
        buf_addf(out, ".%.*s", STR_ARG(s->key));
        if (s->has_value)
            buf_addf(out, "\n%.*s", STR_ARG(s->value));
        buf_addc(out, '\0');
    }
}

static const struct {
    const char *text, *shown; /* '|' for NUL; NULL: an error */
} texts[] = {
    { "", "" },
    { "# c\n; d\n\n", "" },
    { "[a]\nb=c\n", "a.b\nc|" },
    { "[A]\nB = C", "a.b\nC|" },
    { "[a]b=c\nd\n", "a.b\nc|a.d|" },
    { "[a] b = c ; d\n", "a.b\nc|" },
    { "[a]\nb = \" c ; d \" # e\n", "a.b\n c ; d |" },
    { "[a]\nb = c  d\n", "a.b\nc  d|" },
    { "[a]\nb = c\t \n", "a.b\nc|" },
    { "[a]\nb = x\"y z\"w\n", "a.b\nxy zw|" },
    { "[a]\nb = c\\\n d\n", "a.b\nc d|" },
    { "[a]\nb = c\\\r\nd\r\n", "a.b\ncd|" },
    { "[a]\nb = \\t\\\\\\\"\\n\n", "a.b\n\t\\\"\n|" },
    { "[a \"B c\"]\nd=e\n", "a.B c.d\ne|" },
    { "[a \"b\\\"c\\d\"]\nd=e\n", "a.b\"cd.d\ne|" },
    { "[a \"\"]\nd=e\n", "a..d\ne|" },
    { "[a.B.c]\nd=e\n", "a.b.c.d\ne|" },
    { "[a \"b\"] d = e\n", "a.b.d\ne|" },
    { "\xEF\xBB\xBF[a]\nb=c\n", "a.b\nc|" },
    { "[a]\nb=\n", "a.b\n|" },
    { "[a]\nb=\"\"\n", "a.b\n|" },
    { "[a]\nb-1=c\n", "a.b-1\nc|" },
    { "[a]\n\tb = !sh -c 'x; y'\n", "a.b\n!sh -c 'x|" },
    { "[a]\nb = \"c\n", NULL },
    { "[a]\nb = c\\q\n", NULL },
    { "[a\nb = c\n", NULL },
    { "[a \"b\nc\"]\nd=e\n", NULL },
    { "[a b]\nd=e\n", NULL },
    { "[a \"b\" ]\nd=e\n", NULL },
    { "[a]\n1b=c\n", NULL },
    { "[a]\nb c\n", NULL },
    { "[a]\nb=c\n]\n", NULL },
};

static bool parse(struct arena *arena, const char *text, struct buf *out)
{
    struct git_settings settings = { 0 };
    struct error err = { 0 };
    bool ok = git_config_parse(str_of(text), "f", arena, &settings, &err);
    print_settings(&settings, out);
    return ok;
}

static void test_config(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        auto_arena *arena = arena_create();
        auto_buf out = BUF(4096);
        bool ok = parse(arena, texts[i].text, &out);
        for (size_t k = 0; k < out.len; k++)
            out.data[k] = out.data[k] ? out.data[k] : '|';
        if (ok != !!texts[i].shown || (ok && !str_is(buf_str(&out), texts[i].shown)))
            fail_msg("'%s' gives '%.*s'", texts[i].text, STR_ARG(buf_str(&out)));
    }
}

/* `git ARGS` with its output in the file `out`. */
static int run_git(const char *const *argv, const char *cwd, const char *out)
{
    pid_t pid;
    int status;
    static const char *const env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/",
        "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a",
        "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", NULL };
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(
            &actions, 1, out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addchdir_np(&actions, cwd);
    int failed = posix_spawnp(&pid, argv[0], &actions, NULL,
            (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)env);
    posix_spawn_file_actions_destroy(&actions);
    assert_int_equal(failed, 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

#define RUN(dir, out, ...) run_git((const char *const[]){ __VA_ARGS__, NULL }, dir, out)

static struct str read_all(struct arena *arena, const char *path)
{
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    char *data = arena_alloc(arena, 1 << 16);
    size_t n = fread(data, 1, 1 << 16, f);
    fclose(f);
    return (struct str){ data, n };
}

struct scratch {
    char dir[32];
    struct arena *arena;
};

static int make_scratch(void **state)
{
    struct scratch *s = xcalloc(1, sizeof(*s));
    snprintf(s->dir, sizeof(s->dir), "/tmp/paddock-git-XXXXXX");
    scratch_make(s->dir);
    s->arena = arena_create();
    *state = s;
    return 0;
}

static int remove_scratch(void **state)
{
    struct scratch *s = *state;
    scratch_remove(s->dir);
    arena_destroy(s->arena);
    free(s);
    return 0;
}

static const char *in(struct scratch *s, const char *name)
{
    return arena_printf(s->arena, "%s/%s", s->dir, name);
}

/* The same as git says of the same file. */
static void test_config_as_git(void **state)
{
    struct scratch *s = *state;
    const char *file = in(s, "config"), *out = in(s, "out");
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        auto_buf ours = BUF(4096);
        FILE *f = fopen(file, "we");
        assert_non_null(f);
        assert_true(fputs(texts[i].text, f) >= 0);
        assert_int_equal(fclose(f), 0);
        bool git_ok = !RUN(s->dir, out, "git", "config", "-f", file, "-z", "--list");
        bool ok = parse(s->arena, texts[i].text, &ours);
        if (ok != git_ok)
            fail_msg("'%s': git says %d", texts[i].text, git_ok);
        if (ok && !str_eq(buf_str(&ours), read_all(s->arena, out)))
            fail_msg("'%s': git reads it differently", texts[i].text);
    }
}

static void expect_links(struct scratch *s, const char *file, size_t hash_bytes)
{
    struct git_links *links = arena_zalloc(s->arena, sizeof(*links));
    struct str index = read_all(s->arena, in(s, file));
    assert_true(git_index_links(index, hash_bytes, s->arena, links));
    if (links->shared.len) {
        const char *shared =
                arena_printf(s->arena, "%s/.git/%.*s", s->dir, STR_ARG(links->shared));
        index = read_all(s->arena, shared);
        assert_true(git_index_links(index, hash_bytes, s->arena, links));
    }
    assert_int_equal(links->count, 2);
    assert_true(str_is(links->paths[0], "deep/er/sub2"));
    assert_true(str_is(links->paths[1], "sub"));
}

static void try_index(struct scratch *s, const char *format, size_t hash_bytes)
{
    static const char *const subs[] = { "sub", "deep/er/sub2" };
    assert_int_equal(RUN(s->dir, "/dev/null", "git", "init", "-q", format, "."), 0);
    for (size_t i = 0; i < ARRAY_LEN(subs); i++) {
        assert_int_equal(
                RUN(s->dir, "/dev/null", "git", "init", "-q", format, subs[i]), 0);
        assert_int_equal(RUN(in(s, subs[i]), "/dev/null", "git", "commit", "-q",
                                 "--allow-empty", "-m", "x"),
                0);
    }
    RUN(s->dir, "/dev/null", "touch", "a", "deep/b", "deep/er/c", "sub.x", "t");
    assert_int_equal(RUN(s->dir, "/dev/null", "git", "add", "."), 0);
    static const char *const versions[] = { "2", "3", "4" };
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        assert_int_equal(RUN(s->dir, "/dev/null", "git", "update-index",
                                 "--index-version", versions[i]),
                0);
        expect_links(s, ".git/index", hash_bytes);
    }
    assert_int_equal(RUN(s->dir, "/dev/null", "git", "update-index", "--split-index"), 0);
    expect_links(s, ".git/index", hash_bytes);
}

static void test_index(void **state)
{
    try_index(*state, "--object-format=sha1", 20);
}

static void test_index_of_sha256(void **state)
{
    try_index(*state, "--object-format=sha256", 32);
}

static void test_broken_index(void **state)
{
    (void)state;
    auto_arena *arena = arena_create();
    struct git_links *links = arena_zalloc(arena, sizeof(*links));
    static const char many[] = "DIRC\0\0\0\2\xff\xff\xff\xff";
    static const char new_version[] = "DIRC\0\0\0\5\0\0\0\0";
    assert_false(git_index_links(STR(""), 20, arena, links));
    assert_false(git_index_links(STR("DIRC"), 20, arena, links));
    assert_false(
            git_index_links((struct str){ many, sizeof(many) - 1 }, 20, arena, links));
    assert_false(git_index_links(
            (struct str){ new_version, sizeof(new_version) - 1 }, 20, arena, links));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config),
        cmocka_unit_test_setup_teardown(test_config_as_git, make_scratch, remove_scratch),
        cmocka_unit_test_setup_teardown(test_index, make_scratch, remove_scratch),
        cmocka_unit_test_setup_teardown(
                test_index_of_sha256, make_scratch, remove_scratch),
        cmocka_unit_test(test_broken_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
