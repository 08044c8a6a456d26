/*
 * command-job.h - what the launcher is told about a command; used inside broker/.
 */
#ifndef BROKER_COMMAND_JOB_H
#define BROKER_COMMAND_JOB_H

#include "broker/command.h"

/* Append the message.  ERR_LIMIT: it is too long. */
MUST_CHECK bool command_job_write(
        const struct command_spec *spec, struct buf *out, struct error *err);

#endif
