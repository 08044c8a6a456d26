/*
 * python.h - run_python as the server sees it: a zygote with a warm interpreter, children
 * that wait, one run each.
 *
 * The zygote (paddock-python) is started when the first run, or python_warm(), needs it;
 * a second one, with network, when a snippet needs that.  A zygote forks children that
 * confine themselves and then wait, so that a run begins at once; each runs one snippet
 * and is gone.  What a child sends is outside bytes, whatever it is made to run.
 *
 * The snippet's time is up: TimeoutError is raised in it; two seconds later it is killed.
 * What it printed is kept in any case, its first and last part if it was much.
 */
#ifndef SESSION_PYTHON_H
#define SESSION_PYTHON_H

#include "base/json.h"
#include "broker/command.h"
#include "session/census.h"
#include "session/door.h"

#define PYTHON_MAX_RUNS   16 /* at once; more are refused */
#define PYTHON_SPARES     2  /* children that wait, once a first run has been asked for */
#define PYTHON_GRACE_MS   2000
#define PYTHON_KEEP_BYTES ((size_t)512 << 10) /* of a stream's start, and of its end */

struct python;
struct python_run;

/* All that it points to lives on. */
struct python_config {
    uv_loop_t *loop;
    const char *program;    /* paddock-python, from helper_find() */
    const char *const *env; /* of the zygote itself: nothing that is ours alone */
    /* JSON of policy/python-setup.h; no network_setup: what needs it is not started. */
    struct str setup, network_setup;
    const struct door_fns *broker; /* NULL: no commands can be started */
    void *broker_user;
    /* A snippet is about to be run that imports these modules beside the standard library
     * (an array of first names); `user` is that of its run.  False: they are not there
     * yet; the run ends with PYTHON_NOT_YET, and nothing of it has been run.  NULL:
     * whoever misses one fails. */
    bool (*can_import)(void *user, const json_t *modules);
    /* What a run prints, as it comes and before its result; NULL: the result will do. */
    void (*printed)(void *user, bool to_stderr, struct str bytes);
    void *printed_user;
    /* Events of `serve --debug`, as they come; NULL: they are dropped. */
    void (*event)(void *user, const json_t *event);
    void *event_user;
};

struct python_request {
    struct str code;    /* or */
    struct str file;    /* a path that the child reads under the policy; "" if `code` */
    const json_t *argv; /* array of strings, or NULL */
    unsigned timeout_ms;
};

enum python_end {
    PYTHON_ENDED,       /* by itself; exit_code is its own */
    PYTHON_TIMED_OUT,   /* softly or not */
    PYTHON_DIED,        /* exit_code is minus the signal; `error` says more */
    PYTHON_NOT_STARTED, /* `error` says why */
    PYTHON_NOT_YET      /* "modules" of `notes` are not all there, said can_import */
};

struct python_result {
    enum python_end end;
    int exit_code;
    bool has_result;
    bool was_cut;         /* the result was longer than it is */
    struct str result;    /* repr() of the last expression */
    const json_t *images; /* [{"mime", "data"}], base64; or NULL */
    struct command_stream out, err;
    struct str notes; /* JSON: "decision", "rule", "writes", as a worker's notes; or "" */
    struct error error;
    uint64_t duration_ms;
};

/* Once for each run that is not cancelled, from the loop; all of the result is borrowed.
 */
typedef void python_done_fn(void *user, const struct python_result *result);

struct python *python_create(const struct python_config *config);

/* Start the zygote and the spares, so that the first run finds them ready. */
void python_warm(struct python *p);

/* `*out` is valid until `done` or python_cancel().  ERR_LIMIT: too many run already. */
MUST_CHECK bool python_run(struct python *p, const struct python_request *request,
        python_done_fn *done, void *user, struct python_run **out, struct error *err);

/* `done` will not be called; the child is killed. */
void python_cancel(struct python *p, struct python_run *run);

/* How many children there are, waiting or running; for tests. */
size_t python_children(const struct python *p);

/* Children, and runs without one; without the zygotes. */
void python_look(const struct python *p, struct census *out);

/* Kills everything and waits for it. */
void python_destroy(struct python *p);

#endif
