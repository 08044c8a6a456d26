#include "transport/http-mhd.h"

#include "base/library.h"

static const struct library_spec spec = { .file = "libmicrohttpd.so.12",
    .package = "libmicrohttpd12",
    .user = "the transport http" };

bool mhd_load(struct mhd *out, struct error *err)
{
    struct library library;
    if (!library_open(&spec, &library, err))
        return false;
#define MHD_FIND(name) out->name = library_find(&library, "MHD_" #name);
    MHD_FUNCTIONS(MHD_FIND)
#undef MHD_FIND
    return library_is_whole(&library, err);
}
