#include "base/path.h"

bool path_is_normal(struct str path)
{
    if (!path.len || path.data[0] != '/' || memchr(path.data, 0, path.len))
        return false;
    struct str rest = str_from(path, 1);
    if (!rest.len)
        return true;
    if (rest.data[rest.len - 1] == '/')
        return false;
    while (rest.len) {
        struct str name = str_cut(&rest, '/');
        if (!name.len || str_is(name, ".") || str_is(name, ".."))
            return false;
    }
    return true;
}

bool path_is_in(struct str path, struct str folder)
{
    if (str_is(folder, "/"))
        return path.len && path.data[0] == '/';
    return folder.len && str_starts(path, folder) &&
           (path.len == folder.len || path.data[folder.len] == '/');
}

bool path_is_beneath(struct str path, struct str folder)
{
    return path.len != folder.len && path_is_in(path, folder);
}
