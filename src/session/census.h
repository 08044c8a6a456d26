/*
 * census.h - how many processes of one kind there are, and how much waits for one.
 */
#ifndef SESSION_CENSUS_H
#define SESSION_CENSUS_H

#include <stddef.h>

struct census {
    size_t working, idle; /* processes */
    size_t waiting;       /* calls, or shells that have some */
};

#endif
