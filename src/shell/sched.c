#include "shell/sched.h"

#include "shell/context.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define TASK_STACK ((size_t)1 << 20) /* reserved; only touched pages cost memory */
#define MAIN_SLACK ((size_t)256 << 10)
#define MAX_SPARE  16
#define MAX_TASKS  1000 /* alive at once: what a fork bomb meets */
#define LOOK_EVERY 64   /* switches between two looks at descriptors while others run */

struct task {
    struct task *older;   /* towards the first task */
    struct task *creator; /* joins it before it ends itself */
    struct sched *sched;
    struct budget *budget; /* its own (sched_swap_budget), or NULL */
    struct context context;
    char *stack;       /* NULL: the thread's own */
    const char *floor; /* the lowest address it may use */
    task_fn *fn;
    void *arg;
    int status;
    bool ended, cancelled;
    bool joins; /* `ready` is another's `ended`: it holds even when the budget is spent */
    const bool *ready; /* NULL: can run */
    bool polls;        /* waits for `fd` too... */
    bool was_polled;   /* ...which is ready */
    int fd;
    short events;
    int64_t wake_ns; /* sleeping until then; 0: not asleep */
};

struct sched {
    struct task first;
    struct task *newest; /* list of all tasks that have not ended: who is asked first */
    struct task *current;
    struct task *previous; /* who switched to us last */
    size_t count;          /* of tasks that have not ended, without the first */
    size_t poller_count;   /* of those that wait for a descriptor */
    unsigned turns;        /* to the next look at them */
    struct pollfd *polled; /* room for all of them */
    size_t polled_cap;
    struct budget *budget;
    char *spare[MAX_SPARE];
    size_t spare_count;
};

/* entry() has no argument, and there is one scheduler running in a thread. */
static _Thread_local struct sched *running;

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static const char *main_stack_floor(void)
{
    struct rlimit limit;
    size_t size = (size_t)8 << 20;
    if (!getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur < size)
        size = limit.rlim_cur;
    return (const char *)__builtin_frame_address(0) - size + MAIN_SLACK;
}

struct sched *sched_create(struct budget *budget)
{
    struct sched *s = xcalloc(1, sizeof(*s));
    s->budget = budget;
    s->first.sched = s;
    s->first.floor = main_stack_floor();
    s->newest = s->current = &s->first;
    return s;
}

static size_t guard_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

void sched_destroy(struct sched *s)
{
    if (!s)
        return;
    assert(s->newest == &s->first);
    while (s->spare_count)
        munmap(s->spare[--s->spare_count] - guard_size(), TASK_STACK + guard_size());
    free(s->polled);
    free(s);
}

void sched_set_budget(struct sched *s, struct budget *budget)
{
    s->budget = budget;
}

struct budget *sched_budget(const struct sched *s)
{
    return s->current->budget ? s->current->budget : s->budget;
}

struct budget *sched_swap_budget(struct sched *s, struct budget *budget)
{
    struct budget *before = s->current->budget;
    s->current->budget = budget;
    return before;
}

/* A stack with an unmapped page below it, so that an overflow faults. */
static char *take_stack(struct sched *s)
{
    if (s->spare_count)
        return s->spare[--s->spare_count];
    size_t guard = guard_size();
    char *p = mmap(NULL, TASK_STACK + guard, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    if (mprotect(p, guard, PROT_NONE)) {
        munmap(p, TASK_STACK + guard);
        return NULL;
    }
    return p + guard;
}

static void give_stack(struct sched *s, char *stack)
{
    if (s->spare_count < MAX_SPARE)
        s->spare[s->spare_count++] = stack;
    else
        munmap(stack - guard_size(), TASK_STACK + guard_size());
}

static bool is_stopped(const struct task *t)
{
    return budget_stopped(t->budget ? t->budget : t->sched->budget);
}

static bool can_run(const struct task *t, int64_t *now)
{
    if (t->joins)
        return *t->ready;
    bool waits = t->ready || t->wake_ns || t->polls;
    if (!waits || is_stopped(t) || t->cancelled || (t->ready && *t->ready) ||
            (t->polls && t->was_polled))
        return true;
    if (!t->wake_ns)
        return false;
    if (!*now)
        *now = now_ns();
    return *now >= t->wake_ns;
}

/* Look at all descriptors that are waited for; `mask` as for ppoll(). */
static void look(struct sched *s, const struct timespec *timeout, const sigset_t *mask)
{
    size_t count = 0;
    s->turns = 0;
    for (struct task *t = s->newest; t; t = t->older) {
        if (!t->polls)
            continue;
        GROW(s->polled, count, s->polled_cap);
        s->polled[count++] = (struct pollfd){ .fd = t->fd, .events = t->events };
    }
    if (ppoll(s->polled, count, timeout, mask) <= 0)
        return;
    const struct pollfd *at = s->polled;
    for (struct task *t = s->newest; t; t = t->older)
        if (t->polls)
            t->was_polled = (at++)->revents != 0;
}

/* The newest task that can run, other than the current one; or NULL. */
static struct task *pick(struct sched *s)
{
    static const struct timespec at_once;
    int64_t now = 0;
    if (s->poller_count && ++s->turns >= LOOK_EVERY)
        look(s, &at_once, NULL);
    for (struct task *t = s->newest; t; t = t->older)
        if (t != s->current && can_run(t, &now))
            return t;
    return NULL;
}

static void switch_to(struct sched *s, struct task *t, bool last)
{
    struct task *self = s->current;
    s->previous = self;
    s->current = t;
    running = s;
    context_switch(&self->context, &t->context, last);
}

static void unlink_task(struct sched *s, struct task *t)
{
    struct task **at = &s->newest;
    while (*at != t)
        at = &(*at)->older;
    *at = t->older;
}

static void earlier(int64_t *wake, int64_t time)
{
    if (time && (!*wake || time < *wake))
        *wake = time;
}

static int64_t earliest_wake(const struct sched *s)
{
    int64_t wake = 0;
    for (const struct task *t = s->newest; t; t = t->older) {
        earlier(&wake, t->wake_ns);
        if (t->budget && !t->joins)
            earlier(&wake, budget_deadline(t->budget));
    }
    return wake;
}

/* Nobody can run: sleep until somebody's time has come.  A signal ends the sleep. */
static void sleep_until(int64_t wake)
{
    struct timespec t = { .tv_sec = wake / 1000000000, .tv_nsec = wake % 1000000000 };
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static bool can_any_run(const struct sched *s)
{
    int64_t now = 0;
    for (const struct task *t = s->newest; t; t = t->older)
        if (can_run(t, &now))
            return true;
    return false;
}

/* Wait with the signals blocked until ppoll() has begun: none is missed. */
static void wait_for_descriptors(struct sched *s, int64_t wake)
{
    struct timespec timeout = { 0 };
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int64_t left = wake ? wake - now_ns() : 0;
    if (left > 0)
        timeout = (struct timespec){ left / 1000000000, left % 1000000000 };
    if (!can_any_run(s))
        look(s, wake ? &timeout : NULL, &before);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Nobody can run.  False: and nobody ever will. */
static bool idle(struct sched *s)
{
    int64_t wake = earliest_wake(s);
    if (s->poller_count)
        wait_for_descriptors(s, wake);
    else if (wake)
        sleep_until(wake);
    return s->poller_count || wake;
}

static void entry(void)
{
    struct sched *s = running;
    struct task *t = s->current;
    context_entered(&t->context, &s->previous->context);
    t->status = t->fn(t->arg);
    t->ended = true;
    unlink_task(s, t);
    s->count--;
    struct task *next;
    while (!(next = pick(s)))
        idle(s);
    switch_to(s, next, true);
    abort();
}

static struct task *make_task(struct sched *s, task_fn *fn, void *arg)
{
    char *stack = s->count < MAX_TASKS ? take_stack(s) : NULL;
    if (!stack) {
        budget_stop(s->budget, BUDGET_TASKS);
        return NULL;
    }
    s->count++;
    struct task *t = xcalloc(1, sizeof(*t));
    *t = (struct task){ .creator = s->current,
        .sched = s,
        .budget = s->current->budget,
        .stack = stack,
        .floor = stack,
        .fn = fn,
        .arg = arg,
        .cancelled = s->current->cancelled };
    context_init(&t->context, stack, TASK_STACK, entry);
    return t;
}

struct task *sched_spawn(struct sched *s, task_fn *fn, void *arg)
{
    struct task *t = make_task(s, fn, arg);
    if (t) {
        t->older = s->newest;
        s->newest = t;
    }
    return t;
}

struct task *sched_spawn_last(struct sched *s, task_fn *fn, void *arg)
{
    struct task *t = make_task(s, fn, arg);
    struct task **at = &s->newest;
    while (t && *at)
        at = &(*at)->older;
    if (t)
        *at = t;
    return t;
}

bool sched_is_cancelled(const struct sched *s)
{
    return s->current->cancelled;
}

void sched_cancel(struct task *t)
{
    t->cancelled = true;
    for (struct task *other = t->sched->newest; other; other = other->older)
        if (other->creator == t && !other->cancelled)
            sched_cancel(other);
}

bool sched_has_ended(const struct task *t)
{
    return t->ended;
}

/* Run others until `self` can go on: its flag, its time, or the end of the budget.  False
 * if nobody can ever make that happen. */
static bool block(struct sched *s)
{
    struct task *self = s->current;
    for (int64_t now = 0; !can_run(self, &now); now = 0) {
        struct task *next = pick(s);
        if (next) {
            switch_to(s, next, false);
            continue;
        }
        if (!idle(s))
            return false;
    }
    return true;
}

bool sched_wait(struct sched *s, const bool *ready)
{
    struct task *self = s->current;
    self->ready = ready;
    bool ok = block(s);
    self->ready = NULL;
    return ok && *ready;
}

bool sched_sleep(struct sched *s, int64_t ns)
{
    struct task *self = s->current;
    self->wake_ns = now_ns() + (ns > 0 ? ns : 0);
    block(s);
    self->wake_ns = 0;
    return !self->cancelled && !is_stopped(self);
}

bool sched_poll(struct sched *s, int fd, short events, const bool *also)
{
    struct task *self = s->current;
    self->ready = also;
    self->fd = fd;
    self->events = events;
    self->was_polled = false;
    self->polls = true;
    s->poller_count++;
    block(s);
    s->poller_count--;
    self->polls = false;
    self->ready = NULL;
    return !self->cancelled && !is_stopped(self);
}

int sched_join(struct sched *s, struct task *t)
{
    struct task *self = s->current;
    self->joins = true;
    while (!t->ended) {
        self->ready = &t->ended;
        struct task *next = pick(s);
        if (next)
            switch_to(s, next, false);
        else if (!idle(s))
            budget_stop(s->budget, BUDGET_CANCELLED); /* all wait for each other */
    }
    self->ready = NULL;
    self->joins = false;
    int status = t->status;
    give_stack(s, t->stack);
    free(t);
    return status;
}

size_t sched_stack_left(const struct sched *s)
{
    const char *here = __builtin_frame_address(0);
    return here > s->current->floor ? (size_t)(here - s->current->floor) : 0;
}
