#include "shell/value.h"

struct value *value_create(struct str text)
{
    struct value *v = xmalloc(sizeof(*v) + text.len + 1);
    v->refs = 1;
    v->len = v->cap = text.len;
    if (text.len)
        memcpy(v->data, text.data, text.len);
    v->data[text.len] = 0;
    return v;
}

struct value *value_ref(struct value *v)
{
    v->refs++;
    return v;
}

void value_unref(struct value *v)
{
    if (v && !--v->refs)
        free(v);
}

static struct value *grow_copy(const struct value *v, size_t len)
{
    struct value *copy = xmalloc(sizeof(*copy) + len * 2 + 1);
    copy->refs = 1;
    copy->cap = len * 2;
    copy->len = v->len;
    memcpy(copy->data, v->data, v->len);
    return copy;
}

struct value *value_append(struct value *v, struct str text)
{
    size_t len = v->len + text.len;
    struct value *old = v;
    if (v->refs > 1 || len > v->cap)
        v = grow_copy(old, len);
    /* `text` may lie in the old value (x+=$x), which therefore goes last. */
    if (text.len)
        memcpy(v->data + v->len, text.data, text.len);
    v->len = len;
    v->data[len] = 0;
    if (v != old)
        value_unref(old);
    return v;
}

struct value *value_assign(struct value *v, struct str text)
{
    enum { WASTE = 64 };
    if (!v || v->refs > 1 || text.len > v->cap || v->cap - text.len > WASTE) {
        struct value *created = value_create(text);
        value_unref(v);
        return created;
    }
    if (text.len)
        memmove(v->data, text.data, text.len);
    v->len = text.len;
    v->data[text.len] = 0;
    return v;
}
