#include "tool/tool.h"

#include "tool/describe.h"
#include "tool/extension.h"

struct toolset {
    struct toolset_config config;
    const struct tool_source **sources; /* the table and the extension, sorted by name */
    size_t count;
    bool *offered; /* for each of them */
    /* NULL until somebody asks: a start needs none of it.  The second: with "kept". */
    json_t *lists[2];
    json_t *needs; /* {tool: capabilities}; this and the next are known with a list */
    bool mirrors;  /* an argument of some tool is repeated in a head */
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
    case TOOL_IN_PROGRAM:
        return true;
    }
    return false;
}

static bool unknown_tool(const struct toolset *t, struct str name, struct error *err)
{
    auto_buf known = BUF(400);
    for (size_t i = 0; i < t->count; i++)
        if (is_known(t, t->sources[i]))
            buf_addf(&known, "%s%s", known.len ? ", " : "", t->sources[i]->name);
    return error_set(err, ERR_INVALID, "there is no tool '%.*s'; the tools are: %s",
            (int)(name.len < 80 ? name.len : 80), name.data,
            known.len ? known.data : "none");
}

static bool offer_named(struct toolset *t, struct str name, struct error *err)
{
    for (size_t i = 0; i < t->count; i++)
        if (str_is(name, t->sources[i]->name) && is_known(t, t->sources[i])) {
            t->offered[i] = true;
            return true;
        }
    return unknown_tool(t, name, err);
}

static int by_name(const void *a, const void *b)
{
    const struct tool_source *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

static void collect(struct toolset *t)
{
    const struct tool_extension *more = t->config.extension;
    t->count = tool_source_count + (more ? more->count : 0);
    t->sources = xcalloc(t->count, sizeof(*t->sources));
    for (size_t i = 0; i < tool_source_count; i++)
        t->sources[i] = &tool_sources[i];
    if (!more)
        return;
    for (size_t i = 0; i < more->count; i++)
        t->sources[tool_source_count + i] = &more->sources[i];
    qsort(t->sources, t->count, sizeof(*t->sources), by_name);
    t->config.places |= TOOL_IN_PROGRAM;
}

static bool choose(struct toolset *t, struct error *err)
{
    t->offered = xcalloc(t->count, sizeof(*t->offered));
    for (size_t i = 0; i < t->count && !t->config.only; i++)
        t->offered[i] = is_known(t, t->sources[i]);
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
    collect(t);
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
    json_decref(t->needs);
    free(t->sources);
    free(t->offered);
    free(t);
}

bool toolset_has_place(const struct toolset *t, enum tool_place place)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->offered[i] && t->sources[i]->place == place)
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

static bool has_mirrored(const json_t *schema)
{
    const char *key;
    json_t *property;
    json_object_foreach (json_object_get(schema, "properties"), key, property)
        if (json_object_get(property, "x-mcp-header") || has_mirrored(property))
            return true;
    return false;
}

/* What no client is told, but we have to know. */
static void keep(struct toolset *t, const char *name, json_t *definition)
{
    json_t *needs = json_object_get(definition, "needs");
    if (needs) {
        t->needs = t->needs ? t->needs : json_object();
        json_object_set(t->needs, name, needs);
        json_object_del(definition, "needs");
    }
    t->mirrors = t->mirrors || has_mirrored(json_object_get(definition, "inputSchema"));
}

json_t *toolset_list(struct toolset *t, bool kept)
{
    json_t **list = &t->lists[kept];
    if (*list)
        return *list;
    *list = json_array();
    for (size_t i = 0; i < t->count; i++) {
        json_t *definition = t->offered[i] ? describe(t, t->sources[i], kept) : NULL;
        if (!definition)
            continue;
        keep(t, t->sources[i]->name, definition);
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

const json_t *toolset_find_mirrored(struct toolset *t, struct str name)
{
    toolset_list(t, true);
    const json_t *schema = t->mirrors ? toolset_find_schema(t, name, true) : NULL;
    return has_mirrored(schema) ? schema : NULL;
}

json_t *toolset_find_needs(struct toolset *t, struct str name)
{
    if (!t->lists[0] && !t->lists[1])
        toolset_list(t, false);
    if (!t->needs)
        return NULL;
    auto_free char *key = str_copy(name);
    return json_object_get(t->needs, key);
}

const struct tool_extension *toolset_extension(const struct toolset *t)
{
    return t->config.extension;
}
