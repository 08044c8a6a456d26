/*
 * Where the programs of a path-like command pattern lie.
 *
 * From each of its alternatives the text is taken that every match begins with, and of
 * that the folder.  What cannot be followed ends the text, so that the folder only ever
 * becomes larger than need be.
 */
#include "policy/config/internal.h"

#include <ctype.h>

#define MAX_PLACES 64
#define MAX_DEPTH  32
#define MAX_STEPS  1000 /* alternatives looked at */

struct walk {
    struct arena *arena;
    struct conf_scripts *out;
    unsigned depth, steps;
};

static bool is_repeat(struct str rest)
{
    return rest.len && strchr("*+?{", rest.data[0]) && rest.data[0];
}

static void add_place(struct walk *w, struct str place)
{
    for (size_t i = 0; i < w->out->count; i++)
        if (str_eq(w->out->items[i], place))
            return;
    if (w->out->count < MAX_PLACES)
        w->out->items[w->out->count++] = place;
    else /* too many to count: everything */
        w->out->items[0] = STR("");
}

/* `text` begins every match; `rest` is the pattern behind it. */
static void finish(struct walk *w, struct str text, struct str rest)
{
    bool is_whole = str_is(rest, "$") || str_is(rest, "\\Z");
    size_t slash = text.len;
    while (slash && text.data[slash - 1] != '/')
        slash--;
    struct str folder = str_sub(text, 0, slash);
    while (folder.len > 1 && folder.data[folder.len - 1] == '/')
        folder.len--;
    bool is_path = slash || (text.len && text.data[0] == '.') ||
                   (rest.len && memchr(rest.data, '/', rest.len));
    if (!is_path)
        return;
    bool is_root = !folder.len || str_is(folder, ".");
    if (!is_root)
        add_place(w, folder);
    else if (is_whole && slash < text.len)
        add_place(w, text); /* that one file */
    else
        add_place(w, STR(""));
}

/* Length of the set that starts `s`. */
static size_t skip_set(struct str s)
{
    size_t i = 1;
    i += i < s.len && s.data[i] == '^';
    i += i < s.len && s.data[i] == ']';
    while (i < s.len && s.data[i] != ']')
        i += s.data[i] == '\\' ? 2 : 1;
    return i + 1;
}

/* Length of what starts `s`: a group, a set, an escape or a character.  The pattern has
 * been compiled, so groups end and are not nested deeply. */
static size_t skip_part(struct str s)
{
    if (s.data[0] == '\\')
        return 2;
    if (s.data[0] == '[')
        return skip_set(s);
    size_t i = 1;
    if (s.data[0] == '(') {
        while (i < s.len && s.data[i] != ')')
            i += skip_part(str_from(s, i));
        i++;
    }
    return i;
}

/* Cuts `*rest` at the first "|" that is in no group or set; `*more`: there is one. */
static struct str cut_alternative(struct str *rest, bool *more)
{
    size_t i = 0;
    while (i < rest->len && rest->data[i] != '|')
        i += skip_part(str_from(*rest, i));
    struct str head = str_sub(*rest, 0, i);
    *more = i < rest->len;
    *rest = str_from(*rest, i + 1);
    return head;
}

static void walk_pattern(struct walk *w, struct str text, struct str rest);

/* Each alternative of `inside`, and the pattern behind it. */
static void walk_alternatives(
        struct walk *w, struct str text, struct str inside, struct str behind)
{
    bool more = true;
    while (more && w->steps++ < MAX_STEPS) {
        struct str one = cut_alternative(&inside, &more);
        walk_pattern(w, text,
                str_of(arena_printf(
                        w->arena, "%.*s%.*s", STR_ARG(one), STR_ARG(behind))));
    }
    if (more)
        add_place(w, STR("")); /* too many to follow: any place */
}

/* A group that is plain alternatives; false: it is not followed. */
static bool walk_group(struct walk *w, struct str text, struct str rest)
{
    size_t end = skip_part(rest);
    struct str behind = str_from(rest, end), inside = str_sub(rest, 1, end - 2);
    if (is_repeat(behind) || w->depth > MAX_DEPTH || w->out->count == MAX_PLACES)
        return false;
    if (str_starts(inside, STR("?:")))
        inside = str_from(inside, 2);
    else if (inside.len && inside.data[0] == '?')
        return false;
    w->depth++;
    walk_alternatives(w, text, inside, behind);
    w->depth--;
    return true;
}

/* One literal character from the front of `*rest`, with its length; 0: it is none. */
static size_t literal_at(struct str rest, char *out)
{
    char c = rest.data[0];
    bool escaped = c == '\\' && rest.len > 1;
    if (escaped && isalnum((unsigned char)rest.data[1]))
        return 0;
    *out = escaped ? rest.data[1] : c;
    if (*out == '\\')
        *out = '/';
    /* A lone "." is more likely a dot than any character. */
    if ((!escaped && strchr("\\[]()*+?{}|$^", c)) ||
            is_repeat(str_from(rest, 1 + escaped)))
        return 0;
    return 1 + escaped;
}

static void walk_pattern(struct walk *w, struct str text, struct str rest)
{
    auto_buf literal = BUF(PYRE_MAX_BYTES);
    buf_add(&literal, text);
    while (rest.len && rest.data[0] == '^')
        rest = str_from(rest, 1);
    char c = 0;
    for (size_t n; rest.len && (n = literal_at(rest, &c)); rest = str_from(rest, n))
        buf_addc(&literal, c);
    struct str begun = arena_str(w->arena, buf_str(&literal));
    if (!rest.len || rest.data[0] != '(' || !walk_group(w, begun, rest))
        finish(w, begun, rest);
}

static bool is_path_like(struct str pattern)
{
    while (pattern.len && strchr("^(", pattern.data[0]))
        pattern = str_from(pattern, 1);
    return memchr(pattern.data, '/', pattern.len) || str_starts(pattern, STR("\\.")) ||
           memmem(pattern.data, pattern.len, "\\\\", 2);
}

struct conf_scripts conf_script_places(struct str pattern, struct arena *arena)
{
    struct conf_scripts out = { 0 };
    if (!is_path_like(pattern))
        return out;
    out.items = arena_zalloc(arena, MAX_PLACES * sizeof(*out.items));
    struct walk w = { .arena = arena, .out = &out };
    walk_alternatives(&w, STR(""), pattern, STR(""));
    return out;
}
