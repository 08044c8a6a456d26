/*
 * First everything is copied and set up where nobody sees it, then all of / becomes
 * read-only, then the copies are attached.  So what can fail fails before anything has
 * changed, and a copy is what was looked at and not what has come in its place since.
 */
#include "confine/pieces.h"

#include "confine/layout.h"
#include "confine/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEEP_OUT (MOUNT_READ_ONLY | MOUNT_NO_SET_ID | MOUNT_NO_DEVICES | MOUNT_NO_EXEC)

/* What an item of the layout becomes. */
struct piece {
    int tree; /* the copy, -1: none is needed, or it is attached by now */
    bool is_skipped;
    struct stat was; /* what stood there when it was copied */
};

struct building {
    const struct view_request *request;
    struct view_status *status;
    struct layout layout;
    struct piece *pieces; /* beside layout.items */
    int empty_folder;     /* an attached one that others are copied from, or -1 */
};

static bool stop(struct building *b, const char *step, int error, bool is_partial)
{
    b->status->failed = step;
    b->status->error = error;
    b->status->is_partial = is_partial;
    return false;
}

/* Not there, a link by now, or not to be reached by us, and so by nobody in the view. */
static bool is_out_of_reach(int error)
{
    return error == ENOENT || error == ENOTDIR || error == EACCES || error == ELOOP;
}

/* The kernel cannot or will not do such things; any other error is about one path, and
 * whoever can bring it about must not get rid of all the others by that. */
static bool is_general(int error)
{
    return error == ENOSYS || error == EPERM;
}

static bool can_be_written(enum layout_kind kind)
{
    return kind == LAYOUT_WRITABLE || kind == LAYOUT_PIN || kind == LAYOUT_PRIVATE;
}

static enum mount_flags flags_of(const struct building *b, enum layout_kind kind)
{
    enum mount_flags flags = MOUNT_NO_SET_ID;
    if (b->request->no_programs && can_be_written(kind))
        flags |= MOUNT_NO_EXEC;
    if (kind != LAYOUT_DEVICE && kind != LAYOUT_TERMINALS)
        flags |= MOUNT_NO_DEVICES;
    if (kind == LAYOUT_READ_ONLY || kind == LAYOUT_VISIBLE)
        flags |= MOUNT_READ_ONLY;
    return flags;
}

/* A device that cannot be opened, whatever the mode says and whoever asks. */
static int copy_null(void)
{
    auto_fd int null = mount_open_path("/dev/null");
    return null < 0 ? -1 : mount_copy(null);
}

static int make_tree(const struct building *b, const struct layout_item *item,
        struct piece *piece, int fd)
{
    switch (item->kind) {
    case LAYOUT_PRIVATE:
        return mount_memory(item->mode, item->bytes ? item->bytes : b->request->tmp_bytes,
                flags_of(b, item->kind));
    case LAYOUT_TERMINALS:
        return mount_terminals(flags_of(b, item->kind));
    case LAYOUT_HIDDEN:
        return S_ISDIR(piece->was.st_mode) ? mount_memory(0, 4096, KEEP_OUT)
                                           : copy_null();
    case LAYOUT_DEVICE:
    case LAYOUT_PIN:
    case LAYOUT_VISIBLE:
    case LAYOUT_WRITABLE:
    case LAYOUT_READ_ONLY:
        break;
    }
    return mount_copy(fd);
}

/* Not a copy of what is there. */
static bool is_new(enum layout_kind kind)
{
    return kind == LAYOUT_PRIVATE || kind == LAYOUT_TERMINALS;
}

static bool is_copied_later(const struct building *b, const struct layout_item *item,
        const struct piece *piece)
{
    return item->kind == LAYOUT_HIDDEN && S_ISDIR(piece->was.st_mode) &&
           b->empty_folder >= 0;
}

static int prepare(
        struct building *b, const struct layout_item *item, struct piece *piece)
{
    auto_fd int fd = mount_open_path(item->path);
    if (fd < 0 || fstat(fd, &piece->was)) {
        piece->is_skipped = is_out_of_reach(errno);
        return piece->is_skipped ? 0 : errno;
    }
    if (is_new(item->kind) && !S_ISDIR(piece->was.st_mode)) {
        piece->is_skipped = true;
        return 0;
    }
    if (is_copied_later(b, item, piece))
        return 0;
    piece->tree = make_tree(b, item, piece, fd);
    piece->is_skipped = piece->tree < 0 && item->kind == LAYOUT_TERMINALS;
    if (piece->tree < 0)
        return piece->is_skipped ? 0 : errno;
    if (is_new(item->kind))
        return 0;
    if (item->kind != LAYOUT_HIDDEN)
        return mount_restrict(piece->tree, flags_of(b, item->kind));
    if (S_ISDIR(piece->was.st_mode))
        b->empty_folder = piece->tree;
    return mount_restrict(piece->tree, KEEP_OUT);
}

static bool prepare_all(struct building *b)
{
    for (size_t i = 0; i < b->layout.count; i++) {
        int error = prepare(b, &b->layout.items[i], &b->pieces[i]);
        if (error)
            return stop(b, "copy of a mount", error, !is_general(error));
    }
    return true;
}

/* Make the folders above `path`, which is relative to `folder`, and what it is itself. */
static int make_place(int folder, const char *path, bool is_dir)
{
    auto_fd int at = fcntl(folder, F_DUPFD_CLOEXEC, 0);
    struct str rest = str_of(path);
    while (rest.len) {
        char name[256];
        struct str part = str_cut(&rest, '/');
        snprintf(name, sizeof(name), "%.*s", STR_ARG(part));
        bool is_folder = rest.len || is_dir;
        if (is_folder && mkdirat(at, name, 0755) && errno != EEXIST)
            return -1;
        int flags = is_folder ? O_PATH | O_DIRECTORY : O_CREAT | O_RDONLY;
        int next = openat(at, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (next < 0)
            return -1;
        close_fd(&at);
        at = next;
    }
    int made = at;
    at = -1;
    return made;
}

/* Where `item` is to be attached; it must still be what was copied. */
static int find_place(
        struct building *b, const struct layout_item *item, const struct piece *piece)
{
    const struct piece *top = item->top ? &b->pieces[item->top - b->layout.items] : NULL;
    if (top && !top->is_skipped)
        return make_place(top->tree, item->path + strlen(item->top->path) + 1,
                S_ISDIR(piece->was.st_mode));
    auto_fd int fd = mount_open_path(item->path);
    struct stat now;
    if (fd < 0 || fstat(fd, &now))
        return -1;
    if (now.st_dev != piece->was.st_dev || now.st_ino != piece->was.st_ino) {
        errno = ESTALE;
        return -1;
    }
    int place = fd;
    fd = -1;
    return place;
}

static int attach(struct building *b, const struct layout_item *item, struct piece *piece)
{
    auto_fd int place = find_place(b, item, piece);
    if (place < 0)
        return errno;
    if (piece->tree < 0) /* possible for what is attached, which the first one is */
        piece->tree = mount_copy(b->empty_folder);
    return piece->tree < 0 ? errno : mount_attach(piece->tree, place);
}

static bool is_private_dev(const struct layout_item *item)
{
    return item->kind == LAYOUT_PRIVATE && !strcmp(item->path, "/dev");
}

/* What a shell, and whoever opens a terminal, expects in /dev. */
static void make_device_links(int dev)
{
    static const char *const links[][2] = { { "fd", "/proc/self/fd" },
        { "stdin", "/proc/self/fd/0" }, { "stdout", "/proc/self/fd/1" },
        { "stderr", "/proc/self/fd/2" }, { "ptmx", "pts/ptmx" } };
    for (size_t i = 0; i < ARRAY_LEN(links); i++)
        if (symlinkat(links[i][1], dev, links[i][0]))
            return; /* programs will miss it, and say so */
}

static void count_held(struct building *b)
{
    b->status->hidden = b->status->read_only = 0;
    for (size_t i = 0; i < b->request->path_count; i++) {
        b->status->hidden += b->request->paths[i].rule == VIEW_HIDDEN;
        b->status->read_only += b->request->paths[i].rule == VIEW_READ_ONLY;
    }
}

/* Where /dev is another one or none, no device of the old tree is needed. */
static bool has_own_dev(const struct building *b)
{
    for (size_t i = 0; i < b->layout.count; i++) {
        enum layout_kind kind = b->layout.items[i].kind;
        if ((kind == LAYOUT_PRIVATE || kind == LAYOUT_HIDDEN) &&
                !strcmp(b->layout.items[i].path, "/dev"))
            return !b->pieces[i].is_skipped;
    }
    return false;
}

static bool attach_all(struct building *b)
{
    enum mount_flags all = MOUNT_NO_SET_ID;
    all |= b->layout.all_writable ? 0 : MOUNT_READ_ONLY;
    all |= has_own_dev(b) ? MOUNT_NO_DEVICES : 0;
    int error = mount_restrict_all(all);
    if (error)
        return stop(b, "read-only file system", error, !is_general(error));
    for (size_t i = 0; i < b->layout.count; i++) {
        if (b->pieces[i].is_skipped)
            continue;
        error = attach(b, &b->layout.items[i], &b->pieces[i]);
        if (error)
            return stop(b, "mount", error, true);
        if (is_private_dev(&b->layout.items[i]))
            make_device_links(b->pieces[i].tree);
    }
    count_held(b);
    return true;
}

/* What is attached stays without its descriptor. */
static void close_trees(struct building *b)
{
    for (size_t i = 0; i < b->layout.count; i++)
        close_fd(&b->pieces[i].tree);
}

void pieces_mount(const struct view_request *request, struct view_status *status)
{
    auto_arena *arena = arena_create();
    struct building b = { .request = request, .status = status, .empty_folder = -1 };
    layout_make(request, arena, &b.layout);
    b.pieces = arena_zalloc(arena, (b.layout.count + 1) * sizeof(*b.pieces));
    for (size_t i = 0; i < b.layout.count; i++)
        b.pieces[i].tree = -1;
    if (b.layout.is_malformed)
        stop(&b, "path", EINVAL, true);
    else if (prepare_all(&b))
        attach_all(&b);
    close_trees(&b);
}
