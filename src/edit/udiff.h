/*
 * udiff.h - a change as a unified diff, for a reader: lines are those of base/textline.h,
 * and what ends them is not shown.
 */
#ifndef EDIT_UDIFF_H
#define EDIT_UDIFF_H

#include "base/str.h"

/* Append the hunks, without names before them; cut after about `max` bytes. */
void udiff_add(struct str before, struct str after, size_t max, struct buf *out);

#endif
