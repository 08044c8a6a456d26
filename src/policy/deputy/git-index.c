#include "policy/deputy/git-index.h"

#define HEADER_BYTES 12
#define STAT_BYTES   40
#define MODE_AT      24
#define MODE_GITLINK 0160000u
#define MODE_TYPE    0170000u
#define FLAG_LONG    0x4000u /* two more bytes of flags */

struct index_reader {
    struct str data;
    size_t at, hash_bytes;
    uint32_t version;
    struct buf name; /* of the last entry: version 4 says how the next differs */
    struct arena *arena;
    struct git_links *out;
};

static uint32_t number(struct str data, size_t at, size_t bytes)
{
    uint32_t n = 0;
    for (size_t i = 0; i < bytes; i++)
        n = n << 8 | (unsigned char)data.data[at + i];
    return n;
}

/* How many bytes of the last name are dropped, in version 4. */
static bool read_dropped(struct index_reader *r, size_t *out)
{
    size_t n = 0;
    for (unsigned i = 0; i < 4 && r->at < r->data.len; i++) {
        unsigned char c = (unsigned char)r->data.data[r->at++];
        n = n << 7 | (c & 0x7Fu);
        if (!(c & 0x80u)) {
            *out = n;
            return n <= r->name.len;
        }
        n++;
    }
    return false;
}

static bool read_name(struct index_reader *r, size_t entry)
{
    size_t dropped = r->name.len;
    if (r->version == 4 && !read_dropped(r, &dropped))
        return false;
    struct str rest = str_from(r->data, r->at);
    const char *end = rest.len ? memchr(rest.data, 0, rest.len) : NULL;
    if (!end)
        return false;
    r->name.len -= dropped;
    buf_add(&r->name, (struct str){ rest.data, (size_t)(end - rest.data) });
    r->at += (size_t)(end - rest.data) + 1;
    if (r->version < 4)
        r->at = entry + ((r->at - 1 - entry + 8) & ~(size_t)7);
    return !r->name.full;
}

static bool read_entry(struct index_reader *r)
{
    size_t entry = r->at, fixed = STAT_BYTES + r->hash_bytes + 2;
    if (r->data.len - entry < fixed + 2)
        return false;
    uint32_t mode = number(r->data, entry + MODE_AT, 4);
    bool has_more = number(r->data, entry + fixed - 2, 2) & FLAG_LONG;
    r->at += fixed + (has_more ? 2 : 0);
    if (!read_name(r, entry) || r->at > r->data.len)
        return false;
    if ((mode & MODE_TYPE) != MODE_GITLINK)
        return true;
    if (r->out->count == GIT_INDEX_MAX_LINKS)
        return false;
    r->out->paths[r->out->count++] = arena_str(r->arena, buf_str(&r->name));
    return true;
}

/* "sharedindex.<hash>" of a split index. */
static struct str shared_name(const struct index_reader *r, size_t at)
{
    auto_buf name = BUF(128);
    buf_add(&name, STR("sharedindex."));
    buf_add_hex(&name, r->data.data + at, r->hash_bytes);
    return arena_str(r->arena, buf_str(&name));
}

/* Behind the entries: four letters, a size, and so many bytes; at the end a hash. */
static void read_extensions(struct index_reader *r)
{
    while (r->at + 8 + r->hash_bytes < r->data.len) {
        struct str name = str_sub(r->data, r->at, 4);
        size_t size = number(r->data, r->at + 4, 4);
        r->at += 8;
        if (size > r->data.len - r->at)
            return;
        if (str_is(name, "link") && size >= r->hash_bytes)
            r->out->shared = shared_name(r, r->at);
        r->at += size;
    }
}

static bool read_all(struct index_reader *r)
{
    if (r->data.len < HEADER_BYTES || memcmp(r->data.data, "DIRC", 4))
        return false;
    r->version = number(r->data, 4, 4);
    uint32_t count = number(r->data, 8, 4);
    if (r->version < 2 || r->version > 4)
        return false;
    r->at = HEADER_BYTES;
    while (count--) {
        if (!read_entry(r))
            return false;
    }
    read_extensions(r);
    return true;
}

bool git_index_links(
        struct str index, size_t hash_bytes, struct arena *arena, struct git_links *out)
{
    struct index_reader r = {
        .data = index,
        .hash_bytes = hash_bytes,
        .name = BUF((size_t)1 << 16),
        .arena = arena,
        .out = out,
    };
    bool ok = read_all(&r);
    buf_finish(&r.name);
    return ok;
}
