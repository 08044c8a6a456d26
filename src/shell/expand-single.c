/*
 * Words of one part ($x, "$1", $((i+1))): most words that are not literal.  What the
 * general road makes of them is known without building a field.
 */
#include "shell/expansion.h"

/* The text of `$x`, `$1`, `$#`, `$?`: a view, or made in `number`.  False: it is unset,
 * or something else than these. */
static bool param_text(
        struct shell *sh, const struct param *p, char *number, struct str *out)
{
    if (p->op != PARAM_VALUE || p->subscript != SUB_NONE || p->indirect || !p->name.len)
        return false;
    char first = p->name.data[0];
    int64_t n = 0;
    if (first == '#' || first == '?') {
        *out = str_of_int(first == '#' ? sh->arg_count : sh->status, number);
        return true;
    }
    if (first < '0' || first > '9')
        return vars_get(sh->vars, p->name, out);
    if (!str_int(p->name, &n) || n > sh->arg_count)
        return false;
    *out = str_of(sh->args[n]);
    return true;
}

static enum single single_text(
        struct shell *sh, const struct part *part, char *number, struct str *out)
{
    int64_t value = 0;
    if (part->type == PART_PARAM)
        return param_text(sh, part->param, number, out) ? SINGLE_DONE : SINGLE_NO;
    if (part->type != PART_ARITH)
        return SINGLE_NO;
    if (!expand_arith(sh, part->arith, &value)) {
        expand_discard(sh);
        return SINGLE_FAILED;
    }
    *out = str_of_int(value, number);
    return SINGLE_DONE;
}

static bool ifs_is_default(struct shell *sh)
{
    struct str ifs;
    return !vars_get(sh->vars, STR("IFS"), &ifs) ||
           (ifs.len == 3 && !memcmp(ifs.data, " \t\n", 3));
}

/* Is it one field as it stands: nothing in it splits or globs? */
static bool is_inert(struct str text)
{
    static const bool active[256] = {
        [' '] = true,
        ['\t'] = true,
        ['\n'] = true,
        ['*'] = true,
        ['?'] = true,
        ['['] = true,
        ['('] = true,
    };
    for (size_t i = 0; i < text.len; i++)
        if (active[(unsigned char)text.data[i]])
            return false;
    return true;
}

/* Take what a result of this length costs from the budget; false: it is spent. */
static bool pay(struct shell *sh, struct arena *arena, size_t length)
{
    return budget_spend(sh->budget, 2 + length / 256) &&
           expand_room(sh, arena, length + 32);
}

enum single expand_single_field(
        struct shell *sh, const struct word *w, struct arena *arena, struct fields *out)
{
    char number[STR_INT_MAX];
    struct str text;
    if (w->count != 1)
        return SINGLE_NO;
    const struct part *part = w->parts;
    if (!part->quoted && !ifs_is_default(sh))
        return SINGLE_NO;
    enum single result = single_text(sh, part, number, &text);
    if (result != SINGLE_DONE)
        return result;
    if (!part->quoted && !is_inert(text))
        return SINGLE_NO; /* a number is inert: arithmetic is not done twice */
    if (!pay(sh, arena, text.len))
        return SINGLE_FAILED;
    if (part->quoted || text.len)
        fields_push(out, arena, arena_cstr(arena, text));
    return SINGLE_DONE;
}

enum single expand_single_string(
        struct shell *sh, const struct word *w, struct arena *arena, struct str *out)
{
    char number[STR_INT_MAX];
    struct str text;
    if (w->count != 1)
        return SINGLE_NO;
    enum single result = single_text(sh, w->parts, number, &text);
    if (result != SINGLE_DONE)
        return result;
    if (!pay(sh, arena, text.len))
        return SINGLE_FAILED;
    *out = arena_str(arena, text);
    return SINGLE_DONE;
}
