#define PCRE2_CODE_UNIT_WIDTH 8
#include "policy/pyre/pyre.h"

#include "base/utf8.h"

#include <pcre2.h>

#define MAX_TEXT        ((size_t)1 << 20) /* given to PCRE2 */
#define MAX_SUBJECT     ((size_t)64 << 20)
#define MAX_NESTING     1000 /* a group of Python's becomes one, a set up to three */
#define MATCH_LIMIT     1000000
#define DEPTH_LIMIT     100000
#define HEAP_LIMIT_KIB  16384
#define JIT_AFTER_BYTES 20000 /* searched: then compiling it has paid */

enum { HOWS = PYRE_FULLMATCH + 1 };

struct program {
    pcre2_code *code; /* NULL until needed */
    size_t searched;
    bool jit;
};

struct pyre {
    struct buf text; /* translated */
    enum pyre_flags flags;
    struct program programs[HOWS];
    pcre2_match_data *data;
    pcre2_match_context *context;
};

static uint32_t compile_options(enum pyre_flags flags, enum pyre_how how)
{
    uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C;
    if (flags & PYRE_FOLD)
        options |= PCRE2_CASELESS;
    if (how != PYRE_SEARCH)
        options |= PCRE2_ANCHORED;
    if (how == PYRE_FULLMATCH)
        options |= PCRE2_ENDANCHORED;
    return options;
}

static bool compile(struct pyre *p, enum pyre_how how, struct error *err)
{
    int code;
    size_t offset;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    if (!context)
        abort();
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(context, MAX_NESTING);
    p->programs[how].code = pcre2_compile((PCRE2_SPTR)buf_str(&p->text).data, p->text.len,
            compile_options(p->flags, how), &code, &offset, context);
    pcre2_compile_context_free(context);
    if (p->programs[how].code)
        return true;
    PCRE2_UCHAR message[256];
    pcre2_get_error_message(code, message, sizeof(message));
    return error_set(err, ERR_INVALID, "unsupported: %s", (const char *)message);
}

static struct pyre *create_empty(enum pyre_flags flags)
{
    struct pyre *p = xcalloc(1, sizeof(*p));
    p->text = BUF(MAX_TEXT);
    p->flags = flags;
    p->data = pcre2_match_data_create(1, NULL);
    p->context = pcre2_match_context_create(NULL);
    if (!p->data || !p->context)
        abort();
    pcre2_set_match_limit(p->context, MATCH_LIMIT);
    pcre2_set_depth_limit(p->context, DEPTH_LIMIT);
    pcre2_set_heap_limit(p->context, HEAP_LIMIT_KIB);
    return p;
}

bool pyre_create(
        struct str text, enum pyre_flags flags, struct pyre **out, struct error *err)
{
    struct pyre *p = create_empty(flags);
    if (!pyre_translate(text, flags, &p->text, err) || !compile(p, PYRE_SEARCH, err)) {
        pyre_destroy(p);
        return false;
    }
    *out = p;
    return true;
}

void pyre_destroy(struct pyre *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < HOWS; i++)
        pcre2_code_free(p->programs[i].code);
    pcre2_match_data_free(p->data);
    pcre2_match_context_free(p->context);
    buf_finish(&p->text);
    free(p);
}

static void use_jit(struct program *program, size_t bytes)
{
    if (program->jit)
        return;
    program->searched += bytes + 100;
    program->jit = program->searched >= JIT_AFTER_BYTES;
    if (program->jit) /* where there is none, matching goes on without it */
        pcre2_jit_compile(program->code, PCRE2_JIT_COMPLETE);
}

static enum pyre_result run(struct pyre *p, struct program *program, struct str subject)
{
    PCRE2_SPTR text = (PCRE2_SPTR)(subject.data ? subject.data : "");
    uint32_t options = PCRE2_NO_UTF_CHECK;
    int code = pcre2_match(
            program->code, text, subject.len, 0, options, p->data, p->context);
    if (code == PCRE2_ERROR_JIT_STACKLIMIT) /* the interpreter takes it from the heap */
        code = pcre2_match(program->code, text, subject.len, 0, options | PCRE2_NO_JIT,
                p->data, p->context);
    if (code >= 0)
        return PYRE_YES;
    return code == PCRE2_ERROR_NOMATCH ? PYRE_NO : PYRE_LIMIT;
}

enum pyre_result pyre_match(struct pyre *p, enum pyre_how how, struct str subject)
{
    struct program *program = &p->programs[how];
    struct error err;
    if (subject.len > MAX_SUBJECT || (!program->code && !compile(p, how, &err)))
        return PYRE_LIMIT;
    use_jit(program, subject.len);
    if (utf8_valid(subject))
        return run(p, program, subject);
    auto_buf repaired = BUF(3 * MAX_SUBJECT);
    utf8_repair(subject, &repaired);
    return run(p, program, buf_str(&repaired));
}
