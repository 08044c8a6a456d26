/* Why a text does not occur: the reasons that are tried, the most telling first. */
#include "edit/internal.h"

/* Larger files are not searched for what is similar: it would take too long. */
enum { MAX_DIAGNOSED = 64 << 20, MIN_APPLIED = 8 };

static void show_occurrences(
        struct str text, enum eol main, struct str needle, struct buf *out)
{
    auto_finder f = { 0 };
    finder_init(&f, text, main, needle);
    struct span span;
    size_t count = 0, first[MAX_PLACES];
    while (finder_next(&f, &span)) {
        if (count < MAX_PLACES)
            first[count] = span.from;
        count++;
    }
    buf_addf(out, "it occurs %zu time%s, at ", count, count == 1 ? "" : "s");
    show_places(text, main, first, count < MAX_PLACES ? count : MAX_PLACES, count, out);
    buf_addc(out, '.');
}

static bool occurs(struct str text, enum eol main, struct str needle)
{
    if (!needle.len)
        return false;
    auto_finder f = { 0 };
    struct span span;
    finder_init(&f, text, main, needle);
    return finder_next(&f, &span);
}

/* Length of a "   12\t" or "12: " or "12→" or "12|" at the start of a line, or 0. */
static size_t prefix_length(struct str line)
{
    size_t at = 0, digits = 0;
    while (at < line.len && line.data[at] == ' ')
        at++;
    for (; at < line.len && line.data[at] >= '0' && line.data[at] <= '9'; at++)
        digits++;
    if (!digits || digits > 9)
        return 0;
    static const struct str separators[] = { STR("\t"), STR("\xE2\x86\x92"), STR(": "),
        STR(":"), STR(" | "), STR("|"), STR("- ") };
    for (size_t i = 0; i < ARRAY_LEN(separators); i++) {
        if (str_starts(str_from(line, at), separators[i]))
            return at + separators[i].len;
    }
    return 0;
}

/* `old_text` without line-number prefixes; false unless every line has one. */
static bool strip_prefixes(struct str old_text, struct buf *out)
{
    enum eol main = eol_main(old_text);
    for (size_t at = 0; at < old_text.len;) {
        struct line line = line_at(old_text, at, 0, main);
        size_t prefix = prefix_length(line.text);
        if (!prefix)
            return false;
        buf_add(out, str_sub(old_text, at + prefix, line.next - at - prefix));
        at = line.next;
    }
    return out->len && !out->full;
}

static bool blame_line_numbers(
        struct str text, enum eol main, struct str old_text, struct buf *out)
{
    auto_buf bare = BUF(old_text.len);
    if (!strip_prefixes(old_text, &bare) || !occurs(text, main, buf_str(&bare)))
        return false;
    buf_addf(out,
            "old_string carries line numbers that are not part of the file; without "
            "them ");
    show_occurrences(text, main, buf_str(&bare), out);
    return true;
}

/* Backslash escapes become the characters that they stand for. */
static bool unescape(struct str s, struct buf *out)
{
    static const char from[] = "ntr\"'\\/", to[] = "\n\t\r\"'\\/";
    bool any = false;
    for (size_t i = 0; i < s.len; i++) {
        const char *at = s.data[i] == '\\' && i + 1 < s.len && s.data[i + 1]
                                 ? strchr(from, s.data[i + 1])
                                 : NULL;
        if (!at) {
            buf_addc(out, s.data[i]);
            continue;
        }
        buf_addc(out, to[at - from]);
        any = true;
        i++;
    }
    return any && !out->full;
}

/* Line breaks, tabs and quotes become backslash escapes. */
static bool escape(struct str s, bool quotes, struct buf *out)
{
    bool any = false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.data[i];
        const char *as = c == '\n'            ? "\\n"
                         : c == '\t'          ? "\\t"
                         : c == '"' && quotes ? "\\\""
                                              : NULL;
        if (as)
            buf_add(out, str_of(as));
        else
            buf_addc(out, c);
        any |= as != NULL;
    }
    return any && !out->full;
}

static bool blame_escapes(
        struct str text, enum eol main, struct str old_text, struct buf *out)
{
    auto_buf other = BUF(2 * old_text.len);
    if (memchr(old_text.data, '\\', old_text.len) && unescape(old_text, &other) &&
            occurs(text, main, buf_str(&other))) {
        buf_addf(out,
                "old_string has backslash escapes where the file has the characters "
                "themselves; with those ");
        show_occurrences(text, main, buf_str(&other), out);
        return true;
    }
    for (int quotes = 0; quotes < 2; quotes++) {
        buf_clear(&other);
        if (!escape(old_text, quotes, &other) || !occurs(text, main, buf_str(&other)))
            continue;
        buf_addf(out,
                "The file has backslash escapes (\\n, \\t or \\\") where old_string "
                "has the characters themselves; with those ");
        show_occurrences(text, main, buf_str(&other), out);
        return true;
    }
    return false;
}

/* Passages that differ only in what a skeleton leaves out. */
struct near_misses {
    size_t count;
    size_t from[MAX_PLACES]; /* in the text */
    size_t to;               /* end of the first */
};

static void find_near_misses(
        struct str text, const struct skeleton *wanted, struct near_misses *out)
{
    auto_skeleton all = { 0 };
    skeleton_make(text, &all);
    size_t seen = 0, raw = 0;
    for (size_t at = 0; at + wanted->len <= all.len;) {
        const char *hit = memmem(all.data + at, all.len - at, wanted->data, wanted->len);
        if (!hit)
            break;
        at = (size_t)(hit - all.data);
        if (out->count < MAX_PLACES)
            out->from[out->count] = skeleton_raw(text, at, &seen, &raw);
        at += wanted->len;
        if (!out->count++) {
            out->to = skeleton_raw(text, at - 1, &seen, &raw);
            out->to += glyph_at(text, out->to).len;
        }
    }
}

static bool show_near_misses(
        struct str text, enum eol main, struct str old_text, struct buf *out)
{
    auto_skeleton wanted = { 0 };
    skeleton_make(old_text, &wanted);
    if (!wanted.len) {
        buf_addf(out, "old_string has only blanks.");
        return true;
    }
    struct near_misses near = { 0 };
    find_near_misses(text, &wanted, &near);
    if (!near.count)
        return false;
    buf_addf(out, "It nearly matches %zu time%s, at ", near.count,
            near.count == 1 ? "" : "s");
    show_places(text, main, near.from, near.count < MAX_PLACES ? near.count : MAX_PLACES,
            near.count, out);
    buf_addf(out, ":\n");
    auto_buf region = BUF(32 << 10);
    show_region(text, main, near.from[0], near.to, 0, &region);
    buf_add(out, buf_str(&region));
    explain_difference(text, main, near.from[0], old_text, out);
    return true;
}

static void tell_if_applied(
        struct str text, enum eol main, struct str new_text, struct buf *out)
{
    if (new_text.len < MIN_APPLIED || !occurs(text, main, new_text))
        return;
    buf_addf(out, "\nnew_string is in the file already: ");
    show_occurrences(text, main, new_text, out);
}

static void look_for_reasons(struct str text, enum eol main, struct str old_text,
        struct str new_text, struct buf *out)
{
    if (blame_line_numbers(text, main, old_text, out) ||
            blame_escapes(text, main, old_text, out))
        return;
    if (!show_near_misses(text, main, old_text, out) &&
            !show_nearest(text, main, old_text, out))
        buf_addf(out, "Nothing in the file resembles it.");
    tell_if_applied(text, main, new_text, out);
}

void diagnose(struct str text, enum eol main, struct str old_text, struct str new_text,
        struct buf *out)
{
    if (text.len > MAX_DIAGNOSED) {
        buf_addf(out, "The file is too large to look for what is similar; use grep -n.");
        return;
    }
    if (!text.len) {
        buf_addf(out, "The file is empty.");
        return;
    }
    /* How lines end has been tried already: it is not the reason, and lines keep their
     * numbers without it. */
    size_t len = text.len, old_len = old_text.len;
    bool lone_cr = main == EOL_CR;
    auto_free char *flat = eol_flatten(text, lone_cr, &len);
    auto_free char *flat_old = eol_flatten(old_text, lone_cr, &old_len);
    if (flat)
        text = (struct str){ flat, len };
    if (flat_old)
        old_text = (struct str){ flat_old, old_len };
    look_for_reasons(text, main == EOL_NONE ? main : EOL_LF, old_text, new_text, out);
}
