#include "base/utf8.h"
#include "fuzz.h"
#include "policy/pyre/pyre.h"

/* A pattern, a newline, and what it is tried on. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str subject = { (const char *)data, size }, pattern = str_cut(&subject, '\n');
    struct error err = { 0 };
    auto_buf text = BUF((size_t)1 << 20);
    struct pyre *p = NULL;
    bool good = pyre_translate(pattern, 0, &text, &err);
    assert(good == (err.code == ERR_NONE));
    if (!pyre_create(pattern, 0, &p, &err)) {
        /* What was translated is refused only for its size. */
        assert(!good || strstr(err.message, "unsupported: ") == err.message);
        return 0;
    }
    assert(good && utf8_valid(pattern));
    enum pyre_result search = pyre_match(p, PYRE_SEARCH, subject);
    enum pyre_result match = pyre_match(p, PYRE_MATCH, subject);
    enum pyre_result full = pyre_match(p, PYRE_FULLMATCH, subject);
    assert(full != PYRE_YES || match != PYRE_NO);
    assert(match != PYRE_YES || search != PYRE_NO);
    pyre_destroy(p);
    return 0;
}
