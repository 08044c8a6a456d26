/*
 * launching.h - running commands through the real launcher in tests: a scratch folder,
 * a command, and what became of it.
 */
#ifndef TESTS_LAUNCHING_H
#define TESTS_LAUNCHING_H

#include "broker/command.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define MAX_RULES 16

/*
 * Runs `tests` as the one who we are and, for root, as an ordinary user too, and in both
 * cases once more on a host that refuses namespaces.  Returns how many times it failed.
 *
 * Scenes are made below `base`, or /tmp if that cannot be written.
 */
int launching_main(const char *base, int (*tests)(void));

/* A kernel without the call: for the rest of this process. */
void take_call_away(unsigned nr);

/* Is this the time with namespaces? */
bool has_namespaces(void);

/* A folder for the test: ws is the workspace, outside lies beside it. */
struct scene {
    char folder[128], ws[160], outside[160];
    char launcher[128];
    uv_loop_t loop;
    struct view_path rules[MAX_RULES];
    size_t rule_count;
    struct command_spec spec; /* to be changed before a run */
    const char *env[8];
};

/* What is left of a result when the command is gone. */
struct outcome {
    enum command_end end;
    int status;
    struct error error;
    char *out, *err; /* NUL-terminated */
    size_t out_len, err_len;
    uint64_t out_dropped, err_dropped;
    struct str out_tail;
    unsigned left_running;
    uint64_t duration_ms;
    char *confinement;
    char *strays; /* "path -> moved_to\n" each */
    bool is_done;
};

/* The spec is: sandboxed, no network, ws writable, ws the cwd, PATH set. */
void scene_begin(struct scene *s);
void scene_end(struct scene *s);

/* PATH below the folder of the scene; lives as long as the scene's rules. */
char *scene_path(const struct scene *s, const char *name);
void scene_rule(struct scene *s, enum view_rule rule, const char *name);
void scene_write(const struct scene *s, const char *name, const char *text);
bool scene_has(const struct scene *s, const char *name);

/* Names, modes, sizes, times and content of everything in its folder; to be freed. */
char *scene_inventory(const struct scene *s);

/* Runs to its end.  `argv` is NULL-terminated; argv[0] with a slash is the program. */
void scene_run(struct scene *s, const char *const *argv, struct outcome *out);
void scene_shell(struct scene *s, const char *script, struct outcome *out);
void outcome_finish(struct outcome *o);

/* Start only; `o` is filled when it is done. */
struct command *scene_start(
        struct scene *s, const char *const *argv, struct outcome *o, struct error *err);
void scene_wait(struct scene *s, struct outcome *o);

/* NULL: whatever it says. */
void expect_exit(const struct outcome *o, int code, const char *out, const char *err);
void expect_shell(
        struct scene *s, const char *script, int code, const char *out, const char *err);

#endif
