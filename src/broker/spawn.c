#include "broker/spawn.h"

#include "policy/own-programs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Descriptors wait up here while 3, 4, ... are being filled in the child. */
#define PARKED_FD 100

bool helper_find(const char *name, char **out, struct error *err)
{
    auto_buf folder = BUF(PATH_MAX);
    int error = own_folder(&folder);
    if (error)
        return error_errno(err, error, "cannot read '/proc/self/exe'");
    for (size_t i = 0; i < own_place_count; i++) {
        auto_buf path = BUF(2 * PATH_MAX);
        buf_addf(&path, "%s%s%s", folder.data, own_places[i], name);
        if (!access(path.data, X_OK)) {
            *out = xstrdup(path.data);
            return true;
        }
    }
    error_set(err, ERR_NOT_FOUND, "the program '%s' is missing", name);
    return error_hint(err, "It belongs in '%s../libexec/paddock'.", folder.data);
}

/* What each descriptor of the child is to be; sources lie above all targets. */
static void map_fds(posix_spawn_file_actions_t *actions, int socket, int errors,
        const int *parked, size_t parked_count)
{
    posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (errors >= 0)
        posix_spawn_file_actions_adddup2(actions, errors, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(actions, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(actions, socket, HELPER_SOCKET_FD);
    for (size_t i = 0; i < parked_count; i++)
        posix_spawn_file_actions_adddup2(actions, parked[i], HELPER_FIRST_FD + (int)i);
    posix_spawn_file_actions_addclosefrom_np(
            actions, HELPER_FIRST_FD + (int)parked_count);
    posix_spawn_file_actions_addchdir_np(actions, "/");
}

/* The server ignores SIGPIPE and may block signals; a helper starts with neither. */
static void reset_signals(posix_spawnattr_t *attributes)
{
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(attributes, &all);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setflags(attributes,
            POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
}

static int start(const struct helper_spec *spec, int socket, int errors,
        const int *parked, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    map_fds(&actions, socket, errors, parked, spec->fd_count);
    reset_signals(&attributes);
    const char *name = strrchr(spec->path, '/');
    auto_free char *argv0 = xstrdup(name ? name + 1 : spec->path);
    char *argv[] = { argv0, NULL };
    /* posix_spawn() takes char *const *, but changes nothing. */
    union {
        const char *const *in;
        char *const *out;
    } env = { spec->env };
    int failure = posix_spawn(pid, spec->path, &actions, &attributes, argv, env.out);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failure;
}

/* Copies of `fds` that no target number can hit; 0, or an errno. */
static int park(const int *fds, size_t count, int *parked)
{
    for (size_t i = 0; i < count; i++) {
        parked[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, PARKED_FD);
        if (parked[i] < 0)
            return errno;
    }
    return 0;
}

/* Everything that the child gets, in the order 4..., socket, stderr; 0, or an errno. */
static int park_and_start(
        const struct helper_spec *spec, int socket, int errors, pid_t *pid)
{
    size_t count = spec->fd_count + 2;
    auto_free int *parked = xmalloc(count * sizeof(*parked));
    for (size_t i = 0; i < count; i++)
        parked[i] = -1;
    int failure = park(spec->fds, spec->fd_count, parked);
    if (!failure)
        failure = park(&socket, 1, &parked[spec->fd_count]);
    if (!failure && errors >= 0)
        failure = park(&errors, 1, &parked[spec->fd_count + 1]);
    if (!failure)
        failure = start(
                spec, parked[spec->fd_count], parked[spec->fd_count + 1], parked, pid);
    for (size_t i = 0; i < count; i++)
        close_fd(&parked[i]);
    return failure;
}

bool helper_spawn(const struct helper_spec *spec, struct helper *out, struct error *err)
{
    int ends[2], errors[2] = { -1, -1 };
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return error_errno(err, errno, "cannot make a socket pair");
    auto_fd int ours = ends[0];
    auto_fd int theirs = ends[1];
    if (spec->pipe_stderr && pipe2(errors, O_CLOEXEC))
        return error_errno(err, errno, "cannot make a pipe");
    auto_fd int our_errors = errors[0];
    auto_fd int their_errors = errors[1];
    pid_t pid = 0;
    int failure = park_and_start(spec, theirs, their_errors, &pid);
    if (failure)
        return error_errno(err, failure, "cannot start '%s'", spec->path);
    fcntl(ours, F_SETFL, O_NONBLOCK);
    if (our_errors >= 0)
        fcntl(our_errors, F_SETFL, O_NONBLOCK);
    *out = (struct helper){ .pid = pid, .socket = ours, .errors = our_errors };
    ours = our_errors = -1;
    return true;
}

void helper_signal(const struct helper *h, int signal)
{
    if (h->pid > 0)
        kill(h->pid, signal); /* not reaped yet, so the number is still its own */
}

bool helper_lives(const struct helper *h)
{
    siginfo_t ended = { .si_pid = 0 };
    return h->pid > 0 &&
           !waitid(P_PID, (id_t)h->pid, &ended, WEXITED | WNOHANG | WNOWAIT) &&
           !ended.si_pid;
}

bool helper_reap(struct helper *h, int *status)
{
    if (h->pid <= 0 || waitpid(h->pid, status, WNOHANG) != h->pid)
        return false;
    h->pid = 0;
    return true;
}

int helper_pidfd(const struct helper *h)
{
    return (int)syscall(SYS_pidfd_open, h->pid, 0);
}

void helper_finish(struct helper *h)
{
    close_fd(&h->socket);
    close_fd(&h->errors);
    if (h->pid <= 0)
        return;
    helper_signal(h, SIGKILL);
    auto_fd int ended = helper_pidfd(h);
    if (ended >= 0) {
        struct pollfd wait = { .fd = ended, .events = POLLIN };
        poll(&wait, 1, 1000);
    }
    int status;
    waitpid(h->pid, &status, ended >= 0 ? WNOHANG : 0);
    h->pid = 0;
}

void helper_describe_status(int status, char *text, size_t size)
{
    if (WIFSIGNALED(status))
        snprintf(text, size, "killed by signal %s", sigabbrev_np(WTERMSIG(status)));
    else
        snprintf(text, size, "exited with status %d", WEXITSTATUS(status));
}
