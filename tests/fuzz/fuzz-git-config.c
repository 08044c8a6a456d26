#include "fuzz.h"
#include "policy/deputy/git-config.h"

/* Whatever is in the file: names that git would know, and values without their quotes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_arena *arena = arena_create();
    struct git_settings settings = { 0 };
    struct error err = { 0 };
    struct str text = { (const char *)data, size };
    if (!git_config_parse(text, "config", arena, &settings, &err)) {
        assert(err.code == ERR_INVALID && err.message[0]);
        return 0;
    }
    unsigned line = 1;
    for (size_t i = 0; i < settings.count; i++) {
        const struct git_setting *s = &settings.items[i];
        assert(s->key.len && s->line >= line);
        line = s->line;
        for (size_t k = 0; k < s->section.len; k++)
            assert(s->section.data[k] < 'A' || s->section.data[k] > 'Z');
        assert(s->value.len <= size);
    }
    return 0;
}
