#include "policy/deny.h"

static const struct str built_in[] = {
    STR(".git"), STR(".env"), STR(".env.*"), STR("*.pem"), STR("*.key"),
    STR(".pyddock"), /* the policy of another server of this folder */
};

static bool only_stars(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.data[i] != '*')
            return false;
    }
    return true;
}

static bool check_pattern(struct str pattern, struct error *err)
{
    if (!pattern.len)
        return error_set(err, ERR_INVALID, "a deny pattern is empty");
    if (memchr(pattern.data, '/', pattern.len)) {
        error_set(err, ERR_INVALID, "deny pattern '%.*s' contains '/'", STR_ARG(pattern));
        return error_hint(err,
                "A pattern is matched against every single name of a path: write only "
                "the name.");
    }
    if (only_stars(pattern))
        return error_set(err, ERR_INVALID, "deny pattern '%.*s' would deny everything",
                STR_ARG(pattern));
    return true;
}

bool deny_rules_build(const char *const *extra, struct arena *arena,
        struct deny_rules *out, struct error *err)
{
    size_t more = 0;
    while (extra && extra[more])
        more++;
    size_t count = ARRAY_LEN(built_in) + more;
    struct str *patterns = arena_alloc(arena, count * sizeof(*patterns));
    memcpy(patterns, built_in, sizeof(built_in));
    for (size_t i = 0; i < more; i++) {
        struct str pattern = str_of(extra[i]);
        if (!check_pattern(pattern, err))
            return false;
        patterns[ARRAY_LEN(built_in) + i] = arena_str(arena, pattern);
    }
    *out = (struct deny_rules){ patterns, count };
    return true;
}

static const struct str *find_match(const struct deny_rules *rules, struct str component)
{
    for (size_t i = 0; i < rules->count; i++) {
        if (glob_component_match(rules->patterns[i], component, true))
            return &rules->patterns[i];
    }
    return NULL;
}

static bool is_ascii(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.data[i] >= 0x80)
            return false;
    return true;
}

const struct str *deny_match(const struct deny_rules *rules, struct str component)
{
    char folded[256]; /* no name is longer */
    const struct str *by = rules ? find_match(rules, component) : NULL;
    if (!rules || by || is_ascii(component) || component.len > sizeof(folded))
        return by;
    return find_match(rules, (struct str){ folded, deny_fold(component, folded) });
}

const struct str *deny_match_path(const struct deny_rules *rules, struct str path)
{
    while (rules && path.len) {
        struct str component = str_cut(&path, '/');
        const struct str *by = component.len ? deny_match(rules, component) : NULL;
        if (by)
            return by;
    }
    return NULL;
}
