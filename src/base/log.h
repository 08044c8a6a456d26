/*
 * log.h - one line on stderr for the person who runs the server.
 *
 * Never for the agent (it gets an error or a result) and never on stdout (invariant 3).
 * PADDOCK_LOG=debug|info|warn|error chooses the least level shown; the default is warn.
 * LOG_NOTICE, what everyone who starts the server wants to know, is always shown.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/base.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_NOTICE };

/* Read the level from the environment; `name` stands in front of each line. */
void log_init(const char *name);
void log_line(enum log_level level, const char *fmt, ...) PRINTF(2, 3);

#endif
