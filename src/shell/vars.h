/*
 * vars.h - shell variables: scalars, indexed and associative arrays, attributes, scopes.
 *
 * A `struct vars` is a stack of scopes (global, then one per function call or prefix
 * assignment).  A subshell takes vars_fork(): values are shared copy-on-write.
 */
#ifndef SHELL_VARS_H
#define SHELL_VARS_H

#include "base/arena.h"
#include "base/str.h"

struct vars;

enum var_flags {
    VAR_EXPORT = 1 << 0,
    VAR_READONLY = 1 << 1,
    VAR_INTEGER = 1 << 2,
    VAR_LOWER = 1 << 3,
    VAR_UPPER = 1 << 4,
    VAR_NAMEREF = 1 << 5,
    VAR_INDEXED = 1 << 6,  /* an indexed array */
    VAR_ASSOC = 1 << 7,    /* an associative array */
    VAR_DECLARED = 1 << 8, /* declared without a value: unset for ${x-} */
    VAR_CAPITAL = 1 << 9,  /* declare -c: the first letter is a capital, the rest small */
    VAR_TRACED = 1 << 10,  /* declare -t: kept and shown, without effect */
};

struct vars *vars_create(void);
struct vars *vars_fork(struct vars *parent); /* independent from now on */
void vars_destroy(struct vars *v);

/* Scopes: push before a function call, pop after it (its locals are gone then). */
void vars_push(struct vars *v);
void vars_pop(struct vars *v);
size_t vars_depth(const struct vars *v);

/* The value (element 0 of an array; namerefs followed); false if unset.  The view is
 * valid until the variable is changed. */
bool vars_get(struct vars *v, struct str name, struct str *out);
bool vars_get_index(struct vars *v, struct str name, int64_t index, struct str *out);
bool vars_get_key(struct vars *v, struct str name, struct str key, struct str *out);

/* The attributes of `name` itself (a nameref is not followed); -1: no such variable. */
int vars_flags(struct vars *v, struct str name);

/* The largest index of an indexed array + 1; of a scalar 1, of nothing 0. */
int64_t vars_end(struct vars *v, struct str name);

/* How many elements; 1 for a scalar, 0 if unset. */
size_t vars_count(struct vars *v, struct str name);

/* Keys (as text) and values of an array in order (indexed by number, assoc as bash has
 * it); either output may be NULL. */
void vars_elements(struct vars *v, struct str name, struct arena *arena,
        struct str **keys, struct str **values, size_t *count);

/*
 * Setting.  All fail with ERR_DENIED for a read-only variable, ERR_INVALID for a bad name
 * or subscript; the message is bash's ("x: readonly variable").  A scalar that gets an
 * index becomes an indexed array; a scalar set on an array sets element 0 (key "0").
 * Negative indexes count from the end.  VAR_INTEGER values are evaluated by the caller
 * (expand.h); case attributes are applied here.  A set without vars_local() changes the
 * innermost scope that has the name, else the global one.
 */
MUST_CHECK bool vars_set(
        struct vars *v, struct str name, struct str value, struct error *err);
MUST_CHECK bool vars_append(
        struct vars *v, struct str name, struct str value, struct error *err);
MUST_CHECK bool vars_set_index(struct vars *v, struct str name, int64_t index,
        struct str value, struct error *err);
MUST_CHECK bool vars_set_key(struct vars *v, struct str name, struct str key,
        struct str value, struct error *err);

/* Make (or find) the name in the innermost scope: `local`, prefix assignments. */
MUST_CHECK bool vars_local(struct vars *v, struct str name, struct error *err);

/* Add and remove attributes, creating a declared variable if needed.  VAR_INDEXED and
 * VAR_ASSOC make an array of it (a scalar becomes its element 0); adding or removing
 * VAR_NAMEREF changes `name` itself, everything else what it leads to. */
MUST_CHECK bool vars_set_flags(struct vars *v, struct str name, enum var_flags add,
        enum var_flags remove, struct error *err);

/* Give `name` itself, which exists, exactly these attributes; its value stays as it is,
 * and so does the kind of it.  VAR_DECLARED counts only where there is no value. */
void vars_mark(struct vars *v, struct str name, enum var_flags flags);

/* Make `name` a nameref to `target`: a name, or name[subscript]. */
MUST_CHECK bool vars_set_nameref(
        struct vars *v, struct str name, struct str target, struct error *err);

/* Empty an array (making it one). */
MUST_CHECK bool vars_clear_array(
        struct vars *v, struct str name, bool assoc, struct error *err);

/* Unsetting what is not set is no failure.  A local of the innermost scope stays local,
 * without value and attributes.  vars_unset follows a nameref, vars_unset_self does not.
 */
MUST_CHECK bool vars_unset(struct vars *v, struct str name, struct error *err);
MUST_CHECK bool vars_unset_self(struct vars *v, struct str name, struct error *err);
MUST_CHECK bool vars_unset_element(
        struct vars *v, struct str name, struct str key, struct error *err);

/* What a nameref leads to (itself if it is none): a name or name[subscript], in `arena`;
 * "" for a circle. */
struct str vars_target(struct vars *v, struct str name, struct arena *arena);

/* What the nameref `name` itself holds; "" if it is none or has no target. */
struct str vars_nameref(struct vars *v, struct str name);

/* Those of the innermost scope, sorted, in `arena`. */
void vars_local_names(
        struct vars *v, struct arena *arena, struct str **names, size_t *count);

/* Names that begin with `prefix`, sorted, in `arena`. */
void vars_names(struct vars *v, struct str prefix, struct arena *arena,
        struct str **names, size_t *count);

bool var_name_is_valid(struct str name);

/* Bytes held by values (those shared with other shells too), for the memory budget. */
size_t vars_memory(const struct vars *v);

#endif
