#include "tool/describe-python.h"

#include "policy/command.h"

#include <stdlib.h>

#define TITLE "\n\nRestrictions:"
#define MORE  " more: paddock policy show"

/* A list of words after `head`; `more` ends one that was cut. */
struct part {
    const char *head, *more;
    const struct str *words;
    size_t count;
};

/* Append as many as fit into `room`, and how many are missing. */
static void write_part(const struct part *part, size_t room, struct buf *out)
{
    size_t start = out->len, note = sizeof(", ... 100000") + strlen(part->more);
    if (!part->count)
        return;
    buf_add(out, str_of(part->head));
    for (size_t i = 0; i < part->count; i++) {
        bool last = i + 1 == part->count;
        size_t used = out->len - start + part->words[i].len + 2;
        if (used + (last ? 0 : note) > room) {
            buf_addf(out, "%s... %zu%s", i ? ", " : "", part->count - i, part->more);
            return;
        }
        buf_addf(out, "%s%.*s", i ? ", " : "", STR_ARG(part->words[i]));
    }
}

static int compare(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static bool is_imported(const struct policy *policy, struct str name)
{
    for (size_t i = 0; i < policy->import_count; i++) {
        const struct policy_import *import = &policy->imports[i];
        if (import->kind == IMPORT_DENIED || !str_starts(name, import->name))
            continue;
        if (name.len == import->name.len || name.data[import->name.len] == '.')
            return true;
    }
    return false;
}

/* A name that begins with '_' is there for modules that need it. */
static struct part imports_part(const struct policy *policy, struct arena *arena)
{
    struct str *names = arena_alloc(arena, (policy->import_count + 1) * sizeof(*names));
    size_t count = 0;
    for (size_t i = 0; i < policy->import_count; i++) {
        const struct policy_import *import = &policy->imports[i];
        if (import->kind != IMPORT_DENIED && !str_starts(import->name, STR("_")))
            names[count++] = import->name;
    }
    qsort(names, count, sizeof(*names), compare);
    return (struct part){ "\n\nAvailable imports: ", MORE, names, count };
}

static struct part calls_part(const struct policy *policy, struct arena *arena)
{
    const struct policy_texts *calls = &policy->block_calls;
    struct str *names = arena_alloc(arena, (calls->count + 1) * sizeof(*names));
    for (size_t i = 0; i < calls->count; i++)
        names[i] = calls->items[i].text;
    return (struct part){ "\nBlocked calls: ", MORE, names, calls->count };
}

/* In snippets as in run_mcp. */
static struct part servers_part(
        const struct peer_definitions *servers, struct arena *arena)
{
    size_t count = servers ? servers->count : 0;
    struct str *names = arena_alloc(arena, (count + 1) * sizeof(*names));
    for (size_t i = 0; i < count; i++)
        names[i] = servers->items[i].name;
    return (struct part){
        "\nimport pyddock_mcp: pyddock_mcp.call(server, tool, arguments) "
        "returns the result, parsed; pyddock_mcp.tools(server) lists "
        "the tools. Servers: ",
        MORE, names, count
    };
}

/* A line of a module: what it has instead of all that the module can do. */
static bool restriction_part(const struct policy *policy,
        const struct policy_restriction *r, struct arena *arena, struct part *out)
{
    bool denies = r->mode == MODE_DENY;
    const struct policy_regexes *patterns = denies ? &r->class_allow : &r->class_deny;
    if (!patterns->count || !is_imported(policy, r->name))
        return false;
    struct str *texts = arena_alloc(arena, patterns->count * sizeof(*texts));
    for (size_t i = 0; i < patterns->count; i++)
        texts[i] = command_pattern(&patterns->items[i]);
    out->head = arena_printf(arena, "\n  %.*s: %s: ", STR_ARG(r->name),
            denies ? "deny-by-default, allowed methods" : "blocked functions");
    out->more = " more";
    out->words = texts;
    out->count = patterns->count;
    return true;
}

static size_t measure(const struct part *parts, size_t count, size_t *needs)
{
    size_t all = 0;
    auto_buf whole = BUF((size_t)1 << 20);
    for (size_t i = 0; i < count; i++) {
        buf_clear(&whole);
        write_part(&parts[i], SIZE_MAX / 2, &whole);
        needs[i] = whole.len;
        all += whole.len;
    }
    return all;
}

static void write_part_line(const void *parts, size_t index, size_t room, struct buf *out)
{
    write_part(&((const struct part *)parts)[index], room, out);
}

void describe_python(const struct described *what, size_t room, struct buf *out)
{
    const struct policy *policy = what->policy;
    auto_arena *arena = arena_create();
    const struct part lists[] = { imports_part(policy, arena), calls_part(policy, arena),
        servers_part(what->servers, arena) };
    size_t most = policy->restriction_count + 1, count = 0;
    struct part *lines = arena_alloc(arena, most * sizeof(*lines));
    for (size_t i = 0; i < policy->restriction_count; i++)
        if (restriction_part(policy, &policy->restrictions[i], arena, &lines[count]))
            count++;
    size_t needs[ARRAY_LEN(lists) + 1], start = out->len;
    size_t *line_needs = arena_alloc(arena, most * sizeof(*line_needs));
    measure(lists, ARRAY_LEN(lists), needs);
    needs[ARRAY_LEN(lists)] = sizeof(TITLE) + measure(lines, count, line_needs);
    size_t share = describe_fair_share(needs, ARRAY_LEN(needs), room);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        write_part(&lists[i], share, out);
    if (!count)
        return;
    buf_add(out, STR(TITLE));
    size_t used = out->len - start;
    describe_lines(
            write_part_line, lines, count, 100, room > used ? room - used : 0, out);
}
