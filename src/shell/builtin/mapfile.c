#include "shell/builtin/letters.h"
#include "shell/builtin/shquote.h"
#include "shell/state.h"

struct mapfile {
    struct cmd *c;
    struct stream *in;
    const char *name, *callback;
    char delimiter;
    bool strip, keep; /* -t, -O (the array is not emptied) */
    int64_t max, origin, skip, quantum;
};

static bool take_number(struct cmd *c, const char *text, const char *what, int64_t *out)
{
    if (str_int(str_of(text), out) && *out >= 0)
        return true;
    cmd_err(c, "%s: invalid %s", text, what);
    return false;
}

static bool take_fd(struct mapfile *m, const char *text)
{
    int64_t fd;
    struct shell *sh = m->c->shell;
    if (!take_number(m->c, text, "file descriptor specification", &fd))
        return false;
    if (fd >= SHELL_FDS || !sh->fds[fd]) {
        cmd_err(m->c, "%s: invalid file descriptor: Bad file descriptor", text);
        return false;
    }
    m->in = sh->fds[fd];
    return true;
}

static int take_options(struct mapfile *m, struct letters *l)
{
    for (int k; (k = letters_next(l)) != CMD_END;) {
        bool ok = true;
        switch (k) {
        case 'd':
            m->delimiter = l->value[0];
            break;
        case 'n':
            ok = take_number(m->c, l->value, "line count", &m->max);
            break;
        case 'O':
            ok = take_number(m->c, l->value, "array origin", &m->origin);
            m->keep = true;
            break;
        case 's':
            ok = take_number(m->c, l->value, "line count", &m->skip);
            break;
        case 't':
            m->strip = true;
            break;
        case 'u':
            ok = take_fd(m, l->value);
            break;
        case 'C':
            m->callback = l->value;
            break;
        case 'c':
            ok = take_number(m->c, l->value, "callback quantum", &m->quantum);
            break;
        default:
            return 2;
        }
        if (!ok)
            return 1;
    }
    return 0;
}

static void call_back(struct mapfile *m, int64_t index, struct str line)
{
    struct str quoted = quote_single(line, m->c->arena);
    struct str text = str_of(arena_printf(
            m->c->arena, "%s %lld %.*s", m->callback, (long long)index, STR_ARG(quoted)));
    exec_text(m->c->shell, text, STR("mapfile"), m->c->shell->line);
}

static bool store(struct mapfile *m, int64_t n, struct str line)
{
    struct shell *sh = m->c->shell;
    struct error err;
    if (m->strip && line.len && line.data[line.len - 1] == m->delimiter)
        line.len--;
    if (m->callback && (n + 1) % m->quantum == 0)
        call_back(m, m->origin + n, line);
    if (vars_set_index(sh->vars, str_of(m->name), m->origin + n, line, &err))
        return true;
    cmd_err(m->c, "%s", err.message);
    return false;
}

static int read_lines(struct mapfile *m)
{
    struct cmd *c = m->c;
    struct str line;
    int64_t n = -m->skip;
    uint64_t held = 0;
    for (; (!m->max || n < m->max) && cmd_tick(c); n++) {
        if (!stream_line(m->in, m->delimiter, c->budget->max_memory, &line))
            break;
        held += line.len;
        if (held > c->budget->max_memory)
            return budget_stop(c->budget, BUDGET_MEMORY);
        if (n >= 0 && !store(m, n, m->callback ? arena_str(c->arena, line) : line))
            return 1;
    }
    return 0;
}

static int cmd_mapfile(struct cmd *c)
{
    struct mapfile m = {
        .c = c, .in = c->in, .name = "MAPFILE", .delimiter = '\n', .quantum = 5000
    };
    struct letters l = letters_of(c, "d:n:O:s:tu:C:c:",
            "mapfile [-d delim] [-n count] [-O origin] [-s count] [-t] [-u fd] [-C "
            "callback] [-c quantum] [array]");
    struct error err;
    int status = take_options(&m, &l);
    if (status)
        return status;
    if (l.index < c->argc)
        m.name = c->argv[l.index];
    if (!letters_name(c, m.name))
        return 1;
    if (m.quantum < 1)
        m.quantum = 1;
    struct vars *vars = c->shell->vars;
    if (m.keep ? !vars_set_flags(vars, str_of(m.name), VAR_INDEXED, 0, &err)
               : !vars_clear_array(vars, str_of(m.name), false, &err)) {
        cmd_err(c, "%s", err.message);
        return 1;
    }
    return read_lines(&m);
}

#define MAPFILE_USAGE "[-d DELIM] [-n COUNT] [-O ORIGIN] [-s COUNT] [-t] [-u FD] [ARRAY]"

const struct command command_mapfile = { .name = "mapfile",
    .run = cmd_mapfile,
    .usage = MAPFILE_USAGE,
    .summary = "Read lines into an array.",
    .flags = CMD_BUILTIN | CMD_SHELL };

const struct command command_readarray = { .name = "readarray",
    .run = cmd_mapfile,
    .usage = MAPFILE_USAGE,
    .summary = "Read lines into an array.",
    .flags = CMD_BUILTIN | CMD_SHELL };
