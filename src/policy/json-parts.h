/*
 * json-parts.h - what the JSON forms of parts of a policy have in common; for the server
 * and its helpers, which each have one end of it.
 *
 * Any bytes come through unchanged: each is written as the character of that number.
 */
#ifndef POLICY_JSON_PARTS_H
#define POLICY_JSON_PARTS_H

#include "policy/policy.h"

#include <jansson.h>

json_t *policy_bytes_json(struct str bytes);
MUST_CHECK bool policy_parse_bytes(const json_t *object, const char *key,
        struct arena *arena, struct str *out, struct error *err);

/* Members "file" and "line" of `object`; they may be missing. */
void policy_add_origin(json_t *object, const struct origin *origin);
MUST_CHECK bool policy_parse_origin(
        const json_t *object, struct arena *arena, struct origin *out, struct error *err);

/* An array of bounded length. */
MUST_CHECK bool policy_get_list(const json_t *object, const char *key,
        const json_t **list, size_t *count, struct error *err);

#endif
