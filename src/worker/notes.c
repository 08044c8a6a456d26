#include "worker/notes.h"

#include "base/json.h"

#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>

enum { MAX_WRITES = 1000, MAX_EVENTS = 1000, MAX_DETAIL = 300 };

/* Of the paths of what was written: in JSON a byte may become six. */
#define MAX_WRITE_BYTES ((size_t)512 << 10)

#define MAX_HASHED ((uint64_t)16 << 20) /* a bigger file is noted without its hash */

/* What an operation is called in the debug log: the names of Python's audit events. */
static const struct {
    const char *op, *event, *suffix;
} event_names[] = {
    { "chmod", "os.chmod", "" },
    { "link", "os.link", "" },
    { "list", "os.listdir", "" },
    { "mkdir", "os.mkdir", "" },
    { "read", "open", " mode='r'" },
    { "rename", "os.rename", "" },
    { "replace", "open", " mode='w'" },
    { "rmdir", "os.rmdir", "" },
    { "set-times", "os.utime", "" },
    { "symlink", "os.symlink", "" },
    { "unlink", "os.remove", "" },
    { "write", "open", " mode='w'" },
};

static void write_hash(struct sha256_ctx *sha, char out[65])
{
    uint8_t digest[SHA256_DIGEST_SIZE];
    auto_buf hex = BUF(2 * sizeof(digest));
    sha256_digest(sha, sizeof(digest), digest);
    buf_add_hex(&hex, digest, sizeof(digest));
    memcpy(out, hex.data, hex.len + 1);
}

static void hash_text(struct str text, char out[65])
{
    struct sha256_ctx sha;
    sha256_init(&sha);
    sha256_update(&sha, text.len, (const uint8_t *)text.data);
    write_hash(&sha, out);
}

static bool add_file(struct sha256_ctx *sha, struct vfile *f)
{
    uint8_t data[16384];
    uint64_t size = 0;
    for (size_t got; size <= MAX_HASHED; size += got) {
        if (vfile_pread(f, data, sizeof(data), size, &got))
            return false;
        if (!got)
            return true;
        sha256_update(sha, got, data);
    }
    return false;
}

/* "" if there is no such file, or it is too big. */
static void hash_file(struct vfs *vfs, struct str path, char out[65])
{
    struct sha256_ctx sha;
    struct vpath at;
    struct vfile *f = NULL;
    out[0] = 0;
    auto_arena *arena = arena_create();
    if (vpath_parse(path, VPATH_ROOT, arena, &at) || vfs_open(vfs, at, VFS_READ, 0, &f))
        return;
    sha256_init(&sha);
    if (add_file(&sha, f))
        write_hash(&sha, out);
    vfile_close(f);
}

static void note_write(struct notes *n, const struct vfs_event *event)
{
    size_t count = json_array_size(n->write_list);
    const json_t *last = count ? json_array_get(n->write_list, count - 1) : NULL;
    if (str_is(json_get_str(last, "op", STR("")), event->op) &&
            str_eq(json_get_str(last, "path", STR("")), event->path))
        return;
    if (count >= MAX_WRITES || n->write_bytes > MAX_WRITE_BYTES) {
        n->writes_left_out++;
        return;
    }
    n->write_bytes += event->path.len;
    json_t *object =
            json_pack("{s:o, s:s}", "path", json_text(event->path), "op", event->op);
    char after[65];
    if (n->hashes && event->data.data && event->data.len <= MAX_HASHED) {
        hash_text(event->data, after);
        json_object_set_new(object, "after", json_string(after));
        if (n->before[0])
            json_object_set_new(object, "before", json_string(n->before));
    }
    json_array_append_new(n->write_list, object);
}

static void note_event(struct notes *n, const struct vfs_event *event)
{
    for (size_t i = 0; i < ARRAY_LEN(event_names); i++) {
        if (strcmp(event_names[i].op, event->op))
            continue;
        /* Many that are harmless do not hide what was refused. */
        size_t count = json_array_size(n->event_list);
        if (count >= (event->allowed ? MAX_EVENTS : 2 * MAX_EVENTS))
            return;
        auto_buf detail = BUF(MAX_DETAIL);
        buf_add(&detail,
                str_sub(event->path, 0, MAX_DETAIL - strlen(event_names[i].suffix)));
        buf_add(&detail, str_of(event_names[i].suffix));
        json_array_append_new(
                n->event_list, json_pack("{s:s, s:s, s:o}", "event", event_names[i].event,
                                       "decision", event->allowed ? "allow" : "deny",
                                       "detail", json_text(buf_str(&detail))));
        return;
    }
}

static vfs_observer_fn observe;

/* Its own look at the file is none of the agent's. */
static void look_before(struct notes *n, struct str path)
{
    if (!n->hashes)
        return;
    vfs_set_observer(n->vfs, NULL, NULL);
    hash_file(n->vfs, path, n->before);
    vfs_set_observer(n->vfs, observe, n);
}

static void observe(void *user, const struct vfs_event *event)
{
    struct notes *n = user;
    if (event->is_before) {
        look_before(n, event->path);
        return;
    }
    n->change_refused |= event->changes && !event->allowed;
    if (event->changes && event->allowed && !event->error)
        note_write(n, event);
    if (n->events)
        note_event(n, event);
}

void notes_init(struct notes *n, const struct setup *setup, struct vfs *vfs)
{
    *n = (struct notes){
        .vfs = vfs,
        .active = setup->paths,
        .events = setup->events,
        .hashes = setup->hashes,
    };
    if (n->active)
        vfs_set_observer(vfs, observe, n);
}

void notes_finish(struct notes *n)
{
    json_decref(n->write_list);
    json_decref(n->event_list);
    free(TAKE(n->rule));
}

void notes_begin(struct notes *n)
{
    n->cut_bytes = 0;
    n->timed_out = false;
    if (!n->active)
        return;
    notes_finish(n);
    n->write_list = json_array();
    n->event_list = json_array();
    n->change_refused = false;
    n->write_bytes = 0;
    n->writes_left_out = 0;
    n->before[0] = 0;
    vfs_clear_refusal(n->vfs);
}

void notes_refused(struct notes *n, struct str rule)
{
    if (n->active && rule.len && !n->rule)
        n->rule = str_copy(rule);
}

void notes_write(const struct notes *n, struct buf *out)
{
    const struct refusal *why = vfs_refusal(n->vfs);
    json_auto_t *object = json_object();
    if (n->rule) {
        json_object_set_new(object, "decision", json_string("deny"));
        json_object_set_new(object, "rule", json_text(str_of(n->rule)));
    } else if (why) {
        auto_buf rule = BUF((size_t)1 << 16);
        buf_addf(&rule, "%.*s ", STR_ARG(buf_str(&why->rule)));
        origin_write(&why->origin, &rule);
        json_object_set_new(object, "decision", json_string("deny"));
        json_object_set_new(object, "rule", json_text(buf_str(&rule)));
    }
    if (json_array_size(n->write_list))
        json_object_set(object, "writes", n->write_list);
    if (n->writes_left_out)
        json_object_set_new(object, "writes_left_out", json_integer(n->writes_left_out));
    if (json_array_size(n->event_list))
        json_object_set(object, "events", n->event_list);
    if (n->cut_bytes)
        json_object_set_new(object, "cut", json_integer((json_int_t)n->cut_bytes));
    if (n->timed_out)
        json_object_set_new(object, "timed_out", json_true());
    if (json_object_size(object))
        json_write(object, out);
}
