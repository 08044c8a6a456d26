#include "shell/value.h"

#define NO_ENTRY UINT32_MAX

struct entry {
    struct value *key; /* NULL: removed */
    void *item;
    uint32_t hash;
};

struct map {
    int refs;
    const struct map_ops *ops;
    struct entry *entries; /* in order of insertion */
    size_t used, cap;      /* with the removed ones */
    size_t count;
    uint32_t *slots;   /* open addressing: an index into `entries`, or NO_ENTRY */
    size_t slot_count; /* a power of two, or 0 */
};

static void *ref_value(void *item)
{
    return value_ref(item);
}

static void unref_value(void *item)
{
    value_unref(item);
}

const struct map_ops map_of_values = { ref_value, unref_value };

struct map *map_create(const struct map_ops *ops)
{
    struct map *m = xcalloc(1, sizeof(*m));
    m->refs = 1;
    m->ops = ops;
    return m;
}

struct map *map_ref(struct map *m)
{
    m->refs++;
    return m;
}

void map_unref(struct map *m)
{
    if (!m || --m->refs)
        return;
    for (size_t i = 0; i < m->used; i++) {
        if (m->entries[i].key) {
            value_unref(m->entries[i].key);
            m->ops->unref(m->entries[i].item);
        }
    }
    free(m->entries);
    free(m->slots);
    free(m);
}

static uint64_t load(const char *from, size_t n)
{
    uint64_t word = 0;
    memcpy(&word, from, n);
    return word;
}

/* The bytes of at most eight: loads of a fixed size are one instruction each. */
static uint64_t load_short(struct str s)
{
    if (s.len == 8)
        return load(s.data, 8);
    if (s.len >= 4)
        return load(s.data, 4) | load(s.data + s.len - 4, 4) << 32;
    if (!s.len)
        return 0;
    return load(s.data, 1) | load(s.data + s.len / 2, 1) << 8 |
           load(s.data + s.len - 1, 1) << 16;
}

uint32_t map_hash(struct str key)
{
    const uint64_t factor = 0x9e3779b97f4a7c15;
    uint64_t hash = key.len * factor;
    for (; key.len > 8; key = str_from(key, 8)) {
        hash = (hash ^ load(key.data, 8)) * factor;
        hash ^= hash >> 32;
    }
    hash = (hash ^ load_short(key)) * factor;
    return (uint32_t)(hash >> 32);
}

/* Names are short: most are compared without a call. */
static bool is_key(struct str a, struct str b)
{
    if (a.len != b.len)
        return false;
    return a.len <= 8 ? load_short(a) == load_short(b) : !memcmp(a.data, b.data, a.len);
}

size_t map_count(const struct map *m)
{
    return m->count;
}

/* The slot of `key`, or the free slot where it would go; removed entries keep theirs. */
static uint32_t *find_slot(const struct map *m, struct str key, uint32_t hash)
{
    for (size_t i = hash & (m->slot_count - 1);; i = (i + 1) & (m->slot_count - 1)) {
        uint32_t at = m->slots[i];
        if (at == NO_ENTRY)
            return &m->slots[i];
        const struct entry *e = &m->entries[at];
        if (e->hash == hash && e->key && is_key(value_str(e->key), key))
            return &m->slots[i];
    }
}

static void fill_slots(struct map *m)
{
    memset(m->slots, 0xff, m->slot_count * sizeof(*m->slots));
    for (size_t i = 0; i < m->used; i++) {
        size_t at = m->entries[i].hash & (m->slot_count - 1);
        while (m->slots[at] != NO_ENTRY)
            at = (at + 1) & (m->slot_count - 1);
        m->slots[at] = (uint32_t)i;
    }
}

/* Drop removed entries and keep at least half of the slots free. */
static void rebuild(struct map *m)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->used; i++)
        if (m->entries[i].key)
            m->entries[kept++] = m->entries[i];
    m->used = kept;
    m->slot_count = 16;
    while (m->slot_count < (kept + 1) * 4)
        m->slot_count *= 2;
    m->slots = xrealloc(m->slots, m->slot_count * sizeof(*m->slots));
    fill_slots(m);
}

bool map_is_shared(const struct map *m)
{
    return m->refs > 1;
}

struct map *map_own(struct map *m)
{
    if (!map_is_shared(m))
        return m;
    struct map *copy = map_create(m->ops);
    copy->entries = xmalloc(m->count * sizeof(*copy->entries) + 1);
    copy->cap = m->count;
    for (size_t i = 0; i < m->used; i++) {
        const struct entry *e = &m->entries[i];
        if (e->key)
            copy->entries[copy->used++] =
                    (struct entry){ value_ref(e->key), m->ops->ref(e->item), e->hash };
    }
    copy->count = copy->used;
    rebuild(copy);
    map_unref(m);
    return copy;
}

void **map_find(const struct map *m, struct str key, uint32_t hash)
{
    if (!m->count)
        return NULL;
    uint32_t at = *find_slot(m, key, hash);
    return at == NO_ENTRY ? NULL : &m->entries[at].item;
}

void map_set(struct map *m, struct str key, uint32_t hash, void *item)
{
    void **old = map_find(m, key, hash);
    if (old) {
        m->ops->unref(*old);
        *old = item;
        return;
    }
    if ((m->used + 1) * 2 > m->slot_count)
        rebuild(m);
    GROW(m->entries, m->used, m->cap);
    *find_slot(m, key, hash) = (uint32_t)m->used;
    m->entries[m->used++] = (struct entry){ value_create(key), item, hash };
    m->count++;
}

bool map_remove(struct map *m, struct str key, uint32_t hash)
{
    if (!m->count)
        return false;
    uint32_t at = *find_slot(m, key, hash);
    if (at == NO_ENTRY)
        return false;
    struct entry *e = &m->entries[at];
    value_unref(e->key);
    m->ops->unref(e->item);
    e->key = NULL;
    m->count--;
    return true;
}

bool map_next(const struct map *m, size_t *at, struct str *key, void **item)
{
    while (*at < m->used && !m->entries[*at].key)
        ++*at;
    if (*at >= m->used)
        return false;
    const struct entry *e = &m->entries[(*at)++];
    *key = value_str(e->key);
    *item = e->item;
    return true;
}
