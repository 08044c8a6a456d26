#include "unit.h"

#include "shell/parse.h"
#include "tree-dump.h"

#include <stdio.h>

/* `test-parse 'script'` shows its tree. */
static int show(const char *text, bool as_text)
{
    struct script *s = NULL;
    struct parse_error err = { .message = "" };
    if (!parse_script(str_of(text), STR("test"), NULL, &s, &err)) {
        printf("%u:%u: %s%s\n", err.pos.line, err.pos.column, err.message,
                err.is_incomplete ? " (incomplete)" : "");
        return 2;
    }
    auto_buf out = BUF(1 << 24);
    if (s->root && as_text)
        ast_print(s->root, &out);
    else if (s->root)
        dump_node(s->root, &out);
    printf("%s\n", buf_str(&out).data);
    if (s->warning.len)
        printf("%s\n", s->warning.data);
    script_unref(s);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return show(argv[argc - 1], argc > 2);
    return 0;
}
