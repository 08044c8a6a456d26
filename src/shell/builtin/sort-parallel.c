/* Sorting in memory by two threads: each sorts a half, then the halves are merged. */
#include "shell/builtin/sort.h"

#include <pthread.h>
#include <signal.h>

#define MIN_LINES ((size_t)50000) /* below this a thread costs more than it saves */

/* One half, with a command and a budget of its own: nothing of the shell is shared but
 * the flag that the alarm sets. */
struct half {
    struct cmd c;
    struct budget budget;
    const struct sort_rule *rule;
    struct sort_line *lines, *scratch;
    size_t count;
    bool ok;
};

static void *sort_half(void *arg)
{
    struct half *h = arg;
    h->ok = sort_lines(&h->c, h->rule, h->lines, h->scratch, h->count);
    return NULL;
}

/* Signals are for the thread that runs the command. */
static bool start(struct half *h, pthread_t *thread)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool started = !pthread_create(thread, NULL, sort_half, h);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return started;
}

/* What the other thread spent is spent here too. */
static void settle(struct cmd *c, const struct half *h, uint64_t steps_before)
{
    uint64_t spent = steps_before - h->budget.steps;
    c->budget->steps -= spent < c->budget->steps ? spent : c->budget->steps;
    if (h->budget.stop != BUDGET_OK)
        budget_stop(c->budget, h->budget.stop);
}

static bool merge(struct cmd *c, const struct sort_rule *rule, struct sort_line *lines,
        struct sort_line *scratch, size_t middle, size_t count)
{
    size_t a = 0, b = middle, to = 0;
    while (a < middle && b < count) {
        if (!(to & 4095) && !budget_spend(c->budget, 64))
            return false;
        bool first = lines[a].prefix != lines[b].prefix
                             ? lines[a].prefix < lines[b].prefix
                             : sort_compare(rule, &lines[a], &lines[b]) <= 0;
        scratch[to++] = first ? lines[a++] : lines[b++];
    }
    memcpy(scratch + to, lines + a, (middle - a) * sizeof(*lines));
    to += middle - a;
    memcpy(scratch + to, lines + b, (count - b) * sizeof(*lines));
    memcpy(lines, scratch, count * sizeof(*lines));
    return true;
}

bool sort_lines_parallel(struct cmd *c, const struct sort_rule *rule,
        struct sort_line *lines, struct sort_line *scratch, size_t count)
{
    size_t middle = count / 2;
    struct half h = { .c = *c,
        .budget = *c->budget,
        .rule = rule,
        .lines = lines + middle,
        .scratch = scratch + middle,
        .count = count - middle };
    h.c.budget = &h.budget;
    uint64_t steps = h.budget.steps;
    pthread_t thread;
    /* A nested budget takes its steps from the one around it, which two cannot do at
     * once. */
    if (count < MIN_LINES || c->budget->outer || !start(&h, &thread))
        return sort_lines(c, rule, lines, scratch, count);
    bool ok = sort_lines(c, rule, lines, scratch, middle);
    pthread_join(thread, NULL);
    settle(c, &h, steps);
    if (ok && h.ok && sort_rule_is_bytes(rule))
        sort_lines_blunt(rule, lines, count);
    return ok && h.ok && merge(c, rule, lines, scratch, middle, count);
}
