/*
 * schema.h - are these arguments what the tool's inputSchema asks for?
 *
 * The subset of JSON Schema that our tools are written in: type (a name, or a list of one
 * and "null"), properties, required, additionalProperties false, enum, minimum, maximum,
 * minLength, maxLength, items.  Any other keyword is only a description here.
 */
#ifndef PROTOCOL_SCHEMA_H
#define PROTOCOL_SCHEMA_H

#include "base/json.h"

/*
 * Check `args` (an object) against `schema`.  Two leniencies, for clients that are: where
 * no string is wanted, one that holds the JSON text of what is ("true", "7", "[1]")
 * counts as that; null for what is not required counts as absent.  `args` is changed
 * accordingly. ERR_INVALID names the first argument that is wrong and what was expected:
 * "run: argument 'command' must be a string, not a number".
 */
MUST_CHECK bool schema_check(
        const json_t *schema, json_t *args, const char *tool, struct error *err);

#endif
