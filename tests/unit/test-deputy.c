#include "command-world.h"
#include "policy/deputy/deputy.h"
#include "policy/deputy/git-commands.h"
#include "unit.h"

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));
    world_create(w);
    static const char *const programs[] = { "git", "p4", "docker" };
    for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
        world_file(w, arena_printf(w->arena, "bin/%s", programs[i]), "#!/bin/sh\n", 0755);
        world_section(w, programs[i], arena_printf(w->arena, "^%s$", programs[i]));
    }
    world_file(w, "out/secret", "secret\n", 0644);
    world_file(w, "ws/msg.txt", "message\n", 0644);
    world_file(w, "ws/tools/jobs/run.sh", "x\n", 0644);
    world_link(w, world_path(w, "out/secret"), "ws/sneak");
    world_link(w, world_path(w, "out/new"), "ws/dangling");
    world_guard(w, "/\\.git/", GUARD_READ_ONLY);
    world_variable(w, "PATH", world_path(w, "bin"));
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    world_destroy(*state);
    free(*state);
    return 0;
}

#define MAX_ARGS 10

struct vector {
    const char *command;
    const char *args[MAX_ARGS];
};

/* Each of these runs a program, writes, or reads outside, in git itself. */
static const struct vector refused[] = {
    { "git", { "-c", "alias.x=!id", "x" } },
    { "git", { "-ccore.pager=id", "log" } },
    { "git", { "--config-env=core.pager=X", "log" } },
    { "git", { "--exec-path=.", "status" } },
    { "git", { "--git-dir=x", "log" } },
    { "git", { "--git-dir", "x", "log" } },
    { "git", { "--work-tree=/", "status" } },
    { "git", { "--namespace=x", "log" } },
    { "git", { "--bare", "log" } },
    { "git", { "--paginate", "log" } },
    { "git", { "-p", "log" } },
    { "git", { "-C", "..", "status" } },
    { "git", { "-C", "/", "status" } },
    { "git", { "--unknown", "log" } },
    { "git", { "symbolic-ref", "commondir", "refs/heads/x" } },
    { "git", { "symbolic-ref", "-m", "HEAD", "hooks/pre-commit", "refs/heads/x" } },
    { "git", { "symbolic-ref", "-d", "config.worktree" } },
    { "git", { "symbolic-ref", "refs/../commondir", "refs/heads/x" } },
    { "git", { "update-ref", "--", "commondir", "HEAD" } },
    { "git", { "log", "--output=../o" } },
    { "git", { "log", "--output", "../o" } },
    { "git", { "log", "--outpu=../o" } },
    { "git", { "log", "--out", "../o" } },
    { "git", { "log", "-p", "--output=.git/hooks/x" } },
    { "git", { "log", "--output=tools/jobs/run.sh" } },
    { "git", { "log", "--output=.pyddock/pyddock.toml" } },
    { "git", { "log", "--output=dangling" } },
    { "git", { "log", "--unknown", "--", "--output=../o" } },
    { "git", { "diff", "--output=../o" } },
    { "git", { "diff", "--color-moved", "--output=../o" } },
    { "git", { "diff", "--skip-t", "--output=../o" } },
    { "git", { "diff", "--src-pre", "--", "--output=../o" } },
    { "git", { "diff", "-pO../o" } },
    { "git", { "diff", "-O", "sneak" } },
    { "git", { "shortlog", "-n", "--output=../o" } },
    { "git", { "shortlog", "--committer", "--output=../o" } },
    { "git", { "rev-list", "--output=../o", "HEAD" } },
    { "git", { "blame", "-n", "--output=../o", "f" } },
    { "git", { "stash", "show", "-p", "--output=.git/hooks/x" } },
    { "git", { "stash", "push", "-S", "--output=../o" } },
    { "git", { "cherry-pick", "-n", "--output=../o" } },
    { "git", { "grep", "-O./x.sh", "todo" } },
    { "git", { "grep", "-iO./x.sh", "todo" } },
    { "git", { "grep", "--open-files-in-pager=./x.sh", "todo" } },
    { "git", { "grep", "--open", "todo" } },
    { "git", { "grep", "-f", "sneak", "todo" } },
    { "git", { "grep", "-nfsneak" } },
    { "git", { "blame", "--contents", "../out/secret", "f" } },
    { "git", { "blame", "-S../out/secret", "f" } },
    { "git", { "blame", "-wSsneak", "f" } },
    { "git", { "blame", "--ignore-revs-f=sneak", "f" } },
    { "git", { "commit", "-F", "../out/secret" } },
    { "git", { "commit", "-aF../out/secret" } },
    { "git", { "commit", "-Fsneak" } },
    { "git", { "commit", "--templ=sneak" } },
    { "git", { "commit", "-tsneak" } },
    { "git", { "commit", "-S" } },
    { "git", { "commit", "-aSkey", "-m", "x" } },
    { "git", { "tag", "-a", "x", "-Fsneak" } },
    { "git", { "tag", "-s", "x" } },
    { "git", { "tag", "-amx", "-u", "key", "x" } },
    { "git", { "add", "--pathspec-from-file=sneak" } },
    { "git", { "checkout", "--pathspec-from-file", "sneak" } },
    { "git", { "ls-files", "-X", "sneak", "-o" } },
    { "git", { "ls-files", "-oXsneak" } },
    { "git", { "config", "user.name", "x", "--file=sneak" } },
    { "git", { "config", "--get", "-f", "sneak", "a.b" } },
    { "git", { "config", "--unset", "user.name" } },
    { "git", { "config", "--uns", "user.name" } },
    { "git", { "config", "-e" } },
    { "git", { "rebase", "-x", "id", "HEAD~1" } },
    { "git", { "rebase", "-ix", "id", "HEAD~1" } },
    { "git", { "rebase", "-fxid", "HEAD~1" } },
    { "git", { "rebase", "--exec=id", "HEAD~1" } },
    { "git", { "rebase", "--exe=id", "HEAD~1" } },
    { "git", { "rebase", "-s", "../x", "HEAD~1" } },
    { "git", { "merge", "-s", "x/../../evil", "topic" } },
    { "git", { "merge", "-sevil", "topic" } },
    { "git", { "merge", "--strat=evil", "topic" } },
    { "git", { "cherry-pick", "--strategy", "evil", "topic" } },
    { "git", { "pull", "-s", "evil" } },
    { "git", { "fetch", "--upload-pa=id", "." } },
    { "git", { "fetch", "--upload-pack", "id", "." } },
    { "git", { "fetch", "--u=id", "." } },
    { "git", { "ls-remote", "--exec=id", "." } },
    { "git", { "pull", "--upload-p=id", "." } },
    { "git", { "push", "--receive-pack=id", "." } },
    { "git", { "push", "--exe=id", "." } },
    { "git", { "clone", "-c", "core.fsmonitor=id", "." } },
    { "git", { "clone", "-u", "id", "." } },
    { "git", { "clone", "--template=src", "." } },
    { "git", { "archive", "-o", "../o.tar", "HEAD" } },
    { "git", { "archive", "--remote=x", "--exec=id", "HEAD" } },
    { "git", { "format-patch", "-o", "../o", "HEAD~1" } },
    { "git", { "apply", "sneak" } },
    { "git", { "apply", "--unsafe-paths", "msg.txt" } },
    { "git", { "hash-object", "-w", "sneak" } },
    { "git", { "hash-object", "--", "sneak" } },
    { "git", { "merge-file", "sneak", "msg.txt", "msg.txt" } },
    { "git", { "status", "--help" } },
    { "git", { "--help", "status" } },
    { "git", { "diff", "--submodule=diff" } },
    { "git", { "status", "--ignore-submodules=none" } },
    { "git", { "st" } },
    { "git", { "help", "-a" } },
    { "git", { "hook", "run", "pre-commit" } },
    { "git", { "difftool", "-y", "-x", "id" } },
    { "git", { "filter-branch", "--tree-filter", "id" } },
    { "git", { "submodule", "foreach", "id" } },
    { "git", { "bisect", "run", "id" } },
    { "git", { "bisect", "view" } },
    { "git", { "credential", "fill" } },
    { "git", { "remote", "set-url", "origin", "x" } },
    { "git", { "remote", "add", "o", "https://x/" } },
    { "git", { "config", "core.hooksPath", "src" } },
    { "git", { "config", "set", "core.hooksPath", "src" } },
    { "p4", { "-p", "rsh:id", "info" } },
    { "p4", { "-Ppassword", "info" } },
    { "p4", { "-x", "../out/secret", "files" } },
    { "p4", { "-d", "/", "files" } },
    { "p4", { "-qx", "-", "files" } },
    { "p4", { "-E", "P4EDITOR=id", "change" } },
    { "p4", { "--unknown", "info" } },
    { "p4", { "print", "-o", "../o", "//depot/x" } },
    { "p4", { "print", "-qo.git/config", "//depot/x" } },
    { "p4", { "print", "-o", "tools/jobs/run.sh", "//depot/x" } },
    { "docker", { "-H", "tcp://x", "ps" } },
    { "docker", { "-Htcp://x", "ps" } },
    { "docker", { "-DH", "tcp://x", "ps" } },
    { "docker", { "--host=tcp://x", "ps" } },
    { "docker", { "ps", "--host", "tcp://x" } },
    { "docker", { "--context", "x", "ps" } },
    { "docker", { "-c", "x", "ps" } },
    { "docker", { "--config", ".", "ps" } },
    { "docker", { "--tlscacert=x", "ps" } },
    { "docker", { "--unknown", "ps" } },
    { "docker", { "compose", "-f", "sneak", "config" } },
    { "docker", { "compose", "-f../out/secret", "config" } },
    { "docker", { "compose", "--env-file", "sneak", "config" } },
    { "docker", { "compose", "config", "--env-file=sneak" } },
    { "docker", { "compose", "config", "-o", "../o" } },
    { "docker", { "compose", "config", "-qo../o" } },
    { "docker", { "compose", "config", "--output=.git/config" } },
    { "docker", { "compose", "--project-directory", "..", "ps" } },
};

static void test_refused(void **state)
{
    struct world *w = *state;
    for (size_t i = 0; i < w->policy.shell_count; i++)
        w->sections[i].arg_paths = ARG_PATHS_NONE; /* the deputies alone */
    world_ready(w);
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        if (world_try(w, refused[i].command, refused[i].args, ""))
            fail_msg("let through: %s %s %s (row %zu)", refused[i].command,
                    refused[i].args[0], refused[i].args[1], i);
        assert_true(w->why.what.len && w->why.rule.len);
    }
}

static const struct vector harmless[] = {
    { "git", { NULL } },
    { "git", { "--version" } },
    { "git", { "--no-pager", "log", "-3" } },
    { "git", { "-C", ".", "status" } },
    { "git", { "status", "-sb", "--porcelain=v2" } },
    { "git", { "log", "--pretty=format:%h|%an", "--date=short", "-3" } },
    { "git", { "log", "--format=%h/%an", "--since=2026/01/02" } },
    { "git", { "log", "--since", "/yesterday", "--grep", "/etc/passwd" } },
    { "git", { "log", "-S", "/usr/bin/env", "--oneline" } },
    { "git", { "log", "-S/usr/bin/env" } },
    { "git", { "log", "--oneline", "--", "executor.c", "-x" } },
    { "git", { "log", "-L", "/^main/,+3:src/main.c" } },
    { "git", { "log", "-L/^main/,+3:src/main.c" } },
    { "git", { "log", "origin/main..HEAD" } },
    { "git", { "log", "--author=A <a/b@c>" } },
    { "git", { "log", "-p", "--output=changes.diff" } },
    { "git", { "diff", "--text", "--stat=100" } },
    { "git", { "diff", "--output-indicator-new=>", "--color=never" } },
    { "git", { "diff", "--ext-diff" } },
    { "git", { "diff", "-O", "msg.txt" } },
    { "git", { "show", "HEAD:notes.txt" } },
    { "git", { "blame", "-L", "1,1", "-n", "--date=short", "notes.txt" } },
    { "git", { "rev-parse", "--short", "HEAD^{tree}" } },
    { "git", { "rev-parse", "--git-path", "/x" } },
    { "git", { "cat-file", "-p", "HEAD^{tree}" } },
    { "git", { "config", "--get-regexp", "^/core\\." } },
    { "git", { "config", "-l" } },
    { "git", { "commit", "-m", "/etc: add and/or (see ~/notes, C:/x)" } },
    { "git", { "commit", "-am", "/x" } },
    { "git", { "commit", "-m/x" } },
    { "git", { "commit", "-m", "--output=../o" } },
    { "git", { "commit", "-m", "-F/etc/passwd" } },
    { "git", { "commit", "-F", "msg.txt" } },
    { "git", { "commit", "-F", "-" } },
    { "git", { "commit", "--trailer", "Reviewed-by: A <a@/b>", "-mx" } },
    { "git", { "commit", "--author=/A <a@b>", "-mx" } },
    { "git", { "tag", "-a", "v1", "-m", "/release notes" } },
    { "git", { "tag", "-l", "/v*" } },
    { "git", { "stash", "push", "-m", "wip on /a/b" } },
    { "git", { "clean", "-n", "-e", "/build" } },
    { "git", { "merge", "--no-ff", "-s", "ort", "-X", "ours", "topic" } },
    { "git", { "grep", "-n", "/etc/passwd" } },
    { "git", { "grep", "-e", "/etc/passwd", "--", "src" } },
    { "git", { "for-each-ref", "--format=/%(refname)", "refs/heads" } },
    { "git", { "for-each-ref", "--sort", "/x" } },
    { "git", { "branch", "--contains", "HEAD", "/x" } },
    { "git", { "rebase", "--onto", "main", "topic~3", "topic" } },
    { "git", { "cherry-pick", "-x", "abc..def" } },
    { "git", { "describe", "--match", "/v*" } },
    { "git", { "archive", "-l" } },
    { "git", { "add", "-A", "." } },
    { "p4", { "print", "//depot/main/a.c#3" } },
    { "p4", { "-c", "client", "filelog", "-m", "5", "//depot/..." } },
    { "p4", { "changes", "-m5", "-u", "/x", "//depot/...@2026/01/01,@now" } },
    { "p4", { "print", "-q", "-o", "copy.c", "//depot/a.c" } },
    { "p4", { "shelve", "-c", "123" } },
    { "docker", { "ps", "--format", "/{{.Names}}", "--filter", "/name=x" } },
    { "docker", { "logs", "-f", "--since", "5m", "web" } },
    { "docker", { "inspect", "-f", "/{{.State}}", "web" } },
    { "docker", { "compose", "logs", "-f", "web" } },
    { "docker", { "compose", "-f", "msg.txt", "-p", "x", "config" } },
    { "docker", { "compose", "config", "-o", "out.yaml" } },
    { "docker", { "--log-level", "debug", "version" } },
};

static void test_harmless(void **state)
{
    struct world *w = *state;
    world_ready(w);
    for (size_t i = 0; i < ARRAY_LEN(harmless); i++) {
        if (!world_try(w, harmless[i].command, harmless[i].args, ""))
            fail_msg("refused: %s %s %s: %s", harmless[i].command, harmless[i].args[0],
                    harmless[i].args[1], world_refusal(w));
    }
}

static void test_table_is_sorted(void **state)
{
    (void)state;
    size_t count;
    const struct git_command *table = git_command_table(&count);
    for (size_t i = 1; i < count; i++)
        assert_true(strcmp(table[i - 1].name, table[i].name) < 0);
}

static void test_by_last_component(void **state)
{
    (void)state;
    assert_non_null(deputy_find(STR("git")));
    assert_ptr_equal(deputy_find(STR("git")), deputy_find(STR("/usr/bin/git")));
    assert_null(deputy_find(STR("gitk")));
    assert_null(deputy_find(STR("git/x")));
    assert_null(deputy_text_find(STR("")));
}

static const char *planned_variable(struct world *w, const char *name)
{
    size_t len = strlen(name);
    for (const char **entry = w->plan.env; *entry; entry++) {
        if (!strncmp(*entry, name, len) && (*entry)[len] == '=')
            return *entry + len + 1;
    }
    return "";
}

#define ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* The file that P4CONFIG names is taken apart; programs stay out. */
static void test_p4_settings(void **state)
{
    struct world *w = *state;
    world_file(w, "ws/.p4config",
            "P4CLIENT=mine\r\nP4PORT=ssl:server:1666 \n# P4USER=no\nP4EDITOR=evil\n"
            "P4ENVIRO=/x\nP4CONFIG=y\nP4TICKETS=/x\n",
            0644);
    world_variable(w, "P4CONFIG", ".p4config");
    world_variable(w, "P4DIFF", "evil");
    world_variable(w, "P4MERGEUNICODE", "evil");
    world_variable(w, "EDITOR", "evil");
    world_variable(w, "P4USER", "me");
    world_ready(w);
    assert_true(world_try(w, "p4", ARGS("opened"), "src"));
    static const char *const expected[][2] = { { "P4CLIENT", "mine" }, { "P4USER", "me" },
        { "P4PORT", "ssl:server:1666" }, { "P4CONFIG", "none/." }, { "P4EDITOR", "true" },
        { "P4DIFF", "" }, { "P4MERGEUNICODE", "" }, { "EDITOR", "" }, { "P4ENVIRO", "" },
        { "P4TICKETS", "" } };
    for (size_t i = 0; i < ARRAY_LEN(expected); i++)
        assert_string_equal(planned_variable(w, expected[i][0]), expected[i][1]);
    assert_non_null(strstr(w->plan.notes.data, "P4EDITOR of .p4config is not used"));
}

/* P4PASSWD goes to the server of the environment, and to no other that a file names. */
static void test_p4_password(void **state)
{
    struct world *w = *state;
    world_variable(w, "P4CONFIG", ".p4config");
    world_variable(w, "P4PORT", "ssl:server:1666");
    world_variable(w, "P4PASSWD", "mine");
    w->sections[1].env.pass = world_regexes(w, ARGS("P4PASSWD"), true);
    world_ready(w);
    world_file(w, "ws/.p4config", "P4PORT=ssl:server:1666\nP4CLIENT=x\n", 0644);
    assert_true(world_try(w, "p4", ARGS("opened"), ""));
    assert_string_equal(planned_variable(w, "P4PASSWD"), "mine");
    world_file(w, "ws/.p4config", "P4PORT=elsewhere:1666\n", 0644);
    assert_true(world_try(w, "p4", ARGS("opened"), ""));
    assert_string_equal(planned_variable(w, "P4PASSWD"), "");
    assert_string_equal(planned_variable(w, "P4PORT"), "elsewhere:1666");
    assert_non_null(strstr(w->plan.notes.data, "P4PASSWD is not used"));
}

static void test_p4_server_is_no_program(void **state)
{
    struct world *w = *state;
    world_file(w, "ws/.p4config", "P4PORT=RSH:evil\n", 0644);
    world_variable(w, "P4CONFIG", ".p4config");
    world_ready(w);
    assert_false(world_try(w, "p4", ARGS("opened"), ""));
    assert_non_null(strstr(world_refusal(w), "P4PORT"));
}

static void test_docker_reads_its_own_settings(void **state)
{
    struct world *w = *state;
    world_ready(w);
    assert_true(world_try(w, "docker", ARGS("-D", "ps"), ""));
    assert_true(w->plan.trusted);
    assert_true(world_try(w, "docker", ARGS("compose", "config"), ""));
    assert_false(w->plan.trusted);
}

static void try_docker(struct world *w, const char *host, const char *kept)
{
    world_variable(w, "DOCKER_HOST", host);
    world_ready(w);
    assert_true(world_try(w, "docker", ARGS("ps"), ""));
    assert_string_equal(planned_variable(w, "DOCKER_HOST"), kept);
    assert_string_equal(planned_variable(w, "DOCKER_CONFIG"), "");
    assert_string_equal(planned_variable(w, "COMPOSE_FILE"), "");
    w->variables--;
}

/* The daemon of this machine is kept, if no agent could have put it there. */
static void test_docker_daemon(void **state)
{
    struct world *w = *state;
    world_variable(w, "DOCKER_CONFIG", world_path(w, "home"));
    world_variable(w, "COMPOSE_FILE", "x");
    const char *own = arena_printf(w->arena, "unix://%s/out/docker.sock", w->root);
    try_docker(w, own, own);
    try_docker(w, arena_printf(w->arena, "unix://%s/ws/docker.sock", w->root), "");
    try_docker(w, "tcp://example.org:2375", "");
    try_docker(w, "ssh://example.org", "");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_harmless, setup, teardown),
        cmocka_unit_test_setup_teardown(test_p4_settings, setup, teardown),
        cmocka_unit_test_setup_teardown(test_p4_password, setup, teardown),
        cmocka_unit_test_setup_teardown(test_p4_server_is_no_program, setup, teardown),
        cmocka_unit_test_setup_teardown(test_docker_daemon, setup, teardown),
        cmocka_unit_test_setup_teardown(
                test_docker_reads_its_own_settings, setup, teardown),
        cmocka_unit_test(test_table_is_sorted),
        cmocka_unit_test(test_by_last_component),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
