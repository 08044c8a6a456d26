#include "protocol/schema.h"

#include "base/nearest.h"
#include "base/utf8.h"

/* Where a value stands: the name of the argument, "edits[2].path", for the message. */
struct place {
    const char *tool;
    struct buf *name; /* empty: the arguments as a whole */
    struct error *err;
};

static bool check_value(const json_t *schema, json_t **value, struct place *at);

static const struct {
    const char *name, *phrase;
} types[] = {
    [JSON_OBJECT] = { "object", "an object" },
    [JSON_ARRAY] = { "array", "an array" },
    [JSON_STRING] = { "string", "a string" },
    [JSON_INTEGER] = { "integer", "an integer" },
    [JSON_REAL] = { "number", "a number" },
    [JSON_TRUE] = { "boolean", "true or false" },
    [JSON_FALSE] = { "boolean", "true or false" },
    [JSON_NULL] = { "null", "null" },
};

/* "a string" for the schema's type "string". */
static const char *phrase_of(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_is(name, types[i].name))
            return types[i].phrase;
    return "something else";
}

static const char *phrase_of_value(const json_t *value)
{
    if (json_is_number(value))
        return "a number";
    return json_is_boolean(value) ? "a boolean" : types[json_typeof(value)].phrase;
}

static bool wrong(struct place *at, const char *must, const char *but)
{
    struct str name = buf_str(at->name);
    return error_set(at->err, ERR_INVALID, "%s: argument '%.*s' must be %s%s%s", at->tool,
            STR_ARG(name), must, but[0] ? ", not " : "", but);
}

/* 2.0 is an integer, and so is everything that has no room for decimals. */
static bool is_integral(double number)
{
    static const double no_decimals = 1LL << 53;
    if (number >= no_decimals || number <= -no_decimals)
        return true;
    return number == (double)(int64_t)number;
}

static bool has_type(const json_t *value, struct str type)
{
    if (str_is(type, "number"))
        return json_is_number(value);
    if (str_is(type, "integer"))
        return json_is_number(value) && is_integral(json_number_value(value));
    return str_is(type, types[json_typeof(value)].name);
}

/* Some clients send everything but strings as the JSON text of it. */
static void accept_spelled(struct str type, json_t **value)
{
    struct error err;
    json_t *meant;
    if (!json_is_string(*value) || str_is(type, "string") ||
            !json_parse(json_str(*value), &meant, &err))
        return;
    if (!has_type(meant, type)) {
        json_decref(meant);
        return;
    }
    json_decref(*value);
    *value = meant;
}

/* The first of several: beside it only "null" is used, which has become absence. */
static struct str type_of(const json_t *schema)
{
    const json_t *type = json_object_get(schema, "type");
    return json_str(json_is_array(type) ? json_array_get(type, 0) : type);
}

static bool check_type(const json_t *schema, json_t **value, struct place *at)
{
    struct str type = type_of(schema);
    if (!type.len)
        return true;
    accept_spelled(type, value);
    return has_type(*value, type) || wrong(at, phrase_of(type), phrase_of_value(*value));
}

static bool check_enum(const json_t *schema, const json_t *value, struct place *at)
{
    const json_t *allowed = json_object_get(schema, "enum");
    if (!allowed)
        return true;
    for (size_t i = 0; i < json_array_size(allowed); i++)
        if (json_equal(json_array_get(allowed, i), value))
            return true;
    auto_buf list = BUF(256);
    buf_add(&list, STR("one of "));
    json_write(allowed, &list);
    return wrong(at, list.data, "");
}

/* One bound of a number or of the length of a string. */
static bool check_bound(
        const json_t *schema, const char *keyword, double size, struct place *at)
{
    bool least = !strncmp(keyword, "min", 3), of_length = strlen(keyword) > 7;
    const json_t *bound = json_object_get(schema, keyword);
    double limit = json_number_value(bound);
    if (!bound || (least ? size >= limit : size <= limit))
        return true;
    auto_buf must = BUF(256);
    buf_addf(&must, "at %s %.15g%s", least ? "least" : "most", limit,
            of_length ? " characters long" : "");
    return wrong(at, must.data, "");
}

static bool check_bounds(const json_t *schema, const json_t *value, struct place *at)
{
    if (json_is_number(value)) {
        double number = json_number_value(value);
        return check_bound(schema, "minimum", number, at) &&
               check_bound(schema, "maximum", number, at);
    }
    if (json_is_string(value)) {
        double length = (double)utf8_count(json_str(value));
        return check_bound(schema, "minLength", length, at) &&
               check_bound(schema, "maxLength", length, at);
    }
    return true;
}

static bool check_items(const json_t *schema, json_t *array, struct place *at)
{
    const json_t *items = json_object_get(schema, "items");
    size_t outer = at->name->len;
    for (size_t i = 0; items && i < json_array_size(array); i++) {
        buf_addf(at->name, "[%zu]", i);
        json_t *item = json_incref(json_array_get(array, i));
        bool fine = check_value(items, &item, at);
        json_array_set_new(array, i, item);
        if (!fine)
            return false;
        at->name->len = outer;
    }
    return true;
}

struct names {
    const char *at[32];
    size_t count;
};

static struct names names_of(json_t *properties)
{
    struct names names = { .count = 0 };
    const char *name;
    json_t *unused;
    json_object_foreach (properties, name, unused) {
        if (names.count < ARRAY_LEN(names.at))
            names.at[names.count++] = name;
    }
    return names;
}

/* Say what is there instead of `name`. */
static bool unknown(json_t *properties, const char *name, struct place *at)
{
    struct names names = names_of(properties);
    struct str near = nearest_cstr(str_of(name), names.at, names.count);
    auto_buf known = BUF(400);
    for (size_t i = 0; i < names.count; i++)
        buf_addf(&known, "%s%s", i ? ", " : "", names.at[i]);
    if (near.len)
        return error_set(at->err, ERR_INVALID,
                "%s: unknown argument '%s'; did you mean '%.*s'?", at->tool, name,
                STR_ARG(near));
    return error_set(at->err, ERR_INVALID,
            "%s: unknown argument '%.80s'; the arguments are: %s", at->tool, name,
            known.len ? known.data : "none");
}

static bool check_required(const json_t *schema, const json_t *object, struct place *at)
{
    const json_t *required = json_object_get(schema, "required");
    const json_t *properties = json_object_get(schema, "properties");
    struct str outer = buf_str(at->name);
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *name = json_string_value(json_array_get(required, i));
        if (json_object_get(object, name))
            continue;
        struct str type =
                json_get_str(json_object_get(properties, name), "type", STR(""));
        return error_set(at->err, ERR_INVALID,
                "%s: argument '%.*s%s%s' is missing; it must be %s", at->tool,
                STR_ARG(outer), outer.len ? "." : "", name, phrase_of(type));
    }
    return true;
}

static bool is_required(const json_t *schema, const char *name)
{
    const json_t *required = json_object_get(schema, "required");
    for (size_t i = 0; i < json_array_size(required); i++)
        if (str_is(json_str(json_array_get(required, i)), name))
            return true;
    return false;
}

static bool check_property(
        const json_t *schema, json_t *object, const char *name, struct place *at)
{
    json_t *properties = json_object_get(schema, "properties");
    const json_t *property = json_object_get(properties, name);
    if (!property)
        return !json_is_false(json_object_get(schema, "additionalProperties")) ||
               unknown(properties, name, at);
    if (json_is_null(json_object_get(object, name)) && !is_required(schema, name)) {
        json_object_del(object, name);
        return true;
    }
    size_t outer = at->name->len;
    buf_addf(at->name, "%s%s", outer ? "." : "", name);
    json_t *old = json_object_get(object, name), *value = json_incref(old);
    bool fine = check_value(property, &value, at);
    if (value != old)
        json_object_set(object, name, value);
    json_decref(value);
    if (fine)
        at->name->len = outer;
    return fine;
}

static bool check_object(const json_t *schema, json_t *object, struct place *at)
{
    const char *name;
    json_t *unused;
    void *next;
    json_object_foreach_safe(object, next, name, unused)
    {
        if (!check_property(schema, object, name, at))
            return false;
    }
    return check_required(schema, object, at);
}

static bool check_value(const json_t *schema, json_t **value, struct place *at)
{
    if (!check_type(schema, value, at) || !check_enum(schema, *value, at) ||
            !check_bounds(schema, *value, at))
        return false;
    if (json_is_object(*value))
        return check_object(schema, *value, at);
    return !json_is_array(*value) || check_items(schema, *value, at);
}

bool schema_check(const json_t *schema, json_t *args, const char *tool, struct error *err)
{
    auto_buf name = BUF(128);
    struct place at = { tool, &name, err };
    return check_object(schema, args, &at);
}
