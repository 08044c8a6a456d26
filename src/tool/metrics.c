#include "tool/metrics.h"

#include "base/utf8.h"
#include "policy/log/mask.h"
#include "tool/tool.h"

#include <ctype.h>
#include <time.h>

const uint64_t metrics_bucket_us[METRICS_BUCKETS] = { 500, 1000, 2500, 5000, 10000, 25000,
    50000, 100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000, 30000000,
    60000000 };

struct metrics *metrics_create(void)
{
    struct metrics *m = xcalloc(1, sizeof(*m));
    assert(tool_source_count < METRICS_MAX_TOOLS);
    m->started = time(NULL);
    return m;
}

void metrics_destroy(struct metrics *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->rule_count; i++)
        free(m->rules[i].text);
    free(m);
}

static struct metrics_tool *find_tool(struct metrics *m, struct str name)
{
    if (str_is(name, tool_sources[m->last_tool].name))
        return &m->tools[m->last_tool];
    for (size_t i = 0; i < tool_source_count; i++)
        if (str_is(name, tool_sources[i].name))
            return &m->tools[m->last_tool = i];
    return &m->tools[METRICS_MAX_TOOLS - 1];
}

static void count_duration(struct metrics_tool *tool, uint64_t us)
{
    size_t i = 0;
    while (i < METRICS_BUCKETS && us > metrics_bucket_us[i])
        i++;
    tool->durations[i]++;
    tool->duration_us += us;
}

/* "... (FILE:LINE)", "... (always)": the place is a path, and no part of the rule. */
static struct str without_place(struct str rule)
{
    const char *open = rule.len && rule.data[rule.len - 1] == ')'
                               ? memrchr(rule.data, '(', rule.len)
                               : NULL;
    if (!open || open == rule.data || open[-1] != ' ')
        return rule;
    struct str place = str_from(rule, (size_t)(open + 1 - rule.data));
    bool is_place = str_is(place, "always)") ||
                    str_starts(place, STR("built-in policy, line ")) ||
                    memchr(place.data, ':', place.len);
    return is_place ? str_sub(rule, 0, (size_t)(open - 1 - rule.data)) : rule;
}

/* Where the word that begins here ends: in quotes at the quote, else at a blank. */
static size_t word_length(struct str text, char before)
{
    bool quoted = before == '\'' || before == '"';
    size_t len = 0;
    while (len < text.len &&
            (quoted ? text.data[len] != before : !strchr(" \t\n,;)]'\"", text.data[len])))
        len++;
    return len;
}

static bool begins_path(struct str text, char before)
{
    return (str_starts(text, STR("/")) || str_starts(text, STR("~/"))) &&
           !isalnum((unsigned char)before) && before != '.';
}

static bool is_pattern(struct str word)
{
    for (size_t i = 0; i < word.len; i++)
        if (word.data[i] && strchr("\\*?^$|+[](){}", word.data[i]))
            return true;
    return false;
}

/* What a rule says of paths differs from machine to machine, and is nobody's business who
 * reads counters.  Patterns are the rule itself and stay. */
static void add_without_paths(struct str rule, struct buf *out)
{
    char before = ' ';
    while (rule.len) {
        size_t len = 1;
        if (begins_path(rule, before)) {
            len = word_length(rule, before);
            buf_add(out, is_pattern(str_sub(rule, 0, len)) ? str_sub(rule, 0, len)
                                                           : STR("..."));
        } else {
            buf_addc(out, rule.data[0]);
        }
        before = rule.data[len - 1];
        rule = str_from(rule, len);
    }
}

/* A guard is a pattern, whatever it looks like; what it covers is a path. */
static struct str guard_of(struct str rule)
{
    struct str covers = STR(" covers '");
    const char *at = memmem(rule.data, rule.len, covers.data, covers.len);
    if (!str_starts(rule, STR("[filesystem.guards]")))
        return STR("");
    return at ? str_sub(rule, 0, (size_t)(at - rule.data)) : rule;
}

/* More than this of it is not looked at. */
#define MAX_RULE ((size_t)4096)

void metrics_rule_text(struct str rule, struct buf *out)
{
    auto_buf plain = BUF(2 * MAX_RULE), masked = BUF(4 * MAX_RULE),
             whole = BUF(16 * MAX_RULE);
    rule = str_sub(without_place(rule), 0, MAX_RULE);
    struct str guard = guard_of(rule);
    buf_add(&plain, guard);
    add_without_paths(str_from(rule, guard.len), &plain);
    mask_text(buf_str(&plain), &masked);
    utf8_repair(buf_str(&masked), &whole);
    struct str text = buf_str(&whole);
    size_t len = text.len < METRICS_RULE_BYTES ? text.len : METRICS_RULE_BYTES;
    buf_add(out, str_sub(text, 0, utf8_valid_len(str_sub(text, 0, len))));
}

static uint64_t hash_of(struct str text)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.data[i]) * 1099511628211u;
    return hash;
}

/* A refusal is rare beside a call, and there are few rules. */
static uint64_t *find_rule(struct metrics *m, struct str text)
{
    uint64_t hash = hash_of(text);
    for (size_t i = 0; i < m->rule_count; i++)
        if (m->rules[i].hash == hash && str_is(text, m->rules[i].text))
            return &m->rules[i].count;
    if (m->rule_count == METRICS_MAX_RULES)
        return &m->other_rules;
    struct metrics_rule *rule = &m->rules[m->rule_count++];
    *rule = (struct metrics_rule){ .text = str_copy(text), .hash = hash };
    return &rule->count;
}

static void count_rule(struct metrics *m, struct str rule)
{
    auto_buf text = BUF(METRICS_RULE_BYTES);
    metrics_rule_text(rule, &text);
    ++*find_rule(m, buf_str(&text));
}

void metrics_call(struct metrics *m, const struct metrics_call *call)
{
    if (!m)
        return;
    struct metrics_tool *tool = find_tool(m, call->tool);
    tool->calls[call->outcome]++;
    if (call->has_run)
        count_duration(tool, call->duration_us);
    if (call->rule.len)
        count_rule(m, call->rule);
    m->cut_bytes += call->cut_bytes;
}
