/*
 * json.h - jansson, with its traps closed.
 *
 * Bytes that are not UTF-8 are replaced (jansson would return NULL and the field would
 * silently be gone), NUL is allowed in strings, duplicate keys are refused, and depth has
 * a ceiling.  Everything else is jansson: json_pack, json_object_get, json_auto_t.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/str.h"

#include <jansson.h>

#define JSON_MAX_DEPTH  128
#define JSON_MAX_VALUES ((size_t)1 << 18) /* each takes some 100 bytes of memory */

/* A string value from any bytes; never NULL. */
json_t *json_text(struct str s);

/* The bytes of a string value; {"", 0} if `value` is NULL or not a string. */
struct str json_str(const json_t *value);

/* The string at `key`, or `fallback` if it is absent or not a string. */
struct str json_get_str(const json_t *object, const char *key, struct str fallback);

/*
 * Parse one JSON value that fills `text`.  An integer beyond 64 bits becomes a real; an
 * escaped surrogate without its partner, which some writers produce, becomes U+FFFD.
 * ERR_INVALID: not JSON, not UTF-8, duplicate key, a real out of range; ERR_LIMIT: more
 * than JSON_MAX_VALUES, or nested deeper than JSON_MAX_DEPTH.  The caller owns `*out`.
 */
MUST_CHECK bool json_parse(struct str text, json_t **out, struct error *err);

/* Whether a text that was just written is within those limits (ERR_LIMIT). */
MUST_CHECK bool json_fits(struct str text, struct error *err);

/* Append `value` as compact JSON on one line. */
void json_write(const json_t *value, struct buf *out);

/* Append `s` as a JSON string literal with its quotes; bad bytes become U+FFFD. */
void json_write_text(struct str s, struct buf *out);

#endif
