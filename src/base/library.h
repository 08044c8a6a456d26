/*
 * library.h - a shared library that is loaded by who needs it, since everybody else would
 * pay for it at each start.
 */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include "base/error.h"

struct library_spec {
    const char *file;    /* "libx.so.1" */
    const char *package; /* of Debian, that has it */
    const char *user;    /* who needs it, for the message: "the transport http" */
};

struct library {
    const struct library_spec *spec;
    void *handle;
    const char *missing; /* the first name that it had not, or NULL */
};

/* It stays loaded.  ERR_UNSUPPORTED: it is not there. */
MUST_CHECK bool library_open(
        const struct library_spec *spec, struct library *out, struct error *err);

/* A function of it; NULL, and remembered, if there is none. */
void *library_find(struct library *l, const char *name);

/* ERR_UNSUPPORTED: some name was not found. */
MUST_CHECK bool library_is_whole(const struct library *l, struct error *err);

#endif
