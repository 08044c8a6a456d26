/* Files as trees, and one laid over the other. */
#include "policy/config/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct toml_value conf_merge(
        const struct toml_value *base, const struct toml_value *over, struct arena *arena)
{
    struct toml_value out = *base;
    out.items = arena_zalloc(arena, (base->count + over->count + 1) * sizeof(*out.items));
    if (base->count)
        memcpy(out.items, base->items, base->count * sizeof(*out.items));
    for (size_t i = 0; i < over->count; i++) {
        const struct toml_item *new = &over->items[i];
        struct toml_item *old = NULL;
        for (size_t j = 0; j < base->count && !old; j++)
            if (str_eq(out.items[j].key, new->key))
                old = &out.items[j];
        if (!old)
            out.items[out.count++] = *new;
        else if (old->value.type == TOML_TABLE && new->value.type == TOML_TABLE)
            old->value = conf_merge(&old->value, &new->value, arena);
        else
            *old = *new;
    }
    return out;
}

static bool read_fd(int fd, const char *name, struct buf *out, struct error *err)
{
    for (;;) {
        char *to = buf_reserve(out, 4096);
        if (!to)
            return error_set(err, ERR_LIMIT, "%s:1: is larger than %zu bytes", name,
                    CONFIG_MAX_BYTES);
        ssize_t n = read(fd, to, 4096);
        if (n < 0)
            return error_errno(err, errno, "%s:1: cannot be read", name);
        if (!n)
            return true;
        out->len += (size_t)n;
    }
}

bool conf_read_file(const char *path, const char *name, struct arena *arena,
        struct toml_value *out, struct error *err)
{
    auto_buf text = BUF(CONFIG_MAX_BYTES + 4096);
    struct stat st;
    /* Not waiting for the other end of a FIFO. */
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return error_errno(err, errno, "%s:1: cannot be opened", name);
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return error_set(err, ERR_INVALID, "%s:1: is not a file", name);
    if (!read_fd(fd, name, &text, err))
        return false;
    return toml_parse(buf_str(&text), name, arena, out, err);
}
