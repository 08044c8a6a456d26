#include "bridge/headers.h"
#include "fuzz.h"

/* What is taken can be sent: no field has a line break or a NUL in it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err;
    struct bridge_setup setup;
    struct url to;
    auto_arena *arena = arena_create();
    if (!bridge_setup_parse(
                (struct str){ (const char *)data, size }, arena, &setup, &err))
        return 0;
    for (size_t i = 0; i < setup.header_count; i++)
        assert(!strpbrk(setup.headers[i], "\r\n") && strpbrk(setup.headers[i], ":;"));
    assert(!strpbrk(setup.url.text, "\r\n#"));
    const char *last = setup.header_count ? setup.headers[setup.header_count - 1] : "/x";
    if (url_parse(last, &setup.url, arena, &to, &err)) {
        assert(!strpbrk(to.text, "\r\n#"));
        assert(str_starts(
                str_of(to.origin), to.is_tls ? STR("https://") : STR("http://")));
    }
    return 0;
}
