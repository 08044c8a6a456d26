/* Splitting a line as `read` does: the last field takes the rest. */
#include "shell/expansion.h"

/* The text to split: with a mark for each byte that a backslash protected (`read` without
 * -r), or NULL. */
struct line {
    struct str text;
    const char *quoted;
    const struct ifs *ifs;
};

static enum ifs_kind kind_at(const struct line *l, size_t at, size_t *length)
{
    if (at >= l->text.len) {
        *length = 0;
        return IFS_NONE;
    }
    enum ifs_kind kind = ifs_kind(l->ifs, str_from(l->text, at), length);
    return l->quoted && l->quoted[at] ? IFS_NONE : kind;
}

static size_t skip_space(const struct line *l, size_t at)
{
    size_t length;
    while (kind_at(l, at, &length) == IFS_SPACE)
        at += length;
    return at;
}

static size_t field_end(const struct line *l, size_t at)
{
    size_t length;
    while (at < l->text.len && kind_at(l, at, &length) == IFS_NONE)
        at += length;
    return at;
}

/* Behind one separator: white space, at most one other character, white space. */
static size_t skip_separator(const struct line *l, size_t at)
{
    size_t length;
    at = skip_space(l, at);
    if (kind_at(l, at, &length) == IFS_OTHER)
        at = skip_space(l, at + length);
    return at;
}

/* Where the last field ends: trailing white space goes, and one separator when the field
 * has no other. */
static size_t rest_end(const struct line *l, size_t from)
{
    size_t end = field_end(l, from), length;
    if (skip_separator(l, end) >= l->text.len)
        return end;
    /* White space is cut at the end only; walk forward, since characters may be long. */
    end = from;
    for (size_t at = from; at < l->text.len; at += length)
        if (kind_at(l, at, &length) != IFS_SPACE)
            end = at + length;
    return end;
}

void expand_split_marked(struct shell *sh, struct str text, const char *quoted,
        size_t max, struct arena *arena, struct fields *out)
{
    struct ifs ifs;
    ifs_load(sh, &ifs);
    struct line line = { text, quoted, &ifs };
    size_t at = skip_space(&line, 0);
    for (size_t n = 1; at < text.len && budget_spend(sh->budget, 1); n++) {
        bool last = max && n == max;
        size_t end = last ? rest_end(&line, at) : field_end(&line, at);
        if (!expand_room(sh, arena, end - at + 32))
            return;
        fields_push(out, arena, arena_cstr(arena, str_sub(text, at, end - at)));
        if (last)
            return;
        at = skip_separator(&line, end);
    }
}

void expand_split(struct shell *sh, struct str text, size_t max, struct arena *arena,
        struct fields *out)
{
    expand_split_marked(sh, text, NULL, max, arena, out);
}
