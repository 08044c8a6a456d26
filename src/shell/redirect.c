/*
 * redirect.c - redirections and here-documents.
 *
 * The body of a here-document begins on the line after its operator: the word for it is
 * made with the redirection, and filled when the newline is read.
 */
#include "shell/word.h"

struct heredoc {
    struct heredoc *next;
    struct word *body;
    struct str delimiter;
    struct pos pos;
    bool is_quoted, strip_tabs;
};

struct operator
{
    const char *text;
    enum redirect_type type;
};

/* Longer ones first. */
static const struct operator operators[] = {
    { "&>>", REDIR_BOTH_APPEND },
    { "<<<", REDIR_HERESTRING },
    { "<<-", REDIR_HEREDOC },
    { "&>", REDIR_BOTH },
    { "<<", REDIR_HEREDOC },
    { ">>", REDIR_APPEND },
    { "<&", REDIR_DUP_READ },
    { ">&", REDIR_DUP_WRITE },
    { "<>", REDIR_READ_WRITE },
    { ">|", REDIR_CLOBBER },
    { "<", REDIR_READ },
    { ">", REDIR_WRITE },
};

/* Length of `12` or `{name}` right before < or >; 0 if there is none. */
static size_t prefix_length(const struct parser *p)
{
    size_t n = 0;
    if (peek(p) == '{') {
        n = 1 + lex_name_length(p, p->in->at + 1);
        n = n > 1 && peek_at(p, n) == '}' ? n + 1 : 0;
    } else {
        while (n < 10 && peek_at(p, n) >= '0' && peek_at(p, n) <= '9')
            n++;
        if (n == 10)
            return 0;
    }
    int c = peek_at(p, n);
    return c == '<' || c == '>' ? n : 0;
}

static const struct operator* find_operator(const struct parser *p, size_t skip)
{
    int c = peek_at(p, skip);
    if ((c == '<' || c == '>') && peek_at(p, skip + 1) == '(')
        return NULL;
    if (c != '<' && c != '>' && (c != '&' || skip))
        return NULL;
    p->in->at += skip;
    const struct operator* found = NULL;
    for (size_t i = 0; i < ARRAY_LEN(operators) && !found; i++)
        if (lex_match(p, operators[i].text))
            found = &operators[i];
    p->in->at -= skip;
    return found;
}

static void read_prefix(struct parser *p, size_t n, struct redirect *r)
{
    struct str text = lex_slice(p, p->in->at, p->in->at + n);
    int64_t fd;
    if (n && text.data[0] == '{')
        r->fd_name = str_sub(text, 1, n - 2);
    else if (n && str_int(text, &fd))
        r->fd = (int)fd;
    advance(p, n);
}

/* `>&word` is &> unless the word can only be a descriptor. */
static bool is_descriptor(const struct word *w)
{
    if (!w->is_literal)
        return true;
    size_t n = w->literal.len;
    if (n && w->literal.data[n - 1] == '-')
        n--;
    for (size_t i = 0; i < n; i++)
        if (w->literal.data[i] < '0' || w->literal.data[i] > '9')
            return false;
    return w->literal.len;
}

static void begin_heredoc(struct parser *p, struct redirect *r, bool strip_tabs)
{
    struct heredoc *h = arena_zalloc(p->arena, sizeof(*h));
    h->delimiter = word_unquoted(p, r->target, &h->is_quoted);
    h->strip_tabs = strip_tabs;
    h->pos = r->pos;
    h->body = arena_zalloc(p->arena, sizeof(*h->body));
    r->target = h->body;
    r->delimiter = h->delimiter;
    r->is_quoted = h->is_quoted;
    r->strip_tabs = strip_tabs;
    *(p->heredocs.first ? p->heredocs.last : &p->heredocs.first) = h;
    p->heredocs.last = &h->next;
}

static enum word_flags target_flags(enum redirect_type type)
{
    if (type == REDIR_HEREDOC)
        return 0;
    return type == REDIR_HERESTRING ? WORD_TILDE : WORD_TILDE | WORD_BRACES;
}

bool parse_redirect(struct parser *p, struct redirect_list *list)
{
    lex_skip_blanks(p);
    size_t n = prefix_length(p);
    const struct operator* op = find_operator(p, n);
    if (!op)
        return false;
    struct redirect r = { .type = op->type, .fd = -1, .fd_name = STR("") };
    r.delimiter = STR("");
    r.pos = lex_pos(p);
    read_prefix(p, n, &r);
    lex_accept(p, op->text);
    r.target = word_read(p, target_flags(r.type));
    if (!r.target) {
        parse_unexpected(p);
        return false;
    }
    if (r.type == REDIR_DUP_WRITE && r.fd < 0 && !r.fd_name.len &&
            !is_descriptor(r.target))
        r.type = REDIR_BOTH;
    if (r.type == REDIR_HEREDOC)
        begin_heredoc(p, &r, op->text[2] == '-');
    APPEND(p, *list, r);
    return true;
}

static size_t line_end(const struct input *in)
{
    const char *nl = memchr(in->text.data + in->at, '\n', in->end - in->at);
    return nl ? (size_t)(nl - in->text.data) : in->end;
}

/* Does the line end in a backslash that quotes its newline? */
static bool is_continued(const struct input *in, size_t eol)
{
    size_t n = 0;
    while (eol - n > in->at && in->text.data[eol - n - 1] == '\\')
        n++;
    return n % 2;
}

static size_t leading_tabs(const struct input *in, size_t eol)
{
    size_t at = in->at;
    while (at < eol && in->text.data[at] == '\t')
        at++;
    return at - in->at;
}

static void warn_unended(struct parser *p, const struct heredoc *h)
{
    if (!p->script || p->script->warning.len)
        return;
    p->script->warning = str_of(arena_printf(p->arena,
            "warning: here-document at line %u delimited by end-of-file (wanted `%.*s')",
            h->pos.line, STR_ARG(h->delimiter)));
}

/*
 * Is this line (its tabs skipped) the delimiter?  Inside $( ) bash also takes a line
 * that goes on with the closing parenthesis.  `*rest` is how much of it to leave.
 */
static bool is_end(
        struct parser *p, const struct heredoc *h, struct str line, size_t *rest)
{
    *rest = 0;
    if (str_eq(line, h->delimiter))
        return true;
    if (!p->substitutions || line.len <= h->delimiter.len ||
            !str_starts(line, h->delimiter) || line.data[h->delimiter.len] != ')')
        return false;
    *rest = line.len - h->delimiter.len;
    warn_unended(p, h);
    return true;
}

/* Move behind the body; its text without the tabs of <<- goes to `body` if wanted. */
static size_t skip_body(struct parser *p, const struct heredoc *h, struct buf *body)
{
    struct input *in = p->in;
    bool continued = false;
    while (in->at < in->end) {
        size_t eol = line_end(in), rest;
        size_t tabs = h->strip_tabs && !continued ? leading_tabs(in, eol) : 0;
        struct str line = lex_slice(p, in->at + tabs, eol);
        if (!continued && is_end(p, h, line, &rest)) {
            size_t end = in->at;
            in->at = rest ? eol - rest : eol + (eol < in->end);
            return end;
        }
        continued = !h->is_quoted && is_continued(in, eol);
        in->at = eol + (eol < in->end);
        if (body) {
            buf_add(body, line);
            buf_add(body, eol < in->end ? STR("\n") : STR(""));
        }
    }
    warn_unended(p, h);
    return in->at;
}

static struct word *quoted_word(struct parser *p, struct str text, struct pos pos)
{
    struct part_list parts = { .items = NULL };
    word_add_text(p, &parts, text, true);
    return word_new(p, parts, pos, text);
}

static struct word *read_body(struct parser *p, struct heredoc *h)
{
    size_t start = p->in->at;
    struct pos pos = lex_pos(p);
    auto_buf stripped = BUF(PARSE_MAX_TEXT);
    size_t end = skip_body(p, h, h->strip_tabs ? &stripped : NULL);
    size_t after = p->in->at;
    struct str text = lex_slice(p, start, end);
    if (h->strip_tabs)
        text = arena_str(p->arena, buf_str(&stripped));
    if (h->is_quoted)
        return quoted_word(p, text, pos);
    if (!h->strip_tabs) {
        struct word *w = word_read_range(p, CTX_HEREDOC, start, end);
        p->in->at = p->failed ? p->in->end : after;
        return w;
    }
    struct input *outer = p->in, in;
    lex_push(p, &in, text, pos);
    struct word *w = word_read_in(p, CTX_HEREDOC, 0);
    lex_pop(p, outer);
    return w;
}

void parse_heredocs(struct parser *p)
{
    struct heredoc *h = p->heredocs.first;
    p->heredocs = (struct heredoc_list){ .first = NULL };
    for (; h && !p->failed; h = h->next)
        *h->body = *read_body(p, h);
}
