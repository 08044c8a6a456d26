#include "vfs/vfs.h"

#include <errno.h>

enum { MAX_PATH = 4096, MAX_NAME = 255 };

struct path_builder {
    char *text;
    size_t len; /* no slash at the end; 0 is the root */
};

static int add_component(struct path_builder *b, struct str name)
{
    if (!name.len || str_is(name, "."))
        return 0;
    if (name.len > MAX_NAME)
        return ENAMETOOLONG;
    if (str_is(name, "..") && !b->len)
        return 0;
    if (b->len + 1 + name.len > MAX_PATH)
        return ENAMETOOLONG;
    b->text[b->len++] = '/';
    memcpy(b->text + b->len, name.data, name.len);
    b->len += name.len;
    return 0;
}

static int add_components(struct path_builder *b, struct str text)
{
    int error = 0;
    while (!error && text.len)
        error = add_component(b, str_cut(&text, '/'));
    return error;
}

static bool ends_as_directory(struct str text)
{
    return str_ends(text, STR("/")) || str_ends(text, STR("/.")) || str_is(text, ".");
}

int vpath_parse(struct str text, struct vpath cwd, struct arena *arena, struct vpath *out)
{
    if (!text.len)
        return ENOENT;
    if (memchr(text.data, 0, text.len))
        return EINVAL;
    if (text.len > MAX_PATH)
        return ENAMETOOLONG;
    bool relative = text.data[0] != '/';
    size_t room = (relative ? cwd.text.len : 0) + text.len + 2;
    struct path_builder b = { .text = arena_alloc(arena, room) };
    int error = relative ? add_components(&b, cwd.text) : 0;
    if (!error)
        error = add_components(&b, text);
    if (error)
        return error;
    if (!b.len)
        b.text[b.len++] = '/';
    b.text[b.len] = 0;
    *out = (struct vpath){ { b.text, b.len }, ends_as_directory(text) };
    return 0;
}
