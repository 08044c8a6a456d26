#include "transport/http-ticket.h"

#include "transport/http-rules.h"

#include <errno.h>
#include <nettle/hmac.h>
#include <sys/random.h>

bool http_ticket_make_key(struct http_ticket_key *out, struct error *err)
{
    struct http_ticket_key key;
    if (getrandom(key.bytes, sizeof(key.bytes), 0) != (ssize_t)sizeof(key.bytes))
        return error_errno(err, errno, "cannot make a key for sessions");
    *out = key;
    return true;
}

/* `len` bytes of the authentication code of `text`. */
static void sign(const struct http_ticket_key *key, struct str text, size_t len,
        unsigned char *out)
{
    struct hmac_sha256_ctx hmac;
    hmac_sha256_set_key(&hmac, sizeof(key->bytes), key->bytes);
    hmac_sha256_update(&hmac, text.len, (const uint8_t *)text.data);
    hmac_sha256_digest(&hmac, len, out);
}

struct http_ticket_key http_ticket_bind(
        const struct http_ticket_key *key, struct str token)
{
    struct http_ticket_key bound;
    auto_buf text = BUF(64 + token.len);
    buf_add(&text, STR("paddock ticket 1: "));
    buf_add(&text, token);
    sign(key, buf_str(&text), sizeof(bound.bytes), bound.bytes);
    return bound;
}

void http_ticket_write(
        const struct http_ticket_key *key, const char *id, char out[HTTP_TICKET_LEN + 1])
{
    unsigned char signature[HTTP_TICKET_SIGNATURE / 2];
    sign(key, str_of(id), sizeof(signature), signature);
    auto_buf text = BUF(HTTP_TICKET_LEN + 1);
    buf_addf(&text, HTTP_TICKET_PREFIX "%s", id);
    buf_add_hex(&text, signature, sizeof(signature));
    assert(text.len == HTTP_TICKET_LEN);
    memcpy(out, text.data, HTTP_TICKET_LEN + 1);
}

/* What it would be with the right signature is written and compared, so that there is one
 * spelling of a ticket and no second reader. */
bool http_ticket_read(
        const struct http_ticket_key *key, struct str ticket, struct str *id)
{
    char text[HTTP_SESSION_DIGITS + 1], right[HTTP_TICKET_LEN + 1];
    struct str digits = str_sub(ticket, strlen(HTTP_TICKET_PREFIX), HTTP_SESSION_DIGITS);
    if (ticket.len != HTTP_TICKET_LEN || memchr(digits.data, '\0', digits.len))
        return false;
    memcpy(text, digits.data, HTTP_SESSION_DIGITS);
    text[HTTP_SESSION_DIGITS] = '\0';
    http_ticket_write(key, text, right);
    if (!http_same_secret(ticket, (struct str){ right, HTTP_TICKET_LEN }))
        return false;
    *id = digits;
    return true;
}
