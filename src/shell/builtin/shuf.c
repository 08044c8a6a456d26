#include "shell/builtin/input.h"
#include "shell/builtin/number.h"
#include "shell/builtin/quote.h"

#include <sys/random.h>

static const struct cmd_opt options[] = {
    { 'e', "echo", ARG_NONE, NULL, "the operands are the lines" },
    { 'i', "input-range", ARG_REQUIRED, "LO-HI", "the lines are these numbers" },
    { 'n', "head-count", ARG_REQUIRED, "COUNT", "print at most COUNT lines" },
    { 'o', "output", ARG_REQUIRED, "FILE", "write to FILE, which may be the input" },
    { 'r', "repeat", ARG_NONE, NULL, "lines may come again" },
    { 'z', "zero-terminated", ARG_NONE, NULL, "lines end with NUL" },
    { 0 },
};

struct shuf {
    struct cmd *c;
    bool echo, range, repeat;
    uint64_t low, high, count;
    const char *output;
    struct stream *out; /* NULL: stdout */
    char end;
    struct str *lines;
    size_t line_count, line_cap;
    uint64_t pool[64]; /* random numbers */
    size_t pool_left;
};

/* A number below `n`, each as likely. */
static uint64_t random_below(struct shuf *s, uint64_t n)
{
    uint64_t value, limit = UINT64_MAX - UINT64_MAX % n;
    do {
        if (!s->pool_left) {
            if (getrandom(s->pool, sizeof(s->pool), 0) != sizeof(s->pool))
                return 0;
            s->pool_left = ARRAY_LEN(s->pool);
        }
        value = s->pool[--s->pool_left];
    } while (value >= limit);
    return value % n;
}

static bool put(struct shuf *s, struct str text)
{
    return s->out ? stream_write(s->out, text) : cmd_put(s->c, text);
}

static bool put_line(struct shuf *s, struct str line)
{
    return put(s, line) && put(s, (struct str){ &s->end, 1 });
}

static bool put_number(struct shuf *s, uint64_t n)
{
    auto_buf text = BUF(32);
    buf_addf(&text, "%llu", (unsigned long long)n);
    return put_line(s, buf_str(&text));
}

static bool add_line(struct shuf *s, struct str line)
{
    GROW(s->lines, s->line_count, s->line_cap);
    s->lines[s->line_count++] = arena_str(s->c->arena, line);
    return arena_size(s->c->arena) < s->c->budget->max_memory ||
           budget_stop(s->c->budget, BUDGET_MEMORY);
}

static bool read_lines(struct shuf *s)
{
    struct cmd *c = s->c;
    for (int i = 0; s->echo && i < c->argc; i++)
        if (!add_line(s, str_of(c->argv[i])))
            return false;
    if (s->echo)
        return true;
    if (c->argc > 1) {
        extra_operand(c, c->argv[1]);
        return false;
    }
    struct inputs in = inputs_open(c);
    struct str line;
    while (inputs_next(&in))
        while (input_line(c, in.stream, s->end, &line, NULL))
            if (!add_line(s, line)) {
                inputs_stop(&in);
                return false;
            }
    return !in.status;
}

/* The first of a shuffled deck; what was drawn is not drawn again. */
static bool draw_lines(struct shuf *s)
{
    for (size_t i = 0; i < s->line_count && i < s->count && cmd_tick(s->c); i++) {
        size_t k = i + (size_t)random_below(s, s->line_count - i);
        struct str line = s->lines[k];
        s->lines[k] = s->lines[i];
        if (!put_line(s, line))
            return false;
    }
    return true;
}

static bool repeat_lines(struct shuf *s)
{
    if (!s->line_count && s->count) {
        cmd_err(s->c, "no lines to repeat");
        return false;
    }
    for (uint64_t i = 0; i < s->count && cmd_tick(s->c); i++)
        if (!put_line(s, s->lines[random_below(s, s->line_count)]))
            return false;
    return true;
}

/* A deck of numbers of which only those that were swapped are held: index -> number. */
struct swapped {
    uint64_t *keys, *values;
    size_t count, cap;
};

static size_t find_slot(const struct swapped *t, uint64_t key)
{
    size_t i = (size_t)(key * 0x9e3779b97f4a7c15u) & (t->cap - 1);
    while (t->keys[i] && t->keys[i] != key + 1)
        i = (i + 1) & (t->cap - 1);
    return i;
}

static uint64_t get(const struct swapped *t, uint64_t key)
{
    size_t i = find_slot(t, key);
    return t->keys[i] ? t->values[i] : key;
}

static void set(struct swapped *t, uint64_t key, uint64_t value)
{
    size_t i = find_slot(t, key);
    t->count += !t->keys[i];
    t->keys[i] = key + 1;
    t->values[i] = value;
}

static void grow(struct swapped *t)
{
    struct swapped old = *t;
    if (t->cap && t->count * 2 < t->cap)
        return;
    t->cap = t->cap ? t->cap * 2 : 256;
    t->count = 0;
    t->keys = xcalloc(t->cap, sizeof(*t->keys));
    t->values = xcalloc(t->cap, sizeof(*t->values));
    for (size_t i = 0; i < old.cap; i++)
        if (old.keys[i])
            set(t, old.keys[i] - 1, old.values[i]);
    free(old.keys);
    free(old.values);
}

static bool draw_numbers(struct shuf *s, uint64_t size)
{
    struct swapped t = { 0 };
    bool ok = true;
    for (uint64_t i = 0; ok && i < size && i < s->count && cmd_tick(s->c); i++) {
        grow(&t);
        uint64_t k = i + random_below(s, size - i), number = get(&t, k);
        set(&t, k, get(&t, i));
        ok = put_number(s, s->low + number);
        if (t.cap * 16 > s->c->budget->max_memory)
            ok = budget_stop(s->c->budget, BUDGET_MEMORY);
    }
    free(t.keys);
    free(t.values);
    return ok;
}

static bool shuffle_numbers(struct shuf *s)
{
    if (s->c->argc) {
        extra_operand(s->c, s->c->argv[0]);
        return false;
    }
    uint64_t size = s->high - s->low + 1; /* 0: all there are, or none */
    if (s->high < s->low || !size)
        return true;
    if (!s->repeat)
        return draw_numbers(s, size);
    for (uint64_t i = 0; i < s->count && cmd_tick(s->c); i++)
        if (!put_number(s, s->low + random_below(s, size)))
            return false;
    return true;
}

static bool set_range(struct shuf *s, const char *value)
{
    struct str high = str_of(value), low = str_cut(&high, '-');
    s->range = true;
    if (number_plain(low, &s->low) && number_plain(high, &s->high) &&
            (s->low <= s->high || s->low == s->high + 1))
        return true;
    cmd_err(s->c, "invalid input range: %s", quote(s->c, value));
    return false;
}

static bool set_option(struct shuf *s, int key, const char *value)
{
    uint64_t count;
    switch (key) {
    case 'e':
        return s->echo = true;
    case 'i':
        return set_range(s, value);
    case 'n':
        if (!number_plain(str_of(value), &count)) {
            cmd_err(s->c, "invalid line count: %s", quote(s->c, value));
            return false;
        }
        s->count = count < s->count ? count : s->count;
        return true;
    case 'o':
        s->output = value;
        return true;
    case 'r':
        return s->repeat = true;
    case 'z':
        s->end = 0;
        return true;
    default:
        return false;
    }
}

static bool run(struct shuf *s)
{
    if (!s->range && !read_lines(s))
        return false;
    int errnum = s->output
                         ? cmd_create(s->c, s->output, VFS_WRITE | VFS_TRUNCATE, &s->out)
                         : 0;
    if (errnum) {
        s->out = NULL;
        cmd_err(s->c, "%s: %s", quote_maybe(s->c, s->output), errno_text(errnum));
        return false;
    }
    bool ok = s->range ? shuffle_numbers(s) : s->repeat ? repeat_lines(s) : draw_lines(s);
    ok = ok && (!s->out || stream_flush(s->out));
    stream_unref(s->out);
    return ok;
}

static int cmd_shuf(struct cmd *c)
{
    struct shuf s = { .c = c, .count = UINT64_MAX, .end = '\n' };
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        if (!set_option(&s, k, o.value))
            return 1;
    if (s.echo && s.range) {
        cmd_err(c, "cannot combine -e and -i options");
        return try_help(c, 1);
    }
    bool ok = run(&s);
    free(s.lines);
    return ok ? 0 : 1;
}

const struct command command_shuf = {
    "shuf",
    cmd_shuf,
    options,
    "[OPTION]... [FILE] | -e [ARG]... | -i LO-HI",
    "Print lines in random order.",
    0,
};
