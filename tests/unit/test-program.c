#include "command-world.h"
#include "unit.h"

#include <unistd.h>

static const char *const none[] = { NULL };

#define ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* PATH has one good folder, one in the workspace, a relative one and an empty one. */
static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));
    world_create(w);
    world_file(w, "bin/tool", "#!/bin/sh\n", 0755);
    world_file(w, "bin/bash", "#!/bin/sh\n", 0755);
    world_file(w, "bin/python3", "#!/bin/sh\n", 0755);
    world_file(w, "bin/plain", "not a program\n", 0644);
    world_file(w, "bin/dir/x", "", 0644);
    world_file(w, "ws/bin/tool", "#!/bin/sh\n", 0755);
    world_file(w, "ws/bin/mine", "#!/bin/sh\n", 0755);
    world_file(w, "ws/tool", "#!/bin/sh\n", 0755);
    world_file(w, "ws/local.sh", "#!/bin/sh\n", 0755);
    world_file(w, "ws/tools/jobs/native", "#!/bin/sh\n", 0755);
    world_file(w, "ws/tools/jobs/sum.py", "print(1)\n", 0644);
    world_file(w, "ws/tools/jobs/win.ps1", "\n", 0644);
    world_file(w, "ws/tools/jobs/dos.bat", "\n", 0644);
    world_file(w, "ws/tools/jobs/sub dir/sp.sh", "\n", 0644);
    world_file(w, "ws/tools/other.sh", "\n", 0755);
    world_file(w, "ws/x/tools/jobs/run.sh", "\n", 0755);
    world_file(w, "ws/.pyddock/tmp/made.sh", "\n", 0755);
    world_file(w, "out/tools/jobs/out.sh", "\n", 0755);
    world_file(w, "out/evil", "\n", 0755);
    world_link(w, world_path(w, "ws/bin/mine"), "bin/planted");
    world_link(w, "tool", "bin/alias");
    world_link(w, "../../out", "ws/x/out");
    world_link(w, "ws", "wslink");
    world_link(w, "../out/evil", "ws/evil");
    world_link(w, "../../../bin/tool", "ws/tools/jobs/linked");
    world_link(w, "../../bin/mine", "ws/tools/jobs/inward");
    world_variable(w, "PATH",
            arena_printf(w->arena, ":%s:relative/bin:%s:/no/such/folder",
                    world_path(w, "ws/bin"), world_path(w, "bin")));
    world_section(w, "all", ".*");
    world_ready(w);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    world_destroy(*state);
    free(*state);
    return 0;
}

static void test_started(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *command, *program; /* below the root; NULL: not found */
        const char *argv[6];           /* "@" is the root */
    } table[] = {
        { "tool", "bin/tool", { "tool" } },
        { "alias", "bin/alias", { "alias" } },
        { "plain", NULL, { "plain" } },
        { "dir", NULL, { "dir" } },
        { "no-such", NULL, { "no-such" } },
        { "@/bin/tool", "bin/tool", { "@/bin/tool" } },
        { "@/out/evil", "out/evil", { "@/out/evil" } },
        { "@/ws/tools/jobs/native", "ws/tools/jobs/native",
                { "@/ws/tools/jobs/native" } },
        { "tools/jobs/native", "ws/tools/jobs/native", { "@/ws/tools/jobs/native" } },
        { "./tools//jobs/native", "ws/tools/jobs/native", { "@/ws/tools/jobs/native" } },
        { "tools/jobs/../jobs/native", "ws/tools/jobs/native",
                { "@/ws/tools/jobs/native" } },
        { "tools/jobs/linked", "ws/tools/jobs/linked", { "@/ws/tools/jobs/linked" } },
        { "tools/jobs/missing", NULL, { "tools/jobs/missing" } },
        { "tools/jobs/run.sh", "bin/bash", { "bash", "@/ws/tools/jobs/run.sh" } },
        { "tools/jobs/sub dir/sp.sh", "bin/bash",
                { "bash", "@/ws/tools/jobs/sub dir/sp.sh" } },
        { "tools/jobs/missing.sh", NULL, { "tools/jobs/missing.sh" } },
        { "tools/jobs/sum.py", "bin/python3", { "python3", "@/ws/tools/jobs/sum.py" } },
        { "tools/jobs/dos.bat", NULL, { "cmd", "/c", "@/ws/tools/jobs/dos.bat" } },
        { "tools/jobs/win.ps1", NULL,
                { "pwsh", "-NoProfile", "-ExecutionPolicy", "Bypass", "-File",
                        "@/ws/tools/jobs/win.ps1" } },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const char *command = table[i].command;
        if (command[0] == '@')
            command = world_path(w, command + 2);
        if (!world_try(w, command, ARGS("an argument"), "src"))
            fail_msg("%s: %s", command, world_refusal(w));
        if (table[i].program)
            assert_string_equal(w->plan.program, world_path(w, table[i].program));
        else
            assert_null(w->plan.program);
        size_t n = 0;
        for (; n < ARRAY_LEN(table[i].argv) && table[i].argv[n]; n++) {
            const char *arg = table[i].argv[n];
            assert_string_equal(
                    w->plan.argv[n], arg[0] == '@' ? world_path(w, arg + 2) : arg);
        }
        assert_string_equal(w->plan.argv[n], "an argument");
        assert_null(w->plan.argv[n + 1]);
    }
}

/* What could have been written by who now wants it started. */
static void test_refused(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *command, *shown;
    } table[] = {
        { "mine", "is in a folder of PATH that is skipped" },
        { "planted", "leads to where an agent may write" },
        { "./tool", "is where an agent may write" },
        { "bin/tool", "is where an agent may write" },
        { "local.sh", "is where an agent may write" },
        { "./local.sh", "is where an agent may write" },
        { "tools/other.sh", "(write-then-execute)" },
        { "x/tools/jobs/run.sh", "(write-then-execute)" },
        { ".pyddock/tmp/made.sh", "(write-then-execute)" },
        { "tools/jobs/inward", "is where an agent may write" },
        { "tools/jobs/../../../out/tools/jobs/out.sh", "is reached by '..'" },
        { "tools/jobs/../other.sh", "is where an agent may write" },
        { "x/out/evil", "is reached by a link that an agent may have made" },
        { "@/wslink/x/out/evil", "is reached by a link that an agent may have made" },
        { "evil", NULL }, /* a bare name is never looked for in the workspace */
        { "./evil", "is where an agent may write" },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const char *command = table[i].command;
        if (command[0] == '@')
            command = world_path(w, command + 2);
        bool allowed = world_try(w, command, none, "");
        if (!table[i].shown) {
            assert_true(allowed);
            assert_null(w->plan.program);
            continue;
        }
        if (allowed)
            fail_msg("%s was let through", table[i].command);
        assert_string_equal(w->why.code, "write-then-execute");
        if (!strstr(world_refusal(w), table[i].shown))
            fail_msg("%s", world_refusal(w));
    }
}

/* cwd has no say in what is started. */
/* What one command may write is not started as another, nor handed on in PATH. */
static void test_folder_of_a_section(void **state)
{
    struct world *w = *state;
    struct policy_path cache = { .path = str_of(world_path(w, "bin")) };
    struct policy_shell *go = world_section(w, "go", "^go$");
    go->writable = &cache;
    go->writable_count = 1;
    world_ready(w);
    assert_false(world_try(w, "tool", none, ""));
    assert_non_null(strstr(world_refusal(w), "folder of PATH that is skipped"));
    assert_true(world_try(w, "no-such", none, ""));
    for (const char **entry = w->plan.env; *entry; entry++)
        if (!strncmp(*entry, "PATH=", 5))
            assert_null(strstr(*entry, world_path(w, "bin")));
}

static void test_not_from_cwd(void **state)
{
    struct world *w = *state;
    assert_true(world_try(w, "tool", none, "bin"));
    assert_string_equal(w->plan.program, world_path(w, "bin/tool"));
    assert_true(world_try(w, "jobs/native", none, "tools"));
    assert_null(w->plan.program);
    assert_false(world_try(w, "./tool", none, "bin"));
}

/* Interpreters come from PATH, never from where an agent may write. */
static void test_planted_interpreter(void **state)
{
    struct world *w = *state;
    assert_int_equal(unlink(world_path(w, "bin/bash")), 0);
    world_file(w, "ws/bin/bash", "#!/bin/sh\n", 0755);
    assert_false(world_try(w, "tools/jobs/run.sh", none, ""));
    assert_int_equal(unlink(world_path(w, "ws/bin/bash")), 0);
    assert_true(world_try(w, "tools/jobs/run.sh", none, ""));
    assert_null(w->plan.program);
    assert_string_equal(w->plan.argv[0], "bash");
    assert_int_equal(unlink(world_path(w, "bin/python3")), 0);
    world_file(w, "bin/python", "#!/bin/sh\n", 0755);
    assert_true(world_try(w, "tools/jobs/sum.py", none, ""));
    assert_string_equal(w->plan.argv[0], "python");
}

/* git is git under another name. */
static void test_deputy_by_link(void **state)
{
    struct world *w = *state;
    world_file(w, "bin/git", "#!/bin/sh\n", 0755);
    world_link(w, "git", "bin/g");
    assert_false(world_try(w, "g", ARGS("-c", "alias.x=!touch y", "x"), ""));
    assert_string_equal(w->why.code, "deputy");
    assert_true(world_try(w, "tool", ARGS("-c", "alias.x=!touch y", "x"), ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_started, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_folder_of_a_section, setup, teardown),
        cmocka_unit_test_setup_teardown(test_not_from_cwd, setup, teardown),
        cmocka_unit_test_setup_teardown(test_planted_interpreter, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deputy_by_link, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
