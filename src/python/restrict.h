/*
 * restrict.h - [restrictions.NAME]: what is left of a module that may be imported.
 *
 * A pattern of module_allow or class_allow must match a whole name; one of module_deny or
 * class_deny its beginning: in doubt the answer is no.  Names with a leading underscore
 * are allowed only by a pattern that begins with one.
 *
 * Methods are guarded in the classes themselves, so that it does not matter how a snippet
 * came by an object; code of libraries finds them unchanged.  Guarded are the classes of
 * the module's package, and those of what an allowed function returns if a snippet cannot
 * import their package (botocore's clients of boto3).  Exceptions are not guarded.
 */
#ifndef PYTHON_RESTRICT_H
#define PYTHON_RESTRICT_H

#include "python/guard.h"

/* The restriction of a module (or of the package it is in), or NULL. */
const struct policy_restriction *restrict_rule(struct str module);

/* Does the rule leave this name of the module? */
bool restrict_shows(const struct policy_restriction *rule, struct str name);

/* Does it leave the way to this module, "boto3.session"? */
bool restrict_shows_module(struct str module);

/* AttributeError with the rule: mode "deny" does not leave the name.  Returns NULL. */
PyObject *restrict_hidden(
        const struct policy_restriction *rule, struct str module, struct str name);

/* `type` with the rule: it does not leave the way to this module.  Returns NULL. */
PyObject *restrict_hidden_module(PyObject *type, struct str module);

/* What a snippet gets for a value that the rule shows, a new reference: itself, or a
 * function that raises PermissionError, or one that guards what it returns. */
PyObject *restrict_value(const struct policy_restriction *rule, struct str module,
        struct str name, PyObject *value);

/* Guard the classes of all loaded modules of the package. */
MUST_CHECK bool restrict_classes(const struct policy_restriction *rule);

#endif
