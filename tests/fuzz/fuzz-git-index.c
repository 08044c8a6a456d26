#include "fuzz.h"
#include "policy/deputy/git-index.h"

static void read_links(struct str index, size_t hash_bytes)
{
    auto_arena *arena = arena_create();
    struct git_links *links = arena_zalloc(arena, sizeof(*links));
    if (!git_index_links(index, hash_bytes, arena, links))
        return;
    assert(links->count <= GIT_INDEX_MAX_LINKS);
    for (size_t i = 0; i < links->count; i++)
        assert(!memchr(links->paths[i].data, 0, links->paths[i].len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_links((struct str){ (const char *)data, size }, 20);
    read_links((struct str){ (const char *)data, size }, 32);
    return 0;
}
