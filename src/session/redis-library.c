#include "session/redis-library.h"

#include "base/library.h"

/* The one whose header was there: the layout of its structs changes with this number. */
#define TEXT_OF(macro) TEXT(macro)
#define TEXT(word)     #word

static const struct library_spec spec = { .file = "libhiredis.so." TEXT_OF(
                                                  HIREDIS_SONAME),
    .package = "libhiredis" TEXT_OF(HIREDIS_SONAME),
    .user = "a store in Redis" };

bool redis_library_load(struct redis_library *out, struct error *err)
{
    struct library library;
    if (!library_open(&spec, &library, err))
        return false;
#define REDIS_FIND(name) out->name = library_find(&library, #name);
    REDIS_FUNCTIONS(REDIS_FIND)
#undef REDIS_FIND
    return library_is_whole(&library, err);
}
