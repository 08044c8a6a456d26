/* A real program as a command: its pipes, who fills and empties them, its end. */
#include "base/clean-text.h"
#include "shell/exec.h"
#include "shell/jobs.h"
#include "shell/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHUNK      ((size_t)64 << 10)
#define MAX_LINE   ((size_t)256 << 10) /* of what somebody reads */
#define TERM_MS    300 /* for a program to end by itself when its time is up... */
#define KILL_MS    600 /* ...and to be killed, from the same moment on */
#define NOT_FOUND  127
#define CANNOT_RUN 126

struct run {
    struct shell *sh;
    struct programs *programs;
    struct program *program;
    const char *name;
    struct stream *in, *out, *err;
    int theirs[3]; /* what it gets; -1: passed on and closed */
    int feed;      /* our end of its stdin; -1: it has none, or it is closed */
    int unread;    /* what it reads from, for what it leaves */
    int drains[2]; /* our ends of its stdout and stderr */
};

static bool make_pipe(int *read_end, int *write_end, int *ours)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return false;
    *read_end = ends[0];
    *write_end = ends[1];
    return !fcntl(*ours, F_SETFL, O_NONBLOCK);
}

static int get_null(struct run *r)
{
    return fcntl(r->programs->null, F_DUPFD_CLOEXEC, 3);
}

static bool is_nothing(const struct run *r, const struct stream *s)
{
    return s == r->sh->closed || stream_is_null(s);
}

/* Its reading end is ours as well: what it has not read when it ends is still there for
 * the next command.  */
static bool open_stdin(struct run *r)
{
    if (is_nothing(r, r->in))
        return (r->theirs[0] = get_null(r)) >= 0;
    if (!make_pipe(&r->theirs[0], &r->feed, &r->feed))
        return false;
    return (r->unread = fcntl(r->theirs[0], F_DUPFD_CLOEXEC, 3)) >= 0;
}

static bool open_output(struct run *r, size_t which, const struct stream *to)
{
    int *theirs = &r->theirs[which + 1], *ours = &r->drains[which];
    if (is_nothing(r, to))
        return (*theirs = get_null(r)) >= 0;
    return make_pipe(ours, theirs, ours);
}

/* One pipe for both where both lead to the same place, which keeps their order. */
static bool open_streams(struct run *r)
{
    if (!open_stdin(r) || !open_output(r, 0, r->out))
        return false;
    if (r->err != r->out)
        return open_output(r, 1, r->err);
    return (r->theirs[2] = fcntl(r->theirs[1], F_DUPFD_CLOEXEC, 3)) >= 0;
}

static void close_theirs(struct run *r)
{
    for (size_t i = 0; i < ARRAY_LEN(r->theirs); i++)
        close_fd(&r->theirs[i]);
}

static void close_all(struct run *r)
{
    close_theirs(r);
    close_fd(&r->feed);
    close_fd(&r->unread);
    close_fd(&r->drains[0]);
    close_fd(&r->drains[1]);
}

static void say(struct run *r, const char *text)
{
    if (stream_write(r->err, str_of(text)))
        stream_flush(r->err);
}

/* What the shell sets by itself is not what the script wants the program to have. */
static bool is_own_variable(const struct shell *sh, const char *pair)
{
    static const char *const names[] = { "PWD=", "OLDPWD=", "SHLVL=", "_=" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_starts(str_of(pair), str_of(names[i])))
            return true;
    const char *const *first = sh->session->first_env;
    for (; first && *first; first++)
        if (!strcmp(*first, pair))
            return true;
    return !strcmp(pair, "HOME=/");
}

char **exec_program_environment(struct shell *sh, size_t *count)
{
    struct cmd c = { .shell = sh, .arena = sh->arena };
    size_t all;
    char **env = cmd_environment(&c, &all);
    *count = 0;
    for (size_t i = 0; i < all; i++)
        if (!is_own_variable(sh, env[i]))
            env[(*count)++] = env[i];
    return env;
}

/* 0, an errno, or ECANCELED. */
static int start(struct run *r, int argc, char **argv)
{
    struct programs *p = r->programs;
    struct program_request request = { .argc = argc,
        .argv = argv,
        .cwd = r->sh->cwd.text,
        .streams = { r->theirs[0], r->theirs[1], r->theirs[2] } };
    request.env = exec_program_environment(r->sh, &request.env_count);
    int error;
    while ((error = p->ops->start(p, &request, &r->program)) == EAGAIN) {
        if (!sched_poll(r->sh->sched, p->fd, POLLIN | POLLOUT, NULL))
            return ECANCELED;
        p->ops->take(p);
    }
    return error;
}

/* False: nobody waits any more. */
static bool await(struct run *r, const bool *news)
{
    struct programs *p = r->programs;
    p->ops->take(p);
    while (!*news) {
        if (!sched_poll(r->sh->sched, p->fd, POLLIN, news))
            return false;
        p->ops->take(p);
    }
    return true;
}

/* Into its stdin, as long as it takes anything. */
static int feed_main(void *arg)
{
    struct run *r = arg;
    struct str view;
    while (r->feed >= 0 && stream_peek(r->in, &view)) {
        ssize_t n = write(r->feed, view.data, view.len < CHUNK ? view.len : CHUNK);
        if (n > 0)
            stream_consume(r->in, (size_t)n);
        else if (n < 0 && errno != EAGAIN && errno != EINTR)
            break;
        else if (!sched_poll(r->sh->sched, r->feed, POLLOUT, &r->program->has_ended))
            break;
        if (r->program->has_ended)
            break;
    }
    close_fd(&r->feed);
    return 0;
}

static void write_failed(struct run *r, struct stream *to)
{
    int errnum = stream_error(to);
    if (errnum == EPIPE || errnum == ECANCELED)
        return;
    auto_buf text = BUF(8192);
    buf_addf(&text, "%s: write error: %s\n", r->name, strerror(errnum));
    if (to != r->err)
        say(r, text.data);
    if (!stream_is_pipe(to))
        stream_clear_error(to);
}

static void drop_front(struct buf *b, size_t n)
{
    b->len -= n;
    memmove(b->data, b->data + n, b->len);
}

static size_t before_last_character(struct str s)
{
    size_t at = s.len - 1;
    while (at && (s.data[at] & 0xc0) == 0x80)
        at--;
    return at;
}

/*
 * What a program writes where somebody reads is shown as run_shell shows it: without
 * escape sequences, and a progress bar as it was last.  In pipes and files it is data.
 * Whole lines are shown; the last one is in `line` until it is whole, or too long.
 */
static bool show(struct stream *to, struct buf *line, bool is_end)
{
    auto_buf text = BUF(SIZE_MAX / 4);
    struct str all = buf_str(line);
    const char *newline = all.len ? memrchr(all.data, '\n', all.len) : NULL;
    size_t len = newline ? (size_t)(newline - all.data) + 1 : 0;
    if (is_end)
        len = all.len;
    else if (!len && all.len > MAX_LINE)
        len = before_last_character(all);
    clean_text(str_sub(all, 0, len), false, &text);
    drop_front(line, len);
    return !text.len || stream_write(to, buf_str(&text));
}

/* What is rewritten is not shown, however much it is. */
static void drop_rewritten(struct buf *line)
{
    struct str all = buf_str(line);
    const char *last = all.len > MAX_LINE && !memchr(all.data, '\n', all.len)
                               ? memrchr(all.data, '\r', all.len - 1)
                               : NULL;
    if (last)
        drop_front(line, (size_t)(last - all.data) + 1);
}

static bool put(struct stream *to, struct buf *line, struct str data)
{
    if (!stream_is_screen(to))
        return stream_write(to, data);
    buf_add(line, data);
    drop_rewritten(line);
    return show(to, line, false);
}

/* Out of one of its pipes, to the end.  Where nobody reads any more the pipe is closed,
 * and the program gets a SIGPIPE as it would anywhere. */
static void drain(struct run *r, int *from, struct stream *to)
{
    auto_free char *data = xmalloc(CHUNK);
    auto_buf line = BUF(2 * (MAX_LINE + CHUNK));
    while (*from >= 0) {
        ssize_t n = read(*from, data, CHUNK);
        if (n > 0) {
            if (put(to, &line, (struct str){ data, (size_t)n }))
                continue;
            write_failed(r, to);
            break;
        }
        if (n == 0 || (errno != EAGAIN && errno != EINTR))
            break;
        if (!sched_poll(r->sh->sched, *from, POLLIN, NULL))
            break;
    }
    if (line.len && !show(to, &line, true))
        write_failed(r, to);
    close_fd(from);
}

static int errors_main(void *arg)
{
    struct run *r = arg;
    drain(r, &r->drains[1], r->err);
    return 0;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Without the others, which are stopped too. */
static void wait_until(struct run *r, int64_t end_ms)
{
    struct programs *p = r->programs;
    p->ops->take(p);
    for (int64_t left; !r->program->has_ended && (left = end_ms - now_ms()) > 0;) {
        struct pollfd news = { .fd = p->fd, .events = POLLIN };
        poll(&news, 1, (int)left);
        p->ops->take(p);
    }
}

/*
 * The time is up, or it was cancelled.  Where the whole call is, there are perhaps others
 * to stop as well, and all of them together have no more time than one.
 */
static void stop(struct run *r)
{
    struct programs *p = r->programs;
    int64_t *end = &p->stop_ms;
    bool is_last = budget_stopped(r->sh->session->budget);
    if (!is_last || !*end)
        *end = now_ms() + TERM_MS;
    p->ops->signal(p, r->program, SIGTERM);
    wait_until(r, *end);
    if (!r->program->has_ended) {
        p->ops->signal(p, r->program, SIGKILL);
        wait_until(r, *end + KILL_MS - TERM_MS);
    }
    if (!is_last)
        *end = 0;
}

/* A task that waited for its turn with the stream has left its own failure there. */
static void end_feeder(struct run *r, struct task *feeder)
{
    bool had_failed = stream_error(r->in);
    if (!sched_has_ended(feeder))
        sched_cancel(feeder);
    sched_join(r->sh->sched, feeder);
    if (!had_failed)
        stream_clear_error(r->in);
}

/* What it has not read is there for who reads next: `while read f; do git log $f; done`.
 */
static void give_back(struct run *r)
{
    auto_buf left = BUF(SIZE_MAX / 4);
    ssize_t n = 1;
    if (fcntl(r->unread, F_SETFL, O_NONBLOCK))
        return;
    while (n > 0) {
        char *to = buf_reserve(&left, CHUNK);
        n = to ? read(r->unread, to, CHUNK) : 0;
        left.len += n > 0 ? (size_t)n : 0;
    }
    stream_unread(r->in, buf_str(&left));
}

static int exit_status(const struct program *p)
{
    if (p->state != PROGRAM_ENDED)
        return 128 + SIGKILL;
    return WIFSIGNALED(p->status) ? 128 + WTERMSIG(p->status) : WEXITSTATUS(p->status);
}

static int run_started(struct run *r)
{
    struct sched *sched = r->sh->sched;
    struct task *feeder = NULL, *errors = NULL;
    if (r->feed >= 0)
        feeder = sched_spawn(sched, feed_main, r);
    if (r->drains[1] >= 0)
        errors = sched_spawn(sched, errors_main, r);
    drain(r, &r->drains[0], r->out);
    if (!await(r, &r->program->has_ended))
        stop(r);
    if (feeder)
        end_feeder(r, feeder);
    if (errors)
        sched_join(sched, errors);
    if (r->unread >= 0 && r->program->has_ended)
        give_back(r);
    if (!stream_flush(r->out))
        write_failed(r, r->out);
    if (r->program->notes)
        say(r, r->program->notes);
    stream_flush(r->err);
    return exit_status(r->program);
}

static int tell_failure(struct run *r, int errnum, const char *text)
{
    shell_err(r->sh, "%s: %s", r->name, text ? text : strerror(errnum));
    return errnum == ENOENT ? NOT_FOUND : CANNOT_RUN;
}

static bool was_started(const struct program *p)
{
    return p->state == PROGRAM_RUNS || p->state == PROGRAM_ENDED;
}

/* Not started, for whatever reason; false: because nobody knows such a program. */
static bool tell_answer(struct run *r, int *status)
{
    const struct program *p = r->program;
    *status = CANNOT_RUN;
    if (p->state == PROGRAM_UNKNOWN)
        return false;
    if (p->state == PROGRAM_REFUSED)
        shell_err(r->sh, "%s", p->text);
    else
        *status = tell_failure(r, p->error, p->text);
    return true;
}

/* Until it is answered.  0, an errno, or ECANCELED. */
static int ask(struct run *r, int argc, char **argv)
{
    if (!job_take_turn(r->sh))
        return ECANCELED;
    int error = start(r, argc, argv);
    if (error)
        return error;
    if (await(r, &r->program->is_answered))
        return 0;
    stop(r);
    return ECANCELED;
}

static bool run(struct run *r, int argc, char **argv, int *status)
{
    int error = open_streams(r) ? ask(r, argc, argv) : errno;
    close_theirs(r);
    *status = 128 + SIGTERM;
    bool is_known = true;
    if (error && error != ECANCELED)
        *status = tell_failure(r, error, NULL);
    if (!error && was_started(r->program))
        *status = run_started(r);
    else if (!error)
        is_known = tell_answer(r, status);
    if (r->program)
        r->programs->ops->forget(r->programs, r->program);
    return is_known;
}

static bool run_named(struct shell *sh, int argc, char **argv, int *status)
{
    struct programs *programs = sh->session->programs;
    if (!budget_stopped(sh->session->budget))
        programs->stop_ms = 0;
    struct arena_mark mark = arena_mark(sh->arena);
    struct run r = { .sh = sh,
        .programs = programs,
        .name = argv[0],
        .in = stream_ref(shell_fd(sh, 0)),
        .out = stream_ref(shell_fd(sh, 1)),
        .err = stream_ref(shell_fd(sh, 2)),
        .theirs = { -1, -1, -1 },
        .feed = -1,
        .unread = -1,
        .drains = { -1, -1 } };
    bool is_known = run(&r, argc, argv, status);
    close_all(&r);
    stream_unref(r.in);
    stream_unref(r.out);
    stream_unref(r.err);
    arena_rewind(sh->arena, mark);
    return is_known;
}

/* Where the system keeps the programs that are known by their names. */
static char *name_in_system(const char *path)
{
    static const char *const folders[] = { "/bin/", "/usr/bin/", "/usr/local/bin/" };
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        if (!str_starts(str_of(path), str_of(folders[i])))
            continue;
        const char *name = path + strlen(folders[i]);
        return *name && !strchr(name, '/') ? (char *)(uintptr_t)name : NULL;
    }
    return NULL;
}

/* As who starts programs knows it: the folder is the one that it leads to, and what it is
 * called there is as it was said. */
static char *path_from_root(struct shell *sh, const char *path)
{
    struct str root = sh->session->programs->root;
    struct vpath whole, real;
    if (vpath_parse(str_of(path), sh->cwd, sh->arena, &whole))
        return NULL;
    if (!vfs_resolve(sh->vfs, whole, VFS_NOFOLLOW, sh->arena, &real))
        whole = real;
    bool is_below = root.len && str_starts(whole.text, root) &&
                    whole.text.len > root.len + 1 && whole.text.data[root.len] == '/';
    return arena_cstr(
            sh->arena, is_below ? str_from(whole.text, root.len + 1) : whole.text);
}

#define MAX_NAMES 3

/* The names under which who starts programs may know `name`. */
static size_t find_names(struct shell *sh, char *name, char **names)
{
    size_t count = 0;
    bool at_root = str_eq(sh->cwd.text, sh->session->programs->root);
    if (!strchr(name, '/') || name[0] == '/' || at_root)
        names[count++] = name;
    char *path = strchr(name, '/') ? path_from_root(sh, name) : NULL;
    if (path && (!count || strcmp(path, name) != 0))
        names[count++] = path;
    char *base = name_in_system(name);
    if (base)
        names[count++] = base;
    return count;
}

struct str exec_program_file(const struct shell *sh, const char *name)
{
    const struct programs *p = sh->session->programs;
    for (size_t i = 0; p && i < p->file_count; i++) {
        struct str file = p->files[i];
        const char *slash = memrchr(file.data, '/', file.len);
        size_t folder = slash ? (size_t)(slash - file.data) + 1 : 0;
        if (str_is(file, name) || str_is(str_from(file, folder), name))
            return file;
    }
    return STR("");
}

bool exec_program(struct shell *sh, int argc, char **argv, int *status)
{
    if (!sh->session->programs)
        return false;
    struct arena_mark mark = arena_mark(sh->arena);
    char *given = argv[0], *names[MAX_NAMES];
    size_t count = find_names(sh, given, names);
    bool is_known = false;
    for (size_t i = 0; i < count && !is_known && !budget_stopped(sh->budget); i++) {
        argv[0] = names[i];
        is_known = run_named(sh, argc, argv, status);
    }
    argv[0] = given;
    arena_rewind(sh->arena, mark);
    return is_known;
}

/* The answer to one of its names, or NULL: it is not refused under that one, or nobody
 * can tell. */
static struct program *ask_for(
        struct shell *sh, const struct program_request *request, int *error)
{
    struct programs *p = sh->session->programs;
    struct program *answer = NULL;
    p->ops->take(p);
    *error = p->ops->ask(p, request, &answer);
    if (*error || !answer)
        return NULL;
    while (!answer->is_answered && !*error) {
        if (!sched_poll(sh->sched, p->fd, POLLIN, &answer->is_answered))
            *error = ECANCELED;
        p->ops->take(p);
    }
    return answer;
}

bool exec_program_is_refused(
        struct shell *sh, int argc, char **argv, char *const *env, size_t env_count)
{
    struct programs *p = sh->session->programs;
    struct arena_mark mark = arena_mark(sh->arena);
    char *given = argv[0], *names[MAX_NAMES];
    struct program_request request = { .argc = argc,
        .argv = argv,
        .cwd = sh->cwd.text,
        .env = env,
        .env_count = env_count };
    size_t count = find_names(sh, given, names);
    bool is_known = false, is_refused = false;
    for (size_t i = 0; i < count && !is_known && !budget_stopped(sh->budget); i++) {
        int error;
        argv[0] = names[i];
        struct program *answer = ask_for(sh, &request, &error);
        is_known = error || !answer || answer->state != PROGRAM_UNKNOWN;
        is_refused = !error && answer && answer->state == PROGRAM_REFUSED;
        if (is_refused)
            shell_err(sh, "%s", answer->text);
        if (answer)
            p->ops->forget(p, answer);
    }
    argv[0] = given;
    arena_rewind(sh->arena, mark);
    return is_refused;
}
