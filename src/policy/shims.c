#include "policy/shims.h"

#include "base/file.h"
#include "base/utf8.h"

#include <errno.h>

/* `*found` stays false if there is no such file. */
static bool read_shim(struct str folder, struct str name, struct arena *arena,
        struct python_shim *out, bool *found, struct error *err)
{
    char *path = arena_printf(arena, "%.*s/.pyddock/import-overrides/%.*s.py",
            STR_ARG(folder), STR_ARG(name));
    struct str text;
    int error = file_read(path, SHIM_MAX_BYTES, arena, &text);
    if (error == ENOENT || error == ENOTDIR)
        return true;
    if (error)
        return error_errno(err, error, "[import_overrides] '%s'", path);
    if (!utf8_valid(text))
        return error_set(err, ERR_INVALID, "[import_overrides] '%s' is not UTF-8", path);
    *out = (struct python_shim){ name, str_of(path), text };
    return *found = true;
}

bool shims_load(const struct policy *policy, struct arena *arena,
        const struct python_shim **out, size_t *count, struct error *err)
{
    const struct policy_texts *names = &policy->import_overrides;
    const struct str folders[] = { policy->workspace, policy->home };
    struct python_shim *shims = arena_zalloc(arena, (names->count + 1) * sizeof(*shims));
    size_t n = 0;
    for (size_t i = 0; i < names->count; i++) {
        bool found = false;
        for (size_t k = 0; k < ARRAY_LEN(folders) && !found; k++)
            if (folders[k].len && !read_shim(folders[k], names->items[i].text, arena,
                                          &shims[n], &found, err))
                return false;
        n += found;
    }
    *out = shims;
    *count = n;
    return true;
}
