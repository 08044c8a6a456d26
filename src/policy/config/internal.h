/*
 * internal.h - between the parts that read the configuration.
 *
 * A reader looks at one value, fills its place in the policy, or says what is wrong with
 * the line.  A section is a table of keys, each with its reader (conf_section), so that a
 * key that is not in the table is an error by itself.
 */
#ifndef POLICY_CONFIG_INTERNAL_H
#define POLICY_CONFIG_INTERNAL_H

#include "policy/config/config.h"
#include "policy/config/toml.h"
#include "policy/pyre/pyre.h"

struct conf {
    struct arena *arena;
    struct error *err;
    struct policy *policy;
    const char *home;     /* $HOME, or NULL */
    const char *files[2]; /* that were read, absolute */
    size_t file_count;
    struct policy_text *warnings; /* becomes policy->warnings */
    size_t warning_count, warning_cap;
};

/* "FILE:LINE: [section] key: what" on one line; `key` may be empty.  Returns false. */
bool conf_fail(struct conf *c, struct origin at, const char *section, struct str key,
        const char *fmt, ...) PRINTF(5, 6);
bool conf_fail_item(struct conf *c, const char *section, const struct toml_item *item,
        const char *fmt, ...) PRINTF(4, 5);

/* "shell.git": the name of a section within a section. */
const char *conf_name(struct conf *c, const char *section, struct str key);

/* What works but is not what the writer meant. */
void conf_warn(struct conf *c, struct origin at, const char *fmt, ...) PRINTF(3, 4);

typedef bool conf_reader(
        struct conf *c, const char *section, const struct toml_item *item, void *to);

struct conf_key {
    const char *name;
    conf_reader *read;
    size_t offset; /* of the value in what is filled */
};

/* Read the table `item` by `keys` into `to`. */
MUST_CHECK bool conf_section(struct conf *c, const char *section,
        const struct toml_item *item, const struct conf_key *keys, size_t count,
        void *to);

/* Says that there is no such key, and which one may have been meant.  Returns false. */
bool conf_unknown(struct conf *c, const char *section, const struct toml_item *item,
        const struct conf_key *keys, size_t count);

/* The same for a table whose keys are names of a user: `read` fills element after element
 * of `size` bytes, in order. */
MUST_CHECK bool conf_each(struct conf *c, const char *section,
        const struct toml_item *item, conf_reader *read, size_t size, void *out,
        size_t *count);

/* Is the value of that type?  Says so if not. */
MUST_CHECK bool conf_type(struct conf *c, const char *section,
        const struct toml_item *item, enum toml_type type, const char *wanted);

/* One of `words`: its index. */
MUST_CHECK bool conf_word(struct conf *c, const char *section,
        const struct toml_item *item, const char *const *words, size_t count,
        unsigned *out);

/* Compile `text`, which stands in `item`. */
MUST_CHECK bool conf_regex(struct conf *c, const char *section,
        const struct toml_item *item, struct str text, enum pyre_flags flags,
        struct policy_regex *out);

conf_reader conf_bool;         /* bool */
conf_reader conf_text;         /* struct str */
conf_reader conf_texts;        /* struct policy_texts */
conf_reader conf_regexes;      /* struct policy_regexes */
conf_reader conf_regexes_fold; /* the same, ignoring case */
conf_reader conf_mode;         /* enum policy_mode */
conf_reader conf_sandbox;      /* enum policy_sandbox */

/* A whole number within bounds. */
MUST_CHECK bool conf_count(struct conf *c, const char *section,
        const struct toml_item *item, int64_t min, int64_t max, int64_t *out);

/* Without a sandbox nobody holds `network = false`: false, and a mistake. */
MUST_CHECK bool conf_network(struct conf *c, const char *section, struct origin at,
        bool network, enum policy_sandbox sandbox);

/* A table with a mode has to say which. */
MUST_CHECK bool conf_has_mode(
        struct conf *c, const char *section, const struct toml_item *item);

/* The sections; `to` is the struct policy. */
conf_reader conf_execution, conf_imports, conf_filesystem, conf_ast, conf_audit,
        conf_restrictions, conf_import_overrides, conf_shells, conf_env,
        conf_deny_messages, conf_mcp, conf_audit_log, conf_tools;

/* Of a list of folders: entries `*out`. */
MUST_CHECK bool conf_paths(struct conf *c, const char *section,
        const struct toml_item *item, struct policy_path **out, size_t *count);

/* "~" and what is relative to the workspace become absolute; not resolved. */
struct str conf_absolute(const struct conf *c, struct str path);

/* What follows from all sections together, and what they must agree on. */
MUST_CHECK bool conf_overrides_check(struct conf *c);
void conf_protect(struct conf *c);
MUST_CHECK bool conf_audit_log_check(struct conf *c);

/*
 * The folders or files, relative to the workspace or absolute, where a path-like command
 * pattern finds its programs; count 0: it is not path-like.
 */
struct conf_scripts {
    struct str *items;
    size_t count;
};
struct conf_scripts conf_script_places(struct str pattern, struct arena *arena);

/* An empty policy for a workspace; then what a tree says. */
MUST_CHECK bool conf_begin(struct conf *c, const char *workspace, const char *home);
MUST_CHECK bool conf_build(struct conf *c, const struct toml_value *root);

/* Base and overlay as one tree. */
struct toml_value conf_merge(const struct toml_value *base, const struct toml_value *over,
        struct arena *arena);

/* ERR_NOT_FOUND: there is no such file. */
MUST_CHECK bool conf_read_file(const char *path, const char *name, struct arena *arena,
        struct toml_value *out, struct error *err);

#endif
