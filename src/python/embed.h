/*
 * embed.h - the interpreter: started once, in isolation, with the modules that snippets
 * use most loaded before anything is forked from it.
 */
#ifndef PYTHON_EMBED_H
#define PYTHON_EMBED_H

#include "python/guard.h"

/* Start it, load, take the names over.  Uses guard.setup.  The environment of this
 * process becomes that of the setup. */
MUST_CHECK bool embed_start(struct error *err);

/* Folders that it reads modules and data from: NULL-terminated, in `arena`.  Before
 * embed_start(). */
const char *const *embed_folders(struct arena *arena);

#endif
