/*
 * run.h - the loop of paddock-bridge: lines in, exchanges, lines out.
 */
#ifndef BRIDGE_RUN_H
#define BRIDGE_RUN_H

#include "bridge/setup.h"

/* Until the input ends, nobody reads the output, or the socket closes. */
void bridge_run(const struct bridge_setup *setup, struct str authorities);

#endif
