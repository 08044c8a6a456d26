#include "base/base.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static NORETURN void out_of_memory(void)
{
    static const char text[] = "paddock: out of memory\n";
    ssize_t unused UNUSED = write(2, text, sizeof(text) - 1);
    abort();
}

/* One in a process, as its heap is. */
static struct {
    void *pages;
    size_t size;
    volatile sig_atomic_t *flag;
    int value;
} reserve;

bool memory_reserve(size_t size, volatile sig_atomic_t *flag, int value)
{
    if (reserve.pages)
        return true;
    malloc_trim(0); /* it has just been used, and much was freed since */
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
        return false;
    reserve.pages = pages;
    reserve.size = size;
    reserve.flag = flag;
    reserve.value = value;
    return true;
}

/* Returns if there is something to be had now. */
static void use_reserve(void)
{
    if (!reserve.pages)
        out_of_memory();
    munmap(reserve.pages, reserve.size);
    reserve.pages = NULL;
    if (!*reserve.flag)
        *reserve.flag = reserve.value;
}

void *xmalloc(size_t size)
{
    void *p;
    while (!(p = malloc(size ? size : 1)))
        use_reserve();
    return p;
}

void *xcalloc(size_t count, size_t size)
{
    void *p;
    while (!(p = calloc(count ? count : 1, size ? size : 1)))
        use_reserve();
    return p;
}

void *xrealloc(void *p, size_t size)
{
    void *q;
    while (!(q = realloc(p, size ? size : 1)))
        use_reserve();
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
