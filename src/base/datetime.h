/*
 * datetime.h - dates as people write them, and as format strings print them.
 *
 * What `date -d`, `touch -d` and `find -newermt` take: absolute dates and times in the
 * usual forms ("2024-02-03 04:05:06.7 +0100", "3 Feb 2024", "02/03/2024", "20240203",
 * "@1700000000"), days ("monday", "next friday"), and steps from there or from now
 * ("yesterday", "3 days ago", "+2 weeks", "last month").  Without a zone, times are in
 * the machine's, or in UTC if that is asked for.
 */
#ifndef BASE_DATETIME_H
#define BASE_DATETIME_H

#include "base/str.h"

struct datetime {
    int64_t seconds; /* since 1970 */
    int32_t ns;      /* 0..999999999 */
};

struct datetime datetime_now(void);
struct datetime datetime_from_ns(int64_t ns);

/* False: more than a vfs can store (years 1678 to 2261). */
bool datetime_to_ns(struct datetime t, int64_t *ns);

/* False: it is no date. */
bool datetime_parse(struct str text, struct datetime now, bool utc, struct datetime *out);

/* "[[CC]YY]MMDDhhmm[.ss]", as touch -t takes it. */
bool datetime_parse_stamp(
        struct str text, struct datetime now, bool utc, struct datetime *out);

/* Append `t` as a strftime format with GNU's additions says: %N %3N %:z %-d %_H %^a %q.
 */
void datetime_format(struct str format, struct datetime t, bool utc, struct buf *out);

#endif
