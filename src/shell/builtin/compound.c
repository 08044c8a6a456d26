#include "shell/builtin/compound.h"

#include "shell/assign.h"
#include "shell/expand.h"

static void add(struct compound *c, struct arena *arena, struct compound_item item)
{
    if (c->count == c->cap) {
        size_t cap = c->cap ? c->cap * 2 : 16;
        struct compound_item *items = arena_alloc(arena, cap * sizeof(*items));
        if (c->count)
            memcpy(items, c->items, c->count * sizeof(*items));
        c->items = items;
        c->cap = cap;
    }
    c->items[c->count++] = item;
}

/* [key]=value */
static bool add_keyed(struct shell *sh, const struct array_item *item,
        struct arena *arena, struct compound *out)
{
    struct compound_item made = { .append = item->append };
    int64_t index;
    if (out->assoc) {
        if (!expand_string(sh, item->key, arena, &made.key))
            return false;
    } else {
        if (!expand_arith(sh, item->key_arith, &index))
            return false;
        made.key = str_of(arena_printf(arena, "%lld", (long long)index));
    }
    const struct word *value =
            out->assoc ? expand_without_tilde(item->value, arena) : item->value;
    if (!expand_string(sh, value, arena, &made.value))
        return false;
    add(out, arena, made);
    return true;
}

/* A word gives any number of elements; in an associative array they are key and value in
 * turn. */
static void add_plain(
        struct compound *out, struct arena *arena, struct str word, bool *half)
{
    if (!out->assoc) {
        add(out, arena, (struct compound_item){ .value = word });
    } else if (*half) {
        out->items[out->count - 1].value = word;
        *half = false;
    } else {
        add(out, arena, (struct compound_item){ .key = word, .value = STR("") });
        *half = true;
    }
}

bool compound_expand(struct shell *sh, const struct assign *a, bool assoc,
        struct arena *arena, struct compound *out)
{
    *out = (struct compound){ .assoc = assoc };
    bool half = false;
    for (size_t i = 0; i < a->item_count; i++) {
        const struct array_item *item = &a->items[i];
        struct fields words = { 0 };
        const struct word *word = item->key ? item->braced : item->value;
        if (item->key && (assoc || !word)) {
            if (!add_keyed(sh, item, arena, out))
                return false;
            continue;
        }
        uint64_t set = sh->set;
        if (assoc)
            word = expand_without_tilde(word, arena);
        if (item->key) /* what looks like an assignment is no pattern */
            sh->set |= SET_NOGLOB;
        bool ok = expand_word(sh, word, arena, &words);
        sh->set = set;
        if (!ok)
            return false;
        for (size_t k = 0; k < words.count; k++)
            add_plain(out, arena, str_of(words.items[k]), &half);
    }
    return true;
}

static bool store_one(struct shell *sh, struct str name, const struct compound_item *item,
        int64_t *next)
{
    int64_t index = *next;
    if (item->key.data && !str_int(item->key, &index))
        index = -1; /* an associative key */
    char *target = item->key.data ? arena_printf(sh->arena, "%.*s[%.*s]", STR_ARG(name),
                                            STR_ARG(item->key))
                                  : arena_printf(sh->arena, "%.*s[%lld]", STR_ARG(name),
                                            (long long)index);
    *next = index + 1;
    return item->append ? assign_append(sh, NULL, str_of(target), item->value)
                        : assign_text(sh, NULL, str_of(target), item->value);
}

/* Reported: a negative index that is none of the array; the other elements are set. */
static bool is_before_start(
        struct shell *sh, struct str name, const struct compound_item *item)
{
    int64_t index;
    if (!item->key.data || !str_int(item->key, &index) || index >= 0 ||
            index + vars_end(sh->vars, name) >= 0)
        return false;
    shell_err(sh, "[%lld]=%.*s: bad array subscript", (long long)index,
            STR_ARG(item->value));
    return true;
}

bool compound_store(
        struct shell *sh, struct str name, const struct compound *c, bool append)
{
    struct error err;
    if (!append && !vars_clear_array(sh->vars, name, c->assoc, &err)) {
        shell_err(sh, "%s", err.message);
        return false;
    }
    int64_t next = append && !c->assoc ? vars_end(sh->vars, name) : 0;
    for (size_t i = 0; i < c->count; i++)
        if (!(!c->assoc && is_before_start(sh, name, &c->items[i])) &&
                !store_one(sh, name, &c->items[i], &next))
            return false;
    return true;
}
