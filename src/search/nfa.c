#include "search/nfa.h"

#include "base/utf8.h"
#include "search/program.h"

#define MAX_INSTS 100000
#define MAX_HARD  1000
#define MAX_STEPS ((uint64_t)300000000)
#define NO_CODE   UINT32_MAX /* the end, or a byte that is no character */

enum op { OP_CHAR, OP_PAIR, OP_ANY, OP_SET, OP_SPLIT, OP_ASSERT, OP_MATCH };

struct inst {
    enum op op;
    uint32_t code, other;  /* CHAR; PAIR: either of two */
    uint32_t next, second; /* second: SPLIT */
    const struct re_set *set;
    uint32_t hard; /* SET: index into `hard`, or NOT_HARD */
    enum re_assert assert;
};

#define NOT_HARD UINT32_MAX
#define WORD_SET 0

/* A set that needs character properties above ASCII.  PCRE2 is asked about single
 * characters, so that both engines agree. */
struct hard_set {
    const struct re_set *set;
    struct program *program; /* NULL until it is needed */
};

struct thread {
    uint32_t pc;
    size_t start;
};

/* A set of threads in order of age, so in order of start. */
struct threads {
    struct thread *items;
    uint32_t *where; /* by pc, into items; only believed if items agrees */
    size_t count;
};

struct nfa {
    const struct re_tree *tree;
    struct inst *insts;
    size_t count, cap;
    struct hard_set *hard; /* the first is \w */
    size_t hard_count, hard_cap;
    unsigned visits; /* nodes built, counting each copy */
    bool too_big;
    struct threads now, next;
    uint32_t *stack; /* of the closure */
};

static uint32_t add_inst(struct nfa *nfa, enum op op)
{
    if (nfa->count >= MAX_INSTS) {
        nfa->too_big = true;
        return 0;
    }
    GROW(nfa->insts, nfa->count, nfa->cap);
    nfa->insts[nfa->count] = (struct inst){ .op = op, .next = (uint32_t)nfa->count + 1 };
    return (uint32_t)nfa->count++;
}

static uint32_t hard_set(struct nfa *nfa, const struct re_set *set)
{
    for (size_t i = nfa->hard_count; i-- > 0;)
        if (nfa->hard[i].set == set)
            return (uint32_t)i;
    nfa->too_big |= nfa->hard_count >= MAX_HARD;
    GROW(nfa->hard, nfa->hard_count, nfa->hard_cap);
    nfa->hard[nfa->hard_count] = (struct hard_set){ .set = set };
    return (uint32_t)nfa->hard_count++;
}

static void build_set(struct nfa *nfa, const struct re_set *set)
{
    uint32_t at = add_inst(nfa, OP_SET);
    nfa->insts[at].set = set;
    nfa->insts[at].hard = set->classes || set->fold ? hard_set(nfa, set) : NOT_HARD;
}

static void build_char(struct nfa *nfa, uint32_t code)
{
    bool letter = (code | 32) >= 'a' && (code | 32) <= 'z' && code < 128;
    if (!(nfa->tree->flags & REGEX_FOLD) || (code < 128 && !letter) || code >= RE_RAW) {
        uint32_t at = add_inst(nfa, OP_CHAR);
        nfa->insts[at].code = code;
        return;
    }
    if (letter && (nfa->tree->bytes || !strchr("kKsS", (int)code))) {
        uint32_t at = add_inst(nfa, OP_PAIR);
        nfa->insts[at].code = code;
        nfa->insts[at].other = code ^ 32;
        return;
    }
    struct re_set *set = arena_zalloc(nfa->tree->arena, sizeof(*set));
    set->fold = true;
    re_set_add(set, nfa->tree->arena, code, code);
    re_set_finish(set, nfa->tree->arena, nfa->tree->bytes);
    build_set(nfa, set);
}

static void build(struct nfa *nfa, const struct re_node *n);

/* x{min,max}: min copies, then a loop or optional copies. */
static void build_loop(struct nfa *nfa, const struct re_node *n)
{
    const struct re_node *body = n->items[0];
    for (int i = 0; i < n->min && !nfa->too_big; i++)
        build(nfa, body);
    if (n->max == RE_REPEAT) {
        uint32_t split = add_inst(nfa, OP_SPLIT);
        build(nfa, body);
        uint32_t back = add_inst(nfa, OP_SPLIT);
        if (nfa->too_big)
            return;
        nfa->insts[back].next = nfa->insts[back].second = split;
        nfa->insts[split].second = (uint32_t)nfa->count;
        return;
    }
    size_t first = nfa->count;
    auto_free uint32_t *splits = NULL;
    size_t count = 0, cap = 0;
    for (int i = n->min; i < n->max && !nfa->too_big; i++) {
        GROW(splits, count, cap);
        splits[count++] = add_inst(nfa, OP_SPLIT);
        build(nfa, body);
        if (nfa->count == first + count)
            break; /* the body is empty */
    }
    for (size_t i = 0; i < count && !nfa->too_big; i++)
        nfa->insts[splits[i]].second = (uint32_t)nfa->count;
}

static void build_alternatives(struct nfa *nfa, const struct re_node *n)
{
    auto_free uint32_t *jumps = xcalloc(n->count, sizeof(*jumps));
    for (size_t i = 0; i < n->count && !nfa->too_big; i++) {
        uint32_t split = add_inst(nfa, OP_SPLIT);
        build(nfa, n->items[i]);
        jumps[i] = add_inst(nfa, OP_SPLIT);
        bool last = i + 1 == n->count;
        nfa->insts[split].second = last ? split + 1 : (uint32_t)nfa->count;
    }
    for (size_t i = 0; i < n->count && !nfa->too_big; i++)
        nfa->insts[jumps[i]].next = nfa->insts[jumps[i]].second = (uint32_t)nfa->count;
}

static void build(struct nfa *nfa, const struct re_node *n)
{
    uint32_t at;
    nfa->too_big |= ++nfa->visits > 10 * MAX_INSTS;
    switch (n->type) {
    case RE_EMPTY:
        break;
    case RE_CHAR:
        build_char(nfa, n->code);
        break;
    case RE_ANY:
        add_inst(nfa, OP_ANY);
        break;
    case RE_SET:
        build_set(nfa, n->set);
        break;
    case RE_CAT:
    case RE_GROUP:
        for (size_t i = 0; i < n->count && !nfa->too_big; i++)
            build(nfa, n->items[i]);
        break;
    case RE_ALT:
        build_alternatives(nfa, n);
        break;
    case RE_LOOP:
        build_loop(nfa, n);
        break;
    case RE_BACKREF:
        nfa->too_big = true;
        break;
    case RE_ASSERT:
        at = add_inst(nfa, OP_ASSERT);
        nfa->insts[at].assert = n->assert;
        break;
    }
}

static void make_scratch(struct nfa *nfa)
{
    struct threads *lists[] = { &nfa->now, &nfa->next };
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        lists[i]->items = xcalloc(nfa->count, sizeof(*lists[i]->items));
        lists[i]->where = xcalloc(nfa->count, sizeof(*lists[i]->where));
    }
    nfa->stack = xcalloc(2 * nfa->count + 2, sizeof(*nfa->stack));
}

struct nfa *nfa_create(const struct re_tree *tree)
{
    struct nfa *nfa = xcalloc(1, sizeof(*nfa));
    nfa->tree = tree;
    hard_set(nfa, re_set_word(tree->arena, false, tree));
    build(nfa, tree->root);
    add_inst(nfa, OP_MATCH);
    if (nfa->too_big || tree->has_backrefs) {
        nfa_destroy(nfa);
        return NULL;
    }
    make_scratch(nfa);
    return nfa;
}

struct nfa *nfa_copy(const struct nfa *nfa)
{
    struct nfa *copy = xcalloc(1, sizeof(*copy));
    copy->tree = nfa->tree;
    copy->count = copy->cap = nfa->count;
    copy->insts = xcalloc(nfa->count, sizeof(*copy->insts));
    memcpy(copy->insts, nfa->insts, nfa->count * sizeof(*copy->insts));
    copy->hard_count = copy->hard_cap = nfa->hard_count;
    copy->hard = xcalloc(nfa->hard_count, sizeof(*copy->hard));
    for (size_t i = 0; i < nfa->hard_count; i++)
        copy->hard[i].set = nfa->hard[i].set;
    make_scratch(copy);
    return copy;
}

static void finish_threads(struct threads *t)
{
    free(t->items);
    free(t->where);
}

void nfa_destroy(struct nfa *nfa)
{
    if (!nfa)
        return;
    for (size_t i = 0; i < nfa->hard_count; i++)
        program_destroy(nfa->hard[i].program);
    free(nfa->hard);
    finish_threads(&nfa->now);
    finish_threads(&nfa->next);
    free(nfa->insts);
    free(nfa->stack);
    free(nfa);
}

struct run {
    struct nfa *nfa;
    struct str subject;
    bool not_bol;
    size_t pos;
    size_t len;    /* of the character at pos; 0: the end */
    uint32_t code; /* NO_CODE: none */
    uint64_t steps;
};

static void read_char(struct run *r)
{
    if (r->pos >= r->subject.len) {
        r->len = 0;
        r->code = NO_CODE;
        return;
    }
    unsigned char byte = (unsigned char)r->subject.data[r->pos];
    r->len = 1;
    if (byte < 128)
        r->code = byte;
    else if (r->nfa->tree->bytes)
        r->code = RE_RAW + byte;
    else {
        size_t len = utf8_decode(str_from(r->subject, r->pos), &r->code);
        if (len)
            r->len = len;
        else
            r->code = NO_CODE;
    }
}

static struct program *set_program(const struct re_set *set)
{
    struct program *p = NULL;
    struct error err;
    auto_buf text = BUF((size_t)1 << 20);
    re_emit_set(set, true, &text);
    enum program_flags fold = set->fold ? PROGRAM_FOLD : 0;
    bool ok = !text.full &&
              program_create(buf_str(&text), PROGRAM_UTF | PROGRAM_UCP | fold, &p, &err);
    return ok ? p : NULL;
}

static bool hard_set_has(struct nfa *nfa, uint32_t hard, uint32_t code)
{
    char bytes[4];
    const size_t *ovector;
    size_t groups;
    struct hard_set *h = &nfa->hard[hard];
    struct str text = { bytes, utf8_write(code, bytes) };
    if (!h->program)
        h->program = set_program(h->set);
    return h->program &&
           program_match(h->program, text, 0, 0, &ovector, &groups) == REGEX_YES;
}

static bool set_has(struct nfa *nfa, const struct inst *in, uint32_t code)
{
    if (code < 128)
        return re_set_has_byte(in->set, (unsigned char)code);
    if (code >= RE_RAW)
        return re_set_has_byte(in->set, (unsigned char)(code - RE_RAW));
    if (in->hard != NOT_HARD)
        return hard_set_has(nfa, in->hard, code);
    for (size_t i = 0; i < in->set->count; i++)
        if (code >= in->set->ranges[i].low && code <= in->set->ranges[i].high)
            return !in->set->negated;
    return in->set->negated;
}

static bool is_word_byte(unsigned char c)
{
    return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static bool is_word(struct nfa *nfa, uint32_t code)
{
    if (code < 128)
        return is_word_byte((unsigned char)code);
    if (code >= RE_RAW)
        return false;
    return hard_set_has(nfa, WORD_SET, code);
}

static bool is_word_before(const struct run *r)
{
    if (!r->pos)
        return false;
    unsigned char byte = (unsigned char)r->subject.data[r->pos - 1];
    if (byte < 128 || r->nfa->tree->bytes)
        return byte < 128 && is_word_byte(byte);
    size_t from = r->pos - 1;
    while (from && r->pos - from < 4 &&
            ((unsigned char)r->subject.data[from] & 0xC0) == 0x80)
        from--;
    uint32_t code;
    size_t len = utf8_decode(str_sub(r->subject, from, r->pos - from), &code);
    return len == r->pos - from && is_word(r->nfa, code);
}

static bool assertion_holds(const struct run *r, enum re_assert kind)
{
    bool lines = r->nfa->tree->flags & REGEX_NEWLINE;
    bool at_end = r->pos == r->subject.len;
    switch (kind) {
    case ASSERT_LINE_START:
        return r->pos ? lines && r->subject.data[r->pos - 1] == '\n' : !r->not_bol;
    case ASSERT_LINE_END:
        return at_end || (lines && r->code == '\n');
    case ASSERT_BUFFER_START:
        return !r->pos;
    case ASSERT_BUFFER_END:
        return at_end;
    case ASSERT_WORD_EDGE:
        return is_word_before(r) != is_word(r->nfa, r->code);
    case ASSERT_NOT_WORD_EDGE:
        return is_word_before(r) == is_word(r->nfa, r->code);
    case ASSERT_WORD_START:
        return !is_word_before(r) && is_word(r->nfa, r->code);
    case ASSERT_WORD_END:
        return is_word_before(r) && !is_word(r->nfa, r->code);
    case ASSERT_NOT_AFTER_WORD:
        return !is_word_before(r);
    case ASSERT_NOT_BEFORE_WORD:
        return !is_word(r->nfa, r->code);
    }
    return false;
}

static bool threads_have(const struct threads *t, uint32_t pc)
{
    return t->where[pc] < t->count && t->items[t->where[pc]].pc == pc;
}

/* Add `pc` and all that is reached from it without a character. */
static void follow(struct run *r, struct threads *t, uint32_t pc, size_t start)
{
    uint32_t *stack = r->nfa->stack;
    size_t depth = 0;
    stack[depth++] = pc;
    while (depth) {
        pc = stack[--depth];
        if (threads_have(t, pc))
            continue;
        t->where[pc] = (uint32_t)t->count;
        t->items[t->count++] = (struct thread){ pc, start };
        const struct inst *in = &r->nfa->insts[pc];
        r->steps++;
        if (in->op == OP_SPLIT) {
            stack[depth++] = in->second;
            stack[depth++] = in->next;
        } else if (in->op == OP_ASSERT && assertion_holds(r, in->assert))
            stack[depth++] = in->next;
    }
}

static bool takes(const struct run *r, const struct inst *in)
{
    if (r->code == NO_CODE)
        return false;
    switch (in->op) {
    case OP_CHAR:
        return r->code == in->code;
    case OP_PAIR:
        return r->code == in->code || r->code == in->other;
    case OP_ANY:
        return r->code != '\n' || !(r->nfa->tree->flags & REGEX_NEWLINE);
    case OP_SET:
        return set_has(r->nfa, in, r->code);
    case OP_SPLIT:
    case OP_ASSERT:
    case OP_MATCH:
        break;
    }
    return false;
}

/* The oldest thread that has matched here wins over all that started later. */
static bool note_match(const struct threads *t, struct nfa *nfa, size_t pos,
        size_t *start, size_t *end, bool found)
{
    for (size_t i = 0; i < t->count; i++)
        if (nfa->insts[t->items[i].pc].op == OP_MATCH &&
                (!found || t->items[i].start <= *start)) {
            *start = t->items[i].start;
            *end = pos;
            return true;
        }
    return found;
}

enum regex_result nfa_match(struct nfa *nfa, struct str subject, size_t from,
        bool not_bol, bool anchored, size_t *start, size_t *end)
{
    struct run r = { .nfa = nfa, .subject = subject, .not_bol = not_bol, .pos = from };
    struct threads *now = &nfa->now, *next = &nfa->next;
    bool found = false;
    now->count = 0;
    read_char(&r);
    for (;;) {
        if (!found && (!anchored || r.pos == from))
            follow(&r, now, 0, r.pos);
        found = note_match(now, nfa, r.pos, start, end, found);
        if (!r.len || (!now->count && (found || anchored)))
            break;
        if (r.steps > MAX_STEPS)
            return REGEX_LIMIT;
        struct run here = r;
        r.pos += r.len;
        read_char(&r);
        next->count = 0;
        for (size_t i = 0; i < now->count; i++) {
            struct thread t = now->items[i];
            if ((!found || t.start <= *start) && takes(&here, &nfa->insts[t.pc]))
                follow(&r, next, nfa->insts[t.pc].next, t.start);
        }
        struct threads *swap = now;
        now = next;
        next = swap;
    }
    return found ? REGEX_YES : REGEX_NO;
}
