#include "session/store-url.h"

#include "unit.h"

static void test_good(void **state UNUSED)
{
    static const struct {
        const char *text, *user, *host, *path;
        unsigned port, database;
    } cases[] = {
        { "redis://localhost", "", "localhost", "", 6379, 0 },
        { "redis://localhost/", "", "localhost", "", 6379, 0 },
        { "redis://10.0.0.1:1", "", "10.0.0.1", "", 1, 0 },
        { "redis://bob@h:65535/9999", "bob", "h", "", 65535, 9999 },
        { "redis://[::1]", "", "::1", "", 6379, 0 },
        { "redis://a.b-c_1@[fd00::1]:7/3", "a.b-c_1", "fd00::1", "", 7, 3 },
        { "redis+unix:///run/r.sock", "", "", "/run/r.sock", 6379, 0 },
        { "redis+unix://bob@/run/a@b:c", "bob", "", "/run/a@b:c", 6379, 0 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct store_url url;
        struct error err;
        if (!store_url_parse(str_of(cases[i].text), &url, &err))
            fail_msg("'%s': %s", cases[i].text, err.message);
        assert_string_equal(url.user, cases[i].user);
        assert_string_equal(url.host, cases[i].host);
        assert_string_equal(url.path, cases[i].path);
        assert_int_equal(url.port, cases[i].port);
        assert_int_equal(url.database, cases[i].database);
    }
}

static void test_bad(void **state UNUSED)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "", "neither" },
        { "localhost:6379", "neither" },
        { "REDIS://h", "neither" },
        { "redis:/h", "neither" },
        { "rediss://h", "no TLS" },
        { "redis://", "no host" },
        { "redis://:6379", "no host" },
        { "redis:///0", "no host" },
        { "redis://h h", "no host" },
        { "redis://h%41", "no host" },
        { "redis://[::1", "no host" },
        { "redis://[]", "no host" },
        { "redis://[host]", "no host" },
        { "redis://h:", "port" },
        { "redis://h:0", "port" },
        { "redis://h:65536", "port" },
        { "redis://h:+1", "port" },
        { "redis://h:6379:1", "port" },
        { "redis://h/x", "database" },
        { "redis://h/10000", "database" },
        { "redis://h/-1", "database" },
        { "redis://h/0?a=b", "database" },
        { "redis://h/0#f", "database" },
        { "redis://h?x", "no host" },
        { "redis://[::1]x", "database" },
        { "redis://@h", "user" },
        { "redis://a b@h", "user" },
        { "redis://a@b@h", "user" },
        { "redis+unix://", "path" },
        { "redis+unix:///", "path" },
        { "redis+unix://run/r.sock", "begins with '/'" },
        { "redis+unix:///run/r?db=1", "path" },
        { "redis+unix://u:p@/r", "password" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct store_url url = { .port = 12 };
        struct error err;
        if (store_url_parse(str_of(cases[i].text), &url, &err))
            fail_msg("'%s' was taken", cases[i].text);
        if (!strstr(err.message, cases[i].want))
            fail_msg("'%s': '%s' has no '%s'", cases[i].text, err.message, cases[i].want);
        assert_int_equal(url.port, 12); /* untouched */
    }
}

/* Lengths, of which each is as it should be by one byte, or not. */
static void test_lengths(void **state UNUSED)
{
    struct store_url url;
    struct error err;
    char text[STORE_URL_MAX + 2];
    memset(text, 'x', sizeof(text));
    memcpy(text, "redis://", 8);
    assert_true(store_url_parse((struct str){ text, 8 + 253 }, &url, &err));
    assert_false(store_url_parse((struct str){ text, 8 + 254 }, &url, &err));
    text[8 + 128] = '@';
    assert_true(store_url_parse((struct str){ text, 8 + 130 }, &url, &err));
    text[8 + 128] = 'x';
    text[8 + 129] = '@';
    assert_false(store_url_parse((struct str){ text, 8 + 131 }, &url, &err));
    memcpy(text, "redis+unix:///", 14);
    memset(text + 14, 'x', 300);
    assert_true(store_url_parse((struct str){ text, 13 + 107 }, &url, &err));
    assert_false(store_url_parse((struct str){ text, 13 + 108 }, &url, &err));
    assert_false(store_url_parse((struct str){ text, STORE_URL_MAX + 1 }, &url, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_false(store_url_parse((struct str){ "redis+unix:///a\0b", 17 }, &url, &err));
    assert_false(store_url_parse((struct str){ "redis://a\0b", 11 }, &url, &err));
}

/* It is on no line that anybody could keep. */
static void test_password(void **state UNUSED)
{
    static const char *const texts[] = { "redis://bob:hunter2@h", "redis://:hunter2@h",
        "redis://bob:hunt@er2@h", "redis+unix://:hunter2@/r" };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct store_url url;
        struct error err;
        assert_false(store_url_parse(str_of(texts[i]), &url, &err));
        assert_non_null(strstr(err.message, "password"));
        assert_non_null(strstr(err.hint, "--state-password-file"));
        assert_null(strstr(err.message, "hunt"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_password),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
