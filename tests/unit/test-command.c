#include "command-world.h"
#include "unit.h"

static const char *const none[] = { NULL };

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));
    world_create(w);
    world_file(w, "bin/git", "#!/bin/sh\n", 0755);
    world_file(w, "bin/bash", "#!/bin/sh\n", 0755);
    world_file(w, "bin/python3", "#!/bin/sh\n", 0755);
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

static void assert_shown(struct world *w, const char *part)
{
    if (!strstr(world_refusal(w), part))
        fail_msg("'%s' is not in: %s", part, world_refusal(w));
}

#define ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* One literal name, nothing a shell would make of it; the first section decides. */
static void test_sections(void **state)
{
    struct world *w = *state;
    struct policy_shell *first = world_section(w, "first", "^(git|date)$");
    first->mode = MODE_DENY;
    first->allow = world_regexes(w, ARGS("status(\\s|$)"), false);
    world_section(w, "second", "^git$");
    world_section(w, "loose", "gi");
    world_ready(w);
    assert_true(world_try(w, "git", ARGS("status"), ""));
    assert_ptr_equal(w->plan.section, first);
    assert_string_equal(w->plan.program, world_path(w, "bin/git"));
    assert_string_equal(w->plan.argv[0], "git");
    assert_string_equal(w->plan.argv[1], "status");
    assert_null(w->plan.argv[2]);
    assert_string_equal(w->plan.cwd, world_path(w, "ws"));
    assert_false(world_try(w, "git", ARGS("log"), ""));
    static const char *const names[] = { "", "date\n", "'git'", "g?t", "GIT", "git\n",
        " git", "echo hi; id", "\x01git", "xgit" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (world_try(w, names[i], ARGS("status"), ""))
            fail_msg("'%s' was let through", names[i]);
        assert_string_equal(w->why.code, "command");
        assert_shown(w, "first ('^(git|date)$')");
    }
    assert_false(world_try(w, "/usr/bin/git", none, ""));
    assert_shown(w, "'git' is configured by its name alone.");
    assert_false(world_try(w, "frist", none, ""));
    assert_shown(w, "Did you mean 'first'?");
}

static void test_patterns(void **state)
{
    struct world *w = *state;
    struct policy_shell *git = world_section(w, "git", "^git$");
    git->mode = MODE_DENY;
    git->deny = world_regexes(w, ARGS("ext::", "^-c(\\s|$)"), false);
    git->allow = world_regexes(
            w, ARGS("status(\\s|$)", "remote show(\\s|$)", "log.*", "ext::ok"), false);
    struct policy_shell *open = world_section(w, "open", "^bash$");
    open->deny = world_regexes(w, ARGS("--danger"), false);
    open->allow = world_regexes(w, ARGS("only-this"), false);
    world_section(w, "closed", "^python3$")->mode = MODE_DENY;
    world_ready(w);
    assert_true(world_try(w, "git", ARGS("status", "-s"), ""));
    assert_true(world_try(w, "git", ARGS("remote", "show", "origin"), ""));
    assert_true(world_try(w, "git", ARGS("log", "-3"), ""));
    assert_true(world_try(w, "bash", ARGS("anything", "at", "all"), ""));
    assert_true(world_try(w, "bash", none, ""));
    static const struct {
        const char *command;
        const char *args[4];
        const char *shown;
    } refused[] = {
        { "git", { NULL }, "are not permitted" },
        { "git", { "statusx" }, "Nearest: 'status'." },
        { "git", { "statsu" }, "Nearest: 'status'." },
        { "git", { "remote", "add" }, "Nearest: 'remote show'." },
        { "git", { "-v", "status" },
                "Allowed patterns: status, remote show, log.*, ext::ok (" },
        { "git", { "ext::ok" }, "Arguments 'ext::ok' matched deny pattern 'ext::'" },
        { "git", { "log", "a\next::sh" }, "matched deny pattern" },
        { "git", { "-c", "status" }, "(.pyddock/pyddock.toml:7)" },
        { "bash", { "x", "--danger" }, "[shell.open] deny has '--danger'" },
        { "python3", { NULL }, "No argument patterns are allowed" },
        { "python3", { "x" }, "No argument patterns are allowed" },
    };
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        assert_false(world_try(w, refused[i].command, refused[i].args, ""));
        assert_null(w->plan.argv);
        assert_shown(w, refused[i].shown);
    }
}

/* Patterns that give up do not allow, and do deny. */
static void test_limits_fail_closed(void **state)
{
    struct world *w = *state;
    struct policy_shell *denies = world_section(w, "denies", "^git$");
    denies->deny = world_regexes(w, ARGS("^(a|aa)+[bd]"), false);
    struct policy_shell *allows = world_section(w, "allows", "^bash$");
    allows->mode = MODE_DENY;
    allows->allow = world_regexes(w, ARGS("((a|aa)+[bd]|a*)"), false);
    world_ready(w);
    char text[4000];
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    text[sizeof(text) - 2] = 'c';
    assert_false(world_try(w, "git", ARGS(text), ""));
    assert_false(world_try(w, "bash", ARGS(text), ""));
}

/* Whatever the allow lists say: what a deny pattern finds is refused. */
static void test_deny_wins(void **state)
{
    struct world *w = *state;
    static const char *const words[] = { "add", "push", "log", "-f", "--all", "x" };
    enum { SECTIONS = 10, TRIES = 2000 };
    unsigned seed = 20240229;
    unsigned denied[SECTIONS], allowed[SECTIONS];
    for (unsigned i = 0; i < SECTIONS; i++) {
        char *name = arena_printf(w->arena, "s%u", i);
        world_file(w, arena_printf(w->arena, "bin/%s", name), "", 0755);
        struct policy_shell *s =
                world_section(w, name, arena_printf(w->arena, "^%s$", name));
        const char *deny[7] = { NULL }, *allow[7] = { NULL };
        size_t denies = 0, allows = 0;
        denied[i] = (unsigned)rand_r(&seed) % 64;
        allowed[i] = (unsigned)rand_r(&seed) % 64;
        for (unsigned k = 0; k < ARRAY_LEN(words); k++) {
            if (denied[i] & 1u << k)
                deny[denies++] = arena_printf(w->arena, "(^|\\s)%s(\\s|$)", words[k]);
            if (allowed[i] & 1u << k)
                allow[allows++] = arena_printf(w->arena, "%s(\\s|$)", words[k]);
        }
        s->mode = i % 2 ? MODE_DENY : MODE_ALLOW;
        s->deny = world_regexes(w, deny, false);
        s->allow = world_regexes(w, allow, false);
    }
    world_ready(w);
    for (unsigned n = 0; n < TRIES; n++) {
        unsigned i = (unsigned)rand_r(&seed) % SECTIONS, used = 0, first = 0;
        const char *args[5] = { NULL };
        unsigned count = (unsigned)rand_r(&seed) % 5;
        for (unsigned k = 0; k < count; k++) {
            unsigned word = (unsigned)rand_r(&seed) % ARRAY_LEN(words);
            args[k] = words[word];
            used |= 1u << word;
            first = k ? first : 1u << word;
        }
        bool expected = !(used & denied[i]) && (i % 2 == 0 || (first & allowed[i]));
        if (world_try(w, arena_printf(w->arena, "s%u", i), args, "") != expected)
            fail_msg("section s%u, words %x, expected %d", i, used, expected);
    }
}

static void test_messages(void **state)
{
    struct world *w = *state;
    struct policy_shell *git = world_section(w, "git", "^git$");
    git->mode = MODE_DENY;
    git->allow = world_regexes(w, ARGS("add"), false);
    world_message(w, "^git push", "a person pushes");
    world_message(w, "^git ", "stay local");
    world_message(w, "^aws$", "no cloud");
    world_ready(w);
    assert_false(world_try(w, "git", ARGS("push", "origin"), ""));
    assert_shown(w, "\n[a person pushes]");
    assert_null(strstr(world_refusal(w), "Nearest"));
    assert_false(world_try(w, "git", ARGS("dad"), ""));
    assert_shown(w, "\n[stay local] Nearest: 'add'. The arguments, ");
    assert_false(world_try(w, "git", ARGS("--no-pager", "push"), ""));
    assert_shown(w, "\n[a person pushes]");
    assert_false(world_try(w, "git", ARGS("add", "/etc/passwd"), ""));
    assert_shown(w, "relative to it. [stay local]");
    assert_false(world_try(w, "aws", ARGS("s3"), ""));
    assert_shown(w, "\n[no cloud] ");
    assert_false(world_try(w, "grep", ARGS("s3"), ""));
    assert_shown(w, "fs_grep");
    assert_null(strstr(world_refusal(w), "["
                                         "no cloud"));
}

/* In other words, or elsewhere, is still what the pattern allows, and judged as such. */
static void test_spellings(void **state)
{
    struct world *w = *state;
    struct policy_shell *git = world_section(w, "git", "^git$");
    git->mode = MODE_DENY;
    git->deny = world_regexes(w, ARGS("^-c(\\s|$)", "--force", "-C forbidden"), false);
    git->allow = world_regexes(w, ARGS("log(\\s|$)", "version$", "-C src add"), false);
    world_section(w, "date", "^date$")->mode = MODE_DENY;
    world_ready(w);
    static const struct {
        const char *args[5], *cwd, *first; /* what is started, or NULL */
        const char *folder;
    } table[] = {
        { { "--no-pager", "log", "-1" }, "", "log", "ws" },
        { { "-P", "--no-optional-locks", "log" }, "src", "log", "ws/src" },
        { { "-C", "src", "log" }, "", "log", "ws/src" },
        { { "-C", "..", "-C", "", "log" }, "src", "log", "ws" },
        { { "--version" }, "", "version", "ws" },
        { { "-C", "src", "add", "x" }, "", "-C", "ws" },
        { { "--no-pager" }, "", NULL, NULL },
        { { "--no-pager", "push" }, "", NULL, NULL },
        { { "--no-pager", "-c", "a=b", "log" }, "", NULL, NULL },
        { { "-c", "a=b", "log" }, "", NULL, NULL },
        { { "-C", "src", "log", "--force" }, "", NULL, NULL },
        { { "-C", "forbidden", "log" }, "", NULL, NULL },
        { { "-C", "..", "log" }, "", NULL, NULL },
        { { "-C", "/etc", "log" }, "", NULL, NULL },
        { { "-C", "src", "log", "../../home" }, "", NULL, NULL },
        { { "--paginate", "log" }, "", NULL, NULL },
        { { "-C" }, "", NULL, NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        bool allowed = world_try(w, "git", table[i].args, table[i].cwd);
        if (allowed != !!table[i].first)
            fail_msg("%s %s: %d", table[i].args[0], table[i].args[1], allowed);
        if (!allowed)
            continue;
        assert_string_equal(w->plan.argv[1], table[i].first);
        assert_string_equal(w->plan.cwd, world_path(w, table[i].folder));
    }
    assert_false(world_try(w, "date", ARGS("--no-pager", "log"), ""));
}

static void test_nul(void **state)
{
    struct world *w = *state;
    world_section(w, "git", "^git$");
    world_ready(w);
    struct str args[] = { STR("a\0b") };
    struct command_request request = {
        .command = STR("git"), .args = args, .arg_count = 1, .cwd = STR("")
    };
    assert_false(command_decide(w->commands, &request, w->arena, &w->plan, &w->why));
    request.args = NULL;
    request.arg_count = 0;
    request.cwd = STR("src\0x");
    assert_false(command_decide(w->commands, &request, w->arena, &w->plan, &w->why));
    request.cwd = STR("");
    request.command = STR("git\0x");
    assert_false(command_decide(w->commands, &request, w->arena, &w->plan, &w->why));
    request.command = STR("git");
    assert_true(command_decide(w->commands, &request, w->arena, &w->plan, &w->why));
}

/* What the kernel would not start anyway is not looked at either. */
static void test_too_long(void **state)
{
    struct world *w = *state;
    char *text = xmalloc((128 << 10) + 1);
    memset(text, 'x', 128 << 10);
    text[128 << 10] = 0;
    const char *many[65] = { NULL };
    world_section(w, "python3", "^python3$");
    world_ready(w);
    for (size_t i = 0; i < 64; i++)
        many[i] = text + 1;
    assert_false(world_try(w, "python3", ARGS(text), ""));
    assert_non_null(strstr(world_refusal(w), "too long"));
    assert_true(world_try(w, "python3", ARGS(text + 1), ""));
    assert_false(world_try(w, "python3", many, ""));
    assert_non_null(strstr(world_refusal(w), "too long"));
    free(text);
}

static void test_cwd(void **state)
{
    struct world *w = *state;
    world_section(w, "w", "^git$");
    world_section(w, "p", "^bash$")->arg_paths = ARG_PATHS_PROTECTED;
    world_section(w, "n", "^python3$")->arg_paths = ARG_PATHS_NONE;
    world_link(w, "../out", "ws/outdir");
    world_link(w, "src", "ws/indir");
    world_guard(w, "/\\.ssh/", GUARD_DENY_AGENT);
    world_ready(w);
    const char *out = world_path(w, "out"), *ws = world_path(w, "ws");
    const struct {
        const char *cwd, *real;
        bool workspace, protected, none;
    } table[] = {
        { "", ws, true, true, true },
        { ".", ws, true, true, true },
        { "src", world_path(w, "ws/src"), true, true, true },
        { "src/../indir/", world_path(w, "ws/src"), true, true, true },
        { world_path(w, "ws/src"), world_path(w, "ws/src"), true, true, true },
        { ".pyddock/tmp", world_path(w, "ws/.pyddock/tmp"), true, true, true },
        { "tools", world_path(w, "ws/tools"), true, true, true },
        { "tools/jobs", world_path(w, "ws/tools/jobs"), false, false, true },
        { ".pyddock", world_path(w, "ws/.pyddock"), false, false, true },
        { "outdir", out, false, true, true },
        { "../out", out, false, true, true },
        { out, out, false, true, true },
        { "..", w->root, false, true, true },
        { world_path(w, "home/.ssh"), world_path(w, "home/.ssh"), false, false, true },
        { "missing", "", false, false, false },
        { "notes.txt", "", false, false, false },
        { "notes.txt/..", ws, true, true, true },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const bool expected[] = { table[i].workspace, table[i].protected, table[i].none };
        static const char *const commands[] = { "git", "bash", "python3" };
        for (size_t k = 0; k < 3; k++) {
            if (world_try(w, commands[k], none, table[i].cwd) != expected[k])
                fail_msg("cwd '%s' with %s", table[i].cwd, commands[k]);
            if (expected[k])
                assert_string_equal(w->plan.cwd, table[i].real);
        }
    }
}

/* A pattern that may mean any file of the workspace protects all of it; what is allowed
 * still starts there. */
static void test_all_protected(void **state)
{
    struct world *w = *state;
    world_section(w, "any", ".*");
    w->protected[1].path = w->policy.workspace_real;
    world_file(w, "ws/run.sh", "", 0755);
    world_ready(w);
    assert_true(world_try(w, "./run.sh", none, ""));
    assert_string_equal(w->plan.argv[1], world_path(w, "ws/run.sh"));
    assert_true(world_try(w, "git", none, ""));
    assert_false(world_try(w, "git", none, "src"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sections, setup, teardown),
        cmocka_unit_test_setup_teardown(test_patterns, setup, teardown),
        cmocka_unit_test_setup_teardown(test_limits_fail_closed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deny_wins, setup, teardown),
        cmocka_unit_test_setup_teardown(test_messages, setup, teardown),
        cmocka_unit_test_setup_teardown(test_spellings, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nul, setup, teardown),
        cmocka_unit_test_setup_teardown(test_too_long, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cwd, setup, teardown),
        cmocka_unit_test_setup_teardown(test_all_protected, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
