#include "hostile.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

const char *outside(const struct prey *prey, const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % ARRAY_LEN(paths)];
    snprintf(path, sizeof(paths[0]), "%s/%s", prey->outside, name);
    return path;
}

bool can_open(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

static void try_all(const struct attempt *attempts, const struct prey *prey)
{
    for (; attempts->what; attempts++) {
        bool through = attempts->got_through(prey);
        dprintf(STDOUT_FILENO, "%s %s %s\n", through ? "through" : "refused",
                attempts->property, attempts->what);
    }
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 2;
    const struct prey prey = { .outside = argv[1],
        .server = atoi(argv[2]),
        .port = atoi(argv[3]),
        .abstract_name = argv[4],
        .socket_path = argv[5] };
    try_all(file_attempts, &prey);
    try_all(process_attempts, &prey);
    try_all(kernel_attempts, &prey); /* a namespace that can be had changes all else */
    return 0;
}
