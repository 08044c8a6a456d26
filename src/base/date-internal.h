/* date-internal.h - calendar arithmetic between datetime.c and date-parse.c. */
#ifndef BASE_DATE_INTERNAL_H
#define BASE_DATE_INTERNAL_H

#include "base/datetime.h"

#include <time.h>

bool date_break(int64_t seconds, bool utc, struct tm *out);
bool date_make(struct tm tm, bool utc, int64_t *out);

/* Of a year with two digits. */
int date_full_year(int year);

/* Is there such a day and time? */
bool date_is_valid(const struct tm *tm);

#endif
