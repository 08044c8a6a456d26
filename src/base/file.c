#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int file_read(const char *path, size_t max, struct arena *arena, struct str *out)
{
    struct stat st;
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0)
        return errno;
    if (!S_ISREG(st.st_mode))
        return EISDIR;
    if (st.st_size > (off_t)max)
        return EFBIG;
    size_t size = (size_t)st.st_size, len = 0;
    char *text = arena_alloc(arena, size + 1);
    ssize_t n = 1;
    while (len < size && (n = read(fd, text + len, size - len)) > 0)
        len += (size_t)n;
    if (n < 0)
        return errno;
    text[len] = '\0';
    *out = (struct str){ text, len };
    return 0;
}
