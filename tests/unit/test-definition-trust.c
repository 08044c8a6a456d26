/* Which definition files are believed, and what is protected for the servers in them. */
#include "definition-world.h"
#include "policy/paths.h"

#include "unit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOOL "{\"mcpServers\": {\"box\": {\"command\": \"tool\", \"args\": [\"%s\"]}}}"

/* A definition that tells by its argument where it was. */
static void put_definition(const struct world *w, const char *name, const char *argument)
{
    auto_buf text = BUF(4096);
    buf_addf(&text, TOOL, argument);
    put(w, name, text.data);
}

static const char *answer(const struct definitions *d)
{
    return d->all.count ? d->all.items[0].argv[1] : NULL;
}

static void expect(const struct definitions *d, const char *want)
{
    const char *got = answer(d);
    if (!want != !got || (want && strcmp(want, got) != 0))
        fail_msg("%s instead of %s", got ? got : "nothing", want ? want : "nothing");
}

static void make_folders(const struct world *w)
{
    static const char *const names[] = { "home/.kiro", "home/.kiro/settings",
        "home/.cursor", "ws/.kiro", "ws/.kiro/settings", "ws/.vscode", "ws/.cursor" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        make_folder(w, names[i]);
}

#define NARROW "[filesystem]\nwritable_paths = [\"scratch\"]\n"

/* Later files win. */
static void test_order(void **state UNUSED)
{
    static const char *const names[] = { "home/.kiro/settings/mcp.json",
        "home/.cursor/mcp.json", "ws/.kiro/settings/mcp.json", "ws/.vscode/mcp.json",
        "ws/.cursor/mcp.json", "ws/.mcp.json", "ws/.pyddock/mcp.json" };
    struct definitions d;
    open_definitions(&d);
    make_folders(&d.world);
    make_folder(&d.world, "ws/scratch");
    load_definitions(&d, NARROW BOX);
    expect(&d, NULL);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        put_definition(&d.world, names[i], names[i]);
        load_definitions(&d, NARROW BOX);
        expect(&d, names[i]);
        assert_int_equal(d.policy->warnings.count, 0);
        assert_int_equal(d.all.file_count, 7);
    }
    /* What is wrong later does not bring back what came before. */
    put(&d.world, "ws/.pyddock/mcp.json", "{\"mcpServers\": {\"box\": 5}}");
    load_definitions(&d, NARROW BOX);
    expect(&d, NULL);
    close_definitions(&d);
}

/* With the usual policy, which lets all of the workspace be written. */
static void test_writable(void **state UNUSED)
{
    static const struct {
        const char *name;
        bool read;
        const char *guard;
    } cases[] = {
        { "home/.kiro/settings/mcp.json", true, NULL },
        { "home/.cursor/mcp.json", true, NULL },
        { "ws/.kiro/settings/mcp.json", true, NULL },
        { "ws/.vscode/mcp.json", false, "'/\\.vscode/mcp\\.json$' = \"read-only\"" },
        { "ws/.cursor/mcp.json", false, "'/\\.cursor/mcp\\.json$' = \"read-only\"" },
        { "ws/.mcp.json", false, "'/\\.mcp\\.json$' = \"read-only\"" },
        { "ws/.pyddock/mcp.json", true, NULL },
    };
    struct definitions d;
    open_definitions(&d);
    make_folders(&d.world);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        put_definition(&d.world, cases[i].name, "x");
        load_definitions(&d, BOX);
        expect(&d, cases[i].read ? "x" : NULL);
        if (!cases[i].read) {
            assert_true(is_warned(&d, "is not read, because agents may write '"));
            if (!is_warned(&d, cases[i].guard))
                fail_msg("%s", d.policy->warnings.items[0].text.data);
            /* What the warning says helps. */
            auto_buf text = BUF(4096);
            buf_addf(&text, BOX "[filesystem.guards]\n%s\n", cases[i].guard);
            load_definitions(&d, text.data);
            expect(&d, "x");
        }
        put(&d.world, cases[i].name, NULL);
    }
    close_definitions(&d);
}

static void test_home_writable(void **state UNUSED)
{
    struct definitions d;
    open_definitions(&d);
    make_folders(&d.world);
    put_definition(&d.world, "home/.cursor/mcp.json", "x");
    load_definitions(&d, BOX "[filesystem]\nwritable_paths = [\".\", \"~/.cursor\"]\n");
    expect(&d, NULL);
    load_definitions(&d, BOX "[filesystem]\nwritable_paths = [\".\", \"~\"]\n");
    expect(&d, NULL);
    load_definitions(&d,
            BOX "[filesystem]\nwritable_paths = [\".\", \"~\"]\n"
                "[filesystem.guards]\n'/\\.cursor/mcp\\.json$' = \"read-only\"\n");
    expect(&d, "x");
    /* A guard that only looks as if. */
    load_definitions(&d,
            BOX "[filesystem]\nwritable_paths = [\".\", \"~\"]\n"
                "[filesystem.guards]\n'/\\.cursor/mcp\\.jso$' = \"read-only\"\n");
    expect(&d, NULL);
    /* A single command may write there. */
    load_definitions(&d, BOX "[shell.x]\nmode = \"allow\"\n"
                             "writable_paths = [\"~/.cursor\"]\n");
    expect(&d, NULL);
    close_definitions(&d);
}

/* A guard keeps the file, but does not say which folders lead to what it names. */
static void test_folder_moved(void **state UNUSED)
{
    struct definitions d;
    open_definitions(&d);
    make_folders(&d.world);
    put_definition(&d.world, "ws/.cursor/mcp.json", "x");
    load_definitions(&d, BOX "[filesystem.guards]\n"
                             "'/\\.(cursor|vscode)/mcp' = \"read-only\"\n");
    expect(&d, NULL);
    assert_true(is_warned(&d, "'/\\.cursor/mcp\\.json$' = \"read-only\""));
    load_definitions(&d, BOX "[filesystem.guards]\n"
                             "'/\\.(cursor|vscode)/mcp' = \"read-only\"\n"
                             "'/\\.cursor/mcp\\.json$' = \"read-only\"\n");
    expect(&d, "x");
    close_definitions(&d);
}

static void test_links(void **state UNUSED)
{
    static const char link[] = "it is a link: put the file itself there";
    static const struct {
        const char *name, *target; /* a link, and where it leads */
        const char *name2, *target2;
        bool read;
        const char *help;
        const char *guards; /* with which it is read, or still not */
        bool read_then;
    } cases[] = {
        /* Both are safe. */
        { "ws/.pyddock/mcp.json", "../../safe/mcp.json", NULL, NULL, true, NULL, NULL,
                true },
        { "ws/.pyddock/mcp.json", "deep/../mcp2.json", "ws/.pyddock/mcp2.json",
                "../../safe/mcp.json", true, NULL, NULL, true },
        { "home/.cursor", "../safe", NULL, NULL, true, NULL, NULL, true },
        /* The link is, where it leads is not. */
        { "ws/.pyddock/mcp.json", "../open/mcp.json", NULL, NULL, false,
                "'/open/mcp\\.json$' = \"read-only\"",
                "'/open/mcp\\.json$' = \"read-only\"", true },
        { "home/.cursor", "../ws/open", NULL, NULL, false, "'/open/mcp\\.json$'",
                "'/open/' = \"read-only\"", true },
        /* Where it leads is, but the link can be replaced: the kernel keeps none. */
        { "ws/.cursor", "../safe", NULL, NULL, false, link,
                "'/\\.cursor$' = \"read-only\"", false },
        { "ws/.mcp.json", "../safe/mcp.json", NULL, NULL, false, link,
                "'/\\.mcp\\.json$' = \"read-only\"", false },
        /* Unless its folder is kept. */
        { "ws/.pyddock/mcp.json", "../conf/hop", "ws/conf/hop", "../../safe/mcp.json",
                false, link, "'/conf/' = \"read-only\"", true },
        /* The first and the last are, one between is not. */
        { "ws/.pyddock/mcp.json", "../hop", "ws/hop", "../safe/mcp.json", false, link,
                "'/hop$' = \"read-only\"", false },
        { "home/.cursor", "../ws/hop", "ws/hop", "../safe", false, link,
                "'/hop$' = \"deny-all\"", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct definitions d;
        open_definitions(&d);
        make_folder(&d.world, "safe");
        make_folder(&d.world, "ws/open");
        make_folder(&d.world, "ws/conf");
        make_folder(&d.world, "ws/.pyddock/deep");
        put_definition(&d.world, "safe/mcp.json", "x");
        put_definition(&d.world, "ws/open/mcp.json", "x");
        make_link(&d.world, cases[i].name, cases[i].target);
        if (cases[i].name2)
            make_link(&d.world, cases[i].name2, cases[i].target2);
        load_definitions(&d, BOX);
        if ((d.all.count > 0) != cases[i].read ||
                (cases[i].help && !is_warned(&d, cases[i].help)))
            fail_msg("%s -> %s: %zu", cases[i].name, cases[i].target, d.all.count);
        if (cases[i].guards) {
            auto_buf text = BUF(4096);
            buf_addf(&text, BOX "[filesystem.guards]\n%s\n", cases[i].guards);
            load_definitions(&d, text.data);
            if ((d.all.count > 0) != cases[i].read_then)
                fail_msg("%s -> %s: %zu with %s", cases[i].name, cases[i].target,
                        d.all.count, cases[i].guards);
        }
        close_definitions(&d);
    }
}

/* A guard that the file tools hold, and the kernel is not told of. */
static void test_guard_not_kept(void **state UNUSED)
{
    struct definitions d;
    open_definitions(&d);
    make_folder(&d.world, "ws/a");
    make_folder(&d.world, "ws/a/.hidden");
    make_folder(&d.world, "ws/a/.hidden/deep");
    put_definition(&d.world, "ws/a/.hidden/deep/x.json", "x");
    make_link(&d.world, "ws/.pyddock/mcp.json", "../a/.hidden/deep/x.json");
    load_definitions(
            &d, BOX "[filesystem.guards]\n'(a/.hidden/deep|no/such)' = \"read-only\"\n");
    expect(&d, NULL);
    load_definitions(&d,
            BOX "[filesystem.guards]\n'(a/.hidden/deep|no/such)' = \"read-only\"\n"
                "'/a/\\.hidden/deep/' = \"read-only\"\n");
    expect(&d, "x");
    close_definitions(&d);
}

static void test_ring(void **state UNUSED)
{
    struct definitions d;
    open_definitions(&d);
    make_link(&d.world, "ws/.pyddock/mcp.json", "mcp2.json");
    make_link(&d.world, "ws/.pyddock/mcp2.json", "mcp.json");
    load_definitions(&d, BOX);
    expect(&d, NULL);
    close_definitions(&d);
}

static void test_hard_link(void **state UNUSED)
{
    struct definitions d;
    open_definitions(&d);
    put_definition(&d.world, "ws/.pyddock/mcp.json", "x");
    assert_int_equal(link(in_world(&d.world, "ws/.pyddock/mcp.json").data,
                             in_world(&d.world, "ws/other").data),
            0);
    load_definitions(&d, BOX);
    expect(&d, NULL);
    assert_true(is_warned(&d, "it has 2 names"));
    close_definitions(&d);
}

static bool may_write(const struct definitions *d, const char *name)
{
    const struct path_policy *paths = path_policy_create(d->policy, d->world.arena);
    return path_allowed(paths, in_world(&d->world, name), PATH_WRITE, NULL);
}

static void put_command(
        const struct definitions *d, const char *command, const char *args)
{
    auto_buf text = BUF(4096);
    buf_addf(&text, "{\"mcpServers\": {\"box\": {\"command\": \"%s\", \"args\": [%s]}}}",
            command, args);
    put(&d->world, "ws/.pyddock/mcp.json", text.data);
}

static void test_program_protected(void **state UNUSED)
{
    struct definitions d;
    open_definitions(&d);
    make_folder(&d.world, "ws/srv");
    make_folder(&d.world, "ws/srv/bin");
    put_program(&d.world, "ws/srv/bin/box");
    put_command(&d, "srv/bin/box", "");
    load_definitions(&d, BOX);
    assert_int_equal(d.all.count, 1);
    assert_string_equal(
            d.all.items[0].program, in_world(&d.world, "ws/srv/bin/box").data);
    assert_string_equal(d.all.items[0].argv[0], "srv/bin/box");
    const struct policy_protected *place = find_server_place(&d, "ws/srv/bin");
    assert_non_null(place);
    assert_string_equal(place->origin.file, ".pyddock/mcp.json");
    assert_false(may_write(&d, "ws/srv/bin/box"));
    assert_false(may_write(&d, "ws/srv/bin/other"));
    assert_true(may_write(&d, "ws/srv/ok.txt"));
    assert_true(is_warned(&d, "is started from files in places where agents may write"));
    const struct path_policy *paths = path_policy_create(d.policy, d.world.arena);
    assert_false(path_tree_allowed(paths, in_world(&d.world, "ws/srv"), NULL));
    close_definitions(&d);
}

/* The link, the folder of the link, and where it leads. */
static void test_program_links(void **state UNUSED)
{
    struct definitions d;
    open_definitions(&d);
    make_folder(&d.world, "ws/pkg");
    make_folder(&d.world, "ws/bin");
    put_program(&d.world, "ws/pkg/main");
    make_link(&d.world, "ws/bin/box", "../pkg/main");
    make_link(&d.world, "ws/by", "bin");
    put_command(&d, in_world(&d.world, "ws/by/box").data, "");
    load_definitions(&d, BOX);
    assert_int_equal(d.all.count, 1);
    /* "by" is in the workspace itself, where the kernel cannot keep it. */
    assert_string_equal(d.all.items[0].program, in_world(&d.world, "ws/bin/box").data);
    assert_false(may_write(&d, "ws/by"));
    assert_false(may_write(&d, "ws/bin/box"));
    assert_false(may_write(&d, "ws/pkg/main"));
    assert_true(may_write(&d, "ws/other"));
    close_definitions(&d);
}

/* A program in a root of what may be written is protected alone. */
static void test_program_in_root(void **state UNUSED)
{
    struct definitions d;
    open_definitions(&d);
    put_program(&d.world, "ws/box");
    put_command(&d, "./box", "");
    load_definitions(&d, BOX);
    assert_int_equal(d.all.count, 1);
    assert_false(may_write(&d, "ws/box"));
    assert_true(may_write(&d, "ws/other"));
    make_folder(&d.world, "ws/.pyddock/tmp");
    put_program(&d.world, "ws/.pyddock/tmp/box");
    put_command(&d, ".pyddock/tmp/box", "");
    load_definitions(&d, BOX);
    assert_int_equal(d.all.count, 1);
    assert_false(may_write(&d, "ws/.pyddock/tmp/box"));
    assert_true(may_write(&d, "ws/.pyddock/tmp/other"));
    close_definitions(&d);
}

static void put_url(const struct definitions *d, const char *variable)
{
    auto_buf text = BUF(4096);
    buf_addf(&text,
            "{\"mcpServers\": {\"box\": {\"url\": \"https://h/\", \"env\": "
            "{\"SSL_CERT_FILE\": \"%s\"}}}}",
            variable);
    put(&d->world, "ws/.pyddock/mcp.json", text.data);
}

/* Whom a server with a URL is to be trusted by is not for agents to say. */
static void test_trusted_certificates(void **state UNUSED)
{
    struct definitions d;
    open_definitions(&d);
    put(&d.world, "ws/ca.pem", "x");
    put_url(&d, in_world(&d.world, "ws/ca.pem").data);
    load_definitions(&d, BOX);
    assert_int_equal(d.all.count, 1);
    assert_false(may_write(&d, "ws/ca.pem"));
    assert_true(may_write(&d, "ws/other.pem"));
    put_url(&d, "ca.pem");
    load_definitions(&d, BOX);
    assert_int_equal(d.all.count, 0);
    assert_true(is_warned(&d, "its SSL_CERT_FILE is no path that begins with '/'"));
    close_definitions(&d);
}

static void test_url_without_network(void **state UNUSED)
{
    struct definitions d;
    open_definitions(&d);
    put_url(&d, "/ca.pem");
    load_definitions(&d, "[mcp.box]\nnetwork = false\nsandbox = \"workspace\"\n" BOX);
    assert_int_equal(d.all.count, 0);
    assert_true(is_warned(&d, "has a \"url\", and its section [mcp.box] says network = "
                              "false"));
    close_definitions(&d);
}

/* A link where the kernel cannot keep it is not needed to start the program. */
static void test_program_link_in_root(void **state UNUSED)
{
    struct definitions d;
    open_definitions(&d);
    make_folder(&d.world, "ws/pkg");
    make_folder(&d.world, "out");
    put_program(&d.world, "ws/pkg/main");
    put_program(&d.world, "out/main");
    make_link(&d.world, "ws/box", "pkg/main");
    make_link(&d.world, "ws/far", "../out");
    put_command(&d, "./box", "");
    load_definitions(&d, BOX);
    assert_int_equal(d.all.count, 1);
    assert_string_equal(d.all.items[0].program, in_world(&d.world, "ws/pkg/main").data);
    assert_string_equal(d.all.items[0].argv[0], "./box");
    assert_false(may_write(&d, "ws/pkg/other"));
    put_command(&d, "far/main", "");
    load_definitions(&d, BOX);
    assert_string_equal(d.all.items[0].program, in_world(&d.world, "out/main").data);
    close_definitions(&d);
}

/* Where nobody may write, nothing is added. */
static void test_program_outside(void **state UNUSED)
{
    struct definitions d;
    open_definitions(&d);
    make_folder(&d.world, "ws/bin");
    put_program(&d.world, "ws/bin/tool"); /* first in PATH, and skipped there */
    put_command(&d, "tool", "\"/bin/sh\", \".pyddock/mcp.json\"");
    load_definitions(&d, BOX);
    assert_int_equal(d.all.count, 1);
    assert_string_equal(d.all.items[0].program, in_world(&d.world, "bin/tool").data);
    for (size_t i = 0; i < d.policy->protected_count; i++)
        assert_int_not_equal(d.policy->protected[i].kind, PROTECTED_SERVER);
    assert_int_equal(d.policy->warnings.count, 0);
    close_definitions(&d);
}

static void test_path_of_definition(void **state UNUSED)
{
    struct definitions d;
    open_definitions(&d);
    make_folder(&d.world, "ws/bin");
    put_program(&d.world, "ws/bin/tool");
    auto_buf text = BUF(4096);
    buf_addf(&text,
            "{\"mcpServers\": {\"box\": {\"command\": \"tool\", \"env\": {\"PATH\": "
            "\"bin:%s\"}}}}",
            in_world(&d.world, "ws/bin").data);
    put(&d.world, "ws/.pyddock/mcp.json", text.data);
    load_definitions(&d, BOX);
    assert_int_equal(d.all.count, 1);
    assert_string_equal(d.all.items[0].program, in_world(&d.world, "ws/bin/tool").data);
    assert_false(may_write(&d, "ws/bin/tool"));
    assert_false(may_write(&d, "ws/bin/other"));
    close_definitions(&d);
}

static void test_arguments(void **state UNUSED)
{
    struct definitions d;
    open_definitions(&d);
    make_folder(&d.world, "ws/src");
    make_folder(&d.world, "ws/docs");
    make_folder(&d.world, "ws/pkg");
    put(&d.world, "ws/src/server.py", "x");
    put(&d.world, "ws/src/conf.json", "x");
    put(&d.world, "ws/src/pre.js", "x");
    put(&d.world, "ws/pkg/__main__.py", "x");
    make_link(&d.world, "ws/link.py", "src/server.py");
    auto_buf args = BUF(4096);
    buf_addf(&args,
            "\"src/server.py\", \"--config=src/conf.json\", \"file://%s\", \"docs\", "
            "\"src/absent.txt\", \"x\"",
            in_world(&d.world, "ws/src/pre.js").data);
    put_command(&d, "tool", args.data);
    load_definitions(&d, BOX);
    assert_int_equal(d.all.count, 1);
    assert_false(may_write(&d, "ws/src/server.py"));
    assert_false(may_write(&d, "ws/src/conf.json"));
    assert_false(may_write(&d, "ws/src/pre.js"));
    assert_true(may_write(&d, "ws/src/other.py"));
    assert_true(may_write(&d, "ws/docs/a.md"));
    assert_int_equal(d.policy->warnings.count, 1);
    put_command(&d, "tool", "\"link.py\"");
    load_definitions(&d, BOX);
    assert_int_equal(d.all.count, 0);
    assert_true(is_warned(&d, "it is given a file by the link '"));
    make_folder(&d.world, "ws/by");
    make_link(&d.world, "ws/by/link.py", "../src/server.py");
    put_command(&d, "tool", "\"by/link.py\", \"pkg\"");
    load_definitions(&d, BOX);
    assert_int_equal(d.all.count, 1);
    assert_false(may_write(&d, "ws/by/link.py"));
    assert_false(may_write(&d, "ws/by/other"));
    assert_false(may_write(&d, "ws/src/server.py"));
    assert_true(may_write(&d, "ws/src/conf.json"));
    assert_true(is_warned(&d, "is given the folder 'pkg', where agents may write"));
    close_definitions(&d);
}

/* A file that is not there when paddock starts could be made by those it is kept from. */
static void test_missing(void **state UNUSED)
{
    static const struct {
        const char *command, *args;
        bool refused;
    } cases[] = {
        { "tool", "\"dist/index.js\"", true },
        { "tool", "\"-u\", \"--require=pre.mjs\"", true },
        { "tool", "\"file:///srv/x.js\"", false }, /* no agent writes there */
        { "tool", "\"https://example.org/x.ts\"", false },
        { "tool", "\"--db\", \"data/new.db\", \"out\"", false },
        { "node", "\"dist/index\"", true },
        { "node", "\"there/index\"", true }, /* finds there/index.js */
        { "node", "\"there/index.js\", \"more\"", false },
        { "python3", "\"server\"", true },
        { "python3", "\"-m\", \"server\"", false }, /* that is warned of */
        { "npx", "\"-y\", \"highlight.js\"", false },
        { "npx", "\"tsx\", \"src/new.ts\"", true },
        { "sh", "\"-c\", \"exec node dist/x.js\"", false },
    };
    struct definitions d;
    open_definitions(&d);
    make_folder(&d.world, "ws/scratch");
    make_folder(&d.world, "ws/there");
    put(&d.world, "ws/there/index.js", "x");
    put_program(&d.world, "bin/node");
    put_program(&d.world, "bin/npx");
    put_program(&d.world, "bin/sh");
    put_program(&d.world, "bin/python3");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        put_command(&d, cases[i].command, cases[i].args);
        load_definitions(&d, BOX);
        if (cases[i].refused != !d.all.count ||
                cases[i].refused != is_warned(&d, "which is no file yet"))
            fail_msg("%s %s", cases[i].command, cases[i].args);
        load_definitions(&d, NARROW BOX);
        assert_int_equal(d.all.count, 1);
    }
    close_definitions(&d);
}

static void test_launchers(void **state UNUSED)
{
    static const struct {
        const char *command, *args;
        bool warned;
    } cases[] = {
        { "npx", "\"-y\", \"@foo/server@1.2.3\"", true },
        { "uvx", "\"server\"", true },
        { "python3", "\"-u\", \"-m\", \"server\"", true },
        { "python3", "\"/lib/x.py\", \"-m\"", false },
        { "tool", "\"-m\"", false },
        { "sh", "\"-ec\", \"exec node srv.js\"", true },
        { "sh", "\"--context\", \"-c\"", true },
        { "sh", "\"/lib/srv.sh\", \"-c\"", false },
    };
    struct definitions d;
    open_definitions(&d);
    make_folder(&d.world, "ws/scratch");
    put_program(&d.world, "bin/npx");
    put_program(&d.world, "bin/uvx");
    put_program(&d.world, "bin/sh");
    put_program(&d.world, "bin/python3");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        put_command(&d, cases[i].command, cases[i].args);
        load_definitions(&d, BOX);
        assert_int_equal(d.all.count, 1);
        if (is_warned(&d, " in the workspace, where agents may write") != cases[i].warned)
            fail_msg("%s %s", cases[i].command, cases[i].args);
        load_definitions(&d, BOX "[mcp.box]\nsandbox = \"workspace\"\n");
        assert_int_equal(d.policy->warnings.count, 0);
        load_definitions(&d, NARROW BOX);
        assert_int_equal(d.policy->warnings.count, 0);
    }
    close_definitions(&d);
}

static void test_environment(void **state UNUSED)
{
    static const struct {
        const char *env;
        bool warned;
    } cases[] = {
        { "\"PYTHONPATH\": \"src\"", true },
        { "\"PATH\": \"/bin:%s\"", true },
        { "\"PATH\": \"/bin::/usr/bin\"", true },
        { "\"LD_PRELOAD\": \"./x.so\"", true },
        { "\"PATH\": \"/bin:/usr/bin\"", false },
        { "\"LD_PRELOAD\": \"/lib/x.so\"", false },
        { "\"PYTHONPATH\": \".pyddock/lib\"", false },
        { "\"DATA\": \"src\"", false },
    };
    struct definitions d;
    open_definitions(&d);
    make_folder(&d.world, "ws/src");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_buf text = BUF(4096), env = BUF(4096);
        const char *mark = strstr(cases[i].env, "%s");
        size_t before = mark ? (size_t)(mark - cases[i].env) : strlen(cases[i].env);
        buf_add(&env, (struct str){ cases[i].env, before });
        if (mark)
            buf_addf(&env, "%s%s", in_world(&d.world, "ws/src").data, mark + 2);
        buf_addf(&text,
                "{\"mcpServers\": {\"box\": {\"command\": \"/bin/true\", \"env\": "
                "{%s}}}}",
                env.data);
        put(&d.world, "ws/.pyddock/mcp.json", text.data);
        load_definitions(&d, BOX);
        assert_int_equal(d.all.count, 1);
        if (is_warned(&d, "names a place where agents may write") != cases[i].warned)
            fail_msg("%s", text.data);
    }
    close_definitions(&d);
}

static void check_changed(const struct definitions *d, const char *want)
{
    auto_buf text = BUF(4096);
    bool changed = peer_definitions_changed(&d->all, &text);
    assert_true(changed == (want[0] != 0));
    assert_string_equal(buf_str(&text).data, want);
}

/* Nothing that happens to a file afterwards is obeyed; it is told. */
static void test_changed(void **state UNUSED)
{
    struct definitions d;
    open_definitions(&d);
    make_folders(&d.world);
    put_definition(&d.world, "ws/.pyddock/mcp.json", "x");
    load_definitions(&d, BOX);
    expect(&d, "x");
    check_changed(&d, "");
    put_definition(&d.world, "ws/.cursor/mcp.json", "y"); /* which is never read */
    check_changed(&d, "");
    put_definition(&d.world, "home/.cursor/mcp.json", "y");
    check_changed(&d, "~/.cursor/mcp.json");
    put_definition(&d.world, "ws/.pyddock/mcp.json", "y");
    check_changed(&d, "~/.cursor/mcp.json, .pyddock/mcp.json");
    put(&d.world, "home/.cursor/mcp.json", NULL);
    put(&d.world, "ws/.pyddock/mcp.json", NULL);
    check_changed(&d, ".pyddock/mcp.json");
    expect(&d, "x");
    close_definitions(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_writable),
        cmocka_unit_test(test_home_writable),
        cmocka_unit_test(test_folder_moved),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_guard_not_kept),
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_hard_link),
        cmocka_unit_test(test_program_protected),
        cmocka_unit_test(test_program_links),
        cmocka_unit_test(test_program_in_root),
        cmocka_unit_test(test_program_link_in_root),
        cmocka_unit_test(test_trusted_certificates),
        cmocka_unit_test(test_url_without_network),
        cmocka_unit_test(test_program_outside),
        cmocka_unit_test(test_path_of_definition),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_launchers),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
