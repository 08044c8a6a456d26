/* times umask ulimit caller: what a process would tell about itself */
#include "shell/builtin/letters.h"
#include "shell/state.h"

#include <sys/resource.h>

static void add_time(struct buf *out, const struct timeval *t, char end)
{
    buf_addf(out, "%lldm%lld.%03llds%c", (long long)t->tv_sec / 60,
            (long long)t->tv_sec % 60, (long long)t->tv_usec / 1000, end);
}

static int cmd_times(struct cmd *c)
{
    static const int who[] = { RUSAGE_SELF, RUSAGE_CHILDREN };
    auto_buf out = BUF(256);
    for (size_t i = 0; i < ARRAY_LEN(who); i++) {
        struct rusage usage;
        getrusage(who[i], &usage);
        add_time(&out, &usage.ru_utime, ' ');
        add_time(&out, &usage.ru_stime, '\n');
    }
    return cmd_put(c, buf_str(&out)) ? 0 : 1;
}

/* u=rwx,g+w,o-rwx on what the mask lets through; false: not of that form. */
static bool symbolic(const char *text, unsigned mask, unsigned *out)
{
    unsigned allowed = ~mask & 0777;
    while (*text) {
        unsigned who = 0;
        for (; *text && strchr("ugoa", *text); text++)
            who |= *text == 'u' ? 0700 : *text == 'g' ? 0070 : *text == 'o' ? 0007 : 0777;
        char op = *text;
        if (!op || !strchr("+-=", op))
            return false;
        unsigned bits = 0;
        for (text++; *text && strchr("rwx", *text); text++)
            bits |= *text == 'r' ? 0444 : *text == 'w' ? 0222 : 0111;
        if (!who)
            who = 0777;
        if (op == '=')
            allowed = (allowed & ~who) | (bits & who);
        else
            allowed = op == '+' ? allowed | (bits & who) : allowed & ~(bits & who);
        if (*text && *text++ != ',')
            return false;
    }
    *out = ~allowed & 0777;
    return true;
}

static bool octal(const char *text, unsigned *out)
{
    unsigned n = 0;
    for (; *text >= '0' && *text <= '7' && n <= 0777; text++)
        n = n * 8 + (unsigned)(*text - '0');
    *out = n;
    return !*text && n <= 0777;
}

static int set_mask(struct cmd *c, const char *text)
{
    unsigned mask;
    bool is_octal = text[0] >= '0' && text[0] <= '9';
    if (is_octal ? !octal(text, &mask) : !symbolic(text, vfs_umask(c->vfs), &mask)) {
        cmd_err(c,
                is_octal ? "%s: octal number out of range"
                         : "`%s': invalid symbolic mode operator",
                text);
        return 1;
    }
    struct shell *sh = c->shell;
    if (!sh->changed_umask)
        sh->outer_umask = vfs_umask(c->vfs);
    sh->changed_umask = true;
    vfs_set_umask(c->vfs, mask);
    return 0;
}

static void triple(unsigned bits, char *out)
{
    size_t n = 0;
    for (int i = 0; i < 3; i++)
        if (bits & (4u >> i))
            out[n++] = "rwx"[i];
    out[n] = 0;
}

static int cmd_umask(struct cmd *c)
{
    bool letters = false, command = false;
    struct letters l = letters_of(c, "pS", "umask [-p] [-S] [mode]");
    for (int k; (k = letters_next(&l)) != CMD_END;) {
        if (k == CMD_BAD)
            return 2;
        letters |= k == 'S';
        command |= k == 'p';
    }
    if (l.index < c->argc)
        return set_mask(c, c->argv[l.index]);
    unsigned mask = vfs_umask(c->vfs);
    char u[4], g[4], o[4];
    triple(~mask >> 6 & 7, u);
    triple(~mask >> 3 & 7, g);
    triple(~mask & 7, o);
    const char *before = command ? letters ? "umask -S " : "umask " : "";
    bool ok = letters ? cmd_printf(c, "%su=%s,g=%s,o=%s\n", before, u, g, o)
                      : cmd_printf(c, "%s%04o\n", before, mask);
    return ok ? 0 : 1;
}

static const struct {
    char letter;
    const char *text;
} limits[] = {
    { 'c', "core file size              (blocks, -c) 0" },
    { 'd', "data seg size               (kbytes, -d) unlimited" },
    { 'f', "file size                   (blocks, -f) unlimited" },
    { 'n', "open files                          (-n) 256" },
    { 's', "stack size                  (kbytes, -s) unlimited" },
    { 't', "cpu time                   (seconds, -t) unlimited" },
    { 'u', "max user processes                  (-u) 0" },
    { 'v', "virtual memory              (kbytes, -v) unlimited" },
};

static int cmd_ulimit(struct cmd *c)
{
    char which = 'f';
    bool all = false;
    struct letters l = letters_of(c, "SHacdfnstuv", "ulimit [-SHacdfnstuv]");
    for (int k; (k = letters_next(&l)) != CMD_END;) {
        if (k == CMD_BAD)
            return 2;
        all |= k == 'a';
        if (!strchr("SHa", k))
            which = (char)k;
    }
    if (l.index < c->argc) {
        cmd_err(c, "limits are set by whoever started the server, not from inside");
        return 1;
    }
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        const char *value = strrchr(limits[i].text, ' ') + 1;
        if (all ? !cmd_printf(c, "%s\n", limits[i].text)
                : limits[i].letter == which && !cmd_printf(c, "%s\n", value))
            return 1;
    }
    return 0;
}

static int cmd_caller(struct cmd *c)
{
    const struct frame *f = c->shell->frame;
    int64_t level = 0;
    if (c->argc > 1 && !letters_number(c, c->argv[1], &level))
        return 2;
    for (; f && level > 0; level--)
        f = f->parent;
    if (!f || level < 0 || (!f->parent && !f->is_file))
        return 1;
    const struct frame *up = f->parent;
    bool is_told = up && (up->parent || up->is_file); /* the script, if it is a file */
    if (c->argc == 1)
        return !cmd_printf(
                c, "%u %.*s\n", f->call_line, STR_ARG(is_told ? up->file : STR("NULL")));
    return !is_told || !cmd_printf(c, "%u %.*s %.*s\n", f->call_line,
                               STR_ARG(up->function), STR_ARG(up->file));
}

const struct command command_times = { .name = "times",
    .run = cmd_times,
    .usage = "",
    .summary = "Print the processor time used so far.",
    .flags = CMD_BUILTIN | CMD_SPECIAL };

const struct command command_umask = { .name = "umask",
    .run = cmd_umask,
    .usage = "[-p] [-S] [MODE]",
    .summary = "Show or set the permissions that new files do not get.",
    .flags = CMD_BUILTIN | CMD_SHELL };

const struct command command_ulimit = { .name = "ulimit",
    .run = cmd_ulimit,
    .usage = "[-acdfnstuv]",
    .summary = "Show limits; they cannot be changed from inside.",
    .flags = CMD_BUILTIN | CMD_SHELL };

const struct command command_caller = { .name = "caller",
    .run = cmd_caller,
    .usage = "[LEVEL]",
    .summary = "Print the line and file from which the running function was called.",
    .flags = CMD_BUILTIN | CMD_SHELL };
