/*
 * error.h - the one way a function says that it could not do its work.
 *
 * A function that can fail returns bool and takes a `struct error *` last; what it makes
 * goes out through pointers before that.  On failure it returns false, fills the error
 * and leaves the out pointers alone; on success it leaves the error alone, so calls chain
 * with &&.  The pointer is never NULL.  An error owns nothing: copy it, drop it, reuse
 * it.
 *
 * The vfs is the exception: POSIX already has names for what can go wrong with a file, so
 * its functions return 0 or an errno (vfs/vfs.h).
 *
 * Only main programs and base/log.c print.  Everyone else fills this and returns.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "base/base.h"

enum error_code {
    ERR_NONE,
    ERR_INVALID,     /* the caller's arguments make no sense */
    ERR_NOT_FOUND,   /* no such file, tool, variable, ... */
    ERR_EXISTS,      /* it is there already */
    ERR_DENIED,      /* policy said no, or the user did */
    ERR_LIMIT,       /* too big, too long, too many */
    ERR_TIMEOUT,     /* the deadline passed */
    ERR_CANCELLED,   /* the client asked us to stop */
    ERR_UNSUPPORTED, /* this build or backend cannot do this at all */
    ERR_IO,          /* the world outside failed */
    ERR_BUG,         /* we failed; log it, and fix it */
};

struct error {
    enum error_code code;
    char message[512]; /* what went wrong: "cannot open '/a/b': ..." */
    char hint[256];    /* what to try next, or "" */
};

/*
 * Fill `err` and return false, so that a caller writes `return error_set(...)`.  Messages
 * start in lower case, name the subject in 'quotes', and carry no full stop.
 */
bool error_set(struct error *err, enum error_code code, const char *fmt, ...)
        PRINTF(3, 4);

/* The same from errno: appends its text, and chooses the code by its value. */
bool error_errno(struct error *err, int errnum, const char *fmt, ...) PRINTF(3, 4);

/* Say what the caller could do about it: one full sentence.  Returns false. */
bool error_hint(struct error *err, const char *fmt, ...) PRINTF(2, 3);

/* Put "<context>: " before the message on the way up.  Returns false. */
bool error_context(struct error *err, const char *fmt, ...) PRINTF(2, 3);

#endif
