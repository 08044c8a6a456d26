/*
 * hook-parts.h - what the files of the hook know of each other.
 *
 *   hook.c          from an event to its disposition
 *   hook-files.c    dispositions about files
 *   hook-path.c     where a path ends, and whether it may be used
 *   hook-database.c sqlite-connect
 *   hook-notes.c    what was written and refused
 *   hook-events.c   events that are told to the server
 */
#ifndef PYTHON_HOOK_PARTS_H
#define PYTHON_HOOK_PARTS_H

#include "python/caller.h"
#include "python/hook.h"

enum decision {
    DECIDED_ALLOW,
    DECIDED_OBSERVE,
    DECIDED_EXEMPT, /* the import machinery reads a library */
    DECIDED_DENY,   /* an exception is set */
};

struct event {
    const char *name;
    PyObject *args; /* a tuple; borrowed */
    const struct policy_audit *rule;
};

/* The argument at `index`, or NULL; borrowed. */
PyObject *event_arg(const struct event *e, Py_ssize_t index);

/* Begin the refusal of an event by its rule in [audit]. */
void event_refuse_begin(const struct event *e, struct refusal *why);

/* hook-files.c */
enum decision files_open(const struct event *e);
enum decision files_write(const struct event *e, bool pair);

/* hook-database.c */
enum decision database_connect(const struct event *e);

/* hook-path.c */
struct located {
    struct str path; /* canonical; NUL-terminated, in the arena */
    bool is_none;    /* a descriptor or nothing: there is no path to judge */
};

/*
 * Where does it end?  `follow`: a link at its end counts as what it leads to.  A
 * descriptor counts as the file that it is open on, if `descriptors`.  False: an
 * exception is set.
 */
MUST_CHECK bool path_locate(PyObject *path, int dir_fd, bool follow, bool descriptors,
        struct arena *arena, struct located *out);

/* The exception is set if it may not be used.  `*exempt`: it is a library's own file. */
MUST_CHECK bool path_judge(struct str canonical, enum path_use use, bool *exempt);

/* Is it, or does it hold, a folder of trusted code? */
bool path_has_library(struct str path);
bool path_refuse_library(struct str path); /* sets the exception; false */

/* hook-notes.c */
void notes_write(struct str path, const char *op);

/* hook-events.c */
void events_tell(const struct event *e, enum decision decision);

#endif
