#include "base/arena.h"
#include "fuzz.h"
#include "search/ignore.h"

/* A path, a NUL, the rules. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_arena *arena = arena_create();
    struct str text = { (const char *)data, size }, path = str_cut(&text, 0);
    struct ignore_rules rules;
    ignore_parse(text, arena, &rules);
    enum ignore_answer file = ignore_ask(&rules, path, false);
    enum ignore_answer folder = ignore_ask(&rules, path, true);
    assert(file == IGNORE_SILENT || folder != IGNORE_SILENT);
    /* One more rule that takes it back is the last word. */
    auto_buf more = BUF(size + 64);
    buf_add(&more, text);
    buf_add(&more, STR("\n!*\n"));
    ignore_parse(buf_str(&more), arena, &rules);
    assert(rules.count == IGNORE_MAX_RULES || !path.len ||
            path.data[path.len - 1] == '/' ||
            ignore_ask(&rules, path, false) == IGNORE_IN);
    return 0;
}
