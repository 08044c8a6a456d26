#include "policy/log/audit.h"
#include "policy/pyre/pyre.h"
#include "scratch.h"
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define GHP \
    "ghp"   \
    "_0123456789abcdefABCD"

/* A folder with a workspace and a place for logs; a policy that says so. */
struct world {
    struct arena *arena;
    char top[64];
    struct policy policy;
    struct policy_path writable;
};

static struct str at(struct world *w, const char *path)
{
    return str_of(arena_printf(w->arena, "%s/%s", w->top, path));
}

static int set_up(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));
    w->arena = arena_create();
    strcpy(w->top, "/tmp/paddock-audit-XXXXXX");
    scratch_make(w->top);
    if (mkdir(at(w, "ws").data, 0755) || mkdir(at(w, "home").data, 0755) ||
            mkdir(at(w, "logs").data, 0755))
        return -1;
    w->writable = (struct policy_path){ .path = at(w, "ws"), .origin = { "p.toml", 7 } };
    w->policy = (struct policy){
        .workspace = at(w, "ws"),
        .workspace_real = at(w, "ws"),
        .home = at(w, "home"),
        .writable = &w->writable,
        .writable_count = 1,
        .audit_log = { .path = at(w, "logs/a.jsonl"), .max_bytes = 1 << 20, .keep = 3 },
    };
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    scratch_remove(w->top);
    arena_destroy(w->arena);
    free(w);
    return 0;
}

static struct str slurp(struct world *w, const char *path)
{
    auto_fd int fd = open(at(w, path).data, O_RDONLY | O_CLOEXEC);
    char *data = arena_zalloc(w->arena, 1 << 20);
    ssize_t n = fd < 0 ? 0 : read(fd, data, 1 << 20);
    return (struct str){ data, n < 0 ? 0 : (size_t)n };
}

static void spill(struct world *w, const char *path, const char *text)
{
    auto_fd int fd =
            open(at(w, path).data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static bool exists(struct world *w, const char *path)
{
    return !faccessat(AT_FDCWD, at(w, path).data, F_OK, AT_SYMLINK_NOFOLLOW);
}

/* The nth line as JSON; the caller owns it. */
static json_t *record(struct str text, size_t n)
{
    struct str line = { 0 };
    json_t *value = NULL;
    struct error err = { 0 };
    for (size_t i = 0; i <= n; i++) {
        assert_true(text.len > 0);
        line = str_cut(&text, '\n');
    }
    if (!json_parse(line, &value, &err))
        fail_msg("'%.*s': %s", STR_ARG(line), err.message);
    return value;
}

static struct audit *opened(struct world *w, bool debug)
{
    struct audit *a = NULL;
    struct error err = { 0 };
    if (!audit_open(&w->policy, debug, &a, &err))
        fail_msg("%s", err.message);
    return a;
}

static void put(struct audit *a, const char *args)
{
    json_auto_t *json = NULL;
    struct error err;
    assert_true(json_parse(str_of(args), &json, &err));
    audit_call(a, &(struct audit_call){ .session = STR("s1"),
                          .tool = STR("run_shell"),
                          .args = json,
                          .decision = "allow",
                          .exit_status = AUDIT_NO_EXIT,
                          .bytes = 12,
                          .duration_us = 345 });
}

static void test_record(void **state)
{
    struct world *w = *state;
    struct audit *a = opened(w, false);
    json_auto_t *args = json_pack("{s:s, s:s}", "path", "a", "content", "abc");
    json_auto_t *writes = json_pack("[{s:s, s:s}]", "path", "/srv/a", "op", "write");
    audit_call(a, &(struct audit_call){ .session = STR("s1"),
                          .tool = STR("fs_append"),
                          .trace = STR("00-aa-bb-01"),
                          .args = args,
                          .decision = "deny",
                          .rule = STR("[filesystem] writable_paths"),
                          .is_error = true,
                          .exit_status = 3,
                          .writes = writes,
                          .writes_left_out = 7 });
    put(a, "{}");
    audit_close(a);
    struct str text = slurp(w, "logs/a.jsonl");
    json_auto_t *first = record(text, 0), *second = record(text, 1);
    assert_true(str_is(json_get_str(first, "tool", STR("")), "fs_append"));
    assert_true(str_is(json_get_str(first, "decision", STR("")), "deny"));
    assert_true(str_is(json_get_str(first, "trace", STR("")), "00-aa-bb-01"));
    assert_true(json_is_true(json_object_get(first, "is_error")));
    assert_int_equal(json_integer_value(json_object_get(first, "exit")), 3);
    assert_true(json_equal(json_object_get(first, "writes"), writes));
    assert_int_equal(json_integer_value(json_object_get(first, "writes_left_out")), 7);
    struct str t = json_get_str(first, "t", STR(""));
    assert_int_equal(t.len, strlen("2026-01-31T09:00:00.123456Z"));
    assert_int_equal(t.data[t.len - 1], 'Z');
    const json_t *content =
            json_object_get(json_object_get(first, "arguments"), "content");
    assert_int_equal(json_integer_value(json_object_get(content, "bytes")), 3);
    assert_true(str_is(json_get_str(content, "sha256", STR("")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
    assert_int_equal(json_integer_value(json_object_get(second, "duration_us")), 345);
    static const char *const absent[] = { "exit", "writes", "writes_left_out", "rule",
        "trace", "lost" };
    for (size_t i = 0; i < ARRAY_LEN(absent); i++)
        assert_null(json_object_get(second, absent[i]));
}

static void test_secrets_do_not_come_through(void **state)
{
    struct world *w = *state;
    static const char *const calls[] = {
        "{\"command\":\"curl\",\"args\":[\"-H\",\"Authorization: Bearer "
        "hunter2hunter2\"]}",
        "{\"command\":\"mysql\",\"args\":[\"--password\",\"hunter2\",\"-h\",\"db\"]}",
        "{\"command\":\"mysql\",\"args\":[\"--password=hunter2\"]}",
        "{\"command\":\"curl\",\"args\":[\"-u\",\"bob:a hunter2\"]}",
        "{\"command\":\"env\",\"env\":{\"GITHUB_TOKEN\":\"hunter2\",\"A\":\"b\"}}",
        "{\"nested\":{\"secret\":{\"deep\":[\"hunter2\",2]}}}",
        "{\"url\":\"https://me:hunter2@host/\"}",
        "{\"token\":2222222}",
        "{\"x\":\"" GHP "\"}",
        "{\"" GHP "\":1}",
    };
    struct audit *a = opened(w, true);
    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        put(a, calls[i]);
    audit_call(a, &(struct audit_call){ .tool = STR("x"),
                          .decision = "deny",
                          .rule = STR("no token=hunter2"),
                          .exit_status = AUDIT_NO_EXIT });
    audit_close(a);
    struct str text = slurp(w, "logs/a.jsonl");
    static const char *const secrets[] = { "hunter2", "2222222", GHP };
    for (size_t i = 0; i < ARRAY_LEN(secrets); i++)
        if (memmem(text.data, text.len, secrets[i], strlen(secrets[i])))
            fail_msg("'%s' is in the log: %.*s", secrets[i], STR_ARG(text));
    assert_non_null(memmem(text.data, text.len, "\"-h\",\"db\"", 9));
    assert_non_null(memmem(text.data, text.len, "\"A\":\"b\"", 7));
}

/* Long strings and too many are told by their digest; whole ones if that is asked for. */
static void test_arguments_are_bounded(void **state)
{
    struct world *w = *state;
    auto_buf many = BUF(1 << 20), longer = BUF(1 << 20);
    buf_add(&many, STR("{\"args\":[\"0123456789\""));
    for (int i = 0; i < 10000; i++)
        buf_add(&many, STR(",\"0123456789\""));
    buf_add(&many, STR("]}"));
    buf_add(&longer, STR("{\"command\":\""));
    for (int i = 0; i < 2000; i++)
        buf_addc(&longer, 'x');
    buf_add(&longer, STR("\",\"code\":\"a\"}"));
    for (int whole = 0; whole < 2; whole++) {
        w->policy.audit_log.arguments = whole;
        w->policy.audit_log.path = at(w, whole ? "logs/whole" : "logs/a.jsonl");
        struct audit *a = opened(w, false);
        put(a, many.data);
        put(a, longer.data);
        audit_close(a);
    }
    struct str brief = slurp(w, "logs/a.jsonl"), all = slurp(w, "logs/whole");
    assert_true(brief.len < 1000);
    json_auto_t *first = record(brief, 0), *second = record(brief, 1);
    assert_non_null(json_object_get(json_object_get(first, "arguments"), "sha256"));
    const json_t *args = json_object_get(second, "arguments");
    assert_int_equal(json_integer_value(
                             json_object_get(json_object_get(args, "command"), "bytes")),
            2000);
    assert_true(all.len > 120000);
    json_auto_t *last = record(all, 1);
    args = json_object_get(last, "arguments");
    assert_int_equal(json_get_str(args, "command", STR("")).len, 2000);
    assert_true(str_is(json_get_str(args, "code", STR("")), "a"));
}

static bool is_refused(struct world *w, bool debug, enum error_code code)
{
    struct audit *a = NULL;
    struct error err = { 0 };
    bool ok = audit_open(&w->policy, debug, &a, &err);
    audit_close(a);
    if (ok || err.code != code)
        print_error("%s: code %d\n", ok ? "was opened" : err.message, err.code);
    return !ok && err.code == code;
}

static void test_places(void **state)
{
    struct world *w = *state;
    struct policy_path cache = { .path = at(w, "cache"), .origin = { "p.toml", 9 } };
    struct policy_shell shell = { .writable = &cache, .writable_count = 1 };
    w->policy.shells = &shell;
    w->policy.shell_count = 1;
    assert_int_equal(mkdir(cache.path.data, 0755), 0);
    assert_int_equal(symlink(at(w, "ws").data, at(w, "logs/into").data), 0);
    assert_int_equal(symlink(at(w, "logs").data, at(w, "ws/out").data), 0);
    static const struct {
        const char *path;
        enum error_code code;
    } table[] = {
        { "ws/a.jsonl", ERR_DENIED },
        { "ws/new/a.jsonl", ERR_DENIED },
        { "cache/a.jsonl", ERR_DENIED },
        { "logs/into/a.jsonl", ERR_DENIED },
        { "ws/out/a.jsonl", ERR_DENIED },
        { "logs/../ws/a.jsonl", ERR_INVALID },
        { "logs/none/a.jsonl", ERR_NOT_FOUND },
        { "logs/", ERR_INVALID },
        { "logs", ERR_INVALID },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        w->policy.audit_log.path = at(w, table[i].path);
        if (!is_refused(w, false, table[i].code))
            fail_msg("%s", table[i].path);
    }
    assert_false(exists(w, "ws/a.jsonl") || exists(w, "ws/new") ||
                 exists(w, "logs/none") || exists(w, "cache/a.jsonl") ||
                 exists(w, "logs/a.jsonl"));
    w->policy.audit_log.path = STR("logs/a.jsonl");
    assert_true(is_refused(w, false, ERR_INVALID));
}

/* A guard may permit writing beside the writable paths. */
static void test_place_that_a_guard_permits(void **state)
{
    struct world *w = *state;
    struct error err = { 0 };
    struct policy_guard guard = { .regex.text = STR("/logs/"),
        .disposition = GUARD_ALLOW };
    assert_true(pyre_create(guard.regex.text, 0, &guard.regex.pattern, &err));
    w->policy.guards = &guard;
    w->policy.guard_count = 1;
    assert_true(is_refused(w, false, ERR_DENIED));
    assert_false(exists(w, "logs/a.jsonl"));
    pyre_destroy(guard.regex.pattern);
    w->policy.guard_count = 0;
    w->writable.path = STR("/");
    assert_true(is_refused(w, false, ERR_DENIED));
}

static void test_folders_are_made_at_home(void **state)
{
    struct world *w = *state;
    struct stat st;
    mode_t before = umask(0);
    w->policy.audit_log.path = at(w, "home/.local/state/paddock/a.jsonl");
    audit_close(opened(w, false));
    umask(before);
    assert_int_equal(stat(at(w, "home/.local/state/paddock").data, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(stat(w->policy.audit_log.path.data, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
}

static void test_what_stands_in_its_place(void **state)
{
    struct world *w = *state;
    spill(w, "victim", "keep\n");
    assert_int_equal(symlink(at(w, "victim").data, at(w, "logs/a.jsonl").data), 0);
    assert_true(is_refused(w, false, ERR_DENIED));
    unlink(at(w, "logs/a.jsonl").data);
    assert_int_equal(link(at(w, "victim").data, at(w, "logs/a.jsonl").data), 0);
    assert_true(is_refused(w, false, ERR_DENIED));
    unlink(at(w, "logs/a.jsonl").data);
    assert_int_equal(mkfifo(at(w, "logs/a.jsonl").data, 0600), 0);
    assert_true(is_refused(w, false, ERR_IO)); /* without a reader it does not open */
    unlink(at(w, "logs/a.jsonl").data);
    assert_true(str_is(slurp(w, "victim"), "keep\n"));
}

/* Planted while the log is open: nothing is written through it, no call fails. */
static void test_link_planted_later(void **state)
{
    struct world *w = *state;
    spill(w, "victim", "keep\n");
    struct audit *a = opened(w, false);
    put(a, "{}");
    assert_int_equal(rename(at(w, "logs/a.jsonl").data, at(w, "logs/old").data), 0);
    assert_int_equal(symlink(at(w, "victim").data, at(w, "logs/a.jsonl").data), 0);
    put(a, "{}");
    assert_true(str_is(slurp(w, "victim"), "keep\n"));
    unlink(at(w, "logs/a.jsonl").data);
    put(a, "{}");
    audit_close(a);
    json_decref(record(slurp(w, "logs/old"), 1));
    json_decref(record(slurp(w, "logs/a.jsonl"), 0));
}

static void test_owner_moves_it_away(void **state)
{
    struct world *w = *state;
    struct audit *a = opened(w, false);
    put(a, "{\"n\":1}");
    assert_int_equal(rename(at(w, "logs/a.jsonl").data, at(w, "logs/old").data), 0);
    put(a, "{\"n\":2}");
    assert_int_equal(rename(at(w, "logs").data, at(w, "logs2").data), 0);
    assert_int_equal(mkdir(at(w, "logs").data, 0755), 0);
    put(a, "{\"n\":3}"); /* the folder that is open has the file still */
    unlink(at(w, "logs2/a.jsonl").data);
    put(a, "{\"n\":4}");
    audit_close(a);
    json_auto_t *old = record(slurp(w, "logs2/old"), 0);
    json_auto_t *now = record(slurp(w, "logs/a.jsonl"), 0);
    assert_int_equal(
            json_integer_value(json_object_get(json_object_get(old, "arguments"), "n")),
            1);
    assert_int_equal(
            json_integer_value(json_object_get(json_object_get(now, "arguments"), "n")),
            4);
}

static size_t count_lines(struct world *w, unsigned files)
{
    size_t lines = 0;
    for (unsigned i = 0; i < files; i++) {
        char name[32];
        snprintf(name, sizeof(name), i ? "logs/a.jsonl.%u" : "logs/a.jsonl", i);
        struct str text = slurp(w, name);
        for (; text.len; lines++) {
            json_auto_t *value = record(text, 0);
            assert_true(json_is_object(value));
            str_cut(&text, '\n');
        }
    }
    return lines;
}

static void test_rotation(void **state)
{
    struct world *w = *state;
    struct stat st;
    w->policy.audit_log.max_bytes = 1000;
    w->policy.audit_log.keep = 100;
    struct audit *a = opened(w, false);
    for (int i = 0; i < 100; i++)
        put(a, "{\"path\":\"x\"}");
    audit_close(a);
    assert_int_equal(count_lines(w, 100), 100);
    assert_int_equal(stat(at(w, "logs/a.jsonl.1").data, &st), 0);
    assert_true(st.st_size <= 1000 && st.st_size > 500);
    w->policy.audit_log.keep = 2;
    a = opened(w, false);
    unlink(at(w, "logs/a.jsonl.3").data);
    for (int i = 0; i < 100; i++)
        put(a, "{\"path\":\"x\"}");
    audit_close(a);
    assert_true(exists(w, "logs/a.jsonl.2"));
    assert_false(exists(w, "logs/a.jsonl.3"));
}

static void test_servers_share_it(void **state)
{
    struct world *w = *state;
    enum { SERVERS = 3, LINES = 200 };
    w->policy.audit_log.max_bytes = 4000;
    w->policy.audit_log.keep = 900;
    pid_t pids[SERVERS];
    for (int i = 0; i < SERVERS; i++) {
        pids[i] = fork();
        if (pids[i])
            continue;
        struct audit *a = opened(w, false);
        for (int j = 0; j < LINES; j++)
            put(a, "{\"path\":\"x\"}");
        audit_close(a);
        _exit(0);
    }
    for (int i = 0; i < SERVERS; i++)
        waitpid(pids[i], NULL, 0);
    assert_int_equal(count_lines(w, 901), SERVERS * LINES);
}

/* In a child, since a limit on the size of files stands for the full disk. */
static void fill_disk(struct world *w)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, SIG_IGN);
    auto_fd int err = open(at(w, "stderr").data, O_WRONLY | O_CREAT | O_APPEND, 0600);
    struct audit *a = opened(w, false);
    put(a, "{\"n\":1}");
    dup2(err, STDERR_FILENO);
    size_t size = slurp(w, "logs/a.jsonl").len;
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){ size + 10, limit.rlim_max });
    put(a, "{\"n\":2}");
    put(a, "{\"n\":3}");
    setrlimit(RLIMIT_FSIZE, &limit);
    put(a, "{\"n\":4}");
    audit_close(a);
}

static void test_full_disk(void **state)
{
    struct world *w = *state;
    int status;
    pid_t pid = fork();
    if (!pid) {
        fill_disk(w);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    struct str text = slurp(w, "logs/a.jsonl"), said = slurp(w, "stderr");
    json_auto_t *last = record(text, 2); /* behind the torn line */
    assert_int_equal(json_integer_value(json_object_get(last, "lost")), 2);
    assert_non_null(memmem(said.data, said.len, "audit log", 9));
    str_cut(&said, '\n');
    assert_int_equal(said.len, 0);
}

/* Nobody can keep its owner from it, but it does not go unseen. */
static void test_cut_off(void **state)
{
    struct world *w = *state;
    auto_fd int old = dup(STDERR_FILENO);
    auto_fd int err = open(at(w, "stderr").data, O_WRONLY | O_CREAT | O_APPEND, 0600);
    struct audit *a = opened(w, false);
    dup2(err, STDERR_FILENO);
    put(a, "{\"n\":1}");
    put(a, "{\"n\":2}");
    bool was_quiet = !slurp(w, "stderr").len;
    assert_int_equal(truncate(at(w, "logs/a.jsonl").data, 0), 0);
    put(a, "{\"n\":3}");
    put(a, "{\"n\":4}");
    audit_close(a);
    dup2(old, STDERR_FILENO);
    struct str said = slurp(w, "stderr");
    assert_true(was_quiet);
    assert_non_null(memmem(said.data, said.len, "was cut off\n", 12));
    str_cut(&said, '\n');
    assert_int_equal(said.len, 0);
    assert_int_equal(count_lines(w, 1), 2);
}

static void event(
        struct audit *a, const char *name, const char *decision, struct str detail)
{
    audit_event(a, &(struct audit_event){ .event = name,
                           .decision = decision,
                           .caller = "AGENT",
                           .pid = 42,
                           .detail = detail });
}

static void test_events(void **state)
{
    struct world *w = *state;
    struct policy_audit rules[] = {
        { .event = STR("os.*"), .disposition = AUDIT_FS_WRITE },
        { .event = STR("os.walk"), .disposition = AUDIT_OBSERVE },
        { .event = STR("open"), .disposition = AUDIT_FS },
        { .event = STR("import"), .disposition = AUDIT_ALLOW },
    };
    w->policy.audit_log.path = STR("");
    w->policy.audit = rules;
    w->policy.audit_count = ARRAY_LEN(rules);
    struct audit *off = opened(w, false);
    assert_false(audit_wants_events(off));
    event(off, "open", "allow", STR("x"));
    audit_close(off);
    assert_false(exists(w, "ws/.pyddock"));
    struct audit *a = opened(w, true);
    assert_true(audit_wants_events(a));
    put(a, "{}");
    char detail[900];
    memset(detail, 'y', sizeof(detail));
    memcpy(detail, "x\n\xC3\xA9 token=abc ", 15);
    event(a, "open", "deny", (struct str){ detail, sizeof(detail) });
    event(a, "os.remove", "allow", STR("/a | /b"));
    event(a, "os.walk", "allow", STR("/"));
    event(a, "import", "allow", STR("json"));
    event(a, "socket.connect", "deny", STR("addr"));
    audit_event(a, &(struct audit_event){ .event = "import",
                           .decision = "allow",
                           .caller = "AGENT",
                           .detail = STR("os"),
                           .always = true });
    audit_event(a, &(struct audit_event){ .event = "pyddock_mcp.call",
                           .decision = "deny",
                           .caller = "AGENT",
                           .detail = STR("box"),
                           .always = true });
    audit_close(a);
    struct str text = slurp(w, "ws/.pyddock/tmp/audit.jsonl");
    json_auto_t *first = record(text, 0), *second = record(text, 1),
                *third = record(text, 2), *fourth = record(text, 3);
    assert_true(json_is_real(json_object_get(first, "t")));
    assert_int_equal(json_integer_value(json_object_get(first, "pid")), 42);
    assert_true(str_is(json_get_str(first, "decision", STR("")), "deny"));
    assert_true(str_is(json_get_str(first, "caller", STR("")), "AGENT"));
    struct str said = json_get_str(first, "detail", STR(""));
    assert_int_equal(said.len, 301); /* one of the characters has two bytes */
    assert_true(str_starts(said, STR("x\n\xC3\xA9 token=*** yyy")));
    assert_true(str_is(json_get_str(second, "event", STR("")), "os.remove"));
    assert_true(str_is(json_get_str(third, "decision", STR("")), "observe"));
    assert_true(str_is(json_get_str(fourth, "event", STR("")), "pyddock_mcp.call"));
    assert_true(str_is(json_get_str(fourth, "decision", STR("")), "deny"));
    for (int i = 0; i < 4; i++)
        str_cut(&text, '\n');
    assert_int_equal(text.len, 0);
}

static void test_debug_log_is_not_led_elsewhere(void **state)
{
    struct world *w = *state;
    spill(w, "victim", "keep\n");
    w->policy.audit_log.path = STR("");
    assert_int_equal(mkdir(at(w, "ws/.pyddock").data, 0755), 0);
    assert_int_equal(symlink(at(w, "logs").data, at(w, "ws/.pyddock/tmp").data), 0);
    assert_true(is_refused(w, true, ERR_DENIED));
    assert_false(exists(w, "logs/audit.jsonl"));
    unlink(at(w, "ws/.pyddock/tmp").data);
    assert_int_equal(mkdir(at(w, "ws/.pyddock/tmp").data, 0755), 0);
    assert_int_equal(
            symlink(at(w, "victim").data, at(w, "ws/.pyddock/tmp/audit.jsonl").data), 0);
    assert_true(is_refused(w, true, ERR_DENIED));
    assert_true(str_is(slurp(w, "victim"), "keep\n"));
}

static void test_nothing_to_record(void **state)
{
    (void)state;
    audit_call(NULL, &(struct audit_call){ .decision = "allow" });
    audit_event(NULL, &(struct audit_event){ .event = "open" });
    assert_false(audit_wants_events(NULL));
    audit_close(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_record),
        TEST(test_secrets_do_not_come_through),
        TEST(test_arguments_are_bounded),
        TEST(test_places),
        TEST(test_place_that_a_guard_permits),
        TEST(test_folders_are_made_at_home),
        TEST(test_what_stands_in_its_place),
        TEST(test_link_planted_later),
        TEST(test_owner_moves_it_away),
        TEST(test_rotation),
        TEST(test_servers_share_it),
        TEST(test_full_disk),
        TEST(test_cut_off),
        TEST(test_events),
        TEST(test_debug_log_is_not_led_elsewhere),
        cmocka_unit_test(test_nothing_to_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
