/*
 * fs-hits.h - the lines that fs_grep found, until it is known which of them are shown.
 *
 * A file with very many matches must not hide all that come after it: if there are more
 * than may be shown, no file takes more than half of the room as long as others want it.
 */
#ifndef WORKER_FS_HITS_H
#define WORKER_FS_HITS_H

#include "base/str.h"

/* One line in a run of bytes; its text follows. */
struct fs_hit {
    uint64_t number;
    uint32_t len;
    char mark; /* of struct scan_line */
};

struct fs_hits {
    uint64_t max;   /* matches that may be shown */
    uint64_t half;  /* of one file, while others want room */
    uint64_t taken; /* matches found, no more than `half` of each file counted */
    bool enough;    /* more than can be shown: stop searching */
    uint64_t shown; /* matches written */
    bool dropped;   /* some were not even kept */
    bool full;      /* the reply: it takes no more matches */
    struct fs_hits_file *files;
    size_t count, cap, bytes;
};

/* `single`: there is one file only. */
void fs_hits_init(struct fs_hits *h, uint64_t max, bool single);
void fs_hits_finish(struct fs_hits *h);

/* What was found in a file, whole records; `first`: nothing of it was added before. */
void fs_hits_add(struct fs_hits *h, const char *name, bool first, struct str records);

/* Append what is shown, each match with at most `context` lines after it.  True: there
 * were more. */
bool fs_hits_write(struct fs_hits *h, uint64_t context, struct buf *out);

#endif
