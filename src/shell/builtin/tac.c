#include "shell/builtin/input.h"

#define BLOCK 65536

static const struct cmd_opt options[] = {
    { 'b', "before", ARG_NONE, NULL, "the separator is before a line, not after it" },
    { 's', "separator", ARG_REQUIRED, "STRING", "what ends a line (newline)" },
    { 0 },
};

struct tac {
    struct cmd *c;
    bool before;
    struct str separator;
};

/* The last place of the separator in `s`, or -1. */
static ptrdiff_t find_last(const struct tac *t, struct str s)
{
    if (t->separator.len == 1) {
        const char *at = s.len ? memrchr(s.data, t->separator.data[0], s.len) : NULL;
        return at ? at - s.data : -1;
    }
    for (size_t i = s.len; i-- > 0;)
        if (str_starts(str_from(s, i), t->separator))
            return (ptrdiff_t)i;
    return -1;
}

/* Print the lines of `text` from the last to the first; what is before the first
 * separator stays in *text unless `all`. */
static bool print_backwards(const struct tac *t, struct str *text, bool all)
{
    size_t end = text->len;    /* what is not printed yet */
    struct str search = *text; /* where a separator may begin */
    if (!t->before && search.len >= t->separator.len && str_ends(search, t->separator))
        search.len -= t->separator.len;
    ptrdiff_t at;
    while (cmd_tick(t->c) && (at = find_last(t, search)) >= 0) {
        size_t start = (size_t)at + (t->before ? 0 : t->separator.len);
        if (!cmd_put(t->c, str_sub(*text, start, end - start)))
            return false;
        end = start;
        search.len = (size_t)at;
    }
    if (all && !cmd_put(t->c, str_sub(*text, 0, end)))
        return false;
    text->len = all ? 0 : end;
    return true;
}

/* A file is read in blocks from its end; what a block begins with waits for the next. */
static bool print_file(const struct tac *t, struct vfile *f, uint64_t size, int *errnum)
{
    auto_buf kept = BUF(t->c->budget->max_memory);
    char *block = arena_alloc(t->c->arena, BLOCK);
    bool ok = true;
    while (ok && size && cmd_tick(t->c)) {
        size_t want = size % BLOCK ? (size_t)(size % BLOCK) : BLOCK, got;
        if ((*errnum = vfile_pread(f, block, want, size - want, &got)))
            return true;
        if (!buf_reserve(&kept, got))
            return budget_stop(t->c->budget, BUDGET_MEMORY);
        memmove(kept.data + got, kept.data, kept.len);
        memcpy(kept.data, block, got);
        kept.len += got;
        size -= want;
        struct str text = buf_str(&kept);
        ok = print_backwards(t, &text, !size);
        kept.len = text.len;
    }
    return ok;
}

static bool print_stream(const struct tac *t, struct stream *s)
{
    auto_buf all = BUF(t->c->budget->max_memory);
    struct str view;
    while (cmd_tick(t->c) && stream_peek(s, &view)) {
        buf_add(&all, view);
        stream_consume(s, view.len);
        if (all.full)
            return budget_stop(t->c->budget, BUDGET_MEMORY);
    }
    struct str text = buf_str(&all);
    return print_backwards(t, &text, true);
}

static int cmd_tac(struct cmd *c)
{
    struct tac t = { .c = c, .separator = STR("\n") };
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (k == CMD_BAD)
            return 1;
        t.before |= k == 'b';
        if (k == 's')
            t.separator = *o.value ? str_of(o.value) : (struct str){ "", 1 };
    }
    struct inputs in = inputs_open(c);
    in.style = INPUT_TAC;
    while (inputs_next(&in)) {
        struct vfs_stat st;
        struct vfile *f = input_is_stdin(in.name) ? NULL : stream_vfile(in.stream);
        bool seekable =
                f && !vfile_stat(f, &st) && st.type == VFS_FILE && t.separator.len == 1;
        int errnum = 0;
        if (!(seekable ? print_file(&t, f, st.size, &errnum)
                       : print_stream(&t, in.stream)))
            in.next = in.count;
        if (!errnum)
            continue;
        input_failed(c, in.style, in.name, errnum);
        in.status = 1;
    }
    return in.status;
}

const struct command command_tac = {
    "tac",
    cmd_tac,
    options,
    "[OPTION]... [FILE]...",
    "Print each file with the last line first.",
    0,
};
