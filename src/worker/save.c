#include "worker/worker.h"

#include "base/json.h"
#include "shell/save.h"
#include "worker/save-memory.h"

static bool save(struct worker *w, struct buf *out, struct error *err)
{
    buf_add(out, STR("{\"shell\":"));
    if (!shell_save(w->shell, out, err))
        return false;
    if (save_has_memory(w->setup)) {
        buf_add(out, STR(",\"memory\":"));
        if (!save_memory(w->vfs, w->setup, out, err))
            return false;
    }
    buf_addc(out, '}');
    if (out->full)
        return error_set(err, ERR_LIMIT, "the files in memory take too much room");
    return json_fits(buf_str(out), err) ||
           error_context(err, "the shell and its files in memory");
}

bool worker_shell_save(struct worker *w, const json_t *args UNUSED,
        struct arena *arena UNUSED, struct buf *text)
{
    struct error err;
    auto_buf state = BUF(SHELL_SAVE_MAX);
    if (save(w, &state, &err)) {
        buf_add(text, buf_str(&state));
        return false;
    }
    buf_add(text, str_of(err.message));
    return true;
}

/* Files are made only in roots of this kind, which nobody else sees: whatever the bytes
 * say, what is on a disk stays as it is. */
static bool load(struct worker *w, const json_t *state, struct error *err)
{
    const json_t *memory = json_object_get(state, "memory");
    if (memory && !load_memory(w->vfs, w->setup, memory, err))
        return false;
    if (shell_load(w->shell, json_object_get(state, "shell"), err))
        return true;
    if (memory)
        unload_memory(w->vfs, w->setup, memory);
    return false;
}

bool worker_shell_load(struct worker *w, const json_t *args, struct arena *arena UNUSED,
        struct buf *text)
{
    struct error err;
    if (load(w, args, &err))
        return false;
    buf_add(text, str_of(err.message));
    return true;
}
