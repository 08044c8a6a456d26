/*
 * fs-partial.h - the places in a file where some of the lines of a text stand.
 *
 * Lines are compared as they are, then without white space and letter case, then by
 * letters and digits alone; the first way that finds any is told.
 */
#ifndef WORKER_FS_PARTIAL_H
#define WORKER_FS_PARTIAL_H

#include "base/str.h"

/* Append what is near; false: nothing is. */
bool fs_partial_add(struct str text, struct str wanted, struct buf *out);

/* Append "  <n>| text" for the lines [first, last], counted from 1, as far as there are
 * such lines. */
void fs_partial_lines(struct str text, size_t first, size_t last, struct buf *out);

#endif
