/*
 * packages-parts.h - the parts of packages.h: looking for modules, the stamp, and how pip
 * is called.
 */
#ifndef SESSION_PACKAGES_PARTS_H
#define SESSION_PACKAGES_PARTS_H

#include "base/json.h"
#include "session/packages.h"

#define PACKAGES_HASH 17   /* characters, with the NUL */
#define PACKAGES_TEXT 4096 /* bytes of what is told of one */

/* What the interpreter says of itself. */
struct package_python {
    const char *program; /* absolute */
    struct str identity; /* changes when the program does; "" if it is not there */
    struct str version;  /* "3.11"; "" if not known yet */
    json_t *stdlib;      /* names of its library; NULL if not known yet */
};

/* Where things are in one workspace; all absolute. */
struct package_places {
    char *folder;     /* .pyddock; NULL: it is not there, or a link */
    const char *venv; /* in it */
    const char *site; /* site-packages of the venv */
    const char *tmp;  /* in the venv, of pip */
};

/* A name of [imports]. */
struct package {
    const struct policy_import *import;
    const char *folder;       /* of a workspace package, absolute; else NULL */
    char hash[PACKAGES_HASH]; /* of its project file; "": there is none */
    enum package_state state;
    struct buf why; /* if it failed */
    bool is_told;   /* on `progress` */
};

struct packages_wait {
    struct packages_wait *next;
    struct packages *owner;
    const struct package *package;
    packages_done_fn *done;
    void *user;
};

/* What goes on when the running command has ended. */
typedef void step_fn(struct packages *p, const struct command_result *result);

struct packages {
    struct packages_config config;
    struct arena *arena, *paths_arena;
    const char *const *env; /* of pip */
    struct package_python python;
    struct package_places places;
    struct package *items; /* workspace packages first, which may bring others along */
    size_t count;
    json_t *stamp;  /* as it was read, or NULL */
    json_t *answer; /* the interpreter's; NULL: not asked */
    char allowlist[PACKAGES_HASH];
    struct packages_paths paths;
    bool is_valid;     /* the stamp tells how it is */
    bool is_busy;      /* between packages_start() and the end of it */
    bool has_waited;   /* for the lock */
    bool is_partial;   /* not all of [imports] is looked at */
    bool is_suspect;   /* pip was interrupted in the environment as it is */
    bool was_killed;   /* or has been since */
    bool in_one_place; /* the package is built with what is installed here */
    int lock;          /* -1: not held */
    uv_timer_t timer;  /* until the lock is looked at again */
    struct command *command;
    step_fn *next; /* after it */
    struct package *current;
    size_t plan_count, tried_count, done_count; /* to be installed, and what came of it */
    unsigned started;                           /* processes */
    struct buf doing;
    struct buf trouble; /* why the package did not build by itself */
    struct packages_wait *waits;
};

/* packages.c */

bool package_is_workspace(const struct package *one);
bool packages_in_stdlib(const struct packages *p, struct str name);

/* What the interpreter, or the stamp, says of it: "version" and "stdlib". */
void packages_set_python(struct packages *p, const json_t *from);

/* Read the stamp, and take over what is true whatever else has changed. */
void packages_load_stamp(struct packages *p);

/* Does the stamp know this very environment, this very project file? */
bool stamp_has_venv(const struct packages *p);
bool stamp_has_package(const struct packages *p, const struct package *one);

bool packages_is_folder(const char *path);
bool packages_source(const struct packages *p, const struct package *one,
        struct arena *arena, struct str *out);

/* True if they are others than before. */
bool packages_update_paths(struct packages *p);

/* packages-plan.c */

/* How each of them stands, by what is there: how many are to be installed. */
size_t packages_plan(struct packages *p);

void package_fail(struct package *one, const char *fmt, ...) PRINTF(2, 3);

/* What pip is given for it. */
struct str package_requirement(const struct package *one);

/* Is it there, as a distribution that pip knows by this name? */
bool package_is_installed(const struct packages *p, const struct package *one);

/* Is it in the environment, or among the system's packages? */
bool packages_have_module(const struct packages *p, struct str name, bool namespaces);

/* An environment that sees the system's packages does with the system's pip. */
bool packages_system_has_pip(void);

bool venv_is_usable(const struct packages *p);

/* A file that is there while pip runs, and stays if the server ends before pip does: then
 * the environment is made again. */
const char *venv_mark(const struct packages *p);
bool venv_is_marked(const struct packages *p);

/* packages-install.c */

/* From the question what the interpreter has to the stamp. */
void packages_begin(struct packages *p);

/* packages-find.c */

/* Is there a module of this name in the folder?  A folder without __init__ is one only
 * if `namespaces`.  Nothing is in "". */
bool find_module(struct str folder, struct str name, bool namespaces);

/* Is a distribution of this name (and whatever version) installed into the folder? */
bool find_distribution(struct str folder, struct str name);

/* The name at the beginning of a requirement: "polars" of "polars[all]>=1". */
struct str requirement_name(struct str requirement);

/*
 * The folder to import a workspace package's module from, in `arena`: in the package's
 * own folder, as the seen files say, or as its installation into `site` says.  False: the
 * module is nowhere in it.
 */
MUST_CHECK bool find_source(struct str package, struct str module, struct str site,
        struct arena *arena, struct str *out);

/* The project file of a workspace package: its first 16 hex digits of SHA-256.
 * ERR_NOT_FOUND: none of the three is there. */
MUST_CHECK bool project_hash(
        struct str package, char out[PACKAGES_HASH], struct error *err);

/* packages-stamp.c */

/* The first 16 hex digits of the text's SHA-256. */
void short_hash(struct str text, char out[PACKAGES_HASH]);

/* The allowlist with what is given to pip for each, in one hash. */
void allowlist_hash(const struct policy *policy, char out[PACKAGES_HASH]);

struct str interpreter_identity(const char *program, struct arena *arena);
struct str venv_identity(const char *venv, struct arena *arena);

/* A new reference to what the stamp says, or NULL: there is none that can be read. */
json_t *stamp_read(const char *folder);

/* In one step, or not at all. */
MUST_CHECK bool stamp_write(const char *folder, const json_t *stamp, struct error *err);

/* The lock is held as long as `*fd` is open.  False with ERR_EXISTS: by somebody else. */
MUST_CHECK bool lock_take(const char *folder, int *fd, struct error *err);

/* packages-pip.c */

/* What pip may know of our environment, and what we want of it.  Downloads and builds go
 * to `tmp`: a /tmp in memory may be too small. */
const char *const *pip_env(const char *const *ours, const char *tmp, struct arena *arena);

/* pip's cache, if there is one: a real path, or NULL. */
const char *pip_cache(const char *const *env, struct arena *arena);

/* Files and folders that these variables name, real paths: NULL-terminated. */
const char *const *pip_files(const char *const *env, struct arena *arena);

/* Append why a command of ours failed, by its last words, without secrets. */
void explain_failure(const struct command_result *result, struct buf *out);

#endif
