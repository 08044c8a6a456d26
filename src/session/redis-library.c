#include "session/redis-library.h"

#include <dlfcn.h>

/* The one whose header was there: the layout of its structs changes with this number. */
#define TEXT_OF(macro) TEXT(macro)
#define TEXT(word)     #word
#define LIBRARY        "libhiredis.so." TEXT_OF(HIREDIS_SONAME)

static void *find(void *library, const char *name, const char **missing)
{
    void *found = dlsym(library, name);
    if (!found)
        *missing = name;
    return found;
}

bool redis_library_load(struct redis_library *out, struct error *err)
{
    const char *missing = NULL;
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        error_set(err, ERR_UNSUPPORTED, "a store in Redis needs " LIBRARY ": %.200s",
                dlerror());
        return error_hint(err,
                "Debian has it in the package libhiredis" TEXT_OF(HIREDIS_SONAME) ".");
    }
#define REDIS_FIND(name) out->name = find(library, #name, &missing);
    REDIS_FUNCTIONS(REDIS_FIND)
#undef REDIS_FIND
    return !missing ||
           error_set(err, ERR_UNSUPPORTED,
                   LIBRARY " is not the one that was built for: no '%s'", missing);
}
