#include "cli/location.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/* Length of "scheme" in "scheme://...", or of the first one in "zip::s3://..."; or 0. */
static size_t scheme_length(const char *text)
{
    size_t len = 0;
    if (!isalpha((unsigned char)text[0]))
        return 0;
    while (isalnum((unsigned char)text[len]) || (text[len] && strchr("+.-", text[len])))
        len++;
    return !strncmp(text + len, "://", 3) || !strncmp(text + len, "::", 2) ? len : 0;
}

bool location_parse(const char *text, struct location *out, struct error *err)
{
    size_t len = scheme_length(text);
    struct str scheme = { text, len };
    if (!*text)
        return error_set(err, ERR_INVALID, "the name of a folder cannot be empty");
    if (!len || str_is(scheme, "file"))
        *out = (struct location){ SETUP_LOCAL, len ? text + len + 3 : text };
    else if (str_is(scheme, "memory"))
        *out = (struct location){ SETUP_MEMORY, NULL };
    else
        return error_set(err, ERR_UNSUPPORTED,
                "'%s': the scheme '%.*s' is not in this build yet", text,
                STR_ARG(scheme));
    return true;
}

bool location_open(const struct location *location, struct arena *arena,
        struct setup_root *root, struct error *err)
{
    root->kind = location->kind;
    root->fd = -1;
    if (location->kind != SETUP_LOCAL)
        return true;
    auto_fd int fd = open(location->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, errno, "cannot serve '%s'", location->path);
    char link[64], real[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, real, sizeof(real));
    if (len < 0)
        return error_errno(err, errno, "cannot find the path of '%s'", location->path);
    root->host_path = arena_str(arena, (struct str){ real, (size_t)len });
    root->fd = fd;
    fd = -1;
    return true;
}
