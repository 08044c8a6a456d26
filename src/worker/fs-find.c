/* fs_find. */
#include "worker/fs-select.h"

#define DEFAULT_RESULTS 100
#define MAX_REPLY       50000  /* bytes, about */
#define MAX_MORE        100000 /* files that are only counted */

static void add_truncation(const struct fs_select *s, uint64_t shown, uint64_t more,
        bool full, struct buf *notes)
{
    if (more)
        buf_addf(notes, "Showing first %llu results of %s%llu%s. Narrow %s or path%s.",
                (unsigned long long)shown, more < MAX_MORE ? "" : "at least ",
                (unsigned long long)(shown + more), full ? ", as many as fit" : "",
                fs_select_filter(s), full ? "" : ", or raise max_results");
}

/* Notes stand after what was found, or in the sentence that says that nothing was. */
static void add_notes(struct fs *fs, struct str notes, bool found)
{
    if (notes.len)
        buf_addf(fs->text, found ? "\n[%.*s]\n" : " (%.*s)\n", STR_ARG(notes));
    else if (!found)
        buf_addc(fs->text, '\n');
}

static bool list(struct fs *fs, struct fs_select *s)
{
    int64_t max = fs_int_arg(fs, "max_results", 0);
    uint64_t wanted = max > 0 ? (uint64_t)max : max ? 1 : DEFAULT_RESULTS;
    uint64_t shown = 0, more = 0;
    struct fs_found found;
    while (more < MAX_MORE && fs_select_next(s, &found)) {
        if (shown < wanted && fs->text->len < MAX_REPLY && !more) {
            buf_add(fs->text, fs_printable(fs, found.shown));
            buf_addc(fs->text, '\n');
            shown++;
        } else
            more++;
    }
    if (fs_select_failed(s))
        return true;
    if (!shown) {
        struct str pattern = fs_select_pattern(s), start = fs_select_start(s)->given;
        buf_addf(fs->text, "No files matching '%.*s' found under '%.*s'.",
                STR_ARG(pattern), STR_ARG(start));
    }
    auto_buf notes = BUF(4096);
    add_truncation(s, shown, more, shown < wanted, &notes);
    fs_select_notes(s, &notes);
    add_notes(fs, buf_str(&notes), shown > 0);
    return false;
}

bool fs_find(struct fs *fs)
{
    if (!fs_text_arg(fs, "file_glob").len && !fs_text_arg(fs, "file_regex").len)
        return fs_fail(fs, "give file_glob or file_regex; \"*\" finds every file");
    struct fs_select *s = fs_select_create(fs, fs_bool_arg(fs, "case_sensitive", true));
    if (!s)
        return true;
    bool is_error = fs_select_start_type(s) != VFS_DIR
                            ? fs_fail(fs, "'%.*s' is not a directory",
                                      STR_ARG(fs_select_start(s)->given))
                            : list(fs, s);
    fs_select_destroy(s);
    return is_error;
}
