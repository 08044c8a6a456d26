/*
 * modes.h - where no mounts hold, the kernel lets nobody change modes and times
 * (confine.h); shutil.copy() and its like then copy the content all the same.
 */
#ifndef PYTHON_MODES_H
#define PYTHON_MODES_H

#include "python/guard.h"

/* False: an exception is set. */
MUST_CHECK bool modes_need_not_be_copied(void);

#endif
