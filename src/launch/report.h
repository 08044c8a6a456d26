/*
 * report.h - what the kernel holds of a command, property by property:
 *
 *   {"sandboxed": true, "landlock_abi": 7,
 *    "properties": {
 *      "writes":    {"held": true, "by": "mounts+landlock"},
 *      "protected": {"held": true, "by": "mounts"}, ...},
 *    "problems": ["'protected' is not held by the kernel: no user namespace: ..."]}
 *
 *   writes     nothing outside the writable folders is changed
 *   metadata   nor are modes, owners, times and attributes
 *   protected  read-only paths in writable folders are not changed
 *   hidden     hidden paths are not read
 *   tmp        temporary files are its own
 *   network    no socket; "allowed": it may
 *   sockets    services that listen in /run are not reached
 *   signals    no process but its own is signalled, traced or looked into
 *   kill       all that it starts ends with the call
 */
#ifndef LAUNCH_REPORT_H
#define LAUNCH_REPORT_H

#include "launch/child.h"

/* Append the JSON. */
void report_write(const struct job *job, const struct view_status *view,
        const struct child_held *held, struct buf *out);

#endif
