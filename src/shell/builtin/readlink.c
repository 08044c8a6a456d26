#include "shell/builtin/files.h"
#include "shell/builtin/names.h"
#include "shell/builtin/quote.h"

static const struct cmd_opt options[] = {
    { 'f', "canonicalize", ARG_NONE, NULL,
            "follow every link; all but the last must exist" },
    { 'e', "canonicalize-existing", ARG_NONE, NULL, "the same; all must exist" },
    { 'm', "canonicalize-missing", ARG_NONE, NULL, "the same; nothing need exist" },
    { 'n', "no-newline", ARG_NONE, NULL, "no newline after the only name" },
    { 'q', "quiet", ARG_NONE, NULL, "(the default)" },
    { 's', "silent", ARG_NONE, NULL, "(the default)" },
    { 'v', "verbose", ARG_NONE, NULL, "report errors" },
    { 'z', "zero", ARG_NONE, NULL, "names end with NUL" },
    { 0 },
};

struct readlink {
    struct cmd *c;
    int how; /* f, e, m; 0: print the link's text */
    bool no_newline, verbose;
    char end;
};

static int find_text(struct readlink *r, const char *name, struct str *out)
{
    if (!r->how)
        return file_readlink(r->c, name, out);
    return name_canonical(r->c, name,
            r->how == 'e'   ? MUST_EXIST
            : r->how == 'f' ? PARENT_MUST_EXIST
                            : NEED_NOT_EXIST,
            out);
}

static bool show(struct readlink *r, const char *name)
{
    struct str text;
    int errnum = find_text(r, name, &text);
    if (!errnum)
        return cmd_put(r->c, text) && (r->no_newline || cmd_putc(r->c, r->end));
    if (r->verbose)
        cmd_err(r->c, "%s: %s", quote_maybe(r->c, name), errno_text(errnum));
    return false;
}

static int cmd_readlink(struct cmd *c)
{
    struct readlink r = { .c = c, .end = '\n' };
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        switch (k) {
        case 'f':
        case 'e':
        case 'm':
            r.how = k;
            break;
        case 'n':
            r.no_newline = true;
            break;
        case 'q':
        case 's':
        case 'v':
            r.verbose = k == 'v';
            break;
        case 'z':
            r.end = 0;
            break;
        default:
            return 1;
        }
    if (!c->argc)
        return missing_operand(c);
    if (r.no_newline && c->argc > 1) {
        cmd_err(c, "ignoring --no-newline with multiple arguments");
        r.no_newline = false;
    }
    int status = 0;
    for (int i = 0; i < c->argc && !c->out_failed && cmd_tick(c); i++)
        if (!show(&r, c->argv[i]))
            status = 1;
    return status;
}

const struct command command_readlink = {
    "readlink",
    cmd_readlink,
    options,
    "[OPTION]... FILE...",
    "Print what links point to, or canonical names.",
    0,
};
