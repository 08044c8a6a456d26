/* The fs_* tools on the whole machine: the policy holds for each, and says its rule. */
#include "client.h"
#include "machine.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
    struct machine machine;
    struct client client;
};

static void start(struct fixture *f)
{
    auto_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const struct setup_root roots[] = {
        { STR("/"), SETUP_LOCAL, SETUP_FIRST_ROOT_FD, STR("/") },
    };
    const struct setup setup = { .name = STR("paddock"),
        .max_output = 10000,
        .timeout_ms = 20000,
        .roots = roots,
        .root_count = 1,
        .paths = f->machine.paths };
    client_start(&f->client, &setup, root);
}

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    *state = f;
    machine_create(&f->machine, geteuid());
    start(f);
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    client_finish(&f->client);
    machine_destroy(&f->machine);
    free(f);
    return 0;
}

/* A call whose path may begin with TOP; other arguments that the tool needs are added. */
static bool call(struct fixture *f, const char *tool, const char *path)
{
    bool absolute = !strncmp(path, "TOP/", 4);
    json_t *args = json_object();
    json_object_set_new(args, "path",
            json_string(absolute ? machine_path(&f->machine, path + 4) : path));
    if (!strcmp(tool, "fs_append"))
        json_object_set_new(args, "content", json_string("CHANGED\n"));
    if (!strcmp(tool, "fs_str_replace")) {
        json_object_set_new(args, "oldStr", json_string("SECRET"));
        json_object_set_new(args, "newStr", json_string("CHANGED"));
    }
    if (!strcmp(tool, "fs_grep"))
        json_object_set_new(args, "grep_regex", json_string("SECRET"));
    if (!strcmp(tool, "fs_find"))
        json_object_set_new(args, "file_glob", json_string("*"));
    return client_call(&f->client, tool, args);
}

static const char *text_of(const char *name)
{
    return strstr(name, "new") ? NULL : "SECRET\n";
}

static void test_changes_are_refused(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *path, *file, *rule; /* as asked for; where that is; what says no */
    } table[] = {
        { "TOP/out/f.txt", "out/f.txt", "writable_paths" },
        { "link/f.txt", "out/f.txt", "writable_paths" },
        { "../out/f.txt", "out/f.txt", "writable_paths" },
        { "~/public.txt", "home/public.txt", "writable_paths" },
        { "~/new", "home/new", "writable_paths" },
        { "TOP/out/new/deep/x", "out/new", "writable_paths" },
        { ".git/config", ".git/config", "'/\\.git/' = \"read-only\"" },
        { "sub/../.git/config", ".git/config", "'/\\.git/' = \"read-only\"" },
        { ".git/new/x", ".git/new", "'/\\.git/' = \"read-only\"" },
        { ".kiro/settings/mcp.json", ".kiro/settings/mcp.json", "\"read-only\"" },
        { ".pyddock/pyddock.toml", ".pyddock/pyddock.toml", ".pyddock" },
        { ".pyddock/new", ".pyddock/new", ".pyddock" },
        { "tools/jobs/run.sh", "tools/jobs/run.sh", "tools/jobs" },
    };
    static const char *const tools[] = { "fs_append", "fs_delete", "fs_str_replace" };
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        for (size_t t = 0; t < ARRAY_LEN(tools); t++) {
            const char *file = table[i].file;
            bool outside = !strncmp(file, "out/", 4) || !strncmp(file, "home/", 5);
            const char *where =
                    outside ? file : arena_printf(f->machine.arena, "ws/%s", file);
            const char *content = text_of(file);
            if (!content && t) /* what is not there is not found */
                continue;
            bool is_error = call(f, tools[t], table[i].path);
            if (!is_error || !strstr(f->client.text, table[i].rule) ||
                    !strstr(f->client.text, "Permission denied"))
                fail_msg("%s %s: %s", tools[t], table[i].path, f->client.text);
            if (content ? !machine_holds(&f->machine, where, content)
                        : machine_has(&f->machine, where))
                fail_msg("%s %s had an effect", tools[t], table[i].path);
        }
    assert_true(machine_holds(&f->machine, "ws/twin", "SECRET\n"));
}

static void test_secrets_are_not_read(void **state)
{
    struct fixture *f = *state;
    static const char *const paths[] = { "~/.ssh/key", "TOP/home/.ssh/key",
        "../home/.ssh/key", "sub/../../home/.ssh/key", "~/.npmrc", "~/.aws/credentials",
        "TOP/out/key2" };
    static const char *const tools[] = { "fs_readfile", "fs_grep", "fs_append",
        "fs_delete", "fs_str_replace" };
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        for (size_t t = 0; t < ARRAY_LEN(tools); t++) {
            bool is_error = call(f, tools[t], paths[i]);
            if (!is_error || strstr(f->client.text, "SECRET"))
                fail_msg("%s %s: %s", tools[t], paths[i], f->client.text);
        }
    assert_true(machine_holds(&f->machine, "home/.ssh/key", "SECRET\n"));
    assert_true(machine_holds(&f->machine, "home/.npmrc", "SECRET\n"));
}

/* What a walk may not read is left out of it. */
static void test_walks_leave_secrets_out(void **state)
{
    struct fixture *f = *state;
    assert_false(call(f, "fs_grep", "TOP/home"));
    assert_non_null(strstr(f->client.text, "home/public.txt:1: SECRET"));
    assert_null(strstr(f->client.text, "key"));
    assert_null(strstr(f->client.text, "npmrc"));
    assert_true(call(f, "fs_grep", "~/.ssh"));
    assert_null(strstr(f->client.text, "SECRET"));
    assert_false(call(f, "fs_grep", "TOP/out"));
    assert_non_null(strstr(f->client.text, "out/f.txt:1: SECRET"));
    assert_null(strstr(f->client.text, "key2:"));
    call(f, "fs_find", "~/.ssh");
    assert_null(strstr(f->client.text, "key"));
}

static void expect(
        struct fixture *f, const char *tool, const char *path, const char *text)
{
    if (call(f, tool, path) || strncmp(f->client.text, text, strlen(text)))
        fail_msg("%s %s: %s", tool, path, f->client.text);
}

/* Relative to the workspace in it, absolute outside, the home by "~". */
static void test_how_paths_are_written(void **state)
{
    struct fixture *f = *state;
    expect(f, "fs_readfile", "a.txt", "1| SECRET\n");
    expect(f, "fs_readfile", "TOP/ws/a.txt", "1| SECRET\n");
    expect(f, "fs_readfile", "~/public.txt", "1| SECRET\n");
    expect(f, "fs_readfile", ".git/config", "1| SECRET\n");
    expect(f, "fs_readfile", ".env", "1| SECRET\n");
    expect(f, "fs_grep", "TOP/ws/a.txt", "a.txt:1: SECRET\n");
    expect(f, "fs_find", "TOP/ws/sub/..", "a.txt\ntools/jobs/run.sh\ntwin\n");
    auto_buf outside = BUF(200);
    buf_addf(&outside, "%s/out/f.txt\n", f->machine.top);
    expect(f, "fs_find", "TOP/out", outside.data);
    expect(f, "fs_append", "sub/x/y", "--- sub/x/y\n");
    assert_true(machine_holds(&f->machine, "ws/sub/x/y", "CHANGED\n"));
    expect(f, "fs_str_replace", "a.txt", "--- a.txt\n");
    assert_true(machine_holds(&f->machine, "ws/a.txt", "CHANGED\n"));
}

/* A folder that may be looked at and not into: the rule is named. */
static void test_a_start_that_is_not_read(void **state)
{
    struct fixture *f = *state;
    client_finish(&f->client);
    f->machine.policy.readable_all = false;
    f->machine.policy.readable = f->machine.policy.writable;
    start(f);
    static const char *const tools[] = { "fs_find", "fs_grep" };
    for (size_t t = 0; t < ARRAY_LEN(tools); t++) {
        assert_true(call(f, tools[t], ".."));
        assert_non_null(strstr(f->client.text, "Cannot search '..': Permission denied"));
        assert_non_null(strstr(f->client.text, "Rule: [filesystem] readable_paths"));
    }
}

#define WITH_MACHINE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_MACHINE(test_changes_are_refused),
        WITH_MACHINE(test_secrets_are_not_read),
        WITH_MACHINE(test_walks_leave_secrets_out),
        WITH_MACHINE(test_how_paths_are_written),
        WITH_MACHINE(test_a_start_that_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
