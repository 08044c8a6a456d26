#include "tool/describe-servers.h"

#include "base/json.h"
#include "tool/describe.h"

#include <ctype.h>

#define MAX_TEXT    ((size_t)1 << 20)
#define PATTERN_CUT (sizeof(", ... 1000 more") - 1)
#define TEXT_CUT    (sizeof("...") - 1)

/* A name must be seen as it is to be called. */
static void write_name(struct str name, struct buf *out)
{
    bool plain = name.len;
    for (size_t i = 0; i < name.len; i++)
        plain = plain && isgraph((unsigned char)name.data[i]);
    if (plain)
        buf_add(out, name);
    else
        json_write_text(name, out);
}

/* On one line, whatever the policy has. */
static void write_text(struct str text, struct buf *out)
{
    bool space = false;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c <= ' ' || c == 0x7F) {
            space = true;
            continue;
        }
        if (space && out->len)
            buf_addc(out, ' ');
        space = false;
        buf_addc(out, (char)c);
    }
}

static bool has_rules(const struct policy_mcp *section)
{
    for (size_t i = 0; i < section->rule_count; i++)
        if (section->rules[i].argument_count)
            return true;
    return false;
}

/* The patterns that allow, or those that do not, as far as `room` goes; how many were
 * left out is told. */
static void write_patterns(
        const struct policy_mcp *section, bool allowed, size_t room, struct buf *out)
{
    size_t start = out->len, written = 0, left = 0;
    for (size_t i = 0; i < section->tool_count; i++)
        left += section->tools[i].allowed == allowed;
    for (size_t i = 0; i < section->tool_count; i++) {
        auto_buf text = BUF(MAX_TEXT);
        if (section->tools[i].allowed != allowed)
            continue;
        write_text(section->tools[i].regex.text, &text);
        size_t note = left > 1 ? PATTERN_CUT : 0;
        if (out->len - start + 2 + text.len + note > room) {
            buf_addf(out, "%s... %zu more", written ? ", " : "", left);
            return;
        }
        buf_addf(out, "%s%.*s", written++ ? ", " : "", STR_ARG(buf_str(&text)));
        left--;
    }
}

/* What may be called.  `room` is at least what the words around the patterns need. */
static void write_tools(const struct policy_mcp *section, size_t room, struct buf *out)
{
    static const char not [] = "; not: ", limited[] = "; some arguments are limited";
    auto_buf denied = BUF(MAX_TEXT);
    size_t start = out->len;
    size_t words =
            2 * PATTERN_CUT + sizeof(" [tools: ]") + sizeof(not ) + sizeof(limited);
    size_t rest = room > words ? room - words : 0;
    buf_add(out, STR(" [tools: "));
    size_t before = out->len;
    write_patterns(section, true, rest, out);
    if (out->len == before)
        buf_add(out, STR("none"));
    size_t used = out->len - start;
    write_patterns(section, false, rest > used ? rest - used : 0, &denied);
    if (denied.len)
        buf_addf(out, "%s%.*s", not, STR_ARG(buf_str(&denied)));
    if (has_rules(section))
        buf_add(out, str_of(limited));
    buf_addc(out, ']');
}

static void write_server(const struct peer_definition *d, size_t room, struct buf *out)
{
    auto_buf head = BUF(MAX_TEXT), text = BUF(MAX_TEXT), tools = BUF(MAX_TEXT);
    buf_add(&head, STR("\n  "));
    write_name(d->name, &head);
    write_text(d->section->description, &text);
    write_tools(d->section, SIZE_MAX, &tools);
    if (text.len)
        buf_addc(&head, ':');
    size_t rest = room > head.len + 1 ? room - head.len - 1 : 0;
    if (text.len + tools.len > rest) {
        size_t half = rest / 2;
        size_t for_tools = text.len < half ? rest - text.len : half;
        if (tools.len > for_tools) {
            buf_clear(&tools);
            write_tools(d->section, for_tools, &tools);
        }
    }
    buf_add(out, buf_str(&head));
    size_t for_text = rest > tools.len ? rest - tools.len : 0;
    if (text.len)
        buf_addc(out, ' ');
    if (text.len <= for_text) {
        buf_add(out, buf_str(&text));
    } else {
        size_t len = for_text > TEXT_CUT ? for_text - TEXT_CUT : 0;
        while (len && ((unsigned char)text.data[len] & 0xC0) == 0x80)
            len--;
        buf_add(out, str_sub(buf_str(&text), 0, len));
        buf_add(out, STR("..."));
    }
    buf_add(out, buf_str(&tools));
}

static void write_server_line(
        const void *servers, size_t index, size_t room, struct buf *out)
{
    write_server(&((const struct peer_definitions *)servers)->items[index], room, out);
}

void describe_servers(
        const struct peer_definitions *servers, size_t room, struct buf *out)
{
    if (servers)
        describe_lines(write_server_line, servers, servers->count, 120, room, out);
}
