/* Any bytes are an arithmetic expression or an error; the tree is not too high to walk.
 */
#include "fuzz.h"

#include "shell/parse.h"

static unsigned height(const struct arith *a)
{
    if (!a)
        return 0;
    const struct arith *const below[] = { a->a, a->b, a->c, a->index };
    unsigned highest = 0;
    for (size_t i = 0; i < ARRAY_LEN(below); i++) {
        unsigned h = height(below[i]);
        highest = h > highest ? h : highest;
    }
    return highest + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_arena *arena = arena_create();
    struct arith *tree = NULL;
    struct parse_error err;
    if (parse_arith((struct str){ (const char *)data, size }, arena, &tree, &err))
        assert(height(tree) <= PARSE_MAX_DEPTH + 2);
    else
        assert(err.message[0]);
    return 0;
}
