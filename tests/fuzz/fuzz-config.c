#include "fuzz.h"
#include "policy/config/internal.h"

/* What is wrong is one line that says where. */
static void check_error(const struct error *err)
{
    assert(err->code != ERR_NONE);
    assert(strncmp(err->message, "base:", 5) == 0 ||
            strncmp(err->message, "overlay:", 8) == 0);
    assert(!strchr(err->message, '\n'));
}

static bool read_tree(
        struct arena *arena, struct str base, struct str over, struct toml_value *out)
{
    struct error err = { 0 };
    struct toml_value first, second;
    if (!toml_parse(base, "base", arena, &first, &err) ||
            !toml_parse(over, "overlay", arena, &second, &err)) {
        check_error(&err);
        return false;
    }
    *out = conf_merge(&first, &second, arena);
    return true;
}

/* A base and, behind a NUL, an overlay. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str over = { (const char *)data, size }, base = str_cut(&over, 0);
    auto_arena *arena = arena_create();
    struct error err = { 0 };
    struct conf c = { .arena = arena, .err = &err };
    struct toml_value root;
    bool begun = conf_begin(&c, "/", "/nowhere");
    assert(begun);
    c.policy->base = "base";
    if (!read_tree(arena, base, over, &root))
        return 0;
    if (!conf_build(&c, &root))
        check_error(&err);
    else
        assert(c.policy->timeout_ms > 0 && c.policy->protected_count > 0);
    return 0;
}
