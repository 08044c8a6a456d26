/*
 * shims.h - the files of [import_overrides]: WORKSPACE/.pyddock/import-overrides/NAME.py,
 * or else the same in the home.
 */
#ifndef POLICY_SHIMS_H
#define POLICY_SHIMS_H

#include "policy/python-setup.h"

#define SHIM_MAX_BYTES ((size_t)1 << 20)

/*
 * Read those that are there; a name without a file is not among them.  Everything lives
 * in `arena`.  ERR_INVALID, ERR_LIMIT, ERR_IO: one is there and cannot be used; it is
 * not passed over for the next place.
 */
MUST_CHECK bool shims_load(const struct policy *policy, struct arena *arena,
        const struct python_shim **out, size_t *count, struct error *err);

#endif
