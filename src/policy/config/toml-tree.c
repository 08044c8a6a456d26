#include "policy/config/toml.h"

const struct toml_item *toml_find(const struct toml_value *table, struct str key)
{
    for (size_t i = 0; i < table->count; i++)
        if (str_eq(table->items[i].key, key))
            return &table->items[i];
    return NULL;
}

const char *toml_type_name(enum toml_type type)
{
    static const char *const names[] = { "a string", "a whole number", "a number",
        "a boolean", "an array", "a table", "a date or time" };
    return names[type];
}
