/*
 * describe-python.h - what the description of run_python says about the policy.
 */
#ifndef TOOL_DESCRIBE_PYTHON_H
#define TOOL_DESCRIBE_PYTHON_H

#include "tool/describe.h"

/*
 * Append at most `room` bytes: after an empty line the modules that may be imported,
 * sorted, the calls that are refused, how tools of the servers are called if there are
 * any, and the restrictions of modules that may be imported, in the order of the policy.
 * Of what finds no room it is said how much there is.
 */
void describe_python(const struct described *what, size_t room, struct buf *out);

#endif
