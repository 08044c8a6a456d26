#include "launch/child.h"

#include "confine/mounts.h"
#include "confine/parts.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE_SIZE ((uint64_t)64 << 30)

static const char *const temporary[] = { "/tmp", "/var/tmp", "/dev/shm" };
static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full",
    "/dev/random", "/dev/urandom", "/dev/tty" };

static void send_report(int fd, const struct child_report *report)
{
    ssize_t n = write(fd, report, sizeof(*report)); /* a pipe takes it whole */
    (void)n; /* nobody listens: then nobody waits for us either */
}

NORETURN static void fail(int fd, struct child_report *report, const char *step)
{
    report->error = errno;
    report->failed = step;
    send_report(fd, report);
    _exit(127);
}

/* The keeper holds back signals that it waits for. */
static void reset_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
}

static bool connect_streams(void)
{
    return dup2(JOB_STDIN, STDIN_FILENO) >= 0 && dup2(JOB_STDOUT, STDOUT_FILENO) >= 0 &&
           dup2(JOB_STDERR, STDERR_FILENO) >= 0;
}

struct rule_list {
    struct landlock_rule *items;
    size_t count, cap;
};

/* What is not there needs no rule, and a link is not what was meant. */
static void allow(struct rule_list *rules, const char *path, enum landlock_access access)
{
    int fd = mount_open_path(path);
    if (fd < 0)
        return;
    GROW(rules->items, rules->count, rules->cap);
    rules->items[rules->count++] = (struct landlock_rule){ fd, access };
}

static void allow_all(
        struct rule_list *rules, const struct job *job, const struct view_status *view)
{
    const enum landlock_access writing =
            LANDLOCK_READ | LANDLOCK_WRITE | LANDLOCK_SPECIAL;
    allow(rules, "/", LANDLOCK_READ | LANDLOCK_EXECUTE);
    for (size_t i = 0; i < job->path_count; i++)
        if (job->paths[i].rule == VIEW_WRITABLE)
            allow(rules, job->paths[i].path, writing);
    for (size_t i = 0; i < ARRAY_LEN(temporary); i++)
        allow(rules, temporary[i], writing);
    for (size_t i = 0; i < ARRAY_LEN(devices); i++)
        allow(rules, devices[i], LANDLOCK_DEVICE);
    if (!view->error) /* the terminals of others are not there then */
        allow(rules, "/dev/pts", LANDLOCK_DEVICE);
}

static void restrict_files(
        const struct job *job, const struct view_status *view, struct child_held *held)
{
    int abi = landlock_abi(&held->landlock_error);
    if (job->max_landlock && abi > job->max_landlock)
        abi = job->max_landlock;
    if (!abi)
        return;
    struct rule_list rules = { .count = 0 };
    allow_all(&rules, job, view);
    const struct landlock_rules all = {
        .items = rules.items, .count = rules.count, .tcp = job->network
    };
    held->landlock_error = landlock_apply(&all, abi);
    held->landlock_abi = held->landlock_error ? 0 : abi;
    for (size_t i = 0; i < rules.count; i++)
        close_fd(&rules.items[i].fd);
    free(rules.items);
}

static void limit(const struct job *job, struct child_held *held)
{
    const struct command_limits limits = { .max_file_size = MAX_FILE_SIZE,
        .max_processes = geteuid() ? job->max_processes : 0 };
    held->limits_error = limit_command(&limits);
}

/* In a user namespace no capability decides about anything that is ours. */
static void confine(
        const struct job *job, const struct view_status *view, struct child_held *held)
{
    uint32_t kept = view->has_user ? 0 : FILE_CAPABILITIES;
    held->privileges_error = drop_privileges(kept, kept);
    restrict_files(job, view, held);
    held->seccomp_error = seccomp_restrict_command(job->network, held->landlock_abi);
}

static const char *find_variable(const struct job *job, const char *name)
{
    size_t len = strlen(name);
    for (const char *const *v = job->env; *v; v++)
        if (!strncmp(*v, name, len) && (*v)[len] == '=')
            return *v + len + 1;
    return NULL;
}

/* Some systems give each user a folder in /tmp, which a private /tmp does not have. */
static void make_tmpdir(const struct job *job)
{
    const char *name = find_variable(job, "TMPDIR");
    if (!name || strncmp(name, "/tmp/", 5))
        return;
    auto_free char *path = xstrdup(name);
    for (char *end = path + 5; (end = strchr(end, '/')); *end++ = '/') {
        *end = '\0';
        mkdir(path, 0755);
    }
    mkdir(path, 0700);
}

/* Where the policy looked: a link that has come in its place since is not followed. */
static bool enter(const char *folder)
{
    auto_fd int fd = mount_open_path(folder);
    return fd >= 0 && !fchdir(fd);
}

/* execve() takes char *const *, but changes nothing. */
static char *const *as_vector(const char *const *strings)
{
    union {
        const char *const *in;
        char *const *out;
    } vector = { strings };
    return vector.out;
}

void child_run(const struct job *job, const struct view_status *view, int report)
{
    struct child_report r = { .failed = NULL };
    int keeper = getppid();
    setpgid(0, 0);
    reset_signals();
    if (!connect_streams())
        fail(report, &r, "streams");
    confine_close_others(&report, 1);
    if (!enter(job->cwd))
        fail(report, &r, "working directory");
    limit(job, &r.held);
    if (job->sandboxed) {
        if (!view->error)
            make_tmpdir(job);
        confine(job, view, &r.held);
    }
    /* The namespace ends with the keeper; without one, the command itself does at least.
     */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || getppid() != keeper)
        fail(report, &r, "keeper");
    send_report(report, &r);
    execve(job->program, as_vector(job->argv), as_vector(job->env));
    fail(report, &r, "program");
}
