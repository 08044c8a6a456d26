/*
 * workspace.h - a workspace under its policy: what `pyddock serve`, `paddock serve` and
 * `pyddock run` have in common.
 */
#ifndef CLI_WORKSPACE_H
#define CLI_WORKSPACE_H

#include "peer/definition.h"
#include "policy/setup.h"
#include "tool/tool.h"

struct workspace_request {
    const char *folder;
    const char *config; /* a file that is all of the policy, or NULL */
    bool debug;
};

/* What is known of a workspace before anything runs in it; all in one arena. */
struct workspace {
    struct policy *policy;
    struct path_policy *paths;
    struct command_policy *commands;
    struct peer_definitions servers; /* other MCP servers that may be called */
    struct audit *audit;             /* or NULL; the caller closes it */
    struct setup_root root;          /* the machine; the caller closes its descriptor */
};

/* Read the policy and the definitions of other servers, whose warnings are told, make
 * .pyddock/tmp, and open the logs. */
MUST_CHECK bool workspace_open(const struct workspace_request *request,
        struct arena *arena, struct workspace *out, struct error *err);

/* In what the servers differ. */
struct workspace_face {
    const char *command; /* "pyddock serve", for messages */
    const char *name;    /* of the server, for clients */
    const char *usage, *instructions;
    unsigned places;    /* TOOL_IN_...: the tools that it has */
    bool takes_operand; /* the workspace may be given without --workspace */
};

/* Serve; argv[0] is not looked at.  Returns the exit status. */
int workspace_serve(const struct workspace_face *face, int argc, char **argv);

#endif
