#include "transport/http-mhd.h"

#include <dlfcn.h>

#define LIBRARY "libmicrohttpd.so.12"

static void *find(void *library, const char *name, const char **missing)
{
    void *found = dlsym(library, name);
    if (!found)
        *missing = name;
    return found;
}

bool mhd_load(struct mhd *out, struct error *err)
{
    const char *missing = NULL;
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        error_set(err, ERR_UNSUPPORTED, "the transport http needs " LIBRARY ": %.200s",
                dlerror());
        return error_hint(err, "Debian has it in the package libmicrohttpd12.");
    }
#define MHD_FIND(name) out->name = find(library, "MHD_" #name, &missing);
    MHD_FUNCTIONS(MHD_FIND)
#undef MHD_FIND
    return !missing ||
           error_set(err, ERR_UNSUPPORTED,
                   LIBRARY " is not the one that was built for: no '%s'", missing);
}
