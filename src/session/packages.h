/*
 * packages.h - what snippets import beyond the standard library: `.pyddock/venv` of the
 * workspace, made and filled in the background.
 *
 * packages_create() looks whether the stamp `.pyddock/installed.json` still tells how
 * things are: the allowlist, the project file of each workspace package, interpreter and
 * environment.  If it does, there is nothing to do, and no process is started.  If not,
 * packages_start() asks the interpreter for the names of its library, looks for each
 * other name of [imports] in the folders that it is imported from (nothing is run for
 * that), and has pip install what is not there, one after the other.  No environment is
 * made as long as nothing needs one.
 *
 * pip and what it builds run as commands (broker/command.h): the environment that is
 * named in packages-pip.c and no more, and all is read-only for them but the environment,
 * pip's cache and the workspace package that is installed.  A lock file keeps a second
 * server of the workspace from doing the same at the same time; it waits.
 *
 * A failure ends nothing: it is remembered for the snippet that wants the name.
 */
#ifndef SESSION_PACKAGES_H
#define SESSION_PACKAGES_H

#include "base/json.h"
#include "broker/command.h"
#include "policy/policy.h"

#define PACKAGES_STEP_MS 300000 /* of one call of pip */

struct packages;
struct packages_wait;

enum package_state {
    PACKAGE_NOT_NEEDED, /* not in [imports], or the interpreter has it anyway */
    PACKAGE_READY,      /* installed, or a workspace package that is in use */
    PACKAGE_INSTALLING, /* or about to be, or it is not known yet */
    PACKAGE_FAILED,
};

struct packages_config {
    uv_loop_t *loop;
    const char *launcher;        /* paddock-launch, from helper_find() */
    const struct policy *policy; /* borrowed, like all here, until packages_destroy() */
    const char *const *env;      /* ours; pip gets what it needs of it */
    const char *interpreter;     /* NULL: that of the build */
    /* For people, one line: "installing polars (1 of 3)".  NULL: nobody listens. */
    void (*progress)(void *user, struct str line);
    /* packages_paths() or what is there has changed: who imports must start afresh. */
    void (*changed)(void *user);
    void *user;
};

/* Folders to import from; all code in them is trusted, and agents cannot write there. */
struct packages_paths {
    const struct str *items;
    size_t count;
};

struct packages *packages_create(const struct packages_config *config);

/* Do what there is to do.  Callbacks come from the loop, later. */
void packages_start(struct packages *p);

/* The same for these modules only (a JSON array of first names), whatever else is
 * missing; instead of packages_start(). */
void packages_start_for(struct packages *p, const json_t *modules);

/* Is one of the modules being installed, or not looked for yet?  Its name, or "". */
struct str packages_pending(const struct packages *p, const json_t *modules);

bool packages_is_busy(const struct packages *p);

/* What is being done, as in `progress`; "" if nothing is. */
struct str packages_doing(const struct packages *p);

/*
 * How it stands with a module (its first name is what counts).  `why`, if not NULL, gets
 * a text for who wanted it, which says what failed, without secrets; "" if nothing did.
 * It is valid until the loop runs.
 */
enum package_state packages_state(
        const struct packages *p, struct str module, struct str *why);

/*
 * `done` is called once, from the loop, when the module is not being installed any more.
 * NULL if it is not now: nothing will be called.
 */
typedef void packages_done_fn(void *user);
struct packages_wait *packages_wait(
        struct packages *p, struct str module, packages_done_fn *done, void *user);
void packages_wait_cancel(struct packages_wait *wait);

/* Valid until `changed` is called. */
struct packages_paths packages_paths(const struct packages *p);

/* How many processes were started; for tests. */
unsigned packages_started(const struct packages *p);

/* Kills what runs and waits for it.  The loop must run on until its handles are closed.
 */
void packages_destroy(struct packages *p);

#endif
