#include "shell/vars.h"

#include "shell/letter.h"
#include "shell/value.h"

#define MAX_NAMEREFS   16
#define ARRAY_FLAGS    (VAR_INDEXED | VAR_ASSOC)
#define CASE_FLAGS     (VAR_LOWER | VAR_UPPER | VAR_CAPITAL)
#define ELEMENT_WEIGHT 64 /* of one value besides its text, about */

struct var {
    int refs;
    enum var_flags flags;
    union {
        struct value *text;  /* NULL: unset */
        struct array *array; /* VAR_INDEXED */
        struct map *map;     /* VAR_ASSOC */
    };
};

struct scope {
    int refs;
    struct scope *outer; /* NULL: this is the global one */
    struct map *names;   /* to struct var; NULL: none yet */
};

struct vars {
    struct scope *top;
    size_t depth;
    size_t memory;
};

/* Where a name leads to when its namerefs are followed. */
struct target {
    struct str name; /* "" for a circle */
    struct str subscript;
    bool has_subscript;
};

static struct var *var_create(void)
{
    struct var *var = xcalloc(1, sizeof(*var));
    var->refs = 1;
    var->flags = VAR_DECLARED;
    return var;
}

static void *var_ref(void *item)
{
    struct var *var = item;
    var->refs++;
    return var;
}

static void drop_value(struct var *var)
{
    if (var->flags & VAR_INDEXED)
        array_unref(var->array);
    else if (var->flags & VAR_ASSOC)
        map_unref(var->map);
    else
        value_unref(var->text);
    var->text = NULL;
}

static void var_unref(void *item)
{
    struct var *var = item;
    if (--var->refs)
        return;
    drop_value(var);
    free(var);
}

static const struct map_ops map_of_vars = { var_ref, var_unref };

static struct var *var_clone(const struct var *var)
{
    struct var *copy = var_create();
    copy->flags = var->flags;
    if (var->flags & VAR_INDEXED)
        copy->array = array_ref(var->array);
    else if (var->flags & VAR_ASSOC)
        copy->map = map_ref(var->map);
    else if (var->text)
        copy->text = value_ref(var->text);
    return copy;
}

static size_t weight(const struct value *value)
{
    return value ? value->cap + ELEMENT_WEIGHT : 0;
}

static size_t var_weight(const struct var *var)
{
    size_t sum = 0, at[2] = { 0 };
    struct value *value = NULL;
    if (var->flags & VAR_INDEXED) {
        for (int64_t index; array_next(var->array, at, &index, &value);)
            sum += weight(value);
    } else if (var->flags & VAR_ASSOC) {
        struct str key;
        for (void *item; map_next(var->map, at, &key, &item);)
            sum += weight(item) + key.len + ELEMENT_WEIGHT;
    } else {
        sum = weight(var->text);
    }
    return sum;
}

static struct scope *scope_create(struct scope *outer)
{
    struct scope *s = xcalloc(1, sizeof(*s));
    s->refs = 1;
    s->outer = outer;
    return s;
}

static void scope_unref(struct scope *s)
{
    while (s && !--s->refs) {
        struct scope *outer = s->outer;
        map_unref(s->names);
        free(s);
        s = outer;
    }
}

/* Make the scope at `*at` ours alone; its variables stay shared. */
static struct scope *scope_own(struct scope **at)
{
    struct scope *old = *at;
    if (old->refs == 1)
        return old;
    struct scope *copy = scope_create(old->outer);
    if (copy->outer)
        copy->outer->refs++;
    if (old->names)
        copy->names = map_ref(old->names);
    old->refs--;
    *at = copy;
    return copy;
}

struct vars *vars_create(void)
{
    struct vars *v = xcalloc(1, sizeof(*v));
    v->top = scope_create(NULL);
    v->depth = 1;
    return v;
}

struct vars *vars_fork(struct vars *parent)
{
    struct vars *v = xmalloc(sizeof(*v));
    *v = *parent;
    v->top->refs++;
    return v;
}

void vars_destroy(struct vars *v)
{
    if (!v)
        return;
    scope_unref(v->top);
    free(v);
}

void vars_push(struct vars *v)
{
    v->top = scope_create(v->top);
    v->depth++;
}

void vars_pop(struct vars *v)
{
    struct scope *s = v->top;
    assert(s->outer);
    size_t at = 0;
    struct str name;
    if (s->names)
        for (void *item; map_next(s->names, &at, &name, &item);)
            v->memory -= var_weight(item);
    v->top = s->outer;
    v->top->refs++;
    v->depth--;
    scope_unref(s);
}

size_t vars_depth(const struct vars *v)
{
    return v->depth;
}

static struct var *find_in(const struct scope *s, struct str name, uint32_t hash)
{
    void **at = s->names ? map_find(s->names, name, hash) : NULL;
    return at ? *at : NULL;
}

static struct var *find(const struct vars *v, struct str name)
{
    uint32_t hash = map_hash(name);
    for (const struct scope *s = v->top; s; s = s->outer) {
        struct var *var = find_in(s, name, hash);
        if (var)
            return var;
    }
    return NULL;
}

static struct target split_target(struct str text)
{
    struct target t = { .name = text };
    const char *open = text.len ? memchr(text.data, '[', text.len) : NULL;
    if (open && text.data[text.len - 1] == ']') {
        t.name.len = (size_t)(open - text.data);
        t.subscript = str_sub(text, t.name.len + 1, text.len - t.name.len - 2);
        t.has_subscript = true;
    }
    return t;
}

static struct target resolve(const struct vars *v, struct str name)
{
    struct target t = { .name = name };
    for (int i = 0; i < MAX_NAMEREFS; i++) {
        const struct var *var = find(v, t.name);
        if (t.has_subscript || !var || !(var->flags & VAR_NAMEREF) || !var->text)
            return t;
        t = split_target(value_str(var->text));
    }
    return (struct target){ .name = STR("") };
}

static struct value *map_get(const struct map *m, struct str key)
{
    void **at = map_find(m, key, map_hash(key));
    return at ? *at : NULL;
}

static struct value *get_key(const struct var *var, struct str key)
{
    if (var->flags & VAR_ASSOC)
        return map_get(var->map, key);
    int64_t index = 0;
    if (!str_int(key, &index))
        return NULL;
    if (!(var->flags & VAR_INDEXED))
        return index == 0 || index == -1 ? var->text : NULL;
    return array_get(var->array, index < 0 ? index + array_end(var->array) : index);
}

static bool give(const struct value *value, struct str *out)
{
    if (value)
        *out = value_str(value);
    return value;
}

bool vars_get(struct vars *v, struct str name, struct str *out)
{
    const struct var *var = find(v, name);
    if (var && !(var->flags & (ARRAY_FLAGS | VAR_NAMEREF)))
        return give(var->text, out);
    struct target t = resolve(v, name);
    var = find(v, t.name);
    return var && give(get_key(var, t.has_subscript ? t.subscript : STR("0")), out);
}

bool vars_get_index(struct vars *v, struct str name, int64_t index, struct str *out)
{
    char key[STR_INT_MAX];
    const struct var *var = find(v, resolve(v, name).name);
    if (!var)
        return false;
    if (var->flags & VAR_INDEXED && index >= 0)
        return give(array_get(var->array, index), out);
    return give(get_key(var, str_of_int(index, key)), out);
}

bool vars_get_key(struct vars *v, struct str name, struct str key, struct str *out)
{
    const struct var *var = find(v, resolve(v, name).name);
    return var && give(get_key(var, key), out);
}

int vars_flags(struct vars *v, struct str name)
{
    const struct var *var = find(v, name);
    return var ? (int)var->flags : -1;
}

size_t vars_count(struct vars *v, struct str name)
{
    const struct var *var = find(v, resolve(v, name).name);
    if (!var)
        return 0;
    if (var->flags & VAR_INDEXED)
        return array_count(var->array);
    return var->flags & VAR_ASSOC ? map_count(var->map) : var->text != NULL;
}

int64_t vars_end(struct vars *v, struct str name)
{
    const struct var *var = find(v, resolve(v, name).name);
    if (!var || var->flags & VAR_ASSOC)
        return 0;
    return var->flags & VAR_INDEXED ? array_end(var->array) : var->text != NULL;
}

static struct str index_text(struct arena *arena, int64_t index)
{
    char text[STR_INT_MAX];
    return arena_str(arena, str_of_int(index, text));
}

/* Where bash's table of 1024 lists would have a key, which is the order that it shows an
 * associative array in; the newest is first in its list. */
struct element {
    struct str key, value;
    uint32_t list;
    size_t age;
};

static uint32_t list_of(struct str key, size_t count)
{
    uint32_t lists = 1024, hash = 2166136261u;
    while (count > (size_t)lists * 2)
        lists *= 4;
    for (size_t i = 0; i < key.len; i++)
        hash = (hash * 16777619u) ^ (uint32_t)(int32_t)(signed char)key.data[i];
    return hash & (lists - 1);
}

static int compare_elements(const void *a, const void *b)
{
    const struct element *x = a, *y = b;
    if (x->list != y->list)
        return x->list < y->list ? -1 : 1;
    return x->age > y->age ? -1 : 1;
}

static void sort_elements(
        struct str *keys, struct str *values, size_t count, struct arena *arena)
{
    struct element *all = arena_alloc(arena, count * sizeof(*all));
    for (size_t i = 0; i < count; i++)
        all[i] = (struct element){ keys[i], values[i], list_of(keys[i], count), i };
    qsort(all, count, sizeof(*all), compare_elements);
    for (size_t i = 0; i < count; i++) {
        keys[i] = all[i].key;
        values[i] = all[i].value;
    }
}

static void associative_elements(const struct map *m, struct arena *arena,
        struct str **keys, struct str **values, size_t count)
{
    struct str *k = arena_alloc(arena, count * sizeof(*k));
    struct str *v = arena_alloc(arena, count * sizeof(*v));
    size_t at = 0;
    void *item;
    for (size_t i = 0; i < count && map_next(m, &at, &k[i], &item); i++)
        v[i] = value_str(item);
    sort_elements(k, v, count, arena);
    if (keys)
        *keys = k;
    if (values)
        *values = v;
}

void vars_elements(struct vars *v, struct str name, struct arena *arena,
        struct str **keys, struct str **values, size_t *count)
{
    size_t n = *count = vars_count(v, name), at[2] = { 0 }, i = 0;
    if (keys)
        *keys = arena_alloc(arena, n * sizeof(**keys) + 1);
    if (values)
        *values = arena_alloc(arena, n * sizeof(**values) + 1);
    if (!n)
        return;
    const struct var *var = find(v, resolve(v, name).name);
    if (var->flags & VAR_ASSOC) {
        associative_elements(var->map, arena, keys, values, n);
        return;
    }
    struct value *value = var->text;
    struct str key = STR("0");
    for (; i < n; i++) {
        int64_t index;
        if (var->flags & VAR_INDEXED && array_next(var->array, at, &index, &value) &&
                keys)
            key = index_text(arena, index);
        if (keys)
            (*keys)[i] = key;
        if (values)
            (*values)[i] = value_str(value);
    }
}

struct str vars_target(struct vars *v, struct str name, struct arena *arena)
{
    struct target t = resolve(v, name);
    if (!t.has_subscript)
        return arena_str(arena, t.name);
    return str_of(
            arena_printf(arena, "%.*s[%.*s]", STR_ARG(t.name), STR_ARG(t.subscript)));
}

struct str vars_nameref(struct vars *v, struct str name)
{
    const struct var *var = find(v, name);
    return var && var->flags & VAR_NAMEREF && var->text ? value_str(var->text) : STR("");
}

static int compare_names(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

void vars_local_names(
        struct vars *v, struct arena *arena, struct str **names, size_t *count)
{
    const struct map *m = v->top->names;
    *count = 0;
    *names = arena_alloc(arena, (m ? map_count(m) : 0) * sizeof(**names) + 1);
    size_t at = 0;
    struct str name;
    for (void *item; m && map_next(m, &at, &name, &item);)
        (*names)[(*count)++] = arena_str(arena, name);
    qsort(*names, *count, sizeof(**names), compare_names);
}

void vars_names(struct vars *v, struct str prefix, struct arena *arena,
        struct str **names, size_t *count)
{
    size_t most = 0, n = 0;
    for (const struct scope *s = v->top; s; s = s->outer)
        most += s->names ? map_count(s->names) : 0;
    *names = arena_alloc(arena, most * sizeof(**names) + 1);
    for (const struct scope *s = v->top; s; s = s->outer) {
        size_t at = 0;
        struct str name;
        for (void *item; s->names && map_next(s->names, &at, &name, &item);)
            if (str_starts(name, prefix))
                (*names)[n++] = arena_str(arena, name);
    }
    qsort(*names, n, sizeof(**names), compare_names);
    *count = 0;
    for (size_t i = 0; i < n; i++)
        if (!*count || !str_eq((*names)[i], (*names)[*count - 1]))
            (*names)[(*count)++] = (*names)[i];
}

bool var_name_is_valid(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.data[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!is_letter && !(i && c >= '0' && c <= '9'))
            return false;
    }
    return name.len;
}

size_t vars_memory(const struct vars *v)
{
    return v->memory;
}

/* The variable in this scope (ours already), made if it is missing, ours alone. */
static struct var *own_var(struct scope *s, struct str name, uint32_t hash)
{
    s->names = s->names ? map_own(s->names) : map_create(&map_of_vars);
    void **at = map_find(s->names, name, hash);
    if (!at) {
        struct var *var = var_create();
        map_set(s->names, name, hash, var);
        return var;
    }
    struct var *var = *at;
    if (var->refs > 1) {
        *at = var_clone(var);
        var_unref(var);
    }
    return *at;
}

/* The same in the innermost scope that has it, else the global one. */
static struct var *writable(struct vars *v, struct str name)
{
    uint32_t hash = map_hash(name);
    struct scope **at = &v->top;
    for (;;) {
        struct scope *s = scope_own(at);
        if (!s->outer || find_in(s, name, hash))
            return own_var(s, name, hash);
        at = &s->outer;
    }
}

static bool check_name(struct str name, struct error *err)
{
    return var_name_is_valid(name) ||
           error_set(err, ERR_INVALID, "`%.*s': not a valid identifier", STR_ARG(name));
}

static bool check_writable(const struct vars *v, struct str name, struct error *err)
{
    const struct var *var = find(v, name);
    if (!var && !name.len) /* what resolve() makes of a circle */
        return error_set(err, ERR_INVALID, "circular name reference");
    if (!var)
        return check_name(name, err);
    if (var->flags & VAR_READONLY)
        return error_set(err, ERR_DENIED, "%.*s: readonly variable", STR_ARG(name));
    return true;
}

/* The value to be stored: with the case that the attributes ask for. */
static struct value *styled(const struct var *var, struct str text)
{
    if (!(var->flags & CASE_FLAGS))
        return value_create(text);
    auto_buf changed = BUF(text.len * 4 + 4);
    size_t first = 0;
    if (var->flags & VAR_CAPITAL) {
        uint32_t code;
        first = text.len ? letter_decode(text, &code) : 0;
        letter_add_all(&changed, str_sub(text, 0, first), LETTER_UPPER);
    }
    letter_add_all(&changed, str_from(text, first),
            var->flags & VAR_UPPER ? LETTER_UPPER : LETTER_LOWER);
    return value_create(buf_str(&changed));
}

static void store_text(struct vars *v, struct var *var, struct value *value)
{
    v->memory += weight(value) - weight(var->text);
    value_unref(var->text);
    var->text = value;
}

static void store_index(
        struct vars *v, struct var *var, int64_t index, struct value *value)
{
    var->array = array_own(var->array);
    v->memory += weight(value) - weight(array_get(var->array, index));
    array_set(var->array, index, value);
}

static void store_key(
        struct vars *v, struct var *var, struct str key, struct value *value)
{
    uint32_t hash = map_hash(key);
    var->map = map_own(var->map);
    void **old = map_find(var->map, key, hash);
    v->memory += weight(value) - (old ? weight(*old) : 0);
    if (!old)
        v->memory += key.len + ELEMENT_WEIGHT;
    map_set(var->map, key, hash, value);
}

/* Make an array of `var`; a scalar value becomes element 0. */
static void make_array(struct vars *v, struct var *var, bool assoc)
{
    if (var->flags & ARRAY_FLAGS)
        return;
    struct value *text = var->text;
    v->memory -= weight(text);
    if (assoc)
        var->map = map_create(&map_of_values);
    else
        var->array = array_create();
    var->flags |= assoc ? VAR_ASSOC : VAR_INDEXED;
    if (text && assoc)
        store_key(v, var, STR("0"), text);
    else if (text)
        store_index(v, var, 0, text);
}

static bool bad_subscript(struct str name, struct str subscript, struct error *err)
{
    return error_set(err, ERR_INVALID, "%.*s[%.*s]: bad array subscript", STR_ARG(name),
            STR_ARG(subscript));
}

/* Set what a subscript in text form names. */
static bool set_subscript(struct vars *v, struct str name, struct str subscript,
        struct str text, struct error *err)
{
    const struct var *var = find(v, name);
    if (var && var->flags & VAR_ASSOC)
        return vars_set_key(v, name, subscript, text, err);
    int64_t index = 0;
    if (!str_int(subscript, &index))
        return bad_subscript(name, subscript, err);
    return vars_set_index(v, name, index, text, err);
}

/* The variable that an assignment to `name` changes, if that is a matter of its text
 * alone and neither it nor a scope on the way is shared; else NULL. */
static struct var *find_plain(const struct vars *v, struct str name)
{
    const unsigned harmless = VAR_EXPORT | VAR_DECLARED;
    uint32_t hash = map_hash(name);
    struct var *var = NULL;
    for (const struct scope *s = v->top; s && s->refs == 1; s = s->outer)
        if ((var = find_in(s, name, hash)))
            return var->refs > 1 || var->flags & ~harmless || map_is_shared(s->names)
                           ? NULL
                           : var;
    return NULL;
}

bool vars_set(struct vars *v, struct str name, struct str text, struct error *err)
{
    struct var *plain = find_plain(v, name);
    if (LIKELY(plain != NULL)) {
        v->memory -= weight(plain->text);
        plain->text = value_assign(plain->text, text);
        v->memory += weight(plain->text);
        plain->flags &= ~(unsigned)VAR_DECLARED;
        return true;
    }
    struct target t = resolve(v, name);
    if (!check_writable(v, t.name, err))
        return false;
    if (t.has_subscript)
        return set_subscript(v, t.name, t.subscript, text, err);
    struct var *var = writable(v, t.name);
    struct value *value = styled(var, text);
    var->flags &= ~(unsigned)VAR_DECLARED;
    if (var->flags & VAR_INDEXED)
        store_index(v, var, 0, value);
    else if (var->flags & VAR_ASSOC)
        store_key(v, var, STR("0"), value);
    else
        store_text(v, var, value);
    return true;
}

bool vars_append(struct vars *v, struct str name, struct str text, struct error *err)
{
    struct target t = resolve(v, name);
    if (!check_writable(v, t.name, err))
        return false;
    struct var *var = t.has_subscript ? NULL : writable(v, t.name);
    if (var && var->text && !(var->flags & (ARRAY_FLAGS | CASE_FLAGS))) {
        v->memory -= weight(var->text);
        var->text = value_append(var->text, text);
        v->memory += weight(var->text);
        return true;
    }
    struct str old = STR("");
    vars_get(v, name, &old);
    auto_buf whole = BUF(old.len + text.len);
    buf_add(&whole, old);
    buf_add(&whole, text);
    return vars_set(v, name, buf_str(&whole), err);
}

bool vars_set_index(struct vars *v, struct str name, int64_t index, struct str text,
        struct error *err)
{
    struct target t = resolve(v, name);
    if (!check_writable(v, t.name, err))
        return false;
    char key[STR_INT_MAX];
    struct str subscript = str_of_int(index, key);
    if (index < 0)
        index += vars_end(v, t.name);
    const struct var *old = find(v, t.name);
    if (old && old->flags & VAR_ASSOC)
        return vars_set_key(v, t.name, subscript, text, err);
    if (index < 0 || index == INT64_MAX)
        return bad_subscript(name, subscript, err);
    struct var *var = writable(v, t.name);
    make_array(v, var, false);
    var->flags &= ~(unsigned)VAR_DECLARED;
    store_index(v, var, index, styled(var, text));
    return true;
}

bool vars_set_key(struct vars *v, struct str name, struct str key, struct str text,
        struct error *err)
{
    struct target t = resolve(v, name);
    if (!check_writable(v, t.name, err))
        return false;
    const struct var *old = find(v, t.name);
    if (!old || !(old->flags & VAR_ASSOC))
        return set_subscript(v, t.name, key, text, err);
    struct var *var = writable(v, t.name);
    var->flags &= ~(unsigned)VAR_DECLARED;
    store_key(v, var, key, styled(var, text));
    return true;
}

bool vars_local(struct vars *v, struct str name, struct error *err)
{
    uint32_t hash = map_hash(name);
    if (find_in(v->top, name, hash))
        return true;
    if (!check_writable(v, name, err))
        return false;
    own_var(scope_own(&v->top), name, hash);
    return true;
}

bool vars_set_flags(struct vars *v, struct str name, enum var_flags add,
        enum var_flags remove, struct error *err)
{
    if (!((add | remove) & VAR_NAMEREF))
        name = resolve(v, name).name;
    if (!check_name(name, err))
        return false;
    const struct var *old = find(v, name);
    if (old && old->flags & VAR_READONLY && remove & VAR_READONLY)
        return error_set(err, ERR_DENIED, "%.*s: readonly variable", STR_ARG(name));
    unsigned now = old ? old->flags : 0;
    if (add & VAR_INDEXED && now & VAR_ASSOC)
        return error_set(err, ERR_INVALID,
                "%.*s: cannot convert associative to indexed array", STR_ARG(name));
    if (add & VAR_ASSOC && now & VAR_INDEXED)
        return error_set(err, ERR_INVALID,
                "%.*s: cannot convert indexed to associative array", STR_ARG(name));
    if (remove & ARRAY_FLAGS & now)
        return error_set(err, ERR_INVALID,
                "%.*s: cannot destroy array variables in this way", STR_ARG(name));
    struct var *var = writable(v, name);
    if (add & ARRAY_FLAGS)
        make_array(v, var, add & VAR_ASSOC);
    if (add & CASE_FLAGS)
        var->flags &= ~(unsigned)CASE_FLAGS;
    var->flags = (var->flags & ~((unsigned)remove & ~(unsigned)ARRAY_FLAGS)) | add;
    return true;
}

void vars_mark(struct vars *v, struct str name, enum var_flags flags)
{
    static const unsigned kinds = ARRAY_FLAGS | VAR_NAMEREF;
    struct var *var = writable(v, name);
    unsigned given = (unsigned)flags & ~kinds;
    bool is_set = var->flags & ARRAY_FLAGS ? vars_count(v, name) : var->text != NULL;
    if (is_set)
        given &= ~(unsigned)VAR_DECLARED;
    var->flags = (var->flags & kinds) | given;
}

bool vars_set_nameref(
        struct vars *v, struct str name, struct str target, struct error *err)
{
    if (!check_writable(v, name, err))
        return false;
    if (!check_name(split_target(target).name, err))
        return false;
    struct value *value = value_create(target);
    struct var *var = writable(v, name);
    v->memory += weight(value) - var_weight(var);
    drop_value(var);
    var->flags &= ~(unsigned)(ARRAY_FLAGS | VAR_DECLARED);
    var->flags |= VAR_NAMEREF;
    var->text = value;
    return true;
}

bool vars_clear_array(struct vars *v, struct str name, bool assoc, struct error *err)
{
    struct target t = resolve(v, name);
    if (!check_writable(v, t.name, err))
        return false;
    struct var *var = writable(v, t.name);
    v->memory -= var_weight(var);
    drop_value(var);
    var->flags &= ~(unsigned)(ARRAY_FLAGS | VAR_DECLARED);
    make_array(v, var, assoc);
    return true;
}

static bool unset(struct vars *v, struct str name, struct error *err)
{
    uint32_t hash = map_hash(name);
    struct var *var = find(v, name);
    if (!var)
        return true;
    if (var->flags & VAR_READONLY)
        return error_set(
                err, ERR_DENIED, "%.*s: cannot unset: readonly variable", STR_ARG(name));
    v->memory -= var_weight(var);
    struct scope **at = &v->top;
    for (struct scope *s = scope_own(at); !find_in(s, name, hash); s = scope_own(at))
        at = &s->outer;
    struct scope *s = *at;
    s->names = map_own(s->names);
    if (s == v->top && s->outer)
        map_set(s->names, name, hash, var_create());
    else
        map_remove(s->names, name, hash);
    return true;
}

bool vars_unset_self(struct vars *v, struct str name, struct error *err)
{
    return unset(v, name, err);
}

bool vars_unset(struct vars *v, struct str name, struct error *err)
{
    struct target t = resolve(v, name);
    if (t.has_subscript)
        return vars_unset_element(v, t.name, t.subscript, err);
    return unset(v, t.name, err);
}

bool vars_unset_element(
        struct vars *v, struct str name, struct str key, struct error *err)
{
    struct target t = resolve(v, name);
    const struct var *old = find(v, t.name);
    if (!old)
        return true;
    if (!check_writable(v, t.name, err))
        return false;
    int64_t index = 0;
    if (old->flags & VAR_ASSOC) {
        const struct value *value = get_key(old, key);
        if (!value)
            return true;
        struct var *var = writable(v, t.name);
        v->memory -= weight(value) + key.len + ELEMENT_WEIGHT;
        var->map = map_own(var->map);
        map_remove(var->map, key, map_hash(key));
        return true;
    }
    if (!str_int(key, &index))
        return bad_subscript(name, key, err);
    if (index < 0)
        index += vars_end(v, t.name);
    if (index < 0)
        return bad_subscript(name, key, err);
    if (!(old->flags & VAR_INDEXED))
        return index ? error_set(err, ERR_INVALID, "%.*s: not an array variable",
                               STR_ARG(t.name))
                     : unset(v, t.name, err);
    struct var *var = writable(v, t.name);
    v->memory -= weight(array_get(var->array, index));
    var->array = array_own(var->array);
    array_remove(var->array, index);
    return true;
}
