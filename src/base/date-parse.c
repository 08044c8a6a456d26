/* Reading a date: cut into tokens, then item by item, as people put them in any order. */
#include "base/date-internal.h"

#include <stdlib.h>
#include <strings.h>

enum token_kind { TOKEN_END, TOKEN_NUMBER, TOKEN_WORD, TOKEN_SIGN };

struct token {
    enum token_kind kind;
    char sign;       /* TOKEN_SIGN */
    int64_t number;  /* TOKEN_NUMBER */
    size_t digits;   /* of the number */
    bool fractional; /* "5.25": ns of the rest */
    int32_t ns;
    struct str word;
};

#define MAX_TOKENS 64

struct steps { /* relative to a date */
    int64_t years, months, days, seconds;
};

struct parse {
    struct token tokens[MAX_TOKENS + 1];
    size_t count, at;
    struct tm tm; /* what was read of it, see the flags */
    int32_t ns;
    bool has_date, has_year, has_time, has_zone, has_weekday, has_steps;
    long zone; /* seconds east of UTC */
    int weekday;
    int64_t weekday_step;           /* "next" 1, "last" -1 */
    struct steps steps, last_steps; /* the sum; the last item, for "ago" */
};

static bool is_digit(char ch)
{
    return ch >= '0' && ch <= '9';
}

static bool is_letter(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
}

static size_t read_fraction(struct str s, int32_t *ns)
{
    size_t i = 0;
    int32_t value = 0;
    for (; i < s.len && is_digit(s.data[i]); i++)
        if (i < 9)
            value = value * 10 + (s.data[i] - '0');
    for (size_t n = i; n < 9; n++)
        value *= 10;
    *ns = value;
    return i;
}

/* Returns its length, 0 if it is too big. */
static size_t read_number(struct str s, struct token *out)
{
    size_t i = 0;
    for (; i < s.len && is_digit(s.data[i]); i++)
        ;
    out->digits = i;
    if (!str_int(str_sub(s, 0, i), &out->number))
        return 0;
    bool fraction = i + 1 < s.len && (s.data[i] == '.' || s.data[i] == ',') &&
                    is_digit(s.data[i + 1]);
    if (fraction) {
        out->fractional = true;
        i += 1 + read_fraction(str_from(s, i + 1), &out->ns);
    }
    return i;
}

/* The token at the start of `s`; returns its length, 0: none is possible. */
static size_t read_token(struct str s, struct token *out)
{
    if (is_digit(s.data[0])) {
        out->kind = TOKEN_NUMBER;
        return read_number(s, out);
    }
    if (is_letter(s.data[0])) {
        size_t i = 0;
        while (i < s.len && is_letter(s.data[i]))
            i++;
        out->kind = TOKEN_WORD;
        out->word = str_sub(s, 0, i);
        return i + (i < s.len && s.data[i] == '.'); /* "Sept." */
    }
    out->kind = TOKEN_SIGN;
    out->sign = s.data[0];
    return strchr("+-:/,@", s.data[0]) ? 1 : 0;
}

static bool tokenize(struct str s, struct parse *p)
{
    for (size_t i = 0; i < s.len;) {
        if (strchr(" \t\n", s.data[i])) {
            i++;
            continue;
        }
        struct token token = { 0 };
        size_t len = p->count < MAX_TOKENS && s.data[i]
                             ? read_token(str_from(s, i), &token)
                             : 0;
        if (!len)
            return false;
        p->tokens[p->count++] = token;
        i += len;
    }
    p->tokens[p->count] = (struct token){ .kind = TOKEN_END };
    return true;
}

static const struct token *ahead(const struct parse *p, size_t n)
{
    return &p->tokens[p->at + n < p->count ? p->at + n : p->count];
}

static bool is_sign(const struct token *t, char sign)
{
    return t->kind == TOKEN_SIGN && t->sign == sign;
}

static bool is_word(const struct token *t, const char *word)
{
    size_t len = strlen(word);
    return t->kind == TOKEN_WORD && t->word.len == len &&
           !strncasecmp(t->word.data, word, len);
}

/* The index of a name of at least three letters, or in full; -1. */
static int find_name(const struct token *t, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (t->kind == TOKEN_WORD && t->word.len >= 3 &&
                (t->word.len == 3 || t->word.len == strlen(names[i]) ||
                        (t->word.len == 4 && i == 8)) &&
                !strncasecmp(t->word.data, names[i], t->word.len))
            return i;
    return -1;
}

static int find_month(const struct token *t)
{
    static const char *const names[] = { "january", "february", "march", "april", "may",
        "june", "july", "august", "september", "october", "november", "december" };
    return find_name(t, names, 12);
}

static int find_weekday(const struct token *t)
{
    static const char *const names[] = { "sunday", "monday", "tuesday", "wednesday",
        "thursday", "friday", "saturday" };
    if (is_word(t, "tues"))
        return 2;
    if (is_word(t, "wednes"))
        return 3;
    if (is_word(t, "thur") || is_word(t, "thurs"))
        return 4;
    return find_name(t, names, 7);
}

/* Add `n` units to the steps; false: no such unit. */
static bool add_unit(struct parse *p, const struct token *t, int64_t n)
{
    static const struct {
        const char *name;
        size_t member;
        int64_t factor;
    } units[] = {
        { "year", offsetof(struct steps, years), 1 },
        { "month", offsetof(struct steps, months), 1 },
        { "fortnight", offsetof(struct steps, days), 14 },
        { "week", offsetof(struct steps, days), 7 },
        { "day", offsetof(struct steps, days), 1 },
        { "hour", offsetof(struct steps, seconds), 3600 },
        { "minute", offsetof(struct steps, seconds), 60 },
        { "min", offsetof(struct steps, seconds), 60 },
        { "second", offsetof(struct steps, seconds), 1 },
        { "sec", offsetof(struct steps, seconds), 1 },
    };
    struct token singular = *t;
    if (t->kind != TOKEN_WORD)
        return false;
    if (t->word.len > 1 && (t->word.data[t->word.len - 1] | 0x20) == 's')
        singular.word.len--;
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (!is_word(&singular, units[i].name))
            continue;
        const int64_t most = (int64_t)1 << 40; /* more is no date in any case */
        if (n > most || n < -most)
            return false;
        *(int64_t *)(void *)((char *)&p->last_steps + units[i].member) +=
                n * units[i].factor;
        p->has_steps = true;
        return true;
    }
    return false;
}

/* The last item is complete: it counts from now on, unless "ago" turns it round. */
static void commit_steps(struct parse *p, int64_t factor)
{
    p->steps.years += factor * p->last_steps.years;
    p->steps.months += factor * p->last_steps.months;
    p->steps.days += factor * p->last_steps.days;
    p->steps.seconds += factor * p->last_steps.seconds;
    p->last_steps = (struct steps){ 0 };
}

static size_t set_date(
        struct parse *p, int64_t year, int64_t month, int64_t day, size_t tokens)
{
    if (p->has_date || year > 9999 || month > 12 || day > 31)
        return 0;
    p->has_date = true;
    p->tm.tm_year = (int)year - 1900;
    p->tm.tm_mon = (int)month - 1;
    p->tm.tm_mday = (int)day;
    return tokens;
}

static int64_t year_of(const struct token *t)
{
    return t->digits <= 2 ? date_full_year((int)t->number) : t->number;
}

static bool is_number(const struct token *t)
{
    return t->kind == TOKEN_NUMBER && !t->fractional;
}

/* 2024-02-03, 2024/02/03, 02/03/2024, 02/03 */
static size_t numeric_date(struct parse *p)
{
    const struct token *a = ahead(p, 0), *b = ahead(p, 2), *c = ahead(p, 4);
    char sign = ahead(p, 1)->kind == TOKEN_SIGN ? ahead(p, 1)->sign : 0;
    if (!is_number(a) || !is_number(b) || (sign != '-' && sign != '/'))
        return 0;
    bool three = is_sign(ahead(p, 3), sign) && is_number(c);
    if (three && (sign == '-' || a->digits > 2)) {
        p->has_year = true;
        return set_date(p, year_of(a), b->number, c->number, 5);
    }
    if (sign == '-')
        return 0;
    p->has_year = three;
    return set_date(p, three ? year_of(c) : p->tm.tm_year + 1900, a->number, b->number,
            three ? 5 : 3);
}

/* 3 Feb 2024, 3 Feb, 3-Feb-2024 */
static size_t day_month(struct parse *p)
{
    const struct token *day = ahead(p, 0), *next = ahead(p, 1);
    bool dashed = is_sign(next, '-');
    int month = find_month(ahead(p, dashed ? 2 : 1));
    if (!is_number(day) || month < 0)
        return 0;
    size_t used = dashed ? 3 : 2;
    if (dashed) {
        if (!is_sign(ahead(p, 3), '-'))
            return 0;
        used = 4;
    }
    const struct token *year = ahead(p, used);
    bool has_year = is_number(year) && !is_sign(ahead(p, used + 1), ':') &&
                    (dashed || year->digits == 4);
    if (dashed && !has_year)
        return 0;
    p->has_year = has_year;
    return set_date(p, has_year ? year_of(year) : p->tm.tm_year + 1900, month + 1,
            day->number, used + has_year);
}

/* Feb 3, Feb 3 2024, Feb 3, 2024 */
static size_t month_day(struct parse *p)
{
    int month = find_month(ahead(p, 0));
    const struct token *day = ahead(p, 1);
    if (month < 0 || !is_number(day) || day->digits > 2 || is_sign(ahead(p, 2), ':'))
        return 0;
    size_t used = 2 + is_sign(ahead(p, 2), ',');
    const struct token *year = ahead(p, used);
    bool has_year =
            is_number(year) && year->digits == 4 && !is_sign(ahead(p, used + 1), ':');
    p->has_year = has_year;
    return set_date(p, has_year ? year->number : p->tm.tm_year + 1900, month + 1,
            day->number, used + has_year);
}

/* +01:00, +0100, +01, after a time: even in "10:00 +1 day", as GNU reads it. */
static size_t zone_offset(struct parse *p, size_t n)
{
    const struct token *sign = ahead(p, n), *hours = ahead(p, n + 1);
    if (!(is_sign(sign, '+') || is_sign(sign, '-')) || !is_number(hours) || p->has_zone)
        return 0;
    if (hours->digits > 4)
        return 0;
    bool colon = is_sign(ahead(p, n + 2), ':') && is_number(ahead(p, n + 3));
    long h = (long)(hours->digits > 2 ? hours->number / 100 : hours->number);
    long m = (long)(colon               ? ahead(p, n + 3)->number
                    : hours->digits > 2 ? hours->number % 100
                                        : 0);
    if (h > 24 || m > 59)
        return 0;
    p->zone = (h * 3600 + m * 60) * (sign->sign == '-' ? -1 : 1);
    p->has_zone = true;
    return colon ? 4 : 2;
}

/* "am" and "pm" turn the hour; false: there is no such hour. */
static bool set_half(struct parse *p, const struct token *t, size_t *used)
{
    bool am = is_word(t, "am") || is_word(t, "a"),
         pm = is_word(t, "pm") || is_word(t, "p");
    if (!am && !pm)
        return true;
    if (p->tm.tm_hour < 1 || p->tm.tm_hour > 12)
        return false;
    p->tm.tm_hour = p->tm.tm_hour % 12 + (pm ? 12 : 0);
    ++*used;
    return true;
}

static bool set_time(struct parse *p, int64_t hour, int64_t minute, int64_t second)
{
    if (p->has_time || hour > 23 || minute > 59 || second > 60)
        return false;
    p->has_time = true;
    p->tm.tm_hour = (int)hour;
    p->tm.tm_min = (int)minute;
    p->tm.tm_sec = (int)second;
    return true;
}

/* 04:05, 04:05:06.7, 4:05 pm, 04:05:06+01:00; 4pm */
static size_t time_of_day(struct parse *p)
{
    const struct token *h = ahead(p, 0), *m = ahead(p, 2), *s = ahead(p, 4);
    if (!is_number(h))
        return 0;
    size_t used = 1;
    if (is_sign(ahead(p, 1), ':') && is_number(m)) {
        bool seconds = is_sign(ahead(p, 3), ':') && s->kind == TOKEN_NUMBER;
        if (!set_time(p, h->number, m->number, seconds ? s->number : 0))
            return 0;
        p->ns = seconds ? s->ns : 0;
        used = seconds ? 5 : 3;
    } else if (is_word(ahead(p, 1), "am") || is_word(ahead(p, 1), "pm")) {
        if (!set_time(p, h->number, 0, 0))
            return 0;
    } else {
        return 0;
    }
    if (!set_half(p, ahead(p, used), &used))
        return 0;
    return used + zone_offset(p, used);
}

/* 3 days, +3 days, -3 days, day; "ago" after it turns it round. */
static size_t step(struct parse *p)
{
    size_t used = 0;
    int64_t n = 1;
    bool sign = is_sign(ahead(p, 0), '+') || is_sign(ahead(p, 0), '-');
    if (sign && is_sign(ahead(p, 0), '-'))
        n = -1;
    used += sign;
    const struct token *number = ahead(p, used);
    if (is_number(number)) {
        n *= number->number;
        used++;
    } else if (sign) {
        return 0;
    }
    if (!add_unit(p, ahead(p, used), n))
        return 0;
    used++;
    bool ago = is_word(ahead(p, used), "ago");
    commit_steps(p, ago ? -1 : 1);
    return used + ago;
}

static const char *const ordinals[] = { "last", "this", "next", "", "third", "fourth",
    "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth" };

/* next month, last friday; the number is -1 for "last", 1 for "next". */
static size_t ordinal(struct parse *p)
{
    for (size_t i = 0; i < ARRAY_LEN(ordinals); i++) {
        if (!is_word(ahead(p, 0), ordinals[i]))
            continue;
        int64_t n = (int64_t)i - 1;
        int day = find_weekday(ahead(p, 1));
        if (day >= 0 && !p->has_weekday) {
            p->has_weekday = true;
            p->weekday = day;
            p->weekday_step = n;
            return 2;
        }
        if (!add_unit(p, ahead(p, 1), n))
            return 0;
        bool ago = is_word(ahead(p, 2), "ago");
        commit_steps(p, ago ? -1 : 1);
        return 2 + (size_t)ago;
    }
    return 0;
}

static bool zone_name(struct parse *p, const struct token *t)
{
    static const struct {
        const char *name;
        int hours;
    } zones[] = { { "utc", 0 }, { "gmt", 0 }, { "z", 0 }, { "ut", 0 }, { "est", -5 },
        { "edt", -4 }, { "cst", -6 }, { "cdt", -5 }, { "mst", -7 }, { "mdt", -6 },
        { "pst", -8 }, { "pdt", -7 }, { "bst", 1 }, { "cet", 1 }, { "cest", 2 },
        { "eet", 2 }, { "eest", 3 }, { "msk", 3 }, { "jst", 9 } };
    for (size_t i = 0; i < ARRAY_LEN(zones); i++)
        if (is_word(t, zones[i].name)) {
            p->has_zone = true;
            p->zone = zones[i].hours * 3600L;
            return true;
        }
    return false;
}

/* yesterday, now, noon, utc, a weekday; and the T between date and time */
static size_t single_word(struct parse *p)
{
    static const struct {
        const char *word;
        int days;
    } days[] = { { "now", 0 }, { "today", 0 }, { "yesterday", -1 }, { "tomorrow", 1 } };
    const struct token *t = ahead(p, 0);
    for (size_t i = 0; i < ARRAY_LEN(days); i++)
        if (is_word(t, days[i].word)) {
            p->steps.days += days[i].days;
            p->has_steps = true;
            return 1;
        }
    if (is_word(t, "noon") || is_word(t, "midnight"))
        return set_time(p, is_word(t, "noon") ? 12 : 0, 0, 0);
    if (!p->has_zone && zone_name(p, t))
        return 1;
    if (is_word(t, "t") && p->has_date && ahead(p, 1)->kind == TOKEN_NUMBER)
        return 1;
    int day = find_weekday(t);
    if (day < 0 || p->has_weekday)
        return 0;
    p->has_weekday = true;
    p->weekday = day;
    return 1 + (size_t)is_sign(ahead(p, 1), ',');
}

/* 20240203, 1530, 15, or the year of "Feb 3 10:00 2024" */
static size_t lone_number(struct parse *p)
{
    const struct token *t = ahead(p, 0);
    if (!is_number(t))
        return 0;
    if (p->has_date && p->has_time && !p->has_year && t->digits == 4) {
        p->tm.tm_year = (int)t->number - 1900;
        p->has_year = true;
        return 1;
    }
    if (t->digits == 8 && !p->has_date) {
        p->has_year = true;
        return set_date(p, t->number / 10000, t->number / 100 % 100, t->number % 100, 1);
    }
    if (t->digits > 4)
        return 0;
    bool hours = t->digits <= 2;
    bool ok = set_time(
            p, hours ? t->number : t->number / 100, hours ? 0 : t->number % 100, 0);
    return ok ? 1 + zone_offset(p, 1) : 0;
}

static bool parse_items(struct parse *p)
{
    static size_t (*const items[])(struct parse *) = { numeric_date, time_of_day,
        day_month, month_day, step, ordinal, single_word, lone_number };
    while (p->at < p->count) {
        size_t used = 0;
        for (size_t i = 0; !used && i < ARRAY_LEN(items); i++)
            used = items[i](p);
        if (!used)
            return false;
        p->at += used;
    }
    return true;
}

static bool parse_epoch(struct parse *p, struct datetime *out)
{
    bool sign = is_sign(ahead(p, 1), '-') || is_sign(ahead(p, 1), '+');
    const struct token *number = ahead(p, 1 + sign);
    if (number->kind != TOKEN_NUMBER || p->count != 2u + sign)
        return false;
    *out = (struct datetime){ number->number, number->ns };
    if (!is_sign(ahead(p, 1), '-'))
        return true;
    out->seconds = -out->seconds - (out->ns != 0);
    out->ns = out->ns ? 1000000000 - out->ns : 0;
    return true;
}

static int64_t weekday_days(const struct parse *p, int today)
{
    int64_t step = p->weekday_step;
    if (step > 0 && today != p->weekday)
        step--;
    return (p->weekday - today + 7) % 7 + 7 * step;
}

/* Calendar steps: the month may be out of range afterwards, which mktime puts right. */
static bool add_steps(struct parse *p)
{
    int64_t year = p->tm.tm_year + p->steps.years, month = p->tm.tm_mon + p->steps.months;
    int64_t day = p->tm.tm_mday + p->steps.days;
    const int64_t most = 100000000;
    if (year > most || year < -most || month > most || month < -most || day > most * 10 ||
            day < -most * 10)
        return false;
    p->tm.tm_year = (int)year;
    p->tm.tm_mon = (int)month;
    p->tm.tm_mday = (int)day;
    return true;
}

static bool finish(struct parse *p, struct datetime now, bool utc, struct datetime *out)
{
    bool keeps_time = p->has_steps && !p->has_date && !p->has_weekday;
    if (!p->has_time && !keeps_time)
        p->tm.tm_hour = p->tm.tm_min = p->tm.tm_sec = 0;
    if (!date_is_valid(&p->tm))
        return false;
    struct datetime t = { .ns = p->has_time ? p->ns : keeps_time ? now.ns : 0 };
    if (p->has_weekday && !p->has_date)
        p->steps.days += weekday_days(p, p->tm.tm_wday);
    if (!add_steps(p) || !date_make(p->tm, utc || p->has_zone, &t.seconds))
        return false;
    t.seconds -= p->zone;
    if (__builtin_add_overflow(t.seconds, p->steps.seconds, &t.seconds))
        return false;
    *out = t;
    return true;
}

bool datetime_parse(struct str text, struct datetime now, bool utc, struct datetime *out)
{
    struct parse p = { 0 };
    if (!tokenize(text, &p))
        return false;
    if (is_sign(ahead(&p, 0), '@'))
        return parse_epoch(&p, out);
    if (!date_break(now.seconds, utc, &p.tm) || !parse_items(&p))
        return false;
    /* A zone decides which day "today" is. */
    if (p.has_zone && !p.has_date) {
        struct tm there;
        if (!date_break(now.seconds + p.zone, true, &there))
            return false;
        p.tm.tm_year = there.tm_year;
        p.tm.tm_mon = there.tm_mon;
        p.tm.tm_mday = there.tm_mday;
        p.tm.tm_wday = there.tm_wday;
        if (!p.has_time) {
            p.tm.tm_hour = there.tm_hour;
            p.tm.tm_min = there.tm_min;
            p.tm.tm_sec = there.tm_sec;
        }
    }
    return finish(&p, now, utc, out);
}
