/*
 * The programs that filters become, run here instruction by instruction, against what
 * their rules say: every number of a call, and arguments that each test of a condition
 * tells apart.
 */
#include "confine/filter.h"

#include "unit.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#define THIS_ARCH AUDIT_ARCH_X86_64
#else
#define THIS_ARCH AUDIT_ARCH_AARCH64
#endif

#define MAX_RULES 300

static const uint32_t few[] = { 3, 5, 0 };

static uint32_t word_at(const struct seccomp_data *call, uint32_t offset)
{
    uint32_t word;
    assert_true(offset + sizeof(word) <= sizeof(*call) && offset % sizeof(word) == 0);
    memcpy(&word, (const char *)call + offset, sizeof(word));
    return word;
}

static bool jumps(const struct sock_filter *at, uint32_t a)
{
    switch (at->code) {
    case BPF_JMP | BPF_K | BPF_JEQ:
        return a == at->k;
    case BPF_JMP | BPF_K | BPF_JGE:
        return a >= at->k;
    case BPF_JMP | BPF_K | BPF_JSET:
        return a & at->k;
    }
    fail_msg("instruction %#x", at->code);
    return false;
}

static uint32_t run(
        const struct sock_filter *code, size_t len, const struct seccomp_data *call)
{
    uint32_t a = 0;
    for (size_t at = 0; at < len; at++) {
        const struct sock_filter *one = &code[at];
        if (one->code == (BPF_RET | BPF_K))
            return one->k;
        if (one->code == (BPF_LD | BPF_W | BPF_ABS))
            a = word_at(call, one->k);
        else if (one->code == (BPF_ALU | BPF_AND | BPF_K))
            a &= one->k;
        else if (one->code == (BPF_JMP | BPF_JA))
            at += one->k;
        else
            at += jumps(one, a) ? one->jt : one->jf;
    }
    fail_msg("the program has no end");
    return 0;
}

static bool is_in(uint32_t value, const struct filter_condition *c)
{
    if (c->value)
        value &= c->value;
    return value == c->list[0] || value == c->list[1];
}

enum verdict { PASSES, FAILS, IS_ALLOWED };

static enum verdict judge(const struct filter_condition *c, uint64_t arg)
{
    uint32_t low = (uint32_t)arg;
    switch (c->test) {
    case TEST_NONE:
        return PASSES;
    case TEST_ZERO:
        return arg ? FAILS : PASSES;
    case TEST_CLEAR:
        return low & c->value ? FAILS : PASSES;
    case TEST_SET:
        return (low & c->value) == c->value ? PASSES : FAILS;
    case TEST_NOT_BOTH:
        return (low & c->value) == c->value ? FAILS : PASSES;
    case TEST_SELF:
        return low == (uint32_t)getpid() ? PASSES : FAILS;
    case TEST_IN:
        return is_in(low, c) ? PASSES : FAILS;
    case TEST_NOT_IN:
        return is_in(low, c) ? FAILS : PASSES;
    case TEST_UNLESS:
        return low & c->value ? PASSES : IS_ALLOWED;
    }
    return FAILS;
}

static uint32_t refusal(unsigned number)
{
    return number ? SECCOMP_RET_ERRNO | number : SECCOMP_RET_ALLOW;
}

/* What the rules say, looked up one after the other. */
static uint32_t expected(const struct filter *f, const struct seccomp_data *call)
{
    const struct filter_rule *rule = NULL;
    for (size_t i = 0; i < f->count; i++)
        if (f->rules[i].nr == (unsigned)call->nr)
            rule = &f->rules[i];
    if (!rule && (unsigned)call->nr >= f->end)
        return refusal(ENOSYS);
    if (!rule)
        return refusal(f->refused);
    for (size_t i = 0; i < ARRAY_LEN(rule->conditions); i++) {
        const struct filter_condition *c = &rule->conditions[i];
        enum verdict v = judge(c, call->args[c->arg]);
        if (v == IS_ALLOWED)
            return SECCOMP_RET_ALLOW;
        if (v == FAILS)
            return refusal(rule->otherwise ? rule->otherwise : EPERM);
    }
    return refusal(rule->refused);
}

static void check_call(
        const struct filter *f, const struct sock_filter *code, size_t len, unsigned nr)
{
    const uint64_t values[] = { 0, 1, 3, 4, 5, 6, 7, 0x13, 1ull << 32,
        (uint64_t)getpid() };
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        uint64_t a = values[i], b = values[(i * 7 + nr) % ARRAY_LEN(values)];
        const struct seccomp_data call = {
            .nr = (int)nr, .arch = THIS_ARCH, .args = { a, b, a, b, a, b }
        };
        uint32_t got = run(code, len, &call), wanted = expected(f, &call);
        if (got != wanted)
            fail_msg("call %u, arguments %#llx %#llx: %#x, not %#x", nr,
                    (unsigned long long)a, (unsigned long long)b, got, wanted);
    }
}

static void check(const struct filter *f)
{
    struct sock_filter code[FILTER_MAX_PROGRAM];
    size_t len = filter_build(f, code);
    for (unsigned nr = 0; nr < f->end + 20; nr++)
        check_call(f, code, len, nr);
    check_call(f, code, len, 0x3fffffff);
    const struct seccomp_data foreign = { .nr = 1, .arch = AUDIT_ARCH_I386 };
    assert_int_equal(run(code, len, &foreign), SECCOMP_RET_KILL_PROCESS);
    const struct seccomp_data x32 = { .nr = 0x40000001, .arch = THIS_ARCH };
    assert_int_equal(run(code, len, &x32), SECCOMP_RET_KILL_PROCESS);
}

static struct filter_condition some_condition(unsigned *seed)
{
    enum filter_test test = (enum filter_test)(1 + rand_r(seed) % TEST_UNLESS);
    return (struct filter_condition){ .test = test,
        .arg = (unsigned)rand_r(seed) % 6,
        .value = test == TEST_IN || test == TEST_NOT_IN ? 7u * (rand_r(seed) % 2) : 5,
        .list = few };
}

/* Rules for about one call in `every`, some of which have conditions. */
static void fill(
        struct filter *f, unsigned every, unsigned conditions_in_ten, unsigned *seed)
{
    f->count = 0;
    for (unsigned nr = f->end; nr-- && f->count < MAX_RULES;) {
        if ((unsigned)rand_r(seed) % every)
            continue;
        struct filter_rule *rule = &f->rules[f->count++];
        *rule = (struct filter_rule){ .nr = nr,
            .refused = rand_r(seed) % 2 ? 0 : ENOENT,
            .otherwise = rand_r(seed) % 2 ? 0 : EACCES };
        for (size_t i = 0; i < 2; i++)
            if ((unsigned)rand_r(seed) % 10 < conditions_in_ten)
                rule->conditions[i] = some_condition(seed);
            else
                break;
    }
}

static void test_programs(void **state UNUSED)
{
    struct filter_rule rules[MAX_RULES];
    unsigned seed = 1;
    for (int i = 0; i < 60; i++) {
        struct filter f = {
            .rules = rules, .refused = i % 2 ? EPERM : 0, .end = 20 + 10 * (unsigned)i
        };
        fill(&f, 1 + (unsigned)i % 7, i < 20 ? 4 : 1, &seed);
        check(&f);
    }
}

/* Halves that are further apart than a conditional jump can be. */
static void test_long_programs(void **state UNUSED)
{
    struct filter_rule rules[MAX_RULES];
    unsigned seed = 2;
    size_t longest = 0;
    for (int i = 0; i < 20; i++) {
        struct filter f = { .rules = rules, .refused = ENOSYS, .end = 200 };
        struct sock_filter code[FILTER_MAX_PROGRAM];
        fill(&f, 2, 6, &seed);
        size_t len = filter_build(&f, code);
        longest = len > longest ? len : longest;
        check(&f);
    }
    assert_true(longest > 600);
}

static void test_few(void **state UNUSED)
{
    struct filter_rule one = { .nr = 7, .refused = ENOENT };
    check(&(struct filter){ .rules = &one, .count = 1, .end = 10 });
    check(&(struct filter){ .rules = &one, .count = 1, .refused = EPERM, .end = 8 });
    check(&(struct filter){ .rules = &one, .count = 0, .refused = EPERM, .end = 10 });
    check(&(struct filter){ .rules = &one, .count = 0 });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs),
        cmocka_unit_test(test_long_programs),
        cmocka_unit_test(test_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
