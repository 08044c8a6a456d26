/*
 * problems.h - what the kernel does not hold of a helper, told to who runs the server.
 */
#ifndef BROKER_PROBLEMS_H
#define BROKER_PROBLEMS_H

#include "base/str.h"

/*
 * Log the lines of "problems" in the JSON of a status (confine/confine.h,
 * launch/report.h), unless `*told`, which is set: all helpers of a kind have the same.
 */
void problems_tell(struct str status, bool *told);

#endif
