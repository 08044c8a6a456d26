/*
 * guard.h - the rules of this process, for all parts that enforce them.
 *
 * Everything here is C: there is no Python frame, closure or dictionary that a snippet
 * could look into, and the kernel holds the bounds all the same (confine/).  What this
 * layer adds is the rules that the kernel cannot know (who calls, which module) and
 * errors that say what the rule is.
 *
 * The parts, and who calls them:
 *   hook.h     the audit hook: each event, by the table [audit]
 *   caller.h   whose code is it: the snippet's, a trusted library's?
 *   imports.h  __import__, what is allowed, the views of modules that a snippet gets
 *   restrict.h [restrictions.NAME], what is left of a module and its classes
 *   reflect.h  block_attributes at run time
 *   overrides.h [import_overrides], what is there instead of a module
 *   rules.h    [ast], before anything runs
 *   *_view     modules that a snippet gets instead of the real ones: sys, os, ...
 * All errors are Python exceptions; functions that may raise one say so.
 */
#ifndef PYTHON_GUARD_H
#define PYTHON_GUARD_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "base/arena.h"
#include "policy/python-setup.h"

/* Tests of what the kernel, or the server, holds by itself have a program without any
 * rule. */
#ifdef PYTHON_WITHOUT_RULES
#define HAS_RULES false
#else
#define HAS_RULES true
#endif

#define SNIPPET_NAME "<snippet>" /* the file name of a snippet's code */

struct guard {
    const struct python_setup *setup; /* borrowed for the life of the process */
    struct arena *arena;              /* as long as the process */
    bool armed;       /* rules are enforced; before that only our own code runs */
    bool fixed_modes; /* nobody may change modes and times of files, see modes.h */
    int broker;       /* descriptor of the socket to the server's broker, or -1 */
    int events;       /* descriptor that events are told on, or -1 */
};
extern struct guard guard;

/*
 * Rules are off for what we do ourselves between these two, in this thread.  Nothing that
 * a snippet can influence may run in between: no attribute of its objects, no __del__.
 */
void guard_enter(void);
void guard_leave(void);
bool guard_is_inside(void);

/* Raise `type` (PyExc_PermissionError, ...) with the text of the refusal, and `errno` as
 * EACCES if it is an OSError.  Returns NULL. */
PyObject *guard_refuse(PyObject *type, const struct refusal *why);

/* Something was refused that is told in other ways than by guard_refuse(). */
void guard_note_rule(struct str rule, const struct origin *origin);

/* The same, of a rule whose place is written with it. */
void guard_note_text(struct str rule);

/* The rule of the first refusal of this process, with its place, or "". */
struct str guard_first_rule(void);
void guard_forget_rule(void);

/* The text of the first [deny_messages] pattern that is found in `subject`, or "". */
struct str guard_message(struct str subject);

/* An attribute of a module of the library, for our own use: a new reference, or NULL with
 * an exception. */
PyObject *guard_find(const char *module, const char *name);

#define auto_ref AUTO(guard_unref) PyObject
void guard_unref(PyObject **object);

#endif
