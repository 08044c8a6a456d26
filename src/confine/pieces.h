/*
 * pieces.h - the mounts that a layout becomes; used inside confine/.
 */
#ifndef CONFINE_PIECES_H
#define CONFINE_PIECES_H

#include "confine/view.h"

/* In a mount namespace of our own.  What fails is in `status`. */
void pieces_mount(const struct view_request *request, struct view_status *status);

#endif
