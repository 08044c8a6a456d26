/* git's own options that change nothing here, or say only where it works. */
#include "policy/deputy/git-parts.h"

/* The pager is never started, and locks are never taken for the sake of speed. */
static bool says_nothing(struct str arg)
{
    static const char *const names[] = { "--no-optional-locks", "--no-pager", "-P" };
    return str_which(arg, names, ARRAY_LEN(names)) < ARRAY_LEN(names);
}

static struct str join(struct arena *arena, struct str folder, struct str name)
{
    if (!name.len || !folder.len || name.data[0] == '/')
        return name.len ? name : folder;
    return str_of(arena_printf(arena, "%.*s/%.*s", STR_ARG(folder), STR_ARG(name)));
}

bool deputy_git_plain(const struct command_request *request, struct arena *arena,
        struct command_request *out)
{
    static const struct str version = STR("version");
    size_t i = 0;
    *out = *request;
    for (; i < request->arg_count; i++) {
        bool enters = str_is(request->args[i], "-C") && i + 1 < request->arg_count;
        if (enters)
            out->cwd = join(arena, out->cwd, request->args[++i]);
        else if (!says_nothing(request->args[i]))
            break;
    }
    out->args = request->args + i;
    out->arg_count = request->arg_count - i;
    if (out->arg_count == 1 &&
            (str_is(out->args[0], "--version") || str_is(out->args[0], "-v"))) {
        out->args = &version;
        return true;
    }
    return i > 0;
}
