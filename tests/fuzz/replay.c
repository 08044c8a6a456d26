/* replay.c - runs a fuzz target over the files of a folder, without libFuzzer. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>

#define MAX_INPUT_BYTES (1 << 20)

static bool replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    auto_free uint8_t *data = xmalloc(MAX_INPUT_BYTES);
    size_t size = fread(data, 1, MAX_INPUT_BYTES, file);
    fclose(file);
    /* In a block of its own size, so that a read past the end is seen. */
    auto_free uint8_t *exact = xmalloc(size ? size : 1);
    memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(exact, size);
    return true;
}

int main(int argc, char **argv)
{
    size_t count = 0;
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
        if (entry->d_name[0] != '.')
            count += replay(path);
    }
    closedir(folder);
    return count ? 0 : 1; /* an empty corpus tests nothing */
}
