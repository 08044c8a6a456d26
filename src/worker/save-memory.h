/*
 * save-memory.h - the files of memory roots, which are gone with their worker, as JSON.
 *
 *   [["d","/src",493,MTIME],["f","/src/a",420,MTIME,"text"],["l","/b",511,MTIME,"/src/a"],
 *    ["h","/src/c",0,0,"/src/a"]]
 *
 * Folders come before what is in them, and once more at the end, since making their
 * entries has changed their times.
 */
#ifndef WORKER_SAVE_MEMORY_H
#define WORKER_SAVE_MEMORY_H

#include "policy/setup.h"
#include "vfs/vfs.h"

#include <jansson.h>

bool save_has_memory(const struct setup *setup);

/* ERR_LIMIT: more than `out` has room for; others: something could not be read. */
MUST_CHECK bool save_memory(
        struct vfs *vfs, const struct setup *setup, struct buf *out, struct error *err);

/* Into memory roots, which are empty; nothing else is touched, whatever the list says.
 * ERR_INVALID: this is no such list; the roots are empty then. */
MUST_CHECK bool load_memory(struct vfs *vfs, const struct setup *setup,
        const json_t *list, struct error *err);

/* Take away again what was made of it. */
void unload_memory(struct vfs *vfs, const struct setup *setup, const json_t *list);

#endif
