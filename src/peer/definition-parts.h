/* definition-parts.h - the steps of definition.c, one file each. */
#ifndef PEER_DEFINITION_PARTS_H
#define PEER_DEFINITION_PARTS_H

#include "base/json.h"
#include "peer/definition.h"
#include "policy/paths.h"

#define DEFINITION_MAX_STRING ((size_t)128 << 10) /* the kernel's limit for one */
#define DEFINITION_MAX_ITEMS  1000                /* arguments, variables, headers */

struct definition_loader {
    struct policy *policy;
    const struct path_policy *paths; /* without what the definitions protect */
    struct kernel_rules rules;       /* of these */
    const char *home;                /* or NULL */
    char *const *environment;
    const char *const *base_env; /* what every server is given, NULL-terminated */
    struct arena *arena;
    struct policy_text *warnings;
    size_t warning_count, warning_cap;
};

void definition_warn(struct definition_loader *l, struct origin at, const char *fmt, ...)
        PRINTF(3, 4);

/* What one file says of one server. */
struct definition_source {
    const json_t *server; /* borrowed; NULL: nothing */
    struct origin origin;
    const char *path; /* of the file */
    bool ambiguous;   /* the file says two things */
};

/*
 * definition-file.c: the servers of a text.  ERR_INVALID, ERR_LIMIT: it is no definition
 * file; the message is one line.  The caller owns `*out`.
 */
MUST_CHECK bool definition_parse(struct str text, json_t **out, struct error *err);
void definition_find(const json_t *file, struct str text, struct str name,
        struct definition_source *out);

/*
 * definition-server.c: a definition as it is started, or why not.  Nothing is looked for
 * on the machine.  `out->program` is the command as it is written.
 */
MUST_CHECK bool definition_read(const struct definition_loader *l,
        const struct definition_source *source, const struct policy_mcp *section,
        struct peer_definition *out, struct error *err);

/* definition-program.c: find the program, and protect what it is started from; of a
 * server that has a URL, the file that says whom to trust. */
MUST_CHECK bool definition_resolve(
        struct definition_loader *l, struct peer_definition *d, struct error *err);

/*
 * definition-guard.c: may agents write `path` (absolute), or make its name lead
 * elsewhere?  Then `*entry` is what they could change, and `help` says what keeps them
 * from it: the line of [filesystem.guards], if there is one.
 */
bool definition_is_writable(const struct definition_loader *l, const char *path,
        const char **entry, struct buf *help);

/* Is there a link on the way, `*link`, that agents could make lead elsewhere? */
bool definition_link_is_free(
        const struct definition_loader *l, const char *path, const char **link);

#endif
