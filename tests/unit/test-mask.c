#include "policy/log/mask.h"
#include "sanitized.h"
#include "unit.h"

#include <time.h>

static void test_names(void **state)
{
    (void)state;
    static const char *const secret[] = { "token", "TOKEN", "GITHUB_TOKEN", "githubToken",
        "gh-token", "GHTOKEN", "--token", "X-Auth-Token", "password", "DB_PASSWORD",
        "PGPASSWORD", "password2", "MYSQL_PWD", "DB_PASS", "SSHPASS", "passphrase",
        "client_secret", "clientSecret", "AWS_SECRET_ACCESS_KEY", "apiKey", "APIKey",
        "api-key", "OPENAI_API_KEY", "STRIPE_KEY", "GITHUB_PAT", "Authorization", "auth",
        "NPM_AUTH", "cookie", "Set-Cookie", "credentials", "SECRET_1", "TOKEN_PROD" };
    static const char *const plain[] = { "", "-", "path", "PATH", "HOME", "PWD", "OLDPWD",
        "key", "monkey", "author", "GIT_AUTHOR_NAME", "SSH_AUTH_SOCK", "XAUTHORITY",
        "TOKENIZERS_PARALLELISM", "tokenizer", "compass", "BYPASS", "passenger",
        "PATTERN", "TOKEN_FILE", "password_length", "keyboard", "LANG", "secretary" };
    for (size_t i = 0; i < ARRAY_LEN(secret); i++)
        if (!mask_is_secret_name(str_of(secret[i])))
            fail_msg("'%s' is taken as harmless", secret[i]);
    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        if (mask_is_secret_name(str_of(plain[i])))
            fail_msg("'%s' is taken as a secret", plain[i]);
}

/* In two parts, so that no scanner takes this file for a leak. */
#define GHP \
    "ghp"   \
    "_0123456789abcdefABCD"
#define AKIA \
    "AKIA"   \
    "ABCDEFGHIJ234567"
#define JWT                 \
    "eyJ"                   \
    "hbGciOiJIUzI1NiJ9.eyJ" \
    "zdWIiOiIxIn0.c2lnbmF0dXJl"
#define PEM(what) \
    "-----BEGIN " what "PRIVATE KEY-----\nMIIEow\n-----END " what "PRIVATE KEY-----"

#define DIGITS "0123456789abcdef0123456789abcdef"
#define TICKET "shell_" DIGITS DIGITS

static void test_text(void **state)
{
    (void)state;
    static const struct {
        const char *text, *masked;
    } table[] = {
        { "", "" },
        { "nothing to hide", "nothing to hide" },
        { GHP, "***" },
        { "x " GHP " y", "x *** y" },
        { "a-" GHP, "a-***" },
        { "a" GHP, "a" GHP },
        { "github"
          "_pat_11AAAAAAA0123456789",
                "***" },
        { "sk"
          "-ant-api03-0123456789abcdef",
                "***" },
        { "risk-assessment-of-everything", "risk-assessment-of-everything" },
        { "sk-short", "sk-short" },
        { "xox"
          "b-1234-5678-abcd",
                "***" },
        { "id " AKIA ".", "id ***." },
        { "AKIASHORT", "AKIASHORT" },
        { "jwt: " JWT, "jwt: ***" },
        { "eyJustAWord.eyes", "eyJustAWord.eyes" },
        { "a " PEM("RSA ") " b", "a *** b" },
        { PEM(""), "***" },
        { "-----BEGIN OPENSSH PRIVATE KEY-----\ncut off", "***" },
        { "-----BEGIN CERTIFICATE-----\nMII", "-----BEGIN CERTIFICATE-----\nMII" },
        { "https://bob:hunter2@host/x", "https://***@host/x" },
        { "https://sometoken@host/x", "https://***@host/x" },
        { "postgres://bob:hunter2@db:5432/x", "postgres://***@db:5432/x" },
        { "ssh://git@host/x", "ssh://git@host/x" },
        { "https://host/@scope/x", "https://host/@scope/x" },
        { "https://host:80/x", "https://host:80/x" },
        { "token=abc&x=1", "token=***&x=1" },
        { "PASSWORD=hunter2 make", "PASSWORD=*** make" },
        { "{\"apiKey\": \"a b c\", \"n\": 1}", "{\"apiKey\": \"***\", \"n\": 1}" },
        { "secret='it\\'s'", "secret='***'" },
        { "secret=\"no end", "secret=\"***" },
        { "mysql --password hunter2 -h db", "mysql --password *** -h db" },
        { "args=['--password', 'hunter2', '-h']", "args=['--password', '***', '-h']" },
        { "[\"--token\",\"--x\",\"y\"]", "[\"--token\",\"--x\",\"y\"]" },
        { "[\"--token\",\"x\"]", "[\"--token\",\"***\"]" },
        { "tool --token --verbose", "tool --token --verbose" },
        { "tool --password=hunter2", "tool --password=***" },
        { "the password is long", "the password is long" },
        { "token::Kind", "token::Kind" },
        { "if (token == 3)", "if (token == 3)" },
        { "Authorization: Bearer abc.def", "Authorization: Bearer ***" },
        { "Authorization: Basic YTpi", "Authorization: Basic ***" },
        { "bearer 0123456789", "bearer ***" },
        { "the bearer is me", "the bearer is me" },
        { "author=me", "author=me" },
        { "token=", "token=" },
        { "password=a\\ b c", "password=*** c" },
        { "password=a\"b\"c d", "password=*** d" },
        { "password='a'b c", "password='*** c" },
        { "password=a,b --x", "password=*** --x" },
        { "\"password=a\",\"b\"", "\"password=***\",\"b\"" },
        { "token=`cat x`; y", "token=`***`; y" },
        { "token=$(cat x) y", "token=$(***) y" },
        { "curl -u bob:hunter2 https://h", "curl -u bob:*** https://h" },
        { "curl --user 'bob:a b' -v", "curl --user 'bob:***' -v" },
        { "['-u', 'bob:x', '-v']", "['-u', 'bob:***', '-v']" },
        { "curl --user=bob:x", "curl --user=bob:***" },
        { "git push -u origin main", "git push -u origin main" },
        { "x-u a:b", "x-u a:b" },
        { "a-" GHP "-token=x", "a-***-token=***" },
        { "b." GHP ".token=x", "b.***.token=***" },
        { "[" TICKET "]", "[***]" },
        { "shell_0123456789abcdef", "shell_0123456789abcdef" },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        auto_buf out = BUF(1 << 16);
        mask_text(str_of(table[i].text), &out);
        if (!str_is(buf_str(&out), table[i].masked))
            fail_msg("'%s' became '%.*s'", table[i].text, STR_ARG(buf_str(&out)));
    }
}

static void test_shapes(void **state)
{
    (void)state;
    assert_true(mask_has_secret(STR("x=" GHP)));
    assert_true(mask_has_secret(STR("redis://:pw@host")));
    assert_true(mask_has_secret(STR(PEM("EC "))));
    assert_false(mask_has_secret(STR("token=abc")));
    assert_false(mask_has_secret(STR("/usr/bin:/bin")));
    assert_false(mask_has_secret(STR("")));
}

/* Bytes that begin many shapes and finish none. */
static void test_is_linear(void **state)
{
    (void)state;
    static const char *const parts[] = { "eyJ-", "eyJ.", "sk-", "://a:", "token ", "-u a",
        "-u ", "--token ", "bearer ", "-----BEGIN ", "token=\"\"", "a.token-", "\"",
        "eyJa.eyJ " };
    enum { SIZE = SANITIZED ? 1 << 17 : 1 << 20 };
    auto_free char *text = xmalloc(SIZE);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        size_t len = strlen(parts[i]);
        for (size_t at = 0; at < SIZE; at++)
            text[at] = parts[i][at % len];
        auto_buf out = BUF(4 * SIZE);
        clock_t started = clock();
        mask_text((struct str){ text, SIZE }, &out);
        if (clock() - started > 5 * CLOCKS_PER_SEC) /* under a sanitizer too */
            fail_msg("'%s' repeated takes too long", parts[i]);
        assert_false(out.full);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
