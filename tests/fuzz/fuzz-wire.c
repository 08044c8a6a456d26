#include "base/wire.h"
#include "fuzz.h"

/* What is parsed must lie inside the input, and writing it again give the same bytes. */
static void check(const struct wire_message *m, struct str all, struct str taken)
{
    auto_buf again = BUF(WIRE_MAX_MESSAGE);
    for (size_t i = 0; i < m->count; i++) {
        assert(m->fields[i].data >= all.data);
        assert(m->fields[i].data + m->fields[i].len <= all.data + all.len);
    }
    wire_write(m, &again);
    assert(!again.full && str_eq(buf_str(&again), taken));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str all = { (const char *)data, size }, rest = all;
    struct wire_message m;
    struct error err;
    bool got = true;
    while (got) {
        struct str before = rest;
        if (!wire_parse(&rest, &m, &got, &err))
            break;
        assert(got || rest.len == before.len);
        if (got)
            check(&m, all, str_sub(before, 0, before.len - rest.len));
    }
    return 0;
}
