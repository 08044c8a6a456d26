/*
 * git-config.h - reading a configuration file of git, as git reads it.
 *
 * Sections and keys come in lower case, subsections as they are written.  What git would
 * not accept is an error.  Includes are not followed here.
 */
#ifndef POLICY_GIT_CONFIG_H
#define POLICY_GIT_CONFIG_H

#include "base/arena.h"

#define GIT_CONFIG_MAX_BYTES ((size_t)1 << 20)

struct git_setting {
    struct str section, subsection, key; /* [section "subsection"] key = value */
    struct str value;
    bool has_subsection; /* [section ""] has one */
    bool has_value;      /* false: a key alone, which means true */
    const char *file;
    unsigned line;
};

struct git_settings {
    struct git_setting *items;
    size_t count, cap;
};

/* Append the settings of `text`, which is the content of `file`. */
MUST_CHECK bool git_config_parse(struct str text, const char *file, struct arena *arena,
        struct git_settings *out, struct error *err);

/* Is it [section] key or [section "..."] key? */
bool git_setting_is(const struct git_setting *s, const char *section, const char *key);

/* Values that git takes for a boolean: they name no program. */
bool git_setting_is_boolean(const struct git_setting *s);

#endif
