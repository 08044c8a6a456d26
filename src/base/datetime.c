#include "base/datetime.h"

#include "base/date-internal.h"

#include <stdio.h>
#include <strings.h>

#define BILLION 1000000000

struct datetime datetime_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (struct datetime){ now.tv_sec, (int32_t)now.tv_nsec };
}

struct datetime datetime_from_ns(int64_t ns)
{
    struct datetime t = { ns / BILLION, (int32_t)(ns % BILLION) };
    if (t.ns < 0) {
        t.ns += BILLION;
        t.seconds--;
    }
    return t;
}

bool datetime_to_ns(struct datetime t, int64_t *ns)
{
    /* The two lowest values mean something else to the vfs. */
    if (t.seconds < INT64_MIN / BILLION + 1 || t.seconds > INT64_MAX / BILLION - 1)
        return false;
    *ns = t.seconds * BILLION + t.ns;
    return true;
}

bool date_break(int64_t seconds, bool utc, struct tm *out)
{
    time_t when = seconds;
    return (utc ? gmtime_r(&when, out) : localtime_r(&when, out)) != NULL;
}

bool date_make(struct tm tm, bool utc, int64_t *out)
{
    tm.tm_isdst = -1;
    tm.tm_wday = -1; /* stays so if it fails */
    time_t when = utc ? timegm(&tm) : mktime(&tm);
    if (tm.tm_wday < 0)
        return false;
    *out = when;
    return true;
}

static int two_digits(const char *at)
{
    return (at[0] - '0') * 10 + (at[1] - '0');
}

int date_full_year(int year)
{
    return year < 69 ? year + 2000 : year + 1900;
}

bool date_is_valid(const struct tm *tm)
{
    static const int days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    int year = tm->tm_year + 1900;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (tm->tm_mon < 0 || tm->tm_mon > 11 || tm->tm_mday < 1)
        return false;
    return tm->tm_mday <= days[tm->tm_mon] - (tm->tm_mon == 1 && !leap) &&
           tm->tm_hour >= 0 && tm->tm_hour < 24 && tm->tm_min >= 0 && tm->tm_min < 60 &&
           tm->tm_sec >= 0 && tm->tm_sec <= 60;
}

bool datetime_parse_stamp(
        struct str text, struct datetime now, bool utc, struct datetime *out)
{
    struct str digits = text, rest = str_cut(&digits, '.');
    struct str seconds = digits;
    digits = rest;
    bool dotted = text.len != digits.len;
    for (size_t i = 0; i < text.len; i++)
        if ((text.data[i] < '0' || text.data[i] > '9') && i != digits.len)
            return false;
    if (digits.len < 8 || digits.len > 12 || digits.len % 2 ||
            (dotted && seconds.len != 2))
        return false;
    struct tm tm;
    if (!date_break(now.seconds, utc, &tm))
        return false;
    const char *at = digits.data + digits.len - 8;
    if (digits.len == 12)
        tm.tm_year = two_digits(digits.data) * 100 + two_digits(digits.data + 2) - 1900;
    else if (digits.len == 10)
        tm.tm_year = date_full_year(two_digits(digits.data)) - 1900;
    tm.tm_mon = two_digits(at) - 1;
    tm.tm_mday = two_digits(at + 2);
    tm.tm_hour = two_digits(at + 4);
    tm.tm_min = two_digits(at + 6);
    tm.tm_sec = dotted ? two_digits(seconds.data) : 0;
    struct datetime t = { 0 };
    if (!date_is_valid(&tm) || !date_make(tm, utc, &t.seconds))
        return false;
    *out = t;
    return true;
}

struct spec { /* %[flags][width][colons]letter */
    char pad; /* - _ 0, or 0: the letter's own */
    bool upper, swap;
    size_t width, colons;
    char letter;
};

/* Reads one at the start of `s` (after the '%'); returns its length, 0: there is none. */
static size_t read_spec(struct str s, struct spec *out)
{
    size_t i = 0;
    *out = (struct spec){ 0 };
    for (; i < s.len && strchr("-_0^#+", s.data[i]); i++) {
        if (s.data[i] == '^')
            out->upper = true;
        else if (s.data[i] == '#')
            out->swap = true;
        else if (s.data[i] != '+')
            out->pad = s.data[i];
    }
    for (; i < s.len && s.data[i] >= '0' && s.data[i] <= '9'; i++)
        if (out->width < 1000)
            out->width = out->width * 10 + (size_t)(s.data[i] - '0');
    for (; i < s.len && s.data[i] == ':'; i++)
        out->colons++;
    if (i < s.len && (s.data[i] == 'E' || s.data[i] == 'O'))
        i++;
    if (i >= s.len)
        return 0;
    out->letter = s.data[i];
    return i + 1;
}

/* +hhmm, +hh:mm, +hh:mm:ss, or the shortest of these. */
static void format_zone(const struct tm *tm, size_t colons, char *text, size_t size)
{
    long offset = tm->tm_gmtoff < 0 ? -tm->tm_gmtoff : tm->tm_gmtoff;
    char sign = tm->tm_gmtoff < 0 ? '-' : '+';
    unsigned h = (unsigned)(offset / 3600), m = (unsigned)(offset / 60 % 60),
             s = (unsigned)(offset % 60);
    if (colons == 3)
        colons = s ? 2 : m ? 1 : 4;
    if (colons == 0)
        snprintf(text, size, "%c%02u%02u", sign, h, m);
    else if (colons == 1)
        snprintf(text, size, "%c%02u:%02u", sign, h, m);
    else if (colons == 2)
        snprintf(text, size, "%c%02u:%02u:%02u", sign, h, m, s);
    else
        snprintf(text, size, "%c%02u", sign, h);
}

/* By a pointer, since its format is made here and cannot be a literal. */
static size_t (*const print_time)(
        char *, size_t, const char *, const struct tm *) = strftime;

static void format_nanoseconds(const struct spec *spec, int32_t ns, struct buf *out)
{
    char digits[16];
    snprintf(digits, sizeof(digits), "%09d", ns);
    size_t width = spec->width ? spec->width : 9;
    size_t len = width < 9 ? width : 9;
    buf_add(out, (struct str){ digits, len });
    for (; len < width && spec->pad != '-'; len++)
        buf_addc(out, spec->pad == '_' ? ' ' : '0');
}

static bool is_numeric(char letter)
{
    return strchr("CdeFgGHIjklmMqsSuUVwWyYz", letter) != NULL;
}

/* The value with padding and case as the flags want them. */
static void add_padded(const struct spec *spec, struct str value, struct buf *out)
{
    bool numeric = is_numeric(spec->letter);
    char pad = spec->pad                                 ? spec->pad
               : numeric && !strchr("ekl", spec->letter) ? '0'
                                                         : '_';
    size_t width = spec->width > value.len ? spec->width : value.len;
    if (spec->pad && numeric && spec->letter != 'F' && spec->letter != 'z')
        while (value.len > 1 && (value.data[0] == '0' || value.data[0] == ' '))
            value = str_from(value, 1);
    for (; pad != '-' && width > value.len; width--)
        buf_addc(out, pad == '0' ? '0' : ' ');
    bool lower = spec->swap && strchr("pZ", spec->letter);
    bool upper = spec->upper || (spec->swap && !lower);
    for (size_t i = 0; i < value.len; i++) {
        char ch = value.data[i];
        if (upper && ch >= 'a' && ch <= 'z')
            ch = (char)(ch - 'a' + 'A');
        else if (lower && ch >= 'A' && ch <= 'Z')
            ch = (char)(ch - 'A' + 'a');
        buf_addc(out, ch);
    }
}

static void format_spec(const struct spec *spec, struct datetime t, const struct tm *tm,
        bool utc, struct buf *out)
{
    char text[256], format[] = { '%', spec->letter, 0 };
    if (spec->letter == 'N') {
        format_nanoseconds(spec, t.ns, out);
        return;
    }
    text[0] = 0;
    if (spec->letter == 's')
        snprintf(text, sizeof(text), "%lld", (long long)t.seconds);
    else if (spec->letter == 'z')
        format_zone(tm, spec->colons, text, sizeof(text));
    else if (spec->letter == 'q')
        snprintf(text, sizeof(text), "%d", tm->tm_mon / 3 + 1);
    else if (spec->letter == 'Z' && utc)
        snprintf(text, sizeof(text), "UTC");
    else
        print_time(text, sizeof(text), format, tm);
    add_padded(spec, str_of(text), out);
}

void datetime_format(struct str format, struct datetime t, bool utc, struct buf *out)
{
    static const char known[] = "%aAbBcCdDeFgGhHIjklmMnNpPqrRsStTuUVwWxXyYzZ";
    struct tm tm;
    if (!date_break(t.seconds, utc, &tm)) {
        buf_addf(out, "%lld", (long long)t.seconds);
        return;
    }
    for (size_t i = 0; i < format.len; i++) {
        struct spec spec;
        size_t len =
                format.data[i] == '%' ? read_spec(str_from(format, i + 1), &spec) : 0;
        if (!len || !memchr(known, spec.letter, sizeof(known) - 1) ||
                (spec.colons && spec.letter != 'z')) {
            buf_addc(out, format.data[i]);
            continue;
        }
        format_spec(&spec, t, &tm, utc, out);
        i += len;
    }
}
