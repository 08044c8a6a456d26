#include "shell/builtin/files.h"
#include "shell/builtin/ls.h"
#include "shell/builtin/users.h"

#include <stdio.h>

#define HALF_YEAR (31556952 / 2) /* of a Gregorian year, in seconds */

struct columns { /* how wide each is */
    struct ls_widths numbers;
    int links, owner, group, size, date;
};

struct owner {
    char text[64];
    bool is_number; /* aligned to the right */
};

static struct owner owner_text(struct ls *ls, uint32_t id, bool group)
{
    struct owner owner = { 0 };
    const char *name = ls->numeric ? NULL
                       : group     ? group_name(ls->c, id)
                                   : user_name(ls->c, id);
    owner.is_number = !name;
    if (name)
        snprintf(owner.text, sizeof(owner.text), "%s", name);
    else
        snprintf(owner.text, sizeof(owner.text), "%u", id);
    return owner;
}

static void add_date(struct ls *ls, const struct ls_file *f, struct buf *out)
{
    struct datetime t = datetime_from_ns(ls_time_of(ls, f));
    int64_t age = ls->now.seconds - t.seconds;
    bool future = t.seconds > ls->now.seconds ||
                  (t.seconds == ls->now.seconds && t.ns > ls->now.ns);
    bool recent = age < HALF_YEAR && !future;
    datetime_format(str_of(recent ? ls->time_recent : ls->time_old), t, false, out);
}

static void widen(int *width, size_t len)
{
    if ((int)len > *width)
        *width = (int)len;
}

static struct columns measure(struct ls *ls, const struct ls_file *files, size_t count)
{
    struct columns w = { .numbers = ls_measure(ls, files, count) };
    for (size_t i = 0; i < count; i++) {
        const struct vfs_stat *st = &files[i].st;
        char text[24];
        if (!files[i].has_stat) {
            widen(&w.size, 1);
            widen(&w.links, 1);
            continue;
        }
        widen(&w.links, (size_t)snprintf(text, sizeof(text), "%llu",
                                (unsigned long long)st->nlink));
        widen(&w.size, strlen(ls_size_text(ls, st->size, false, text)));
        widen(&w.owner, strlen(owner_text(ls, st->uid, false).text));
        widen(&w.group, strlen(owner_text(ls, st->gid, true).text));
    }
    auto_buf date = BUF(4096);
    struct ls_file now = { 0 }; /* the width for an entry without a date */
    add_date(ls, count && files[0].has_stat ? &files[0] : &now, &date);
    w.date = (int)date.len;
    return w;
}

static void add_owner(struct owner owner, int width, struct buf *out)
{
    buf_addf(out, owner.is_number ? "%*s " : "%-*s ", width, owner.text);
}

static void add_unknown(const struct ls *ls, const struct ls_file *f,
        const struct columns *w, struct buf *out)
{
    char mode[11];
    mode_text(f->st.type, 0, mode);
    buf_addf(out, "%c????????? %*s ", mode[0], w->links, "?");
    if (!ls->no_owner)
        buf_addf(out, "%-*s ", w->owner, "?");
    if (!ls->no_group)
        buf_addf(out, "%-*s ", w->group, "?");
    buf_addf(out, "%*s %*s ", w->size, "?", w->date, "?");
}

static void add_details(
        struct ls *ls, const struct ls_file *f, const struct columns *w, struct buf *out)
{
    char mode[11], size[24];
    mode_text(f->st.type, f->st.mode, mode);
    buf_addf(out, "%s %*llu ", mode, w->links, (unsigned long long)f->st.nlink);
    if (!ls->no_owner)
        add_owner(owner_text(ls, f->st.uid, false), w->owner, out);
    if (!ls->no_group)
        add_owner(owner_text(ls, f->st.gid, true), w->group, out);
    buf_addf(out, "%*s ", w->size, ls_size_text(ls, f->st.size, false, size));
    add_date(ls, f, out);
    buf_addc(out, ' ');
}

/* "name -> target": the mark is the target's. */
static void add_link(const struct ls *ls, const struct ls_file *f, struct buf *out)
{
    ls_add_quoted(ls, f->name, out);
    buf_add(out, STR(" -> "));
    ls_add_quoted(ls, f->target, out);
    char mark = ls_mark_of(ls, f->target_type, f->target_mode);
    if (mark)
        buf_addc(out, mark);
}

bool ls_print_long(struct ls *ls, struct ls_file *files, size_t count)
{
    struct columns w = measure(ls, files, count + ls->measured_too);
    auto_buf line = BUF(65536);
    for (size_t i = 0; i < count && cmd_tick(ls->c); i++) {
        const struct ls_file *f = &files[i];
        buf_clear(&line);
        ls_add_numbers(ls, f, w.numbers, &line);
        if (f->has_stat)
            add_details(ls, f, &w, &line);
        else
            add_unknown(ls, f, &w, &line);
        if (f->st.type == VFS_LINK && f->target.data)
            add_link(ls, f, &line);
        else
            ls_add_name(ls, f, &line);
        buf_addc(&line, ls->end);
        if (!cmd_put(ls->c, buf_str(&line)))
            return false;
    }
    return true;
}
