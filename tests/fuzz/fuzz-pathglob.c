#include "base/arena.h"
#include "fuzz.h"
#include "policy/deny.h"
#include "search/pathglob.h"

/* By definition; exponential, so only for short ones. */
static bool matches(const struct pathglob *g, size_t part, struct str path, bool at_end)
{
    if (part == g->count)
        return at_end;
    if (at_end)
        return false;
    struct str rest = path, component = str_cut(&rest, '/');
    bool ends = component.len == path.len;
    if (!(g->deep >> part & 1))
        return glob_component_match(g->parts[part], component, g->fold) &&
               matches(g, part + 1, rest, ends);
    if (part + 1 == g->count)
        return true;
    return matches(g, part + 1, path, false) || (!ends && matches(g, part, rest, false));
}

/* The glob, a newline, a path. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_arena *arena = arena_create();
    struct str path = { (const char *)data, size }, text = str_cut(&path, '\n');
    struct pathglob g;
    struct error err;
    if (!pathglob_parse(text, size % 2, arena, &g, &err))
        return 0;
    bool found = pathglob_match(&g, path);
    bool tidy = path.len && path.data[path.len - 1] != '/';
    if (tidy && path.len < 24 && g.count < 8)
        assert(found == matches(&g, 0, path, false));
    return 0;
}
