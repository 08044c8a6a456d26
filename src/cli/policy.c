/*
 * paddock policy: what the policy of a workspace says, whether it is sound, and what it
 * would decide.  It asks the same functions as a server does, and changes nothing.
 */
#include "base/json.h"
#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/policy-mcp.h"
#include "cli/policy-script.h"
#include "policy/command.h"
#include "policy/config/config.h"
#include "policy/place.h"
#include "policy/pyre/pyre.h"

#include <unistd.h>

#define NAME      "paddock policy"
#define MAX_TEXT  ((size_t)16 << 20)
#define MAX_STEPS 100000 /* of looking up one path */

static const char usage[] =
        "usage: paddock policy show  [--workspace DIR]\n"
        "       paddock policy check [--workspace DIR] [--json]\n"
        "       paddock policy test  [--workspace DIR] [--json] [--cwd DIR]\n"
        "                            [--env NAME=VALUE]... -- COMMAND [ARGUMENT]...\n"
        "       paddock policy test  [--workspace DIR] [--json] --read PATH\n"
        "       paddock policy test  [--workspace DIR] [--json] --write PATH\n"
        "       paddock policy test  [--workspace DIR] [--json] [--cwd DIR] --script "
        "FILE\n"
        "       paddock policy test  [--workspace DIR] [--json] --mcp SERVER TOOL "
        "[JSON]\n"
        "\n"
        "show   prints the policy in force as TOML, each line with where it is set\n"
        "check  reads it and says what is wrong; the status is 0 if nothing is\n"
        "test   says whether run_shell would start the command, or a tool read or write\n"
        "       the file, and by which rule; the status is 0 if so, and 1 if not.\n"
        "       --script asks for each command and redirect of a shell script ('-': "
        "from\n"
        "       standard input); the status is 0 if none of them is refused\n"
        "       --mcp asks for a call of another MCP server with these arguments\n"
        "\n"
        "The workspace is the current folder unless --workspace names one.\n";

struct options {
    const char *verb, *workspace, *cwd, *read, *write, *script, *mcp;
    bool json;
    struct str *words; /* of the command, then NAME=VALUE: room for all of argv */
    size_t word_count;
    struct env_override *env;
    size_t env_count;
};

static bool set_workspace(void *user, const char *value, struct error *err)
{
    ((struct options *)user)->workspace = value;
    return *value || error_set(err, ERR_INVALID, "the workspace cannot be empty");
}

static bool set_cwd(void *user, const char *value, struct error *err UNUSED)
{
    ((struct options *)user)->cwd = value;
    return true;
}

static bool set_read(void *user, const char *value, struct error *err UNUSED)
{
    ((struct options *)user)->read = value;
    return true;
}

static bool set_write(void *user, const char *value, struct error *err UNUSED)
{
    ((struct options *)user)->write = value;
    return true;
}

static bool set_script(void *user, const char *value, struct error *err UNUSED)
{
    ((struct options *)user)->script = value;
    return true;
}

static bool set_mcp(void *user, const char *value, struct error *err UNUSED)
{
    ((struct options *)user)->mcp = value;
    return true;
}

static bool set_env(void *user, const char *value, struct error *err)
{
    struct options *o = user;
    struct str rest = str_of(value), name = str_cut(&rest, '=');
    if (!name.len || !strchr(value, '='))
        return error_set(err, ERR_INVALID, "--env takes NAME=VALUE, not '%.100s'", value);
    o->env[o->env_count++] = (struct env_override){ name, rest };
    return true;
}

static bool set_json(void *user, const char *unused UNUSED, struct error *err UNUSED)
{
    ((struct options *)user)->json = true;
    return true;
}

static bool add_word(void *user, const char *value, struct error *err UNUSED)
{
    struct options *o = user;
    if (!o->verb)
        o->verb = value;
    else
        o->words[o->word_count++] = str_of(value);
    return true;
}

static const struct flag table[] = {
    { "--cwd", true, set_cwd },
    { "--env", true, set_env },
    { "--help", false, NULL },
    { "--json", false, set_json },
    { "--mcp", true, set_mcp },
    { "--read", true, set_read },
    { "--script", true, set_script },
    { "--workspace", true, set_workspace },
    { "--write", true, set_write },
};

void policy_print_json(json_t *value)
{
    auto_buf text = BUF(MAX_TEXT);
    json_write(value, &text);
    buf_addc(&text, '\n');
    cli_print(buf_str(&text));
    json_decref(value);
}

/* As a server has it: what the definitions of other servers protect is protected. */
static bool load(const struct options *o, struct arena *arena, struct policy **out,
        struct peer_definitions *servers, struct error *err)
{
    const struct config_request request = { .workspace = o->workspace,
        .home = getenv("HOME") };
    if (!config_load(&request, arena, out, err))
        return false;
    peer_definitions_load(*out, request.home, environ, arena, servers);
    return true;
}

static int show(const struct options *o)
{
    auto_arena *arena = arena_create();
    auto_buf text = BUF(MAX_TEXT);
    struct policy *policy;
    struct peer_definitions servers;
    struct error err = { 0 };
    if (!load(o, arena, &policy, &servers, &err))
        return cli_fail(NAME, 1, &err);
    config_show(policy, &text);
    cli_print(buf_str(&text));
    return 0;
}

static json_t *warnings_json(const struct policy *policy)
{
    json_t *list = json_array();
    for (size_t i = 0; i < policy->warnings.count; i++) {
        const struct policy_text *one = &policy->warnings.items[i];
        json_array_append_new(
                list, json_pack("{s:s, s:i, s:o}", "file", one->origin.file, "line",
                              (int)one->origin.line, "text", json_text(one->text)));
    }
    return list;
}

static json_t *sections_json(const struct policy *policy)
{
    json_t *list = json_array();
    for (size_t i = 0; i < policy->shell_count; i++)
        json_array_append_new(list, json_text(policy->shells[i].name));
    return list;
}

/* Those that may be called: by name, and where their definition stands. */
static json_t *servers_json(const struct peer_definitions *servers)
{
    json_t *list = json_array();
    for (size_t i = 0; i < servers->count; i++) {
        const struct peer_definition *d = &servers->items[i];
        json_array_append_new(
                list, json_pack("{s:o, s:s, s:i, s:s?, s:s?}", "name", json_text(d->name),
                              "file", d->origin.file, "line", (int)d->origin.line,
                              "program", d->program, "url", d->url));
    }
    return list;
}

static void print_servers(const struct peer_definitions *servers, struct buf *out)
{
    for (size_t i = 0; i < servers->count; i++) {
        const struct peer_definition *d = &servers->items[i];
        auto_buf line = BUF(MAX_TEXT);
        buf_addf(&line, "server:    %.*s: %s ", STR_ARG(d->name),
                d->program ? d->program : d->url);
        origin_write(&d->origin, &line);
        buf_add_shown(out, buf_str(&line));
        buf_addc(out, '\n');
    }
}

static void print_check(
        const struct policy *policy, const struct peer_definitions *servers)
{
    auto_buf text = BUF(MAX_TEXT);
    buf_addf(&text, "workspace: %.*s\npolicy:    %s%s%s\n", STR_ARG(policy->workspace),
            policy->base, policy->overlay ? ", " : "",
            policy->overlay ? policy->overlay : "");
    buf_addf(&text, "commands: ");
    for (size_t i = 0; i < policy->shell_count; i++)
        buf_addf(&text, "%s%.*s", i ? ", " : " ", STR_ARG(policy->shells[i].name));
    buf_addf(&text, "%s\n", policy->shell_count ? "" : " none");
    print_servers(servers, &text);
    for (size_t i = 0; i < policy->warnings.count; i++) {
        const struct policy_text *one = &policy->warnings.items[i];
        buf_addf(&text, "warning:   %s:%u: %.*s\n", one->origin.file, one->origin.line,
                STR_ARG(one->text));
    }
    cli_print(buf_str(&text));
}

static int check(const struct options *o)
{
    auto_arena *arena = arena_create();
    struct policy *policy;
    struct peer_definitions servers;
    struct error err = { 0 };
    if (!load(o, arena, &policy, &servers, &err)) {
        if (o->json)
            policy_print_json(json_pack(
                    "{s:b, s:o}", "ok", false, "error", json_text(str_of(err.message))));
        return o->json ? 1 : cli_fail(NAME, 1, &err);
    }
    if (!o->json) {
        print_check(policy, &servers);
        return 0;
    }
    policy_print_json(json_pack("{s:b, s:o, s:s, s:s?, s:o, s:o, s:o}", "ok", true,
            "workspace", json_text(policy->workspace), "base", policy->base, "overlay",
            policy->overlay, "commands", sections_json(policy), "servers",
            servers_json(&servers), "warnings", warnings_json(policy)));
    return 0;
}

json_t *policy_refusal_json(const struct refusal *why)
{
    return json_pack("{s:b, s:s, s:o, s:o, s:s?, s:i, s:o}", "allowed", false, "code",
            why->code, "what", json_text(buf_str(&why->what)), "rule",
            json_text(buf_str(&why->rule)), "file", why->origin.file, "line",
            (int)why->origin.line, "hint", json_text(buf_str(&why->hint)));
}

int policy_report_refusal(bool json, const struct refusal *why)
{
    auto_buf text = BUF(MAX_TEXT);
    if (json) {
        policy_print_json(policy_refusal_json(why));
        return 1;
    }
    buf_add(&text, STR("refused: "));
    refusal_write(why, &text);
    buf_addc(&text, '\n');
    cli_print(buf_str(&text));
    return 1;
}

/* The allow pattern that let the arguments through; NULL: none was needed. */
static const struct policy_regex *find_allow(
        const struct policy_shell *section, const struct str *args, size_t count)
{
    auto_buf joined = BUF(MAX_TEXT);
    for (size_t i = 0; i < count; i++) {
        buf_add(&joined, i ? STR(" ") : STR(""));
        buf_add(&joined, args[i]);
    }
    for (size_t i = 0; section->mode == MODE_DENY && i < section->allow.count; i++)
        if (pyre_match(section->allow.items[i].pattern, PYRE_MATCH, buf_str(&joined)) ==
                PYRE_YES)
            return &section->allow.items[i];
    return NULL;
}

void policy_write_rule(const struct policy_shell *section, const struct str *args,
        size_t count, struct buf *out, struct origin *origin)
{
    const struct policy_regex *allow = find_allow(section, args, count);
    *origin = allow ? allow->origin : section->origin;
    if (allow)
        buf_addf(out, "[shell.%.*s] allow '%.*s'", STR_ARG(section->name),
                STR_ARG(allow->text));
    else
        buf_addf(out, "[shell.%.*s] mode = \"allow\"", STR_ARG(section->name));
}

static json_t *strings_json(const char *const *items)
{
    json_t *list = json_array();
    for (; items && *items; items++)
        json_array_append_new(list, json_text(str_of(*items)));
    return list;
}

/* Names of `a` that `b` has not, or has with another value (`changed`). */
static json_t *env_difference(const char *const *a, const char *const *b, bool names_only)
{
    json_t *list = json_array();
    for (; *a; a++) {
        struct str rest = str_of(*a), name = str_cut(&rest, '=');
        bool found = false;
        for (const char *const *other = b; *other && !found; other++) {
            struct str value = str_of(*other);
            found = names_only ? str_eq(str_cut(&value, '='), name) : !strcmp(*other, *a);
        }
        if (!found)
            json_array_append_new(list, json_text(name));
    }
    return list;
}

static json_t *plan_json(const struct options *o, const struct command_plan *plan)
{
    auto_buf rule = BUF(MAX_TEXT);
    struct origin origin;
    policy_write_rule(plan->section, o->words + 1, o->word_count - 1, &rule, &origin);
    const char *const *ours = (const char *const *)environ;
    return json_pack(
            "{s:b, s:o, s:s?, s:i, s:s?, s:o, s:o, s:s, s:s, s:b, s:b, s:o, s:o, "
            "s:o, s:o, s:o}",
            "allowed", true, "rule", json_text(buf_str(&rule)), "file", origin.file,
            "line", (int)origin.line, "program", plan->program, "argv",
            strings_json(plan->argv), "asks_first", strings_json(plan->asks_first), "cwd",
            plan->cwd, "sandbox", plan->sandbox == SANDBOX_NONE ? "none" : "workspace",
            "network", plan->network, "trusted", plan->trusted, "writable",
            strings_json(plan->writable), "read_only", strings_json(plan->read_only),
            "env_set", env_difference(plan->env, ours, false), "env_removed",
            env_difference(ours, plan->env, true), "notes", json_text(plan->notes));
}

/* GIT_CONFIG_KEY_0, ..._1, ... are said once. */
static struct str without_number(struct str name)
{
    while (name.len && name.data[name.len - 1] >= '0' && name.data[name.len - 1] <= '9')
        name.len--;
    return name;
}

static void print_variables(
        const json_t *plan, const char *key, const char *label, struct buf *out)
{
    const json_t *list = json_object_get(plan, key);
    struct str last = STR("");
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct str name = json_str(json_array_get(list, i)), stem = without_number(name);
        bool numbered = stem.len && stem.len < name.len && str_ends(stem, STR("_"));
        struct str family = str_sub(stem, 0, STR("GIT_CONFIG_").len);
        if (numbered && str_eq(family, last))
            continue;
        last = numbered ? family : STR("");
        if (i)
            buf_add(out, STR(", "));
        else
            buf_addf(out, "%-11s", label);
        buf_addf(out, "%.*s%s", STR_ARG(numbered ? family : name), numbered ? "..." : "");
    }
    buf_add(out, json_array_size(list) ? STR("\n") : STR(""));
}

static void print_list(const json_t *plan, const char *key, const char *label,
        const char *between, struct buf *out)
{
    const json_t *list = json_object_get(plan, key);
    if (!json_array_size(list))
        return;
    buf_addf(out, "%-11s", label);
    for (size_t i = 0; i < json_array_size(list); i++) {
        buf_add(out, i ? str_of(between) : STR(""));
        buf_add(out, json_str(json_array_get(list, i)));
    }
    buf_addc(out, '\n');
}

static void print_plan(const json_t *plan, const struct origin *origin)
{
    auto_buf text = BUF(MAX_TEXT);
    const char *program = json_string_value(json_object_get(plan, "program"));
    buf_addf(&text, "allowed\n%-11s%s ",
            "rule:", json_string_value(json_object_get(plan, "rule")));
    origin_write(origin, &text);
    buf_addf(&text, "\n%-11s%s\n", "program:", program ? program : "(not found)");
    print_list(plan, "argv", "argv:", " ", &text);
    print_list(plan, "asks_first", "if silent:", " ", &text);
    buf_addf(&text, "%-11s%s\n%-11s%s, network %s\n",
            "cwd:", json_string_value(json_object_get(plan, "cwd")),
            "sandbox:", json_string_value(json_object_get(plan, "sandbox")),
            json_is_true(json_object_get(plan, "network")) ? "on" : "off");
    print_list(plan, "writable", "may write:", ", ", &text);
    print_list(plan, "read_only", "but not:", ", ", &text);
    print_variables(plan, "env_set", "variables:", &text);
    print_variables(plan, "env_removed", "without:", &text);
    buf_add(&text, json_get_str(plan, "notes", STR("")));
    cli_print(buf_str(&text));
}

static int test_command(const struct options *o, const struct policy *policy,
        const struct path_policy *paths, struct arena *arena)
{
    struct command_policy *commands =
            command_policy_create(policy, paths, environ, arena);
    const struct command_request request = { .command = o->words[0],
        .args = o->words + 1,
        .arg_count = o->word_count - 1,
        .cwd = str_of(o->cwd ? o->cwd : ""),
        .env = o->env,
        .env_count = o->env_count };
    struct command_plan plan = { 0 };
    auto_refusal why;
    refusal_init(&why);
    if (!command_decide(commands, &request, arena, &plan, &why))
        return policy_report_refusal(o->json, &why);
    json_t *report = plan_json(o, &plan);
    const struct origin origin = { json_string_value(json_object_get(report, "file")),
        (unsigned)json_integer_value(json_object_get(report, "line")) };
    if (!o->json)
        print_plan(report, &origin);
    else
        policy_print_json(json_incref(report));
    json_decref(report);
    return 0;
}

static int test_path(const struct options *o, const struct policy *policy,
        const struct path_policy *paths, struct arena *arena)
{
    struct str given = str_of(o->read ? o->read : o->write);
    unsigned budget = MAX_STEPS;
    struct place place;
    struct error err = { 0 };
    auto_refusal why;
    refusal_init(&why);
    if (!place_find(
                policy->workspace_real, given, PLACE_FOLLOW, arena, &budget, &place)) {
        error_set(&err, ERR_INVALID, "'%.*s' leads nowhere", STR_ARG(given));
        return cli_fail(NAME, 1, &err);
    }
    if (!path_allowed(paths, place.path, o->read ? PATH_READ : PATH_WRITE, &why))
        return policy_report_refusal(o->json, &why);
    if (o->json) {
        policy_print_json(
                json_pack("{s:b, s:o}", "allowed", true, "path", json_text(place.path)));
        return 0;
    }
    cli_print(str_of(arena_printf(arena, "allowed: %s '%.*s'\n",
            o->read ? "reading" : "writing", STR_ARG(place.path))));
    return 0;
}

static int test_script(const struct options *o, const struct policy *policy,
        const struct path_policy *paths, struct arena *arena)
{
    const struct policy_script script = { .file = o->script,
        .cwd = o->cwd,
        .json = o->json,
        .policy = policy,
        .paths = paths,
        .commands = command_policy_create(policy, paths, environ, arena) };
    return policy_script_test(&script, arena);
}

static int test_mcp(const struct options *o, const struct policy *policy,
        const struct peer_definitions *servers)
{
    const struct policy_mcp_call call = { .server = str_of(o->mcp),
        .tool = o->words[0],
        .arguments = o->word_count > 1 ? o->words[1] : STR("{}"),
        .json = o->json,
        .policy = policy,
        .servers = servers };
    return policy_mcp_test(&call);
}

/* Is it one question, and nothing with it that belongs to another one? */
static bool check_question(const struct options *o, struct error *err)
{
    unsigned questions = (o->read != NULL) + (o->write != NULL) + (o->script != NULL) +
                         (o->mcp != NULL) + (!o->mcp && o->word_count > 0);
    if (questions != 1)
        return error_set(err, ERR_INVALID,
                "one question: -- COMMAND [ARGUMENT]..., --read PATH, --write PATH, "
                "--script FILE or --mcp SERVER TOOL [JSON]");
    if (o->script && o->env_count)
        return error_set(err, ERR_INVALID, "--env is for one command, not for a script");
    if (o->mcp && (o->env_count || o->cwd))
        return error_set(err, ERR_INVALID, "--env and --cwd are for a command");
    if (o->mcp && (!o->word_count || o->word_count > 2))
        return error_set(err, ERR_INVALID,
                "--mcp takes SERVER TOOL, and the arguments as one word of JSON");
    return true;
}

static int test(const struct options *o)
{
    auto_arena *arena = arena_create();
    struct policy *policy;
    struct peer_definitions servers;
    struct error err = { 0 };
    if (!check_question(o, &err))
        return cli_fail(NAME, 2, &err);
    if (!load(o, arena, &policy, &servers, &err))
        return cli_fail(NAME, 1, &err);
    if (o->mcp)
        return test_mcp(o, policy, &servers);
    struct path_policy *paths = path_policy_create(policy, arena);
    if (o->script)
        return test_script(o, policy, paths, arena);
    return o->word_count ? test_command(o, policy, paths, arena)
                         : test_path(o, policy, paths, arena);
}

static int run_verb(const struct options *o)
{
    struct error err = { 0 };
    const char *verb = o->verb ? o->verb : "";
    bool is_test = !strcmp(verb, "test");
    if (is_test)
        return test(o);
    if (strcmp(verb, "show") != 0 && strcmp(verb, "check") != 0)
        error_set(&err, ERR_INVALID, "show, check or test; see --help");
    else if (o->word_count || o->read || o->write || o->script || o->mcp || o->cwd ||
             o->env_count)
        error_set(&err, ERR_INVALID, "that is a question for test; see --help");
    if (err.code)
        return cli_fail(NAME, 2, &err);
    return !strcmp(verb, "show") ? show(o) : check(o);
}

int cli_policy(int argc, char **argv)
{
    auto_arena *arena = arena_create();
    struct options o = { .workspace = ".",
        .words = arena_alloc(arena, (size_t)(argc + 1) * sizeof(*o.words)),
        .env = arena_alloc(arena, (size_t)(argc + 1) * sizeof(*o.env)) };
    const struct flags flags = { table, ARRAY_LEN(table), add_word, &o, NULL };
    struct error err = { 0 };
    if (flags_has(argc, argv, "--help") || flags_has(argc, argv, "-h")) {
        cli_print(str_of(usage));
        return 0;
    }
    if (!flags_read(&flags, argc, argv, &err))
        return cli_fail(NAME, 2, &err);
    return run_verb(&o);
}
