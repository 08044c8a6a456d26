#include "confine/confine.h"

#include "confine/parts.h"
#include "confine/view.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static bool find_server(int socket, int *pid)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return false;
    *pid = peer.pid;
    return true;
}

bool confine_follow_parent(int parent_pid, struct confine_status *status)
{
    status->parent_error = prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ? errno : 0;
    return getppid() == parent_pid; /* it may have died before the call above */
}

int confine_begin(
        const char *name, int socket, int *server, struct confine_status *status)
{
    if (!find_server(socket, server)) {
        fprintf(stderr, "%s: this program is started by paddock, not by hand\n", name);
        return 2;
    }
    return confine_follow_parent(*server, status) ? 0 : 1;
}

static void close_between(unsigned first, unsigned last)
{
    if (first > last || !close_range(first, last, 0))
        return;
    /* Before Linux 5.9. */
    long max = sysconf(_SC_OPEN_MAX);
    for (unsigned fd = first; fd <= last && (long)fd < max; fd++)
        close((int)fd);
}

void confine_close_others(const int *keep, size_t count)
{
    unsigned next = 3;
    for (size_t i = 0; i < count; i++) {
        if (keep[i] < (int)next)
            continue;
        close_between(next, (unsigned)keep[i] - 1);
        next = (unsigned)keep[i] + 1;
    }
    close_between(next, UINT_MAX);
}

static void restrict_files(
        const struct confine_request *request, struct confine_status *status)
{
    int abi = landlock_abi(&status->landlock_error);
    if (request->max_landlock && abi > request->max_landlock)
        abi = request->max_landlock;
    status->landlock_abi = abi;
    if (abi)
        status->landlock_error = landlock_restrict(request, abi);
}

static bool has_writable_root(const struct confine_request *request)
{
    for (size_t i = 0; i < request->root_count; i++)
        if (request->roots[i].writable)
            return true;
    return false;
}

static void restrict_calls(
        const struct confine_request *request, struct confine_status *status)
{
    bool has_view = request->view && status->wants_view && !status->view_error;
    struct seccomp_profile profile = {
        .may_write = has_writable_root(request),
        .interpreter = request->interpreter,
        .passes_descriptors = request->passes_descriptors,
        .network = request->network,
        .by_path = has_view,
        .truncates = has_view || (status->landlock_abi >= 3 && !status->landlock_error),
        .seals = request->interpreter && !(has_view && request->view->no_programs),
    };
    status->is_interpreter = request->interpreter;
    status->needs_seal = profile.seals;
    status->no_truncates = request->interpreter;
    status->seccomp_error = seccomp_restrict(&profile);
}

void confine_self(const struct confine_request *request, struct confine_status *status)
{
    status->no_memory_limit = !request->max_memory || !memory_limit_possible();
    status->memory_error = limit_resources(request);
    status->privileges_error =
            drop_privileges(request->no_capabilities ? 0 : FILE_CAPABILITIES, 0);
    if (request->interpreter)
        refuse_written_code();
    restrict_files(request, status);
    restrict_calls(request, status); /* last: it refuses what came before */
    canaries_run(request, status);
}

void confine_before_forks(bool keep_files, struct confine_status *status)
{
    const struct confine_request no_core = { .max_files = 0 };
    status->memory_error = limit_resources(&no_core);
    status->privileges_error = drop_privileges(keep_files ? FILE_CAPABILITIES : 0, 0);
}

int confine_seal(void)
{
    return seccomp_seal();
}
