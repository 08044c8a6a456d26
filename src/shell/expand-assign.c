/* Assignments: scalars, elements, whole arrays, with the attributes of what they set. */
#include "shell/exec.h"
#include "shell/expansion.h"

static int target_flags(struct shell *sh, struct str name, struct arena *arena)
{
    int flags = vars_flags(sh->vars, name);
    if (flags >= 0 && flags & VAR_NAMEREF)
        flags = vars_flags(sh->vars, vars_target(sh->vars, name, arena));
    return flags < 0 ? 0 : flags;
}

static bool report(struct shell *sh, const struct error *err)
{
    shell_err(sh, "%s", err->message);
    sh->status = 1;
    return false;
}

/* The value that is there, for += ; "" if there is none. */
static struct str old_value(struct shell *sh, const struct operand *to)
{
    struct str old = STR("");
    if (!to->has_index)
        vars_get(sh->vars, to->name, &old);
    else if (to->is_assoc)
        vars_get_key(sh->vars, to->name, to->key, &old);
    else
        vars_get_index(sh->vars, to->name, to->index, &old);
    return old;
}

/* declare -i: the text is an expression, and += adds. */
static bool evaluate(struct shell *sh, const struct operand *to, bool append,
        struct arena *arena, struct str *value)
{
    int64_t n = 0, old = 0;
    if (!expand_arith_text(sh, *value, &n) ||
            (append && !expand_arith_text(sh, old_value(sh, to), &old)))
        return false;
    n = (int64_t)((uint64_t)n + (uint64_t)old);
    *value = str_of(arena_printf(arena, "%lld", (long long)n));
    return true;
}

static struct str joined(struct str a, struct str b, struct arena *arena)
{
    char *text = arena_alloc(arena, a.len + b.len + 1);
    memcpy(text, a.data, a.len);
    if (b.len)
        memcpy(text + a.len, b.data, b.len);
    text[a.len + b.len] = 0;
    return (struct str){ text, a.len + b.len };
}

static bool store(
        struct shell *sh, const struct operand *to, struct str value, struct error *err)
{
    if (!to->has_index)
        return vars_set(sh->vars, to->name, value, err);
    if (to->is_assoc && !to->key.len)
        return error_set(
                err, ERR_INVALID, "%.*s[]: bad array subscript", STR_ARG(to->name));
    if (to->is_assoc)
        return vars_set_key(sh->vars, to->name, to->key, value, err);
    return vars_set_index(sh->vars, to->name, to->index, value, err);
}

/* All variables together stay below the ceiling. */
static bool check_memory(struct shell *sh)
{
    if (LIKELY(vars_memory(sh->vars) <= sh->budget->max_memory))
        return true;
    sh->status = 1;
    return budget_stop(sh->budget, BUDGET_MEMORY);
}

bool expand_set(struct shell *sh, const struct operand *to, struct str value, bool append,
        struct arena *arena)
{
    struct error err;
    int flags = target_flags(sh, to->name, arena);
    if (flags & VAR_INTEGER) {
        if (!evaluate(sh, to, append, arena, &value))
            return false;
        append = false;
    }
    if (!to->has_index && shell_special_assign(sh, to->name, value))
        return true;
    if (append && to->has_index) {
        value = joined(old_value(sh, to), value, arena);
        append = false;
    }
    bool ok = append ? vars_append(sh->vars, to->name, value, &err)
                     : store(sh, to, value, &err);
    if (ok && sh->set & SET_ALLEXPORT && !to->has_index)
        ok = vars_set_flags(sh->vars, to->name, VAR_EXPORT, 0, &err);
    return ok ? check_memory(sh) : report(sh, &err);
}

static bool assign_scalar(struct shell *sh, const struct assign *a, struct arena *arena)
{
    struct operand to = { .name = a->name };
    struct str value;
    if (a->index) {
        to.has_index = true;
        to.is_assoc = target_flags(sh, a->name, arena) & VAR_ASSOC;
        if (to.is_assoc && !expand_string(sh, a->index, arena, &to.key))
            return false;
        if (!to.is_assoc && !expand_arith(sh, a->index_arith, &to.index))
            return false;
    }
    if (!expand_string(sh, a->value, arena, &value))
        return false;
    if (UNLIKELY(sh->set & SET_XTRACE))
        xtrace_assign(sh, a, value);
    return expand_set(sh, &to, value, a->flags & ASSIGN_APPEND, arena);
}

const struct word *expand_without_tilde(const struct word *w, struct arena *arena)
{
    bool has_tilde = false;
    for (size_t i = 0; !w->is_literal && i < w->count; i++)
        has_tilde |= w->parts[i].type == PART_TILDE;
    if (!has_tilde)
        return w;
    struct word *copy = arena_alloc(arena, sizeof(*copy));
    *copy = *w;
    copy->parts = arena_alloc(arena, w->count * sizeof(*copy->parts));
    for (size_t i = 0; i < w->count; i++) {
        struct part *part = &copy->parts[i];
        *part = w->parts[i];
        if (part->type != PART_TILDE)
            continue;
        part->type = PART_TEXT;
        part->text = str_of(arena_printf(arena, "~%.*s", STR_ARG(part->text)));
    }
    return copy;
}

/* One element to be set. */
struct element {
    struct str value, key;
    int64_t index;
    bool has_key, append;
};

struct elements {
    struct shell *sh;
    struct arena *arena;
    bool is_assoc;
    struct element *items;
    size_t count, cap;
};

static struct element *add_element(struct elements *list)
{
    if (list->count == list->cap) {
        size_t cap = list->cap ? list->cap * 2 : 8;
        struct element *items = arena_alloc(list->arena, cap * sizeof(*items));
        if (list->count)
            memcpy(items, list->items, list->count * sizeof(*items));
        list->items = items;
        list->cap = cap;
    }
    struct element *item = &list->items[list->count++];
    *item = (struct element){ .value = STR("") };
    return item;
}

/* [key]=value */
static bool add_keyed(struct elements *list, const struct array_item *item)
{
    struct element *el = add_element(list);
    el->has_key = true;
    el->append = item->append;
    const struct word *value =
            list->is_assoc ? expand_without_tilde(item->value, list->arena) : item->value;
    if (!expand_string(list->sh, value, list->arena, &el->value))
        return false;
    if (list->is_assoc)
        return expand_string(list->sh, item->key, list->arena, &el->key);
    return expand_arith(list->sh, item->key_arith, &el->index);
}

/* Words without keys: the next indexes; key and value in turn for an associative array.
 */
static bool add_words(struct elements *list, const struct word *w, bool is_braced)
{
    struct fields fields = { 0 };
    uint64_t set = list->sh->set;
    if (is_braced) /* what looks like an assignment is no pattern */
        list->sh->set |= SET_NOGLOB;
    bool ok = expand_word(list->sh, w, list->arena, &fields);
    list->sh->set = set;
    if (!ok)
        return false;
    for (size_t i = 0; i < fields.count; i++) {
        struct str text = str_of(fields.items[i]);
        struct element *last = list->count ? &list->items[list->count - 1] : NULL;
        if (!expand_room(list->sh, list->arena, sizeof(*last)))
            return false;
        if (list->is_assoc && last && !last->has_key) {
            last->value = text;
            last->has_key = true;
        } else if (list->is_assoc) {
            add_element(list)->key = text;
        } else {
            add_element(list)->value = text;
        }
    }
    return true;
}

static bool collect(struct elements *list, const struct assign *a)
{
    for (size_t i = 0; i < a->item_count; i++) {
        const struct array_item *item = &a->items[i];
        const struct word *words = item->key ? item->braced : item->value;
        bool keyed = item->key && (list->is_assoc || !words);
        if (!keyed && list->is_assoc)
            words = expand_without_tilde(words, list->arena);
        if (keyed ? !add_keyed(list, item) : !add_words(list, words, item->key))
            return false;
    }
    return true;
}

static bool set_elements(struct elements *list, struct str name)
{
    int64_t next = vars_end(list->sh->vars, name);
    for (size_t i = 0; i < list->count; i++) {
        const struct element *el = &list->items[i];
        struct operand to = { .name = name, .has_index = true, .key = el->key };
        to.is_assoc = list->is_assoc;
        to.index = el->has_key ? el->index : next;
        if (!to.is_assoc && to.index < 0 &&
                to.index + vars_end(list->sh->vars, name) < 0) {
            shell_err(list->sh, "[%lld]=%.*s: bad array subscript", (long long)to.index,
                    STR_ARG(el->value)); /* and the others are set */
            continue;
        }
        if (!budget_spend(list->sh->budget, 1) ||
                !expand_set(list->sh, &to, el->value, el->append, list->arena))
            return false;
        next = (to.index < 0 ? vars_end(list->sh->vars, name) : to.index + 1);
    }
    return true;
}

static bool assign_array(struct shell *sh, const struct assign *a, struct arena *arena)
{
    struct error err;
    int flags = target_flags(sh, a->name, arena);
    struct elements list = { .sh = sh, .arena = arena, .is_assoc = flags & VAR_ASSOC };
    if (!collect(&list, a))
        return false;
    if (UNLIKELY(sh->set & SET_XTRACE))
        xtrace_array(sh, a);
    bool append = a->flags & ASSIGN_APPEND;
    bool ok = !append         ? vars_clear_array(sh->vars, a->name, list.is_assoc, &err)
              : list.is_assoc ? true
                              : vars_set_flags(sh->vars, a->name, VAR_INDEXED, 0, &err);
    if (!ok)
        return report(sh, &err);
    return set_elements(&list, a->name);
}

bool expand_assign(struct shell *sh, const struct assign *a, struct arena *arena)
{
    bool ok = a->flags & ASSIGN_ARRAY ? assign_array(sh, a, arena)
                                      : assign_scalar(sh, a, arena);
    return ok || expand_discard(sh);
}
