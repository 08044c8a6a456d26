/*
 * doctor.h - the helpers that `paddock doctor` starts, to see what holds in them.
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "base/json.h"

/* What one says of itself (confine/confine.h), with its "path"; or "path" and
 * "error". */
json_t *doctor_folder_worker(void);  /* that sees one folder */
json_t *doctor_machine_worker(void); /* that sees the machine, under a path policy */
json_t *doctor_interpreter(void);    /* the same for a snippet; and "version" */
json_t *doctor_bridge(void);         /* to a server that has a URL */

#endif
