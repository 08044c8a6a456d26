#include "confine/parts.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_SHADOW_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_SHADOW_MEMORY 1
#endif
#endif

/* Threads that may be made beyond those that exist on the whole machine now. */
#define SPARE_THREADS 512

bool memory_limit_possible(void)
{
#ifdef HAS_SHADOW_MEMORY
    return false;
#else
    return true;
#endif
}

static int set_limit(int resource, uint64_t value)
{
    struct rlimit limit;
    if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
        return errno;
    if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < value)
        value = limit.rlim_max;
    limit = (struct rlimit){ .rlim_cur = value, .rlim_max = value };
    return setrlimit((__rlimit_resource_t)resource, &limit) < 0 ? errno : 0;
}

/*
 * RLIMIT_NPROC counts the threads of the user, wherever they run, and never binds root.
 * So it cannot be small; it only keeps a runaway helper from taking them all.
 */
static int limit_threads(void)
{
    struct sysinfo info;
    if (sysinfo(&info) < 0)
        return errno;
    return set_limit(RLIMIT_NPROC, (uint64_t)info.procs + SPARE_THREADS);
}

int limit_resources(const struct confine_request *request)
{
    int error = set_limit(RLIMIT_CORE, 0);
    if (!error && request->max_files)
        error = set_limit(RLIMIT_NOFILE, request->max_files);
    if (!error && request->max_file_size)
        error = set_limit(RLIMIT_FSIZE, request->max_file_size);
    if (!error)
        error = limit_threads();
    /* DATA bounds private memory, so that big files can still be mapped for reading; the
     * filter refuses shared anonymous memory, which DATA does not count. */
    if (!error && request->max_memory && memory_limit_possible())
        error = set_limit(RLIMIT_DATA, request->max_memory);
    return error;
}

/* No more than we have already. */
static int limit_files(unsigned soft, unsigned hard)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return errno;
    if (limit.rlim_max > hard)
        limit.rlim_max = hard;
    limit.rlim_cur = limit.rlim_max < soft ? limit.rlim_max : soft;
    return setrlimit(RLIMIT_NOFILE, &limit) < 0 ? errno : 0;
}

/* The server may have raised its own number of files to the utmost; programs that close
 * everything, or select(), do not take it well. */
#define COMMAND_FILES     4096
#define MAX_COMMAND_FILES 65536

int limit_command(const struct command_limits *limits)
{
    int error = set_limit(RLIMIT_CORE, 0);
    if (!error)
        error = limit_files(COMMAND_FILES, MAX_COMMAND_FILES);
    if (!error && limits->max_file_size)
        error = set_limit(RLIMIT_FSIZE, limits->max_file_size);
    if (!error && limits->max_processes)
        error = set_limit(RLIMIT_NPROC, limits->max_processes);
    return error;
}

static int drop_capabilities(uint32_t kept, uint32_t passed_on)
{
    int has;
    for (int cap = 0; (has = prctl(PR_CAPBSET_READ, cap, 0, 0, 0)) >= 0; cap++) {
        bool is_passed_on = cap < 32 && passed_on >> cap & 1;
        if (has && !is_passed_on && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
            break; /* not privileged: no_new_privs makes the set moot */
    }
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);

    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2] = { 0 };
    if (syscall(SYS_capget, &header, data) < 0)
        return errno;
    data[0].effective &= kept;
    data[0].permitted &= kept;
    data[0].inheritable = 0;
    data[1] = (struct __user_cap_data_struct){ 0 };
    return syscall(SYS_capset, &header, data) < 0 ? errno : 0;
}

int drop_privileges(uint32_t kept, uint32_t passed_on)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return errno;
    int error = drop_capabilities(kept, passed_on);
    if (!error && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        error = errno;
    return error;
}

void refuse_written_code(void)
{
    enum { SET_MDWE = 65, REFUSE_EXEC_GAIN = 1 }; /* newer than the headers */
    prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0);
}
