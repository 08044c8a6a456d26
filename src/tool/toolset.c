#include "tool/tool.h"

#include "tool/describe.h"

struct toolset {
    struct toolset_config config;
    bool *offered; /* for each line of the table */
    /* NULL until somebody asks: a start needs none of it.  The second: with "kept". */
    json_t *lists[2];
};

/* Whether this server has the tool at all, asked for or not. */
static bool is_known(const struct toolset *t, const struct tool_source *source)
{
    const struct policy *policy = t->config.policy;
    const char *without = t->config.without;
    if (!(t->config.places & source->place) ||
            (without && !strcmp(source->name, without)))
        return false;
    switch (source->place) {
    case TOOL_IN_SHELL:
    case TOOL_IN_POOL:
        return true;
    case TOOL_IN_SERVER:
        return policy && policy->has_shell;
    case TOOL_IN_PYTHON:
        return policy;
    case TOOL_IN_PEER:
        return t->config.servers && t->config.servers->count;
    }
    return false;
}

static bool unknown_tool(const struct toolset *t, struct str name, struct error *err)
{
    auto_buf known = BUF(400);
    for (size_t i = 0; i < tool_source_count; i++)
        if (is_known(t, &tool_sources[i]))
            buf_addf(&known, "%s%s", known.len ? ", " : "", tool_sources[i].name);
    return error_set(err, ERR_INVALID, "there is no tool '%.*s'; the tools are: %s",
            (int)(name.len < 80 ? name.len : 80), name.data,
            known.len ? known.data : "none");
}

static bool offer_named(struct toolset *t, struct str name, struct error *err)
{
    for (size_t i = 0; i < tool_source_count; i++)
        if (str_is(name, tool_sources[i].name) && is_known(t, &tool_sources[i])) {
            t->offered[i] = true;
            return true;
        }
    return unknown_tool(t, name, err);
}

static bool choose(struct toolset *t, struct error *err)
{
    t->offered = xcalloc(tool_source_count, sizeof(*t->offered));
    for (size_t i = 0; i < tool_source_count && !t->config.only; i++)
        t->offered[i] = is_known(t, &tool_sources[i]);
    if (!t->config.only)
        return true;
    struct str rest = str_of(t->config.only);
    do {
        if (!offer_named(t, str_cut(&rest, ','), err))
            return false;
    } while (rest.len);
    return true;
}

bool toolset_create(
        const struct toolset_config *config, struct toolset **out, struct error *err)
{
    struct toolset *t = xcalloc(1, sizeof(*t));
    t->config = *config;
    if (!choose(t, err)) {
        toolset_destroy(t);
        return false;
    }
    *out = t;
    return true;
}

void toolset_destroy(struct toolset *t)
{
    if (!t)
        return;
    json_decref(t->lists[0]);
    json_decref(t->lists[1]);
    free(t->offered);
    free(t);
}

bool toolset_has_place(const struct toolset *t, enum tool_place place)
{
    for (size_t i = 0; i < tool_source_count; i++)
        if (t->offered[i] && tool_sources[i].place == place)
            return true;
    return false;
}

/* Take over the members that `key` says differ in this server. */
static void apply_variant(json_t *definition, const char *key, bool applies)
{
    json_t *differs = json_object_get(definition, key);
    if (applies && differs)
        json_object_update_recursive(definition, differs);
    json_object_del(definition, key);
}

/* The definition as this server shows it, or NULL if it does not. */
static json_t *describe(
        const struct toolset *t, const struct tool_source *source, bool kept)
{
    struct error err;
    json_t *definition = NULL;
    bool parsed = json_parse(str_of(source->json), &definition, &err);
    assert(parsed);
    if (t->config.read_only && json_is_false(json_object_get(definition, "read_only"))) {
        json_decref(definition);
        return NULL;
    }
    apply_variant(definition, "read_only", t->config.read_only);
    apply_variant(definition, "host", t->config.host_view);
    apply_variant(definition, "kept", kept);
    const struct described what = {
        .policy = t->config.policy, .servers = t->config.servers, .kept = kept
    };
    describe_fill(definition, &what);
    return definition;
}

json_t *toolset_list(struct toolset *t, bool kept)
{
    json_t **list = &t->lists[kept];
    if (*list)
        return *list;
    *list = json_array();
    for (size_t i = 0; i < tool_source_count; i++) {
        json_t *definition = t->offered[i] ? describe(t, &tool_sources[i], kept) : NULL;
        if (definition)
            json_array_append_new(*list, definition);
    }
    return *list;
}

const json_t *toolset_find_schema(struct toolset *t, struct str name, bool kept)
{
    const json_t *list = toolset_list(t, kept);
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
