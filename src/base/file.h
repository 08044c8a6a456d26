/*
 * file.h - reading small files of the host, of which nothing is known yet.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/arena.h"
#include "base/str.h"

/*
 * All of a regular file of at most `max` bytes, with a NUL behind it: 0, or an errno
 * (EISDIR if it is no regular file, EFBIG).  Never waits for the other end of a FIFO.
 */
MUST_CHECK int file_read(
        const char *path, size_t max, struct arena *arena, struct str *out);

/*
 * Does the open file (O_PATH is enough) lie on a file system whose answers come from
 * elsewhere: FUSE, or over a network?  Each step there may take long, or for ever.  False
 * if that cannot be told.
 */
bool file_is_remote(int fd);

#endif
