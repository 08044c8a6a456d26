#include "shell/cmd.h"

#include "base/nearest.h"
#include "shell/builtin/table.h"
#include "shell/state.h"

#include <stdarg.h>
#include <stdio.h>

const struct command *command_find(struct str name)
{
    size_t low = 0, high = command_table_count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        int order = str_cmp(name, str_of(command_table[mid]->name));
        if (!order)
            return command_table[mid];
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

const struct command *command_at(size_t i)
{
    return i < command_table_count ? command_table[i] : NULL;
}

static struct str name_at(const void *table, size_t i)
{
    (void)table;
    return str_of(command_table[i]->name);
}

const char *command_nearest(const char *name)
{
    return nearest_name(str_of(name), NULL, command_table_count, name_at).data;
}

bool cmd_put(struct cmd *c, struct str s)
{
    if (LIKELY(stream_write(c->out, s)))
        return true;
    c->out_failed = true;
    return false;
}

bool cmd_putc(struct cmd *c, char ch)
{
    return cmd_put(c, (struct str){ &ch, 1 });
}

PRINTF(5, 0)
static char *format(struct arena *arena, char *small, size_t size, struct str *out,
        const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(small, size, fmt, ap);
    char *text = small;
    if (n >= 0 && (size_t)n >= size) {
        text = arena_alloc(arena, (size_t)n + 1);
        vsnprintf(text, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    *out = (struct str){ text, n < 0 ? 0 : (size_t)n };
    return text;
}

bool cmd_printf(struct cmd *c, const char *fmt, ...)
{
    char small[256];
    struct str text;
    va_list ap;
    va_start(ap, fmt);
    format(c->arena, small, sizeof(small), &text, fmt, ap);
    va_end(ap);
    return cmd_put(c, text);
}

void cmd_err(struct cmd *c, const char *fmt, ...)
{
    char small[512];
    struct str text;
    va_list ap;
    va_start(ap, fmt);
    format(c->arena, small, sizeof(small), &text, fmt, ap);
    va_end(ap);
    auto_buf line = BUF(SIZE_MAX / 4);
    buf_addf(&line, "%s: ", c->name);
    buf_add(&line, text);
    buf_addc(&line, '\n');
    bool unused UNUSED = stream_write(c->err, buf_str(&line)) && stream_flush(c->err);
}

void cmd_err_file(struct cmd *c, const char *subject, int errnum)
{
    cmd_err(c, "%s: %s", subject, strerror(errnum));
}

bool cmd_may_recurse(struct cmd *c)
{
    enum { LEVEL = 24 << 10 }; /* what one level, and the leaves below it, may need */
    if (sched_stack_left(c->shell->sched) >= LEVEL)
        return true;
    return budget_stop(c->budget, BUDGET_DEPTH);
}

static void option_column(const struct cmd_opt *o, struct buf *out)
{
    bool letter = o->key > 0 && o->key < 256;
    buf_addf(out, letter ? "  -%c" : "    ", o->key);
    if (o->name)
        buf_addf(out, "%s--%s", letter ? ", " : "  ", o->name);
    const char *value = o->arg_name ? o->arg_name : "ARG";
    if (o->arg == ARG_REQUIRED)
        buf_addf(out, "%s%s", o->name ? "=" : " ", value);
    else if (o->arg == ARG_OPTIONAL)
        buf_addf(out, "[%s%s]", o->name ? "=" : "", value);
}

int cmd_help(struct cmd *c, const struct command *command)
{
    auto_buf out = BUF(65536);
    buf_addf(&out, "Usage: %s %s\n", command->name, command->usage ? command->usage : "");
    if (command->summary)
        buf_addf(&out, "%s\n", command->summary);
    if (command->options && command->options->key)
        buf_addf(&out, "\nSupported options:\n");
    for (const struct cmd_opt *o = command->options; o && o->key; o++) {
        if (!o->help)
            continue;
        size_t start = out.len;
        option_column(o, &out);
        size_t used = out.len - start;
        int pad = used < 28 ? (int)(30 - used) : 2;
        buf_addf(&out, "%*s%s", pad, "", o->help);
        buf_addc(&out, '\n');
    }
    return cmd_put(c, buf_str(&out)) ? 0 : 1;
}
