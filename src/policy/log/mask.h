/*
 * mask.h - what looks like a secret: by the name it goes by, or by its own shape.
 *
 * One list for all who must not tell: the environment of commands (environ.h) and the
 * logs (audit.h).  A name is taken apart into its words, in any of the usual spellings
 * (GITHUB_TOKEN, apiKey, --db-password).  A shape is what the issuers of tokens give them
 * (ghp_..., AKIA..., a JWT, a private key in PEM, user:password@ in a URL).  Guesses err
 * to the side of a secret.  Time is linear in the text.
 */
#ifndef POLICY_MASK_H
#define POLICY_MASK_H

#include "base/str.h"

#define MASK "***" /* what stands for a secret */

bool mask_is_secret_name(struct str name);

/* Is there something in `text` with the shape of a secret?  (Names are not looked at.) */
bool mask_has_secret(struct str text);

/*
 * Append `text` with the secrets replaced: those that have a shape, and what follows a
 * secret name (`token=x`, `"apiKey": "x"`, `--password x`, `Authorization: Bearer x`) or
 * a user's (`-u bob:x`).
 */
void mask_text(struct str text, struct buf *out);

#endif
