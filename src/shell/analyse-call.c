/*
 * Commands that start others, or run text as a script: where in their words that is.
 * What their options hide is told, not guessed.
 */
#include "shell/analyse-parts.h"
#include "shell/cmd.h"

#include <ctype.h>
#include <string.h>

/* True: `call` is now the command that it starts, which is to be listed too. */
typedef bool starter_fn(struct analyse *a, struct analyse_call *call);

/* Those that are no commands of the table, or read their options by themselves. */
#define DIGIT(c)                      \
    {                                 \
        c, NULL, ARG_OPTIONAL, "", "" \
    }
static const struct cmd_opt command_options[] = {
    { 'p', NULL, ARG_NONE, "", "" },
    { 'v', NULL, ARG_NONE, "", "" },
    { 'V', NULL, ARG_NONE, "", "" },
    { 0 },
};
static const struct cmd_opt exec_options[] = {
    { 'c', NULL, ARG_NONE, "", "" },
    { 'l', NULL, ARG_NONE, "", "" },
    { 'a', NULL, ARG_REQUIRED, "", "" },
    { 0 },
};
static const struct cmd_opt no_options[] = { { 0 } };
static const struct cmd_opt nice_options[] = {
    { 'n', "adjustment", ARG_REQUIRED, "", "" },
    DIGIT('0'),
    DIGIT('1'),
    DIGIT('2'),
    DIGIT('3'),
    DIGIT('4'),
    DIGIT('5'),
    DIGIT('6'),
    DIGIT('7'),
    DIGIT('8'),
    DIGIT('9'),
    { 0 },
};
static const struct cmd_opt setsid_options[] = {
    { 'c', "ctty", ARG_NONE, "", "" },
    { 'f', "fork", ARG_NONE, "", "" },
    { 'w', "wait", ARG_NONE, "", "" },
    { 0 },
};
static const struct cmd_opt stdbuf_options[] = {
    { 'i', "input", ARG_REQUIRED, "", "" },
    { 'o', "output", ARG_REQUIRED, "", "" },
    { 'e', "error", ARG_REQUIRED, "", "" },
    { 0 },
};
static const struct cmd_opt trap_options[] = {
    { 'l', NULL, ARG_NONE, "", "" },
    { 'p', NULL, ARG_NONE, "", "" },
    { 0 },
};
static const struct cmd_opt mapfile_options[] = {
    { 'd', NULL, ARG_REQUIRED, "", "" },
    { 'n', NULL, ARG_REQUIRED, "", "" },
    { 'O', NULL, ARG_REQUIRED, "", "" },
    { 's', NULL, ARG_REQUIRED, "", "" },
    { 't', NULL, ARG_NONE, "", "" },
    { 'u', NULL, ARG_REQUIRED, "", "" },
    { 'C', NULL, ARG_REQUIRED, "", "" },
    { 'c', NULL, ARG_REQUIRED, "", "" },
    { 0 },
};

/* --- options --- */

static bool is_word(const struct analyse_word *w, const char *text)
{
    return w->is_literal && str_is(w->text, text);
}

#define MAX_TAKEN 16

struct taken {
    int key;
    struct analyse_word value; /* no text: none was given */
};

struct options {
    size_t at; /* the first operand */
    struct taken taken[MAX_TAKEN];
    size_t count;
};

static const struct taken *find_taken(const struct options *o, int key)
{
    for (size_t i = 0; i < o->count; i++)
        if (o->taken[i].key == key)
            return &o->taken[i];
    return NULL;
}

/* False: there are more than anybody writes. */
static bool take(struct options *o, int key, struct analyse_word value)
{
    if (o->count == MAX_TAKEN)
        return false;
    o->taken[o->count++] = (struct taken){ key, value };
    return true;
}

static const struct cmd_opt *find_long(const struct cmd_opt *table, struct str name)
{
    const struct cmd_opt *found = NULL;
    for (; table->key; table++) {
        if (!table->name || !str_starts(str_of(table->name), name))
            continue;
        if (str_is(name, table->name))
            return table;
        if (found)
            return NULL; /* of two, none */
        found = table;
    }
    return found;
}

static const struct cmd_opt *find_letter(const struct cmd_opt *table, char letter)
{
    for (; table->key; table++)
        if (table->key == letter)
            return table;
    return NULL;
}

/* The value is the next word. */
static bool take_next(
        const struct analyse_call *call, struct options *o, const struct cmd_opt *opt)
{
    if (o->at >= call->command.count || !call->command.words[o->at].is_single)
        return false;
    return take(o, opt->key, call->command.words[o->at++]);
}

static struct analyse_word rest_of(struct analyse_word w, size_t from)
{
    w.text = str_from(w.text, from);
    return w;
}

static bool read_long(const struct analyse_call *call, const struct cmd_opt *table,
        struct analyse_word w, struct options *o)
{
    struct str value = str_from(w.text, 2), name = str_cut(&value, '=');
    const struct cmd_opt *opt = find_long(table, name);
    bool attached = name.len + 2 < w.text.len;
    if (!opt || !name.len || (attached && opt->arg == ARG_NONE))
        return false;
    if (opt->arg == ARG_REQUIRED && !attached)
        return take_next(call, o, opt);
    return take(o, opt->key,
            attached ? rest_of(w, name.len + 3)
                     : (struct analyse_word){ .text = STR("") });
}

static bool read_letters(const struct analyse_call *call, const struct cmd_opt *table,
        struct analyse_word w, struct options *o)
{
    for (size_t i = 1; i < w.text.len; i++) {
        const struct cmd_opt *opt = find_letter(table, w.text.data[i]);
        if (!opt)
            return false;
        if (opt->arg == ARG_REQUIRED && i + 1 == w.text.len)
            return take_next(call, o, opt);
        if (!take(o, opt->key, rest_of(w, i + 1)))
            return false;
        if (opt->arg != ARG_NONE)
            return true;
    }
    return true;
}

/* Options up to the first operand.  False: some are unknown, or cannot be told from
 * operands. */
static bool read_options(
        const struct analyse_call *call, const struct cmd_opt *table, struct options *o)
{
    *o = (struct options){ .at = 1 };
    while (o->at < call->command.count) {
        struct analyse_word w = call->command.words[o->at];
        if (!w.is_literal || w.text.len < 2 || w.text.data[0] != '-')
            return true;
        o->at++;
        if (str_is(w.text, "--"))
            return true;
        if (str_starts(w.text, STR("--")) ? !read_long(call, table, w, o)
                                          : !read_letters(call, table, w, o))
            return false;
    }
    return true;
}

/* --- the command behind a command --- */

static bool lose(struct analyse *a, const struct analyse_call *call, const char *what)
{
    analyse_add_unknown(a, what, call->command.words[0].text, call->command.line);
    return false;
}

#define LOST_COMMAND    "command behind options"
#define LOST_SCRIPT     "script behind options"
#define RUN_TIME_SCRIPT "script known at run time"

/* Go on with the words from `at`, if there are any. */
static bool inner(struct analyse *a, struct analyse_call *call, size_t at)
{
    if (at >= call->command.count)
        return call->command.gets_more && lose(a, call, "command known at run time");
    call->command.via = call->command.words[0].text.data;
    call->command.words += at;
    call->command.count -= at;
    return true;
}

static const struct cmd_opt *table_of(const struct analyse_call *call)
{
    const char *name = call->command.words[0].text.data, *slash = strrchr(name, '/');
    const struct command *command = command_find(str_of(slash ? slash + 1 : name));
    return command && command->options ? command->options : no_options;
}

static bool start_command(struct analyse *a, struct analyse_call *call)
{
    struct options o;
    if (!read_options(call, command_options, &o))
        return lose(a, call, LOST_COMMAND);
    call->no_functions = true;
    return !find_taken(&o, 'v') && !find_taken(&o, 'V') && inner(a, call, o.at);
}

static bool start_builtin(struct analyse *a, struct analyse_call *call)
{
    struct options o;
    if (!read_options(call, no_options, &o))
        return lose(a, call, LOST_COMMAND);
    call->no_functions = true;
    return inner(a, call, o.at);
}

static bool start_exec(struct analyse *a, struct analyse_call *call)
{
    struct options o;
    if (!read_options(call, exec_options, &o))
        return lose(a, call, LOST_COMMAND);
    call->no_functions = true;
    return inner(a, call, o.at);
}

static bool start_nice(struct analyse *a, struct analyse_call *call)
{
    struct options o;
    return read_options(call, nice_options, &o) ? inner(a, call, o.at)
                                                : lose(a, call, LOST_COMMAND);
}

static bool start_plain(struct analyse *a, struct analyse_call *call)
{
    struct options o;
    return read_options(call, no_options, &o) ? inner(a, call, o.at)
                                              : lose(a, call, LOST_COMMAND);
}

static bool start_setsid(struct analyse *a, struct analyse_call *call)
{
    struct options o;
    return read_options(call, setsid_options, &o) ? inner(a, call, o.at)
                                                  : lose(a, call, LOST_COMMAND);
}

static bool start_stdbuf(struct analyse *a, struct analyse_call *call)
{
    struct options o;
    return read_options(call, stdbuf_options, &o) ? inner(a, call, o.at)
                                                  : lose(a, call, LOST_COMMAND);
}

static bool start_timeout(struct analyse *a, struct analyse_call *call)
{
    struct options o;
    if (!read_options(call, table_of(call), &o) ||
            (o.at < call->command.count && !call->command.words[o.at].is_single))
        return lose(a, call, LOST_COMMAND);
    return inner(a, call, o.at + 1);
}

static void add_assign(struct analyse *a, struct analyse_call *call, struct str name,
        struct analyse_word value)
{
    struct analyse_command *c = &call->command;
    if (!analyse_spend(a, c->assign_count, 0))
        return;
    struct analyse_assign *list =
            arena_alloc(a->arena, (c->assign_count + 1) * sizeof(*list));
    if (c->assign_count)
        memcpy(list, c->assigns, c->assign_count * sizeof(*list));
    list[c->assign_count++] = (struct analyse_assign){ name, value };
    c->assigns = list;
}

/* Does env take the word as NAME=VALUE?  One that is not literal must begin so as it is
 * written: `A="$x"`. */
static bool is_assignment(const struct analyse_word *w, struct str *name)
{
    struct str rest = w->text;
    *name = str_cut(&rest, '=');
    if (name->len == w->text.len || w->is_literal)
        return name->len < w->text.len;
    for (size_t i = 0; i < name->len; i++)
        if (name->data[i] != '_' && !isalnum((unsigned char)name->data[i]))
            return false;
    return name->len && w->is_single;
}

static bool start_env(struct analyse *a, struct analyse_call *call)
{
    struct options o;
    struct str name;
    if (!read_options(call, table_of(call), &o))
        return lose(a, call, LOST_COMMAND);
    call->command.is_elsewhere |= find_taken(&o, 'C') != NULL;
    size_t at = o.at;
    if (at < call->command.count && is_word(&call->command.words[at], "-"))
        at++;
    for (; at < call->command.count && !a->is_over; at++) {
        const struct analyse_word *w = &call->command.words[at];
        if (!is_assignment(w, &name))
            break;
        add_assign(a, call, arena_str(a->arena, name), rest_of(*w, name.len + 1));
    }
    return inner(a, call, at);
}

/* Words that contain `mark` are replaced at run time. */
static void mark_replaced(struct analyse *a, struct analyse_call *call, struct str mark)
{
    size_t count = call->command.count;
    if (!mark.len || !analyse_spend(a, count, 0))
        return;
    struct analyse_word *words = arena_alloc(a->arena, count * sizeof(*words));
    memcpy(words, call->command.words, count * sizeof(*words));
    for (size_t i = 0; i < count; i++)
        if (memmem(words[i].text.data, words[i].text.len, mark.data, mark.len))
            words[i].is_literal = false;
    call->command.words = words;
}

static bool start_xargs(struct analyse *a, struct analyse_call *call)
{
    struct options o;
    if (!read_options(call, table_of(call), &o))
        return lose(a, call, LOST_COMMAND);
    if (!inner(a, call, o.at)) /* echo */
        return false;
    const struct taken *replace = find_taken(&o, 'I');
    if (!replace)
        replace = find_taken(&o, 'i');
    call->command.gets_more = !replace;
    if (replace)
        mark_replaced(a, call, replace->value.text.len ? replace->value.text : STR("{}"));
    return true;
}

/* The words of one -exec, from `at` on; the result is where they end. */
static size_t exec_end(const struct analyse_call *call, size_t at, bool *plus)
{
    const struct analyse_word *words = call->command.words;
    *plus = false;
    for (size_t i = at; i < call->command.count; i++) {
        if (is_word(&words[i], ";"))
            return i;
        *plus = i > at && is_word(&words[i], "+") && is_word(&words[i - 1], "{}");
        if (*plus)
            return i;
    }
    return call->command.count;
}

static bool start_find(struct analyse *a, struct analyse_call *call)
{
    static const char *const starters[] = { "-exec", "-execdir", "-ok", "-okdir" };
    for (size_t i = 1; i < call->command.count && !a->is_over; i++) {
        const struct analyse_word *w = &call->command.words[i];
        size_t which = w->is_literal ? str_which(w->text, starters, ARRAY_LEN(starters))
                                     : ARRAY_LEN(starters);
        if (which == ARRAY_LEN(starters))
            continue;
        if (call->depth == ANALYSE_MAX_DEPTH)
            return lose(a, call, "command too deep in others");
        bool plus;
        size_t end = exec_end(call, i + 1, &plus);
        struct analyse_call one = *call;
        one.depth++;
        one.command.count = end - (plus ? 1 : 0);
        one.command.gets_more = plus;
        one.command.is_elsewhere |= which % 2 == 1;
        if (inner(a, &one, i + 1)) {
            mark_replaced(a, &one, STR("{}"));
            analyse_call(a, &one);
        }
        i = end;
    }
    return call->command.gets_more && lose(a, call, "command known at run time");
}

/* --- text that becomes a script --- */

/* What the shell reads from its standard input, if that is written here. */
static bool find_input(const struct analyse_call *call, struct str *text)
{
    for (size_t i = call->redirect_count; i--;) {
        const struct redirect *r = &call->redirects[i];
        bool is_text = r->type == REDIR_HEREDOC || r->type == REDIR_HERESTRING;
        bool is_input = r->fd == 0 || (r->fd < 0 && !r->fd_name.len &&
                                              (is_text || r->type == REDIR_READ ||
                                                      r->type == REDIR_READ_WRITE ||
                                                      r->type == REDIR_DUP_READ));
        if (!is_input)
            continue;
        *text = r->target->literal;
        return is_text && r->target->is_literal && !r->target->has_braces;
    }
    return false;
}

/* -c and the like; false: an option is not literal, or takes what is not. */
static bool read_shell_options(
        const struct analyse_call *call, size_t *at, bool *is_command, bool *is_input)
{
    const struct analyse_word *words = call->command.words;
    *is_command = *is_input = false;
    for (*at = 1; *at < call->command.count; ++*at) {
        const struct analyse_word *w = &words[*at];
        if (!w->is_literal)
            return w->is_single;
        if (w->text.len < 2 || !memchr("-+", w->text.data[0], 2))
            break;
        if (str_is(w->text, "--")) {
            ++*at;
            return true;
        }
        if (str_starts(w->text, STR("--")))
            continue;
        size_t values = str_count(w->text, 'o') + str_count(w->text, 'O');
        for (; values && *at + 1 < call->command.count; values--)
            if (!words[++*at].is_single)
                return false;
        *is_command |= memchr(w->text.data, 'c', w->text.len) != NULL;
        *is_input |= memchr(w->text.data, 's', w->text.len) != NULL;
    }
    if (*at < call->command.count && str_is(words[*at].text, "-"))
        ++*at;
    return true;
}

static void add_script(struct analyse *a, const struct analyse_call *call,
        const struct analyse_word *w, bool is_fresh)
{
    const char *via = call->command.words[0].text.data;
    if (w->is_literal)
        analyse_add_text(a, w->text, via, call->command.line, is_fresh);
    else
        analyse_add_unknown(a, RUN_TIME_SCRIPT, w->text, call->command.line);
}

static bool start_shell(struct analyse *a, struct analyse_call *call)
{
    size_t at;
    bool is_command, is_input;
    struct str text;
    if (!read_shell_options(call, &at, &is_command, &is_input))
        return lose(a, call, LOST_SCRIPT);
    bool has_operand = at < call->command.count;
    if (is_command && has_operand)
        add_script(a, call, &call->command.words[at], true);
    else if (is_command)
        return call->command.gets_more && lose(a, call, RUN_TIME_SCRIPT);
    else if (has_operand && !is_input)
        analyse_add_unknown(
                a, "script in a file", call->command.words[at].text, call->command.line);
    else if (call->command.gets_more)
        lose(a, call, "script in a file");
    else if (find_input(call, &text))
        analyse_add_text(a, arena_str(a->arena, text), call->command.words[0].text.data,
                call->command.line, true);
    else
        lose(a, call, "script from input");
    return false;
}

/* The words from `at` on, with blanks between them. */
static void add_joined(struct analyse *a, const struct analyse_call *call, size_t at)
{
    auto_buf text = BUF(ANALYSE_MAX_BYTES);
    bool is_literal = true;
    for (size_t i = at; i < call->command.count; i++) {
        buf_add(&text, i > at ? STR(" ") : STR(""));
        buf_add(&text, call->command.words[i].text);
        is_literal &= call->command.words[i].is_literal;
    }
    const struct analyse_word joined = { arena_str(a->arena, buf_str(&text)),
        is_literal && !call->command.gets_more, true };
    if (joined.text.len || !joined.is_literal)
        add_script(a, call, &joined, false);
}

static bool start_eval(struct analyse *a, struct analyse_call *call)
{
    bool skips = call->command.count > 1 && is_word(&call->command.words[1], "--");
    add_joined(a, call, skips ? 2 : 1);
    return false;
}

static bool start_source(struct analyse *a, struct analyse_call *call)
{
    bool skips = call->command.count > 1 && is_word(&call->command.words[1], "--");
    size_t at = skips ? 2 : 1;
    if (at < call->command.count)
        analyse_add_unknown(
                a, "script in a file", call->command.words[at].text, call->command.line);
    return false;
}

static bool start_trap(struct analyse *a, struct analyse_call *call)
{
    struct options o;
    if (!read_options(call, trap_options, &o))
        return false; /* an error of trap */
    if (o.count || o.at >= call->command.count)
        return false;
    const struct analyse_word *w = &call->command.words[o.at];
    bool is_alone = o.at + 1 == call->command.count && w->is_single;
    bool is_reset = w->is_literal && (!w->text.len || str_is(w->text, "-"));
    if (!is_alone && !is_reset)
        add_script(a, call, w, false);
    return false;
}

static bool start_alias(struct analyse *a, struct analyse_call *call)
{
    for (size_t i = 1; i < call->command.count && !a->is_over; i++) {
        struct analyse_word w = call->command.words[i];
        const char *equals = w.text.len ? memchr(w.text.data, '=', w.text.len) : NULL;
        if (w.is_literal && !equals)
            continue;
        if (w.is_literal) {
            size_t len = (size_t)(equals - w.text.data);
            analyse_add_definition(a, str_sub(w.text, 0, len), false, call->command.line);
            w = rest_of(w, len + 1);
        }
        add_script(a, call, &w, false);
    }
    return false;
}

static bool start_mapfile(struct analyse *a, struct analyse_call *call)
{
    struct options o;
    if (!read_options(call, mapfile_options, &o))
        return lose(a, call, LOST_SCRIPT);
    const struct taken *callback = find_taken(&o, 'C');
    if (!callback)
        return false;
    add_script(a, call, &callback->value, false);
    return false;
}

/* Names and numbers in which a subscript may run a command: `let 'a[$(x)]'`. */
static bool start_subscripts(struct analyse *a, struct analyse_call *call)
{
    for (size_t i = 1; i < call->command.count && !a->is_over; i++) {
        const struct analyse_word *w = &call->command.words[i];
        if (w->is_literal && memchr(w->text.data, '[', w->text.len) &&
                (memmem(w->text.data, w->text.len, "$(", 2) ||
                        memchr(w->text.data, '`', w->text.len)))
            analyse_add_unknown(
                    a, "substitution in a subscript", w->text, call->command.line);
    }
    return false;
}

/* --- who does what --- */

static const struct {
    const char *name;
    starter_fn *start;
} starters[] = {
    { ".", start_source },
    { "[", start_subscripts },
    { "alias", start_alias },
    { "bash", start_shell },
    { "builtin", start_builtin },
    { "command", start_command },
    { "dash", start_shell },
    { "declare", start_subscripts },
    { "env", start_env },
    { "eval", start_eval },
    { "exec", start_exec },
    { "export", start_subscripts },
    { "find", start_find },
    { "let", start_subscripts },
    { "local", start_subscripts },
    { "mapfile", start_mapfile },
    { "nice", start_nice },
    { "nohup", start_plain },
    { "printf", start_subscripts },
    { "read", start_subscripts },
    { "readarray", start_mapfile },
    { "readonly", start_subscripts },
    { "setsid", start_setsid },
    { "sh", start_shell },
    { "source", start_source },
    { "stdbuf", start_stdbuf },
    { "test", start_subscripts },
    { "timeout", start_timeout },
    { "trap", start_trap },
    { "typeset", start_subscripts },
    { "unset", start_subscripts },
    { "xargs", start_xargs },
};

static starter_fn *find_starter(struct str name)
{
    const char *slash = name.len ? memrchr(name.data, '/', name.len) : NULL;
    struct str base = slash ? str_from(name, (size_t)(slash - name.data) + 1) : name;
    size_t from = 0, to = ARRAY_LEN(starters);
    while (from < to) {
        size_t middle = (from + to) / 2;
        int order = str_cmp(str_of(starters[middle].name), base);
        if (!order)
            return starters[middle].start;
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}

void analyse_call(struct analyse *a, struct analyse_call *call)
{
    for (bool more = true; more && !a->is_over;) {
        analyse_add_command(a, call);
        const struct analyse_word *name = &call->command.words[0];
        starter_fn *start = name->is_literal ? find_starter(name->text) : NULL;
        more = start && start(a, call);
    }
}
