/*
 * The nth call to a backend fails, whatever it is: an edit that failed changed nothing,
 * one that says it worked did.
 */
#include "../unit/vfs-world.h"

#include "edit/edit.h"
#include "vfs/backend.h"

#include <errno.h>

/* A backend that passes everything on until the countdown ends. */
struct vfs_fault {
    const struct vfs_ops *ops;
    void *self;
    int countdown; /* 0: no fault is planned */
};

static struct vfs_fault fault;

static bool is_due(void)
{
    return fault.countdown && !--fault.countdown;
}

struct fault_file {
    struct vfile base;
    struct vfile *real;
};

static int file_read(struct vfile *f, void *data, size_t size, size_t *got)
{
    struct vfile *real = ((struct fault_file *)f)->real;
    return is_due() ? EIO : vfile_read(real, data, size < 3 ? size : 3, got);
}

static int file_stat(struct vfile *f, struct vfs_stat *out)
{
    return is_due() ? EIO : vfile_stat(((struct fault_file *)f)->real, out);
}

static void file_close(struct vfile *f)
{
    vfile_close(((struct fault_file *)f)->real);
    free(f);
}

static const struct vfile_ops file_ops = {
    .read = file_read,
    .stat = file_stat,
    .close = file_close,
};

static int fault_open(void *self, const char *path, enum vfs_open_flags flags,
        uint32_t mode, struct vfile **out)
{
    struct vfile *real;
    int error = is_due() ? EIO : fault.ops->open(self, path, flags, mode, &real);
    if (error)
        return error;
    struct fault_file *f = xmalloc(sizeof(*f));
    *f = (struct fault_file){ { &file_ops, -1 }, real };
    *out = &f->base;
    return 0;
}

static int fault_stat(void *self, const char *path, struct vfs_stat *out)
{
    return is_due() ? EIO : fault.ops->stat(self, path, out);
}

static int fault_readlink(
        void *self, const char *path, char *data, size_t size, size_t *len)
{
    return is_due() ? EIO : fault.ops->readlink(self, path, data, size, len);
}

static int fault_replace(void *self, const char *path, struct str data,
        enum vfs_open_flags flags, uint32_t mode, const struct vfs_stat *expect)
{
    return is_due() ? ENOSPC : fault.ops->replace(self, path, data, flags, mode, expect);
}

static void keep(void *self)
{
    (void)self;
}

static struct vfs *faulty_view(struct world *w, int countdown)
{
    static struct vfs_ops ops;
    ops = *w->ops;
    ops.open = fault_open;
    ops.stat = fault_stat;
    ops.readlink = fault_readlink;
    ops.replace = fault_replace;
    ops.destroy = keep;
    fault = (struct vfs_fault){ w->ops, w->self, 0 };
    struct vfs_options options = { .deny = w->deny, .read_only = false, .umask = 022 };
    struct vfs *vfs = vfs_create(&options);
    assert_int_equal(vfs_mount(vfs, VPATH_ROOT, &ops, w->self), 0);
    fault.countdown = countdown;
    return vfs;
}

/* False when the fault was not reached. */
static bool try_edit(enum world_kind kind, int n, struct str old, const char *path)
{
    struct world *w = world_create(kind);
    put(w, "f", "some old content\n");
    make_dir(w, "d");
    make_link(w, "../f", "d/l");
    struct vfs *vfs = faulty_view(w, n);
    struct edit_request request = { .path = at(w, path),
        .shown_path = str_of(path),
        .old_text = old,
        .new_text = STR("new") };
    struct edit_result result;
    struct str detail;
    struct error err;
    bool ok = edit_apply(vfs, &request, w->arena, &result, &detail, &err);
    bool reached = !fault.countdown;
    vfs_destroy(vfs);
    bool created = ok && !old.len;
    assert_content(w, "f", ok && old.len ? "some new content\n" : "some old content\n");
    assert_string_equal(names_in(w, "."), created ? "d f n" : "d f");
    if (!reached)
        assert_true(ok);
    world_destroy(w);
    return reached;
}

static void test_every_call(void **state)
{
    (void)state;
    static const struct {
        struct str old;
        const char *path;
    } table[] = { { STR("old"), "f" }, { STR("old"), "d/../d/l" }, { STR(""), "n" } };
    static const enum world_kind kinds[] = { WORLD_LOCAL, WORLD_LOCAL_STEPS,
        WORLD_MEMORY };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
            int n = 1;
            while (try_edit(kinds[k], n, table[i].old, table[i].path))
                assert_true(++n < 100);
            assert_true(n > 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_call) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
