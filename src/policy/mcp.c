#include "policy/mcp.h"

#include "base/nearest.h"
#include "policy/command-parts.h"
#include "policy/pyre/pyre.h"

#include <ctype.h>

#define MAX_VALUE  ((size_t)16 << 20) /* bytes of one argument */
#define MAX_LISTED 1200               /* bytes of names or patterns in a refusal */

const struct policy_mcp *mcp_find_section(const struct policy *p, struct str server)
{
    for (size_t i = 0; i < p->mcp_count; i++)
        if (str_eq(p->mcp[i].name, server))
            return &p->mcp[i];
    return NULL;
}

/* No server has such a tool, whatever a pattern lets through. */
static bool is_name(struct str tool)
{
    for (size_t i = 0; i < tool.len; i++)
        if ((unsigned char)tool.data[i] < 0x20 || tool.data[i] == 0x7F)
            return false;
    return tool.len;
}

/* A pattern that gives up denies, and does not allow. */
static bool tool_matches(const struct policy_mcp_tool *t, struct str name)
{
    enum pyre_result result = pyre_match(t->regex.pattern, PYRE_FULLMATCH, name);
    return t->allowed ? result == PYRE_YES : result != PYRE_NO;
}

/* The pattern that decides, or NULL. */
static const struct policy_mcp_tool *find_tool(
        const struct policy_mcp *section, struct str name, bool allowed)
{
    for (size_t i = 0; i < section->tool_count; i++)
        if (section->tools[i].allowed == allowed &&
                tool_matches(&section->tools[i], name))
            return &section->tools[i];
    return NULL;
}

const struct policy_mcp_tool *mcp_find_tool(
        const struct policy_mcp *section, struct str tool)
{
    if (!is_name(tool))
        return NULL;
    const struct policy_mcp_tool *deny = find_tool(section, tool, false);
    return deny ? deny : find_tool(section, tool, true);
}

bool mcp_offers(const struct policy_mcp *section, struct str tool)
{
    const struct policy_mcp_tool *decides = mcp_find_tool(section, tool);
    return decides && decides->allowed;
}

/* The names that may be given for a section, as many as find room. */
static void list_servers(const struct policy *p, struct buf *out)
{
    size_t limit = out->len + MAX_LISTED;
    for (size_t i = 0; i < p->mcp_count; i++) {
        if (out->len > limit) {
            buf_addf(out, " and %zu more", p->mcp_count - i);
            return;
        }
        buf_add(out, i ? STR(", ") : STR(""));
        refuse_quote(out, p->mcp[i].name);
    }
}

static struct str server_name_at(const void *list, size_t i)
{
    return ((const struct policy_mcp *)list)[i].name;
}

static bool refuse_server(const struct policy *p, struct str server, struct refusal *why)
{
    refusal_begin(why, "mcp-server", NULL);
    buf_add(&why->what, STR("calling the MCP server "));
    refuse_quote(&why->what, server);
    buf_add(&why->what, STR(" is not permitted"));
    buf_add(&why->rule, STR("only servers with a section [mcp.NAME] are called"));
    struct str near = nearest_name(server, p->mcp, p->mcp_count, server_name_at);
    if (near.data) {
        buf_add(&why->hint, STR("Did you mean "));
        refuse_quote(&why->hint, near);
        buf_add(&why->hint, STR("? "));
    }
    buf_add(&why->hint,
            p->mcp_count ? STR("The policy has sections for: ") : STR("There is none."));
    list_servers(p, &why->hint);
    return false;
}

static void begin_tool(struct refusal *why, const char *code, const struct origin *origin,
        const struct policy_mcp *section, struct str tool)
{
    refusal_begin(why, code, origin);
    buf_add(&why->what, STR("calling the tool "));
    refuse_quote(&why->what, tool);
    buf_add(&why->what, STR(" of the MCP server "));
    refuse_quote(&why->what, section->name);
    buf_add(&why->what, STR(" is not permitted"));
}

static void list_tools(const struct policy_mcp *section, bool allowed, struct buf *out)
{
    size_t limit = out->len + MAX_LISTED;
    unsigned named = 0;
    for (size_t i = 0; i < section->tool_count; i++) {
        if (section->tools[i].allowed != allowed)
            continue;
        if (out->len > limit) {
            buf_add(out, STR(", ..."));
            return;
        }
        buf_add(out, named++ ? STR(", ") : STR(""));
        refuse_quote(out, section->tools[i].regex.text);
    }
}

static void hint_tools(const struct policy_mcp *section, struct refusal *why)
{
    auto_buf allowed = BUF(4096), denied = BUF(4096);
    list_tools(section, true, &allowed);
    list_tools(section, false, &denied);
    if (!allowed.len) {
        refuse_hint(why, "No tool of this server may be called.");
        return;
    }
    refuse_hint(why, "Tools whose whole name matches one of these may be called: ");
    buf_add(&why->hint, buf_str(&allowed));
    if (denied.len) {
        buf_add(&why->hint, STR("; but none that matches one of: "));
        buf_add(&why->hint, buf_str(&denied));
    }
    buf_addc(&why->hint, '.');
}

/* What the policy says of "SERVER TOOL". */
static void add_message(const struct policy *p, const struct policy_mcp *section,
        struct str tool, struct refusal *why)
{
    auto_buf subject = BUF(MAX_VALUE);
    buf_addf(&subject, "%.*s %.*s", STR_ARG(section->name), STR_ARG(tool));
    refuse_message(p, buf_str(&subject), why);
}

static void write_rule(
        const struct policy_mcp *section, const char *table, struct buf *out)
{
    buf_add(out, STR("[mcp."));
    buf_add_shown(out, section->name);
    buf_addf(out, "%s", table);
}

static bool decide_tool(const struct policy *p, const struct policy_mcp *section,
        struct str tool, struct refusal *why)
{
    const struct policy_mcp_tool *deny = mcp_find_tool(section, tool);
    if (deny && deny->allowed)
        return true;
    begin_tool(why, "mcp-tool", deny ? &deny->regex.origin : &section->origin, section,
            tool);
    if (deny) {
        write_rule(section, ".tools] ", &why->rule);
        refuse_quote(&why->rule, deny->regex.text);
        buf_add(&why->rule, STR(" = false"));
    } else {
        write_rule(section, "] tools: no pattern allows it", &why->rule);
    }
    hint_tools(section, why);
    add_message(p, section, tool, why);
    return false;
}

static void write_argument_rule(const struct policy_mcp_rule *rule,
        const struct policy_mcp_argument *argument, const struct policy_mcp *section,
        struct refusal *why)
{
    write_rule(section, ".arguments] ", &why->rule);
    refuse_quote(&why->rule, rule->tool.text);
    buf_add(&why->rule, STR(" = { "));
    refuse_quote(&why->rule, argument->name);
    buf_add(&why->rule, STR(" = "));
    refuse_quote(&why->rule, argument->regex.text);
    buf_add(&why->rule, STR(" }"));
}

static bool refuse_argument(const struct policy *p, const struct policy_mcp *section,
        const struct policy_mcp_rule *rule, const struct policy_mcp_argument *argument,
        const json_t *value, struct str text, struct str tool, struct refusal *why)
{
    begin_tool(why, "mcp-arguments", &argument->regex.origin, section, tool);
    if (value)
        buf_add(&why->what, STR(" with the argument "));
    else
        buf_add(&why->what, STR(" without the argument "));
    refuse_quote(&why->what, argument->name);
    if (value) {
        buf_add(&why->what, STR(" = "));
        refuse_quote(&why->what, text);
    }
    write_argument_rule(rule, argument, section, why);
    refuse_hint(why, "Give it a value that the pattern matches from its first to its "
                     "last character.");
    add_message(p, section, tool, why);
    return false;
}

/* The next character without its case, as readers of JSON that ignore case take it: the
 * long s and the sign of the kelvin are letters of ASCII to them. */
static int next_folded(const char **at)
{
    static const struct str others[] = { { "\xc5\xbf", 2 }, { "\xe2\x84\xaa", 3 } };
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (!strncmp(*at, others[i].data, others[i].len)) {
            *at += others[i].len;
            return "sk"[i];
        }
    return tolower((unsigned char)*(*at)++);
}

static bool is_same_to_some(const char *a, const char *b)
{
    int c;
    while ((c = next_folded(&a)) == next_folded(&b))
        if (!c)
            return true;
    return false;
}

/* Another name that a server may take for the one that the rule is about, or NULL. */
static const char *find_alias(const json_t *arguments, const char *name)
{
    const char *other;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)arguments, other, value)
        if (strcmp(other, name) != 0 && is_same_to_some(other, name))
            return other;
    return NULL;
}

static bool refuse_alias(const struct policy *p, const struct policy_mcp *section,
        const struct policy_mcp_rule *rule, const struct policy_mcp_argument *argument,
        const char *alias, struct str tool, struct refusal *why)
{
    begin_tool(why, "mcp-arguments", &argument->regex.origin, section, tool);
    buf_add(&why->what, STR(" with the argument "));
    refuse_quote(&why->what, str_of(alias));
    buf_add(&why->what, STR(", which some servers take for "));
    refuse_quote(&why->what, argument->name);
    write_argument_rule(rule, argument, section, why);
    refuse_hint(why, "Write the name as the rule has it, and only once.");
    add_message(p, section, tool, why);
    return false;
}

/* A string as it is, anything else as compact JSON; "" for what is not given. */
static bool decide_argument(const struct policy *p, const struct policy_mcp *section,
        const struct policy_mcp_rule *rule, const struct policy_mcp_argument *argument,
        const json_t *arguments, struct str tool, struct refusal *why)
{
    auto_buf json = BUF(MAX_VALUE);
    const json_t *value = json_object_get(arguments, argument->name.data);
    const char *alias = find_alias(arguments, argument->name.data);
    if (alias)
        return refuse_alias(p, section, rule, argument, alias, tool, why);
    struct str text = json_str(value);
    if (value && !json_is_string(value)) {
        json_write(value, &json);
        text = buf_str(&json);
    }
    return (!json.full && pyre_match(argument->regex.pattern, PYRE_FULLMATCH, text) ==
                                  PYRE_YES) ||
           refuse_argument(p, section, rule, argument, value, text, tool, why);
}

/* Every line that is about the tool holds.  One that gives up is about it. */
static bool decide_arguments(const struct policy *p, const struct policy_mcp *section,
        struct str tool, const json_t *arguments, struct refusal *why)
{
    for (size_t i = 0; i < section->rule_count; i++) {
        const struct policy_mcp_rule *rule = &section->rules[i];
        if (pyre_match(rule->tool.pattern, PYRE_FULLMATCH, tool) == PYRE_NO)
            continue;
        for (size_t j = 0; j < rule->argument_count; j++)
            if (!decide_argument(
                        p, section, rule, &rule->arguments[j], arguments, tool, why))
                return false;
    }
    return true;
}

bool mcp_decide(const struct policy *p, struct str server, struct str tool,
        const json_t *arguments, struct refusal *why)
{
    const struct policy_mcp *section = mcp_find_section(p, server);
    if (!section)
        return refuse_server(p, server, why);
    return decide_tool(p, section, tool, why) &&
           decide_arguments(p, section, tool, arguments, why);
}
