#include "confine/parts.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Our own copy of the kernel's interface: distributions ship headers that are older than
 * the kernels they run on (Debian 12: ABI 2).  Numbers are the same on every
 * architecture.
 */
enum {
    NR_LANDLOCK_CREATE_RULESET = 444,
    NR_LANDLOCK_ADD_RULE = 445,
    NR_LANDLOCK_RESTRICT_SELF = 446,
    CREATE_RULESET_VERSION = 1 << 0,
    RULE_PATH_BENEATH = 1,
    RULE_NET_PORT = 2,
};

enum fs_rights {
    FS_EXECUTE = 1 << 0,
    FS_WRITE_FILE = 1 << 1,
    FS_READ_FILE = 1 << 2,
    FS_READ_DIR = 1 << 3,
    FS_REMOVE_DIR = 1 << 4,
    FS_REMOVE_FILE = 1 << 5,
    FS_MAKE_CHAR = 1 << 6,
    FS_MAKE_DIR = 1 << 7,
    FS_MAKE_REG = 1 << 8,
    FS_MAKE_SOCK = 1 << 9,
    FS_MAKE_FIFO = 1 << 10,
    FS_MAKE_BLOCK = 1 << 11,
    FS_MAKE_SYM = 1 << 12,
    FS_REFER = 1 << 13,     /* ABI 2: rename and link between directories */
    FS_TRUNCATE = 1 << 14,  /* ABI 3 */
    FS_IOCTL_DEV = 1 << 15, /* ABI 5 */
};

#define FS_ABI_1 ((FS_MAKE_SYM << 1) - 1)
#define FS_READ  (FS_READ_FILE | FS_READ_DIR)
/* Neither devices, sockets nor FIFOs are made in a root, and nothing in it is run. */
#define FS_WRITE                                                                  \
    (FS_WRITE_FILE | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR | FS_MAKE_REG | \
            FS_MAKE_SYM | FS_REFER | FS_TRUNCATE)

/* What a rule about a file may say; the others are about what is in a folder. */
#define FS_OF_FILES \
    (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)

enum { NET_BIND_TCP = 1 << 0, NET_CONNECT_TCP = 1 << 1 };     /* ABI 4 */
enum { SCOPE_ABSTRACT_UNIX = 1 << 0, SCOPE_SIGNAL = 1 << 1 }; /* ABI 6 */

struct ruleset_attr {
    uint64_t handled_fs;
    uint64_t handled_net;
    uint64_t scoped;
};

struct path_beneath_attr {
    uint64_t allowed;
    int32_t parent_fd;
} __attribute__((packed));

struct net_port_attr {
    uint64_t allowed;
    uint64_t port;
};

int landlock_abi(int *error)
{
    long abi = syscall(NR_LANDLOCK_CREATE_RULESET, NULL, 0, CREATE_RULESET_VERSION);
    if (abi > 0)
        return (int)abi;
    *error = abi < 0 ? errno : ENOSYS;
    return 0;
}

static uint64_t fs_rights(int abi)
{
    uint64_t rights = FS_ABI_1;
    if (abi >= 2)
        rights |= FS_REFER;
    if (abi >= 3)
        rights |= FS_TRUNCATE;
    if (abi >= 5)
        rights |= FS_IOCTL_DEV;
    return rights;
}

/* An old kernel refuses a struct with fields that it does not know, unless they are 0. */
static int create_ruleset(const struct landlock_rules *rules, int abi)
{
    struct ruleset_attr attr = { .handled_fs = fs_rights(abi) };
    if (abi >= 4 && !rules->tcp)
        attr.handled_net = NET_BIND_TCP |
                           (rules->connects && !rules->port_count ? 0 : NET_CONNECT_TCP);
    if (abi >= 6)
        attr.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
    return (int)syscall(NR_LANDLOCK_CREATE_RULESET, &attr, sizeof(attr), 0);
}

static uint64_t rights_of(enum landlock_access access)
{
    uint64_t rights = 0;
    if (access & LANDLOCK_READ)
        rights |= FS_READ;
    if (access & LANDLOCK_EXECUTE)
        rights |= FS_EXECUTE;
    if (access & LANDLOCK_WRITE)
        rights |= FS_WRITE;
    if (access & LANDLOCK_SPECIAL)
        rights |= FS_MAKE_SOCK | FS_MAKE_FIFO;
    if (access & LANDLOCK_DEVICE)
        rights |= FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV;
    return rights;
}

static bool is_folder(int fd)
{
    struct stat st;
    return !fstat(fd, &st) && S_ISDIR(st.st_mode);
}

static int add_rule(int ruleset, const struct landlock_rule *rule, int abi)
{
    struct path_beneath_attr attr = {
        .allowed = rights_of(rule->access) & fs_rights(abi),
        .parent_fd = rule->fd,
    };
    if (!is_folder(rule->fd))
        attr.allowed &= FS_OF_FILES;
    if (syscall(NR_LANDLOCK_ADD_RULE, ruleset, RULE_PATH_BENEATH, &attr, 0) < 0)
        return errno;
    return 0;
}

static int add_port(int ruleset, uint16_t port)
{
    struct net_port_attr attr = { .allowed = NET_CONNECT_TCP, .port = port };
    if (syscall(NR_LANDLOCK_ADD_RULE, ruleset, RULE_NET_PORT, &attr, 0) < 0)
        return errno;
    return 0;
}

static int add_rules(int ruleset, const struct landlock_rules *rules, int abi)
{
    int error = 0;
    for (size_t i = 0; i < rules->count && !error; i++)
        error = add_rule(ruleset, &rules->items[i], abi);
    if (abi >= 4 && !rules->tcp && rules->connects)
        for (size_t i = 0; i < rules->port_count && !error; i++)
            error = add_port(ruleset, rules->ports[i]);
    return error;
}

int landlock_apply(const struct landlock_rules *rules, int abi)
{
    auto_fd int ruleset = create_ruleset(rules, abi);
    if (ruleset < 0)
        return errno;
    int error = add_rules(ruleset, rules, abi);
    if (error)
        return error;
    return syscall(NR_LANDLOCK_RESTRICT_SELF, ruleset, 0) < 0 ? errno : 0;
}

int landlock_restrict(const struct confine_request *request, int abi)
{
    size_t count = request->root_count;
    auto_free struct landlock_rule *items = xcalloc(count + 1, sizeof(*items));
    for (size_t i = 0; i < count; i++)
        items[i] = (struct landlock_rule){ .fd = request->roots[i].fd,
            .access = LANDLOCK_READ | (request->roots[i].writable ? LANDLOCK_WRITE : 0) };
    const struct landlock_rules rules = {
        .items = items,
        .count = count,
        .connects = request->network,
        .ports = request->ports,
        .port_count = request->port_count,
    };
    return landlock_apply(&rules, abi);
}
