/*
 * parts.h - the mechanisms behind confine.h, one file each; used inside confine/, by the
 * launcher, which puts them together in its own way, and by tests.  The functions return
 * 0 or the errno that stopped them.
 */
#ifndef CONFINE_PARTS_H
#define CONFINE_PARTS_H

#include "confine/confine.h"

#include <linux/capability.h>

/* landlock.c: the ABI version the kernel offers, or 0 (`*error` says why). */
int landlock_abi(int *error);

enum landlock_access {
    LANDLOCK_READ = 1 << 0,    /* files and listings */
    LANDLOCK_EXECUTE = 1 << 1, /* as a program */
    LANDLOCK_WRITE = 1 << 2,   /* of files, and make, move and remove what is no device */
    LANDLOCK_SPECIAL = 1 << 3, /* make sockets and FIFOs, too */
    LANDLOCK_DEVICE = 1 << 4,  /* it is a device: write and control it */
};

struct landlock_rule {
    int fd; /* of the file or folder */
    enum landlock_access access;
};

struct landlock_rules {
    const struct landlock_rule *items;
    size_t count;
    bool tcp;              /* is not restricted */
    bool connects;         /* TCP goes out, and nothing comes in */
    const uint16_t *ports; /* with connects: to these only; none: to all */
    size_t port_count;
};

/* Allow this thread what the rules say, and no more; needs no_new_privs. */
MUST_CHECK int landlock_apply(const struct landlock_rules *rules, int abi);

/* The same for the roots of a worker: nothing is run, nothing special is made.  With
 * network TCP goes out, but nothing is bound. */
MUST_CHECK int landlock_restrict(const struct confine_request *request, int abi);

/* seccomp.c: install the filter of a worker, a client, or an interpreter; needs
 * no_new_privs. */
struct seccomp_profile {
    bool may_write; /* else no modes, owners, times and attributes are changed either */
    bool passes_descriptors;
    bool network;
    bool interpreter;
    /* Of an interpreter: */
    bool by_path;   /* modes and times; something else holds them outside */
    bool truncates; /* the same about truncate() */
    bool seals;     /* it will call seccomp_seal() */
};
MUST_CHECK int seccomp_restrict(const struct seccomp_profile *profile);

/* seccomp-python.c: from now on no thread maps anything as code. */
MUST_CHECK int seccomp_seal(void);

/* seccomp-command.c: the filter for commands.  `may_trace`: something else decides who
 * may look into whom. */
MUST_CHECK int seccomp_restrict_command(bool network, bool may_trace);

/* limits.c */
MUST_CHECK int limit_resources(const struct confine_request *request);

/* Of a command; 0: leave it. */
struct command_limits {
    uint64_t max_file_size;
    unsigned max_processes;
};
MUST_CHECK int limit_command(const struct command_limits *limits);

/*
 * What lets root act on files as root is expected to: without DAC_OVERRIDE uid 0 could
 * not even write a file of the user whose folder it serves, without FOWNER not keep its
 * mode and times, without CHOWN not its owner when it is replaced.  Landlock still
 * decides which files.  FSETID is not among them: so the kernel takes the set-id bits off
 * a file as soon as something is written into it.  DAC_READ_SEARCH is not either: it
 * would allow open_by_handle_at, which knows no folders.
 */
#define FILE_CAPABILITIES (1u << CAP_CHOWN | 1u << CAP_DAC_OVERRIDE | 1u << CAP_FOWNER)

/* No new privileges, not dumpable, and no capability but `kept`; of these the programs
 * that it starts can have no more than `passed_on`. */
MUST_CHECK int drop_privileges(uint32_t kept, uint32_t passed_on);

/* No memory becomes code that was written before (PR_SET_MDWE); kernels before 6.3 have
 * the filter only. */
void refuse_written_code(void);

/* Memory limits would stop the sanitizers' shadow memory. */
bool memory_limit_possible(void);

/* canary.c: try one forbidden thing for each property and note what happened. */
void canaries_run(const struct confine_request *request, struct confine_status *status);

#endif
