/*
 * thread-report.h - what a thread of a snippet raises is told with the lines of the
 * snippet, which the interpreter's own function looks for in files.
 */
#ifndef PYTHON_THREAD_REPORT_H
#define PYTHON_THREAD_REPORT_H

#include "python/guard.h"

/* Once, after the preload. */
MUST_CHECK bool thread_report_init(void);

#endif
