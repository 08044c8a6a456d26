#include "config-world.h"
#include "policy/pyre/pyre.h"

#include "unit.h"

static void check_error(struct world *w, const char *text, bool overlay, const char *want)
{
    struct policy *policy = NULL;
    struct error err = { 0 };
    put_policy(w, text, overlay);
    if (load(w, NULL, &policy, &err))
        fail_msg("%s: is taken", text);
    const char *file =
            overlay ? ".pyddock/pyddock.override.toml:" : ".pyddock/pyddock.toml:";
    assert_non_null(strstr(err.message, file));
    assert_null(strchr(err.message, '\n'));
    bool whole = strncmp(want + 1, ": not TOML", 10) != 0; /* else it is toml++'s text */
    const char *got = strchr(err.message, ':') + 1;
    if (whole ? strcmp(got, want) : strncmp(got, want, strlen(want)))
        fail_msg("%s:\n  %s\n  %s", text, err.message, want);
}

struct bad {
    const char *text, *want; /* behind the name of the file and its colon */
};

static void check_all(const struct bad *cases, size_t count, bool overlay)
{
    struct world w;
    open_world(&w);
    for (size_t i = 0; i < count; i++)
        check_error(&w, cases[i].text, overlay, cases[i].want);
    close_world(&w);
}

/* Over the built-in policy: what is wrong stands in the overlay. */
static void test_errors(void **state UNUSED)
{
    static const struct bad cases[] = {
        { "[filesytem]\n", "1: filesytem: unknown section; did you mean 'filesystem'?" },
        { "\nextra = 1\n", "2: extra: unknown section" },
        { "execution = 30\n", "1: [execution]: must be a table, not a whole number" },
        { "[execution]\ntimeout = 0\n",
                "2: [execution] timeout: must be a number of seconds above 0 and at most "
                "2000000, not 0" },
        { "[execution]\ntimeout = -1.5\n",
                "2: [execution] timeout: must be a number of seconds above 0 and at most "
                "2000000, not -1.5" },
        { "[execution]\ntimeout = nan\n",
                "2: [execution] timeout: must be a number of seconds above 0 and at most "
                "2000000, not nan" },
        { "[execution]\nmax_timeout = inf\n",
                "2: [execution] max_timeout: must be a number of seconds above 0 and at "
                "most 2000000, not inf" },
        { "[execution]\ntimeout = true\n",
                "2: [execution] timeout: must be a number of seconds, not a boolean" },
        { "[execution]\ntimeout = \"soon\"\n",
                "2: [execution] timeout: must be a number of seconds, not a string" },
        { "[execution]\ntimout = 3\n",
                "2: [execution] timout: unknown key; did you mean 'timeout'?" },
        { "[imports]\na = true\nmath = 3\n", "3: [imports] math: must be true, false, a "
                                             "distribution's name or a path, "
                                             "not a whole number" },
        { "[imports.colorsys]\nallowed = true\n",
                "1: [imports] colorsys: must be true, false, a distribution's name or a "
                "path, not a table" },
        { "[imports]\n\"os.path\" = true\n",
                "2: [imports] os.path: only whole modules are named here; write 'os'" },
        { "[imports]\npython-dateutil = true\n",
                "2: [imports] python-dateutil: is no name of a module" },
        { "[imports]\nyaml = \"--index-url=x\"\n",
                "2: [imports] yaml: '--index-url=x' is no name of a distribution, nor a "
                "path" },
        { "[imports]\npkgutil = true\n[import_overrides]\nsqlite3 = true\n",
                "2: [imports] pkgutil: must be false while [import_overrides] sqlite3 is "
                "on (.pyddock/pyddock.override.toml:4)" },
        { "[import_overrides]\nsqlite3 = \"yes\"\n",
                "2: [import_overrides] sqlite3: must be true or false, not a string" },
        { "[import_overrides]\n\"a.b\" = true\n",
                "2: [import_overrides] a.b: only whole modules are named here; write "
                "'a'" },
        { "[filesystem]\nwritable_paths = \".\"\n",
                "2: [filesystem] writable_paths: must be a list of strings, not a "
                "string" },
        { "[filesystem]\nwritable_paths = [\n\".\",\n3]\n",
                "4: [filesystem] writable_paths: must be a list of strings only, not a "
                "whole number" },
        { "[filesystem]\nwritable_paths = [\"out/**\"]\n",
                "2: [filesystem] writable_paths: 'out/**' is a pattern: name the folder, "
                "which stands for all below it, and leave out parts with "
                "[filesystem.guards]" },
        { "[filesystem]\nreadable_paths = [\n\n\"a?\"]\n",
                "4: [filesystem] readable_paths: 'a?' is a pattern: name the folder, "
                "which stands for all below it, and leave out parts with "
                "[filesystem.guards]" },
        { "[filesystem]\nreadable_paths = [\"\"]\n",
                "2: [filesystem] readable_paths: must not be empty, nor contain a NUL" },
        { "[filesystem]\nreadable_paths = [\"~you/x\"]\n",
                "2: [filesystem] readable_paths: '~you/x': '~' stands for your own home "
                "only" },
        { "[filesystem]\nguards = [\"/x/\"]\n",
                "2: [filesystem.guards]: must be a table, not an array" },
        { "[filesystem.guards]\n'/hush/' = \"keep-out\"\n",
                "2: [filesystem.guards] '/hush/': 'keep-out' is none of deny-agent, "
                "deny-all, read-only, workspace, allow" },
        { "[filesystem.guards]\n'/hush/' = \"read_only\"\n",
                "2: [filesystem.guards] '/hush/': 'read_only' is none of deny-agent, "
                "deny-all, read-only, workspace, allow; did you mean 'read-only'?" },
        { "[filesystem.guards]\n'/(hush/' = \"deny-all\"\n",
                "2: [filesystem.guards] '/(hush/': the pattern '/(hush/' is wrong: "
                "missing ), unterminated subpattern at position 1" },
        { "[filesystem.guards]\n\"a\\n[\\n-\\t]\" = \"deny-all\"\n",
                "2: [filesystem.guards] 'a?[?-?]': the pattern 'a?[?-?]' is wrong: bad "
                "character range ?-? at position 3" },
        { "[filesystem.guards]\n\"/a\\u0000\" = \"deny-all\"\n",
                "2: [filesystem.guards] '/a?': a NUL byte is in no name and no argument, "
                "so the pattern never matches" },
        { "[filesystem.guards]\n'' = \"deny-all\"\n",
                "2: [filesystem.guards]: an empty pattern matches every path" },
        { "[ast]\nblock_calls = [\"eval\", 1]\n",
                "2: [ast] block_calls: must be a list of strings only, not a whole "
                "number" },
        { "[audit]\n\"os.rename\" = \"sometimes\"\n",
                "2: [audit] os.rename: 'sometimes' is none of fs, fs-write, "
                "fs-write-pair, agent-deny, network, shell, observe, allow, "
                "sqlite-connect" },
        { "[audit]\n\"os.*.x\" = \"allow\"\n",
                "2: [audit] 'os.*.x': must be the name of an event, or its beginning and "
                "a '*' at the end" },
        { "[restrictions.decimal]\nmode = \"maybe\"\n",
                "2: [restrictions.decimal] mode: 'maybe' is none of deny, allow" },
        { "[restrictions.decimal]\nmodule_deny = []\n",
                "1: [restrictions.decimal] mode: is missing; \"deny\" permits only what "
                "is allowed, \"allow\" all but what is denied" },
        { "[restrictions.polars]\nclass_deny = [\"a\", \"b(\"]\n",
                "2: [restrictions.polars] class_deny: the pattern 'b(' is wrong: missing "
                "), unterminated subpattern at position 1" },
        { "[restrictions]\npolars = 1\n",
                "2: [restrictions.polars]: must be a table, not a whole number" },
        { "[shell.make]\nallow = [\"test\"]\n", "1: [shell.make] mode: is missing; "
                                                "\"deny\" permits only what is allowed, "
                                                "\"allow\" all but what is denied" },
        { "[shell.make]\nmode = \"deny\"\nalow = [\"test\"]\n",
                "3: [shell.make] alow: unknown key; did you mean 'allow'?" },
        { "[shell.make]\nmode = \"deny\"\nallow = [\"test\", \"b[uild\"]\n",
                "3: [shell.make] allow: the pattern 'b[uild' is wrong: unterminated "
                "character set at position 1" },
        { "[shell.make]\nmode = \"deny\"\nallow = \"test\"\n",
                "3: [shell.make] allow: must be a list of strings, not a string" },
        { "[shell.make]\nmode = \"allow\"\ndeny = [\n\"x\",\n\"*\"]\n",
                "5: [shell.make] deny: the pattern '*' is wrong: nothing to repeat at "
                "position 0" },
        { "[shell.make]\nmode = \"allow\"\ncommand = \"make(\"\n",
                "3: [shell.make] command: the pattern 'make(' is wrong: missing ), "
                "unterminated subpattern at position 4" },
        { "[shell.make]\nmode = \"allow\"\ncommand = \"\"\n",
                "3: [shell.make] command: an empty pattern matches all" },
        { "[shell.\"g++(\"]\nmode = \"allow\"\n",
                "1: [shell.'g++('] command: is missing, and the name of the section is "
                "no "
                "pattern" },
        { "[shell.make]\nmode = \"allow\"\narg_paths = \"all\"\n",
                "3: [shell.make] arg_paths: 'all' is none of workspace, protected, "
                "none" },
        { "[shell.make]\nmode = \"allow\"\nsandbox = \"off\"\n",
                "3: [shell.make] sandbox: 'off' is none of workspace, none" },
        { "[shell.make]\nmode = \"allow\"\nnetwork = 0\n",
                "3: [shell.make] network: must be true or false, not a whole number" },
        { "[shell.make]\nmode = \"allow\"\nwritable_paths = [\"~/.cache/*\"]\n",
                "3: [shell.make] writable_paths: '~/.cache/*' is a pattern: name the "
                "folder, which stands for all below it, and leave out parts with "
                "[filesystem.guards]" },
        { "[shell.make]\nmode = \"allow\"\n[shell.make.env]\ndefault = \"free\"\n",
                "4: [shell.make.env] default: 'free' is none of inert, snapshot" },
        { "[shell.make]\nmode = \"allow\"\nenv = true\n",
                "3: [shell.make.env]: must be a table, not a boolean" },
        { "[shell]\nmake = \"allow\"\n",
                "2: [shell.make]: must be a table, not a string" },
        { "[env]\ndeny = [\"A\", \"(\"]\n",
                "2: [env] deny: the pattern '(' is wrong: missing ), unterminated "
                "subpattern at position 0" },
        { "[env]\npass = [1]\n",
                "2: [env] pass: must be a list of strings only, not a whole number" },
        { "[env]\ndefault = \"inherit\"\n",
                "2: [env] default: 'inherit' is none of inert, snapshot; did you mean "
                "'inert'?" },
        { "[deny_messages]\n\"^curl\" = 404\n",
                "2: [deny_messages] '^curl': must be a string, not a whole number" },
        { "[deny_messages]\n\"curl)\" = \"no\"\n",
                "2: [deny_messages] 'curl)': the pattern 'curl)' is wrong: unbalanced "
                "parenthesis at position 4" },
        { "[mcp.box]\ntools = [\"get_.*\"]\n",
                "2: [mcp.box.tools]: must be a table, not an array" },
        { "[mcp.box]\ndescription = 5\ntools = {}\n",
                "2: [mcp.box] description: must be a string, not a whole number" },
        { "[mcp.box]\ntools = { \"get_.*\" = 1 }\n",
                "2: [mcp.box.tools] 'get_.*': must be true or false, not a whole "
                "number" },
        { "[mcp.box.tools]\n\"get_(\" = true\n",
                "2: [mcp.box.tools] 'get_(': the pattern 'get_(' is wrong: missing ), "
                "unterminated subpattern at position 4" },
        { "[mcp.box]\ncommand = \"x\"\n", "2: [mcp.box] command: unknown key" },
        { "[mcp.box]\nkeepalive = 3\n",
                "2: [mcp.box] keepalive: unknown key; did you mean 'keep_alive'?" },
        { "[mcp.box]\nnetwork = false\n", "1: [mcp.box] network: false needs sandbox = "
                                          "\"workspace\", which holds it" },
        { "[shell.sh]\nmode = \"allow\"\nsandbox = \"none\"\nnetwork = false\n",
                "1: [shell.sh] network: false needs sandbox = \"workspace\", which holds "
                "it" },
        { "[mcp.box]\nkeep_alive = -1\n",
                "2: [mcp.box] keep_alive: must be from 0 to 86400, not -1" },
        { "[mcp.box]\nkeep_alive = 1.5\n",
                "2: [mcp.box] keep_alive: must be a whole number, not a number" },
        { "[mcp.box]\nsandbox = \"all\"\n",
                "2: [mcp.box] sandbox: 'all' is none of workspace, none" },
        { "[mcp.box]\nnetwork = \"no\"\n",
                "2: [mcp.box] network: must be true or false, not a string" },
        { "[mcp.box]\nvariables = \"A\"\n",
                "2: [mcp.box] variables: must be a list of strings, not a string" },
        { "[mcp.box]\nvariables = [\"A\",\n \"${B}\"]\n",
                "3: [mcp.box] variables: names variables of the environment, such as "
                "\"API_TOKEN\"" },
        { "[mcp.box]\narguments = [\"x\"]\n",
                "2: [mcp.box.arguments]: must be a table, not an array" },
        { "[mcp.box.arguments]\nget = \"x\"\n",
                "2: [mcp.box.arguments.get]: must be a table, not a string" },
        { "[mcp.box.arguments]\n\"get_(\" = {}\n",
                "2: [mcp.box.arguments] 'get_(': the pattern 'get_(' is wrong: missing "
                "), unterminated subpattern at position 4" },
        { "[mcp.box.arguments]\nget = { a = 5 }\n",
                "2: [mcp.box.arguments.get] a: must be a string, not a whole number" },
        { "[mcp.box.arguments]\nget = { a = \"[\" }\n",
                "2: [mcp.box.arguments.get] a: the pattern '[' is wrong: unterminated "
                "character set at position 0" },
        { "[mcp.box.arguments]\nget = { \"a\\u0000b\" = \"x\" }\n",
                "2: [mcp.box.arguments.get] 'a?b': a NUL is in no name of an argument" },
        { "[mcp.\"\"]\n", "1: [mcp.'']: the name of a server is empty or has a NUL" },
        { "[audit_log]\npath = \"log\"\n",
                "2: [audit_log] path: must be an absolute path, or begin with '~/'" },
        { "[audit_log]\nkeep = -1\n",
                "2: [audit_log] keep: must be from 0 to 1000, not -1" },
        { "[audit_log]\nmax_bytes = 1.5\n",
                "2: [audit_log] max_bytes: must be a whole number, not a number" },
        { "[execution]\ntimeout == 3\n", "2: not TOML" },
        { "[a]\n[a]\n", "2: not TOML" },
        { "# \xff\n", "1: the text is not UTF-8" },
    };
    check_all(cases, ARRAY_LEN(cases), true);
}

/* A base of the workspace is a whole policy. */
static void test_base_errors(void **state UNUSED)
{
    static const struct bad cases[] = {
        { "", "1: required and missing: [execution], [imports], [filesystem], [ast], "
              "[audit] (a section may be empty)" },
        { "[execution]\n[imports]\n[filesystem]\n[ast]\n",
                "1: required and missing: [audit] (a section may be empty)" },
        { EMPTY "[shell.git]\n",
                "6: [shell.git] mode: is missing; \"deny\" permits only what is allowed, "
                "\"allow\" all but what is denied" },
        { "[imports]\nimportlib = true\n[execution]\n[filesystem]\n[ast]\n[audit]\n"
          "[import_overrides]\nsqlite3 = true\n",
                "2: [imports] importlib: must be false while [import_overrides] sqlite3 "
                "is on (.pyddock/pyddock.toml:8)" },
    };
    check_all(cases, ARRAY_LEN(cases), false);
}

/* What is no folder holds no policy, and does not stand for the built-in one. */
static void test_no_folder(void **state UNUSED)
{
    struct world w;
    struct policy *p = NULL;
    struct error err;
    open_world(&w);
    remove_folder(&w, "ws/.pyddock");
    make_link(&w, "ws/.pyddock", "../nowhere");
    assert_false(load(&w, NULL, &p, &err));
    assert_string_equal(
            err.message, ".pyddock: cannot be looked into: No such file or directory");
    make_folder(&w, "nowhere");
    assert_true(load(&w, NULL, &p, &err));
    put(&w, "ws/.pyddock", NULL);
    put(&w, "ws/.pyddock", "x");
    assert_false(load(&w, NULL, &p, &err));
    assert_string_equal(err.message, ".pyddock: is not a folder");
    close_world(&w);
}

static void test_default(void **state UNUSED)
{
    struct world w;
    struct policy *p = NULL;
    struct error err = { 0 };
    open_world(&w);
    if (!load(&w, NULL, &p, &err))
        fail_msg("%s", err.message);
    assert_string_equal(p->base, "built-in");
    assert_int_equal(p->timeout_ms, 30000);
    assert_int_equal(p->max_timeout_ms, 3600000);
    assert_int_equal(p->import_count, 47); /* with sqlite3 */
    assert_int_equal(p->guard_count, 16);
    assert_int_equal(p->guards[0].disposition, GUARD_DENY_AGENT);
    assert_string_equal(p->guards[12].regex.text.data, "/\\.git/");
    assert_int_equal(p->audit_count, 59);
    assert_int_equal(p->restriction_count, 4);
    assert_int_equal(p->shell_count, 3);
    assert_true(p->has_shell && p->readable_all);
    assert_string_equal(p->shells[0].name.data, "git");
    assert_string_equal(p->shells[0].command.text.data, "^git$");
    assert_int_equal(p->shells[0].allow.count, 44);
    assert_int_equal(p->shells[0].env.deny.count, 19);
    assert_int_equal(p->shells[0].env.fallback, ENV_INHERIT);
    assert_int_equal(p->env.fallback, ENV_INERT);
    assert_int_equal(p->message_count, 15);
    assert_int_equal(p->warnings.count, 0);
    assert_int_equal(p->writable_count, 1);
    assert_true(str_eq(p->writable[0].path, in_world(&w, "ws")));
    assert_true(str_eq(p->home, in_world(&w, "home")));
    for (size_t i = 0; i < p->guard_count; i++)
        assert_int_equal(pyre_match(p->guards[i].regex.pattern, PYRE_SEARCH, STR("/w/a")),
                PYRE_NO);
    close_world(&w);
}

/* What an overlay changes stays in its place and says where it comes from. */
static void test_overlay(void **state UNUSED)
{
    struct world w;
    open_world(&w);
    struct policy *p = load_text(&w,
            "[execution]\ntimeout = 0.0001\n[imports]\ncsv = false\nyaml = \"pyyaml\"\n"
            "lib = \"./lib\"\n[filesystem.guards]\n'/\\.git/' = \"allow\"\n"
            "'/vault/' = \"deny-all\"\n[filesystem]\nwritable_paths = [\"a\", \"~/b\", "
            "\"/c/../d\"]\n[import_overrides]\nsqlite3 = false\n",
            true);
    assert_int_equal(p->timeout_ms, 1);
    assert_string_equal(p->timeout_origin.file, ".pyddock/pyddock.override.toml");
    assert_int_equal(p->timeout_origin.line, 2);
    assert_string_equal(p->max_timeout_origin.file, "built-in");
    assert_int_equal(p->import_count, 48);
    assert_string_equal(p->imports[7].name.data, "csv");
    assert_int_equal(p->imports[7].kind, IMPORT_DENIED);
    assert_int_equal(p->imports[46].kind, IMPORT_PIP);
    assert_int_equal(p->imports[47].kind, IMPORT_PATH);
    assert_int_equal(p->imports[47].origin.line, 6);
    assert_int_equal(p->guard_count, 17);
    assert_int_equal(p->guards[12].disposition, GUARD_ALLOW);
    assert_int_equal(p->guards[12].regex.origin.line, 8);
    assert_int_equal(p->guards[16].regex.origin.line, 9);
    assert_int_equal(p->writable_count, 3);
    assert_true(str_eq(p->writable[0].path, in_world(&w, "ws/a")));
    assert_true(str_eq(p->writable[1].path, in_world(&w, "home/b")));
    assert_string_equal(p->writable[2].path.data, "/d");
    assert_int_equal(p->import_overrides.count, 0);
    close_world(&w);
}

/* Every optional key has its place. */
static void test_sections(void **state UNUSED)
{
    struct world w;
    open_world(&w);
    struct policy *p = load_text(&w,
            EMPTY
            "[shell.make]\nmode = \"allow\"\nsandbox = \"none\"\n"
            "arg_paths = \"none\"\nwritable_paths = [\"~/.cache\"]\n"
            "[shell.make.env]\ndefault = \"snapshot\"\npass = [\"x_.*\"]\n"
            "[mcp.box]\ndescription = \"d\"\ntools = { a = true, \"b.*\" = false }\n"
            "keep_alive = 60\nsandbox = \"workspace\"\nnetwork = false\n"
            "variables = [\"TOKEN\"]\narguments.\"a.*\" = { repo = \"x/.*\" }\n"
            "[mcp.cup.tools]\na = true\n"
            "[audit_log]\npath = \"~/log/x\"\nkeep = 2\nmax_bytes = 5000\n"
            "arguments = true\n",
            false);
    const struct policy_shell *make = &p->shells[0];
    assert_int_equal(make->mode, MODE_ALLOW);
    assert_int_equal(make->sandbox, SANDBOX_NONE);
    assert_int_equal(make->arg_paths, ARG_PATHS_NONE);
    assert_int_equal(make->env.fallback, ENV_SNAPSHOT);
    assert_true(make->network && !make->command_given);
    assert_true(str_eq(make->writable[0].path, in_world(&w, "home/.cache")));
    assert_int_equal(
            pyre_match(make->env.pass.items[0].pattern, PYRE_FULLMATCH, STR("X_1")),
            PYRE_YES);
    assert_int_equal(p->mcp[0].tool_count, 2);
    assert_false(p->mcp[0].tools[1].allowed);
    assert_string_equal(p->mcp[0].description.data, "d");
    assert_int_equal(p->mcp[0].keep_alive_s, 60);
    assert_int_equal(p->mcp[0].sandbox, SANDBOX_WORKSPACE);
    assert_false(p->mcp[0].network);
    assert_string_equal(p->mcp[0].variables.items[0].text.data, "TOKEN");
    assert_int_equal(p->mcp[0].rule_count, 1);
    assert_string_equal(p->mcp[0].rules[0].arguments[0].name.data, "repo");
    assert_int_equal(p->mcp[1].keep_alive_s, 0);
    assert_int_equal(p->mcp[1].sandbox, SANDBOX_NONE);
    assert_true(p->mcp[1].network);
    assert_int_equal(p->mcp[1].variables.count, 0);
    assert_true(str_eq(p->audit_log.path, in_world(&w, "home/log/x")));
    assert_int_equal(p->audit_log.keep, 2);
    assert_int_equal(p->audit_log.max_bytes, 5000);
    assert_true(p->audit_log.arguments);
    assert_int_equal(p->writable_count, 1); /* not given: the workspace */
    assert_false(p->readable_all);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_base_errors),
        cmocka_unit_test(test_no_folder),
        cmocka_unit_test(test_default),
        cmocka_unit_test(test_overlay),
        cmocka_unit_test(test_sections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
