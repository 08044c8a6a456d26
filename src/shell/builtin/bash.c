/* bash and sh: a shell within the shell, with nothing of it but what is exported. */
#include "shell/exec.h"
#include "shell/setopt.h"

#include <errno.h>

static const char usage[] = "[OPTION]... [-c STRING [NAME [ARG]...] | FILE [ARG]...]";

struct bash {
    struct cmd *c;
    struct shell *sub;
    bool has_command; /* -c: the first operand is the script */
    bool from_stdin;  /* -s */
    int index;        /* of the next argument */
};

static bool bad_option(struct bash *b, const char *option)
{
    cmd_err(b->c, "%s: invalid option", option);
    return false;
}

/* -o NAME and -O NAME. */
static bool take_named(struct bash *b, char letter, bool on)
{
    struct cmd *c = b->c;
    if (b->index >= c->argc) {
        cmd_err(c, "-%c: option requires an argument", letter);
        return false;
    }
    const char *name = c->argv[b->index++];
    const struct setopt *o =
            letter == 'o' ? setopt_find(str_of(name)) : shopt_find(str_of(name));
    if (!o) {
        cmd_err(c, "%s: invalid %s name", name,
                letter == 'o' ? "option" : "shell option");
        return false;
    }
    if (letter == 'o' ? setopt_change(b->sub, o, on) : shopt_change(b->sub, o, on))
        return true;
    cmd_err(c, "%s: cannot be changed here: that would take %s", name, o->missing);
    return false;
}

static bool take_letter(struct bash *b, char letter, bool on)
{
    const struct setopt *o = setopt_by_letter(letter);
    switch (letter) {
    case 'c':
        return b->has_command = true;
    case 's':
        return b->from_stdin = true;
    case 'o':
    case 'O':
        return take_named(b, letter, on);
    case 'i': /* nobody types here */
    case 'l':
    case 'r':
        return true;
    default:
        if (!o)
            return bad_option(b, (char[]){ on ? '-' : '+', letter, 0 });
        if (setopt_change(b->sub, o, on))
            return true;
        cmd_err(b->c, "%c%c: not supported here: that would take %s", on ? '-' : '+',
                letter, o->missing);
        return false;
    }
}

static bool take_long(struct bash *b, const char *word)
{
    static const char *const ignored[] = { "--login", "--noediting", "--noprofile",
        "--norc", "--restricted" };
    for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
        if (!strcmp(word, ignored[i]))
            return true;
    if (!strcmp(word, "--posix"))
        b->sub->set |= SET_POSIX;
    else if (!strcmp(word, "--verbose"))
        b->sub->set |= SET_VERBOSE;
    else
        return bad_option(b, word);
    return true;
}

static bool take_options(struct bash *b)
{
    struct cmd *c = b->c;
    while (b->index < c->argc) {
        const char *word = c->argv[b->index];
        if ((word[0] != '-' && word[0] != '+') || !word[1])
            break;
        b->index++;
        if (!strcmp(word, "--"))
            return true;
        if (!strncmp(word, "--", 2)) {
            if (!take_long(b, word))
                return false;
            continue;
        }
        for (const char *p = word + 1; *p; p++)
            if (!take_letter(b, *p, word[0] == '-'))
                return false;
    }
    if (b->index < c->argc && !strcmp(c->argv[b->index], "-"))
        b->index++;
    return true;
}

static int run(struct bash *b, struct str text, const char *zero, const char *file)
{
    struct cmd *c = b->c;
    b->sub->name = zero;
    shell_set_args(b->sub, zero, c->argc - b->index, c->argv + b->index);
    return exec_main(b->sub, text, str_of(zero), str_of(file));
}

static int run_string(struct bash *b)
{
    struct cmd *c = b->c;
    if (b->index >= c->argc) {
        cmd_err(c, "-c: option requires an argument");
        return 2;
    }
    struct str text = str_of(c->argv[b->index++]);
    return run(b, text, b->index < c->argc ? c->argv[b->index++] : c->name, "");
}

static int read_file(struct cmd *c, const char *name, struct buf *text)
{
    struct stream *in;
    int errnum = cmd_open(c, name, false, &in);
    if (errnum)
        return errnum;
    if (!stream_read_all(in, text))
        errnum = text->full ? EFBIG : stream_error(in);
    stream_unref(in);
    return errnum;
}

static int run_file(struct bash *b)
{
    struct cmd *c = b->c;
    auto_buf text = BUF(c->budget->max_memory);
    const char *name = c->argv[b->index++];
    int errnum = read_file(c, name, &text);
    if (errnum) {
        cmd_err(c, "%s: %s", name, strerror(errnum));
        return errnum == ENOENT || errnum == ENOTDIR ? 127 : 126;
    }
    return run(b, buf_str(&text), name, name);
}

/* The script is read to its end before it runs: its commands find stdin empty. */
static int run_stdin(struct bash *b)
{
    struct cmd *c = b->c;
    auto_buf text = BUF(c->budget->max_memory);
    if (!stream_read_all(c->in, &text)) {
        if (!budget_stopped(c->budget))
            cmd_err(c, "stdin: %s", strerror(text.full ? EFBIG : stream_error(c->in)));
        return 126;
    }
    return run(b, buf_str(&text), c->name, "");
}

static int cmd_bash(struct cmd *c)
{
    if (c->argc > 1 && !strcmp(c->argv[1], "--version"))
        return cmd_put(c, STR("paddock shell: follows GNU bash 5.2, and is not it\n"))
                       ? 0
                       : 1;
    struct bash b = { .c = c, .sub = shell_fork_fresh(c->shell, c->name), .index = 1 };
    int status = 2;
    if (take_options(&b))
        status = b.has_command                        ? run_string(&b)
                 : b.from_stdin || b.index >= c->argc ? run_stdin(&b)
                                                      : run_file(&b);
    shell_free(b.sub);
    return status;
}

const struct command command_bash = {
    .name = "bash",
    .run = cmd_bash,
    .usage = usage,
    .summary = "Run a script in a fresh shell, from a string, a file or standard input.",
    .flags = CMD_PREFIX,
};

const struct command command_sh = {
    .name = "sh",
    .run = cmd_bash,
    .usage = usage,
    .summary = "Run a script in a fresh shell, from a string, a file or standard input.",
    .flags = CMD_PREFIX,
};
