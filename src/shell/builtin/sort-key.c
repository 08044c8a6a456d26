#include "shell/builtin/number.h"
#include "shell/builtin/sort.h"
#include "shell/builtin/version.h"

#include <math.h>
#include <stdlib.h>

static bool is_blank(char ch)
{
    return ch == ' ' || ch == '\t';
}

bool sort_how_set(struct sort_how *how, char letter)
{
    static const struct {
        char letter;
        enum sort_order order;
    } orders[] = {
        { 'n', SORT_NUMERIC },
        { 'g', SORT_GENERAL },
        { 'h', SORT_HUMAN },
        { 'M', SORT_MONTH },
        { 'V', SORT_VERSION },
        { 'R', SORT_RANDOM },
    };
    for (size_t i = 0; i < ARRAY_LEN(orders); i++)
        if (letter == orders[i].letter) {
            how->order = orders[i].order;
            return true;
        }
    switch (letter) {
    case 'b':
        how->skip_start = how->skip_end = true;
        return true;
    case 'd':
        return how->dictionary = true;
    case 'f':
        return how->fold = true;
    case 'i':
        return how->printable = true;
    case 'r':
        return how->reverse = true;
    default:
        return false;
    }
}

/* A count at the start of *rest; `where` for the message. */
static bool take_count(
        struct str *rest, const char *where, size_t *out, struct error *err)
{
    size_t len = 0;
    while (len < rest->len && rest->data[len] >= '0' && rest->data[len] <= '9')
        len++;
    uint64_t n;
    if (!number_plain(str_sub(*rest, 0, len), &n))
        return error_set(err, ERR_INVALID, "%s: invalid count at start of '%.*s'", where,
                STR_ARG(*rest));
    *rest = str_from(*rest, len);
    *out = n > SIZE_MAX / 4 ? SIZE_MAX / 4 : (size_t)n;
    return true;
}

static void take_letters(struct str *rest, struct sort_key *key, bool at_end)
{
    for (; rest->len; *rest = str_from(*rest, 1)) {
        char letter = rest->data[0];
        if (letter == 'b' && at_end)
            key->how.skip_end = true;
        else if (letter == 'b')
            key->how.skip_start = true;
        else if (!sort_how_set(&key->how, letter))
            return;
        key->has_own = true;
    }
}

static bool bad_spec(struct error *err, const char *why, struct str text)
{
    return error_set(err, ERR_INVALID, "%s: invalid field specification '%.*s'", why,
            STR_ARG(text));
}

static bool take_end(
        struct str *rest, struct str text, struct sort_key *key, struct error *err)
{
    size_t character = 0;
    *rest = str_from(*rest, 1);
    if (!take_count(rest, "invalid number after ','", &key->end_field, err))
        return false;
    if (!key->end_field)
        return bad_spec(err, "field number is zero", text);
    if (rest->len && rest->data[0] == '.') {
        *rest = str_from(*rest, 1);
        if (!take_count(rest, "invalid number after '.'", &character, err))
            return false;
    }
    /* "2" and "2.0": all of field 2; "2.3": up to its third character. */
    key->end_field -= character != 0;
    key->end_character = character;
    take_letters(rest, key, true);
    return true;
}

bool sort_key_parse(struct str text, struct sort_key *out, struct error *err)
{
    struct sort_key key = { .end_field = SIZE_MAX };
    struct str rest = text;
    size_t character = 1;
    if (!take_count(&rest, "invalid number at field start", &key.field, err))
        return false;
    if (!key.field)
        return bad_spec(err, "field number is zero", text);
    if (rest.len && rest.data[0] == '.') {
        rest = str_from(rest, 1);
        if (!take_count(&rest, "invalid number after '.'", &character, err))
            return false;
        if (!character)
            return bad_spec(err, "character offset is zero", text);
    }
    key.field--;
    key.character = character - 1;
    take_letters(&rest, &key, false);
    if (rest.len && rest.data[0] == ',' && !take_end(&rest, text, &key, err))
        return false;
    if (rest.len)
        return bad_spec(err, "stray character in field spec", text);
    *out = key;
    return true;
}

static bool check_how(const struct sort_how *how, struct error *err)
{
    if (!(how->dictionary || how->printable) || how->order == SORT_BYTES ||
            how->order == SORT_VERSION || how->order == SORT_RANDOM)
        return true;
    return error_set(err, ERR_INVALID, "options '-%s%s%c' are incompatible",
            how->dictionary ? "d" : "", how->printable ? "i" : "", " nghMVR"[how->order]);
}

static bool is_default(const struct sort_how *how)
{
    return how->order == SORT_BYTES && !how->fold && !how->dictionary &&
           !how->printable && !how->skip_start;
}

bool sort_rule_finish(struct sort_rule *rule, struct error *err)
{
    for (size_t i = 0; i < rule->key_count; i++) {
        if (!rule->keys[i].has_own)
            rule->keys[i].how = rule->global;
        if (!check_how(&rule->keys[i].how, err))
            return false;
    }
    if (!check_how(&rule->global, err))
        return false;
    if (!rule->key_count && !is_default(&rule->global)) {
        GROW(rule->keys, rule->key_count, rule->key_cap);
        rule->keys[rule->key_count++] =
                (struct sort_key){ .end_field = SIZE_MAX, .how = rule->global };
    }
    return true;
}

/* Past one field; with a separator the place of it. */
static size_t field_end(struct str s, size_t i, int separator)
{
    if (separator >= 0) {
        const char *at = memchr(s.data + i, separator, s.len - i);
        return at ? (size_t)(at - s.data) : s.len;
    }
    while (i < s.len && is_blank(s.data[i]))
        i++;
    while (i < s.len && !is_blank(s.data[i]))
        i++;
    return i;
}

static size_t skip_blanks(struct str s, size_t i)
{
    while (i < s.len && is_blank(s.data[i]))
        i++;
    return i;
}

static size_t key_start(struct str s, const struct sort_key *key, int separator)
{
    size_t i = 0;
    for (size_t n = key->field; n && i < s.len; n--) {
        i = field_end(s, i, separator);
        i += separator >= 0 && i < s.len;
    }
    if (key->how.skip_start)
        i = skip_blanks(s, i);
    return key->character < s.len - i ? i + key->character : s.len;
}

static size_t key_end(struct str s, const struct sort_key *key, int separator)
{
    if (key->end_field == SIZE_MAX)
        return s.len;
    size_t i = 0;
    for (size_t n = key->end_field; n && i < s.len; n--) {
        i = field_end(s, i, separator);
        i += separator >= 0 && i < s.len && (n > 1 || key->end_character);
    }
    if (!key->end_character)
        return i;
    if (key->how.skip_end)
        i = skip_blanks(s, i);
    return key->end_character < s.len - i ? i + key->end_character : s.len;
}

static struct str find_key(struct str s, const struct sort_key *key, int separator)
{
    size_t start = key_start(s, key, separator), end = key_end(s, key, separator);
    return end > start ? str_sub(s, start, end - start) : str_sub(s, start, 0);
}

struct number {
    bool negative;
    struct str whole, fraction; /* without leading and trailing zeros */
};

static struct number parse_number(struct str s)
{
    struct number n = { 0 };
    s = str_from(s, skip_blanks(s, 0));
    n.negative = s.len && s.data[0] == '-';
    s = str_from(s, n.negative);
    while (s.len && s.data[0] == '0')
        s = str_from(s, 1);
    size_t i = 0;
    while (i < s.len && s.data[i] >= '0' && s.data[i] <= '9')
        i++;
    n.whole = str_sub(s, 0, i);
    if (i < s.len && s.data[i] == '.') {
        s = str_from(s, i + 1);
        i = 0;
        while (i < s.len && s.data[i] >= '0' && s.data[i] <= '9')
            i++;
        while (i && s.data[i - 1] == '0')
            i--;
        n.fraction = str_sub(s, 0, i);
    }
    if (!n.whole.len && !n.fraction.len)
        n.negative = false;
    return n;
}

static int compare_numeric(struct str a, struct str b)
{
    struct number x = parse_number(a), y = parse_number(b);
    if (x.negative != y.negative)
        return x.negative ? -1 : 1;
    int order = x.whole.len != y.whole.len ? (x.whole.len < y.whole.len ? -1 : 1)
                                           : str_cmp(x.whole, y.whole);
    if (!order)
        order = str_cmp(x.fraction, y.fraction);
    return x.negative ? -order : order;
}

/* 0: no number, 1: not a number, 2: a number in *out. */
static int parse_general(struct str s, long double *out)
{
    char text[256];
    s = str_sub(s, 0, sizeof(text) - 1);
    if (s.len)
        memcpy(text, s.data, s.len);
    text[s.len] = 0;
    char *end;
    *out = strtold(text, &end);
    return end == text ? 0 : isnan(*out) ? 1 : 2;
}

static int compare_general(struct str a, struct str b)
{
    long double x, y;
    int kind = parse_general(a, &x), other = parse_general(b, &y);
    if (kind != other)
        return kind < other ? -1 : 1;
    return kind == 2 ? (x > y) - (x < y) : 0;
}

/* The power of a human-readable size, negative for a negative number. */
static int human_power(struct str s)
{
    static const char letters[] = "KMGTPEZY";
    struct number n = parse_number(s);
    struct str rest = str_from(s, number_prefix(s));
    if (!n.whole.len && !n.fraction.len)
        return 0;
    char letter = rest.len ? rest.data[0] == 'k' ? 'K' : rest.data[0] : 0;
    const char *at = letter ? strchr(letters, letter) : NULL;
    int power = at ? (int)(at - letters) + 1 : 0;
    return n.negative ? -power : power;
}

static int compare_human(struct str a, struct str b)
{
    struct number x = parse_number(a), y = parse_number(b);
    if (x.negative != y.negative)
        return x.negative ? -1 : 1;
    int order = human_power(a) - human_power(b);
    return order ? order : compare_numeric(a, b);
}

static int month_of(struct str s)
{
    static const char names[] = "janfebmaraprmayjunjulaugsepoctnovdec";
    s = str_from(s, skip_blanks(s, 0));
    for (int month = 0; s.len >= 3 && month < 12; month++)
        if (!strncasecmp(s.data, names + (size_t)month * 3, 3))
            return month + 1;
    return 0;
}

static char upper(char ch)
{
    return ch >= 'a' && ch <= 'z' ? (char)(ch - 'a' + 'A') : ch;
}

static bool is_ignored(const struct sort_how *how, char ch)
{
    bool alnum = (ch >= '0' && ch <= '9') || (upper(ch) >= 'A' && upper(ch) <= 'Z');
    return (how->dictionary && !alnum && !is_blank(ch)) ||
           (how->printable && (ch < ' ' || ch > '~'));
}

/* The next byte that counts, or -1. */
static int next_byte(const struct sort_how *how, struct str s, size_t *i)
{
    while (*i < s.len && is_ignored(how, s.data[*i]))
        ++*i;
    if (*i == s.len)
        return -1;
    char ch = s.data[(*i)++];
    return (unsigned char)(how->fold ? upper(ch) : ch);
}

static int compare_translated(const struct sort_how *how, struct str a, struct str b)
{
    size_t i = 0, j = 0;
    for (;;) {
        int x = next_byte(how, a, &i), y = next_byte(how, b, &j);
        if (x != y || x < 0)
            return x - y;
    }
}

static uint64_t hash(uint64_t seed, struct str s)
{
    uint64_t h = seed ^ 0xcbf29ce484222325u;
    for (size_t i = 0; i < s.len; i++) {
        h = (h ^ (unsigned char)s.data[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h;
}

static int compare_random(const struct sort_rule *rule, struct str a, struct str b)
{
    uint64_t x = hash(rule->seed, a), y = hash(rule->seed, b);
    return x != y ? (x < y ? -1 : 1) : str_cmp(a, b);
}

static int compare_key(const struct sort_rule *rule, const struct sort_how *how,
        struct str a, struct str b)
{
    switch (how->order) {
    case SORT_NUMERIC:
        return compare_numeric(a, b);
    case SORT_GENERAL:
        return compare_general(a, b);
    case SORT_HUMAN:
        return compare_human(a, b);
    case SORT_MONTH:
        return month_of(a) - month_of(b);
    case SORT_VERSION:
        return version_cmp(a, b);
    case SORT_RANDOM:
        return compare_random(rule, a, b);
    case SORT_BYTES:
        break;
    }
    bool translated = how->fold || how->dictionary || how->printable;
    return translated ? compare_translated(how, a, b) : str_cmp(a, b);
}

static uint64_t bytes_prefix(const struct sort_how *how, struct str s)
{
    uint64_t prefix = 0;
    if (!how->fold && !how->dictionary && !how->printable && s.len >= 8) {
        memcpy(&prefix, s.data, 8);
        return __builtin_bswap64(prefix);
    }
    size_t i = 0;
    for (int n = 0; n < 8; n++) {
        int byte = next_byte(how, s, &i);
        prefix = prefix << 8 | (uint64_t)(byte < 0 ? 0 : byte);
    }
    return prefix;
}

/* The whole part, as far as it fits; `*exact`: there is nothing else. */
static uint64_t numeric_prefix(struct str s, uint32_t *exact)
{
    const uint64_t zero = (uint64_t)1 << 63;
    struct number n = parse_number(s);
    uint64_t value;
    *exact = !n.fraction.len;
    if (!n.whole.len)
        return zero;
    if (!number_plain(n.whole, &value) || value > zero - 1) {
        value = zero - 1;
        *exact = 0;
    }
    return n.negative ? zero - value : zero + value;
}

static uint64_t general_prefix(struct str s)
{
    long double value;
    int kind = parse_general(s, &value);
    if (kind < 2)
        return (uint64_t)kind;
    double d = (double)value + 0.0; /* no negative zero */
    uint64_t bits;
    memcpy(&bits, &d, sizeof(bits));
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static uint64_t key_prefix(const struct sort_rule *rule, const struct sort_how *how,
        struct str key, uint32_t *exact)
{
    *exact = 0;
    switch (how->order) {
    case SORT_BYTES:
        return bytes_prefix(how, key);
    case SORT_NUMERIC:
        return numeric_prefix(key, exact);
    case SORT_GENERAL:
        return general_prefix(key);
    case SORT_MONTH:
        *exact = 1;
        return (uint64_t)month_of(key);
    case SORT_RANDOM:
        return hash(rule->seed, key);
    case SORT_HUMAN:
    case SORT_VERSION:
        break;
    }
    return 0;
}

static struct str line_text(const struct sort_line *line)
{
    return (struct str){ line->text, line->len };
}

void sort_line_prepare(const struct sort_rule *rule, struct sort_line *line)
{
    struct str key = line_text(line);
    const struct sort_how *how = &rule->global;
    if (rule->key_count) {
        how = &rule->keys[0].how;
        key = find_key(key, &rule->keys[0], rule->separator);
    }
    line->key = (uint32_t)(key.data - line->text);
    line->key_len = (uint32_t)key.len;
    line->prefix = key_prefix(rule, how, key, &line->exact);
    if (how->reverse)
        line->prefix = ~line->prefix;
}

static struct str key_text(const struct sort_line *line)
{
    return (struct str){ line->text + line->key, line->key_len };
}

/* Length of what all keys begin with. */
static size_t common_length(const struct sort_line *lines, size_t count)
{
    struct str first = key_text(&lines[0]);
    size_t common = first.len;
    for (size_t i = 1; common && i < count; i++) {
        struct str key = key_text(&lines[i]);
        size_t n = 0;
        while (n < common && n < key.len && key.data[n] == first.data[n])
            n++;
        common = n;
    }
    return common;
}

static const struct sort_how *first_how(const struct sort_rule *rule)
{
    return rule->key_count ? &rule->keys[0].how : &rule->global;
}

bool sort_rule_is_bytes(const struct sort_rule *rule)
{
    const struct sort_how *how = first_how(rule);
    return how->order == SORT_BYTES && !how->fold && !how->dictionary && !how->printable;
}

/* Take the prefixes behind the first `skip` bytes of the key. */
static void take_prefixes(
        const struct sort_rule *rule, struct sort_line *lines, size_t count, size_t skip)
{
    const struct sort_how *how = first_how(rule);
    for (size_t i = 0; i < count; i++) {
        struct str rest = str_from(key_text(&lines[i]), skip);
        uint64_t prefix = bytes_prefix(how, rest);
        lines[i].prefix = how->reverse ? ~prefix : prefix;
        lines[i].exact = rest.len <= 8 && (!rest.len || !memchr(rest.data, 0, rest.len));
    }
}

void sort_lines_sharpen(
        const struct sort_rule *rule, struct sort_line *lines, size_t count)
{
    take_prefixes(rule, lines, count, count ? common_length(lines, count) : 0);
}

void sort_lines_blunt(const struct sort_rule *rule, struct sort_line *lines, size_t count)
{
    take_prefixes(rule, lines, count, 0);
}

int sort_compare(const struct sort_rule *rule, const struct sort_line *a,
        const struct sort_line *b)
{
    if (a->prefix != b->prefix)
        return a->prefix < b->prefix ? -1 : 1;
    for (size_t i = a->exact && b->exact; i < rule->key_count; i++) {
        const struct sort_key *key = &rule->keys[i];
        struct str x = { a->text + a->key, a->key_len };
        struct str y = { b->text + b->key, b->key_len };
        if (i) {
            x = find_key(line_text(a), key, rule->separator);
            y = find_key(line_text(b), key, rule->separator);
        }
        int order = compare_key(rule, &key->how, x, y);
        if (order)
            return key->how.reverse ? -order : order;
    }
    if (rule->key_count ? rule->stable || rule->unique : a->exact && b->exact)
        return 0;
    int order = str_cmp(line_text(a), line_text(b));
    return rule->global.reverse ? -order : order;
}
