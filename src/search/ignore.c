#include "search/ignore.h"

#include "policy/deny.h"
#include "search/pathglob.h"

struct ignore_rule {
    struct pathglob *glob;
    bool takes_back; /* written with '!' */
    bool only_dirs;
    bool by_name; /* has no slash: any file or folder of that name */
};

/* ASCII; in a set, `[:alpha:]` becomes what is here. */
static const struct {
    const char *name, *members;
} classes[] = {
    { "[:alnum:]", "0-9A-Za-z" },
    { "[:alpha:]", "A-Za-z" },
    { "[:blank:]", " \t" },
    { "[:digit:]", "0-9" },
    { "[:lower:]", "a-z" },
    { "[:punct:]", "!-/:-@[-`{-~" },
    { "[:space:]", "\t-\r " },
    { "[:upper:]", "A-Z" },
    { "[:xdigit:]", "0-9A-Fa-f" },
};

/* The members of a class that is named at `at`, whose length goes to *len; or NULL. */
static const char *find_class(struct str text, size_t at, size_t *len)
{
    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        if (str_starts(str_from(text, at), str_of(classes[i].name))) {
            *len = strlen(classes[i].name);
            return classes[i].members;
        }
    return NULL;
}

/* A set from '[' on; returns the place after it, or 0 if it has no end. */
static size_t copy_set(struct str text, size_t at, struct buf *out)
{
    size_t start = out->len, i = at + 1, len;
    bool negated = i < text.len && (text.data[i] == '!' || text.data[i] == '^');
    buf_add(out, negated ? STR("[!") : STR("["));
    i += negated;
    for (size_t first = i; i < text.len && (text.data[i] != ']' || i == first);) {
        const char *members = find_class(text, i, &len);
        if (members) {
            buf_add(out, str_of(members));
            i += len;
            continue;
        }
        i += text.data[i] == '\\' && i + 1 < text.len;
        buf_addc(out, text.data[i++]);
    }
    buf_addc(out, ']');
    if (i < text.len)
        return i + 1;
    out->len = start;
    return 0;
}

/* git quotes with backslashes, and knows classes in sets. */
static struct str git_component(struct str text, struct arena *arena)
{
    auto_buf out = BUF(16 * text.len + 16);
    for (size_t i = 0; i < text.len;) {
        size_t after = text.data[i] == '[' ? copy_set(text, i, &out) : 0;
        if (after) {
            i = after;
            continue;
        }
        bool quoted = text.data[i] == '\\' && i + 1 < text.len;
        i += quoted;
        char c = text.data[i++];
        if (quoted && (c == '*' || c == '?' || c == '['))
            buf_addf(&out, "[%c]", c);
        else
            buf_addc(&out, c);
    }
    return arena_str(arena, buf_str(&out));
}

/* Blanks at the end do not count, unless a backslash is before them. */
static struct str trim(struct str line)
{
    if (line.len && line.data[line.len - 1] == '\r')
        line.len--;
    while (line.len && line.data[line.len - 1] == ' ' &&
            !(line.len > 1 && line.data[line.len - 2] == '\\'))
        line.len--;
    return line;
}

static bool parse_rule(struct str line, struct arena *arena, struct ignore_rule *out)
{
    struct ignore_rule rule = { .takes_back = line.data[0] == '!' };
    struct error unused;
    line = str_from(line, rule.takes_back);
    rule.only_dirs = str_ends(line, STR("/"));
    line.len -= rule.only_dirs;
    rule.by_name = !line.len || !memchr(line.data, '/', line.len);
    if (str_starts(line, STR("/")))
        line = str_from(line, 1);
    rule.glob = arena_alloc(arena, sizeof(*rule.glob));
    if (!line.len || !pathglob_parse_as(line, git_component, arena, rule.glob, &unused))
        return false;
    *out = rule;
    return true;
}

void ignore_parse(struct str text, struct arena *arena, struct ignore_rules *out)
{
    struct ignore_rules rules = { .count = 0 };
    if (str_starts(text, STR("\xEF\xBB\xBF")))
        text = str_from(text, 3);
    for (struct str rest = text; rest.len && rules.count < IGNORE_MAX_RULES;) {
        struct str line = trim(str_cut(&rest, '\n'));
        if (!line.len || line.data[0] == '#')
            continue;
        GROW(rules.items, rules.count, rules.cap);
        rules.count += parse_rule(line, arena, &rules.items[rules.count]);
    }
    if (rules.cap)
        arena_defer(arena, free, rules.items);
    *out = rules;
}

static bool matches(const struct ignore_rule *rule, struct str path, struct str name)
{
    return rule->by_name ? glob_component_match(rule->glob->parts[0], name, false)
                         : pathglob_match(rule->glob, path);
}

enum ignore_answer ignore_ask(
        const struct ignore_rules *rules, struct str path, bool is_dir)
{
    const char *slash = path.len ? memrchr(path.data, '/', path.len) : NULL;
    struct str name = slash ? str_from(path, (size_t)(slash + 1 - path.data)) : path;
    for (size_t i = rules->count; i-- > 0;) {
        const struct ignore_rule *rule = &rules->items[i];
        if ((is_dir || !rule->only_dirs) && matches(rule, path, name))
            return rule->takes_back ? IGNORE_IN : IGNORE_OUT;
    }
    return IGNORE_SILENT;
}
