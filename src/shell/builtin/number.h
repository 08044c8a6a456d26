/*
 * number.h - numbers as commands take and print them.
 */
#ifndef SHELL_BUILTIN_NUMBER_H
#define SHELL_BUILTIN_NUMBER_H

#include "base/str.h"

/*
 * A decimal number with an optional suffix: b 512; k K KiB M MiB ... powers of 1024; kB
 * KB MB ... of 1000.  Too big becomes UINT64_MAX.  False: no such number.
 */
bool number_size(struct str s, uint64_t *out);

/* Decimal digits only, too big becomes UINT64_MAX. */
bool number_plain(struct str s, uint64_t *out);

/* "1.5K", "12M": rounded up, as ls -h and du -h do; `base` 1024 or 1000. */
void number_human(uint64_t n, unsigned base, char out[16]);

/* Length of the part that sort -n reads as a number: blanks, sign, digits, fraction. */
size_t number_prefix(struct str s);

/* "%*llu" and `after`, in `out`; at the rate of lines, printf would be most of the work.
 */
struct str number_column(uint64_t n, unsigned width, char after, char out[64]);

#endif
