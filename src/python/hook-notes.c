#include "python/hook-parts.h"

#include "base/json.h"

enum { MAX_WRITES = 1000 };

#define MAX_WRITE_BYTES                                            \
    ((size_t)512 << 10) /* of paths: in JSON a byte may become six \
                         */

static struct {
    json_t *writes;
    size_t bytes;
    json_int_t left_out;
} notes;

void notes_write(struct str path, const char *op)
{
    size_t count = json_array_size(notes.writes);
    const json_t *last = count ? json_array_get(notes.writes, count - 1) : NULL;
    if (str_is(json_get_str(last, "op", STR("")), op) &&
            str_eq(json_get_str(last, "path", STR("")), path))
        return;
    if (count >= MAX_WRITES || notes.bytes > MAX_WRITE_BYTES) {
        notes.left_out++;
        return;
    }
    notes.bytes += path.len;
    notes.writes = notes.writes ? notes.writes : json_array();
    json_array_append_new(
            notes.writes, json_pack("{s:o, s:s}", "path", json_text(path), "op", op));
}

void hook_take_notes(json_t *out)
{
    struct str rule = guard_first_rule();
    if (rule.len) {
        json_object_set_new(out, "decision", json_string("deny"));
        json_object_set_new(out, "rule", json_text(rule));
    }
    if (notes.writes)
        json_object_set_new(out, "writes", notes.writes);
    if (notes.left_out)
        json_object_set_new(out, "writes_left_out", json_integer(notes.left_out));
    notes.writes = NULL;
    notes.bytes = 0;
    notes.left_out = 0;
}
