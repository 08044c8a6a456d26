#include "search/regex.h"

#include "base/utf8.h"
#include "policy/pyre/pyre.h"
#include "search/literal.h"
#include "search/nfa.h"
#include "search/program.h"
#include "search/words.h"

#include <stdatomic.h>

#define MAX_SOURCE     ((size_t)1 << 20)  /* of a pattern; each byte becomes a node */
#define MAX_PATTERN    ((size_t)16 << 20) /* of the text given to PCRE2 */
#define ASCII_WINDOW   4096 /* a longer subject is not looked through for each match */
#define MAX_LIMIT_HITS 8    /* then PCRE2 is not asked any more */

/* What copies share; it does not change. */
struct shared {
    struct arena *arena;
    struct re_tree tree; /* root NULL: a Perl or Python pattern, or words */
    struct str pattern;  /* Perl's, also if it was Python's */
    enum regex_flags flags;
    bool perl, python, needs_longest;
    bool has_bytes, has_utf; /* which programs make sense */
    bool line_by_line;
    struct literals literals;
    struct words *words; /* instead of everything else; NULL: no such list */
    size_t groups;
    atomic_uint refs;
};

enum { BYTES, UTF, EXACT_BYTES, EXACT_UTF, PROGRAMS };

struct regex {
    struct shared *shared;
    struct program *programs[PROGRAMS]; /* NULL until needed */
    bool failed[PROGRAMS];              /* too big for PCRE2 */
    struct nfa *nfa;                    /* NULL until needed */
    bool nfa_failed;
    unsigned limit_hits;
};

static bool is_ascii(struct str s)
{
    uint64_t word, high = 0;
    size_t i = 0;
    for (; s.len - i >= sizeof(word); i += sizeof(word)) {
        memcpy(&word, s.data + i, sizeof(word));
        high |= word;
    }
    for (; i < s.len; i++)
        high |= (uint64_t)(unsigned char)s.data[i];
    return !(high & 0x8080808080808080u);
}

/* Is there anything that could be special in any POSIX syntax? */
static bool has_operators(struct str pattern)
{
    for (size_t i = 0; i < pattern.len; i++)
        if (pattern.data[i] && strchr("\\[.*^$+?{|()", pattern.data[i]))
            return true;
    return false;
}

/*
 * Does whatever matches a line by itself also match there with other lines around it?
 * Then one search over many lines finds every candidate.  Unsure means no.
 */
static bool perl_is_monotone(struct str pattern)
{
    for (size_t i = 0; i < pattern.len; i++) {
        char c = pattern.data[i], next = i + 1 < pattern.len ? pattern.data[i + 1] : 0;
        char third = i + 2 < pattern.len ? pattern.data[i + 2] : 0;
        if (c == '(' &&
                (next == '*' || (next == '?' && (!third || !strchr(":=i", third)))))
            return false;
        if (next == '+' && (c == '*' || c == '+' || c == '?' || c == '}'))
            return false;
        if (c == '\\') {
            if (!next || strchr("AzZGKQ", next))
                return false;
            i++;
        }
    }
    return true;
}

static enum program_flags program_flags(const struct shared *s, int which)
{
    unsigned flags = s->flags & REGEX_FOLD ? PROGRAM_FOLD : 0;
    if (s->flags & REGEX_NEWLINE)
        flags |= PROGRAM_LINES;
    if (which == UTF || which == EXACT_UTF)
        flags |= s->perl && !s->python ? PROGRAM_UTF : PROGRAM_UTF | PROGRAM_UCP;
    if (which == EXACT_BYTES || which == EXACT_UTF)
        flags |= PROGRAM_EXACT;
    return flags | (s->perl ? PROGRAM_PERL : 0);
}

/* A Perl pattern, within what -w and -x add. */
static void perl_text(const struct shared *s, struct buf *out)
{
    bool line = s->flags & REGEX_LINE, word = s->flags & REGEX_WORD;
    buf_add(out, line ? STR("^(?:") : word ? STR("(?<!\\w)(?:") : STR(""));
    buf_add(out, s->pattern);
    buf_add(out, line ? STR(")$") : word ? STR(")(?!\\w)") : STR(""));
}

static bool make_program(
        const struct shared *s, int which, struct program **out, struct error *err)
{
    auto_buf text = BUF(MAX_PATTERN);
    if (s->perl)
        perl_text(s, &text);
    else
        re_emit(&s->tree, which == UTF || which == EXACT_UTF, &text);
    if (text.full)
        return error_set(err, ERR_LIMIT, "Regular expression too big");
    return program_create(buf_str(&text), program_flags(s, which), out, err);
}

static struct program *get_program(struct regex *re, int which)
{
    struct error err;
    if (!re->programs[which] && !re->failed[which])
        re->failed[which] = !make_program(re->shared, which, &re->programs[which], &err);
    return re->programs[which];
}

static struct nfa *get_nfa(struct regex *re)
{
    if (!re->nfa && !re->nfa_failed && re->shared->tree.root)
        re->nfa = nfa_create(&re->shared->tree);
    re->nfa_failed = !re->nfa;
    return re->nfa;
}

static struct shared *make_shared(enum regex_syntax syntax, enum regex_flags flags)
{
    struct shared *s = xcalloc(1, sizeof(*s));
    s->arena = arena_create();
    s->python = syntax == REGEX_PYTHON;
    s->perl = s->python || syntax == REGEX_PERL;
    s->flags = flags;
    s->refs = 1;
    return s;
}

static void unref_shared(struct shared *s)
{
    if (atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    words_destroy(s->words);
    arena_destroy(s->arena);
    free(s);
}

static bool compile_perl(struct regex *re, struct str pattern, struct error *err)
{
    struct shared *s = re->shared;
    s->pattern = arena_str(s->arena, pattern);
    s->has_utf = utf8_valid(pattern);
    s->has_bytes = true;
    int main = s->has_utf ? UTF : BYTES;
    if (!make_program(s, main, &re->programs[main], err))
        return false;
    /* Over bytes, text outside ASCII would mean something else. */
    for (size_t i = 0; i < pattern.len && s->has_utf; i++)
        s->has_bytes &= (unsigned char)pattern.data[i] < 128;
    s->groups = program_groups(re->programs[main]);
    s->line_by_line = !perl_is_monotone(pattern);
    literals_of_perl(pattern, s->flags, s->arena, &s->literals);
    return true;
}

static bool compile_posix(
        struct regex *re, struct str pattern, enum regex_syntax syntax, struct error *err)
{
    struct shared *s = re->shared;
    if ((syntax == REGEX_FIXED || !has_operators(pattern)) &&
            (s->words = words_create(pattern, s->flags)))
        return true;
    if (pattern.len > MAX_SOURCE)
        return error_set(err, ERR_LIMIT, "Regular expression too big");
    pattern = arena_str(s->arena, pattern);
    if (!re_parse(pattern, syntax, s->flags, s->arena, &s->tree, err))
        return false;
    s->groups = s->tree.groups;
    s->needs_longest = !s->tree.has_backrefs && re_needs_longest(&s->tree);
    s->has_bytes = true;
    s->has_utf = !s->tree.bytes && !s->tree.neutral;
    s->line_by_line = s->tree.has_buffer_ends;
    literals_of_tree(&s->tree, &s->literals);
    if (make_program(s, BYTES, &re->programs[BYTES], err))
        return true;
    re->failed[BYTES] = re->failed[UTF] = true;
    return get_nfa(re) || error_set(err, ERR_LIMIT, "Regular expression too big");
}

/* As Perl's, once it is translated. */
static bool compile_python(struct regex *re, struct str pattern, struct error *err)
{
    auto_buf text = BUF(MAX_SOURCE);
    struct error unused;
    enum pyre_flags flags = re->shared->flags & REGEX_FOLD ? PYRE_FOLD : 0;
    if (!pyre_translate(pattern, flags, &text, err) ||
            !compile_perl(re, buf_str(&text), err))
        return false;
    /* It may speak of characters that bytes cannot be. */
    struct program **bytes = &re->programs[BYTES];
    re->failed[BYTES] = re->shared->has_bytes && !*bytes &&
                        !make_program(re->shared, BYTES, bytes, &unused);
    re->shared->has_bytes &= !re->failed[BYTES];
    return true;
}

bool regex_compile(struct str pattern, enum regex_syntax syntax, enum regex_flags flags,
        struct regex **out, struct error *err)
{
    struct regex *re = xcalloc(1, sizeof(*re));
    re->shared = make_shared(syntax, flags);
    bool ok = re->shared->python ? compile_python(re, pattern, err)
              : re->shared->perl ? compile_perl(re, pattern, err)
                                 : compile_posix(re, pattern, syntax, err);
    if (!ok) {
        regex_destroy(re);
        return false;
    }
    *out = re;
    return true;
}

struct regex *regex_copy(struct regex *re)
{
    struct regex *copy = xcalloc(1, sizeof(*copy));
    copy->shared = re->shared;
    atomic_fetch_add(&re->shared->refs, 1);
    /* The machine is made now, since that uses the shared arena; the rest, to share it.
     */
    if (re->shared->has_bytes)
        get_program(re, BYTES);
    if (re->shared->has_utf)
        get_program(re, UTF);
    for (int i = 0; i < PROGRAMS; i++) {
        copy->programs[i] = re->programs[i] ? program_copy(re->programs[i]) : NULL;
        copy->failed[i] = re->failed[i];
    }
    if (get_nfa(re))
        copy->nfa = nfa_copy(re->nfa);
    copy->nfa_failed = re->nfa_failed;
    return copy;
}

void regex_destroy(struct regex *re)
{
    if (!re)
        return;
    for (int i = 0; i < PROGRAMS; i++)
        program_destroy(re->programs[i]);
    nfa_destroy(re->nfa);
    unref_shared(re->shared);
    free(re);
}

size_t regex_groups(const struct regex *re)
{
    return re->shared->groups;
}

/* Over bytes, if that makes no difference for this subject. */
static bool wants_utf(const struct shared *s, struct str subject)
{
    if (!s->has_utf || !s->has_bytes)
        return s->has_utf;
    return subject.len > ASCII_WINDOW || !is_ascii(subject);
}

struct attempt {
    struct str subject;
    size_t from;
    bool not_bol, utf;
};

static void set_groups(const struct shared *s, const size_t *ovector, size_t count,
        struct regex_match *m)
{
    m->groups = s->groups < REGEX_MAX_GROUPS ? s->groups + 1 : REGEX_MAX_GROUPS;
    for (size_t i = 0; i < m->groups; i++) {
        bool is_set = i < count && ovector[2 * i] != ~(size_t)0;
        m->start[i] = is_set ? (ptrdiff_t)ovector[2 * i] : -1;
        m->end[i] = is_set ? (ptrdiff_t)ovector[2 * i + 1] : -1;
    }
}

/* The groups of a match whose bounds are known. */
static void find_groups(struct regex *re, const struct attempt *a, size_t start,
        size_t end, struct regex_match *m)
{
    const size_t *ovector = NULL;
    size_t count = 0;
    struct program *p =
            re->shared->groups ? get_program(re, a->utf ? EXACT_UTF : EXACT_BYTES) : NULL;
    enum program_match_flags flags = a->not_bol ? PROGRAM_NOT_BOL : 0;
    if (p && program_match_exactly(p, a->subject, start, end, flags, &ovector, &count) !=
                     REGEX_YES)
        count = 0;
    set_groups(re->shared, ovector, count, m);
    m->start[0] = (ptrdiff_t)start;
    m->end[0] = (ptrdiff_t)end;
}

/* The whole search by the machine that no pattern can make slow. */
static enum regex_result search_nfa(
        struct regex *re, const struct attempt *a, struct regex_match *m)
{
    size_t start, end;
    if (!get_nfa(re))
        return REGEX_LIMIT;
    enum regex_result r =
            nfa_match(re->nfa, a->subject, a->from, a->not_bol, false, &start, &end);
    if (r == REGEX_YES && m)
        find_groups(re, a, start, end, m);
    return r;
}

/* PCRE2's answer, or REGEX_LIMIT. */
static enum regex_result search_program(
        struct regex *re, const struct attempt *a, const size_t **ovector, size_t *count)
{
    struct program *p = get_program(re, a->utf ? UTF : BYTES);
    if (!p || (re->limit_hits >= MAX_LIMIT_HITS && get_nfa(re)))
        return REGEX_LIMIT;
    enum program_match_flags flags = a->not_bol ? PROGRAM_NOT_BOL : 0;
    enum regex_result r = program_match(p, a->subject, a->from, flags, ovector, count);
    re->limit_hits += r == REGEX_LIMIT;
    return r;
}

/* Only where the match starts. */
static enum regex_result search_start(
        struct regex *re, const struct attempt *a, size_t *start)
{
    const size_t *ovector;
    size_t count, end;
    if (re->shared->words)
        return words_search(re->shared->words, a->subject, a->from, start, &end)
                       ? REGEX_YES
                       : REGEX_NO;
    enum regex_result r = search_program(re, a, &ovector, &count);
    if (r == REGEX_YES)
        *start = ovector[0];
    if (r == REGEX_LIMIT && get_nfa(re))
        r = nfa_match(re->nfa, a->subject, a->from, a->not_bol, false, start, &end);
    return r;
}

static enum regex_result search_words(
        const struct words *w, const struct attempt *a, struct regex_match *m)
{
    size_t start = 0, end = 0;
    if (!words_search(w, a->subject, a->from, m ? &start : NULL, m ? &end : NULL))
        return REGEX_NO;
    if (m)
        *m = (struct regex_match){
            .start = { (ptrdiff_t)start }, .end = { (ptrdiff_t)end }, .groups = 1
        };
    return REGEX_YES;
}

static enum regex_result search(
        struct regex *re, const struct attempt *a, struct regex_match *m)
{
    const struct shared *s = re->shared;
    const size_t *ovector;
    size_t count, start, end;
    if (s->words)
        return search_words(s->words, a, m);
    enum regex_result r = search_program(re, a, &ovector, &count);
    if (r == REGEX_LIMIT)
        return search_nfa(re, a, m);
    if (r == REGEX_NO || !m)
        return r;
    start = ovector[0];
    if (s->needs_longest && get_nfa(re) &&
            nfa_match(re->nfa, a->subject, start, a->not_bol, true, &start, &end) ==
                    REGEX_YES &&
            end != ovector[1])
        find_groups(re, a, start, end, m);
    else
        set_groups(s, ovector, count, m);
    return r;
}

enum regex_result regex_search(struct regex *re, struct str subject, size_t from,
        bool not_bol, struct regex_match *m)
{
    if (from > subject.len)
        return REGEX_NO;
    struct attempt a = { subject, from, not_bol, wants_utf(re->shared, subject) };
    return search(re, &a, m);
}

struct line_search {
    struct regex *re;
    struct str buffer;
    char eol;
    size_t start, end; /* the line found */
};

static void set_line(struct line_search *l, size_t at)
{
    const char *data = l->buffer.data;
    const char *before = at ? memrchr(data, l->eol, at) : NULL;
    const char *after = memchr(data + at, l->eol, l->buffer.len - at);
    l->start = before ? (size_t)(before + 1 - data) : 0;
    l->end = after ? (size_t)(after - data) : l->buffer.len;
}

/* Does the line found match by itself? */
static enum regex_result match_line(struct line_search *l)
{
    struct str line = str_sub(l->buffer, l->start, l->end - l->start);
    struct attempt a = { line, 0, false, wants_utf(l->re->shared, line) };
    return search(l->re, &a, NULL);
}

static enum regex_result find_by_literal(struct line_search *l, size_t from, size_t end)
{
    const struct literals *lits = &l->re->shared->literals;
    const char *data = l->buffer.data;
    while (from < end) {
        const char *hit = literals_find(lits, data + from, data + end);
        if (!hit)
            break;
        set_line(l, (size_t)(hit - data));
        enum regex_result r = lits->exact ? REGEX_YES : match_line(l);
        if (r != REGEX_NO)
            return r;
        from = l->end + 1;
    }
    return REGEX_NO;
}

static enum regex_result find_line_by_line(struct line_search *l, size_t from, size_t end)
{
    for (; from < end; from = l->end + 1) {
        set_line(l, from);
        enum regex_result r = match_line(l);
        if (r != REGEX_NO)
            return r;
    }
    return REGEX_NO;
}

/* One search over many lines; where the pattern could cross lines, the line must then
 * agree by itself. */
static enum regex_result find_in_lines(struct line_search *l, size_t from, size_t end)
{
    const struct shared *s = l->re->shared;
    struct str window = str_sub(l->buffer, from, end - from);
    bool utf = s->has_utf && !(s->has_bytes && is_ascii(window));
    size_t at = 0;
    while (at < window.len) {
        size_t start;
        struct attempt a = { window, at, false, utf };
        enum regex_result r = search_start(l->re, &a, &start);
        if (r == REGEX_LIMIT)
            return find_line_by_line(l, from + at, end);
        if (r == REGEX_NO || (start == window.len && window.data[start - 1] == l->eol))
            return REGEX_NO;
        set_line(l, from + start);
        r = s->perl ? match_line(l) : REGEX_YES;
        if (r != REGEX_NO)
            return r;
        at = l->end + 1 - from;
    }
    return REGEX_NO;
}

/* Windows of growing size, so that neither many matches nor few cost extra. */
#define WINDOW_MIN ((size_t)2 << 10)
#define WINDOW_MAX ((size_t)128 << 10)

static size_t window_end(const struct line_search *l, size_t from, size_t size)
{
    if (l->buffer.len - from <= size)
        return l->buffer.len;
    const char *at = l->buffer.data + from + size;
    const char *eol = memchr(at, l->eol, l->buffer.len - from - size);
    return eol ? (size_t)(eol + 1 - l->buffer.data) : l->buffer.len;
}

enum regex_result regex_find_line(struct regex *re, struct str buffer, size_t from,
        char eol, size_t *line_start, size_t *line_end)
{
    struct line_search l = { .re = re, .buffer = buffer, .eol = eol };
    size_t size = WINDOW_MIN;
    enum regex_result r = REGEX_NO;
    while (from < buffer.len && r == REGEX_NO) {
        size_t end = window_end(&l, from, size);
        if (re->shared->literals.count)
            r = find_by_literal(&l, from, end);
        else if (re->shared->line_by_line || eol != '\n')
            r = find_line_by_line(&l, from, end);
        else
            r = find_in_lines(&l, from, end);
        from = end;
        size = size < WINDOW_MAX ? size * 2 : size;
    }
    if (r != REGEX_NO) {
        *line_start = l.start;
        *line_end = l.end;
    }
    return r;
}
