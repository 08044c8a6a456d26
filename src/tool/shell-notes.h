/*
 * shell-notes.h - what paddock itself has to say about a command that ran: in lines of
 * their own at the end of its errors, in brackets.
 */
#ifndef TOOL_SHELL_NOTES_H
#define TOOL_SHELL_NOTES_H

#include "broker/command.h"
#include "policy/command.h"

/* Append them to the text of stderr; nothing if there is nothing to say. */
void shell_notes_write(const struct command_plan *plan,
        const struct command_result *result, struct buf *err_text);

#endif
