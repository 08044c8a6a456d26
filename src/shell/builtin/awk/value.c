#include "shell/builtin/awk/awk.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>

struct awk_string *awk_string_new(struct str s)
{
    struct awk_string *n = xmalloc(sizeof(*n) + s.len + 1);
    n->refs = 1;
    n->len = s.len;
    if (s.len)
        memcpy(n->data, s.data, s.len);
    n->data[s.len] = 0;
    return n;
}

static void string_unref(struct awk_string *s)
{
    if (s && !--s->refs)
        free(s);
}

struct str awk_string_str(const struct awk_string *s)
{
    return (struct str){ s->data, s->len };
}

struct awk_value awk_value_number(double n)
{
    return (struct awk_value){ .kind = AWK_NUMBER, .number = n };
}

struct awk_value awk_value_take(struct awk_string *s)
{
    return (struct awk_value){ .kind = AWK_STRING, .string = s };
}

struct awk_value awk_value_text(struct str s)
{
    return awk_value_take(awk_string_new(s));
}

struct awk_value awk_value_copy(const struct awk_value *v)
{
    if (v->kind == AWK_STRING || v->kind == AWK_INPUT)
        v->string->refs++;
    return *v;
}

void awk_value_free(struct awk_value *v)
{
    if (v->kind == AWK_STRING || v->kind == AWK_INPUT)
        string_unref(v->string);
    v->kind = AWK_UNSET;
}

static size_t digits(struct str s, size_t at)
{
    size_t n = 0;
    while (at + n < s.len && isdigit((unsigned char)s.data[at + n]))
        n++;
    return n;
}

/* Bytes of the decimal number at `at`; 0 if there is none. */
static size_t decimal_length(struct str s, size_t at)
{
    size_t i = at;
    if (i < s.len && (s.data[i] == '-' || s.data[i] == '+'))
        i++;
    size_t before = digits(s, i), after = 0;
    i += before;
    if (i < s.len && s.data[i] == '.') {
        after = digits(s, i + 1);
        if (before || after)
            i += 1 + after;
    }
    if (!before && !after)
        return 0;
    if (i < s.len && (s.data[i] == 'e' || s.data[i] == 'E')) {
        size_t e = i + 1;
        if (e < s.len && (s.data[e] == '-' || s.data[e] == '+'))
            e++;
        size_t exponent = digits(s, e);
        if (exponent)
            i = e + exponent;
    }
    return i - at;
}

static double small_integer(const char *data, size_t len)
{
    bool negative = len && data[0] == '-';
    int64_t n = 0;
    for (size_t i = negative; i < len; i++)
        n = n * 10 + (data[i] - '0');
    return (double)(negative ? -n : n);
}

double awk_number(struct str s, bool *whole)
{
    size_t at = 0;
    while (at < s.len && isspace((unsigned char)s.data[at]))
        at++;
    size_t len = decimal_length(s, at), end = at + len;
    while (end < s.len && isspace((unsigned char)s.data[end]))
        end++;
    *whole = len && end == s.len;
    if (!len)
        return 0;
    bool negative = s.data[at] == '-';
    if (len < 16 && digits(s, at + negative) == len - negative)
        return small_integer(s.data + at, len);
    char text[400];
    if (len >= sizeof(text))
        len = sizeof(text) - 1;
    memcpy(text, s.data + at, len);
    text[len] = 0;
    return strtod(text, NULL);
}

struct awk_value awk_value_input(struct str s)
{
    bool whole;
    struct awk_value v = awk_value_text(s);
    v.number = awk_number(s, &whole);
    if (whole)
        v.kind = AWK_INPUT;
    return v;
}

double awk_value_to_number(const struct awk_value *v)
{
    bool whole;
    switch (v->kind) {
    case AWK_NUMBER:
    case AWK_INPUT:
        return v->number;
    case AWK_STRING:
        return awk_number(awk_string_str(v->string), &whole);
    case AWK_UNSET:
        break;
    }
    return 0;
}

bool awk_value_is_true(const struct awk_value *v)
{
    if (v->kind == AWK_STRING)
        return v->string->len > 0;
    return v->kind != AWK_UNSET && v->number != 0;
}

/* CONVFMT and OFMT come from the program: only one plain conversion is let through. */
static bool is_number_format(const char *format)
{
    const char *at = strchr(format, '%');
    if (!at)
        return false;
    at++;
    at += strspn(at, "-+ #0");
    at += strspn(at, "0123456789");
    if (*at == '.')
        at += 1 + strspn(at + 1, "0123456789");
    return *at && strchr("eEfFgGaA", *at) && !strchr(at + 1, '%') && strlen(format) < 64;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static int print_number(char *text, size_t size, const char *format, double n)
{
    return snprintf(text, size, is_number_format(format) ? format : "%.6g", n);
}

#pragma GCC diagnostic pop

static struct awk_string *number_text(double n, const char *format)
{
    char text[512];
    int len;
    if (isnan(n))
        len = snprintf(text, sizeof(text), signbit(n) ? "-nan" : "+nan");
    else if (isinf(n))
        len = snprintf(text, sizeof(text), n < 0 ? "-inf" : "+inf");
    else if (n == floor(n))
        len = fabs(n) < 1e16 ? snprintf(text, sizeof(text), "%lld", (long long)n)
                             : snprintf(text, sizeof(text), "%.0f", n);
    else
        len = print_number(text, sizeof(text), format, n);
    size_t size = len < (int)sizeof(text) ? (size_t)len : sizeof(text) - 1;
    return awk_string_new((struct str){ text, size });
}

struct awk_string *awk_value_to_string(const struct awk_value *v, const char *format)
{
    switch (v->kind) {
    case AWK_STRING:
    case AWK_INPUT:
        v->string->refs++;
        return v->string;
    case AWK_NUMBER:
        return number_text(v->number, format);
    case AWK_UNSET:
        break;
    }
    return awk_string_new(STR(""));
}

int awk_value_compare(
        const struct awk_value *a, const struct awk_value *b, const char *format)
{
    if (a->kind != AWK_STRING && b->kind != AWK_STRING) {
        double x = awk_value_to_number(a), y = awk_value_to_number(b);
        bool text = (a->kind == AWK_UNSET && b->kind == AWK_UNSET);
        if (!text)
            return (x > y) - (x < y);
    }
    struct awk_string *x = awk_value_to_string(a, format),
                      *y = awk_value_to_string(b, format);
    int order = str_cmp(awk_string_str(x), awk_string_str(y));
    string_unref(x);
    string_unref(y);
    return order;
}

struct entry {
    struct awk_string *key; /* NULL: deleted */
    uint64_t hash;
    struct awk_cell cell;
};

/* Entries in the order of their making, and an open-addressing index into them.  Cells
 * are allocated singly, since a parameter may refer to one while others are added. */
struct awk_array {
    struct entry **entries;
    size_t used, cap, live;
    uint32_t *index; /* entry number + 1; 0: free */
    size_t index_size;
    size_t bytes;
};

static uint64_t hash_of(struct str s)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < s.len; i++)
        h = (h ^ (unsigned char)s.data[i]) * 0x100000001b3u;
    return h ^ h >> 29;
}

struct awk_array *awk_array_create(void)
{
    return xcalloc(1, sizeof(struct awk_array));
}

static void free_entry(struct entry *e)
{
    string_unref(e->key);
    awk_cell_clear(&e->cell);
    free(e);
}

void awk_array_clear(struct awk_array *a)
{
    for (size_t i = 0; i < a->used; i++)
        if (a->entries[i])
            free_entry(a->entries[i]);
    free(a->entries);
    free(a->index);
    *a = (struct awk_array){ 0 };
}

static void awk_array_destroy(struct awk_array *a)
{
    if (!a)
        return;
    awk_array_clear(a);
    free(a);
}

static void index_put(struct awk_array *a, size_t number)
{
    size_t mask = a->index_size - 1, at = a->entries[number]->hash & mask;
    while (a->index[at])
        at = (at + 1) & mask;
    a->index[at] = (uint32_t)number + 1;
}

/* Drop what was deleted, and make an index that is at most half full. */
static void rebuild(struct awk_array *a)
{
    size_t kept = 0;
    for (size_t i = 0; i < a->used; i++)
        if (a->entries[i])
            a->entries[kept++] = a->entries[i];
    a->used = kept;
    size_t size = 16;
    while (size < kept * 4)
        size *= 2;
    free(a->index);
    a->index = xcalloc(size, sizeof(*a->index));
    a->index_size = size;
    for (size_t i = 0; i < kept; i++)
        index_put(a, i);
}

static struct entry *find(const struct awk_array *a, struct str key, uint64_t hash)
{
    if (!a->index_size)
        return NULL;
    size_t mask = a->index_size - 1;
    for (size_t at = hash & mask; a->index[at]; at = (at + 1) & mask) {
        struct entry *e = a->entries[a->index[at] - 1];
        if (e && e->hash == hash && str_eq(awk_string_str(e->key), key))
            return e;
    }
    return NULL;
}

struct awk_cell *awk_array_find(struct awk_array *a, struct str key)
{
    struct entry *e = find(a, key, hash_of(key));
    return e ? &e->cell : NULL;
}

struct awk_cell *awk_array_get(struct awk_array *a, struct str key)
{
    uint64_t hash = hash_of(key);
    struct entry *e = find(a, key, hash);
    if (e)
        return &e->cell;
    if ((a->used + 1) * 2 > a->index_size)
        rebuild(a);
    GROW(a->entries, a->used, a->cap);
    e = xcalloc(1, sizeof(*e));
    e->key = awk_string_new(key);
    e->hash = hash;
    a->entries[a->used++] = e;
    index_put(a, a->used - 1);
    a->live++;
    a->bytes += sizeof(*e) + key.len + 48;
    return &e->cell;
}

void awk_array_delete(struct awk_array *a, struct str key)
{
    struct entry *e = find(a, key, hash_of(key));
    if (!e)
        return;
    for (size_t i = 0; i < a->used; i++) {
        if (a->entries[i] == e) {
            a->entries[i] = NULL;
            break;
        }
    }
    a->bytes -= sizeof(*e) + key.len + 48;
    free_entry(e);
    a->live--;
}

size_t awk_array_count(const struct awk_array *a)
{
    return a->live;
}

size_t awk_array_bytes(const struct awk_array *a)
{
    return a->bytes;
}

struct awk_string **awk_array_keys(const struct awk_array *a)
{
    struct awk_string **keys = xmalloc((a->live + 1) * sizeof(struct awk_string *));
    size_t n = 0;
    for (size_t i = 0; i < a->used; i++) {
        if (!a->entries[i])
            continue;
        keys[n] = a->entries[i]->key;
        keys[n++]->refs++;
    }
    return keys;
}

void awk_cell_clear(struct awk_cell *c)
{
    if (c->kind == CELL_VALUE)
        awk_value_free(&c->value);
    else if (c->kind == CELL_ARRAY && !c->borrowed)
        awk_array_destroy(c->array);
    *c = (struct awk_cell){ .kind = CELL_UNTYPED };
}
