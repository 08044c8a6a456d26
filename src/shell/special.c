/* Parameters and variables whose value the shell makes when it is asked for. */
#include "shell/setopt.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct str number(struct arena *arena, int64_t n)
{
    char text[STR_INT_MAX];
    return arena_str(arena, str_of_int(n, text));
}

static struct str option_letters(const struct shell *sh, struct arena *arena)
{
    auto_buf text = BUF(64);
    for (const char *letters = "aefhnuvxBCEPT"; *letters; letters++)
        if (setopt_value(sh->set, setopt_by_letter(*letters)))
            buf_addc(&text, *letters);
    return arena_str(arena, buf_str(&text));
}

static struct str option_names(
        uint64_t flags, const struct setopt *(*at)(size_t), struct arena *arena)
{
    auto_buf text = BUF(4096);
    const struct setopt *o;
    for (size_t i = 0; (o = at(i)); i++)
        if (setopt_value(flags, o))
            buf_addf(&text, "%s%s", text.len ? ":" : "", o->name);
    return arena_str(arena, buf_str(&text));
}

static uint32_t entropy(void)
{
    uint32_t n;
    if (getrandom(&n, sizeof(n), GRND_NONBLOCK) != sizeof(n))
        n = (uint32_t)now_ns(CLOCK_MONOTONIC);
    return n;
}

/* The minimal standard generator, x * 16807 mod 2^31 - 1, in Schrage's steps. */
static uint32_t park_miller(uint32_t x)
{
    int64_t seed = x ? x : 123459876;
    int64_t next = 16807 * (seed % 127773) - 2836 * (seed / 127773);
    return (uint32_t)(next < 0 ? next + 0x7fffffff : next);
}

/* 15 bits, the same after `RANDOM=42` as in bash, and never twice the same in a row.  A
 * subshell has a seed of its own. */
static int64_t next_random(struct shell *sh)
{
    if (sh->random_pid != sh->pid) {
        sh->random = entropy();
        sh->random_pid = sh->pid;
    }
    uint32_t before = sh->last_random;
    do {
        sh->random = park_miller(sh->random);
        sh->last_random = (sh->random >> 16 ^ sh->random) & 32767;
    } while (sh->last_random == before);
    return sh->last_random;
}

static struct str epoch_real_time(struct arena *arena)
{
    int64_t ns = now_ns(CLOCK_REALTIME);
    return str_of(arena_printf(arena, "%lld.%06lld", (long long)(ns / 1000000000),
            (long long)(ns % 1000000000 / 1000)));
}

static int64_t subshell_level(const struct shell *sh)
{
    int64_t level = 0;
    for (; sh->parent && !sh->is_fresh; sh = sh->parent)
        level++;
    return level;
}

static bool punctuation(struct shell *sh, char c, struct arena *arena, struct str *out)
{
    switch (c) {
    case '?':
        *out = number(arena, sh->status);
        return true;
    case '#':
        *out = number(arena, sh->arg_count);
        return true;
    case '$':
        *out = number(arena, sh->session->pid);
        return true;
    case '!':
        *out = sh->last_background ? number(arena, sh->last_background) : STR("");
        return sh->last_background != 0;
    case '-':
        *out = option_letters(sh, arena);
        return true;
    case '_':
        *out = arena_str(arena, buf_str(&sh->last_arg));
        return true;
    case '0':
        *out = str_of(sh->args[0]);
        return true;
    default:
        return false;
    }
}

typedef struct str special_fn(struct shell *sh, struct arena *arena);

static struct str get_random(struct shell *sh, struct arena *arena)
{
    return number(arena, next_random(sh));
}

static struct str get_srandom(struct shell *sh UNUSED, struct arena *arena)
{
    return number(arena, entropy());
}

static struct str get_seconds(struct shell *sh, struct arena *arena)
{
    return number(arena, (now_ns(CLOCK_MONOTONIC) - sh->started_ns) / 1000000000);
}

static struct str get_epoch(struct shell *sh UNUSED, struct arena *arena)
{
    return number(arena, now_ns(CLOCK_REALTIME) / 1000000000);
}

static struct str get_epoch_real(struct shell *sh UNUSED, struct arena *arena)
{
    return epoch_real_time(arena);
}

static struct str get_line(struct shell *sh, struct arena *arena)
{
    return number(arena, sh->line);
}

static struct str get_pid(struct shell *sh, struct arena *arena)
{
    return number(arena, sh->pid);
}

static struct str get_parent_pid(struct shell *sh UNUSED, struct arena *arena)
{
    return number(arena, getppid());
}

static struct str get_subshell(struct shell *sh, struct arena *arena)
{
    return number(arena, subshell_level(sh));
}

static struct str get_set_names(struct shell *sh, struct arena *arena)
{
    return option_names(sh->set, setopt_at, arena);
}

static struct str get_shopt_names(struct shell *sh, struct arena *arena)
{
    return option_names(sh->shopt, shopt_at, arena);
}

static struct str get_command(struct shell *sh, struct arena *arena)
{
    return arena_str(arena, sh->command_text);
}

static struct str get_zero(struct shell *sh, struct arena *arena UNUSED)
{
    return str_of(sh->args[0]);
}

static const struct {
    const char *name;
    special_fn *get;
} specials[] = {
    { "BASHOPTS", get_shopt_names },
    { "BASHPID", get_pid },
    { "BASH_ARGV0", get_zero },
    { "BASH_COMMAND", get_command },
    { "BASH_SUBSHELL", get_subshell },
    { "EPOCHREALTIME", get_epoch_real },
    { "EPOCHSECONDS", get_epoch },
    { "LINENO", get_line },
    { "PPID", get_parent_pid },
    { "RANDOM", get_random },
    { "SECONDS", get_seconds },
    { "SHELLOPTS", get_set_names },
    { "SRANDOM", get_srandom },
};

bool shell_special(
        struct shell *sh, struct str name, struct arena *arena, struct str *out)
{
    if (name.len == 1)
        return punctuation(sh, name.data[0], arena, out);
    if (name.len < 4 || !strchr("BELPRSFDG", name.data[0]))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(specials); i++)
        if (str_is(name, specials[i].name)) {
            *out = specials[i].get(sh, arena);
            return true;
        }
    struct str *values;
    size_t count;
    if (!shell_special_array(sh, name, arena, &values, &count) || !count)
        return false;
    *out = values[0];
    return true;
}

static struct str frame_value(const struct frame *f, struct str name, struct arena *arena)
{
    if (str_is(name, "FUNCNAME"))
        return f->function;
    if (str_is(name, "BASH_SOURCE"))
        return f->file;
    return number(arena, f->call_line);
}

static bool frame_array(struct shell *sh, struct str name, struct arena *arena,
        struct str **values, size_t *count)
{
    size_t n = 0;
    bool in_function = false;
    const struct frame *top = NULL;
    for (const struct frame *f = sh->frame; f; f = f->parent, n++) {
        top = f;
        in_function |= f->parent && !str_is(f->function, "source");
    }
    if (n && !top->is_file) /* "main" is told of a file only */
        n--;
    if (!in_function && str_is(name, "FUNCNAME"))
        n = 0;
    *values = arena_alloc(arena, (n + 1) * sizeof(**values));
    *count = 0;
    for (const struct frame *f = sh->frame; f && *count < n; f = f->parent)
        (*values)[(*count)++] = frame_value(f, name, arena);
    return true;
}

static bool dir_stack(
        struct shell *sh, struct arena *arena, struct str **values, size_t *count)
{
    *values = arena_alloc(arena, (sh->dir_count + 1) * sizeof(**values));
    *count = 0;
    (*values)[(*count)++] = sh->cwd.text;
    for (size_t i = sh->dir_count; i-- > 0;)
        (*values)[(*count)++] = sh->dirs[i];
    return true;
}

bool shell_special_array(struct shell *sh, struct str name, struct arena *arena,
        struct str **values, size_t *count)
{
    if (name.len < 6)
        return false;
    if (str_is(name, "FUNCNAME") || str_is(name, "BASH_SOURCE") ||
            str_is(name, "BASH_LINENO"))
        return frame_array(sh, name, arena, values, count);
    if (str_is(name, "DIRSTACK"))
        return dir_stack(sh, arena, values, count);
    if (str_is(name, "GROUPS")) {
        *values = arena_alloc(arena, sizeof(**values));
        (*values)[0] = number(arena, getgid());
        *count = 1;
        return true;
    }
    if (!str_is(name, "PIPESTATUS"))
        return false;
    *count = sh->pipe_status_count;
    *values = arena_alloc(arena, (*count + 1) * sizeof(**values));
    for (size_t i = 0; i < *count; i++)
        (*values)[i] = number(arena, sh->pipe_status[i]);
    return true;
}

bool shell_special_assign(struct shell *sh, struct str name, struct str value)
{
    if (name.len < 6 || !strchr("RSLBEFPDG", name.data[0]))
        return false;
    int64_t n = 0;
    if (str_is(name, "RANDOM")) {
        if (str_int(value, &n)) {
            sh->random = (uint32_t)n;
            sh->random_pid = sh->pid;
            sh->last_random = 0;
        }
        return true;
    }
    if (str_is(name, "SECONDS")) {
        if (!str_int(value, &n))
            n = 0;
        n = n > SHELL_MAX_SECONDS ? SHELL_MAX_SECONDS : n;
        n = n < -SHELL_MAX_SECONDS ? -SHELL_MAX_SECONDS : n;
        sh->started_ns = now_ns(CLOCK_MONOTONIC) - n * 1000000000;
        return true;
    }
    static const char *const ignored[] = { "BASHPID", "BASH_COMMAND", "BASH_SUBSHELL",
        "EPOCHREALTIME", "EPOCHSECONDS", "FUNCNAME", "LINENO", "SRANDOM", "PIPESTATUS",
        "BASH_SOURCE", "BASH_LINENO", "DIRSTACK", "GROUPS" };
    for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
        if (str_is(name, ignored[i]))
            return true;
    return false;
}
