/* [[ ]]: the tree is made by the parser; what it shares with `test` is file_test(). */
#include "search/regex.h"
#include "shell/exec.h"
#include "shell/expand.h"
#include "shell/filetest.h"
#include "shell/parse.h"
#include "shell/pattern.h"

enum answer { NO, YES, FAILED };

static enum answer yes_if(bool cond)
{
    return cond ? YES : NO;
}

static void trace_binary(struct shell *sh, const struct cond *c, bool negated,
        struct str left, struct str right)
{
    if (UNLIKELY(sh->set & SET_XTRACE))
        xtrace_cond(sh, negated, left, cond_operator_name(c->op), right);
}

static enum answer match_pattern(
        struct shell *sh, const struct cond *c, struct str left, bool negated)
{
    struct str pattern;
    if (!expand_pattern(sh, c->right, sh->arena, &pattern))
        return FAILED;
    trace_binary(sh, c, negated, left, pattern);
    enum pattern_flags flags = PATTERN_EXTGLOB;
    if (sh->shopt & SHOPT_NOCASEMATCH)
        flags |= PATTERN_FOLD;
    return yes_if(pattern_match(pattern, left, flags) == (c->op == COND_EQ));
}

/* BASH_REMATCH from the last match, or empty. */
static bool set_rematch(struct shell *sh, struct str text, const struct regex_match *m)
{
    struct error err;
    struct str name = STR("BASH_REMATCH");
    if (!vars_clear_array(sh->vars, name, false, &err))
        return false;
    for (size_t i = 0; m && i < m->groups; i++) {
        struct str group = { "", 0 };
        if (m->start[i] >= 0)
            group = str_sub(text, (size_t)m->start[i], (size_t)(m->end[i] - m->start[i]));
        if (!vars_set_index(sh->vars, name, (int64_t)i, group, &err))
            return false;
    }
    return true;
}

/* Of the last =~ of this shell: in a loop the next one is the same. */
struct last_regex {
    struct buf text;
    enum regex_flags flags;
    struct regex *regex; /* NULL: there is none */
};

void cond_forget_regex(struct shell *sh)
{
    if (!sh->last_regex)
        return;
    regex_destroy(sh->last_regex->regex);
    buf_finish(&sh->last_regex->text);
    free(TAKE(sh->last_regex));
}

/* NULL was reported. */
static struct regex *compile(struct shell *sh, struct str pattern)
{
    struct last_regex *last = sh->last_regex;
    struct error err;
    enum regex_flags flags = sh->shopt & SHOPT_NOCASEMATCH ? REGEX_FOLD : 0;
    if (last && last->flags == flags && str_eq(buf_str(&last->text), pattern))
        return last->regex;
    struct regex *re;
    if (!regex_compile(pattern, REGEX_EXTENDED, flags, &re, &err)) {
        shell_err(sh, "[[: invalid regular expression `%.*s': %s", STR_ARG(pattern),
                err.message);
        return NULL;
    }
    cond_forget_regex(sh);
    last = sh->last_regex = xcalloc(1, sizeof(*last));
    *last = (struct last_regex){ .text = BUF(pattern.len), .flags = flags, .regex = re };
    buf_add(&last->text, pattern);
    return re;
}

static enum answer match_regex(
        struct shell *sh, const struct cond *c, struct str left, bool negated)
{
    struct str pattern;
    if (!expand_regex(sh, c->right, sh->arena, &pattern))
        return FAILED;
    trace_binary(sh, c, negated, left, pattern);
    struct regex *re = compile(sh, pattern);
    if (!re)
        return FAILED;
    struct regex_match m;
    enum regex_result result = regex_search(re, left, 0, false, &m);
    bool ok = set_rematch(sh, left, result == REGEX_YES ? &m : NULL);
    if (result == REGEX_LIMIT)
        shell_err(sh, "[[: `%.*s': the match was given up (too much backtracking)",
                STR_ARG(pattern));
    return result == REGEX_LIMIT || !ok ? FAILED : yes_if(result == REGEX_YES);
}

static bool compare_numbers(enum cond_op op, int64_t a, int64_t b)
{
    switch (op) {
    case COND_NUM_EQ:
        return a == b;
    case COND_NUM_NE:
        return a != b;
    case COND_NUM_LT:
        return a < b;
    case COND_NUM_LE:
        return a <= b;
    case COND_NUM_GT:
        return a > b;
    case COND_NUM_GE:
        return a >= b;
    case COND_EQ:
    case COND_NE:
    case COND_MATCH:
    case COND_LESS:
    case COND_GREATER:
    case COND_NEWER:
    case COND_OLDER:
    case COND_SAME:
        break;
    }
    return false;
}

static bool trace_numbers(struct shell *sh, const struct cond *c, bool negated)
{
    struct str left = c->left->source, right = c->right->source;
    if ((exec_is_pure(c->left) && !expand_string(sh, c->left, sh->arena, &left)) ||
            (exec_is_pure(c->right) && !expand_string(sh, c->right, sh->arena, &right)))
        return false;
    trace_binary(sh, c, negated, left, right);
    return true;
}

static enum answer eval_numbers(struct shell *sh, const struct cond *c, bool negated)
{
    int64_t a, b;
    if (UNLIKELY(sh->set & SET_XTRACE) && !trace_numbers(sh, c, negated))
        return FAILED;
    if (!expand_arith_in(sh, c->left_arith, "[[: ", &a) ||
            !expand_arith_in(sh, c->right_arith, "[[: ", &b))
        return sh->flow == FLOW_NONE ? NO : FAILED;
    return yes_if(compare_numbers(c->op, a, b));
}

static enum answer eval_binary(struct shell *sh, const struct cond *c, bool negated)
{
    if (c->op >= COND_NUM_EQ && c->op <= COND_NUM_GE)
        return eval_numbers(sh, c, negated);
    struct str left, right;
    if (!expand_string(sh, c->left, sh->arena, &left))
        return FAILED;
    if (c->op == COND_EQ || c->op == COND_NE)
        return match_pattern(sh, c, left, negated);
    if (c->op == COND_MATCH)
        return match_regex(sh, c, left, negated);
    if (!expand_string(sh, c->right, sh->arena, &right))
        return FAILED;
    trace_binary(sh, c, negated, left, right);
    if (c->op == COND_LESS)
        return yes_if(str_cmp(left, right) < 0);
    if (c->op == COND_GREATER)
        return yes_if(str_cmp(left, right) > 0);
    return yes_if(filetest_pair(sh, c->op, left, right));
}

static enum answer eval_unary(struct shell *sh, const struct cond *c, bool negated)
{
    struct str text;
    if (!expand_string(sh, c->left, sh->arena, &text))
        return FAILED;
    char op[] = { '-', (char)c->op, 0 };
    if (UNLIKELY(sh->set & SET_XTRACE))
        xtrace_cond(sh, negated, text, op, (struct str){ 0 });
    return yes_if(filetest_unary(sh, (char)c->op, text));
}

static enum answer eval(struct shell *sh, const struct cond *c, bool negated)
{
    switch (c->type) {
    case COND_WORD: {
        struct str text;
        if (!expand_string(sh, c->left, sh->arena, &text))
            return FAILED;
        if (UNLIKELY(sh->set & SET_XTRACE))
            xtrace_cond(sh, negated, text, "-n", (struct str){ 0 });
        return yes_if(text.len != 0);
    }
    case COND_UNARY:
        return eval_unary(sh, c, negated);
    case COND_BINARY:
        return eval_binary(sh, c, negated);
    case COND_NOT: {
        enum answer a = eval(sh, c->a, true);
        return a == FAILED ? FAILED : yes_if(a == NO);
    }
    case COND_AND: {
        enum answer a = eval(sh, c->a, false);
        return a == YES ? eval(sh, c->b, false) : a;
    }
    case COND_OR: {
        enum answer a = eval(sh, c->a, false);
        return a == NO ? eval(sh, c->b, false) : a;
    }
    }
    return FAILED;
}

int exec_cond(struct shell *sh, const struct node *n)
{
    exec_position(sh, n, n->source);
    if (trap_is_set(sh, TRAP_DEBUG))
        trap_run(sh, TRAP_DEBUG);
    struct arena_mark mark = arena_mark(sh->arena);
    enum answer a = eval(sh, n->cond, false);
    arena_rewind(sh->arena, mark);
    if (a == FAILED && sh->flow != FLOW_NONE)
        return sh->status;
    static const int statuses[] = { [NO] = 1, [YES] = 0, [FAILED] = 2 };
    exec_set_pipe_status(sh, statuses[a]);
    return exec_finish(sh, statuses[a]);
}
