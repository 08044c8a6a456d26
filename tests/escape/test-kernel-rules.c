/* What the kernel is asked to hold: found by looking at what exists. */
#include "machine.h"
#include "policy/pyre/pyre.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The rules as sorted lines: "hidden home/.npmrc", a folder with a slash. */
static const char *rules_of(const struct machine *m)
{
    static const char *const kinds[] = { "writable", "readable", "read-only", "hidden" };
    static char text[8192];
    struct kernel_rules rules;
    const char *lines[64];
    path_policy_kernel_rules(m->paths, m->arena, &rules);
    assert_true(rules.count <= ARRAY_LEN(lines));
    for (size_t i = 0; i < rules.count; i++) {
        const struct kernel_rule *r = &rules.items[i];
        assert_true(str_starts(r->path, str_of(m->top)));
        lines[i] = arena_printf(m->arena, "%s %s%s%s\n", kinds[r->kind],
                r->path.data + strlen(m->top) + 1, r->is_dir ? "/" : "",
                r->trusted_may ? " (trusted may)" : "");
    }
    qsort(lines, rules.count, sizeof(*lines), compare_lines);
    text[0] = 0;
    for (size_t i = 0; i < rules.count; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s", lines[i]);
    return text;
}

static void test_what_is_there(void **state UNUSED)
{
    struct machine m;
    machine_create(&m, geteuid());
    assert_string_equal(rules_of(&m), "hidden home/.aws/credentials (trusted may)\n"
                                      "hidden home/.npmrc\n"
                                      "hidden home/.ssh/ (trusted may)\n"
                                      "hidden ws/nested/.npmrc\n"
                                      "read-only ws/.git/\n"
                                      "read-only ws/.kiro/settings/\n"
                                      "read-only ws/.pyddock/\n"
                                      "read-only ws/nested/.git/\n"
                                      "read-only ws/tools/jobs/\n"
                                      "writable ws/\n"
                                      "writable ws/.pyddock/tmp/\n");
    machine_destroy(&m);
}

static void test_what_is_not_there(void **state UNUSED)
{
    struct machine m;
    machine_create(&m, geteuid());
    assert_int_equal(rename(machine_path(&m, "ws/.git"), machine_path(&m, "was")), 0);
    assert_int_equal(rename(machine_path(&m, "ws/tools"), machine_path(&m, "tools")), 0);
    assert_int_equal(rename(machine_path(&m, "home"), machine_path(&m, "gone")), 0);
    assert_string_equal(rules_of(&m), "hidden ws/nested/.npmrc\n"
                                      "read-only ws/.kiro/settings/\n"
                                      "read-only ws/.pyddock/\n"
                                      "read-only ws/nested/.git/\n"
                                      "writable ws/\n"
                                      "writable ws/.pyddock/tmp/\n");
    machine_destroy(&m);
}

/* A name that hides something hides what it leads to. */
static void test_links(void **state UNUSED)
{
    struct machine m;
    machine_create(&m, geteuid());
    assert_int_equal(rename(machine_path(&m, "home/.ssh"), machine_path(&m, "keys")), 0);
    assert_int_equal(symlink(machine_path(&m, "keys"), machine_path(&m, "home/.ssh")), 0);
    assert_int_equal(rename(machine_path(&m, "ws/.git"), machine_path(&m, "ws/g")), 0);
    assert_int_equal(symlink("g", machine_path(&m, "ws/.git")), 0);
    m.paths = path_policy_create(&m.policy, m.arena);
    const char *rules = rules_of(&m);
    assert_non_null(strstr(rules, "hidden keys/ (trusted may)\n"));
    assert_non_null(strstr(rules, "read-only ws/g/\n"));
    machine_destroy(&m);
}

/* What a guard allows beyond the writable paths. */
static void test_what_is_allowed(void **state UNUSED)
{
    struct machine m;
    struct error err;
    machine_create(&m, geteuid());
    assert_int_equal(mkdir(machine_path(&m, "paddock-allowed"), 0755), 0);
    struct policy_guard guards[] = { m.policy.guards[3] /* .env */,
        { .regex.text = STR("/paddock-allowed/"), .disposition = GUARD_ALLOW } };
    assert_true(pyre_create(guards[1].regex.text, 0, &guards[1].regex.pattern, &err));
    m.policy.guards = guards;
    m.policy.guard_count = ARRAY_LEN(guards);
    m.policy.writable[0].path = str_of(machine_path(&m, "ws/sub"));
    m.policy.protected_count = 0;
    m.paths = path_policy_create(&m.policy, m.arena);
    assert_string_equal(rules_of(&m), "writable paddock-allowed/\n"
                                      "writable ws/.env\n"
                                      "writable ws/sub/\n");
    pyre_destroy(guards[1].regex.pattern);
    machine_destroy(&m);
}

/* Nobody gets rid of a rule by making so many names that it is not found among them. */
static void test_in_a_crowd(void **state UNUSED)
{
    struct machine m;
    char name[64];
    machine_create(&m, geteuid());
    for (int i = 0; i < 21000; i++) {
        snprintf(name, sizeof(name), "ws/%d", i);
        machine_write(&m, name, "");
    }
    assert_int_equal(rename(machine_path(&m, "ws/.git"), machine_path(&m, "ws/g")), 0);
    assert_int_equal(rename(machine_path(&m, "ws/g"), machine_path(&m, "ws/.git")), 0);
    machine_write(&m, "ws/.npmrc", "x");
    machine_write(&m, "ws/.kiro/settings.json", "x");
    const char *rules = rules_of(&m);
    assert_non_null(strstr(rules, "read-only ws/.git/\n"));
    assert_non_null(strstr(rules, "hidden ws/.npmrc\n"));
    assert_non_null(strstr(rules, "read-only ws/.kiro/settings.json\n"));
    machine_destroy(&m);
}

/* One writable path in another: whoever may write there can put a link in its place. */
static void test_a_writable_path_that_became_a_link(void **state UNUSED)
{
    struct machine m;
    machine_create(&m, geteuid());
    struct policy_path paths[] = { m.policy.writable[0],
        { STR("sub"), str_of(machine_path(&m, "ws/sub")), m.policy.writable[0].origin } };
    m.policy.writable = m.policy.readable = paths;
    m.policy.writable_count = m.policy.readable_count = 2;
    m.policy.readable_all = false;
    m.paths = path_policy_create(&m.policy, m.arena);
    assert_non_null(strstr(rules_of(&m), "writable ws/sub/\n"));
    assert_int_equal(rename(machine_path(&m, "ws/sub"), machine_path(&m, "ws/was")), 0);
    assert_int_equal(symlink("../home", machine_path(&m, "ws/sub")), 0);
    const char *rules = rules_of(&m);
    assert_null(strstr(rules, "writable home/\n"));
    assert_null(strstr(rules, "readable home/\n"));
    assert_non_null(strstr(rules, "writable ws/\n"));
    machine_destroy(&m);
}

static void make_repository(const struct machine *m, const char *folder)
{
    assert_int_equal(mkdir(machine_path(m, folder), 0755), 0);
    assert_int_equal(
            mkdir(arena_printf(m->arena, "%s/%s/.git", m->top, folder), 0755), 0);
}

/* Other repositories and what lies about in them; nothing is looked for in folders that
 * are hidden, nor behind links. */
static void test_nested(void **state UNUSED)
{
    struct machine m;
    machine_create(&m, geteuid());
    make_repository(&m, "ws/one");
    make_repository(&m, "ws/one/two");
    make_repository(&m, "ws/.cache");
    make_repository(&m, "out/three");
    machine_write(&m, "ws/one/.npmrc", "x");
    machine_write(&m, "ws/one/.npmrc.txt", "x");
    assert_int_equal(mkdir(machine_path(&m, "ws/one/.kiro"), 0755), 0);
    machine_write(&m, "ws/one/.kiro/settings.json", "x");
    machine_write(&m, "ws/one/two/.GIT", "x");
    const char *rules = rules_of(&m);
    assert_non_null(strstr(rules, "read-only ws/one/.git/\n"));
    assert_non_null(strstr(rules, "read-only ws/one/two/.git/\n"));
    assert_non_null(strstr(rules, "read-only ws/one/two/.GIT\n"));
    assert_non_null(strstr(rules, "read-only ws/one/.kiro/settings.json\n"));
    assert_non_null(strstr(rules, "hidden ws/one/.npmrc\n"));
    assert_null(strstr(rules, ".npmrc.txt"));
    assert_null(strstr(rules, ".cache"));
    assert_null(strstr(rules, "out/"));
    machine_destroy(&m);
}

static void test_there_is_an_end(void **state UNUSED)
{
    struct machine m;
    char path[64] = "ws/sub";
    struct kernel_rules rules;
    machine_create(&m, geteuid());
    for (int i = 0; i < 300; i++) {
        snprintf(path, sizeof(path), "ws/sub/%d", i);
        make_repository(&m, path);
    }
    path_policy_kernel_rules(m.paths, m.arena, &rules);
    assert_in_range(rules.count, 60, 150);
    machine_destroy(&m);
}

/* Where all of the machine may be written, what sets the kernel may not. */
static void test_settings(void **state UNUSED)
{
    struct machine m;
    struct kernel_rules rules;
    size_t found = 0;
    machine_create(&m, geteuid());
    m.policy.writable[0].path = STR("/");
    m.paths = path_policy_create(&m.policy, m.arena);
    path_policy_kernel_rules(m.paths, m.arena, &rules);
    for (size_t i = 0; i < rules.count; i++)
        found += rules.items[i].kind == KERNEL_READ_ONLY &&
                 (str_is(rules.items[i].path, "/proc") ||
                         str_is(rules.items[i].path, "/sys"));
    assert_int_equal(found, 2);
    machine_destroy(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_there),
        cmocka_unit_test(test_what_is_not_there),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_what_is_allowed),
        cmocka_unit_test(test_in_a_crowd),
        cmocka_unit_test(test_a_writable_path_that_became_a_link),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_there_is_an_end),
        cmocka_unit_test(test_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
