#include "shell/builtin/awk/awk.h"

#include <errno.h>

static const struct cmd_opt options[] = {
    { 'F', "field-separator", ARG_REQUIRED, "FS", "what separates fields" },
    { 'v', "assign", ARG_REQUIRED, "VAR=VALUE",
            "set a variable before the program runs" },
    { 'f', "file", ARG_REQUIRED, "FILE", "read the program from a file" },
    { 'e', "source", ARG_REQUIRED, "TEXT", "program text" },
    { 0 },
};

static bool add_file(struct cmd *c, struct buf *program, const char *name)
{
    struct stream *in;
    int errnum = cmd_open(c, name, true, &in);
    if (!errnum) {
        if (!stream_read_all(in, program))
            errnum = program->full ? EFBIG : stream_error(in);
        stream_unref(in);
    }
    if (errnum)
        cmd_err(c, "fatal: cannot open source file `%s' for reading: %s", name,
                strerror(errnum));
    buf_addc(program, '\n');
    return !errnum;
}

struct request {
    struct buf program;
    bool has_program;
    char **assignments;
    size_t assignment_count;
    const char *fs;
};

static bool read_options(struct cmd *c, struct request *r)
{
    struct cmd_options o = cmd_options(c);
    o.stop_early = true;
    r->assignments = arena_alloc(c->arena, (size_t)(c->argc + 1) * sizeof(char *));
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        switch (k) {
        case 'F':
            r->fs = o.value;
            break;
        case 'v':
            if (!strchr(o.value, '=')) {
                cmd_err(c, "fatal: `%s' argument to `-v' not in `var=value' form",
                        o.value);
                return false;
            }
            r->assignments[r->assignment_count++] = arena_cstr(c->arena, str_of(o.value));
            break;
        case 'f':
            r->has_program = true;
            if (!add_file(c, &r->program, o.value))
                return false;
            break;
        case 'e':
            r->has_program = true;
            buf_add(&r->program, str_of(o.value));
            buf_addc(&r->program, '\n');
            break;
        default:
            return false;
        }
    }
    return true;
}

static int run(struct cmd *c, struct request *r, struct awk_program *program)
{
    if (!read_options(c, r))
        return 2;
    char **argv = c->argv;
    int argc = c->argc;
    if (!r->has_program) {
        if (!argc) {
            cmd_err(c, "no program given (usage: awk [OPTION]... PROGRAM [FILE]...)");
            return 2;
        }
        buf_add(&r->program, str_of(*argv++));
        argc--;
    }
    program->arena = c->arena;
    if (r->program.full) {
        cmd_err(c, "the program is larger than %zu bytes", (size_t)AWK_MAX_PROGRAM);
        return 2;
    }
    if (!awk_parse(c, program, buf_str(&r->program)))
        return program->is_incomplete ? 2 : 1;
    return awk_run(c, program, argc, argv, r->assignments, r->assignment_count, r->fs);
}

static int cmd_awk(struct cmd *c)
{
    struct request r = { .program = BUF(AWK_MAX_PROGRAM) };
    struct awk_program program = { 0 };
    int status = run(c, &r, &program);
    buf_finish(&r.program);
    free(program.rules);
    free(program.functions);
    free(program.globals);
    return status;
}

const struct command command_awk = {
    .name = "awk",
    .run = cmd_awk,
    .options = options,
    .usage = "[OPTION]... PROGRAM [FILE]...",
    .summary = "Run a program over the records and fields of the input.",
};

const struct command command_gawk = {
    .name = "gawk",
    .run = cmd_awk,
    .options = options,
    .usage = "[OPTION]... PROGRAM [FILE]...",
    .summary = "Run a program over the records and fields of the input.",
};
