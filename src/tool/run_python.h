/*
 * run_python.h - the tool run_python: a snippet in a confined interpreter.
 *
 * session/python.h runs it; here its arguments are checked, and the reply is written as
 * text in sections (report.h).  What was refused, did not start or did not end in time is
 * an error; a snippet that failed by itself is not.
 */
#ifndef TOOL_RUN_PYTHON_H
#define TOOL_RUN_PYTHON_H

#include "policy/policy.h"
#include "session/packages.h"
#include "session/python.h"

#define RUN_PYTHON_MAX 64 /* calls at once, those that wait for packages included */

struct run_python;
struct snippet_call;

/* Everything is borrowed and outlives it. */
struct run_python_config {
    const struct policy *policy;
    struct python_config python;
    /* Fills the setups of `python` as things stand; when they are needed, and no sooner.
     */
    void (*tell)(void *user, struct python_config *python);
    void *user;
    const char *missing; /* why there is no python.program, and what to do; or NULL */
    struct packages *packages; /* whose modules a snippet waits for; NULL: none */
};

/* How a call ended; borrowed. */
struct snippet_outcome {
    bool is_error;
    int exit_status; /* AUDIT_NO_EXIT: there was none */
    bool timed_out;
    uint64_t cut_bytes; /* left out of `text` */
    struct str text;
    const json_t *images; /* [{"mime", "data"}], checked; or NULL */
    const json_t *notes;  /* "decision", "rule", "writes", see record.h; or NULL */
};

/* Called once for each call that is not cancelled, from the loop. */
typedef void snippet_done_fn(void *user, const struct snippet_outcome *outcome);

struct run_python *run_python_create(const struct run_python_config *config);

/* Start the interpreter, so that the first call finds it ready. */
void run_python_warm(struct run_python *r);

/* Of all interpreters. */
void run_python_look(const struct run_python *r, struct census *out);

/* Snippets that come from now on are run by an interpreter that is told how things stand
 * now; those that run go on. */
void run_python_renew(struct run_python *r);

/*
 * `args` passed the tool's schema.  `*out` is valid until `done` or run_python_cancel().
 * ERR_LIMIT: too many snippets run or wait already.
 */
MUST_CHECK bool run_python_start(struct run_python *r, const json_t *args,
        snippet_done_fn *done, void *user, struct snippet_call **out, struct error *err);

/* What it waits for: "installing polars (1 of 2)"; "" if it runs. */
struct str run_python_doing(const struct snippet_call *call);

/* `done` will not be called; the snippet is killed. */
void run_python_cancel(struct snippet_call *call);

/* Kills what runs. */
void run_python_destroy(struct run_python *r);

#endif
