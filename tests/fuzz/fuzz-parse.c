/*
 * Any bytes parse to a tree or an error, and a tree printed as text parses to what prints
 * the same.
 */
#include "fuzz.h"

#include "shell/parse.h"

static bool parse(struct str text, struct script **out)
{
    struct parse_error err;
    return parse_script(text, STR("fuzz"), NULL, out, &err);
}

static void print(const struct script *s, struct buf *out)
{
    if (s->root)
        ast_print(s->root, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct script *first, *second;
    struct pos where;
    if (!parse((struct str){ (const char *)data, size }, &first))
        return 0;
    script_unsupported(first, NULL, NULL, &where);
    auto_buf text = BUF((size_t)8 << 20), again = BUF((size_t)8 << 20);
    print(first, &text);
    /* A body that ends elsewhere than bash wants is not where it can be printed. */
    bool regular = !first->warning.len && !text.full;
    script_unref(first);
    if (!regular)
        return 0;
    bool parsed = parse(buf_str(&text), &second);
    assert(parsed);
    print(second, &again);
    assert(str_eq(buf_str(&text), buf_str(&again)));
    script_unref(second);
    return 0;
}
