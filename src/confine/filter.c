/*
 * It is written as BPF here and not by libseccomp, because a helper's start is time that
 * somebody waits for: the library takes two to three times as long as this file for the
 * same rules.  A call through another architecture's entry kills.
 */
#include "confine/filter.h"

#include <errno.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define THIS_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_ARCH AUDIT_ARCH_AARCH64
#else
#error "the filters know the calls of x86-64 and aarch64 only"
#endif

#define X32_BIT 0x40000000u

struct program {
    struct sock_filter *code;
    size_t len;
};

static void emit(struct program *p, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
    assert(p->len < FILTER_MAX_PROGRAM);
    p->code[p->len++] = (struct sock_filter){ code, yes, no, k };
}

static void emit_load(struct program *p, size_t offset)
{
    emit(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void emit_return(struct program *p, uint32_t value)
{
    emit(p, BPF_RET | BPF_K, value, 0, 0);
}

static size_t arg_offset(unsigned arg)
{
    return offsetof(struct seccomp_data, args) + 8 * arg; /* little-endian: low half */
}

static void emit_refusal(struct program *p, const struct filter_rule *rule)
{
    emit_return(p, SECCOMP_RET_ERRNO | (rule->otherwise ? rule->otherwise : EPERM));
}

/* Go on with the next instruction when A passes the test, else refuse. */
static void emit_jump(struct program *p, const struct filter_rule *rule, uint16_t jump,
        uint32_t k, bool wanted)
{
    emit(p, BPF_JMP | BPF_K | jump, k, wanted ? 1 : 0, wanted ? 0 : 1);
    emit_refusal(p, rule);
}

/* A hit jumps over the rest and the refusal, or else to it. */
static void emit_list(struct program *p, const struct filter_rule *rule,
        const struct filter_condition *c)
{
    size_t count = 0;
    while (c->list[count])
        count++;
    if (c->value)
        emit(p, BPF_ALU | BPF_AND | BPF_K, c->value, 0, 0);
    bool is_in = c->test == TEST_IN;
    for (size_t i = 0; i < count; i++)
        emit(p, BPF_JMP | BPF_K | BPF_JEQ, c->list[i], (uint8_t)(count - i), 0);
    if (!is_in)
        emit(p, BPF_JMP | BPF_JA, 1, 0, 0);
    emit_refusal(p, rule);
}

static void emit_condition(struct program *p, const struct filter_rule *rule,
        const struct filter_condition *c)
{
    if (c->test == TEST_NONE)
        return;
    emit_load(p, arg_offset(c->arg));
    switch (c->test) {
    case TEST_ZERO:
        emit_jump(p, rule, BPF_JEQ, 0, true);
        emit_load(p, arg_offset(c->arg) + 4);
        emit_jump(p, rule, BPF_JEQ, 0, true);
        break;
    case TEST_CLEAR:
        emit_jump(p, rule, BPF_JSET, c->value, false);
        break;
    case TEST_SET:
    case TEST_NOT_BOTH:
        emit(p, BPF_ALU | BPF_AND | BPF_K, c->value, 0, 0);
        emit_jump(p, rule, BPF_JEQ, c->value, c->test == TEST_SET);
        break;
    case TEST_SELF:
        emit_jump(p, rule, BPF_JEQ, (uint32_t)getpid(), true);
        break;
    case TEST_IN:
    case TEST_NOT_IN:
        emit_list(p, rule, c);
        break;
    case TEST_UNLESS:
        emit(p, BPF_JMP | BPF_K | BPF_JSET, c->value, 1, 0);
        emit_return(p, SECCOMP_RET_ALLOW);
        break;
    case TEST_NONE:
        break;
    }
}

/* What follows for one call: its conditions, then its verdict. */
static void emit_verdict(struct program *p, const struct filter_rule *rule)
{
    for (size_t i = 0; i < ARRAY_LEN(rule->conditions); i++)
        emit_condition(p, rule, &rule->conditions[i]);
    emit_return(p, rule->refused ? SECCOMP_RET_ERRNO | rule->refused : SECCOMP_RET_ALLOW);
}

/* The numbers from the end of the range before, up to this one. */
struct range {
    unsigned end;
    const struct filter_rule *rule;
};

/* A jump as far as `skip` from the one at `at`; a conditional one has 8 bits for that. */
static void set_jump(struct program *p, size_t at, size_t skip)
{
    if (skip <= UINT8_MAX) {
        p->code[at].jt = (uint8_t)skip;
        return;
    }
    assert(p->len < FILTER_MAX_PROGRAM);
    memmove(&p->code[at + 2], &p->code[at + 1], skip * sizeof(*p->code));
    p->code[at].jf = 1;
    p->code[at + 1] = (struct sock_filter){ BPF_JMP | BPF_JA, 0, 0, (uint32_t)skip };
    p->len++;
}

/*
 * A search by halves, and not only because each call goes through here: the kernel tries
 * all numbers when the filter is installed, and with one range after the other that alone
 * is a tenth of the start of a worker.
 */
static void emit_search(struct program *p, const struct range *ranges, size_t count)
{
    if (count == 1) {
        emit_verdict(p, ranges->rule);
        return;
    }
    size_t half = count / 2, at = p->len;
    emit(p, BPF_JMP | BPF_K | BPF_JGE, ranges[half - 1].end, 0, 0);
    emit_search(p, ranges, half);
    set_jump(p, at, p->len - at - 1);
    emit_search(p, ranges + half, count - half);
}

static bool is_same_verdict(const struct filter_rule *a, const struct filter_rule *b)
{
    return a->conditions[0].test == TEST_NONE && b->conditions[0].test == TEST_NONE &&
           a->refused == b->refused;
}

static int compare_rules(const void *a, const void *b)
{
    const struct filter_rule *x = a, *y = b;
    return x->nr < y->nr ? -1 : x->nr > y->nr;
}

/*
 * All numbers in order, cut into ranges of the same verdict; gaps are ranges too.  The
 * accumulator holds the number until a range is entered, and a range never comes back.
 */
static void emit_ranges(struct program *p, const struct filter *filter)
{
    const struct filter_rule other = { .refused = filter->refused };
    static const struct filter_rule unknown = { .refused = ENOSYS };
    const struct filter_rule *rules = filter->rules;
    auto_free struct range *ranges = xcalloc(2 * filter->count + 2, sizeof(*ranges));
    size_t count = 0;
    unsigned next = 0; /* the first number that no range covers yet */
    for (size_t i = 0; i < filter->count; i++) {
        const struct filter_rule *rule = &rules[i];
        assert(rule->nr >= next); /* no call is listed twice */
        if (rule->nr > next)
            ranges[count++] = (struct range){ rule->nr, &other };
        next = rule->nr + 1;
        while (i + 1 < filter->count && rules[i + 1].nr == next &&
                is_same_verdict(rule, &rules[i + 1])) {
            next++;
            i++;
        }
        ranges[count++] = (struct range){ next, rule };
    }
    if (filter->end > next)
        ranges[count++] = (struct range){ filter->end, &other };
    ranges[count++] = (struct range){ UINT_MAX, &unknown };
    emit_search(p, ranges, count);
}

size_t filter_build(
        const struct filter *filter, struct sock_filter code[FILTER_MAX_PROGRAM])
{
    struct program p = { .code = code };
    qsort(filter->rules, filter->count, sizeof(*filter->rules), compare_rules);
    emit_load(&p, offsetof(struct seccomp_data, arch));
    emit(&p, BPF_JMP | BPF_K | BPF_JEQ, THIS_ARCH, 1, 0);
    emit_return(&p, SECCOMP_RET_KILL_PROCESS);
    emit_load(&p, offsetof(struct seccomp_data, nr));
    emit(&p, BPF_JMP | BPF_K | BPF_JGE, X32_BIT, 0, 1);
    emit_return(&p, SECCOMP_RET_KILL_PROCESS);
    emit_ranges(&p, filter);
    return p.len;
}

int filter_install(const struct filter *filter)
{
    struct sock_filter code[FILTER_MAX_PROGRAM];
    struct sock_fprog fprog = { (unsigned short)filter_build(filter, code), code };
    /* A thread made later inherits the filter. */
    unsigned flags = filter->all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0;
    long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &fprog);
    return result < 0 ? errno : result ? ESRCH : 0; /* a thread that cannot have it */
}
