/*
 * parts.h - the mechanisms behind confine.h, one file each; used inside confine/ and by
 * its tests.  The functions return 0 or the errno that stopped them.
 */
#ifndef CONFINE_PARTS_H
#define CONFINE_PARTS_H

#include "confine/confine.h"

/* landlock.c: the ABI version the kernel offers, or 0 (`*error` says why). */
int landlock_abi(int *error);

/* Restrict this thread to the roots; needs no_new_privs. */
MUST_CHECK int landlock_restrict(const struct confine_root *roots, size_t count, int abi);

/* seccomp.c: install the filter for workers; needs no_new_privs.  Who may not write
 * changes no modes, owners, times and attributes either. */
MUST_CHECK int seccomp_restrict(bool may_write);

/* limits.c */
MUST_CHECK int limit_resources(const struct confine_request *request);

/* No new privileges, not dumpable, and no capability but those that decide about files,
 * or none at all. */
MUST_CHECK int drop_privileges(bool no_capabilities);

/* Memory limits would stop the sanitizers' shadow memory. */
bool memory_limit_possible(void);

/* canary.c: try one forbidden thing for each property and note what happened. */
void canaries_run(const struct confine_request *request, struct confine_status *status);

#endif
