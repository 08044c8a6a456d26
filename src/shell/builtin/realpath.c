#include "base/path.h"
#include "shell/builtin/names.h"
#include "shell/builtin/quote.h"

enum { OPT_RELATIVE_TO = 256, OPT_RELATIVE_BASE };

static const struct cmd_opt options[] = {
    { 'e', "canonicalize-existing", ARG_NONE, NULL, "all of the path must exist" },
    { 'm', "canonicalize-missing", ARG_NONE, NULL, "nothing of the path need exist" },
    { 'L', "logical", ARG_NONE, NULL, "take .. away before looking at links" },
    { 'P', "physical", ARG_NONE, NULL, "look at links as they come (the default)" },
    { 'q', "quiet", ARG_NONE, NULL, "do not report errors" },
    { OPT_RELATIVE_TO, "relative-to", ARG_REQUIRED, "DIR",
            "print names relative to DIR" },
    { OPT_RELATIVE_BASE, "relative-base", ARG_REQUIRED, "DIR",
            "print names below DIR relative to it" },
    { 's', "strip", ARG_NONE, NULL, "do not look at links" },
    { 's', "no-symlinks", ARG_NONE, NULL, "the same" },
    { 'z', "zero", ARG_NONE, NULL, "names end with NUL" },
    { 0 },
};

struct realpath {
    struct cmd *c;
    enum exists exists;
    bool quiet, strip, logical;
    char end;
    const char *to, *base;       /* as given, or NULL */
    struct str to_dir, base_dir; /* canonical */
};

static int find(struct realpath *r, const char *name, struct str *out)
{
    struct str text = str_of(name);
    int errnum = 0;
    if ((r->strip || r->logical) && *name)
        errnum = name_absolute(r->c, name, &text);
    if (errnum || (r->strip && *name)) {
        *out = text;
        return errnum;
    }
    return name_canonical(r->c, text.data, r->exists, out);
}

static bool failed(struct realpath *r, const char *name, int errnum)
{
    if (!r->quiet)
        cmd_err(r->c, "%s: %s", *name ? quote_maybe(r->c, name) : "''",
                errno_text(errnum));
    return false;
}

static bool show(struct realpath *r, const char *name)
{
    struct str path;
    int errnum = find(r, name, &path);
    if (errnum)
        return failed(r, name, errnum);
    bool relative = r->to && (!r->base || path_is_in(path, r->base_dir));
    const char *text = relative ? name_relative(r->c, r->to_dir, path) : path.data;
    return cmd_put(r->c, str_of(text)) && cmd_putc(r->c, r->end);
}

static bool find_dirs(struct realpath *r)
{
    if (r->base && !r->to)
        r->to = r->base;
    int errnum = r->to ? find(r, r->to, &r->to_dir) : 0;
    if (errnum)
        return failed(r, r->to, errnum);
    errnum = r->base ? find(r, r->base, &r->base_dir) : 0;
    if (errnum)
        return failed(r, r->base, errnum);
    if (r->base && !path_is_in(r->to_dir, r->base_dir))
        r->to = NULL; /* nothing can be relative then */
    return true;
}

static bool set_option(struct realpath *r, int key, const char *value)
{
    switch (key) {
    case 'e':
        r->exists = MUST_EXIST;
        return true;
    case 'm':
        r->exists = NEED_NOT_EXIST;
        return true;
    case 'L':
        return r->logical = true;
    case 'P':
        r->logical = r->strip = false;
        return true;
    case 'q':
        return r->quiet = true;
    case 's':
        return r->strip = true;
    case 'z':
        r->end = 0;
        return true;
    case OPT_RELATIVE_TO:
        r->to = value;
        return true;
    case OPT_RELATIVE_BASE:
        r->base = value;
        return true;
    default:
        return false;
    }
}

static int cmd_realpath(struct cmd *c)
{
    struct realpath r = { .c = c, .exists = PARENT_MUST_EXIST, .end = '\n' };
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        if (!set_option(&r, k, o.value))
            return 1;
    if (!c->argc)
        return missing_operand(c);
    if (!find_dirs(&r))
        return 1;
    int status = 0;
    for (int i = 0; i < c->argc && !c->out_failed && cmd_tick(c); i++)
        if (!show(&r, c->argv[i]))
            status = 1;
    return status;
}

const struct command command_realpath = {
    "realpath",
    cmd_realpath,
    options,
    "[OPTION]... FILE...",
    "Print canonical names.",
    0,
};
