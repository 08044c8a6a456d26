#include "base/base.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static NORETURN void out_of_memory(void)
{
    static const char text[] = "paddock: out of memory\n";
    ssize_t unused UNUSED = write(2, text, sizeof(text) - 1);
    abort();
}

void *xmalloc(size_t size)
{
    void *p = malloc(size ? size : 1);
    if (!p)
        out_of_memory();
    return p;
}

void *xcalloc(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size ? size : 1);
    if (!p)
        out_of_memory();
    return p;
}

void *xrealloc(void *p, size_t size)
{
    void *q = realloc(p, size ? size : 1);
    if (!q)
        out_of_memory();
    return q;
}

char *xstrdup(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(xmalloc(size), text, size);
}

void close_fd(int *fd)
{
    int saved = errno;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    errno = saved;
}

void base_auto_free(void *pp)
{
    void *p;
    memcpy(&p, pp, sizeof(p));
    free(p);
}

void base_auto_close(int *fd)
{
    close_fd(fd);
}
