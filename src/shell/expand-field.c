/*
 * Fields under construction: what was quoted, where IFS cuts, when to look for pathnames.
 *
 * Text arrives in pieces that are quoted, plain (unquoted text of the word: globs but
 * does not split) or soft (the result of an unquoted expansion: globs and splits).
 * Splitting happens as the pieces arrive.
 */
#include "shell/expansion.h"
#include "shell/letter.h"

#define MAX_SPARE     ((size_t)64 << 10)
#define REGEX_SPECIAL "\\^$.[]|()*+?{}"

bool expand_discard(struct shell *sh)
{
    if (!shell_is_ending(sh))
        sh->status = 1;
    return false;
}

bool expand_room(struct shell *sh, const struct arena *arena, size_t n)
{
    if (arena_size(arena) + n <= sh->budget->max_memory)
        return true;
    sh->status = 1;
    return budget_stop(sh->budget, BUDGET_MEMORY);
}

static void ifs_load(struct ifs *ifs)
{
    memset(ifs->kind, IFS_NONE, sizeof(ifs->kind));
    for (size_t i = 0; i < ifs->chars.len; i++) {
        unsigned char c = (unsigned char)ifs->chars.data[i];
        ifs->kind[c] = c == ' ' || (c >= '\t' && c <= '\r') ? IFS_SPACE : IFS_OTHER;
    }
    ifs->length = ifs->chars.len;
    if (ifs->length && ifs->length <= sizeof(ifs->text))
        memcpy(ifs->text, ifs->chars.data, ifs->length);
}

/* Was `kind` made from the text that the variable holds now? */
static bool ifs_is_current(const struct ifs *ifs)
{
    return ifs->length <= sizeof(ifs->text) &&
           str_eq(ifs->chars, (struct str){ ifs->text, ifs->length });
}

const struct ifs *ifs_get(struct shell *sh)
{
    if (!sh->ifs)
        sh->ifs = xcalloc(1, sizeof(*sh->ifs));
    struct ifs *ifs = sh->ifs;
    ifs->chars = STR(" \t\n");
    ifs->is_set = vars_get(sh->vars, STR("IFS"), &ifs->chars);
    if (!ifs_is_current(ifs))
        ifs_load(ifs);
    return ifs;
}

enum ifs_kind ifs_kind(const struct ifs *ifs, struct str s, size_t *length)
{
    unsigned char c = (unsigned char)s.data[0];
    *length = 1;
    if (LIKELY(c < 0x80))
        return ifs->kind[c];
    uint32_t code;
    *length = letter_decode(s, &code);
    if (ifs->kind[c] == IFS_NONE)
        return IFS_NONE;
    return memmem(ifs->chars.data, ifs->chars.len, s.data, *length) ? IFS_OTHER
                                                                    : IFS_NONE;
}

static struct str ifs_first(const struct ifs *ifs)
{
    uint32_t code;
    return ifs->chars.len ? str_sub(ifs->chars, 0, letter_decode(ifs->chars, &code))
                          : STR("");
}

static const struct ifs *get_ifs(struct expansion *e)
{
    if (!e->ifs)
        e->ifs = ifs_get(e->sh);
    return e->ifs;
}

static struct buf take_buffer(struct buf *spare)
{
    struct buf b = *spare;
    *spare = BUF(0);
    return b;
}

struct expansion expansion_begin(
        struct shell *sh, struct arena *arena, enum expand_mode mode, struct fields *out)
{
    struct expansion e = {
        .sh = sh,
        .arena = arena,
        .mode = mode,
        .out = out,
        .text = take_buffer(&sh->spare_text),
        .marks = take_buffer(&sh->spare_marks),
    };
    e.text.max = e.marks.max = sh->budget->max_memory;
    return e;
}

/* Buffers are used again, unless they have become big. */
static void keep_buffer(struct buf *spare, struct buf *b)
{
    if (spare->data || b->cap > MAX_SPARE) {
        buf_finish(b);
        return;
    }
    *spare = *b;
    buf_clear(spare);
}

void expansion_finish(struct expansion *e)
{
    keep_buffer(&e->sh->spare_text, &e->text);
    keep_buffer(&e->sh->spare_marks, &e->marks);
}

bool fields_push(struct fields *f, struct arena *arena, char *item)
{
    if (f->count + 1 >= f->cap) {
        size_t cap = f->cap ? f->cap * 2 : 8;
        char **items = arena_alloc(arena, cap * sizeof(*items));
        if (f->count)
            memcpy(items, f->items, f->count * sizeof(*items));
        f->items = items;
        f->cap = cap;
    }
    f->items[f->count++] = item;
    f->items[f->count] = NULL;
    return true;
}

static bool full(struct expansion *e)
{
    e->sh->status = 1;
    return budget_stop(e->sh->budget, BUDGET_MEMORY);
}

static bool add(struct expansion *e, struct str text, bool quoted)
{
    buf_add(&e->text, text);
    if (e->mode == EXPAND_FIELDS) {
        char *marks = buf_reserve(&e->marks, text.len);
        if (marks && text.len)
            memset(marks, quoted, text.len);
        e->marks.len += marks ? text.len : 0;
        e->after_space = false;
    }
    return !e->text.full || full(e);
}

static bool add_escaped(struct expansion *e, struct str text, const char *special)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] && strchr(special, text.data[i]))
            buf_addc(&e->text, '\\');
        buf_addc(&e->text, text.data[i]);
    }
    return !e->text.full || full(e);
}

bool put_quoted(struct expansion *e, struct str text)
{
    e->have = true;
    switch (e->mode) {
    case EXPAND_PATTERN:
        pattern_quote(text, &e->text);
        return !e->text.full || full(e);
    case EXPAND_REGEX:
        return add_escaped(e, text, REGEX_SPECIAL);
    case EXPAND_REPLACEMENT:
        return add_escaped(e, text, "&\\");
    case EXPAND_FIELDS:
    case EXPAND_STRING:
        break;
    }
    return add(e, text, true);
}

/* May it be part of a glob?  Looked at again when the field is whole. */
static bool looks_magic(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c == '*' || c == '?' || c == '[' || c == '(')
            return true;
    }
    return false;
}

bool put_plain(struct expansion *e, struct str text)
{
    e->have |= text.len > 0;
    e->magic |= e->mode == EXPAND_FIELDS && !e->magic && looks_magic(text);
    return add(e, text, false);
}

/* A separator in soft text. */
static bool cut(struct expansion *e, enum ifs_kind kind)
{
    if (kind == IFS_SPACE) {
        bool after = e->have || e->after_space;
        bool ok = end_field(e);
        e->after_space = after;
        return ok;
    }
    if (!e->have && e->after_space) {
        e->after_space = false; /* "a :b": one separator, begun by the space */
        return true;
    }
    e->have = true;
    return end_field(e);
}

/* On to the next character that may split, or that is beyond ASCII, or the end. */
static size_t skip_ordinary(const struct ifs *ifs, struct str text, size_t i)
{
    for (; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c >= 0x80 || ifs->kind[c] != IFS_NONE)
            break;
    }
    return i;
}

static bool put_soft(struct expansion *e, struct str text)
{
    if (e->mode != EXPAND_FIELDS)
        return put_plain(e, text);
    const struct ifs *ifs = get_ifs(e);
    size_t start = 0, length;
    for (size_t i = 0; i < text.len; i += length) {
        i = skip_ordinary(ifs, text, i);
        if (i == text.len)
            break;
        enum ifs_kind kind = ifs_kind(ifs, str_from(text, i), &length);
        if (kind == IFS_NONE)
            continue;
        if (i > start && !put_plain(e, str_sub(text, start, i - start)))
            return false;
        if (!cut(e, kind))
            return false;
        start = i + length;
    }
    return start == text.len || put_plain(e, str_from(text, start));
}

bool put_result(struct expansion *e, struct str text, bool quoted)
{
    if (!budget_spend(e->sh->budget, 1 + text.len / 256))
        return false;
    return quoted ? put_quoted(e, text) : put_soft(e, text);
}

/* Between two elements.  Unquoted ones split as if the first character of IFS stood
 * between them. */
static bool put_gap(struct expansion *e, const struct operand *list, bool quoted)
{
    const struct ifs *ifs = get_ifs(e);
    struct str first = ifs_first(ifs);
    if (e->mode != EXPAND_FIELDS || (quoted && list->star)) {
        struct str gap = list->star ? first : STR(" ");
        return quoted ? put_quoted(e, gap) : put_plain(e, gap);
    }
    if (quoted || !first.len)
        return end_field(e);
    return cut(e, (enum ifs_kind)ifs->kind[(unsigned char)first.data[0]]);
}

bool put_list(struct expansion *e, const struct operand *list, bool quoted)
{
    if (quoted && list->star)
        e->have = true;
    for (size_t i = 0; i < list->count; i++) {
        if (i && !put_gap(e, list, quoted))
            return false;
        if (!put_result(e, list->items[i], quoted))
            return false;
    }
    return true;
}

enum pattern_flags expand_pattern_flags(const struct shell *sh)
{
    (void)sh; /* on whatever `shopt extglob` says: the parser has accepted it */
    return PATTERN_EXTGLOB;
}

static struct str field_pattern(const struct expansion *e, struct buf *pattern)
{
    for (size_t i = 0; i < e->text.len; i++) {
        struct str byte = { e->text.data + i, 1 };
        if (e->marks.data[i])
            pattern_quote(byte, pattern);
        else
            buf_add(pattern, byte);
    }
    return buf_str(pattern);
}

/* `*found` stays 0 when the field must be kept as it is. */
static bool glob_field(struct expansion *e, size_t *found)
{
    auto_buf text = BUF(e->text.len * 2);
    struct str pattern = field_pattern(e, &text);
    if (!pattern_is_magic(pattern, expand_pattern_flags(e->sh)))
        return true;
    if (!expand_glob(e->sh, pattern, e->arena, e->out, found))
        return false;
    if (*found)
        return true;
    if (e->sh->shopt & SHOPT_FAILGLOB)
        return expand_fail(e->sh, "no match: %.*s", STR_ARG(buf_str(&e->text)));
    if (e->sh->shopt & SHOPT_NULLGLOB)
        *found = 1;
    return true;
}

static bool push_field(struct expansion *e)
{
    size_t found = 0;
    if (e->text.full)
        return full(e);
    if (!budget_spend(e->sh->budget, 1))
        return false;
    if (e->magic && !(e->sh->set & SET_NOGLOB) && !glob_field(e, &found))
        return false;
    if (found)
        return true;
    if (!expand_room(e->sh, e->arena, e->text.len + 32))
        return false;
    return fields_push(e->out, e->arena, arena_cstr(e->arena, buf_str(&e->text)));
}

bool end_field(struct expansion *e)
{
    e->after_space = false;
    if (!e->have)
        return true;
    bool ok = push_field(e);
    buf_clear(&e->text);
    buf_clear(&e->marks);
    e->have = e->magic = false;
    return ok;
}
