/*
 * raw.h - parts of a JSON text as they were sent.
 *
 * Ids and progress tokens go back exactly as they came: 12345678901234567890 and "a\/b"
 * do not survive a parser.  These functions find the text of a part; they expect JSON
 * that json_parse() has accepted, and on anything else give an empty or a wrong part but
 * never leave the text.
 */
#ifndef PROTOCOL_RAW_H
#define PROTOCOL_RAW_H

#include "base/str.h"

/* The text of the member `key`; {NULL, 0} if `object` is no object or has none. */
struct str raw_member(struct str object, const char *key);

/*
 * Walk over the elements of an array: `*rest` starts as the whole array.  False at the
 * end.
 */
bool raw_next(struct str *rest, struct str *element);

#endif
