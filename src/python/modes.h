/*
 * modes.h - where no mounts hold, the kernel lets nobody change modes and times
 * (confine.h): shutil.copy() and its like then copy the content all the same, and
 * os.chmod() says why it cannot.
 */
#ifndef PYTHON_MODES_H
#define PYTHON_MODES_H

#include "python/guard.h"

/* Before anything but our own code runs.  False: an exception is set. */
MUST_CHECK bool modes_are_fixed(void);

#endif
