#include "cli/policy-mcp.h"

#include "cli/cli.h"
#include "cli/policy-script.h"
#include "policy/mcp.h"

#define NAME     "paddock policy"
#define MAX_TEXT ((size_t)16 << 20)

static bool refuse_undefined(const struct policy_mcp *section, struct refusal *why)
{
    refusal_begin(why, "mcp-definition", &section->origin);
    buf_add(&why->what, STR("the MCP server '"));
    buf_add_shown(&why->what, section->name);
    buf_add(&why->what, STR("' is not available"));
    buf_add(&why->rule, STR("[mcp."));
    buf_add_shown(&why->rule, section->name);
    buf_add(&why->rule, STR("] has no definition that can be used"));
    buf_add(&why->hint, STR("'paddock policy check' says why."));
    return false;
}

static bool decide(const struct policy_mcp_call *call, const json_t *arguments,
        const struct peer_definition **out, struct refusal *why)
{
    if (!mcp_decide(call->policy, call->server, call->tool, arguments, why))
        return false;
    *out = peer_find(call->servers, call->server);
    return *out || refuse_undefined(mcp_find_section(call->policy, call->server), why);
}

/* The pattern that lets it be called. */
static void write_rule(const struct policy_mcp *section, const struct policy_mcp_tool *by,
        struct buf *out)
{
    auto_buf text = BUF(MAX_TEXT);
    buf_addf(&text, "[mcp.%.*s.tools] '%.*s' = true", STR_ARG(section->name),
            STR_ARG(by->regex.text));
    buf_add_shown(out, buf_str(&text));
}

/* Names alone: the values may be secret. */
static json_t *names_json(const char *const *pairs, char separator)
{
    json_t *list = json_array();
    for (; pairs && *pairs; pairs++) {
        struct str rest = str_of(*pairs);
        json_array_append_new(list, json_text(str_cut(&rest, separator)));
    }
    return list;
}

static json_t *argv_json(const struct peer_definition *d)
{
    json_t *list = json_array();
    for (const char *const *one = d->argv; one && *one; one++)
        json_array_append_new(list, json_text(str_of(*one)));
    return list;
}

static json_t *plan_json(
        const struct peer_definition *d, const struct policy_mcp_tool *by)
{
    auto_buf rule = BUF(MAX_TEXT);
    write_rule(d->section, by, &rule);
    return json_pack("{s:b, s:o, s:s, s:i, s:o, s:s, s:i, s:s?, s:o, s:s?, s:o, s:o, "
                     "s:s, s:b, s:i}",
            "allowed", true, "rule", json_text(buf_str(&rule)), "file",
            by->regex.origin.file, "line", (int)by->regex.origin.line, "server",
            json_text(d->name), "defined_in", d->origin.file, "defined_line",
            (int)d->origin.line, "program", d->program, "argv", argv_json(d), "url",
            d->url, "env", names_json(d->env, '='), "headers",
            names_json(d->headers, ':'), "sandbox",
            d->section->sandbox == SANDBOX_NONE ? "none" : "workspace", "network",
            d->section->network, "keep_alive", (int)d->section->keep_alive_s);
}

static void print_plan(const struct peer_definition *d, const struct policy_mcp_tool *by)
{
    auto_buf text = BUF(MAX_TEXT), shown = BUF(MAX_TEXT);
    buf_addf(&text, "allowed\n%-11s", "rule:");
    write_rule(d->section, by, &text);
    buf_addc(&text, ' ');
    origin_write(&by->regex.origin, &text);
    buf_addf(&text, "\n%-11s%s:%u\n", "defined:", d->origin.file, d->origin.line);
    if (d->program) {
        for (const char *const *one = d->argv; *one; one++)
            buf_addf(&shown, "%s%s", one == d->argv ? "" : " ", *one);
        buf_addf(&text, "%-11s", "program:");
        buf_add_shown(&text, str_of(d->program));
        buf_addf(&text, "\n%-11s", "argv:");
    } else {
        buf_addf(&shown, "%s", d->url);
        buf_addf(&text, "%-11s", "url:");
    }
    buf_add_shown(&text, buf_str(&shown));
    if (d->program)
        buf_addf(&text, "\n%-11s%s, network %s",
                "sandbox:", d->section->sandbox == SANDBOX_NONE ? "none" : "workspace",
                d->section->network ? "on" : "off");
    buf_addc(&text, '\n');
    cli_print(buf_str(&text));
}

int policy_mcp_test(const struct policy_mcp_call *call)
{
    struct error err = { 0 };
    json_auto_t *arguments = NULL;
    const struct peer_definition *d = NULL;
    auto_refusal why;
    refusal_init(&why);
    if (json_parse(call->arguments, &arguments, &err) && !json_is_object(arguments))
        error_set(&err, ERR_INVALID, "not an object");
    if (err.code) {
        error_context(&err, "the arguments");
        return cli_fail(NAME, 2, &err);
    }
    if (!decide(call, arguments, &d, &why))
        return policy_report_refusal(call->json, &why);
    const struct policy_mcp_tool *by = mcp_find_tool(d->section, call->tool);
    if (call->json)
        policy_print_json(plan_json(d, by));
    else
        print_plan(d, by);
    return 0;
}
