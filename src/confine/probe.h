/*
 * probe.h - what this machine can enforce, found out by doing it.
 *
 * Each probe is one step, tried in a child of its own: on some systems a step succeeds
 * and leaves the process without the power that it should have given.
 */
#ifndef CONFINE_PROBE_H
#define CONFINE_PROBE_H

#include "base/base.h"

struct probe {
    const char *name;  /* "landlock" */
    const char *what;  /* for people */
    bool (*run)(void); /* in a child; leaves errno when it answers false */
};

/* NULL past the end. */
const struct probe *probe_at(size_t i);

/* 0: it works; an errno: why not (EPROTO: the kernel agreed and did not do it). */
int probe_run(const struct probe *probe);

#endif
