#include "launch/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct process {
    int pid, parent;
    char state;
    bool is_ours;
};

struct tree {
    struct process *items;
    size_t count, cap;
};

/* "12 (any name) S 1 ...": the name may have spaces and parentheses. */
static bool read_process(int pid, struct process *out)
{
    char path[32], text[512];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (n <= 0)
        return false;
    text[n] = '\0';
    const char *name_end = strrchr(text, ')');
    *out = (struct process){ .pid = pid };
    return name_end && sscanf(name_end + 1, " %c %d", &out->state, &out->parent) == 2;
}

static bool has_parent_in(const struct tree *tree, const struct process *process)
{
    if (process->parent == getpid())
        return true;
    for (size_t i = 0; i < tree->count; i++)
        if (tree->items[i].is_ours && tree->items[i].pid == process->parent)
            return true;
    return false;
}

/* A child may stand before its parent, so until nothing is added. */
static void mark_ours(struct tree *tree)
{
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < tree->count; i++) {
            struct process *p = &tree->items[i];
            if (!p->is_ours && has_parent_in(tree, p))
                again = p->is_ours = true;
        }
    }
}

static void read_tree(struct tree *tree)
{
    DIR *proc = opendir("/proc");
    if (!proc)
        return;
    for (const struct dirent *entry; (entry = readdir(proc));) {
        int pid = atoi(entry->d_name);
        struct process process;
        if (pid <= 0 || pid == getpid() || !read_process(pid, &process))
            continue;
        GROW(tree->items, tree->count, tree->cap);
        tree->items[tree->count++] = process;
    }
    closedir(proc);
    mark_ours(tree);
}

unsigned tree_count(void)
{
    struct tree tree = { .count = 0 };
    unsigned count = 0;
    read_tree(&tree);
    for (size_t i = 0; i < tree.count; i++)
        count += tree.items[i].is_ours && tree.items[i].state != 'Z';
    free(tree.items);
    return count;
}

/* The descriptor holds on to a process; if it still has the same parent, it is the one
 * that was read. */
static void signal_process(const struct process *process, int signal)
{
    struct process now;
    auto_fd int fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    if (fd < 0 && errno == ENOSYS)
        kill(process->pid, signal);
    else if (fd >= 0 && read_process(process->pid, &now) && now.parent == process->parent)
        syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0);
}

void tree_signal(int signal)
{
    struct tree tree = { .count = 0 };
    read_tree(&tree);
    for (size_t i = 0; i < tree.count; i++)
        if (tree.items[i].is_ours && tree.items[i].state != 'Z')
            signal_process(&tree.items[i], signal);
    free(tree.items);
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* False: there is no child any more. */
static bool reap(void)
{
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        ;
    return pid == 0 || errno == EINTR;
}

/* Who has lost its parent is our child: with no child there is nobody. */
void tree_kill(unsigned timeout_ms)
{
    const struct timespec pause = { .tv_nsec = 1000000 };
    int64_t end = now_ms() + timeout_ms;
    if (reap())
        tree_signal(SIGSTOP);
    while (reap() && now_ms() < end) {
        tree_signal(SIGKILL);
        nanosleep(&pause, NULL);
    }
}
