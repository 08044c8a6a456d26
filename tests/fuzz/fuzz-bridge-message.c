#include "bridge/headers.h"
#include "bridge/mirror.h"
#include "fuzz.h"

/* Whatever a message says, and the schemas that it brings itself, its header fields are
 * lines of visible ASCII. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct bridge_setup setup = { .header_count = 0 };
    static const struct bridge_session session = { .id = "s", .version = "v" };
    struct error err;
    struct message m;
    if (!message_parse((struct str){ (const char *)data, size }, &m, &err))
        return 0;
    struct mirrors mirrors = { NULL };
    json_t *tools = json_object_get(json_object_get(m.json, "params"), "tools");
    size_t before = json_array_size(tools), removed = mirrors_learn(&mirrors, tools);
    assert(json_array_size(tools) == before - removed);
    struct curl_slist *list =
            mirrors_add(&mirrors, &m, headers_of_message(&setup, &session, &m));
    for (const struct curl_slist *at = list; at; at = at->next)
        for (const char *c = at->data; *c; c++)
            assert((*c >= ' ' && *c < 0x7f) || *c == '\t');
    curl_slist_free_all(list);
    mirrors_finish(&mirrors);
    message_finish(&m);
    return 0;
}
