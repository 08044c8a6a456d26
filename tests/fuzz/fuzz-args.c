#include "fuzz.h"
#include "policy/args-text.h"

static bool is_file(const void *user, struct str name)
{
    (void)user;
    return name.len % 2;
}

/* Parts are found in any bytes, none is empty, and there are not many more than bytes.  A
 * path at the end of a list is always found. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size || size > 4000)
        return 0;
    auto_arena *arena = arena_create();
    struct str given = { (const char *)data + 1, size - 1 };
    enum args_program program = data[0] % (ARGS_SED + 1);
    struct args_parts parts;
    if (args_find_parts(program, given, is_file, NULL, arena, &parts))
        assert(parts.count <= 4 * size + 16);
    for (size_t i = 0; i < parts.count; i++)
        assert(parts.items[i].text.len);

    struct str list = str_of(arena_printf(arena, "x%.*s,/etc/x",
            (int)strnlen(given.data ? given.data : "", given.len),
            given.data ? given.data : ""));
    bool found = false;
    if (!args_find_parts(ARGS_OTHER, list, is_file, NULL, arena, &parts))
        return 0;
    for (size_t i = 0; i < parts.count; i++)
        found = found || str_is(parts.items[i].text, "/etc/x") ||
                parts.items[i].is_sentence;
    assert(found);
    return 0;
}
