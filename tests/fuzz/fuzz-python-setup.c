/* What paddock-python is told.  Nobody but the server writes it, but what is parsed must
 * be whole in any case, and be the same when it is written again. */
#include "fuzz.h"
#include "policy/python-setup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, size };
    struct error err;
    struct python_setup setup, again;
    auto_arena *arena = arena_create();
    if (!python_setup_parse(text, arena, &setup, &err))
        return 0;
    auto_buf first = BUF((size_t)64 << 20), second = BUF((size_t)64 << 20);
    python_setup_write(&setup, &first);
    if (!python_setup_parse(buf_str(&first), arena, &again, &err))
        assert(!"what was written can be read");
    python_setup_write(&again, &second);
    assert(str_eq(buf_str(&first), buf_str(&second)));
    for (size_t i = 0; setup.env[i]; i++)
        assert(strchr(setup.env[i], '='));
    return 0;
}
