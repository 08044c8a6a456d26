#include "shell/expansion.h"

/* Without its trailing newlines and its NULs, as bash has it. */
static struct str captured_text(struct shell *sh, struct buf *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < out->len; i++)
        if (out->data[i])
            out->data[kept++] = out->data[i];
    if (kept < out->len)
        shell_err(sh, "warning: command substitution: ignored null byte in input");
    while (kept && out->data[kept - 1] == '\n')
        kept--;
    return str_sub(buf_str(out), 0, kept);
}

static bool expand_command(struct expansion *e, const struct part *part)
{
    auto_buf out = BUF(e->sh->budget->max_memory);
    if (!exec_capture(e->sh, part->command.body, &out))
        return false;
    if (out.full)
        return budget_stop(e->sh->budget, BUDGET_MEMORY);
    struct str text = captured_text(e->sh, &out);
    return put_result(e, text, part->quoted);
}

static bool expand_arith_part(struct expansion *e, const struct part *part)
{
    int64_t value = 0;
    char text[STR_INT_MAX];
    if (!expand_arith(e->sh, part->arith, &value))
        return expand_discard(e->sh);
    return put_result(e, str_of_int(value, text), part->quoted);
}

static bool expand_process(struct expansion *e, const struct part *part)
{
    struct str path;
    return exec_process_substitution(
                   e->sh, part->command.body, part->command.writer, e->arena, &path) &&
           put_quoted(e, path);
}

/* The directory that ~ and its kind stand for; false: the text stays as it is. */
static bool home_of(struct shell *sh, struct str user, struct str *out)
{
    if (!user.len) {
        *out = STR("/");
        vars_get(sh->vars, STR("HOME"), out);
        return true;
    }
    if (str_is(user, "+"))
        return vars_get(sh->vars, STR("PWD"), out);
    if (str_is(user, "-"))
        return vars_get(sh->vars, STR("OLDPWD"), out);
    return false;
}

static bool expand_tilde(struct expansion *e, struct str user)
{
    struct str home;
    if (home_of(e->sh, user, &home))
        return put_quoted(e, home);
    return put_plain(e, STR("~")) && put_plain(e, user);
}

/* Braces where they do not expand: as they were written. */
static bool put_braces(struct expansion *e, const struct part *part)
{
    for (size_t i = 0; i < part->braces.count; i++) {
        const struct word *item = part->braces.items[i];
        if (!put_plain(e, i ? STR(",") : STR("{")) ||
                !expand_parts(e, item->parts, item->count))
            return false;
    }
    return put_plain(e, STR("}"));
}

static bool put_range(struct expansion *e, const struct part *part)
{
    auto_buf text = BUF(200);
    int width = part->range.width;
    if (part->range.letters)
        buf_addf(&text, "{%c..%c", (int)part->range.from, (int)part->range.to);
    else
        buf_addf(&text, "{%0*lld..%0*lld", width, (long long)part->range.from, width,
                (long long)part->range.to);
    if (part->range.step != 1 && part->range.step != -1)
        buf_addf(&text, "..%lld", (long long)part->range.step);
    buf_addc(&text, '}');
    return put_plain(e, buf_str(&text));
}

static bool expand_text(struct expansion *e, const struct part *part)
{
    if (part->quoted)
        return put_quoted(e, part->text);
    return e->soft ? put_result(e, part->text, false) : put_plain(e, part->text);
}

static bool expand_part(struct expansion *e, const struct part *part)
{
    switch (part->type) {
    case PART_TEXT:
        return expand_text(e, part);
    case PART_PARAM:
        return expand_param(e, part->param, part->quoted);
    case PART_COMMAND:
        return expand_command(e, part);
    case PART_ARITH:
        return expand_arith_part(e, part);
    case PART_PROCESS:
        return expand_process(e, part);
    case PART_TILDE:
        return expand_tilde(e, part->text);
    case PART_BRACES:
        return put_braces(e, part);
    case PART_RANGE:
        return put_range(e, part);
    }
    return true;
}

bool expand_parts(struct expansion *e, const struct part *parts, size_t count)
{
    /* A word inside a word inside ...: bounded by the parser, but stacks are small. */
    if (sched_stack_left(e->sh->sched) < EXPAND_STACK_MIN)
        return budget_stop(e->sh->budget, BUDGET_DEPTH);
    for (size_t i = 0; i < count; i++)
        if (!expand_part(e, &parts[i]))
            return false;
    return true;
}

bool expand_inner(struct expansion *e, const struct word *w)
{
    bool soft = e->soft;
    e->soft = true;
    bool ok = expand_parts(e, w->parts, w->count);
    e->soft = soft;
    return ok;
}

bool expand_word(
        struct shell *sh, const struct word *w, struct arena *arena, struct fields *out)
{
    if (w->is_literal && !w->has_braces)
        return fields_push(out, arena, arena_cstr(arena, w->literal));
    enum single single = expand_single_field(sh, w, arena, out);
    if (single != SINGLE_NO)
        return single == SINGLE_DONE;
    auto_expansion e = expansion_begin(sh, arena, EXPAND_FIELDS, out);
    if (w->has_braces && sh->set & SET_BRACEEXPAND)
        return expand_braces(&e, w);
    return expand_parts(&e, w->parts, w->count) && end_field(&e);
}

bool expand_as(struct shell *sh, const struct word *w, enum expand_mode mode,
        struct arena *arena, struct str *out)
{
    auto_expansion e = expansion_begin(sh, arena, mode, NULL);
    if (!expand_parts(&e, w->parts, w->count) || !expand_room(sh, arena, e.text.len))
        return false;
    *out = arena_str(arena, buf_str(&e.text));
    return true;
}

bool expand_string(
        struct shell *sh, const struct word *w, struct arena *arena, struct str *out)
{
    if (w->is_literal && !w->has_braces) {
        *out = w->literal;
        return true;
    }
    enum single single = expand_single_string(sh, w, arena, out);
    if (single != SINGLE_NO)
        return single == SINGLE_DONE;
    return expand_as(sh, w, EXPAND_STRING, arena, out);
}

bool expand_pattern(
        struct shell *sh, const struct word *w, struct arena *arena, struct str *out)
{
    if (w->count == 1 && w->parts->type == PART_TEXT && !w->parts->quoted) {
        *out = w->parts->text;
        return true;
    }
    return expand_as(sh, w, EXPAND_PATTERN, arena, out);
}

bool expand_regex(
        struct shell *sh, const struct word *w, struct arena *arena, struct str *out)
{
    return expand_as(sh, w, EXPAND_REGEX, arena, out);
}

bool expand_redirect_target(
        struct shell *sh, const struct word *w, struct arena *arena, struct str *out)
{
    struct fields fields = { 0 };
    if (!expand_word(sh, w, arena, &fields))
        return false;
    if (fields.count != 1) {
        shell_err(sh, "%.*s: ambiguous redirect", STR_ARG(w->source));
        sh->status = 1;
        return false;
    }
    *out = str_of(fields.items[0]);
    return true;
}

int expand_exit_status(const struct shell *sh)
{
    const struct frame *top = sh->frame;
    while (top && top->parent)
        top = top->parent;
    bool is_text = sh->is_fresh && !(top && top->is_file);
    return is_text && !(sh->set & SET_ERREXIT) ? 127 : 1;
}
