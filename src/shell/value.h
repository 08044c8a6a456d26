/*
 * value.h - what variables are made of: counted text, sparse arrays, ordered maps.
 *
 * All three are shared by reference count between a shell and its subshells and copied
 * when one of them writes: call x_own() before a change.  A fork copies nothing.
 */
#ifndef SHELL_VALUE_H
#define SHELL_VALUE_H

#include "base/str.h"

struct value {
    int refs;
    size_t len, cap;
    char data[]; /* a NUL follows the text */
};

struct value *value_create(struct str text);
struct value *value_ref(struct value *v);
void value_unref(struct value *v); /* NULL is fine */

/* `v` with `text` after it; `v` is consumed (or grown in place when nobody shares it). */
struct value *value_append(struct value *v, struct str text);

/* `v` with this text instead, in place if nobody shares it and it has the room without
 * wasting much; `v` is consumed, and may be NULL. */
struct value *value_assign(struct value *v, struct str text);

static inline struct str value_str(const struct value *v)
{
    return (struct str){ v->data, v->len };
}

struct array;

struct array *array_create(void);
struct array *array_ref(struct array *a);
void array_unref(struct array *a);
struct array *array_own(struct array *a); /* `a` is consumed */

size_t array_count(const struct array *a);
int64_t array_end(const struct array *a); /* the largest index + 1; 0 if empty */
struct value *array_get(const struct array *a, int64_t index);       /* NULL: unset */
void array_set(struct array *a, int64_t index, struct value *value); /* takes over */
bool array_remove(struct array *a, int64_t index);

/* Walk in order: `*at` starts at 0; false after the last cell. */
bool array_next(
        const struct array *a, size_t at[2], int64_t *index, struct value **value);

struct map_ops {
    void *(*ref)(void *item);
    void (*unref)(void *item);
};

struct map;

struct map *map_create(const struct map_ops *ops);
struct map *map_ref(struct map *m);
void map_unref(struct map *m);
struct map *map_own(struct map *m); /* `m` is consumed */
bool map_is_shared(const struct map *m);

uint32_t map_hash(struct str key);
size_t map_count(const struct map *m);

/* Where the item of `key` is kept, or NULL.  Valid until the map changes. */
void **map_find(const struct map *m, struct str key, uint32_t hash);

/* `item` is taken over; an old one is dropped, its place in the order stays. */
void map_set(struct map *m, struct str key, uint32_t hash, void *item);
bool map_remove(struct map *m, struct str key, uint32_t hash);

/* Walk in order: `*at` starts at 0; false after the last entry. */
bool map_next(const struct map *m, size_t *at, struct str *key, void **item);

/* An associative array maps text to struct value. */
extern const struct map_ops map_of_values;

#endif
