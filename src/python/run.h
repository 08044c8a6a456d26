/*
 * run.h - one snippet, from its text to its result.
 */
#ifndef PYTHON_RUN_H
#define PYTHON_RUN_H

#include "python/guard.h"

struct snippet {
    struct str code;
    const json_t *argv;  /* array of strings, or NULL */
    unsigned timeout_ms; /* TimeoutError is raised then; 0: never */
    /* The real one comes after it: what a program does at its end is not done yet, since
     * it can be done only once (the pools of concurrent.futures stay closed). */
    bool is_rehearsal;
    bool seals; /* what it imports is loaded first, then confine_seal() is called */
};

struct outcome {
    int exit_code;
    bool has_result, timed_out;
    bool retry_network; /* nothing ran: it imports what needs a process with network */
    json_t *modules;    /* then: first names of what it imports beside the library */
    struct buf result;  /* repr() of the last expression */
    json_t *images;     /* array of {"mime", "data"}, base64; or NULL */
};
void outcome_init(struct outcome *o);
void outcome_finish(struct outcome *o);

/* What a run needs is made ready; once, after the interpreter has started.  False: an
 * exception is set. */
MUST_CHECK bool run_init(void);

/*
 * Run it to its end, threads included.  What it prints goes to descriptors 1 and 2, and
 * has been flushed.  Errors of the snippet are part of the outcome.
 */
void run_snippet(const struct snippet *s, struct outcome *out);

#endif
