#include "python/hook-parts.h"

#include "base/json.h"

#include <fcntl.h>
#include <nettle/sha2.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_WRITES = 1000 };

/* Of the paths of what was written: in JSON a byte may become six. */
#define MAX_WRITE_BYTES ((size_t)512 << 10)

#define MAX_HASHED ((off_t)16 << 20) /* a bigger file is noted without its hash */

static struct {
    json_t *writes;
    size_t bytes;
    json_int_t left_out;
} notes;

static bool add_file(struct sha256_ctx *sha, int fd)
{
    uint8_t data[16384];
    off_t size = 0;
    for (ssize_t n; size <= MAX_HASHED; size += n) {
        n = read(fd, data, sizeof(data));
        if (n <= 0)
            return !n;
        sha256_update(sha, (size_t)n, data);
    }
    return false;
}

/* Adds the hash of what is in the file now, if it is a file and not too big. */
static void add_hash(json_t *note, const char *key, const char *path)
{
    struct stat st;
    struct sha256_ctx sha;
    uint8_t digest[SHA256_DIGEST_SIZE];
    if (!guard.setup->hashes)
        return;
    auto_fd int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    sha256_init(&sha);
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || !add_file(&sha, fd))
        return;
    auto_buf hex = BUF(2 * sizeof(digest));
    sha256_digest(&sha, sizeof(digest), digest);
    buf_add_hex(&hex, digest, sizeof(digest));
    json_object_set_new(note, key, json_text(buf_str(&hex)));
}

static bool is_noted(struct str path, const char *op)
{
    size_t i;
    const json_t *note;
    json_array_foreach (notes.writes, i, note) {
        if (str_is(json_get_str(note, "op", STR("")), op) &&
                str_eq(json_get_str(note, "path", STR("")), path))
            return true;
    }
    return false;
}

void notes_write(struct str path, const char *op)
{
    if (str_is(path, "/dev/null") || is_noted(path, op))
        return;
    size_t count = json_array_size(notes.writes);
    if (count >= MAX_WRITES || notes.bytes > MAX_WRITE_BYTES) {
        notes.left_out++;
        return;
    }
    notes.bytes += path.len;
    notes.writes = notes.writes ? notes.writes : json_array();
    json_t *note = json_pack("{s:o, s:s}", "path", json_text(path), "op", op);
    add_hash(note, "before", path.data);
    json_array_append_new(notes.writes, note);
}

static void add_hashes_after(void)
{
    size_t i;
    json_t *note;
    json_array_foreach (notes.writes, i, note) {
        auto_free char *path = str_copy(json_get_str(note, "path", STR("")));
        add_hash(note, "after", path);
    }
}

void hook_take_notes(json_t *out)
{
    struct str rule = guard_first_rule();
    if (rule.len) {
        json_object_set_new(out, "decision", json_string("deny"));
        json_object_set_new(out, "rule", json_text(rule));
    }
    add_hashes_after();
    if (notes.writes)
        json_object_set_new(out, "writes", notes.writes);
    if (notes.left_out)
        json_object_set_new(out, "writes_left_out", json_integer(notes.left_out));
    notes.writes = NULL;
    notes.bytes = 0;
    notes.left_out = 0;
}
