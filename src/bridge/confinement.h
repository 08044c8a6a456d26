/*
 * confinement.h - what paddock-bridge gives up before it meets the network.
 */
#ifndef BRIDGE_CONFINEMENT_H
#define BRIDGE_CONFINEMENT_H

#include "bridge/setup.h"
#include "confine/confine.h"

/*
 * Afterwards it reads what names are looked up with and nothing else, writes no file,
 * starts nothing, and is a client of the internet: by TCP at the ports of the URL, of the
 * proxy and of DNS only (from Landlock ABI 4 on).
 */
void bridge_confine(const struct bridge_setup *setup, struct confine_status *status);

#endif
