#include "shell/exec.h"

#include <errno.h>

#define FIRST_FREE_FD 10 /* where {name}> begins to look */

static bool complain(struct shell *sh, struct str subject, const char *message)
{
    shell_err(sh, "%.*s: %s", STR_ARG(subject), message);
    sh->status = 1;
    return false;
}

void redirect_put(struct shell *sh, int fd, struct stream *s, struct saved_fd **saved)
{
    struct saved_fd *save = arena_alloc(sh->arena, sizeof(*save));
    *save = (struct saved_fd){ *saved, fd, sh->fds[fd] };
    *saved = save;
    sh->fds[fd] = NULL; /* the reference has moved to `save` */
    shell_set_fd(sh, fd, s ? stream_ref(s) : NULL);
}

void redirect_undo(struct shell *sh, struct saved_fd *saved)
{
    for (; saved; saved = saved->next)
        shell_set_fd(sh, saved->fd, saved->stream);
}

void redirect_keep(struct saved_fd *saved)
{
    for (; saved; saved = saved->next)
        stream_unref(saved->stream);
}

/* A command's view of the shell, for cmd_open() and cmd_create(). */
static struct cmd file_context(struct shell *sh)
{
    return (struct cmd){ .name = sh->name,
        .in = shell_fd(sh, 0),
        .out = shell_fd(sh, 1),
        .err = shell_fd(sh, 2),
        .vfs = sh->vfs,
        .cwd = sh->cwd,
        .arena = sh->arena,
        .budget = sh->budget,
        .shell = sh };
}

static bool is_network(struct str path)
{
    return str_starts(path, STR("/dev/tcp/")) || str_starts(path, STR("/dev/udp/"));
}

/* noclobber: only a new file, or something that is no plain file. */
static int create_unclobbered(struct cmd *c, const char *path, struct stream **out)
{
    int errnum = cmd_create(c, path, VFS_EXCLUSIVE, out);
    if (errnum != EEXIST)
        return errnum;
    struct vpath p;
    struct vfs_stat st;
    errnum = cmd_path(c, path, &p);
    if (!errnum)
        errnum = vfs_stat(c->vfs, p, VFS_FOLLOW, &st);
    if (!errnum && st.type == VFS_FILE)
        return EEXIST;
    return errnum ? errnum : cmd_create(c, path, 0, out);
}

static int open_target(
        struct shell *sh, const struct redirect *r, struct str path, struct stream **out)
{
    struct cmd c = file_context(sh);
    switch (r->type) {
    case REDIR_READ:
        return cmd_open(&c, path.data, false, out);
    case REDIR_APPEND:
    case REDIR_BOTH_APPEND:
        return cmd_create(&c, path.data, VFS_APPEND, out);
    case REDIR_READ_WRITE:
        return cmd_create(&c, path.data, VFS_READ, out);
    case REDIR_WRITE:
    case REDIR_BOTH:
    case REDIR_DUP_WRITE:
        if (sh->set & SET_NOCLOBBER)
            return create_unclobbered(&c, path.data, out);
        return cmd_create(&c, path.data, VFS_TRUNCATE, out);
    case REDIR_CLOBBER:
        return cmd_create(&c, path.data, VFS_TRUNCATE, out);
    case REDIR_DUP_READ:
    case REDIR_HEREDOC:
    case REDIR_HERESTRING:
        break;
    }
    return EINVAL;
}

static bool open_file(
        struct shell *sh, const struct redirect *r, struct str path, struct stream **out)
{
    if (is_network(path))
        return complain(sh, path, "network connections are not possible here");
    int errnum = open_target(sh, r, path, out);
    if (errnum == EEXIST && (sh->set & SET_NOCLOBBER))
        return complain(sh, path, "cannot overwrite existing file");
    return !errnum || complain(sh, path, strerror(errnum));
}

static bool open_text(struct shell *sh, const struct redirect *r, struct stream **out)
{
    struct str text;
    if (!expand_string(sh, r->target, sh->arena, &text))
        return false;
    if (r->type == REDIR_HERESTRING)
        text = str_of(arena_printf(sh->arena, "%.*s\n", STR_ARG(text)));
    *out = stream_text(text);
    return true;
}

static int default_fd(const struct redirect *r)
{
    switch (r->type) {
    case REDIR_READ:
    case REDIR_READ_WRITE:
    case REDIR_DUP_READ:
    case REDIR_HEREDOC:
    case REDIR_HERESTRING:
        return 0;
    case REDIR_WRITE:
    case REDIR_CLOBBER:
    case REDIR_APPEND:
    case REDIR_DUP_WRITE:
    case REDIR_BOTH:
    case REDIR_BOTH_APPEND:
        break;
    }
    return 1;
}

/* {name}>file: a free descriptor, stored in the variable; it stays open
 * (but for `shopt -s varredir_close`). */
static bool put_named(struct shell *sh, const struct redirect *r, struct stream *s,
        struct saved_fd **saved)
{
    int fd = FIRST_FREE_FD;
    while (fd < SHELL_FDS && sh->fds[fd])
        fd++;
    if (fd == SHELL_FDS)
        return complain(sh, r->fd_name, strerror(EMFILE));
    struct error err;
    char *number = arena_printf(sh->arena, "%d", fd);
    if (!vars_set(sh->vars, r->fd_name, str_of(number), &err))
        return complain(sh, r->fd_name, "cannot assign fd to variable");
    if (sh->shopt & SHOPT_VARREDIR_CLOSE)
        redirect_put(sh, fd, s, saved);
    else
        shell_set_fd(sh, fd, stream_ref(s));
    return true;
}

/* {name}>&-: close the descriptor that the variable holds. */
static bool close_named(struct shell *sh, const struct redirect *r)
{
    struct str value;
    int64_t fd;
    if (!vars_get(sh->vars, r->fd_name, &value) || !str_int(value, &fd) || fd < 0 ||
            fd >= SHELL_FDS)
        return complain(sh, r->fd_name, "ambiguous redirect");
    shell_set_fd(sh, (int)fd, NULL);
    return true;
}

/* `s` (taken over) to where the redirect says. */
static bool put(struct shell *sh, const struct redirect *r, struct stream *s,
        struct saved_fd **saved)
{
    bool ok = true;
    int fd = r->fd >= 0 ? r->fd : default_fd(r);
    if (r->fd_name.len)
        ok = put_named(sh, r, s, saved);
    else if (fd >= SHELL_FDS)
        ok = complain(sh, str_of(arena_printf(sh->arena, "%d", fd)), strerror(EBADF));
    else
        redirect_put(sh, fd, s, saved);
    stream_unref(s);
    return ok;
}

static bool put_both(struct shell *sh, const struct redirect *r, struct str path,
        struct saved_fd **saved)
{
    struct stream *s;
    if (!open_file(sh, r, path, &s))
        return false;
    redirect_put(sh, 1, s, saved);
    redirect_put(sh, 2, s, saved);
    stream_unref(s);
    return true;
}

/* n>&m, n<&m-, n>&-, and >&file, which only the expanded word tells apart. */
static bool apply_dup(struct shell *sh, const struct redirect *r, struct saved_fd **saved)
{
    struct str word;
    if (!expand_redirect_target(sh, r->target, sh->arena, &word))
        return false;
    int fd = r->fd >= 0 ? r->fd : default_fd(r);
    if (str_is(word, "-")) {
        if (r->fd_name.len)
            return close_named(sh, r);
        if (fd < SHELL_FDS)
            redirect_put(sh, fd, NULL, saved);
        return true;
    }
    bool moves = word.len > 1 && word.data[word.len - 1] == '-';
    int64_t from;
    if (!str_int(str_sub(word, 0, word.len - moves), &from) || from < 0) {
        if (r->type == REDIR_DUP_WRITE && fd == 1 && !r->fd_name.len)
            return put_both(sh, r, word, saved);
        return complain(sh, word, "ambiguous redirect");
    }
    if (from >= SHELL_FDS || !sh->fds[from])
        return complain(sh, str_sub(word, 0, word.len - moves), strerror(EBADF));
    if (!put(sh, r, stream_ref(sh->fds[from]), saved))
        return false;
    if (moves && from != fd)
        redirect_put(sh, (int)from, NULL, saved);
    return true;
}

static bool apply(struct shell *sh, const struct redirect *r, struct saved_fd **saved)
{
    struct stream *s = NULL;
    struct str path;
    if (r->type == REDIR_DUP_READ || r->type == REDIR_DUP_WRITE)
        return apply_dup(sh, r, saved);
    if (r->type == REDIR_HEREDOC || r->type == REDIR_HERESTRING)
        return open_text(sh, r, &s) && put(sh, r, s, saved);
    if (!expand_redirect_target(sh, r->target, sh->arena, &path))
        return false;
    if (r->type == REDIR_BOTH || r->type == REDIR_BOTH_APPEND)
        return put_both(sh, r, path, saved);
    return open_file(sh, r, path, &s) && put(sh, r, s, saved);
}

bool redirect_apply(struct shell *sh, const struct redirect *redirects, size_t count,
        struct saved_fd **saved)
{
    for (size_t i = 0; i < count; i++)
        if (!apply(sh, &redirects[i], saved))
            return false;
    return true;
}

const struct redirect *redirect_lone_read(const struct node *n)
{
    if (n->type != NODE_SIMPLE || n->simple.arg_count || n->simple.assign_count ||
            n->redirect_count != 1)
        return NULL;
    const struct redirect *r = n->redirects;
    return r->type == REDIR_READ && r->fd <= 0 && !r->fd_name.len ? r : NULL;
}
