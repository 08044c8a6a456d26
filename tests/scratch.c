#include "scratch.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Those that are there, of the process that made them. */
static struct {
    char path[16][128];
    pid_t owner;
} made;

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    remove(path);
    return 0;
}

static void remove_all(void)
{
    if (getpid() != made.owner) /* a child that ends */
        return;
    for (size_t i = 0; i < sizeof(made.path) / sizeof(made.path[0]); i++)
        if (made.path[i][0])
            scratch_remove(made.path[i]);
}

/* One that finds no room here has to be removed by who made it. */
static void remember(const char *folder)
{
    if (made.owner != getpid()) {
        memset(&made, 0, sizeof(made));
        made.owner = getpid();
        atexit(remove_all);
    }
    for (size_t i = 0; i < sizeof(made.path) / sizeof(made.path[0]); i++) {
        if (made.path[i][0])
            continue;
        snprintf(made.path[i], sizeof(made.path[i]), "%s", folder);
        return;
    }
}

void scratch_make(char *template)
{
    if (!mkdtemp(template)) {
        perror(template);
        abort();
    }
    remember(template);
}

void scratch_remove(const char *folder)
{
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    for (size_t i = 0; i < sizeof(made.path) / sizeof(made.path[0]); i++)
        if (!strcmp(made.path[i], folder))
            made.path[i][0] = 0;
}
