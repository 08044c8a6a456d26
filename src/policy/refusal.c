#include "policy/refusal.h"

#include <stdio.h>

/* A path has 4096 bytes at most, a pattern 10,000. */
#define MAX_TEXT ((size_t)1 << 15)

void refusal_init(struct refusal *r)
{
    *r = (struct refusal){
        .what = BUF(MAX_TEXT),
        .rule = BUF(MAX_TEXT),
        .hint = BUF(MAX_TEXT),
    };
}

void refusal_finish(struct refusal *r)
{
    buf_finish(&r->what);
    buf_finish(&r->rule);
    buf_finish(&r->hint);
}

void refusal_clear(struct refusal *r)
{
    r->code[0] = 0;
    buf_clear(&r->what);
    buf_clear(&r->rule);
    buf_clear(&r->hint);
    r->origin = (struct origin){ 0 };
}

void refusal_begin(struct refusal *r, const char *code, const struct origin *origin)
{
    refusal_clear(r);
    snprintf(r->code, sizeof(r->code), "%s", code);
    if (origin)
        r->origin = *origin;
}

void refusal_write(const struct refusal *r, struct buf *out)
{
    buf_add(out, buf_str(&r->what));
    if (r->rule.len) {
        buf_add(out, STR("\nRule: "));
        buf_add(out, buf_str(&r->rule));
        buf_addc(out, ' ');
        origin_write(&r->origin, out);
    }
    if (r->hint.len) {
        buf_addc(out, '\n');
        buf_add(out, buf_str(&r->hint));
    }
}

void origin_write(const struct origin *origin, struct buf *out)
{
    if (!origin->file)
        buf_add(out, STR("(always)"));
    else if (!strcmp(origin->file, "built-in"))
        buf_addf(out, "(built-in policy, line %u)", origin->line);
    else
        buf_addf(out, "(%s:%u)", origin->file, origin->line);
}

void refusal_write_rule(const struct refusal *r, struct buf *out)
{
    struct str rule = buf_str(&r->rule);
    buf_add(out, rule.len ? rule : str_of(r->code));
    buf_addc(out, ' ');
    origin_write(&r->origin, out);
}
