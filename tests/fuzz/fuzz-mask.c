#include "fuzz.h"
#include "policy/mask.h"

/* What was masked has no shape of a secret any more. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, size };
    auto_buf out = BUF((size_t)1 << 24);
    mask_is_secret_name(text);
    mask_text(text, &out);
    assert(out.full || !mask_has_secret(buf_str(&out)));
    return 0;
}
