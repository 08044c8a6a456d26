#include "shell/word.h"

void word_add_text(
        struct parser *p, struct part_list *parts, struct str text, bool quoted)
{
    APPEND(p, *parts,
            ((struct part){ .type = PART_TEXT, .quoted = quoted, .text = text }));
}

void builder_flush(struct builder *b)
{
    size_t at = b->p->in->at;
    if (at > b->run && !b->p->failed)
        word_add_text(b->p, &b->parts, lex_slice(b->p, b->run, at), b->quoted);
    b->run = at;
}

void builder_add(struct builder *b, struct part part)
{
    part.quoted = b->quoted;
    APPEND(b->p, b->parts, part);
    b->run = b->p->in->at;
}

/* Leave out `n` bytes: what was before them becomes a part. */
static void drop(struct builder *b, size_t n)
{
    builder_flush(b);
    b->p->in->at += n;
    b->run = b->p->in->at;
}

/* The next byte loses its special meaning. */
static void add_quoted_byte(struct builder *b)
{
    struct parser *p = b->p;
    word_add_text(p, &b->parts, lex_slice(p, p->in->at, p->in->at + 1), true);
    b->run = ++p->in->at;
}

static void read_escape(struct builder *b)
{
    struct parser *p = b->p;
    int c = peek_at(p, 1);
    if (c == '\n') {
        drop(b, 2);
    } else if (b->quoted) {
        const char *special = b->ctx == CTX_HEREDOC        ? "$`\\"
                              : b->ctx == CTX_PARAM_QUOTED ? "$`\"\\}"
                                                           : "$`\"\\";
        if (c > 0 && strchr(special, c))
            drop(b, 1);
        p->in->at++;
    } else {
        if (c >= 0)
            drop(b, 1);
        else
            builder_flush(b);
        add_quoted_byte(b);
    }
}

static void read_single_quoted(struct builder *b)
{
    struct parser *p = b->p;
    struct pos open = lex_pos(p);
    drop(b, 1);
    const char *from = p->in->text.data + p->in->at;
    const char *close = memchr(from, '\'', p->in->end - p->in->at);
    if (!close) {
        parse_unclosed(p, open, "'");
        return;
    }
    word_add_text(p, &b->parts, (struct str){ from, (size_t)(close - from) }, true);
    p->in->at += (size_t)(close - from) + 1;
    b->run = p->in->at;
}

static void read_double_quoted(struct builder *b)
{
    struct parser *p = b->p;
    struct pos open = lex_pos(p);
    drop(b, 1);
    size_t before = b->parts.count;
    enum context ctx = b->ctx;
    bool quoted = b->quoted;
    b->ctx = CTX_DQUOTE;
    b->quoted = true;
    if (parse_enter(p))
        builder_read(b);
    parse_leave(p);
    builder_flush(b);
    b->ctx = ctx;
    b->quoted = quoted;
    if (peek(p) < 0) {
        parse_unclosed(p, open, "\"");
        return;
    }
    if (b->parts.count == before)
        word_add_text(p, &b->parts, STR(""), true);
    b->run = ++p->in->at;
}

static void read_ansi(struct builder *b)
{
    struct parser *p = b->p;
    struct pos open = lex_pos(p);
    drop(b, 2);
    struct str text = word_read_ansi(p, open);
    word_add_text(p, &b->parts, text, true);
    b->run = p->in->at;
}

static void read_command(struct builder *b)
{
    struct parser *p = b->p;
    struct pos open = lex_pos(p);
    builder_flush(b);
    p->in->at += 2;
    struct node *body = parse_substitution(p, open);
    builder_add(b, (struct part){ .type = PART_COMMAND, .command.body = body });
}

static void read_process(struct builder *b)
{
    struct parser *p = b->p;
    struct pos open = lex_pos(p);
    bool writer = peek(p) == '>';
    builder_flush(b);
    p->in->at += 2;
    struct node *body = parse_substitution(p, open);
    builder_add(b, (struct part){ .type = PART_PROCESS,
                           .command = { .body = body, .writer = writer } });
}

/* Where the ` that closes lies, and whether the text between has escapes. */
static size_t find_backtick(const struct parser *p, size_t at, bool *escapes)
{
    const char *text = p->in->text.data;
    while (at < p->in->end && text[at] != '`') {
        *escapes |= text[at] == '\\';
        at += text[at] == '\\' ? 2 : 1;
    }
    return at < p->in->end ? at : SCAN_FAILED;
}

static struct str unescape_backtick(struct parser *p, struct str s, bool in_quotes)
{
    char *out = arena_alloc(p->arena, s.len + 1);
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++) {
        bool next = s.data[i] == '\\' && i + 1 < s.len;
        if (next && strchr(in_quotes ? "$`\\\"" : "$`\\", s.data[i + 1]))
            i++;
        out[n++] = s.data[i];
    }
    return (struct str){ out, n };
}

static void read_backtick(struct builder *b)
{
    struct parser *p = b->p;
    struct pos open = lex_pos(p);
    builder_flush(b);
    size_t from = p->in->at + 1;
    bool escapes = false;
    size_t close = find_backtick(p, from, &escapes);
    if (close == SCAN_FAILED) {
        parse_unclosed(p, open, "`");
        return;
    }
    struct str text = lex_slice(p, from, close);
    if (escapes)
        text = unescape_backtick(p, text, b->quoted && b->ctx != CTX_HEREDOC);
    p->in->at = close + 1;
    struct input *outer = p->in, in;
    struct heredoc_list heredocs = p->heredocs;
    p->heredocs = (struct heredoc_list){ .first = NULL };
    open.column++;
    lex_push(p, &in, text, open);
    struct node *body = parse_list(p);
    if (!p->failed && (lex_skip_blanks(p), peek(p) >= 0))
        parse_unexpected(p);
    parse_heredocs(p);
    lex_pop(p, outer);
    p->heredocs = heredocs;
    builder_add(b, (struct part){ .type = PART_COMMAND, .command.body = body });
}

/* $(( and $[ : `skip` bytes before the text, which `close` ends. */
static bool read_arith(struct builder *b, size_t skip, const char *close)
{
    struct parser *p = b->p;
    size_t from = p->in->at + skip;
    size_t end = lex_scan(p, from, close[0], false);
    if (end == SCAN_FAILED) {
        parse_unclosed(p, lex_pos(p), close[1] ? ")" : close);
        return true;
    }
    if (close[1] && (end + 1 >= p->in->end || p->in->text.data[end + 1] != close[1]))
        return false;
    builder_flush(b);
    struct word *text = word_read_range(p, CTX_ARITH, from, end);
    struct arith_expr *expr = arith_parse(p, text);
    if (!p->failed)
        p->in->at = end + strlen(close);
    builder_add(b, (struct part){ .type = PART_ARITH, .arith = expr });
    return true;
}

static void read_name(struct builder *b, size_t len)
{
    struct parser *p = b->p;
    struct param *x = arena_zalloc(p->arena, sizeof(*x));
    x->pos = lex_pos(p);
    builder_flush(b);
    size_t from = p->in->at;
    p->in->at += 1 + len;
    x->name = lex_slice(p, from + 1, p->in->at);
    x->source = lex_slice(p, from, p->in->at);
    builder_add(b, (struct part){ .type = PART_PARAM, .param = x });
}

static bool knows_ansi_quotes(const struct builder *b)
{
    return b->ctx != CTX_DQUOTE && b->ctx != CTX_HEREDOC;
}

static void read_dollar(struct builder *b)
{
    struct parser *p = b->p;
    int c = peek_at(p, 1);
    if (c == '(' && peek_at(p, 2) == '(' && read_arith(b, 3, "))"))
        return;
    if (c == '(') {
        read_command(b);
    } else if (c == '{') {
        builder_read_param(b);
    } else if (c == '[') {
        read_arith(b, 2, "]");
    } else if (c == '\'' && knows_ansi_quotes(b)) {
        read_ansi(b);
    } else if (c == '"' && knows_ansi_quotes(b)) {
        drop(b, 1);
        read_double_quoted(b);
    } else if (lex_is_name_start(c)) {
        read_name(b, lex_name_length(p, p->in->at + 1));
    } else if (c > 0 && strchr("0123456789@*#?-$!", c)) {
        read_name(b, 1);
    } else {
        p->in->at++;
    }
}

static bool is_tilde_char(int c)
{
    return lex_is_name_char(c) || c == '.' || c == '+' || c == '-';
}

static void read_tilde(struct builder *b)
{
    struct parser *p = b->p;
    size_t n = 1;
    while (is_tilde_char(peek_at(p, n)))
        n++;
    int c = peek_at(p, n);
    bool ends = c == '/' || (c == ':' && (b->flags & WORD_COLONS)) ||
                (b->ctx == CTX_WORD ? lex_is_delimiter(c) : c == '}' || c < 0);
    if (!ends) {
        p->in->at += n;
        return;
    }
    builder_flush(b);
    p->in->at += n;
    builder_add(b, (struct part){ .type = PART_TILDE,
                           .text = lex_slice(p, p->in->at - n + 1, p->in->at) });
}

/* Bytes that are never special, in any context. */
static const bool plain[256] = {
    ['a' ... 'z'] = true,
    ['A' ... 'Z'] = true,
    ['0' ... '9'] = true,
    ['_'] = true,
    ['-'] = true,
    ['.'] = true,
    [','] = true,
    ['='] = true,
    ['%'] = true,
    ['^'] = true,
    ['#'] = true,
    [0x80 ... 0xff] = true,
};

static bool ends_word(const struct builder *b, int c)
{
    if (b->groups || !lex_is_delimiter(c) || b->p->in->at < b->solid)
        return false;
    if (b->ctx == CTX_REGEX)
        return c != '|' && c != '(';
    return (c != '<' && c != '>') || peek_at(b->p, 1) != '(';
}

static bool ends_here(const struct builder *b, int c)
{
    switch (b->ctx) {
    case CTX_WORD:
    case CTX_REGEX:
        return ends_word(b, c);
    case CTX_DQUOTE:
        return c == '"';
    case CTX_PARAM:
        return c == '}';
    case CTX_PARAM_QUOTED:
        return c == '}' && !b->apostrophe;
    case CTX_PATTERN:
        return c == '}' || c == '/';
    case CTX_SUBSTRING:
        return c == '}' || (c == ':' && !b->groups && !b->ternary);
    case CTX_HEREDOC:
    case CTX_ARITH:
        break;
    }
    return false;
}

/* ( ) and ? : where they nest. */
static void count_groups(struct builder *b, int c)
{
    if (c == '(' && ++b->groups > PARSE_MAX_DEPTH)
        parse_fail(b->p, lex_pos(b->p), "nested too deeply (limit: %d levels)",
                PARSE_MAX_DEPTH);
    else if (c == ')' && b->groups)
        b->groups--;
    else if (c == '?')
        b->ternary++;
    else if (c == ':' && b->ternary)
        b->ternary--;
}

/* An unquoted byte whose meaning depends on the context. */
static void read_other(struct builder *b, int c)
{
    struct parser *p = b->p;
    if (c == '~' && p->in->at == b->value && !b->quoted) {
        read_tilde(b);
        return;
    }
    bool opens_group = b->ctx == CTX_WORD && p->extglob && c && strchr("?*+@!", c) &&
                       peek_at(p, 1) == '(';
    if (opens_group)
        p->in->at++;
    if (opens_group)
        count_groups(b, '(');
    else if (b->ctx == CTX_SUBSTRING || b->ctx == CTX_REGEX || b->groups)
        count_groups(b, c);
    if (c == ':' && (b->flags & WORD_COLONS))
        b->value = p->in->at + 1;
    b->has_brace |= c == '{' && b->ctx == CTX_WORD;
    b->apostrophe ^= c == '\'' && b->ctx == CTX_PARAM_QUOTED;
    if (!p->failed)
        p->in->at++;
}

static void read_piece(struct builder *b, int c)
{
    bool quotes = b->ctx != CTX_DQUOTE && b->ctx != CTX_HEREDOC;
    if (c == '\\')
        read_escape(b);
    else if (c == '\'' && quotes && b->ctx != CTX_PARAM_QUOTED)
        read_single_quoted(b);
    else if (c == '"' && quotes)
        read_double_quoted(b);
    else if (c == '$')
        read_dollar(b);
    else if (c == '`')
        read_backtick(b);
    else if ((c == '<' || c == '>') && peek_at(b->p, 1) == '(' &&
             (b->ctx == CTX_WORD || b->ctx == CTX_PARAM))
        read_process(b);
    else
        read_other(b, c);
}

void builder_read(struct builder *b)
{
    struct input *in = b->p->in;
    for (;;) {
        while (in->at < in->end && plain[(unsigned char)in->text.data[in->at]])
            in->at++;
        int c = peek(b->p);
        if (c < 0 || ends_here(b, c))
            return;
        read_piece(b, c);
    }
}

/* `alone`: it is the whole word, and a [ in it closes nowhere. */
static bool is_literal_part(const struct part *part, bool alone)
{
    if (part->type != PART_TEXT)
        return false;
    if (part->quoted)
        return true;
    for (size_t i = 0; i < part->text.len; i++)
        if (strchr("*?[(", part->text.data[i]))
            return alone && str_is(part->text, "[");
    return true;
}

/* Longer words take the ordinary road: their text is not worth a second copy. */
#define MAX_LITERAL ((size_t)64 << 10)

static void find_literal(struct parser *p, struct word *w)
{
    size_t len = 0;
    for (size_t i = 0; i < w->count; i++) {
        len += w->parts[i].text.len;
        if (len > MAX_LITERAL || !is_literal_part(&w->parts[i], w->count == 1))
            return;
    }
    if (!w->count)
        return;
    char *text = arena_alloc(p->arena, len + 1);
    w->literal = (struct str){ text, len };
    for (size_t i = 0; i < w->count; i++) {
        memcpy(text, w->parts[i].text.data, w->parts[i].text.len);
        text += w->parts[i].text.len;
    }
    *text = 0;
    w->is_literal = true;
}

struct word *word_new(
        struct parser *p, struct part_list parts, struct pos pos, struct str source)
{
    struct word *w = arena_alloc(p->arena, sizeof(*w));
    *w = (struct word){
        .parts = parts.items, .count = parts.count, .pos = pos, .source = source
    };
    for (size_t i = 0; i < w->count; i++)
        w->has_braces |=
                w->parts[i].type == PART_BRACES || w->parts[i].type == PART_RANGE;
    find_literal(p, w);
    return w;
}

static struct word *read_in(
        struct parser *p, enum context ctx, enum word_flags flags, size_t solid)
{
    size_t from = p->in->at;
    struct pos pos = lex_pos(p);
    unsigned outer = begin_chain(p);
    struct builder b = {
        .p = p,
        .ctx = ctx,
        .flags = flags,
        .run = from,
        .solid = solid,
        .value = flags & WORD_TILDE ? from : SCAN_FAILED,
        .quoted = ctx == CTX_PARAM_QUOTED || ctx == CTX_HEREDOC,
    };
    if (flags & WORD_SLASH && peek(p) == '/')
        p->in->at++;
    if (parse_enter(p))
        builder_read(&b);
    parse_leave(p);
    builder_flush(&b);
    if (b.apostrophe)
        parse_unclosed(p, pos, "'");
    if (b.groups && (ctx == CTX_WORD || ctx == CTX_REGEX))
        parse_unclosed(p, pos, ")");
    if (b.has_brace && (flags & WORD_BRACES) && !p->failed)
        b.parts = word_find_braces(p, b.parts);
    p->last_end = p->in->at;
    struct str source = p->failed ? STR("") : lex_slice(p, from, p->in->at);
    struct word *w = word_new(p, b.parts, pos, source);
    w->height = p->height - p->depth;
    end_chain(p, outer);
    return w;
}

struct word *word_read_in(struct parser *p, enum context ctx, enum word_flags flags)
{
    return read_in(p, ctx, flags, 0);
}

struct word *word_read_solid(struct parser *p, enum word_flags flags, size_t solid)
{
    return read_in(p, CTX_WORD, flags, solid);
}

struct word *word_read(struct parser *p, enum word_flags flags)
{
    lex_skip_blanks(p);
    int c = peek(p);
    if (lex_is_delimiter(c) && ((c != '<' && c != '>') || peek_at(p, 1) != '('))
        return NULL;
    return word_read_in(p, CTX_WORD, flags);
}

struct word *word_read_range(struct parser *p, enum context ctx, size_t from, size_t to)
{
    struct limit limit = lex_narrow(p, from, to);
    struct word *w = word_read_in(p, ctx, 0);
    lex_widen(p, limit, to);
    return w;
}

void word_read_subscript(struct parser *p, size_t from, size_t to, struct word **word,
        struct arith_expr **arith)
{
    *word = word_read_range(p, CTX_ARITH, from, to);
    *arith = arith_parse(p, *word);
}

struct str word_unquoted(struct parser *p, const struct word *w, bool *was_quoted)
{
    *was_quoted = false;
    size_t len = 0;
    for (size_t i = 0; i < w->count; i++) {
        *was_quoted |= w->parts[i].quoted;
        if (w->parts[i].type != PART_TEXT)
            return w->source;
        len += w->parts[i].text.len;
    }
    char *text = arena_alloc(p->arena, len + 1);
    struct str out = { text, len };
    for (size_t i = 0; i < w->count; i++) {
        memcpy(text, w->parts[i].text.data, w->parts[i].text.len);
        text += w->parts[i].text.len;
    }
    return out;
}
