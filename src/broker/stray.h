/*
 * stray.h - taking away what a command has made where nothing may be made.
 *
 * A path that does not exist cannot be protected by a mount, and making it only to
 * protect it would leave it in the user's tree.  So such paths are looked at after the
 * command.  What has appeared there is moved out of the way as it is, never opened.
 */
#ifndef BROKER_STRAY_H
#define BROKER_STRAY_H

#include "base/arena.h"

struct stray {
    struct str path;
    struct str moved_to; /* "": it was removed */
    bool is_left;        /* neither worked: it is still there */
};

/*
 * Look at each path (absolute, without a link in it; NULL-terminated) and move what is
 * there into the folder `quarantine`, which is made if needed.  Links are followed
 * nowhere: one that has come in the place of a folder of the path is what is moved.
 * `*out` has `*count` of them, in `arena`.
 */
void strays_remove(const char *const *paths, const char *quarantine, struct arena *arena,
        const struct stray **out, size_t *count);

/* "'/w/.git/hooks' is protected, and the command made it; it was removed" */
void stray_describe(const struct stray *s, struct buf *out);

#endif
