#include "command-world.h"
#include "unit.h"

#define ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));
    world_create(w);
    w->policy.env.deny = world_regexes(w,
            ARGS(".*PATH.*", "LD_.*", ".*HOME.*", "TMPDIR", "PAGER", "NODE_OPTIONS"),
            true);
    w->policy.env.fallback = ENV_INERT;
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    world_destroy(*state);
    free(*state);
    return 0;
}

static const char *get(const char **env, const char *name)
{
    const char *found = NULL;
    for (; *env; env++) {
        size_t len = strlen(name);
        if (strncmp(*env, name, len) || (*env)[len] != '=')
            continue;
        assert_null(found); /* each name once */
        found = *env + len + 1;
    }
    return found;
}

static void test_secret(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value;
        bool secret;
    } table[] = {
        { "GITHUB_TOKEN", "x", true },
        { "AWS_SECRET_ACCESS_KEY", "x", true },
        { "SERVICE_PASSWORD", "x", true },
        { "PGPASSWORD", "x", true },
        { "OPENAI_API_KEY", "x", true },
        { "NPM_AUTH", "x", true },
        { "AZURE_CREDENTIALS", "x", true },
        { "HARMLESS", "ghp_0123456789abcdefghijABCDEFGHIJ012345", true },
        { "DATABASE_URL", "postgres://app:pw123@db/x", true },
        { "SSH_AUTH_SOCK", "/run/agent", false },
        { "XAUTHORITY", "/home/a/.Xauthority", false },
        { "TOKENIZERS_PARALLELISM", "false", false },
        { "KEYBOARD", "us", false },
        { "MONKEY", "x", false },
        { "PWD", "/x", false },
        { "GIT_AUTHOR_NAME", "A", false },
        { "LANG", "C.UTF-8", false },
        { "PATH", "/usr/bin", false },
        { "HOME", "/home/a", false },
        { "DATABASE_URL", "postgres://db/x", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (env_is_secret(str_of(table[i].name), str_of(table[i].value)) !=
                table[i].secret)
            fail_msg("%s=%s", table[i].name, table[i].value);
}

/* A client that is no shell may start a server without PATH. */
static void test_without_path(void **state)
{
    static const char usual[] =
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    struct world *w = *state;
    char empty[] = "PATH=", own[] = "PATH=/opt";
    char *none[] = { NULL }, *blank[] = { empty, NULL }, *given[] = { own, NULL };
    assert_string_equal(env_path(none).data, usual);
    assert_string_equal(env_path(blank).data, usual);
    assert_string_equal(env_path(given).data, "/opt");
    assert_string_equal(
            get(env_snapshot(&w->policy, NULL, none, w->arena), "PATH"), usual);
}

static void test_snapshot(void **state)
{
    struct world *w = *state;
    struct policy_shell *section = world_section(w, "x", "^x$");
    section->env.pass = world_regexes(w, ARGS("deploy_token"), true);
    w->policy.env.pass = world_regexes(w, ARGS("ALSO_.*"), true);
    const char *inside = world_path(w, "ws/lib.so");
    const char *path = arena_printf(w->arena, "/usr/bin:%s::relative:%s:%s:/bin",
            world_path(w, "ws/bin"), world_path(w, "ws/tools/jobs"),
            world_path(w, "home"));
    const char *const given[][2] = { { "PATH", path }, { "LANG", "C.UTF-8" },
        { "TERM", "dumb" }, { "USER", "a" }, { "TMPDIR", "/x" }, { "TMP", "/y" },
        { "VIRTUAL_ENV", "/v" }, { "VIRTUAL_ENV_PROMPT", "v" }, { "PYTHONPATH", "/p" },
        { "PYTHONIOENCODING", "latin-1" }, { "PADDOCK_DEBUG", "1" },
        { "GITHUB_TOKEN", "t" }, { "DEPLOY_TOKEN", "d" }, { "ALSO_SECRET", "s" },
        { "LD_PRELOAD", inside }, { "BASH_ENV", "/etc/profile" }, { "EMPTY", "" },
        { "LD_LIBRARY_PATH", "/usr/lib:lib/x" }, { "EDITOR", "vi" }, { "PWD", "/x" },
        { "OLDPWD", "/x" } };
    for (size_t i = 0; i < ARRAY_LEN(given); i++)
        world_variable(w, given[i][0], given[i][1]);
    char broken[] = "no equals sign", nameless[] = "=x", twice[] = "LANG=de";
    w->environment[w->variables++] = broken;
    w->environment[w->variables++] = nameless;
    w->environment[w->variables++] = twice;
    const char **env = env_snapshot(&w->policy, section, w->environment, w->arena);
    const char *const expected[][2] = { { "LANG", "C.UTF-8" }, { "TERM", "dumb" },
        { "USER", "a" }, { "HOME", world_path(w, "home") }, { "TMPDIR", "/tmp" },
        { "TMP", NULL }, { "VIRTUAL_ENV", NULL }, { "VIRTUAL_ENV_PROMPT", NULL },
        { "PYTHONPATH", NULL }, { "PYTHONIOENCODING", "utf-8" },
        { "PADDOCK_DEBUG", NULL }, { "GITHUB_TOKEN", NULL }, { "DEPLOY_TOKEN", "d" },
        { "ALSO_SECRET", "s" }, { "LD_PRELOAD", NULL }, { "BASH_ENV", "/etc/profile" },
        { "EMPTY", "" }, { "LD_LIBRARY_PATH", NULL }, { "PWD", NULL }, { "OLDPWD", NULL },
        { "EDITOR", "vi" },
        { "PATH", arena_printf(w->arena, "/usr/bin:%s:%s:/bin",
                          world_path(w, "ws/tools/jobs"), world_path(w, "home")) } };
    for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
        const char *value = get(env, expected[i][0]);
        if (!value != !expected[i][1] || (value && strcmp(value, expected[i][1]) != 0))
            fail_msg("%s=%s", expected[i][0], value ? value : "(none)");
    }
    assert_null(get(
            env_snapshot(&w->policy, NULL, w->environment, w->arena), "DEPLOY_TOKEN"));
    section->sandbox = SANDBOX_NONE;
    env = env_snapshot(&w->policy, section, w->environment, w->arena);
    assert_string_equal(get(env, "TMPDIR"), world_path(w, "ws/.pyddock/tmp"));
}

struct attempt {
    const char *name, *value, *expected; /* NULL: refused; "": removed */
    const char *shown;
};

static void try_all(struct world *w, const struct policy_shell *section,
        const struct attempt *list, size_t count)
{
    const char **snapshot = env_snapshot(&w->policy, section, w->environment, w->arena);
    for (size_t i = 0; i < count; i++) {
        struct env_override override = { str_of(list[i].name), str_of(list[i].value) };
        const char **env = NULL;
        refusal_clear(&w->why);
        bool ok = env_build(&w->policy, section, snapshot, &override, 1,
                str_of(world_path(w, "ws/src")), w->arena, &env, &w->why);
        if (ok != (list[i].expected != NULL))
            fail_msg("%s=%s: %s", list[i].name, list[i].value, world_refusal(w));
        if (!ok) {
            assert_null(env);
            const char *shown = list[i].shown ? list[i].shown : "";
            if (!strstr(world_refusal(w), shown) ||
                    !strstr(world_refusal(w), list[i].name))
                fail_msg("'%s' is not in: %s", shown, world_refusal(w));
            continue;
        }
        const char *value = get(env, list[i].name);
        if (list[i].expected[0])
            assert_string_equal(value, list[i].expected);
        else
            assert_null(value);
        assert_non_null(get(env, "STAGE"));
    }
}

static void test_overrides(void **state)
{
    struct world *w = *state;
    struct policy_shell *section = world_section(w, "x", "^x$");
    section->env.deny = world_regexes(w, ARGS("TOOL_.*"), true);
    world_variable(w, "STAGE", "dev");
    world_variable(w, "PATH", "/usr/bin");
    static const struct attempt list[] = {
        { "MODE", "fast", "fast", NULL },
        { "STAGE", "prod", "prod", NULL },
        { "PATH", "/usr/bin", "/usr/bin", NULL }, /* as it is */
        { "HOME", "", "", NULL },                 /* removed, though locked */
        { "NO_SUCH", "", "", NULL },
        { "PATH", "zzz", NULL, "[env] deny has '.*PATH.*' (.pyddock/pyddock.toml:7)" },
        { "Path", "zzz", NULL, "it is locked" },
        { "PYTHONPATH", "zzz", NULL, "it is locked" },
        { "home", "zzz", NULL, "it is locked" },
        { "LD_PRELOAD", "x.so", NULL, "[env] deny has 'LD_.*'" },
        { "tool_mode", "1", NULL, "[shell.x.env] deny has 'TOOL_.*'" },
        { "PADDOCK_X", "1", NULL, "PADDOCK_*" },
        { "OPT", "true", "true", NULL },
        { "OPT", "x=y", "x=y", NULL },
        { "OPT", "-v", "-v", NULL },
        { "OPT", "a,b;c", "a,b;c", NULL },
        { "OPT", "absent.txt", "absent.txt", NULL },
        { "OPT", "$HOME", "$HOME", NULL },
        { "OPT", "12:30", "12:30", NULL },
        { "OPT", "/tmp/x", NULL, "inert" },
        { "OPT", "a/b", NULL, "inert" },
        { "OPT", "dir\\file", NULL, "inert" },
        { "OPT", "~", NULL, "inert" },
        { "OPT", ".", NULL, "inert" },
        { "OPT", ".hidden", NULL, "inert" },
        { "OPT", "C:x", NULL, "inert" },
        { "OPT", "file:///etc/x", NULL, "inert" },
        { "OPT", "-I/usr/include", NULL, "inert" },
        { "OPT", "notes.txt", NULL, "inert" },
        { "OPT", "main.c", NULL, "inert" }, /* it is in the folder it starts in */
        { "OPT", "outlink", NULL, "inert" },
        { "", "x", NULL, "it is no variable" },
        { "A=B", "x", NULL, "it is no variable" },
    };
    try_all(w, section, list, ARRAY_LEN(list));
}

static void test_snapshot_only(void **state)
{
    struct world *w = *state;
    struct policy_shell *section = world_section(w, "x", "^x$");
    section->env.fallback = ENV_SNAPSHOT;
    world_variable(w, "STAGE", "dev");
    static const struct attempt list[] = {
        { "STAGE", "dev", "dev", NULL },
        { "HOME", "", "", NULL },
        { "MODE", "x", NULL, "snapshot" },
    };
    try_all(w, section, list, ARRAY_LEN(list));
    section->env.fallback = ENV_INERT;
    w->policy.env.fallback = ENV_SNAPSHOT;
    static const struct attempt inert[] = { { "MODE", "x", "x", NULL } };
    try_all(w, section, inert, ARRAY_LEN(inert));
    section->env.fallback = ENV_INHERIT;
    try_all(w, section, list, ARRAY_LEN(list));
}

static void test_nul(void **state)
{
    struct world *w = *state;
    const char **snapshot = env_snapshot(&w->policy, NULL, w->environment, w->arena);
    const char **env = NULL;
    struct env_override bad[] = { { STR("A"), STR("x\0y") }, { STR("A\0B"), STR("x") } };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(env_build(&w->policy, NULL, snapshot, &bad[i], 1, STR("/"), w->arena,
                &env, &w->why));
    assert_null(env);
}

/* Several at once: the last word counts, the snapshot stays as it is. */
static void test_several(void **state)
{
    struct world *w = *state;
    world_variable(w, "STAGE", "dev");
    const char **snapshot = env_snapshot(&w->policy, NULL, w->environment, w->arena);
    struct env_override list[] = { { STR("A"), STR("1") }, { STR("A"), STR("2") },
        { STR("STAGE"), STR("") }, { STR("B"), STR("3") }, { STR("B"), STR("") } };
    const char **env = NULL;
    assert_true(env_build(&w->policy, NULL, snapshot, list, ARRAY_LEN(list), STR("/"),
            w->arena, &env, &w->why));
    assert_string_equal(get(env, "A"), "2");
    assert_null(get(env, "B"));
    assert_null(get(env, "STAGE"));
    assert_string_equal(get(snapshot, "STAGE"), "dev");
}

/* The environment of a plan is the one of its section. */
static void test_in_plan(void **state)
{
    struct world *w = *state;
    world_section(w, "open", "^open$")->env.pass =
            world_regexes(w, ARGS("MY_TOKEN"), true);
    world_section(w, "shut", "^shut$");
    world_variable(w, "MY_TOKEN", "t");
    world_ready(w);
    assert_true(world_try(w, "open", ARGS("x"), ""));
    assert_string_equal(get(w->plan.env, "MY_TOKEN"), "t");
    assert_string_equal(get(w->plan.env, "PWD"), world_path(w, "ws"));
    assert_true(world_try(w, "shut", ARGS("x"), ""));
    assert_null(get(w->plan.env, "MY_TOKEN"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_secret),
        cmocka_unit_test_setup_teardown(test_snapshot, setup, teardown),
        cmocka_unit_test_setup_teardown(test_overrides, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_path, setup, teardown),
        cmocka_unit_test_setup_teardown(test_snapshot_only, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nul, setup, teardown),
        cmocka_unit_test_setup_teardown(test_several, setup, teardown),
        cmocka_unit_test_setup_teardown(test_in_plan, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
