/*
 * machine.h - a machine in small for the tests of the host view: a workspace with a
 * policy, scripts and a repository, a home with secrets, and something outside of both.
 *
 *   TOP/ws/{a.txt,twin,.git/{config,HEAD},.kiro/settings/mcp.json,.pyddock/{pyddock.toml,
 *           tmp/},tools/jobs/run.sh,link -> TOP/out,nested/{.git/config,.npmrc}}
 *   TOP/home/{public.txt,.npmrc,.ssh/key,.aws/credentials}
 *   TOP/out/{f.txt,key2 (another name of .ssh/key),fifo,zero (a device, if we are root)}
 */
#ifndef TESTS_MACHINE_H
#define TESTS_MACHINE_H

#include "policy/paths.h"

#include <limits.h>
#include <sys/types.h>

struct machine {
    char top[64]; /* real */
    struct arena *arena;
    struct policy policy;
    struct path_policy *paths;
};

/* As `owner` (only root can make it somebody else's). */
void machine_create(struct machine *m, uid_t owner);
void machine_destroy(struct machine *m);

/* "TOP/NAME", in the machine's arena. */
const char *machine_path(const struct machine *m, const char *name);

void machine_write(const struct machine *m, const char *name, const char *text);
bool machine_holds(const struct machine *m, const char *name, const char *text);
bool machine_has(const struct machine *m, const char *name);

#endif
