/* set -x */
#include "shell/builtin/shquote.h"
#include "shell/exec.h"
#include "shell/parse.h"

/* PS4 expands as the body of a here-document does. */
static struct str expand_ps4(struct shell *sh, struct str ps4)
{
    static const char end[] = "end-of-PS4";
    struct script *script;
    struct parse_error err;
    char *text = arena_printf(sh->arena, ": <<%s\n%.*s\n%s\n", end, STR_ARG(ps4), end);
    if (!memchr(ps4.data, '$', ps4.len) && !memchr(ps4.data, '`', ps4.len))
        return ps4;
    if (!parse_script(str_of(text), STR("PS4"), NULL, &script, &err))
        return ps4;
    struct str out = ps4;
    const struct node *n = script->root;
    while (n && n->type == NODE_SEQUENCE)
        n = n->sequence.items[0];
    int status = sh->status;
    uint64_t set = sh->set;
    sh->set &= ~(uint64_t)(SET_XTRACE | SET_NOUNSET);
    if (n && n->redirect_count == 1 &&
            expand_string(sh, n->redirects[0].target, sh->arena, &out) && out.len)
        out.len--; /* the newline before the delimiter */
    sh->set = set;
    sh->status = status;
    script_unref(script);
    return out;
}

static void begin(struct shell *sh, struct buf *line)
{
    struct str ps4;
    if (!vars_get(sh->vars, STR("PS4"), &ps4))
        ps4 = STR("+ ");
    ps4 = expand_ps4(sh, ps4);
    for (int i = 0; i < sh->trace_level; i++)
        buf_add(line, str_sub(ps4, 0, 1));
    buf_add(line, ps4);
}

/* White space and what the shell reads goes into '...', other control bytes into $'...'.
 */
static void add_word(struct shell *sh, struct str word, struct buf *line)
{
    bool has_space = false;
    for (size_t i = 0; i < word.len; i++)
        has_space |= word.data[i] == ' ' || word.data[i] == '\t' || word.data[i] == '\n';
    buf_add(line, !word.len   ? STR("''")
                  : has_space ? quote_single(word, sh->arena)
                              : quote_value(word, sh->arena));
}

/* Standard error, or the descriptor that BASH_XTRACEFD names. */
static struct stream *trace_stream(struct shell *sh)
{
    struct str text;
    int64_t fd;
    if (vars_get(sh->vars, STR("BASH_XTRACEFD"), &text) && str_int(text, &fd) &&
            fd >= 0 && fd < SHELL_FDS && sh->fds[fd])
        return sh->fds[fd];
    return shell_fd(sh, 2);
}

static void end(struct shell *sh, struct buf *line)
{
    buf_addc(line, '\n');
    struct stream *to = trace_stream(sh);
    if (stream_write(to, buf_str(line)))
        stream_flush(to);
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

void xtrace_arith(struct shell *sh, const struct arith_expr *e)
{
    struct str text = e->text->source;
    if (exec_is_pure(e->text) && !expand_string(sh, e->text, sh->arena, &text))
        return;
    xtrace_text(sh, str_of(arena_printf(sh->arena, "(( %.*s ))", STR_ARG(text))));
}

void xtrace_cond(
        struct shell *sh, bool negated, struct str left, const char *op, struct str right)
{
    auto_buf line = BUF(1 << 20);
    begin(sh, &line);
    buf_addf(&line, "[[ %s", negated ? "! " : "");
    if (right.data)
        buf_addf(&line, "%.*s %s %.*s", STR_ARG(left.len ? left : STR("''")), op,
                STR_ARG(right.len ? right : STR("''")));
    else
        buf_addf(&line, "%s %.*s", op, STR_ARG(left.len ? left : STR("''")));
    buf_add(&line, STR(" ]]"));
    end(sh, &line);
}

static void add_target(const struct assign *a, struct buf *line)
{
    buf_add(line, a->name);
    if (a->index)
        buf_addf(line, "[%.*s]", STR_ARG(a->index->source));
    buf_add(line, a->flags & ASSIGN_APPEND ? STR("+=") : STR("="));
}

void xtrace_assign(struct shell *sh, const struct assign *a, struct str value)
{
    auto_buf line = BUF(1 << 20);
    begin(sh, &line);
    add_target(a, &line);
    if (value.len)
        add_word(sh, value, &line);
    end(sh, &line);
}

void xtrace_array(struct shell *sh, const struct assign *a)
{
    auto_buf line = BUF(1 << 20);
    begin(sh, &line);
    add_target(a, &line);
    buf_addc(&line, '(');
    for (size_t i = 0; i < a->item_count; i++) {
        const struct array_item *item = &a->items[i];
        buf_add(&line, i ? STR(" ") : STR(""));
        if (item->key)
            buf_addf(&line, "[%.*s]%s=", STR_ARG(item->key->source),
                    item->append ? "+" : "");
        buf_add(&line, item->value->source);
    }
    buf_addc(&line, ')');
    end(sh, &line);
}
