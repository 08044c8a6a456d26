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

/* Length of a "   12| ", "   12\t" or "12: " or "12→" or "12|" at the start of a line, or
 * 0. */
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
        STR(":"), STR(" | "), STR("| "), STR("|"), STR("- ") };
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

static bool blame_line_numbers(const struct miss *m, struct buf *out)
{
    auto_buf bare = BUF(m->old_text.len);
    if (!strip_prefixes(m->old_text, &bare) || !occurs(m->text, m->main, buf_str(&bare)))
        return false;
    buf_addf(out, "%s carries line numbers that are not part of the file; without them ",
            m->words->old_name);
    show_occurrences(m->text, m->main, buf_str(&bare), out);
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

static bool blame_escapes(const struct miss *m, struct buf *out)
{
    auto_buf other = BUF(2 * m->old_text.len);
    if (memchr(m->old_text.data, '\\', m->old_text.len) &&
            unescape(m->old_text, &other) && occurs(m->text, m->main, buf_str(&other))) {
        buf_addf(out,
                "%s has backslash escapes where the file has the characters themselves; "
                "with those ",
                m->words->old_name);
        show_occurrences(m->text, m->main, buf_str(&other), out);
        return true;
    }
    for (int quotes = 0; quotes < 2; quotes++) {
        buf_clear(&other);
        if (!escape(m->old_text, quotes, &other) ||
                !occurs(m->text, m->main, buf_str(&other)))
            continue;
        buf_addf(out,
                "The file has backslash escapes (\\n, \\t or \\\") where %s has the "
                "characters themselves; with those ",
                m->words->old_name);
        show_occurrences(m->text, m->main, buf_str(&other), out);
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

static bool show_near_misses(const struct miss *m, struct buf *out)
{
    auto_skeleton wanted = { 0 };
    skeleton_make(m->old_text, &wanted);
    if (!wanted.len) {
        buf_addf(out, "%s has only blanks.", m->words->old_name);
        return true;
    }
    struct near_misses near = { 0 };
    find_near_misses(m->text, &wanted, &near);
    if (!near.count)
        return false;
    buf_addf(out, "It nearly matches %zu time%s, at ", near.count,
            near.count == 1 ? "" : "s");
    show_places(m->text, m->main, near.from,
            near.count < MAX_PLACES ? near.count : MAX_PLACES, near.count, out);
    buf_addf(out, ":\n");
    auto_buf region = BUF(32 << 10);
    show_region(m->text, m->main, near.from[0], near.to, 0, &region);
    buf_add(out, buf_str(&region));
    explain_difference(m, near.from[0], out);
    return true;
}

static void tell_if_applied(const struct miss *m, struct buf *out)
{
    if (m->new_text.len < MIN_APPLIED || !occurs(m->text, m->main, m->new_text))
        return;
    buf_addf(out, "\n%s is in the file already: ", m->words->new_name);
    show_occurrences(m->text, m->main, m->new_text, out);
}

static void look_for_reasons(const struct miss *m, struct buf *out)
{
    if (blame_line_numbers(m, out) || blame_escapes(m, out))
        return;
    bool found = show_near_misses(m, out) || show_nearest(m, out);
    if (!found && !m->quiet)
        buf_addf(out, "Nothing in the file resembles it.");
    tell_if_applied(m, out);
}

void diagnose(const struct miss *m, struct buf *out)
{
    if (m->text.len > MAX_DIAGNOSED) {
        buf_addf(out, "The file is too large to look for what is similar; use grep -n.");
        return;
    }
    if (!m->text.len) {
        buf_addf(out, "The file is empty.");
        return;
    }
    /* How lines end has been tried already: it is not the reason, and lines keep their
     * numbers without it. */
    struct miss flat = *m;
    bool lone_cr = m->main == EOL_CR;
    auto_free char *text = eol_flatten(m->text, lone_cr, &flat.text.len);
    auto_free char *old_text = eol_flatten(m->old_text, lone_cr, &flat.old_text.len);
    if (text)
        flat.text.data = text;
    if (old_text)
        flat.old_text.data = old_text;
    flat.main = m->main == EOL_NONE ? m->main : EOL_LF;
    look_for_reasons(&flat, out);
}
