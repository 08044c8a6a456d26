#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
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

bool file_is_remote(int fd)
{
    static const unsigned remote[] = {
        0x65735546, /* FUSE */
        0x00006969, /* NFS */
        0x0000517b, /* SMB */
        0xff534d42, /* CIFS */
        0xfe534d42, /* SMB 2 */
        0x01021997, /* 9P */
        0x00c36400, /* Ceph */
        0x5346414f, /* AFS */
        0x6b414653, /* kAFS */
        0x73757245, /* Coda */
        0x00000187, /* autofs */
        0x0bd00bd0, /* Lustre */
    };
    struct statfs fs;
    if (fstatfs(fd, &fs))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(remote); i++)
        if ((unsigned)fs.f_type == remote[i])
            return true;
    return false;
}
