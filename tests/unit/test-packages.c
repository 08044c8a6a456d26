/* What has to be installed, and whether the stamp says that nothing has: without pip. */
#include "session/packages-parts.h"

#include "config-world.h"
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOWHERE "/nonexistent/launcher" /* what would start a process fails */

static void make_all(const struct world *w, const char *folder)
{
    for (const char *slash = folder; slash; slash = strchr(slash + 1, '/')) {
        if (slash == folder)
            continue;
        auto_free char *part = str_copy((struct str){ folder, (size_t)(slash - folder) });
        mkdir(in_world(w, part).data, 0777);
    }
    mkdir(in_world(w, folder).data, 0777);
}

static void put_deep(const struct world *w, const char *name, const char *text)
{
    auto_free char *folder = str_copy(str_of(name));
    *strrchr(folder, '/') = '\0';
    make_all(w, folder);
    put(w, name, text);
}

static void test_modules_are_found_in_every_form(void **state UNUSED)
{
    static const struct {
        const char *file;
        bool regular, namespaces;
    } cases[] = {
        { "s/mod/__init__.py", true, true },
        { "s/mod/__init__.cpython-311-x86_64-linux-gnu.so", true, true },
        { "s/mod.py", true, true },
        { "s/mod.so", true, true },
        { "s/mod.abi3.so", true, true },
        { "s/mod.cpython-311-x86_64-linux-gnu.so", true, true },
        { "s/mod/part.py", false, true },
        { "s/mod/deep/part.py", false, true },
        { "s/mod/__pycache__/part.pyc", false, false },
        { "s/mod/README.txt", false, false },
        { "s/mod.txt", false, false },
        { "s/model.py", false, false },
        { "s/model.abi3.so", false, false },
        { "s/mod-1.0.dist-info/METADATA", false, false },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct world w;
        open_world(&w);
        put_deep(&w, cases[i].file, "");
        struct str folder = in_world(&w, "s");
        if (find_module(folder, STR("mod"), false) != cases[i].regular ||
                find_module(folder, STR("mod"), true) != cases[i].namespaces)
            fail_msg("%s", cases[i].file);
        close_world(&w);
    }
}

static void test_distributions_by_any_spelling(void **state UNUSED)
{
    static const struct {
        const char *file, *name;
        bool found;
    } cases[] = {
        { "polars-1.0.dist-info", "polars", true },
        { "PyYAML-6.0.egg-info", "pyyaml", true },
        { "google_cloud_storage-2.1.dist-info", "Google-Cloud.Storage", true },
        { "zope.interface-5.dist-info", "zope-interface", true },
        { "a__b-1.dist-info", "a-b", true },
        { "noversion.egg-info", "noversion", true },
        { "polars-1.0.dist-info", "polar", false },
        { "polars-1.0.dist-info", "polars-lts", false },
        { "polars_lts-1.0.dist-info", "polars", false },
        { "polars-1.0.txt", "polars", false },
        { "a-1.dist-info", "a-", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct world w;
        open_world(&w);
        make_folder(&w, "s");
        make_folder(&w, arena_printf(w.arena, "s/%s", cases[i].file));
        if (find_distribution(in_world(&w, "s"), str_of(cases[i].name)) != cases[i].found)
            fail_msg("%s, %s", cases[i].file, cases[i].name);
        close_world(&w);
    }
}

static void test_requirements_begin_with_a_name(void **state UNUSED)
{
    static const char *const cases[][2] = { { "polars", "polars" },
        { "polars[all]>=1.0", "polars" }, { "Zope.Interface==5", "Zope.Interface" },
        { "a_b-c~=1", "a_b-c" }, { ">=1", "" } };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_true(str_is(requirement_name(str_of(cases[i][0])), cases[i][1]));
}

/* Where the module of `ws/pkg` is, relative to that; NULL: nowhere. */
static void check_source(const struct world *w, const char *want)
{
    struct str found;
    bool is_there = find_source(
            in_world(w, "ws/pkg"), STR("mod"), in_world(w, "site"), w->arena, &found);
    assert_int_equal(is_there, want != NULL);
    if (want)
        assert_string_equal(found.data, in_world(w, want).data);
}

static void test_source_by_layout(void **state UNUSED)
{
    static const char *const cases[][2] = {
        { "ws/pkg/src/mod/__init__.py", "ws/pkg/src" },
        { "ws/pkg/mod/__init__.py", "ws/pkg" },
        { "ws/pkg/mod.py", "ws/pkg" },
        { "ws/pkg/lib/mod.py", "ws/pkg/lib" },
        { "ws/pkg/mod/inner/code.py", "ws/pkg" },
        { "ws/pkg/other/mod.py", NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct world w;
        open_world(&w);
        make_folder(&w, "site");
        make_folder(&w, "ws/pkg");
        put_deep(&w, cases[i][0], "");
        check_source(&w, cases[i][1]);
        close_world(&w);
    }
}

static void test_source_as_the_installation_says(void **state UNUSED)
{
    struct world w;
    open_world(&w);
    make_folder(&w, "site");
    put_deep(&w, "ws/pkg/code/py/mod/__init__.py", "");
    put_deep(&w, "ws/outside/mod/__init__.py", "");
    check_source(&w, NULL);
    put(&w, "site/a.pth",
            arena_printf(w.arena, "import os; os.abort()\n%s\n",
                    in_world(&w, "ws/outside").data));
    check_source(&w, NULL); /* nothing there is write-protected */
    put(&w, "site/b.pth",
            arena_printf(w.arena, "%s\n", in_world(&w, "ws/pkg/code/py").data));
    check_source(&w, "ws/pkg/code/py");
    put(&w, "site/b.pth", NULL);
    put(&w, "site/__editable___mod_1_0_finder.py",
            arena_printf(w.arena, "MAPPING = {'other': '/x', 'mod': '%s'}\n",
                    in_world(&w, "ws/pkg/code/py/mod").data));
    check_source(&w, "ws/pkg/code/py");
    close_world(&w);
}

/* A link in the package that leads out of it would make what agents write trusted. */
static void test_source_does_not_leave_the_package(void **state UNUSED)
{
    struct world w;
    open_world(&w);
    make_folder(&w, "site");
    make_folder(&w, "ws/pkg");
    put_deep(&w, "ws/outside/mod.py", "");
    make_link(&w, "ws/pkg/src", "../outside");
    check_source(&w, NULL);
    close_world(&w);
}

static void test_environment_of_pip(void **state UNUSED)
{
    static const char *const ours[] = { "HOME=/h", "AWS_SECRET_ACCESS_KEY=x",
        "PIP_INDEX_URL=https://u:p@index/", "PIP_TARGET=/elsewhere", "PIP_USER=1",
        "https_proxy=http://proxy", "SSL_CERT_FILE=/c", "PYTHONPATH=/evil",
        "LD_PRELOAD=/evil.so", NULL };
    static const char *const wanted[] = { "HOME=/h", "PIP_INDEX_URL=https://u:p@index/",
        "https_proxy=http://proxy", "SSL_CERT_FILE=/c", "PIP_USER=0",
        "PYTHONNOUSERSITE=1", "TMPDIR=/tmp/of/pip" };
    static const char *const unwanted[] = { "AWS_", "PIP_TARGET", "PIP_USER=1",
        "PYTHONPATH", "LD_" };
    auto_arena *arena = arena_create();
    const char *const *env = pip_env(ours, "/tmp/of/pip", arena);
    auto_buf all = BUF(4096);
    for (; *env; env++)
        buf_addf(&all, "\n%s", *env);
    buf_addc(&all, '\n');
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
        assert_non_null(strstr(all.data, arena_printf(arena, "\n%s\n", wanted[i])));
    for (size_t i = 0; i < ARRAY_LEN(unwanted); i++)
        assert_null(strstr(all.data, arena_printf(arena, "\n%s", unwanted[i])));
}

static const char *explained(struct arena *arena, const char *err, int status)
{
    auto_buf out = BUF(PACKAGES_TEXT);
    const struct command_result result = {
        .end = COMMAND_EXITED, .status = status, .err.head = str_of(err)
    };
    explain_failure(&result, &out);
    return arena_cstr(arena, buf_str(&out));
}

static void test_failure_is_told_by_the_last_words(void **state UNUSED)
{
    auto_arena *arena = arena_create();
    auto_buf much = BUF((size_t)1 << 16);
    assert_string_equal(
            explained(
                    arena, "Looking\nin\nmany\nplaces\nWARNING: old\nERROR: no x\n", 256),
            "in; many; places; ERROR: no x");
    assert_string_equal(explained(arena,
                                "  error: subprocess-exited-with-error\n"
                                "  \n  × Preparing did not run successfully.\n"
                                "  │ exit code: 1\n  ╰─> [2 lines of output]\n"
                                "      in build_editable\n"
                                "      ModuleNotFoundError: No module named 'x'\n"
                                "      [end of output]\n  \n"
                                "  note: This error originates from a subprocess.\n"
                                "error: metadata-generation-failed\n\n"
                                "× Encountered error while generating metadata.\n"
                                "╰─> See above for output.\n\n"
                                "note: This is an issue with the package.\n"
                                "hint: See above for details.\n",
                                256),
            "in build_editable; ModuleNotFoundError: No module named 'x'");
    assert_string_equal(explained(arena, "", 256), "exited with status 1");
    assert_string_equal(explained(arena, "", 9), "killed by signal KILL");
    const char *masked =
            explained(arena, "ERROR: 401 for https://bob:hunter2@index/simple\n", 256);
    assert_non_null(strstr(masked, "@index/simple"));
    assert_null(strstr(masked, "hunter2"));
    for (int i = 0; i < 9999; i++)
        buf_addf(&much, "%d ", i);
    assert_true(strlen(explained(arena, much.data, 256)) < 2000);
}

static void test_allowlist_hash(void **state UNUSED)
{
    static const char *const policies[] = { "[imports]\na=true\nb=\"B\"\n",
        "[imports]\nb=\"B\"\na=true\n", "[imports]\na=true\nb=\"C\"\n",
        "[imports]\na=true\nb=true\n", "[imports]\na=true\nb=\"B\"\nc=true\n",
        "[imports]\na=true\nb=\"B\"\nc=false\n" };
    static const int same_as[] = { 0, 0, 2, 3, 4, 0 };
    char hashes[ARRAY_LEN(policies)][PACKAGES_HASH];
    struct world w;
    open_world(&w);
    for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
        const char *text = arena_printf(
                w.arena, "%s[execution]\n[filesystem]\n[ast]\n[audit]\n", policies[i]);
        allowlist_hash(load_text(&w, text, false), hashes[i]);
        for (size_t j = 0; j <= i; j++)
            assert_int_equal(!strcmp(hashes[i], hashes[j]), same_as[i] == same_as[j]);
    }
    close_world(&w);
}

/* A workspace with one library's module, one package of its own and a stamp. */
struct stamped {
    struct world world;
    uv_loop_t loop;
    struct policy *policy;
    struct packages_config config;
};

#define PROJECT "[project]\nname = \"mod\"\n"
#define IMPORTS "json = true\nmod = \"./pkg\"\n"

static void load_policy(struct stamped *s, const char *imports)
{
    const char *text = arena_printf(s->world.arena,
            "[execution]\n[filesystem]\n[ast]\n[audit]\n[imports]\n%s", imports);
    s->policy = load_text(&s->world, text, false);
    s->config.policy = s->policy;
}

static json_t *good_stamp(struct stamped *s)
{
    struct world *w = &s->world;
    char allowlist[PACKAGES_HASH], project[PACKAGES_HASH];
    allowlist_hash(s->policy, allowlist);
    short_hash(STR(PROJECT), project);
    return json_pack("{s:s, s:s, s:s, s:{s:s}, s:s, s:[s,s]}", "interpreter",
            interpreter_identity(s->config.interpreter, w->arena).data, "venv_created",
            venv_identity(in_world(w, "ws/.pyddock/venv").data, w->arena).data,
            "allowlist_hash", allowlist, "workspace", "mod", project, "version", "3.11",
            "stdlib", "json", "sys");
}

static void write_stamp(struct stamped *s, json_t *stamp)
{
    struct error err = { 0 };
    if (!stamp_write(in_world(&s->world, "ws/.pyddock").data, stamp, &err))
        fail_msg("%s", err.message);
    json_decref(stamp);
}

static void open_stamped(struct stamped *s)
{
    struct world *w = &s->world;
    open_world(w);
    put_deep(w, "ws/pkg/src/mod/__init__.py", "");
    put(w, "ws/pkg/pyproject.toml", PROJECT);
    put_deep(w, "ws/.pyddock/venv/pyvenv.cfg", "home = /usr/bin\n");
    put_deep(w, "ws/.pyddock/venv/bin/python", "");
    chmod(in_world(w, "ws/.pyddock/venv/bin/python").data, 0777);
    make_all(w, "ws/.pyddock/venv/lib/python3.11/site-packages");
    put(w, "interpreter", "");
    uv_loop_init(&s->loop);
    s->config = (struct packages_config){ .loop = &s->loop,
        .launcher = NOWHERE,
        .interpreter = in_world(w, "interpreter").data };
    load_policy(s, IMPORTS);
    write_stamp(s, good_stamp(s));
}

static void close_stamped(struct stamped *s)
{
    uv_run(&s->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&s->loop), 0);
    close_world(&s->world);
}

/* Everything is used as it is; the launcher is not even missed. */
static void check_unchanged(struct stamped *s)
{
    struct str why;
    struct packages *p = packages_create(&s->config);
    packages_start(p);
    assert_false(packages_is_busy(p));
    assert_int_equal(packages_started(p), 0);
    assert_int_equal(packages_state(p, STR("json"), &why), PACKAGE_NOT_NEEDED);
    assert_int_equal(packages_state(p, STR("mod.part"), &why), PACKAGE_READY);
    assert_int_equal(why.len, 0);
    assert_int_equal(packages_state(p, STR("unheard_of"), &why), PACKAGE_NOT_NEEDED);
    struct packages_paths paths = packages_paths(p);
    assert_int_equal(paths.count, 2);
    assert_string_equal(paths.items[0].data,
            in_world(&s->world, "ws/.pyddock/venv/lib/python3.11/site-packages").data);
    assert_string_equal(paths.items[1].data, in_world(&s->world, "ws/pkg/src").data);
    packages_destroy(p);
}

/* Something was to be done, and without a launcher it was not; that is told. */
static void check_changed(struct stamped *s, const char *why)
{
    struct str text;
    struct packages *p = packages_create(&s->config);
    packages_start(p);
    assert_int_equal(packages_state(p, STR("mod"), &text), PACKAGE_FAILED);
    if (!strstr(text.data, why))
        fail_msg("'%s' is not in: %s", why, text.data);
    packages_destroy(p);
}

static void test_unchanged_starts_nothing(void **state UNUSED)
{
    struct stamped s;
    open_stamped(&s);
    check_unchanged(&s);
    check_unchanged(&s);
    close_stamped(&s);
}

static void test_other_project_file(void **state UNUSED)
{
    struct stamped s;
    open_stamped(&s);
    put(&s.world, "ws/pkg/pyproject.toml", PROJECT "version = \"2\"\n");
    check_changed(&s, NOWHERE);
    /* What failed is tried again at the next start. */
    check_changed(&s, NOWHERE);
    put(&s.world, "ws/pkg/pyproject.toml", NULL);
    check_changed(&s, "there is no pyproject.toml in '");
    put(&s.world, "ws/pkg/setup.py", PROJECT);
    write_stamp(&s, good_stamp(&s));
    check_unchanged(&s);
    close_stamped(&s);
}

static void test_other_interpreter_or_environment(void **state UNUSED)
{
    struct stamped s;
    open_stamped(&s);
    put(&s.world, "interpreter", "a newer one");
    check_changed(&s, NOWHERE);
    write_stamp(&s, good_stamp(&s));
    check_unchanged(&s);
    put(&s.world, "ws/.pyddock/venv/pyvenv.cfg", NULL);
    check_changed(&s, NOWHERE);
    put(&s.world, "interpreter", NULL);
    unlink(in_world(&s.world, "interpreter").data);
    check_changed(&s, "there is no '");
    close_stamped(&s);
}

static void test_other_allowlist(void **state UNUSED)
{
    struct stamped s;
    struct str why;
    open_stamped(&s);
    load_policy(&s, IMPORTS "no_such_module = \"no-such-thing\"\n");
    struct packages *p = packages_create(&s.config);
    packages_start(p);
    assert_int_equal(packages_state(p, STR("mod"), NULL), PACKAGE_READY);
    assert_int_equal(packages_state(p, STR("no_such_module"), &why), PACKAGE_FAILED);
    assert_non_null(strstr(why.data, "no_such_module is allowed but not installed"));
    assert_non_null(strstr(why.data, "pyddock.toml:8)"));
    packages_destroy(p);
    close_stamped(&s);
}

static void test_what_is_replaced_is_not_installed(void **state UNUSED)
{
    struct stamped s;
    open_stamped(&s);
    load_policy(&s, IMPORTS "[import_overrides]\nweather = true\n");
    struct packages *p = packages_create(&s.config);
    packages_start(p);
    assert_int_equal(packages_state(p, STR("weather"), NULL), PACKAGE_NOT_NEEDED);
    assert_int_equal(packages_started(p), 0);
    packages_destroy(p);
    close_stamped(&s);
}

static void test_stamp_that_says_nothing(void **state UNUSED)
{
    static const char *const texts[] = { NULL, "", "{", "[]", "null", "{}", "\xff\xfe",
        "{\"interpreter\":1,\"allowlist_hash\":[],\"workspace\":3,\"stdlib\":\"json\"}",
        "{\"workspace\":{\"mod\":{}}}" };
    struct stamped s;
    open_stamped(&s);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        put(&s.world, "ws/.pyddock/installed.json", texts[i]);
        check_changed(&s, NOWHERE);
    }
    close_stamped(&s);
}

/* Each part of a stamp counts: without it, all is done again. */
static void test_stamp_with_a_part_missing(void **state UNUSED)
{
    static const char *const keys[] = { "interpreter", "venv_created", "workspace",
        "version", "stdlib" };
    struct stamped s;
    open_stamped(&s);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        json_t *stamp = good_stamp(&s);
        json_object_del(stamp, keys[i]);
        write_stamp(&s, stamp);
        check_changed(&s, NOWHERE);
    }
    close_stamped(&s);
}

static void test_links_are_not_followed(void **state UNUSED)
{
    struct stamped s;
    struct error err;
    open_stamped(&s);
    struct world *w = &s.world;
    const char *folder = in_world(w, "ws/.pyddock").data;
    /* A stamp, a lock and a temporary file that lead elsewhere. */
    rename(in_world(w, "ws/.pyddock/installed.json").data, in_world(w, "stamp").data);
    make_link(w, "ws/.pyddock/installed.json", "../../stamp");
    assert_null(stamp_read(folder));
    put(w, "victim", "mine");
    make_link(w, "ws/.pyddock/installing.lock", "../../victim");
    int fd = -1;
    assert_false(lock_take(folder, &fd, &err));
    make_link(w, arena_printf(w->arena, "ws/.pyddock/installed.json.%d", getpid()),
            "../../victim");
    write_stamp(&s, json_pack("{}"));
    struct stat st;
    assert_int_equal(stat(in_world(w, "victim").data, &st), 0);
    assert_int_equal(st.st_size, 4);
    assert_int_equal(lstat(in_world(w, "ws/.pyddock/installed.json").data, &st), 0);
    assert_true(S_ISREG(st.st_mode));
    /* An environment that is elsewhere is not used. */
    rename(in_world(w, "ws/.pyddock/venv").data, in_world(w, "venv").data);
    make_link(w, "ws/.pyddock/venv", "../../venv");
    struct packages *p = packages_create(&s.config);
    assert_int_equal(packages_paths(p).count, 0);
    packages_destroy(p);
    close_stamped(&s);
}

static void test_lock_is_for_one(void **state UNUSED)
{
    struct stamped s;
    struct error err = { 0 };
    open_stamped(&s);
    const char *folder = in_world(&s.world, "ws/.pyddock").data;
    int first = -1, second = -1;
    assert_true(lock_take(folder, &first, &err));
    assert_false(lock_take(folder, &second, &err));
    assert_int_equal(err.code, ERR_EXISTS);
    assert_true(fcntl(first, F_GETFD) & FD_CLOEXEC);
    close_fd(&first);
    assert_true(lock_take(folder, &second, &err));
    close_fd(&second);
    close_stamped(&s);
}

static void count_call(void *user)
{
    ++*(int *)user;
}

/* What another server installs is used when that is done, and not done again. */
static void test_another_server_installs(void **state UNUSED)
{
    struct stamped s;
    struct error err = { 0 };
    int lock = -1, calls = 0, cancelled = 0;
    open_stamped(&s);
    put(&s.world, "ws/pkg/pyproject.toml", PROJECT "version = \"2\"\n");
    assert_true(lock_take(in_world(&s.world, "ws/.pyddock").data, &lock, &err));
    struct packages *p = packages_create(&s.config);
    packages_start(p);
    assert_true(packages_is_busy(p));
    assert_int_equal(packages_state(p, STR("mod"), NULL), PACKAGE_INSTALLING);
    assert_non_null(strstr(packages_doing(p).data, "another server"));
    assert_non_null(packages_wait(p, STR("mod"), count_call, &calls));
    assert_null(packages_wait(p, STR("json"), count_call, &calls));
    packages_wait_cancel(packages_wait(p, STR("mod"), count_call, &cancelled));
    put(&s.world, "ws/pkg/pyproject.toml", PROJECT); /* now the stamp fits again */
    close_fd(&lock);
    while (packages_is_busy(p))
        uv_run(&s.loop, UV_RUN_ONCE);
    assert_int_equal(packages_state(p, STR("mod"), NULL), PACKAGE_READY);
    assert_int_equal(packages_started(p), 0);
    assert_int_equal(calls, 1);
    assert_int_equal(cancelled, 0);
    packages_destroy(p);
    close_stamped(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_modules_are_found_in_every_form),
        cmocka_unit_test(test_distributions_by_any_spelling),
        cmocka_unit_test(test_requirements_begin_with_a_name),
        cmocka_unit_test(test_source_by_layout),
        cmocka_unit_test(test_source_as_the_installation_says),
        cmocka_unit_test(test_source_does_not_leave_the_package),
        cmocka_unit_test(test_environment_of_pip),
        cmocka_unit_test(test_failure_is_told_by_the_last_words),
        cmocka_unit_test(test_allowlist_hash),
        cmocka_unit_test(test_unchanged_starts_nothing),
        cmocka_unit_test(test_other_project_file),
        cmocka_unit_test(test_other_interpreter_or_environment),
        cmocka_unit_test(test_other_allowlist),
        cmocka_unit_test(test_what_is_replaced_is_not_installed),
        cmocka_unit_test(test_stamp_that_says_nothing),
        cmocka_unit_test(test_stamp_with_a_part_missing),
        cmocka_unit_test(test_links_are_not_followed),
        cmocka_unit_test(test_lock_is_for_one),
        cmocka_unit_test(test_another_server_installs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
