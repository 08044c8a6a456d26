/*
 * Helper threads: the caller walks and opens, they read and search, and the caller prints
 * what they found in the order of the walk.
 *
 * A job's output lies in its slot of the ring until the caller takes it.  A job that has
 * found very much waits for that; the first job in the ring never waits for another, so
 * that everything goes on.  Threads touch their job, their searcher and the pool; nothing
 * of the caller, no vfs but the open file.
 */
#include "search/scan.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#define SLOTS       64
#define MAX_THREADS 4
#define WAKE_AT \
    8 /* jobs waiting: waking a thread for each would cost more than it saves */
#define MAX_WAITING ((size_t)1 << 20) /* bytes of output of one job */
#define STACK_SIZE  ((size_t)512 << 10)
#define POLL_NS     20000000 /* how often the caller looks at its budget */

struct job {
    struct vfile *file; /* NULL: only a message */
    char *name;
    bool with_name;
    struct buf out, messages; /* not yet taken by the caller */
    uint64_t steps;
    bool done, selected, failed;
    bool separated; /* something was printed: not the first group of lines any more */
};

struct worker {
    struct scan_pool *pool;
    void *searcher;
    struct job *job;
    uint64_t steps;
    pthread_t thread;
};

struct scan_pool {
    const struct scan_pool_ops *ops;
    void *owner;
    struct budget *budget;
    bool stopped;            /* by `ops` or the budget; the caller's */
    pthread_mutex_t lock;    /* everything below */
    pthread_cond_t work;     /* a job to take, or the end */
    pthread_cond_t progress; /* the first job has output, or is done */
    pthread_cond_t room;     /* output was taken */
    struct job jobs[SLOTS];
    size_t first, next, end; /* to print, to take, to fill; modulo SLOTS */
    size_t idle;             /* threads that wait for work */
    bool waiting;            /* the caller waits for progress */
    bool closing;
    atomic_bool stop;
    struct worker workers[MAX_THREADS];
    size_t count;
};

static struct job *job_at(struct scan_pool *p, size_t i)
{
    return &p->jobs[i % SLOTS];
}

static bool worker_alive(struct scan_sink *sink, uint64_t steps)
{
    struct worker *w = sink->owner;
    w->steps += steps;
    return !atomic_load_explicit(&w->pool->stop, memory_order_relaxed);
}

static void move_text(struct buf *from, struct buf *to)
{
    if (!to->len) {
        struct buf empty = *to;
        *to = *from;
        *from = empty;
    } else
        buf_add(to, buf_str(from));
    buf_clear(from);
}

static void tell_progress(struct worker *w)
{
    if (w->pool->waiting && w->job == job_at(w->pool, w->pool->first))
        pthread_cond_signal(&w->pool->progress);
}

static bool worker_flush(struct scan_sink *sink, bool force)
{
    struct worker *w = sink->owner;
    struct scan_pool *p = w->pool;
    pthread_mutex_lock(&p->lock);
    while (!force && w->job->out.len > MAX_WAITING && !p->stop)
        pthread_cond_wait(&p->room, &p->lock);
    move_text(&sink->out, &w->job->out);
    move_text(&sink->messages, &w->job->messages);
    tell_progress(w);
    pthread_mutex_unlock(&p->lock);
    return !p->stop;
}

static struct job *take_job(struct scan_pool *p)
{
    struct job *job = NULL;
    pthread_mutex_lock(&p->lock);
    p->idle++;
    while (p->next == p->end && !p->closing)
        pthread_cond_wait(&p->work, &p->lock);
    p->idle--;
    if (p->next != p->end)
        job = job_at(p, p->next++);
    pthread_mutex_unlock(&p->lock);
    return job;
}

static void end_job(struct worker *w, bool selected, bool failed)
{
    struct scan_pool *p = w->pool;
    pthread_mutex_lock(&p->lock);
    w->job->selected = selected;
    w->job->failed = failed;
    w->job->steps = w->steps;
    w->job->done = true;
    tell_progress(w);
    pthread_mutex_unlock(&p->lock);
    w->steps = 0;
}

static void run_job(struct worker *w, struct scan_sink *sink)
{
    struct job *job = w->job;
    bool selected = false, ok = true;
    if (job->file && !w->pool->stop) {
        struct scan_file file = { .name = job->name,
            .with_name = job->with_name,
            .file = job->file,
            .fd = vfile_fd(job->file) };
        sink->any_printed = false;
        ok = w->pool->ops->search(w->searcher, &file, sink, &selected);
        if (sink->out.len || sink->messages.len)
            worker_flush(sink, true);
    }
    vfile_close(job->file);
    job->file = NULL;
    end_job(w, selected, !ok);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct scan_sink sink = { .out = BUF(SIZE_MAX / 4),
        .messages = BUF(65536),
        .flush = worker_flush,
        .alive = worker_alive,
        .owner = w };
    while ((w->job = take_job(w->pool)))
        run_job(w, &sink);
    buf_finish(&sink.out);
    buf_finish(&sink.messages);
    return NULL;
}

static size_t thread_count(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set))
        return 0;
    int n = CPU_COUNT(&set);
    return n < 2 ? 0 : n < MAX_THREADS ? (size_t)n : MAX_THREADS;
}

static bool start_worker(struct scan_pool *p, const pthread_attr_t *attributes)
{
    struct worker *w = &p->workers[p->count];
    w->pool = p;
    w->searcher = p->ops->create(p->owner);
    if (!pthread_create(&w->thread, attributes, work, w)) {
        p->count++;
        return true;
    }
    p->ops->destroy(w->searcher);
    return false;
}

/* Signals are for the thread that runs the command. */
static void start_workers(struct scan_pool *p)
{
    sigset_t all, old;
    pthread_attr_t attributes;
    size_t wanted = thread_count();
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (p->count < wanted && start_worker(p, &attributes))
        ;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
}

static void free_pool(struct scan_pool *p)
{
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->work);
    pthread_cond_destroy(&p->progress);
    pthread_cond_destroy(&p->room);
    free(p);
}

struct scan_pool *scan_pool_create(
        const struct scan_pool_ops *ops, void *owner, struct budget *budget)
{
    struct scan_pool *p = xcalloc(1, sizeof(*p));
    p->ops = ops;
    p->owner = owner;
    p->budget = budget;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->progress, NULL);
    pthread_cond_init(&p->room, NULL);
    for (size_t i = 0; i < SLOTS; i++) {
        p->jobs[i].out = BUF(SIZE_MAX / 4);
        p->jobs[i].messages = BUF(65536);
    }
    start_workers(p);
    if (p->count)
        return p;
    free_pool(p);
    return NULL;
}

/* Wait a little for the first job; false: the budget is spent.  Called with the lock. */
static bool wait_for_first(struct scan_pool *p)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += POLL_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    if (p->next != p->end && p->idle)
        pthread_cond_broadcast(&p->work);
    p->waiting = true;
    pthread_cond_timedwait(&p->progress, &p->lock, &until);
    p->waiting = false;
    return !budget_stopped(p->budget);
}

static void print_text(
        struct scan_pool *p, struct job *job, struct buf *out, struct buf *messages)
{
    const struct scan_text text = {
        .name = job->name ? job->name : "",
        .out = buf_str(out),
        .messages = buf_str(messages),
        .separated = &job->separated,
    };
    if (!p->ops->print(p->owner, &text))
        p->stopped = true;
}

/* Print what the first job has; true when it has ended.  `wait`: until there is some. */
static bool print_first(struct scan_pool *p, bool wait)
{
    struct job *job = job_at(p, p->first);
    auto_buf out = BUF(SIZE_MAX / 4);
    auto_buf messages = BUF(65536);
    pthread_mutex_lock(&p->lock);
    while (wait && !job->done && !job->out.len)
        if (!wait_for_first(p))
            break;
    bool done = job->done;
    if (job->out.len || job->messages.len) {
        move_text(&job->out, &out);
        move_text(&job->messages, &messages);
        pthread_cond_broadcast(&p->room);
    }
    pthread_mutex_unlock(&p->lock);
    if (out.len || messages.len)
        print_text(p, job, &out, &messages);
    if (!done)
        return false;
    bool alive = budget_spend(p->budget, job->steps);
    const char *name = job->name ? job->name : "";
    if (!p->ops->ended(p->owner, name, job->selected, job->failed || !alive) || !alive)
        p->stopped = true;
    free(job->name);
    job->name = NULL;
    pthread_mutex_lock(&p->lock);
    p->first++;
    pthread_mutex_unlock(&p->lock);
    return true;
}

/* Print the first job, waiting for it. */
static void print_next(struct scan_pool *p)
{
    print_first(p, true);
    if (budget_stopped(p->budget))
        p->stopped = true;
}

static bool submit(struct scan_pool *p, struct job job)
{
    while (p->end - p->first == SLOTS && !p->stopped)
        print_next(p);
    while (p->first != p->end && !p->stopped && print_first(p, false))
        ;
    if (p->stopped) {
        vfile_close(job.file);
        free(job.name);
        buf_finish(&job.messages);
        return false;
    }
    pthread_mutex_lock(&p->lock);
    struct job *slot = job_at(p, p->end++);
    if (job.messages.len)
        buf_finish(&slot->messages);
    else
        job.messages = slot->messages;
    job.out = slot->out;
    *slot = job;
    if (p->idle && p->end - p->next >= WAKE_AT)
        pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    return true;
}

bool scan_pool_submit(
        struct scan_pool *p, struct vfile *file, const char *name, bool with_name)
{
    return submit(p,
            (struct job){ .file = file, .name = xstrdup(name), .with_name = with_name });
}

bool scan_pool_message(struct scan_pool *p, const char *message)
{
    struct job job = { .messages = BUF(65536) };
    buf_add(&job.messages, str_of(message));
    return submit(p, job);
}

static void end_threads(struct scan_pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->stop = p->stopped;
    p->closing = true;
    pthread_cond_broadcast(&p->work);
    pthread_cond_broadcast(&p->room);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < p->count; i++) {
        pthread_join(p->workers[i].thread, NULL);
        p->ops->destroy(p->workers[i].searcher);
    }
}

void scan_pool_finish(struct scan_pool *p)
{
    if (!p)
        return;
    while (p->first != p->end && !p->stopped)
        print_next(p);
    end_threads(p);
    for (; p->first != p->end; p->first++) {
        vfile_close(job_at(p, p->first)->file);
        free(job_at(p, p->first)->name);
    }
    for (size_t i = 0; i < SLOTS; i++) {
        buf_finish(&p->jobs[i].out);
        buf_finish(&p->jobs[i].messages);
    }
    free_pool(p);
}
