#include "fuzz.h"
#include "shell/builtin/sort.h"

/* A key and three lines: comparing must be an order, whatever the key says. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = { (const char *)data, size }, spec = str_cut(&rest, '\n');
    struct sort_key key;
    struct error err;
    if (!sort_key_parse(spec, &key, &err))
        return 0;
    struct sort_rule rule = { .keys = &key, .key_count = 1, .separator = -1 };
    if (!sort_rule_finish(&rule, &err))
        return 0;
    struct sort_line lines[3];
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct str text = str_cut(&rest, '\n');
        lines[i] = (struct sort_line){ .text = text.data, .len = (uint32_t)text.len };
        sort_line_prepare(&rule, &lines[i]);
        assert(lines[i].key + (size_t)lines[i].key_len <= text.len);
        assert(!sort_compare(&rule, &lines[i], &lines[i]));
    }
    int ab = sort_compare(&rule, &lines[0], &lines[1]);
    int bc = sort_compare(&rule, &lines[1], &lines[2]);
    int ac = sort_compare(&rule, &lines[0], &lines[2]);
    assert((ab < 0) == (sort_compare(&rule, &lines[1], &lines[0]) > 0));
    assert(!(ab <= 0 && bc <= 0) || ac <= 0);
    return 0;
}
