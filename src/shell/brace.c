/*
 * brace.c - brace expansion, found in the parts of a word.
 *
 * Quoted text and expansions are opaque.  First every { , } of the unquoted text is
 * listed and paired; a group counts when it closes and has a comma or is a range.  Then
 * the parts are cut at the marks that count; all others stay text.
 */
#include "shell/word.h"

struct brace_mark {
    size_t part, off;
    size_t group; /* of a comma: its { */
    size_t close; /* of a {: its }, 0 while open */
    char c;
    bool counts; /* of a { or }: the group expands */
    bool has_comma;
};

struct mark_list {
    struct brace_mark *items;
    size_t count, cap;
};

struct index_list {
    size_t *items;
    size_t count, cap;
};

struct word_list {
    struct word **items;
    size_t count, cap;
};

/* A group whose items are being collected. */
struct group {
    struct part_list outer; /* the parts before it */
    struct word_list words;
};

struct group_list {
    struct group *items;
    size_t count, cap;
};

struct braces {
    struct parser *p;
    struct part_list from;
    struct mark_list marks;
    struct index_list open;
    struct part_list parts; /* the word, or the innermost item */
    struct group_list groups;
    size_t part, off; /* what is before is in `parts` already */
};

struct endpoint {
    int64_t value;
    bool is_letter, is_padded;
};

static bool parse_endpoint(struct str s, struct endpoint *e)
{
    *e = (struct endpoint){ .value = 0 };
    if (s.len == 1 && lex_is_name_start((unsigned char)s.data[0]) && s.data[0] != '_') {
        e->is_letter = true;
        e->value = s.data[0];
        return true;
    }
    if (!str_int(s, &e->value))
        return false;
    size_t sign = s.data[0] == '-' || s.data[0] == '+';
    e->is_padded = s.len > sign + 1 && s.data[sign] == '0';
    return true;
}

static bool cut_dots(struct str *rest, struct str *part)
{
    const char *dots = rest->len ? memmem(rest->data, rest->len, "..", 2) : NULL;
    if (!dots)
        return false;
    *part = (struct str){ rest->data, (size_t)(dots - rest->data) };
    *rest = str_from(*rest, part->len + 2);
    return true;
}

static bool parse_range(struct str text, struct part *out)
{
    struct str first, second = text, rest;
    struct endpoint from, to;
    int64_t step = 1;
    if (!cut_dots(&second, &first))
        return false;
    rest = second;
    if (cut_dots(&rest, &second) && !str_int(rest, &step))
        return false;
    if (!parse_endpoint(first, &from) || !parse_endpoint(second, &to) ||
            from.is_letter != to.is_letter)
        return false;
    /* The order of the ends gives the direction; the sign of the step is ignored. */
    step = step == 0 || step == INT64_MIN ? 1 : step < 0 ? -step : step;
    size_t width = first.len > second.len ? first.len : second.len;
    *out = (struct part){
        .type = PART_RANGE,
        .range = {
            .from = from.value,
            .to = to.value,
            .step = from.value > to.value ? -step : step,
            .width = from.is_padded || to.is_padded ? (int)width : 0,
            .letters = from.is_letter,
        },
    };
    return true;
}

/* The text between a { and its } if there is nothing but text. */
static struct str range_text(const struct braces *b, size_t open, size_t close)
{
    const struct brace_mark *from = &b->marks.items[open], *to = &b->marks.items[close];
    if (close != open + 1 || from->part != to->part)
        return STR("");
    return str_sub(
            b->from.items[from->part].text, from->off + 1, to->off - from->off - 1);
}

static void pair_mark(struct braces *b, char c, size_t part, size_t off)
{
    size_t self = b->marks.count;
    size_t open = b->open.count ? b->open.items[b->open.count - 1] : 0;
    if (c != '{' && !b->open.count)
        return;
    APPEND(b->p, b->marks,
            ((struct brace_mark){ .part = part, .off = off, .group = open, .c = c }));
    if (c == '{') {
        APPEND(b->p, b->open, self);
    } else if (c == ',') {
        b->marks.items[open].has_comma = true;
    } else {
        struct brace_mark *from = &b->marks.items[open];
        struct part range;
        b->open.count--;
        from->close = self;
        from->counts = from->has_comma || parse_range(range_text(b, open, self), &range);
        b->marks.items[self].counts = from->counts;
    }
}

static void pair_text(struct braces *b, size_t part)
{
    struct str text = b->from.items[part].text;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c == '{' && i + 1 < text.len && text.data[i + 1] == '}')
            i++; /* {} is itself, for find and xargs */
        else if (c == '{' || c == ',' || c == '}')
            pair_mark(b, c, part, i);
    }
}

/* Copy what lies before the mark, and go on `skip` bytes behind its place. */
static void copy_until(struct braces *b, size_t part, size_t off, size_t skip)
{
    while (b->part < part || (b->part == part && off > b->off)) {
        struct part piece = b->from.items[b->part];
        bool last = b->part == part;
        if (b->off || last)
            piece.text =
                    str_sub(piece.text, b->off, (last ? off : piece.text.len) - b->off);
        if (piece.type != PART_TEXT || piece.quoted || piece.text.len)
            APPEND(b->p, b->parts, piece);
        b->part += !last;
        b->off = 0;
        if (last)
            break;
    }
    b->off = off + skip;
}

static void end_item(struct braces *b)
{
    struct group *g = &b->groups.items[b->groups.count - 1];
    struct pos none = { 0, 0 };
    struct word *item = word_new(b->p, b->parts, none, STR(""));
    APPEND(b->p, g->words, item);
    b->parts = (struct part_list){ .items = NULL };
}

static void open_group(struct braces *b)
{
    APPEND(b->p, b->groups, ((struct group){ .outer = b->parts }));
    b->parts = (struct part_list){ .items = NULL };
    parse_enter(b->p);
}

static void close_group(struct braces *b)
{
    end_item(b);
    parse_leave(b->p);
    struct group *g = &b->groups.items[--b->groups.count];
    b->parts = g->outer;
    struct part group = { .type = PART_BRACES,
        .braces = { g->words.items, g->words.count } };
    APPEND(b->p, b->parts, group);
}

static void cut_at(struct braces *b, size_t i)
{
    struct brace_mark *m = &b->marks.items[i];
    bool counts = m->c == ',' ? b->marks.items[m->group].counts : m->counts;
    if (!counts)
        return;
    copy_until(b, m->part, m->off, 1);
    struct part range;
    if (m->c == ',') {
        end_item(b);
    } else if (m->c == '}') {
        if (b->marks.items[m->group].has_comma)
            close_group(b);
    } else if (m->has_comma) {
        open_group(b);
    } else if (parse_range(range_text(b, i, m->close), &range)) {
        APPEND(b->p, b->parts, range);
        b->off = b->marks.items[m->close].off;
    }
}

struct part_list word_find_braces(struct parser *p, struct part_list parts)
{
    struct braces b = { .p = p, .from = parts };
    for (size_t i = 0; i < parts.count && !p->failed; i++)
        if (parts.items[i].type == PART_TEXT && !parts.items[i].quoted)
            pair_text(&b, i);
    for (size_t i = 0; i < b.marks.count && !p->failed; i++)
        cut_at(&b, i);
    copy_until(&b, parts.count, 0, 0);
    return p->failed ? parts : b.parts;
}
