/* A path policy as it reaches a worker, and a path to ask it about. */
#include "base/json.h"
#include "fuzz.h"
#include "policy/paths.h"

static void ask(const struct path_policy *p, struct str path)
{
    auto_refusal why;
    refusal_init(&why);
    bool look = path_allowed(p, path, PATH_LOOK, &why);
    bool read = path_allowed(p, path, PATH_READ, &why);
    bool write = path_allowed(p, path, PATH_WRITE, &why);
    assert(look || !read);
    assert(write || !path_tree_allowed(p, path, &why));
    assert(path_passable(p, path) || !read || str_is(path, "/dev/null"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str path = { (const char *)data, size }, text = str_cut(&path, '\n');
    struct error err;
    struct path_policy *policy, *again;
    json_auto_t *json = NULL;
    auto_arena *arena = arena_create();
    if (!json_parse(text, &json, &err) || !path_policy_parse(json, arena, &policy, &err))
        return 0;
    json_auto_t *first = path_policy_json(policy);
    if (!path_policy_parse(first, arena, &again, &err))
        assert(!"what was written can be read");
    json_auto_t *second = path_policy_json(again);
    assert(json_equal(first, second));
    ask(policy, path);
    return 0;
}
