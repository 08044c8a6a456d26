#include "edit/lookalike.h"

#include "base/nearest.h"
#include "base/path.h"
#include "base/utf8.h"
#include "edit/internal.h"

#include <wctype.h>

enum {
    MAX_GAP = 64,
    MAX_NAME = 255,
    FIRST_LATIN = 0xC0,
    HANGUL = 0xAC00,
    HANGUL_END = 0xD7A4
};

#define UNSHOWN "\xEF\xBF\xBD"

/* The letters below the accents, from U+00C0 to U+017F; a dot: no accent. */
static const char below_accents[] = "aaaaaa.ceeeeiiii.nooooo..uuuuy.."
                                    "aaaaaa.ceeeeiiii.nooooo..uuuuy.y"
                                    "aaaaaaccccccccdd..eeeeeeeeeegggg"
                                    "gggghh..iiiiiiiii...jjkk.llllll."
                                    "...nnnnnn...oooooo..rrrrrrssssss"
                                    "sstttt..uuuuuuuuuuuuwwyyyzzzzzz.";

static bool is_accent(uint32_t c)
{
    return (c >= 0x300 && c <= 0x36F) || c == 0x3099 || c == 0x309A;
}

static void add_code(uint32_t code, struct buf *out)
{
    char bytes[4];
    buf_add(out, (struct str){ bytes, utf8_write(code, bytes) });
}

/* A Hangul syllable as the letters that it is written with. */
static void add_hangul(uint32_t code, struct buf *out)
{
    uint32_t index = code - HANGUL, last = index % 28;
    add_code(0x1100 + index / 588, out);
    add_code(0x1161 + index % 588 / 28, out);
    if (last)
        add_code(0x11A7 + last, out);
}

static void add_folded(uint32_t code, struct buf *out)
{
    bool latin = code >= FIRST_LATIN && code < FIRST_LATIN + sizeof(below_accents) - 1;
    char base = latin ? below_accents[code - FIRST_LATIN] : '.';
    if (base != '.')
        buf_addc(out, base);
    else if (code >= HANGUL && code < HANGUL_END)
        add_hangul(code, out);
    else
        add_code((uint32_t)towlower((wint_t)code), out);
}

/* Bytes that are no UTF-8 were shown as U+FFFD, one or more of them as one. */
static void add_unshown(struct buf *out)
{
    if (!str_ends(buf_str(out), STR(UNSHOWN)))
        buf_add(out, STR(UNSHOWN));
}

/* What two names that look the same have in common. */
static void make_key(struct str name, struct skeleton *out)
{
    auto_buf folded = BUF(12 * (MAX_NAME + 1));
    for (size_t at = 0; at < name.len;) {
        struct glyph g = glyph_at(name, at);
        at += g.len;
        if (g.code == 0xFFFD || g.code >= 0x110000)
            add_unshown(&folded);
        else if (!g.filler && !is_accent(g.code))
            add_folded(g.code, &folded);
    }
    skeleton_make(buf_str(&folded), out);
}

static bool same_key(const struct skeleton *key, struct str name)
{
    auto_skeleton other = { 0 };
    make_key(name, &other);
    return key->len && str_eq((struct str){ key->data, key->len },
                               (struct str){ other.data, other.len });
}

static struct str name_at(const void *list, size_t i)
{
    return ((const struct vfs_entry *)list)[i].name;
}

struct lookalikes lookalikes_find(
        struct str name, const struct vfs_entry *entries, size_t count)
{
    struct lookalikes found = { .same = true };
    auto_skeleton key = { 0 };
    make_key(str_sub(name, 0, MAX_NAME), &key);
    for (size_t i = 0; i < count && found.count < LOOKALIKES_MAX; i++)
        if (same_key(&key, entries[i].name))
            found.names[found.count++] = entries[i].name;
    if (found.count)
        return found;
    struct str near = nearest_name(name, entries, count, name_at);
    return (struct lookalikes){ .count = near.len > 0, .names = { near } };
}

/* Where two names part: "U+202F (narrow no-break space) where you wrote U+0020". */
static void explain(struct str name, struct str there, struct buf *out)
{
    size_t at = 0, other = 0;
    while (at < name.len && other < there.len) {
        struct glyph a = glyph_at(name, at), b = glyph_at(there, other);
        if (a.code != b.code)
            break;
        at += a.len;
        other += b.len;
    }
    if (other < there.len)
        show_glyph(glyph_at(there, other).code, out);
    else
        buf_addf(out, "nothing");
    buf_addf(out, " where you wrote ");
    if (at < name.len)
        show_glyph(glyph_at(name, at).code, out);
    else
        buf_addf(out, "nothing");
}

/* The deepest directory of the path that is there, and the name that it lacks. */
static bool find_gap(struct vfs *vfs, struct vpath path, struct arena *arena,
        struct vpath *dir, struct str *name)
{
    struct vfs_stat st;
    struct str text = path.text;
    for (int i = 0; i < MAX_GAP && text.len > 1; i++) {
        const char *slash = memrchr(text.data, '/', text.len);
        size_t at = (size_t)(slash - text.data);
        *name = str_from(text, at + 1);
        text = at ? str_sub(text, 0, at) : STR("/");
        *dir = (struct vpath){ arena_str(arena, text), false };
        if (!vfs_stat(vfs, *dir, VFS_FOLLOW, &st))
            return st.type == VFS_DIR;
    }
    return false;
}

static void add_path(struct vpath dir, struct str name, struct str base, struct buf *out)
{
    struct str folder = dir.text;
    if (base.len && path_is_in(folder, base))
        folder = str_from(folder, folder.len > base.len ? base.len + 1 : base.len);
    bool needs_slash = folder.len && !str_ends(folder, STR("/"));
    buf_addc(out, '\'');
    buf_add_escaped(out, folder);
    buf_add(out, needs_slash ? STR("/") : STR(""));
    buf_add_escaped(out, name);
    buf_addc(out, '\'');
}

/* It cannot be given as it is, since arguments of tools are UTF-8. */
static void add_for_shell(struct str name, struct buf *out)
{
    if (utf8_valid_len(name) == name.len)
        return;
    buf_addf(out, " (in a shell: $'");
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.data[i];
        if (c >= 0x20 && c < 0x7F && c != '\'' && c != '\\')
            buf_addc(out, name.data[i]);
        else
            buf_addf(out, "\\x%02x", c);
    }
    buf_addf(out, "')");
}

bool lookalikes_tell(struct vfs *vfs, struct vpath path, struct str base,
        struct arena *arena, struct buf *out)
{
    struct vpath dir;
    struct str name;
    struct vfs_entry *entries;
    size_t count;
    if (!find_gap(vfs, path, arena, &dir, &name) ||
            vfs_list(vfs, dir, arena, &entries, &count))
        return false;
    for (size_t i = 0; i < count; i++)
        if (str_eq(entries[i].name, name)) {
            buf_addf(out, "'%.*s' is there, but it leads nowhere", STR_ARG(name));
            return true;
        }
    struct lookalikes found = lookalikes_find(name, entries, count);
    if (!found.count)
        return false;
    buf_addf(out, found.same ? "What is there looks the same: " : "Did you mean ");
    for (size_t i = 0; i < found.count; i++) {
        buf_addf(out, i ? "; " : "");
        add_path(dir, found.names[i], base, out);
        if (!found.same)
            continue;
        buf_addf(out, " has ");
        explain(name, found.names[i], out);
        add_for_shell(found.names[i], out);
    }
    if (!found.same)
        buf_addc(out, '?');
    return found.same;
}
