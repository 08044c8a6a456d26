#include "fuzz.h"
#include "peer/definition-parts.h"
#include "policy/config/internal.h"

static const char policy_text[] =
        "[mcp.box]\nvariables = [\"SET\", \"UNSET\"]\n[mcp.\"a b\".tools]\nx = true\n"
        "[mcp.web]\n";

static bool is_one_line(const char *text)
{
    return !strchr(text, '\n');
}

/* What is taken can be handed to a program, or put in a request. */
static void check(const struct peer_definition *d)
{
    assert(!d->program != !d->url);
    assert(!d->program == !d->argv);
    assert(!d->url == !d->headers);
    for (const char *const *one = d->argv; one && *one; one++)
        assert(strlen(*one) < DEFINITION_MAX_STRING);
    for (const char *const *one = d->env; *one; one++)
        assert(**one != '=' && strchr(*one, '='));
    for (const char *const *one = d->headers; one && *one; one++)
        assert(is_one_line(*one) && !strchr(*one, '\r') && strstr(*one, ": "));
    assert(!d->url || is_one_line(d->url));
}

static void read_server(struct definition_loader *l, const json_t *file, struct str text,
        const struct policy_mcp *section)
{
    struct error err = { 0 };
    struct definition_source source;
    struct peer_definition d;
    definition_find(file, text, section->name, &source);
    if (!source.server)
        return;
    assert(source.origin.line >= 1 && source.origin.line <= str_count(text, '\n') + 1);
    source.origin.file = "file";
    if (definition_read(l, &source, section, &d, &err))
        check(&d);
    else
        assert(err.code != ERR_NONE && is_one_line(err.message));
}

/* A file of definitions. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, size };
    auto_arena *arena = arena_create();
    struct error err = { 0 };
    struct conf c = { .arena = arena, .err = &err };
    struct toml_value root;
    char *const environment[] = { (char[]){ "SET=value" }, (char[]){ "OTHER=x" }, NULL };
    static const char *const base[] = { "HOME=/home", "PATH=/bin", NULL };
    json_auto_t *file = NULL;
    if (!definition_parse(text, &file, &err)) {
        assert(err.code != ERR_NONE && is_one_line(err.message));
        return 0;
    }
    bool made = conf_begin(&c, "/", NULL) &&
                toml_parse(str_of(policy_text), "policy", arena, &root, &err) &&
                conf_mcp(&c, "mcp", &root.items[0], c.policy);
    assert(made && c.policy->mcp_count == 3);
    struct definition_loader l = {
        .policy = c.policy, .environment = environment, .base_env = base, .arena = arena
    };
    for (size_t i = 0; i < c.policy->mcp_count; i++)
        read_server(&l, file, text, &c.policy->mcp[i]);
    return 0;
}
