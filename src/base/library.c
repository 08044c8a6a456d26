#include "base/library.h"

#include <dlfcn.h>

bool library_open(const struct library_spec *spec, struct library *out, struct error *err)
{
    *out = (struct library){ .spec = spec };
    out->handle = dlopen(spec->file, RTLD_NOW | RTLD_LOCAL);
    if (out->handle)
        return true;
    error_set(err, ERR_UNSUPPORTED, "%s needs %s: %.200s", spec->user, spec->file,
            dlerror());
    return error_hint(err, "Debian has it in the package %s.", spec->package);
}

void *library_find(struct library *l, const char *name)
{
    void *found = dlsym(l->handle, name);
    if (!found && !l->missing)
        l->missing = name;
    return found;
}

bool library_is_whole(const struct library *l, struct error *err)
{
    return !l->missing || error_set(err, ERR_UNSUPPORTED,
                                  "%s is not the one that was built for: no '%s'",
                                  l->spec->file, l->missing);
}
