#include "search/pathglob.h"

#include "policy/deny.h"

/* Where the bracket expression that begins at `at` ends, or 0: it is a plain '['. */
static size_t set_end(struct str text, size_t at)
{
    size_t i = at + 1;
    if (i < text.len && text.data[i] == '!')
        i++;
    if (i < text.len && text.data[i] == ']')
        i++;
    while (i < text.len && text.data[i] != ']')
        i++;
    return i < text.len ? i + 1 : 0;
}

/* Python negates a set with '!' alone; there, '^' does too.  Put before it is a range
 * that has nothing in it. */
static struct str python_component(struct str text, struct arena *arena)
{
    auto_buf out = BUF(3 * text.len + 8);
    for (size_t i = 0, next; i < text.len; i = next) {
        size_t end = text.data[i] == '[' ? set_end(text, i) : 0;
        bool caret = end && text.data[i + 1] == '^';
        buf_add(&out, caret ? STR("[z-a") : str_sub(text, i, 1));
        next = end ? end : i + 1;
        buf_add(&out, str_sub(text, i + 1, next - i - 1));
    }
    return arena_str(arena, buf_str(&out));
}

bool pathglob_parse_as(struct str text, pathglob_component_fn *component,
        struct arena *arena, struct pathglob *out, struct error *err)
{
    struct pathglob g = { .count = 0 };
    struct str rest = text;
    bool more = true;
    while (more) {
        size_t left = rest.len;
        struct str part = str_cut(&rest, '/');
        more = part.len < left;
        bool deep = str_is(part, "**");
        bool again = deep && g.count && g.deep >> (g.count - 1) & 1;
        if (again)
            continue;
        if (g.count == PATHGLOB_MAX_PARTS)
            return error_set(err, ERR_LIMIT, "the glob has more than %d parts",
                    PATHGLOB_MAX_PARTS);
        g.deep |= (uint64_t)deep << g.count;
        g.parts[g.count++] = component(part, arena);
    }
    *out = g;
    return true;
}

bool pathglob_parse(struct str text, bool fold, struct arena *arena, struct pathglob *out,
        struct error *err)
{
    if (!pathglob_parse_as(text, python_component, arena, out, err))
        return false;
    out->fold = fold;
    return true;
}

/* `**` may stand for nothing, unless it is the last part. */
static pathglob_states close_states(const struct pathglob *g, pathglob_states s)
{
    pathglob_states skippable = g->deep & ~((pathglob_states)1 << (g->count - 1));
    return s | (s & skippable) << 1;
}

pathglob_states pathglob_start(const struct pathglob *g)
{
    return close_states(g, 1);
}

pathglob_states pathglob_step(
        const struct pathglob *g, pathglob_states states, struct str component)
{
    pathglob_states next = 0;
    for (size_t i = 0; i < g->count; i++) {
        pathglob_states bit = (pathglob_states)1 << i;
        if (!(states & bit))
            continue;
        if (g->deep & bit)
            next |= i + 1 == g->count ? bit | bit << 1 : bit;
        else if (glob_component_match(g->parts[i], component, g->fold))
            next |= bit << 1;
    }
    return close_states(g, next);
}

bool pathglob_match(const struct pathglob *g, struct str path)
{
    pathglob_states states = pathglob_start(g);
    for (struct str rest = path; states && rest.len;)
        states = pathglob_step(g, states, str_cut(&rest, '/'));
    return path.len && pathglob_accepts(g, states);
}
