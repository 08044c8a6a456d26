#include "shell/state.h"

struct functions {
    int refs;
    size_t count, cap; /* cap is a power of two, at most half full */
    struct function **slots;
};

struct function *function_ref(struct function *f)
{
    f->refs++;
    return f;
}

void function_unref(struct function *f)
{
    if (--f->refs)
        return;
    script_unref(f->script);
    free((char *)(uintptr_t)f->name.data);
    free((char *)(uintptr_t)f->file.data);
    free(f);
}

static size_t hash(struct str s)
{
    size_t h = 14695981039346656037u;
    for (size_t i = 0; i < s.len; i++)
        h = (h ^ (unsigned char)s.data[i]) * 1099511628211u;
    return h;
}

/* Where `name` is, or would go. */
static struct function **slot_of(const struct functions *f, struct str name)
{
    size_t i = hash(name) & (f->cap - 1);
    while (f->slots[i] && !str_eq(f->slots[i]->name, name))
        i = (i + 1) & (f->cap - 1);
    return &f->slots[i];
}

struct function *functions_find(const struct functions *f, struct str name)
{
    return f && f->count ? *slot_of(f, name) : NULL;
}

struct functions *functions_fork(struct functions *f)
{
    if (f)
        f->refs++;
    return f;
}

void functions_destroy(struct functions *f)
{
    if (!f || --f->refs)
        return;
    for (size_t i = 0; i < f->cap; i++)
        if (f->slots[i])
            function_unref(f->slots[i]);
    free(f->slots);
    free(f);
}

/* A table of its own with room for one more, without `skip`. */
static struct functions *copy_without(const struct functions *f, struct str skip)
{
    struct functions *copy = xcalloc(1, sizeof(*copy));
    copy->refs = 1;
    copy->cap = 16;
    while (f && copy->cap < (f->count + 1) * 2)
        copy->cap *= 2;
    copy->slots = xcalloc(copy->cap, sizeof(struct function *));
    for (size_t i = 0; f && i < f->cap; i++) {
        if (!f->slots[i] || str_eq(f->slots[i]->name, skip))
            continue;
        *slot_of(copy, f->slots[i]->name) = function_ref(f->slots[i]);
        copy->count++;
    }
    return copy;
}

static void replace(struct functions **f, struct functions *by)
{
    functions_destroy(*f);
    *f = by;
}

void functions_set(struct functions **f, struct str name, struct script *script,
        const struct node *body, struct str file)
{
    if (!*f || (*f)->refs > 1 || ((*f)->count + 1) * 2 > (*f)->cap)
        replace(f, copy_without(*f, (struct str){ 0 }));
    struct function *fn = xcalloc(1, sizeof(*fn));
    *fn = (struct function){ .name = { str_copy(name), name.len },
        .script = script_ref(script),
        .body = body,
        .file = { str_copy(file), file.len },
        .refs = 1 };
    struct function **slot = slot_of(*f, name);
    if (*slot)
        function_unref(*slot);
    else
        (*f)->count++;
    *slot = fn;
}

bool functions_unset(struct functions **f, struct str name)
{
    if (!functions_find(*f, name))
        return false;
    replace(f, copy_without(*f, name));
    return true;
}

struct function *functions_own(struct functions **f, struct str name)
{
    const struct function *old = functions_find(*f, name);
    if (!old)
        return NULL;
    bool is_readonly = old->is_readonly, is_exported = old->is_exported;
    struct str file = old->file, key = old->name;
    functions_set(f, key, old->script, old->body, file);
    struct function *fn = functions_find(*f, name);
    fn->is_readonly = is_readonly;
    fn->is_exported = is_exported;
    return fn;
}

struct functions *functions_exported(const struct functions *f)
{
    struct functions *out = NULL;
    for (size_t i = 0; f && i < f->cap; i++) {
        const struct function *fn = f->slots[i];
        if (!fn || !fn->is_exported)
            continue;
        functions_set(&out, fn->name, fn->script, fn->body, fn->file);
        functions_find(out, fn->name)->is_exported = true;
    }
    return out;
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

void functions_names(
        const struct functions *f, struct arena *arena, struct str **names, size_t *count)
{
    *count = 0;
    *names = arena_alloc(arena, sizeof(**names) * (f ? f->count + 1 : 1));
    for (size_t i = 0; f && i < f->cap; i++)
        if (f->slots[i])
            (*names)[(*count)++] = f->slots[i]->name;
    qsort(*names, *count, sizeof(**names), by_name);
}
