/* Files as trees, and one laid over the other. */
#include "base/file.h"
#include "policy/config/internal.h"

#include <errno.h>

struct toml_value conf_merge(
        const struct toml_value *base, const struct toml_value *over, struct arena *arena)
{
    struct toml_value out = *base;
    out.items = arena_zalloc(arena, (base->count + over->count + 1) * sizeof(*out.items));
    if (base->count)
        memcpy(out.items, base->items, base->count * sizeof(*out.items));
    for (size_t i = 0; i < over->count; i++) {
        const struct toml_item *new = &over->items[i];
        struct toml_item *old = NULL;
        for (size_t j = 0; j < base->count && !old; j++)
            if (str_eq(out.items[j].key, new->key))
                old = &out.items[j];
        if (!old)
            out.items[out.count++] = *new;
        else if (old->value.type == TOML_TABLE && new->value.type == TOML_TABLE)
            old->value = conf_merge(&old->value, &new->value, arena);
        else
            *old = *new;
    }
    return out;
}

bool conf_read_file(const char *path, const char *name, struct arena *arena,
        struct toml_value *out, struct error *err)
{
    struct str text;
    int failed = file_read(path, CONFIG_MAX_BYTES, arena, &text);
    if (failed == EISDIR)
        return error_set(err, ERR_INVALID, "%s:1: is not a file", name);
    if (failed == EFBIG)
        return error_set(
                err, ERR_LIMIT, "%s:1: is larger than %zu bytes", name, CONFIG_MAX_BYTES);
    if (failed)
        return error_errno(err, failed, "%s:1: cannot be opened", name);
    return toml_parse(text, name, arena, out, err);
}
