/*
 * The worker program with the view of the whole machine: what its tools answer, and that
 * nothing that was refused has had an effect.
 */
#include "client.h"
#include "machine.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
    struct machine machine;
    struct client client;
};

static void start(struct fixture *f, bool hashes)
{
    auto_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    const struct setup_root roots[] = { { STR("/"), SETUP_LOCAL, SETUP_FIRST_ROOT_FD,
            STR("/") } };
    const struct setup setup = { .name = STR("paddock"),
        .max_output = 10000,
        .timeout_ms = 20000,
        .roots = roots,
        .root_count = 1,
        .paths = f->machine.paths,
        .events = hashes,
        .hashes = hashes };
    client_start(&f->client, &setup, root);
}

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    *state = f;
    machine_create(&f->machine, geteuid());
    start(f, true);
    return 0;
}

/* Only the workspace may be read. */
static int set_up_closed(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    *state = f;
    machine_create(&f->machine, geteuid());
    f->machine.policy.readable_all = false;
    f->machine.policy.readable = f->machine.policy.writable;
    start(f, false);
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

/* The reply with TOP instead of the folder of this run. */
static const char *shown(struct fixture *f)
{
    auto_buf out = BUF((size_t)1 << 20);
    struct str top = str_of(f->machine.top);
    for (const char *at = f->client.text; *at;) {
        bool is_top = !strncmp(at, top.data, top.len);
        buf_add(&out, is_top ? STR("TOP") : (struct str){ at, 1 });
        at += is_top ? top.len : 1;
    }
    return arena_cstr(f->machine.arena, buf_str(&out));
}

static void expect_run(struct fixture *f, const char *command, const char *text)
{
    assert_false(client_call(&f->client, "run", json_pack("{s:s}", "command", command)));
    assert_string_equal(shown(f), text);
}

static const char *note(struct fixture *f, const char *name)
{
    const char *text = json_string_value(json_object_get(f->client.notes, name));
    return text ? text : "";
}

/* Something in the reply and in the notes says which rule it was. */
static void expect_refused(struct fixture *f, const char *command, const char *rule)
{
    assert_false(client_call(&f->client, "run", json_pack("{s:s}", "command", command)));
    if (!strstr(f->client.text, "[paddock: refused: ") || !strstr(f->client.text, rule) ||
            strcmp(note(f, "decision"), "deny") || !strstr(note(f, "rule"), rule))
        fail_msg("%s: %s", command, f->client.text);
}

static void test_where_it_begins(void **state)
{
    expect_run(*state, "pwd; echo $HOME; echo ~; echo $TMPDIR",
            "TOP/ws\nTOP/home\nTOP/home\nTOP/ws/.pyddock/tmp\n");
    expect_run(*state, "cat a.txt ~/public.txt ../out/f.txt", "SECRET\nSECRET\nSECRET\n");
    expect_run(*state, "head -c 4 /etc/passwd | wc -c", "4\n");
    expect_run(
            *state, "f=$(mktemp) && echo x > $f && dirname $f", "TOP/ws/.pyddock/tmp\n");
}

static void test_a_refusal_names_its_rule(void **state)
{
    struct fixture *f = *state;
    expect_run(f, "echo x > .git/config",
            "paddock: .git/config: Permission denied\n"
            "[paddock: refused: writing 'TOP/ws/.git/config' is not permitted: "
            "[filesystem.guards] '/\\.git/' = \"read-only\" (built-in policy, line "
            "40)]\n[exit 1]");
    assert_string_equal(note(f, "decision"), "deny");
    assert_string_equal(note(f, "rule"), "[filesystem.guards] '/\\.git/' = \"read-only\" "
                                         "(built-in policy, line 40)");
    expect_run(f, "echo fine", "fine\n");
    assert_null(json_object_get(f->client.notes, "decision"));
    assert_true(machine_holds(&f->machine, "ws/.git/config", "SECRET\n"));
}

static void test_what_is_refused_had_no_effect(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *command, *rule;
    } table[] = {
        { "cat ~/.ssh/key", "'/\\.ssh/' = \"deny-agent\"" },
        { "cd ~/.ssh && ls", "\"deny-agent\"" },
        { "cat ~/.ssh/../public.txt", "\"deny-agent\"" },
        { "cat < ~/.npmrc", "\"deny-all\"" },
        { "stat ~/.npmrc", "\"deny-all\"" },
        { "ls ~/.ssh/nothing", "\"deny-agent\"" },
        { "cp ~/.npmrc .", "\"deny-all\"" },
        { "ln ~/.npmrc n", "\"deny-all\"" },
        { "echo x > ../out/f.txt", "writable_paths" },
        { "echo x > link/new", "writable_paths" },
        { "touch ~/new", "writable_paths" },
        { "mkdir ../out/new", "writable_paths" },
        { "chmod 777 ../out/f.txt", "writable_paths" },
        { "touch ../out/f.txt", "writable_paths" },
        { "mkdir .GIT", "\"read-only\"" },
        { "mv .git g", "\"read-only\"" },
        { "rm -rf .git", "\"read-only\"" },
        { "ln .git/config c", "\"read-only\"" },
        { "mv .kiro k", "'/\\.kiro/settings'" },
        { "mv sub/../.kiro k", "'/\\.kiro/settings'" },
        { "echo x > .pyddock/pyddock.override.toml", "is write-protected" },
        { "mkdir .pyddock/tmpfoo", "is write-protected" },
        { "rm -rf .pyddock", "is write-protected" },
        { "rmdir .pyddock/tmp", "is write-protected" },
        { "mv .pyddock p", "is write-protected" },
        { "echo x > tools/jobs/run.sh", "[shell.*]" },
        { "mkdir tools/jobs/d", "[shell.*]" },
        { "mv tools t", "[shell.*]" },
        { "rm -r tools", "[shell.*]" },
        { "cp a.txt tools/jobs/run.sh", "[shell.*]" },
        { "sed -i s/S/T/ tools/jobs/run.sh", "[shell.*]" },
        { "echo x > twin", "another name that is protected" },
        { "chmod 777 twin", "another name that is protected" },
        { "cat ../out/key2", "another name that is not to be read" },
        { "cat /proc/$$/environ", "belongs to a process" },
        { "cat /proc/self/environ", "belongs to a process" },
        { "cat /dev/sda", "no device" },
        { "echo x > /proc/sys/kernel/hostname", "nothing is written in /proc" },
        { "rm nested/.git/config", "\"read-only\"" },
        { "mv nested n", "[filesystem.guards]" },
        { "cat nested/.npmrc", "\"deny-all\"" },
        { "cp -r nested n2", "[filesystem.guards]" },
    };
    static const char *const files[] = { "ws/.git/config", "ws/.git/HEAD", "ws/twin",
        "ws/.kiro/settings/mcp.json", "ws/.pyddock/pyddock.toml", "ws/tools/jobs/run.sh",
        "ws/nested/.git/config", "home/.npmrc", "home/.ssh/key", "out/f.txt" };
    static const char *const absent[] = { "ws/n2/.npmrc", "ws/g", "ws/k", "ws/p", "ws/t",
        "ws/n", "ws/c", "ws/.npmrc", "ws/.GIT", "out/new", "home/new",
        "ws/.pyddock/tmpfoo", "ws/.pyddock/pyddock.override.toml", "ws/tools/jobs/d" };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        expect_refused(f, table[i].command, table[i].rule);
        for (size_t j = 0; j < ARRAY_LEN(files); j++)
            if (!machine_holds(&f->machine, files[j], "SECRET\n"))
                fail_msg("after '%s': %s has changed", table[i].command, files[j]);
        for (size_t j = 0; j < ARRAY_LEN(absent); j++)
            if (machine_has(&f->machine, absent[j]))
                fail_msg("after '%s': there is %s", table[i].command, absent[j]);
    }
}

/* A tree that is prepared elsewhere is judged under the name that it is going to have. */
static void test_prepared_trees(void **state)
{
    struct fixture *f = *state;
    expect_run(
            f, "mkdir -p evil/settings evil/jobs; echo x > evil/settings/mcp.json", "");
    expect_run(f, "mv evil sub/evil && mv sub/evil evil", "");
    expect_refused(f, "mv evil sub/.kiro", "'/\\.kiro/settings'");
    expect_refused(f, "ln -s ../evil sub/.kiro", "'/\\.kiro/settings'");
    expect_refused(f, "mv evil sub/.git", "\"read-only\"");
    expect_refused(f, "ln -s evil .pyddock/x", "is write-protected");
    assert_false(machine_has(&f->machine, "ws/sub/.kiro"));
    assert_true(machine_has(&f->machine, "ws/evil/settings/mcp.json"));
}

static void test_what_works(void **state)
{
    struct fixture *f = *state;
    expect_run(f, "cat twin .git/config .env", "SECRET\nSECRET\nSECRET\n");
    expect_run(f, "echo 1 > n; mv n sub/m; ln sub/m sub/o; rm sub/m; cat sub/o", "1\n");
    expect_run(f, "mkdir -p sub/a/b .pyddock/tmp/x; rm -r sub/a; ls sub", "o\n");
    expect_run(f, "cp -r .git g && cat g/config; cp -r tools/jobs j && rm -r g j",
            "SECRET\n"); /* what is only not to be written is copied whole */
    expect_run(
            f, "echo 2 > $TMPDIR/t; mv $TMPDIR/t sub/t; cat sub/t; ls $TMPDIR", "2\nx\n");
}

static void test_listings_leave_out_what_is_hidden(void **state)
{
    struct fixture *f = *state;
    expect_run(f, "ls -A ~; ls -A ~/.aws", ".aws\npublic.txt\n");
    assert_string_equal(note(f, "decision"), "");
    expect_run(f, "find ~ -type f | sort", "TOP/home/public.txt\n");
}

static void test_edit(void **state)
{
    struct fixture *f = *state;
    assert_false(client_call(&f->client, "edit",
            json_pack("{s:s, s:s, s:s}", "path", "a.txt", "old_string", "SECRET",
                    "new_string", "x")));
    json_t *write = json_array_get(json_object_get(f->client.notes, "writes"), 0);
    assert_string_equal(json_string_value(json_object_get(write, "op")), "replace");
    assert_non_null(json_object_get(write, "before"));
    /* sha256 of "x\n" */
    assert_string_equal(json_string_value(json_object_get(write, "after")),
            "73cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac");
    assert_true(client_call(&f->client, "edit",
            json_pack("{s:s, s:s, s:s}", "path", "~/public.txt", "old_string", "SECRET",
                    "new_string", "x")));
    assert_non_null(strstr(f->client.text, "writable_paths"));
    assert_true(client_call(&f->client, "edit",
            json_pack("{s:s, s:s, s:s}", "path", ".git/config", "old_string", "SECRET",
                    "new_string", "x")));
    assert_non_null(strstr(f->client.text, "Rule: [filesystem.guards] '/\\.git/'"));
    assert_true(machine_holds(&f->machine, "home/public.txt", "SECRET\n"));
    assert_true(machine_holds(&f->machine, "ws/.git/config", "SECRET\n"));
}

static void test_events(void **state)
{
    struct fixture *f = *state;
    expect_run(f, "cat a.txt; rm a.txt", "SECRET\n");
    json_t *events = json_object_get(f->client.notes, "events");
    auto_buf text = BUF(65536);
    json_write(events, &text);
    auto_buf wanted = BUF(1024);
    buf_addf(&wanted,
            "{\"event\":\"open\",\"decision\":\"allow\",\"detail\":\"%s/ws/a.txt "
            "mode='r'\"}",
            f->machine.top);
    assert_non_null(strstr(text.data, wanted.data));
    assert_non_null(strstr(text.data, "{\"event\":\"os.remove\",\"decision\":\"allow\""));
}

/* Neither many writes nor long names hide what else was done, and what was refused. */
static void test_notes_have_an_end(void **state)
{
    struct fixture *f = *state;
    expect_refused(f,
            "mkdir m; cd m; for i in {1..1200}; do : > $i; done; : > ../.git/config",
            "\"read-only\"");
    assert_int_equal(json_array_size(json_object_get(f->client.notes, "writes")), 1000);
    assert_int_equal(
            json_integer_value(json_object_get(f->client.notes, "writes_left_out")), 201);
    json_t *events = json_object_get(f->client.notes, "events");
    json_t *last = json_array_get(events, json_array_size(events) - 1);
    assert_string_equal(json_string_value(json_object_get(last, "decision")), "deny");
    expect_refused(f,
            "n=$(printf '\\001%.0s' {1..250}); for i in {1..12}; do mkdir $n; cd $n; "
            "done; "
            "for i in {1..999}; do : > $i; done; : > ~/new",
            "writable_paths");
    assert_true(json_integer_value(json_object_get(f->client.notes, "writes_left_out")) >
                500);
}

static void test_reads_are_restricted(void **state)
{
    struct fixture *f = *state;
    expect_run(f, "cat a.txt", "SECRET\n");
    expect_refused(f, "cat ../out/f.txt", "readable_paths");
    expect_refused(f, "cat link/f.txt", "readable_paths");
    expect_refused(f, "ls ..", "readable_paths");
    expect_refused(f, "cat /etc/passwd", "readable_paths");
    expect_refused(f, "stat ../out/nothing", "readable_paths");
    expect_refused(f, "stat ../nothing/x", "readable_paths");
    expect_refused(f, "cat ../out/../ws/a.txt", "readable_paths");
    expect_refused(f, "cat ../nothing/../ws/a.txt", "readable_paths");
    expect_refused(f, "cat link/../ws/a.txt", "readable_paths");
    expect_run(f, "cd ../ws/sub && pwd", "TOP/ws/sub\n");
}

/* A worktree or a submodule: `.git` is a file, and the repository is elsewhere. */
static void test_git_is_a_file(void **state)
{
    struct fixture *f = *state;
    const struct machine *m = &f->machine;
    client_finish(&f->client);
    assert_int_equal(mkdir(machine_path(m, "ws/store"), 0755), 0);
    assert_int_equal(mkdir(machine_path(m, "ws/store/wt"), 0755), 0);
    machine_write(m, "ws/store/HEAD", "SECRET\n");
    machine_write(m, "ws/store/config", "SECRET\n");
    machine_write(m, "ws/store/wt/HEAD", "SECRET\n");
    machine_write(m, "ws/store/wt/commondir", "..\n");
    assert_int_equal(rename(machine_path(m, "ws/.git"), machine_path(m, "ws/was")), 0);
    machine_write(m, "ws/.git", "gitdir: store/wt\n");
    f->machine.paths = path_policy_create(&m->policy, m->arena);
    start(f, false);
    expect_refused(f, "echo x > .git", "\"read-only\"");
    expect_refused(f, "rm .git", "\"read-only\"");
    expect_refused(f, "echo x > store/wt/HEAD", "where the repository is");
    expect_refused(f, "echo x > store/config", "where the repository is");
    expect_refused(f, "mkdir store/hooks", "where the repository is");
    expect_refused(f, "mv store s", "where the repository is");
    expect_refused(f, "rm -r store", "where the repository is");
    expect_run(f, "cat store/config; echo x > was/config", "SECRET\n");
    assert_true(machine_holds(m, "ws/store/config", "SECRET\n"));
    assert_true(machine_holds(m, "ws/store/wt/HEAD", "SECRET\n"));
    assert_true(machine_holds(m, "ws/.git", "gitdir: store/wt\n"));
    assert_false(machine_has(m, "ws/store/hooks"));
}

static pid_t flip(const char *a, const char *b)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    while (!pid)
        if (renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE))
            _exit(1);
    return pid;
}

static void stop(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, WNOHANG), 0); /* it was at it all the time */
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* A folder becomes a link to the outside and a folder again while it is used. */
static void test_a_folder_that_becomes_a_link(void **state)
{
    struct fixture *f = *state;
    machine_write(&f->machine, "ws/sub/f.txt", "ok\n");
    pid_t pid = flip(
            machine_path(&f->machine, "ws/sub"), machine_path(&f->machine, "ws/link"));
    size_t read = 0;
    for (time_t end = time(NULL) + 2; time(NULL) < end;) {
        bool failed = client_call(
                &f->client, "fs_readfile", json_pack("{s:s}", "path", "sub/f.txt"));
        assert_null(strstr(f->client.text, "SECRET"));
        read += !failed;
        client_call(&f->client, "fs_append",
                json_pack("{s:s, s:s}", "path", "sub/g.txt", "content", "w"));
        client_call(&f->client, "run",
                json_pack("{s:s}", "command", "cat sub/f.txt; echo w > sub/h.txt"));
        assert_null(strstr(f->client.text, "SECRET"));
    }
    stop(pid);
    assert_true(read > 0);
    assert_false(machine_has(&f->machine, "out/g.txt"));
    assert_false(machine_has(&f->machine, "out/h.txt"));
    assert_true(machine_holds(&f->machine, "out/f.txt", "SECRET\n"));
}

#define WITH(set_up, test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(set_up, test_where_it_begins),
        WITH(set_up, test_a_refusal_names_its_rule),
        WITH(set_up, test_what_is_refused_had_no_effect),
        WITH(set_up, test_prepared_trees),
        WITH(set_up, test_what_works),
        WITH(set_up, test_listings_leave_out_what_is_hidden),
        WITH(set_up, test_edit),
        WITH(set_up, test_events),
        WITH(set_up, test_notes_have_an_end),
        WITH(set_up, test_git_is_a_file),
        WITH(set_up_closed, test_reads_are_restricted),
        WITH(set_up_closed, test_a_folder_that_becomes_a_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
