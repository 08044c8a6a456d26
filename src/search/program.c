#define PCRE2_CODE_UNIT_WIDTH 8
#include "search/program.h"

#include "search/tree.h"

#include <pcre2.h>
#include <stdatomic.h>

#define JIT_AFTER_BYTES 20000 /* searched: then compiling it has paid */
#define JIT_STACK_START ((size_t)32 << 10)
#define JIT_STACK_MAX   ((size_t)1 << 20)
#define HEAP_LIMIT_KIB  16384
#define MATCH_LIMIT     200000
#define PERL_LIMIT      5000000 /* Perl patterns have nothing to fall back on */

struct code {
    pcre2_code *re;
    atomic_uint refs;
    bool jit_tried, jit;
};

struct program {
    struct code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack; /* NULL until there is JIT code */
    size_t searched;        /* bytes, up to JIT_AFTER_BYTES */
    size_t wanted_end;      /* PROGRAM_EXACT */
    enum program_flags flags;
};

static uint32_t compile_options(enum program_flags flags)
{
    uint32_t options = PCRE2_NEVER_BACKSLASH_C;
    if (flags & PROGRAM_UTF)
        options |= PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
    else
        options |= PCRE2_NEVER_UTF;
    if (flags & PROGRAM_UCP)
        options |= PCRE2_UCP;
    if (flags & PROGRAM_FOLD)
        options |= PCRE2_CASELESS;
    if (flags & PROGRAM_LINES)
        options |= PCRE2_MULTILINE;
    else if (!(flags & PROGRAM_PERL))
        options |= PCRE2_DOLLAR_ENDONLY | PCRE2_DOTALL;
    return options;
}

/* The end of the pattern was reached: is it where the match must end? */
static int check_end(pcre2_callout_block *block, void *user)
{
    const struct program *p = user;
    return block->current_position == p->wanted_end ? 0 : 1;
}

static struct program *make_program(struct code *code, enum program_flags flags)
{
    struct program *p = xcalloc(1, sizeof(*p));
    p->code = code;
    p->flags = flags;
    p->context = pcre2_match_context_create(NULL);
    p->data = pcre2_match_data_create_from_pattern(code->re, NULL);
    if (!p->context || !p->data)
        abort();
    pcre2_set_match_limit(p->context, flags & PROGRAM_PERL ? PERL_LIMIT : MATCH_LIMIT);
    pcre2_set_heap_limit(p->context, HEAP_LIMIT_KIB);
    if (flags & PROGRAM_EXACT)
        pcre2_set_callout(p->context, check_end, p);
    return p;
}

static bool report(int code, struct error *err)
{
    PCRE2_UCHAR text[256];
    pcre2_get_error_message(code, text, sizeof(text));
    return error_set(err, ERR_INVALID, "%s", (const char *)text);
}

bool program_create(struct str pattern, enum program_flags flags, struct program **out,
        struct error *err)
{
    int code;
    size_t offset;
    auto_buf exact = BUF((size_t)16 << 20);
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (!context)
        abort();
    pcre2_set_parens_nest_limit(context, 2 * RE_MAX_DEPTH);
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    if (flags & PROGRAM_EXACT) {
        buf_add(&exact, STR("(?:"));
        buf_add(&exact, pattern);
        buf_add(&exact, STR(")(?C1)"));
        pattern = buf_str(&exact);
    }
    pcre2_code *re = pcre2_compile((PCRE2_SPTR)pattern.data, pattern.len,
            compile_options(flags), &code, &offset, context);
    pcre2_compile_context_free(context);
    if (!re)
        return report(code, err);
    struct code *shared = xcalloc(1, sizeof(*shared));
    shared->re = re;
    shared->refs = 1;
    *out = make_program(shared, flags);
    return true;
}

void program_destroy(struct program *p)
{
    if (!p)
        return;
    pcre2_match_data_free(p->data);
    pcre2_match_context_free(p->context);
    pcre2_jit_stack_free(p->stack);
    if (atomic_fetch_sub(&p->code->refs, 1) == 1) {
        pcre2_code_free(p->code->re);
        free(p->code);
    }
    free(p);
}

static void use_jit(struct program *p)
{
    struct code *code = p->code;
    if (!code->jit_tried) {
        code->jit = !pcre2_jit_compile(code->re, PCRE2_JIT_COMPLETE);
        code->jit_tried = true;
    }
    if (!code->jit || p->stack)
        return;
    p->stack = pcre2_jit_stack_create(JIT_STACK_START, JIT_STACK_MAX, NULL);
    if (p->stack)
        pcre2_jit_stack_assign(p->context, NULL, p->stack);
}

struct program *program_copy(struct program *p)
{
    use_jit(p);
    atomic_fetch_add(&p->code->refs, 1);
    struct program *copy = make_program(p->code, p->flags);
    copy->searched = JIT_AFTER_BYTES;
    use_jit(copy);
    return copy;
}

/* A start inside a character is one that no match can have. */
static enum regex_result result_of(int code)
{
    if (code >= 0)
        return REGEX_YES;
    return code == PCRE2_ERROR_NOMATCH ? REGEX_NO : REGEX_LIMIT;
}

enum regex_result program_match(struct program *p, struct str subject, size_t from,
        enum program_match_flags flags, const size_t **ovector, size_t *groups)
{
    PCRE2_SPTR text = (PCRE2_SPTR)(subject.data ? subject.data : "");
    uint32_t options = flags & PROGRAM_NOT_BOL ? PCRE2_NOTBOL : 0;
    int code;
    if (p->searched < JIT_AFTER_BYTES) {
        size_t more = subject.len - from + 100;
        p->searched = more > JIT_AFTER_BYTES ? JIT_AFTER_BYTES : p->searched + more;
        if (p->searched >= JIT_AFTER_BYTES)
            use_jit(p);
    }
    if (flags & PROGRAM_ANCHORED)
        options |= PCRE2_ANCHORED;
    if (p->stack && !(flags & PROGRAM_ANCHORED))
        code = pcre2_jit_match(
                p->code->re, text, subject.len, from, options, p->data, p->context);
    else
        code = pcre2_match(
                p->code->re, text, subject.len, from, options, p->data, p->context);
    *ovector = pcre2_get_ovector_pointer(p->data);
    *groups = code > 0 ? (size_t)code : 0;
    return result_of(code);
}

enum regex_result program_match_exactly(struct program *p, struct str subject,
        size_t from, size_t end, enum program_match_flags flags, const size_t **ovector,
        size_t *groups)
{
    p->wanted_end = end;
    return program_match(p, subject, from, flags | PROGRAM_ANCHORED, ovector, groups);
}

size_t program_groups(const struct program *p)
{
    uint32_t count = 0;
    pcre2_pattern_info(p->code->re, PCRE2_INFO_CAPTURECOUNT, &count);
    return count;
}
