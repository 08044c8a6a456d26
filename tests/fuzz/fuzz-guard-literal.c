/* Whatever a guard matches contains the literal that is looked for first, folded too. */
#include "fuzz.h"
#include "policy/paths-internal.h"
#include "policy/pyre/pyre.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str path = { (const char *)data, size }, text = str_cut(&path, '\n');
    struct pyre *pattern = NULL;
    struct error err;
    if (!pyre_create(text, 0, &pattern, &err))
        return 0;
    auto_arena *arena = arena_create();
    struct str literal = guard_literal(text, arena);
    bool contains =
            !literal.len || memmem(path.data, path.len, literal.data, literal.len);
    if (pyre_match(pattern, PYRE_SEARCH, path) == PYRE_YES)
        assert(contains);
    pyre_destroy(pattern);
    return 0;
}
