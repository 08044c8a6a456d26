#include "fuzz.h"
#include "policy/log/mask.h"

#define CANARY \
    "ghp"      \
    "_7canary7canary7canary7"

/* Whatever stands around a secret, the secret does not come through. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, size };
    size_t half = size / 2;
    auto_buf with = BUF((size_t)1 << 24), out = BUF((size_t)1 << 26);
    buf_add(&with, str_sub(text, 0, half));
    buf_add(&with, STR(" " CANARY " "));
    buf_add(&with, str_from(text, half));
    mask_is_secret_name(text);
    mask_text(buf_str(&with), &out);
    assert(mask_has_secret(buf_str(&with)));
    assert(!memmem(out.data, out.len, "canary", strlen("canary")) ||
            memmem(data, size, "canary", strlen("canary")));
    return 0;
}
