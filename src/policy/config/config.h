/*
 * config.h - from the files of a workspace to its policy.
 *
 * Base: WORKSPACE/.pyddock/pyddock.toml if it is a file, else the policy that is built
 * in; over it WORKSPACE/.pyddock/pyddock.override.toml, merged by key (tables merge,
 * anything else replaces; base keys keep their place, new ones come last).  Reading is
 * strict: unknown key, wrong type, unknown word, pattern that does not compile, missing
 * section are errors, and the message is one line with file, line and key.
 */
#ifndef POLICY_CONFIG_H
#define POLICY_CONFIG_H

#include "policy/policy.h"

#define CONFIG_MAX_BYTES ((size_t)1 << 20) /* of one file */

struct config_request {
    const char *workspace; /* a folder; may be relative */
    const char *file;      /* instead of base and overlay (`run --config`), or NULL */
    const char *home;      /* $HOME, or NULL */
};

/*
 * ERR_NOT_FOUND: no such workspace; ERR_INVALID: the message begins with "FILE:LINE: ".
 */
MUST_CHECK bool config_load(const struct config_request *request, struct arena *arena,
        struct policy **out, struct error *err);

/* The effective policy as TOML, each line with a comment that says where it comes from.
 */
void config_show(const struct policy *policy, struct buf *out);

#endif
