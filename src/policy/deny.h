/*
 * deny.h - names that a view does not have: `.env`, `*.key`, `.git`, ...
 *
 * A rule is a glob (`*`, `?`, `[...]`, `[!...]`) matched against every single component
 * of a path, ignoring letter case; a path with a matching component is denied for every
 * use.  The rules are read once and never change.
 *
 * "Ignoring case" means ASCII letters, plus the other characters that Unicode folds to
 * them (the Kelvin sign to k, the long s to s, the sharp s to ss, ligatures), and
 * invisible characters are skipped: on a file system that ignores case, `.GIT` and
 * `.g<ZWNJ>it` open `.git`.  Letters beyond ASCII are compared as they are.
 */
#ifndef POLICY_DENY_H
#define POLICY_DENY_H

#include "base/arena.h"
#include "base/str.h"

struct deny_rules {
    const struct str *patterns;
    size_t count;
};

/* The built-in names first, then `extra` (NULL-terminated; NULL: none); in `arena`.
 * ERR_INVALID: a pattern is empty, contains '/', or is nothing but stars. */
MUST_CHECK bool deny_rules_build(const char *const *extra, struct arena *arena,
        struct deny_rules *out, struct error *err);

/* The pattern that denies this component, or NULL.  `rules` may be NULL. */
const struct str *deny_match(const struct deny_rules *rules, struct str component);

/* The same for any component of a path. */
const struct str *deny_match_path(const struct deny_rules *rules, struct str path);

/*
 * Glob match of one component; `fold` ignores case as said above.  `?` and `[...]` take
 * one character (a byte where the text is not UTF-8).  Time is at most pattern times
 * text, whatever the number of stars.
 */
bool glob_component_match(struct str pattern, struct str text, bool fold);

/*
 * `text` as it is compared when case is ignored: letters folded, invisible characters
 * left out.  `out` has room for as many bytes; returns how many there are.
 */
size_t deny_fold(struct str text, char *out);

#endif
