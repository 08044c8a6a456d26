/* [mcp.NAME]: which tools of other MCP servers may be called, and with what. */
#include "policy/config/internal.h"

#include <ctype.h>

#define MAX_KEEP_ALIVE_S 86400

static bool read_tool(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    struct policy_mcp_tool *out = to;
    return conf_bool(c, section, item, &out->allowed) &&
           conf_regex(c, section, item, item->key, 0, &out->regex);
}

static bool read_tools(
        struct conf *c, const char *parent, const struct toml_item *item, void *to)
{
    struct policy_mcp *mcp = to;
    return conf_each(c, conf_name(c, parent, item->key), item, read_tool,
            sizeof(*mcp->tools), &mcp->tools, &mcp->tool_count);
}

static bool read_argument(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    struct policy_mcp_argument *out = to;
    struct str text;
    out->name = arena_str(c->arena, item->key);
    if (memchr(out->name.data, 0, out->name.len))
        return conf_fail_item(c, section, item, "a NUL is in no name of an argument");
    return conf_text(c, section, item, &text) &&
           conf_regex(c, section, item, text, 0, &out->regex);
}

/* "tool pattern" = { argument = "regex" } */
static bool read_rule(
        struct conf *c, const char *parent, const struct toml_item *item, void *to)
{
    struct policy_mcp_rule *out = to;
    return conf_regex(c, parent, item, item->key, 0, &out->tool) &&
           conf_each(c, conf_name(c, parent, item->key), item, read_argument,
                   sizeof(*out->arguments), &out->arguments, &out->argument_count);
}

static bool read_rules(
        struct conf *c, const char *parent, const struct toml_item *item, void *to)
{
    struct policy_mcp *mcp = to;
    return conf_each(c, conf_name(c, parent, item->key), item, read_rule,
            sizeof(*mcp->rules), &mcp->rules, &mcp->rule_count);
}

static bool read_keep_alive(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    int64_t n;
    if (!conf_count(c, section, item, 0, MAX_KEEP_ALIVE_S, &n))
        return false;
    *(unsigned *)to = (unsigned)n;
    return true;
}

static bool is_variable(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        unsigned char byte = (unsigned char)name.data[i];
        if (byte != '_' && !isalpha(byte) && !(i && isdigit(byte)))
            return false;
    }
    return name.len;
}

static bool read_variables(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    struct policy_texts *names = to;
    if (!conf_texts(c, section, item, names))
        return false;
    for (size_t i = 0; i < names->count; i++)
        if (!is_variable(names->items[i].text))
            return conf_fail(c, names->items[i].origin, section, item->key,
                    "names variables of the environment, such as \"API_TOKEN\"");
    return true;
}

static void warn_useless(struct conf *c, const struct policy_mcp *mcp)
{
    bool any = false;
    for (size_t i = 0; i < mcp->tool_count; i++)
        any |= mcp->tools[i].allowed;
    if (!any)
        conf_warn(c, mcp->origin,
                "[mcp.%.*s] tools: allows none, so that nothing of it can be called",
                STR_ARG(mcp->name));
}

static bool read_mcp(
        struct conf *c, const char *parent, const struct toml_item *item, void *to)
{
    static const struct conf_key keys[] = {
        { "arguments", read_rules, 0 },
        { "description", conf_text, offsetof(struct policy_mcp, description) },
        { "keep_alive", read_keep_alive, offsetof(struct policy_mcp, keep_alive_s) },
        { "network", conf_bool, offsetof(struct policy_mcp, network) },
        { "sandbox", conf_sandbox, offsetof(struct policy_mcp, sandbox) },
        { "tools", read_tools, 0 },
        { "variables", read_variables, offsetof(struct policy_mcp, variables) },
    };
    struct policy_mcp *mcp = to;
    const char *section = conf_name(c, parent, item->key);
    *mcp = (struct policy_mcp){ .name = item->key,
        .description = STR(""),
        .sandbox = SANDBOX_NONE,
        .network = true,
        .origin = item->origin };
    if (!item->key.len || memchr(item->key.data, 0, item->key.len))
        return conf_fail(c, item->origin, section, STR(""),
                "the name of a server is empty or has a NUL");
    if (!conf_section(c, section, item, keys, ARRAY_LEN(keys), mcp) ||
            !conf_network(c, section, item->origin, mcp->network, mcp->sandbox))
        return false;
    warn_useless(c, mcp);
    return true;
}

bool conf_mcp(struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    struct policy *p = to;
    return conf_each(c, section, item, read_mcp, sizeof(*p->mcp), &p->mcp, &p->mcp_count);
}
