/*
 * workspace.h - serving a workspace under its policy: what `pyddock serve` and `paddock
 * serve` have in common.
 */
#ifndef CLI_WORKSPACE_H
#define CLI_WORKSPACE_H

#include "tool/tool.h"

/* In what they differ. */
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
