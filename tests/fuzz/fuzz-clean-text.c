#include "base/clean-text.h"
#include "base/utf8.h"
#include "fuzz.h"

/* Whatever a program wrote, it is text afterwards, with nothing a terminal would obey,
 * and cleaning it again changes nothing. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = { (const char *)data, size };
    auto_buf raw = BUF(size * 3 + 1), once = BUF(size * 3 + 1), twice = BUF(size * 3 + 1);
    clean_text(bytes, true, &raw);
    clean_text(bytes, false, &once);
    clean_text(buf_str(&once), false, &twice);
    assert(!raw.full && utf8_valid(buf_str(&raw)));
    assert(!once.full && utf8_valid(buf_str(&once)));
    assert(!once.len || !memchr(once.data, '\x1b', once.len));
    assert(!once.len || !memchr(once.data, '\r', once.len));
    assert(str_eq(buf_str(&once), buf_str(&twice)));
    return 0;
}
