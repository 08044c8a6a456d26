/* set -x */
#include "shell/builtin/shquote.h"
#include "shell/exec.h"

static void begin(struct shell *sh, struct buf *line)
{
    struct str ps4;
    if (!vars_get(sh->vars, STR("PS4"), &ps4))
        ps4 = STR("+ ");
    for (int i = 0; i < sh->trace_level; i++)
        buf_add(line, str_sub(ps4, 0, 1));
    buf_add(line, ps4);
}

static void add_word(struct shell *sh, struct str word, struct buf *line)
{
    buf_add(line, word.len ? quote_value(word, sh->arena) : STR("''"));
}

static void end(struct shell *sh, struct buf *line)
{
    buf_addc(line, '\n');
    if (stream_write(shell_fd(sh, 2), buf_str(line)))
        stream_flush(shell_fd(sh, 2));
}

void xtrace_args(struct shell *sh, size_t count, char *const *args)
{
    auto_buf line = BUF(1 << 20);
    begin(sh, &line);
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_addc(&line, ' ');
        add_word(sh, str_of(args[i]), &line);
    }
    end(sh, &line);
}

void xtrace_text(struct shell *sh, struct str text)
{
    auto_buf line = BUF(1 << 20);
    begin(sh, &line);
    buf_add(&line, text);
    end(sh, &line);
}

void xtrace_assign(struct shell *sh, const struct assign *a)
{
    auto_buf line = BUF(1 << 20);
    struct str value;
    begin(sh, &line);
    buf_add(&line, a->name);
    if (a->index)
        buf_addf(&line, "[%.*s]", STR_ARG(a->index->source));
    buf_add(&line, a->flags & ASSIGN_APPEND ? STR("+=") : STR("="));
    if (a->flags & ASSIGN_ARRAY) {
        buf_addc(&line, '(');
        for (size_t i = 0; i < a->item_count; i++)
            buf_addf(&line, "%s%.*s", i ? " " : "", STR_ARG(a->items[i].value->source));
        buf_addc(&line, ')');
    } else if (!a->index && vars_get(sh->vars, a->name, &value) && value.len) {
        add_word(sh, value, &line);
    }
    end(sh, &line);
}
