/* `cd`, as far as it can be followed without running anything. */
#include "shell/analyse-parts.h"
#include "shell/exec.h"

static bool is_changer(struct str name)
{
    static const char *const names[] = { "cd", "eval", "popd", "pushd" };
    return str_which(name, names, ARRAY_LEN(names)) < ARRAY_LEN(names);
}

static bool is_prefix(struct str name)
{
    return str_is(name, "command") || str_is(name, "builtin");
}

struct analyse_state analyse_join(struct analyse_state x, struct analyse_state y)
{
    if (x.is_never || y.is_never)
        return x.is_never ? y : x;
    if (!x.folder.is_known || !y.folder.is_known)
        return x.folder.is_known ? y : x;
    if (!str_eq(x.folder.path, y.folder.path))
        x.folder = (struct analyse_folder){
            .line = x.folder.line > y.folder.line ? x.folder.line : y.folder.line
        };
    return x;
}

void analyse_stay(struct analyse *a)
{
    a->failed = a->now;
}

void analyse_lose(struct analyse *a, uint32_t line)
{
    a->now = (struct analyse_state){ .folder.line = line };
    a->failed = a->now;
}

static void end_here(struct analyse *a)
{
    a->now.is_never = true;
    a->failed = a->now;
}

/* --- cd --- */

#define MAX_PATH 4096 /* as the kernel has it */

/* `path` seen from `from`, without "." and, as the shell does it, without links: ".."
 * takes a name away. */
static struct str go(struct analyse *a, struct str from, struct str path)
{
    auto_buf out = BUF(from.len + path.len + 4);
    bool absolute = path.data[0] == '/' || (from.len && from.data[0] == '/');
    struct str parts[] = { path.data[0] == '/' ? STR("") : from, path };
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        while (parts[i].len) {
            struct str name = str_cut(&parts[i], '/');
            if (!name.len || str_is(name, "."))
                continue;
            const char *slash = out.len ? memrchr(out.data, '/', out.len) : NULL;
            struct str last =
                    str_from(buf_str(&out), slash ? (size_t)(slash - out.data) + 1 : 0);
            if (str_is(name, "..") && last.len && !str_is(last, "..")) {
                out.len = slash ? (size_t)(slash - out.data) : 0;
                continue;
            }
            if (str_is(name, "..") && absolute)
                continue;
            buf_add(&out, out.len || absolute ? STR("/") : STR(""));
            buf_add(&out, name);
        }
    }
    return arena_str(a->arena, !out.len && absolute ? STR("/") : buf_str(&out));
}

/* The one operand of a plain `cd`; "": it is not plain. */
static struct str operand_of(const struct analyse_command *c)
{
    size_t at = 1;
    if (at < c->count && c->words[at].is_literal &&
            (str_is(c->words[at].text, "--") || str_is(c->words[at].text, "-L")))
        at++;
    if (at + 1 != c->count || !c->words[at].is_literal)
        return STR("");
    struct str path = c->words[at].text;
    return path.len && path.data[0] != '-' ? path : STR("");
}

static void follow_cd(struct analyse *a, const struct analyse_command *c)
{
    struct str path = operand_of(c);
    struct analyse_folder from = a->now.folder;
    bool whole = path.len && path.data[0] == '/';
    a->failed = a->now;
    if (!path.len || a->survey.is_unsteady || (!whole && !from.is_known)) {
        analyse_lose(a, c->line);
        return;
    }
    struct str to = go(a, from.path, path);
    if (to.len < MAX_PATH)
        a->now.folder =
                (struct analyse_folder){ .is_known = true, .path = to, .line = c->line };
    else
        analyse_lose(a, c->line);
}

/* --- other commands --- */

static bool has_changer(const struct analyse_command *c)
{
    for (size_t i = 1; i < c->count; i++)
        if (!c->words[i].is_literal || is_changer(c->words[i].text))
            return true;
    return false;
}

/* `set -e`, at the top of the script. */
static void follow_set(struct analyse *a, const struct analyse_command *c)
{
    bool is_top = !a->branches && !a->functions && !a->survey.drops_errexit;
    for (size_t i = 1; i < c->count && is_top; i++) {
        struct str word = c->words[i].text;
        if (word.len < 2 || word.data[0] != '-' || str_is(word, "--"))
            return;
        a->errexit |= memchr(word.data, 'e', word.len) != NULL;
    }
}

void analyse_follow(struct analyse *a, const struct analyse_command *c)
{
    static const char *const leaves[] = { "break", "continue", "return" };
    struct str name = c->words[0].text;
    analyse_stay(a);
    if (!a->survey.changes)
        return;
    if (!c->words[0].is_literal || (is_changer(name) && !str_is(name, "cd")) ||
            (is_prefix(name) && has_changer(c)) ||
            str_which(name, leaves, ARRAY_LEN(leaves)) < ARRAY_LEN(leaves) ||
            (a->survey.functions_change && !exec_find_builtin(name.data)))
        analyse_lose(a, c->line);
    else if (str_is(name, "cd"))
        follow_cd(a, c);
    else if (str_is(name, "exit") || (str_is(name, "exec") && c->count > 1))
        end_here(a);
    else if (str_is(name, "set"))
        follow_set(a, c);
}

static bool simple_changes(const struct analyse *a, const struct node *n)
{
    bool is_over = false;
    for (size_t i = 0; i < n->simple.arg_count && !is_over; i++) {
        const struct word *w = n->simple.args[i].word;
        if (!w->is_literal)
            return i == 0;
        if (is_changer(w->literal))
            return true;
        if (i == 0 && a->survey.functions_change && !exec_find_builtin(w->literal.data))
            return true;
        is_over = !is_prefix(w->literal);
    }
    return false;
}

static bool case_changes(const struct analyse *a, const struct node *n)
{
    for (size_t i = 0; i < n->choice.count; i++)
        if (analyse_changes(a, n->choice.items[i].body))
            return true;
    return false;
}

static bool sequence_changes(const struct analyse *a, const struct node *n)
{
    for (size_t i = 0; i < n->sequence.count; i++)
        if (analyse_changes(a, n->sequence.items[i]))
            return true;
    return false;
}

bool analyse_changes(const struct analyse *a, const struct node *n)
{
    if (!n || !a->survey.changes)
        return false;
    switch (n->type) {
    case NODE_SIMPLE:
        return simple_changes(a, n);
    case NODE_PIPELINE:
        return n->pipeline.count == 1 && analyse_changes(a, n->pipeline.stages[0]);
    case NODE_SEQUENCE:
        return sequence_changes(a, n);
    case NODE_AND:
    case NODE_OR:
        return analyse_changes(a, n->pair.a) || analyse_changes(a, n->pair.b);
    case NODE_GROUP:
        return analyse_changes(a, n->pair.a);
    case NODE_IF:
        return analyse_changes(a, n->branch.cond) || analyse_changes(a, n->branch.then) ||
               analyse_changes(a, n->branch.otherwise);
    case NODE_FOR:
    case NODE_SELECT:
        return analyse_changes(a, n->loop.body);
    case NODE_FOR_ARITH:
        return analyse_changes(a, n->arith_loop.body);
    case NODE_WHILE:
    case NODE_UNTIL:
        return analyse_changes(a, n->until.cond) || analyse_changes(a, n->until.body);
    case NODE_CASE:
        return case_changes(a, n);
    case NODE_BACKGROUND:
    case NODE_SUBSHELL:
    case NODE_COND:
    case NODE_ARITH:
    case NODE_FUNCTION:
    case NODE_COPROC:
        return false;
    }
    return true;
}

/* --- before the walk that follows --- */

static bool has_word(const struct analyse_command *c, const char *text)
{
    for (size_t i = 1; i < c->count; i++)
        if (!c->words[i].is_literal || str_is(c->words[i].text, text))
            return true;
    return false;
}

static bool may_drop_errexit(const struct analyse_command *c)
{
    if (str_is(c->words[0].text, "shopt"))
        return has_word(c, "errexit");
    if (!str_is(c->words[0].text, "set"))
        return false;
    for (size_t i = 1; i < c->count; i++)
        if (!c->words[i].is_literal || str_starts(c->words[i].text, STR("+")))
            return true;
    return false;
}

/* Run when something else happens. */
static bool is_run_later(const struct analyse_command *c)
{
    return !strcmp(c->via, "trap") || !strcmp(c->via, "mapfile") ||
           !strcmp(c->via, "readarray");
}

struct analyse_survey analyse_survey(const struct analyse *a)
{
    struct analyse_survey s = { .is_unsteady = a->sets_cdpath };
    for (size_t i = 0; i < a->out->count; i++) {
        const struct analyse_command *c = &a->out->commands[i];
        struct str name = c->words[0].text;
        s.drops_errexit |= may_drop_errexit(c);
        s.is_lost |= str_is(name, "shopt") && has_word(c, "lastpipe");
        if (c->words[0].is_literal && !is_changer(name))
            continue;
        s.changes |= !str_is(name, "eval"); /* what it does is listed as well */
        s.functions_change |= a->sites[i].in_function;
        s.is_lost |= is_run_later(c);
    }
    for (size_t i = 0; i < a->definition_count; i++)
        s.is_unsteady |= is_changer(a->definitions[i].name);
    return s;
}
