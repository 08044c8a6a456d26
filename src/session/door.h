/*
 * door.h - where a confined helper asks for approved commands: decides as run_shell does,
 * starts what is allowed with the helper's own descriptors, and tells how it ended. Tools
 * of other MCP servers are asked for here too, and decided on as run_mcp's are.
 *
 * One socket a line (SOCK_SEQPACKET), door-request.h says what travels on it; a line is
 * one run of a snippet, or a shell with one call after the other.  Whoever sends what is
 * malformed, an id that was there before or not exactly the descriptors that belong to it
 * is not listened to any more, and his commands are killed; so they are when the socket
 * closes, when the call is over and when the line is.
 */
#ifndef SESSION_DOOR_H
#define SESSION_DOOR_H

#include "policy/command.h"

#include <uv.h>

#define DOOR_MAX_COMMANDS 16 /* at once, of one call */
#define DOOR_MAX_OF_SHELL \
    64 /* the same, of a shell: a job has as many as it has stages */
#define DOOR_MAX_CALLS    16    /* of tools of other servers, at once, of one call */
#define DOOR_MAX_REQUESTS 20000 /* of one call, granted or not */
#define DOOR_MAX_ASKS     5000  /* of one call: what would be granted */
#define DOOR_MAX_BYTES    ((size_t)256 << 20) /* of arguments for tools, of one call */

struct audit;
struct door;
struct door_line;
struct peers;

/* Everything is borrowed and outlives it. */
struct door_config {
    uv_loop_t *loop;
    const char *launcher; /* paddock-launch, from helper_find() */
    const struct policy *policy;
    const struct path_policy *paths;
    const struct command_policy *commands;
    struct peers *peers; /* NULL: there are no other servers */
    struct audit *audit; /* told of each decision; NULL: nobody is */
    bool for_shell;      /* streams are pipes or devices like /dev/null, and no files */
};

struct door *door_create(const struct door_config *config);

/* A helper is about to run for at most `timeout_ms`, 0: as long as the policy lets
 * anything run.  Serve what it asks on `fd`, which is handed over. */
struct door_line *door_open(struct door *d, int fd, unsigned timeout_ms);

/* A call is over: what was started for it ends, and nothing is started before the next
 * one, with the time and the counts of its own. */
void door_rest(struct door_line *line);
void door_resume(struct door_line *line, unsigned timeout_ms);

/* The helper is done, or gone: what was started for it ends. */
void door_close(struct door_line *line);

/* The same for who knows the door only by what it does (session/python.h). */
struct door_fns {
    void *(*start)(void *user, int fd, unsigned timeout_ms);
    void (*end)(void *line);
};
extern const struct door_fns door_fns; /* the user is the door */

/* How many commands run now; for tests. */
size_t door_commands(const struct door *d);

/* It outlives its lines. */
void door_destroy(struct door *d);

#endif
