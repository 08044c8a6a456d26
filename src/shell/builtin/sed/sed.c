#include "shell/builtin/sed/sed.h"

#include <errno.h>

enum { OPT_POSIX = 256, OPT_FOLLOW, OPT_SANDBOX };

static const struct cmd_opt options[] = {
    { 'n', "quiet", ARG_NONE, NULL, "print only what the script prints" },
    { 'n', "silent", ARG_NONE, NULL, NULL },
    { 'e', "expression", ARG_REQUIRED, "SCRIPT", "add these commands" },
    { 'f', "file", ARG_REQUIRED, "FILE", "add the commands of a file" },
    { 'E', "regexp-extended", ARG_NONE, NULL, "extended regular expressions" },
    { 'r', NULL, ARG_NONE, NULL, "the same" },
    { 'i', "in-place", ARG_OPTIONAL, "SUFFIX",
            "change the files; SUFFIX: keep the old ones" },
    { 's', "separate", ARG_NONE, NULL, "each file has its own lines" },
    { 'l', "line-length", ARG_REQUIRED, "N", "width of the l command" },
    { 'z', "null-data", ARG_NONE, NULL, "lines end in NUL" },
    { 'u', "unbuffered", ARG_NONE, NULL, "accepted, has no effect" },
    { OPT_POSIX, "posix", ARG_NONE, NULL, "without GNU's extensions of N" },
    { OPT_FOLLOW, "follow-symlinks", ARG_NONE, NULL,
            "accepted: links are always followed" },
    { OPT_SANDBOX, "sandbox", ARG_NONE, NULL, "accepted: no command starts a program" },
    { 0 },
};

struct source {
    struct sed_parser *parser;
    int expressions;
    bool given;
};

static bool add_expression(struct cmd *c, struct source *s, const char *text)
{
    s->given = true;
    const char *where = arena_printf(c->arena, "-e expression #%d", ++s->expressions);
    return sed_parse(s->parser, arena_str(c->arena, str_of(text)), where);
}

static bool add_file(struct cmd *c, struct source *s, const char *name)
{
    s->given = true;
    struct stream *in;
    int errnum = cmd_open(c, name, true, &in);
    auto_buf text = BUF(SED_MAX_TEXT);
    if (!errnum) {
        if (!stream_read_all(in, &text))
            errnum = text.full ? EFBIG : stream_error(in);
        stream_unref(in);
    }
    if (errnum) {
        cmd_err(c, "couldn't open file %s: %s", name, strerror(errnum));
        return false;
    }
    return sed_parse(s->parser, arena_str(c->arena, buf_str(&text)),
            arena_printf(c->arena, "file %s", name));
}

/* `-E`, `-z` and the like count for the whole script, wherever they stand. */
static bool add_scripts(struct cmd *c, struct source *s, char **scripts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool ok = scripts[i][0] == 'e' ? add_expression(c, s, scripts[i] + 1)
                                       : add_file(c, s, scripts[i] + 1);
        if (!ok)
            return false;
    }
    return true;
}

static bool set_option(
        struct cmd *c, struct sed_script *script, int key, const char *value)
{
    int64_t n;
    switch (key) {
    case 'n':
        script->silent = true;
        break;
    case 'E':
    case 'r':
        script->extended = true;
        break;
    case 'i':
        script->in_place = script->separate = true;
        script->suffix = value && *value ? value : NULL;
        break;
    case 's':
        script->separate = true;
        break;
    case 'z':
        script->nul_lines = true;
        break;
    case 'l':
        if (!str_int(str_of(value), &n) || n < 0) {
            cmd_err(c, "invalid line length: '%s'", value);
            return false;
        }
        script->line_width = n;
        break;
    case OPT_POSIX:
        script->posix = true;
        break;
    default:
        break;
    }
    return true;
}

static int run(struct cmd *c, struct sed_script *script)
{
    struct source source = { .parser = sed_parser_create(c, script) };
    char **scripts = arena_alloc(c->arena, (size_t)(c->argc + 1) * sizeof(*scripts));
    size_t count = 0;
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (k == CMD_BAD)
            return 1;
        if (k == 'e' || k == 'f')
            scripts[count++] = arena_printf(c->arena, "%c%s", k, o.value);
        else if (!set_option(c, script, k, o.value))
            return 1;
    }
    char **files = c->argv;
    if (!count && !*files) {
        cmd_err(c, "no script given (usage: sed [OPTION]... SCRIPT [FILE]...)");
        return 1;
    }
    bool ok = count ? add_scripts(c, &source, scripts, count)
                    : add_expression(c, &source, *files++);
    if (!ok || !sed_parse_end(source.parser))
        return 1;
    static const char dash[] = "-";
    char *standard_input[] = { arena_cstr(c->arena, str_of(dash)), NULL };
    if (script->in_place && !*files) {
        cmd_err(c, "no input files");
        return 1;
    }
    return sed_run(c, script, *files ? files : standard_input);
}

static int cmd_sed(struct cmd *c)
{
    struct sed_script script = { .line_width = 70 };
    int status = run(c, &script);
    free(script.commands);
    return status;
}

const struct command command_sed = {
    .name = "sed",
    .run = cmd_sed,
    .options = options,
    .usage = "[OPTION]... SCRIPT [FILE]...",
    .summary = "Edit lines as the script says.",
};
