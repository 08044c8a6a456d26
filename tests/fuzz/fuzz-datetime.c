#include "base/datetime.h"
#include "fuzz.h"

/* First line: a date; second: a format for it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct datetime now = { 1709210096, 789000000 };
    struct str format = { (const char *)data, size }, text = str_cut(&format, '\n');
    struct datetime t = now, again;
    int64_t ns;
    auto_buf shown = BUF(4096);
    bool is_date = datetime_parse(text, now, true, &t);
    if (is_date && datetime_to_ns(t, &ns)) {
        again = datetime_from_ns(ns);
        assert(again.seconds == t.seconds && again.ns == t.ns);
        datetime_format(STR("%F %T.%N %z"), t, true, &shown);
        assert(datetime_parse(buf_str(&shown), now, true, &again));
        assert(again.seconds == t.seconds && again.ns == t.ns);
    }
    assert(!is_date || (t.ns >= 0 && t.ns < 1000000000));
    datetime_parse_stamp(text, now, true, &again);
    buf_clear(&shown);
    datetime_format(format, t, true, &shown);
    return 0;
}
