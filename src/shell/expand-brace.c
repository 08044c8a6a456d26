/*
 * Braces: each word that `a{b,c{1..3}}d` stands for is expanded as soon as it is known.
 *
 * The parts still to come are a chain of segments (the rest of the word, after the rest
 * of an item), so that nothing is copied but pointers, and nothing is kept but the parts
 * of the one word being made.
 */
#include "shell/expansion.h"

#include <stdio.h>

#define MAX_GROUPS 500 /* in one word that comes out: the depth of the recursion */

/* Parts from `at` on, then those of `next`. */
struct segment {
    const struct part *at;
    size_t count;
    const struct segment *next;
};

struct unrolling {
    struct expansion *e;
    const struct part **parts; /* of the word being made */
    size_t count, cap;
    unsigned depth;
};

static bool unroll(struct unrolling *u, const struct segment *rest);

/* `{~,a}/b`: a ~ that begins the word only now. */
static bool split_tilde(const struct unrolling *u, struct str *user, struct part *rest)
{
    *rest = *u->parts[0];
    if (rest->type != PART_TEXT || rest->quoted || !rest->text.len ||
            rest->text.data[0] != '~')
        return false;
    size_t end = 1;
    while (end < rest->text.len && rest->text.data[end] != '/')
        end++;
    bool slash_follows = end == 1 && end == rest->text.len && u->count > 1 &&
                         u->parts[1]->type == PART_TEXT && !u->parts[1]->quoted &&
                         u->parts[1]->text.len && u->parts[1]->text.data[0] == '/';
    if (end == rest->text.len && u->count > 1 && !slash_follows)
        return false;
    *user = str_sub(rest->text, 1, end - 1);
    rest->text = str_from(rest->text, end);
    return true;
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

/* `$x` without braces around the name. */
static bool is_bare_name(const struct part *part)
{
    return part->type == PART_PARAM && var_name_is_valid(part->param->name) &&
           str_starts(part->param->source, STR("$")) &&
           !str_starts(part->param->source, STR("${"));
}

/* `$x{a,b}` stands for `$xa $xb`: letters that come out of braces belong to the name.
 * Goes on behind them; what is left of their part is put into `*rest`. */
static bool lengthen(struct unrolling *u, struct str *name, size_t *at, struct part *rest)
{
    while (*at < u->count) {
        const struct part *next = u->parts[*at];
        size_t n = 0;
        if (next->type != PART_TEXT || next->quoted)
            return false;
        while (n < next->text.len && is_name_char(next->text.data[n]))
            n++;
        *name = str_of(arena_printf(
                u->e->arena, "%.*s%.*s", STR_ARG(*name), (int)n, next->text.data));
        ++*at;
        *rest = *next;
        rest->text = str_from(next->text, n);
        if (rest->text.len)
            return true;
    }
    return false;
}

static bool expand_unrolled(struct unrolling *u)
{
    struct expansion *e = u->e;
    for (size_t i = 0; i < u->count;) {
        const struct part *part = u->parts[i++];
        struct part first = *part, rest;
        struct param param;
        bool has_rest = false;
        if (i == 1 && split_tilde(u, &first.text, &rest)) {
            first.type = PART_TILDE;
            has_rest = true;
        } else if (is_bare_name(part)) {
            param = *part->param;
            first.param = &param;
            has_rest = lengthen(u, &param.name, &i, &rest);
        }
        if (!expand_parts(e, &first, 1) || (has_rest && !expand_parts(e, &rest, 1)))
            return false;
    }
    return end_field(e);
}

static void add_part(struct unrolling *u, const struct part *part)
{
    GROW(u->parts, u->count, u->cap);
    u->parts[u->count++] = part;
}

static bool unroll_items(
        struct unrolling *u, const struct part *braces, const struct segment *rest)
{
    size_t count = u->count;
    for (size_t i = 0; i < braces->braces.count; i++) {
        const struct word *item = braces->braces.items[i];
        struct segment inner = { item->parts, item->count, rest };
        u->count = count;
        if (!unroll(u, &inner))
            return false;
    }
    return true;
}

static bool unroll_range(
        struct unrolling *u, const struct part *range, const struct segment *rest)
{
    int64_t from = range->range.from, to = range->range.to, step = range->range.step;
    uint64_t distance =
            from < to ? (uint64_t)to - (uint64_t)from : (uint64_t)from - (uint64_t)to;
    uint64_t stride = step < 0 ? 0 - (uint64_t)step : (uint64_t)step;
    size_t count = u->count;
    for (uint64_t n = 0;; n++) {
        char text[96];
        int64_t value = (int64_t)((uint64_t)from + n * (uint64_t)step);
        int len = range->range.letters
                          ? snprintf(text, sizeof(text), "%c", (char)value)
                          : snprintf(text, sizeof(text), "%0*lld",
                                    range->range.width > 90 ? 90 : range->range.width,
                                    (long long)value);
        struct part part = { .type = PART_TEXT, .text = { text, (size_t)len } };
        if (range->range.letters && value == '\\') { /* as a quote it vanishes */
            part.quoted = true;
            part.text.len = 0;
        }
        u->count = count;
        add_part(u, &part);
        if (!unroll(u, rest))
            return false;
        if ((n + 1) > distance / stride)
            return true;
    }
}

static bool unroll(struct unrolling *u, const struct segment *rest)
{
    struct segment here;
    while (rest) {
        here = *rest;
        while (here.count) {
            const struct part *part = here.at++;
            here.count--;
            if (part->type != PART_BRACES && part->type != PART_RANGE) {
                add_part(u, part);
                continue;
            }
            if (++u->depth > MAX_GROUPS)
                return expand_fail(u->e->sh, "brace expansion: more than %d in one word",
                        MAX_GROUPS);
            bool ok = part->type == PART_BRACES ? unroll_items(u, part, &here)
                                                : unroll_range(u, part, &here);
            u->depth--;
            return ok;
        }
        rest = here.next;
    }
    return expand_unrolled(u);
}

bool expand_braces(struct expansion *e, const struct word *w)
{
    struct unrolling u = { .e = e };
    struct segment all = { w->parts, w->count, NULL };
    bool ok = unroll(&u, &all);
    free(u.parts);
    return ok;
}
