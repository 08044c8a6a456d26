/*
 * images.h - pictures that come with the reply of a snippet.
 */
#ifndef TOOL_IMAGES_H
#define TOOL_IMAGES_H

#include "base/json.h"

#define IMAGES_MAX       4
#define IMAGES_MAX_BYTES ((size_t)8 << 20) /* of all, as base64 */

/*
 * Those of `images`, [{"mime", "data"}], that a reply may carry: a new array, or NULL for
 * none.  They are outside bytes: what is no picture in base64 is left out too.  `note`
 * gets a line about what is missing.
 */
json_t *images_choose(const json_t *images, struct buf *note);

#endif
