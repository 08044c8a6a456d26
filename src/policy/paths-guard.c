#include "policy/deny.h"
#include "policy/paths-internal.h"
#include "policy/pyre/pyre.h"

static const char *const disposition_names[] = {
    [GUARD_DENY_AGENT] = "deny-agent",
    [GUARD_DENY_ALL] = "deny-all",
    [GUARD_READ_ONLY] = "read-only",
    [GUARD_WORKSPACE] = "workspace",
    [GUARD_ALLOW] = "allow",
};

const char *guard_disposition_name(enum guard_disposition disposition)
{
    return disposition_names[disposition];
}

bool guard_disposition_parse(struct str name, enum guard_disposition *out)
{
    size_t i = str_which(name, disposition_names, ARRAY_LEN(disposition_names));
    if (i == ARRAY_LEN(disposition_names))
        return false;
    *out = (enum guard_disposition)i;
    return true;
}

void subject_init(struct subject *s, struct str path)
{
    char *plain = xmalloc(2 * (path.len + 1)), *folded = plain + path.len + 1;
    memcpy(plain, path.data, path.len);
    plain[path.len] = '/';
    size_t with_slash = path.len + (path.len > 1); /* but "/" is one already */
    *s = (struct subject){
        .storage = plain,
        .path = { plain, path.len },
        .slash = { plain, with_slash },
    };
    s->folded = (struct str){ folded, deny_fold(s->slash, folded) };
}

void subject_finish(struct subject *s)
{
    free(s->storage);
    s->storage = NULL;
}

static bool contains(struct str text, struct str part)
{
    return memmem(text.data, text.len, part.data, part.len);
}

/* Folding leaves out or replaces single characters, so what contained the literal still
 * contains the folded one. */
static bool may_match(const struct path_guard *g, const struct subject *s)
{
    return !g->folded.len || contains(s->folded, g->folded);
}

enum guard_hit guard_match(
        const struct path_guard *g, const struct subject *s, bool exact)
{
    struct str folded = { s->folded.data, s->folded.len - (s->folded.len > 1) };
    const struct str texts[] = { s->path, s->slash, folded, s->folded };
    bool as_written = g->guard->disposition == GUARD_ALLOW || str_eq(s->slash, s->folded);
    size_t count = exact ? 1 : as_written ? 2 : ARRAY_LEN(texts);
    if (!may_match(g, s))
        return GUARD_MISSED;
    for (size_t i = 0; i < count; i++) {
        enum pyre_result result =
                pyre_match(g->guard->regex.pattern, PYRE_SEARCH, texts[i]);
        if (result != PYRE_NO)
            return result == PYRE_YES ? GUARD_HIT : GUARD_GAVE_UP;
    }
    return GUARD_MISSED;
}

/* The place after a class `[...]` that begins at `at`, or the end. */
static size_t skip_class(struct str pattern, size_t at)
{
    size_t i = at + 1;
    i += i < pattern.len && pattern.data[i] == '^';
    for (size_t first = i; i < pattern.len; i++) {
        if (pattern.data[i] == '\\')
            i++;
        else if (pattern.data[i] == ']' && i > first)
            return i + 1;
    }
    return pattern.len;
}

/* A comment or flags, which change what brackets mean. */
static bool is_odd_group(struct str pattern, size_t at)
{
    struct str rest = str_from(pattern, at);
    return str_starts(rest, STR("(?")) &&
           (rest.len < 3 || !strchr(":=!<P", rest.data[2]));
}

/* `a|b` outside of groups; when in doubt, yes. */
static bool has_alternatives(struct str pattern)
{
    size_t depth = 0;
    for (size_t i = 0; i < pattern.len;) {
        char c = pattern.data[i];
        if ((c == '|' && !depth) || is_odd_group(pattern, i))
            return true;
        if (c == '[') {
            i = skip_class(pattern, i);
            continue;
        }
        depth += c == '(';
        depth -= c == ')' && depth;
        i += c == '\\' ? 2 : 1;
    }
    return false;
}

/* The literal character at `*at` and the place after it; 0: it means something else. */
static char take_literal(struct str pattern, size_t *at)
{
    char c = pattern.data[*at];
    if (c == '\\' && *at + 1 < pattern.len) {
        c = pattern.data[*at + 1];
        bool special = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                       (c >= 'A' && c <= 'Z') || c <= ' ' || c == 127;
        if (special)
            return 0;
        *at += 2;
        return c;
    }
    if (c <= ' ' || c == 127 || strchr("\\.^$*+?{}[]|()", c))
        return 0;
    *at += 1;
    return c;
}

struct str guard_literal(struct str pattern, struct arena *arena)
{
    char *text = arena_alloc(arena, pattern.len + 1), c;
    size_t len = 0, at = pattern.len && pattern.data[0] == '^';
    if (has_alternatives(pattern))
        return STR("");
    while (at < pattern.len && (c = take_literal(pattern, &at)))
        text[len++] = c;
    /* What repeats the last character may repeat it no times. */
    if (len && at < pattern.len && strchr("*?{", pattern.data[at]))
        len--;
    text[len] = 0;
    return (struct str){ text, len };
}

size_t guard_names(const struct path_guard *g, struct str base, struct arena *arena,
        const char *out[GUARD_NAMES])
{
    static const char *const endings[GUARD_NAMES] = { "", "s", ".json", ".local.json" };
    struct str literal = g->literal;
    bool is_open = literal.len && literal.data[literal.len - 1] != '/';
    if (literal.len < 2 || literal.data[0] != '/')
        return 0;
    literal.len -= !is_open;
    size_t count = is_open ? GUARD_NAMES : 1;
    for (size_t i = 0; i < count; i++)
        out[i] = arena_printf(
                arena, "%.*s%.*s%s", STR_ARG(base), STR_ARG(literal), endings[i]);
    return count;
}
