#include "shell/parse.h"

struct script *script_ref(struct script *s)
{
    s->refs++;
    return s;
}

void script_unref(struct script *s)
{
    if (s && --s->refs == 0)
        arena_destroy(s->arena);
}
