/*
 * location.h - what a ROOT or a mount names: a folder of this machine, or a store.
 *
 * A text with a scheme ("memory://scratch") is a URL, anything else is a path.
 */
#ifndef CLI_LOCATION_H
#define CLI_LOCATION_H

#include "policy/setup.h"

struct location {
    enum setup_root_kind kind;
    const char *path; /* local; looks into the text that was parsed */
};

/* ERR_UNSUPPORTED: a scheme that this build cannot serve. */
MUST_CHECK bool location_parse(const char *text, struct location *out, struct error *err);

/*
 * Make it a root: a folder is opened (O_PATH, the caller closes root->fd) and its real
 * path found.  Fills all but `at`.
 */
MUST_CHECK bool location_open(const struct location *location, struct arena *arena,
        struct setup_root *root, struct error *err);

#endif
