#include "base/arena.h"
#include "base/textline.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "search/text.h"

#define PATH ((struct vpath){ .text = STR("/f") })

static void read_all(struct vfs *vfs, size_t step, struct buf *out, uint64_t *bad_at)
{
    struct vfile *file;
    struct text_reader r = { 0 };
    size_t got = 1;
    assert(!vfs_open(vfs, PATH, VFS_READ, 0, &file) && !text_start(&r, file));
    while (got) {
        assert(!text_read(&r, buf_reserve(out, step), step, &got));
        out->len += got;
    }
    *bad_at = r.bad_at;
    text_reader_finish(&r);
    vfile_close(file);
}

/* What comes out is UTF-8 with LF, however it is read; what was that already is the same.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str content = { (const char *)data, size };
    struct vfs_options options = { 0 };
    struct vfs *vfs = vfs_create(&options);
    auto_buf text = BUF(4 * size + 8192);
    auto_buf again = BUF(4 * size + 8192);
    uint64_t bad_at, bad_again;
    assert(!vfs_mount_memory(vfs, VPATH_ROOT, 64 << 20));
    assert(!vfs_replace(vfs, PATH, content, VFS_CREATE, NULL));
    read_all(vfs, 4096, &text, &bad_at);
    read_all(vfs, 8, &again, &bad_again);
    assert(str_eq(buf_str(&text), buf_str(&again)) && bad_at == bad_again);
    assert(utf8_valid(buf_str(&text)));
    for (size_t at = 0; at < text.len; at++)
        assert(text.data[at] == '\n' || !textline_break(buf_str(&text), at));
    if (textline_plain(content) == size)
        assert(str_eq(buf_str(&text), content));
    vfs_destroy(vfs);
    return 0;
}
