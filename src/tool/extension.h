/*
 * extension.h - tools that a program does itself, beside those of the table.
 *
 * What we install has none.  It is the place where a program that is linked from these
 * layers adds some of its own: the official conformance suite asks for tools by name, and
 * a server of the tests has them (tests/conformance).  They are listed, checked,
 * dispatched and recorded as all others.
 */
#ifndef TOOL_EXTENSION_H
#define TOOL_EXTENSION_H

#include "tool/dispatch.h"

#include <uv.h>

struct extension_call {
    uv_loop_t *loop;
    struct str tool;            /* borrowed */
    const json_t *args;         /* borrowed; passed the tool's schema */
    struct dispatch_call *call; /* for dispatch_answer() */
};

struct tool_extension {
    const struct tool_source *sources; /* of TOOL_IN_PROGRAM; no name of the table */
    size_t count;
    unsigned progress_ms; /* between two notes on a call that runs long; 0: as usual */
    /* Begin a call.  What it returns is the call's work until it is answered, which is
     * not done before this returns, or cancelled.  Never NULL. */
    void *(*start)(const struct extension_call *call);
    void (*cancel)(void *work);
};

/* The call is over. */
void dispatch_answer(struct dispatch_call *call, const struct dispatch_reply *reply);

#endif
