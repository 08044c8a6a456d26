#include "tool/tool.h"

#include "command-names.h"

struct toolset {
    bool read_only;
    json_t *list; /* NULL until somebody asks: a start needs none of it */
};

struct toolset *toolset_create(bool read_only)
{
    struct toolset *t = xcalloc(1, sizeof(*t));
    t->read_only = read_only;
    return t;
}

void toolset_destroy(struct toolset *t)
{
    if (!t)
        return;
    json_decref(t->list);
    free(t);
}

static void fill_in_commands(json_t *definition)
{
    static const char mark[] = "{commands}";
    struct str text = json_get_str(definition, "description", STR(""));
    const char *at = memmem(text.data, text.len, mark, sizeof(mark) - 1);
    if (!at)
        return;
    auto_buf filled = BUF(8192);
    size_t before = (size_t)(at - text.data);
    buf_add(&filled, str_sub(text, 0, before));
    buf_add(&filled, STR(COMMAND_NAMES));
    buf_add(&filled, str_from(text, before + sizeof(mark) - 1));
    json_object_set_new(definition, "description", json_text(buf_str(&filled)));
}

/* The definition as this server shows it, or NULL if it does not. */
static json_t *describe(const struct tool_source *source, bool read_only)
{
    struct error err;
    json_t *definition = NULL;
    bool parsed = json_parse(str_of(source->json), &definition, &err);
    assert(parsed);
    json_t *differs = json_object_get(definition, "read_only");
    if (read_only && json_is_false(differs)) {
        json_decref(definition);
        return NULL;
    }
    if (read_only)
        json_object_update(definition, differs);
    json_object_del(definition, "read_only");
    fill_in_commands(definition);
    return definition;
}

json_t *toolset_list(struct toolset *t)
{
    if (t->list)
        return t->list;
    t->list = json_array();
    for (size_t i = 0; i < tool_source_count; i++) {
        json_t *definition = describe(&tool_sources[i], t->read_only);
        if (definition)
            json_array_append_new(t->list, definition);
    }
    return t->list;
}

const json_t *toolset_find_schema(struct toolset *t, struct str name)
{
    const json_t *list = toolset_list(t);
    size_t low = 0, high = json_array_size(list);
    while (low < high) {
        size_t middle = (low + high) / 2;
        const json_t *tool = json_array_get(list, middle);
        int order = str_cmp(name, json_get_str(tool, "name", STR("")));
        if (!order)
            return json_object_get(tool, "inputSchema");
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}
