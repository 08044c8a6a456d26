#include "policy/own-programs.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

const char *const own_places[] = { "../libexec/paddock/", "", "worker/", "python/",
    "launch/", "bridge/" };
const size_t own_place_count = ARRAY_LEN(own_places);

const char *const own_names[] = { "paddock", "pyddock", "mcpath", "paddock-bridge",
    "paddock-launch", "paddock-python", "paddock-worker" };
const size_t own_name_count = ARRAY_LEN(own_names);

int own_folder(struct buf *out)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self));
    if (len < 0)
        return errno;
    while (len > 1 && self[len - 1] != '/')
        len--;
    buf_add(out, (struct str){ self, (size_t)len });
    return 0;
}
