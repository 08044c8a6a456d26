#include "shell/exec.h"

#include "shell/assign.h"
#include "shell/expand.h"
#include "shell/pattern.h"

#include <stdio.h>

bool exec_enter(struct shell *sh)
{
    if (sh->depth >= sh->budget->max_depth ||
            sched_stack_left(sh->sched) < EXEC_STACK_MIN)
        return budget_stop(sh->budget, BUDGET_DEPTH);
    sh->depth++;
    return true;
}

void exec_leave(struct shell *sh)
{
    sh->depth--;
}

/* $? of a command that counts has become nonzero. */
static void command_failed(struct shell *sh)
{
    int status = sh->status;
    /* for a simple command that is a stage the shell around it runs the trap */
    if (trap_is_set(sh, TRAP_ERR) && sh->stage_depth != sh->depth)
        trap_run(sh, TRAP_ERR);
    if ((sh->set & SET_ERREXIT) && sh->flow == FLOW_NONE)
        shell_exit(sh, status);
}

int exec_finish(struct shell *sh, int status)
{
    sh->status = status;
    if (UNLIKELY(sh->pending))
        trap_pending(sh);
    if (UNLIKELY(status != 0) && !sh->errexit_off && !shell_is_ending(sh))
        command_failed(sh);
    return sh->status;
}

/* Run `n` where its failure does not end a `set -e` script. */
static int exec_condition(struct shell *sh, const struct node *n)
{
    sh->errexit_off++;
    int status = exec_node(sh, n);
    sh->errexit_off--;
    return status;
}

/* A loop's body has ended: must the loop end too? */
static bool loop_ends(struct shell *sh)
{
    if (LIKELY(sh->flow == FLOW_NONE))
        return budget_stopped(sh->budget);
    if (sh->flow != FLOW_BREAK && sh->flow != FLOW_CONTINUE)
        return true;
    if (--sh->flow_count)
        return true;
    bool leaves = sh->flow == FLOW_BREAK;
    sh->flow = FLOW_NONE;
    return leaves;
}

static int exec_sequence(struct shell *sh, const struct node *n)
{
    for (size_t i = 0; i < n->sequence.count && !shell_is_ending(sh); i++)
        exec_node(sh, n->sequence.items[i]);
    return sh->status;
}

static int exec_and_or(struct shell *sh, const struct node *n)
{
    int status = exec_condition(sh, n->pair.a);
    if (shell_is_ending(sh) || (status == 0) != (n->type == NODE_AND))
        return sh->status;
    return exec_node(sh, n->pair.b);
}

static int exec_subshell(struct shell *sh, const struct node *n)
{
    exec_position(sh, n, n->source);
    if (!exec_enter(sh))
        return sh->status;
    struct shell *sub = shell_fork(sh);
    exec_node(sub, n->pair.a);
    int status = exec_end_subshell(sub);
    shell_free(sub);
    exec_leave(sh);
    exec_set_pipe_status(sh, status);
    return exec_finish(sh, status);
}

static int exec_if(struct shell *sh, const struct node *n)
{
    int status = exec_condition(sh, n->branch.cond);
    if (shell_is_ending(sh))
        return sh->status;
    if (status == 0)
        return exec_node(sh, n->branch.then);
    return n->branch.otherwise ? exec_node(sh, n->branch.otherwise) : (sh->status = 0);
}

static int exec_while(struct shell *sh, const struct node *n)
{
    bool until = n->type == NODE_UNTIL;
    int status = 0;
    sh->loop_depth++;
    while (budget_spend(sh->budget, 1)) {
        int cond = exec_condition(sh, n->until.cond);
        if (sh->flow != FLOW_NONE) {
            if (loop_ends(sh))
                break;
            continue;
        }
        if ((cond == 0) == until)
            break;
        status = exec_node(sh, n->until.body);
        if (loop_ends(sh))
            break;
    }
    sh->loop_depth--;
    if (sh->flow == FLOW_NONE)
        sh->status = status;
    return sh->status;
}

/* The words of `for` and `select`, "$@" without `in`; false: an expansion failed. */
static bool loop_words(struct shell *sh, const struct node *n, struct fields *out)
{
    if (!n->loop.has_in) {
        for (int i = 1; i <= sh->arg_count; i++)
            exec_push(sh, out, arena_cstr(sh->arena, str_of(sh->args[i])));
        return true;
    }
    for (size_t i = 0; i < n->loop.count; i++)
        if (!expand_word(sh, n->loop.words[i], sh->arena, out))
            return false;
    return true;
}

/* Set the variable of a loop; false was reported. */
static bool set_loop_variable(struct shell *sh, struct str name, struct str value)
{
    if (assign_text(sh, NULL, name, value))
        return true;
    sh->status = 1;
    return false;
}

/* "for i in 1 2", without the body. */
static struct str loop_header(struct shell *sh, const struct node *n)
{
    if (!n->loop.count && (sh->set & SET_XTRACE || trap_is_set(sh, TRAP_DEBUG)))
        return str_of(arena_printf(sh->arena, "%s %.*s in%s",
                n->type == NODE_FOR ? "for" : "select", STR_ARG(n->loop.name),
                n->loop.has_in ? "" : " \"$@\""));
    if (!n->loop.count)
        return n->source;
    struct str last = n->loop.words[n->loop.count - 1]->source;
    return str_sub(n->source, 0, (size_t)(last.data + last.len - n->source.data));
}

/* "case $x in" */
static struct str case_header(struct shell *sh, const struct node *n)
{
    return str_of(
            arena_printf(sh->arena, "case %.*s in", STR_ARG(n->choice.subject->source)));
}

static void before_compound(struct shell *sh, const struct node *n)
{
    bool is_loop = n->type == NODE_FOR || n->type == NODE_SELECT;
    bool is_case = n->type == NODE_CASE;
    bool traces = sh->set & SET_XTRACE, traps = trap_is_set(sh, TRAP_DEBUG);
    struct str header = is_loop                        ? loop_header(sh, n)
                        : is_case && (traces || traps) ? case_header(sh, n)
                                                       : n->source;
    exec_position(sh, n, header);
    if (UNLIKELY(traps))
        trap_run(sh, TRAP_DEBUG);
    if (UNLIKELY(traces) && (is_loop || is_case))
        xtrace_text(sh, header);
    sh->command_text = n->source; /* the header may be in the scratch arena */
}

static int exec_for(struct shell *sh, const struct node *n)
{
    struct fields words = { 0 };
    if (!loop_words(sh, n, &words)) {
        shell_discard(sh, sh->status ? sh->status : 1);
        return sh->status;
    }
    int status = 0;
    sh->loop_depth++;
    for (size_t i = 0; i < words.count && budget_spend(sh->budget, 1); i++) {
        struct arena_mark mark = arena_mark(sh->arena);
        before_compound(sh, n);
        if (!set_loop_variable(sh, n->loop.name, str_of(words.items[i]))) {
            status = sh->status;
            break;
        }
        status = exec_node(sh, n->loop.body);
        arena_rewind(sh->arena, mark);
        if (loop_ends(sh))
            break;
    }
    sh->loop_depth--;
    if (sh->flow == FLOW_NONE)
        sh->status = status;
    return sh->status;
}

/* One of the three expressions of for ((;;)); a missing one is `missing`. */
static bool eval_part(
        struct shell *sh, const struct arith_expr *e, int64_t missing, int64_t *value)
{
    *value = missing;
    if (e && trap_is_set(sh, TRAP_DEBUG))
        trap_run(sh, TRAP_DEBUG);
    if (e && UNLIKELY(sh->set & SET_XTRACE))
        xtrace_arith(sh, e);
    return !e || expand_arith_in(sh, e, "((: ", value);
}

static int exec_for_arith(struct shell *sh, const struct node *n)
{
    exec_position(sh, n, n->source);
    int64_t value;
    if (!eval_part(sh, n->arith_loop.init, 0, &value))
        return sh->flow == FLOW_NONE ? exec_finish(sh, 1) : sh->status;
    int status = 0;
    sh->loop_depth++;
    while (budget_spend(sh->budget, 1)) {
        struct arena_mark mark = arena_mark(sh->arena);
        if (!eval_part(sh, n->arith_loop.test, 1, &value)) {
            status = 1;
            break;
        }
        if (!value)
            break;
        status = exec_node(sh, n->arith_loop.body);
        bool ends = loop_ends(sh);
        if (!ends && !eval_part(sh, n->arith_loop.step, 0, &value)) {
            status = 1;
            ends = true;
        }
        arena_rewind(sh->arena, mark);
        if (ends)
            break;
    }
    sh->loop_depth--;
    if (sh->flow == FLOW_NONE)
        sh->status = status;
    return sh->status;
}

static void select_menu(struct shell *sh, const struct fields *words)
{
    auto_buf menu = BUF(1 << 20);
    char number[24];
    int width = snprintf(number, sizeof(number), "%zu", words->count);
    for (size_t i = 0; i < words->count; i++)
        buf_addf(&menu, "%*zu) %s\n", width, i + 1, words->items[i]);
    if (stream_write(shell_fd(sh, 2), buf_str(&menu)))
        stream_flush(shell_fd(sh, 2));
}

static void select_prompt(struct shell *sh)
{
    struct str prompt;
    if (!vars_get(sh->vars, STR("PS3"), &prompt))
        prompt = STR("#? ");
    if (stream_write(shell_fd(sh, 2), prompt))
        stream_flush(shell_fd(sh, 2));
}

/* Read REPLY and set the variable; false: the end of input, or a failure. */
static bool select_read(struct shell *sh, const struct node *n,
        const struct fields *words, bool *show_menu)
{
    struct str line;
    if (!stream_line(shell_fd(sh, 0), '\n', sh->budget->max_memory, &line)) {
        if (stream_write(shell_fd(sh, 1), STR("\n")))
            stream_flush(shell_fd(sh, 1));
        sh->status = 1;
        return false;
    }
    if (line.len && line.data[line.len - 1] == '\n')
        line.len--;
    *show_menu = !line.len;
    int64_t number;
    struct str choice = { "", 0 };
    if (str_int(line, &number) && number >= 1 && (uint64_t)number <= words->count)
        choice = str_of(words->items[number - 1]);
    return set_loop_variable(sh, STR("REPLY"), arena_str(sh->arena, line)) &&
           set_loop_variable(sh, n->loop.name, choice);
}

static int exec_select(struct shell *sh, const struct node *n)
{
    before_compound(sh, n);
    struct fields words = { 0 };
    if (!loop_words(sh, n, &words)) {
        shell_discard(sh, sh->status ? sh->status : 1);
        return sh->status;
    }
    if (!words.count)
        return sh->status = 0;
    int status = 0;
    bool show_menu = true;
    sh->loop_depth++;
    while (budget_spend(sh->budget, 1)) {
        struct arena_mark mark = arena_mark(sh->arena);
        if (show_menu)
            select_menu(sh, &words);
        select_prompt(sh);
        if (!select_read(sh, n, &words, &show_menu)) {
            status = sh->status;
            break;
        }
        if (!show_menu)
            status = exec_node(sh, n->loop.body);
        arena_rewind(sh->arena, mark);
        if (loop_ends(sh))
            break;
    }
    sh->loop_depth--;
    if (sh->flow == FLOW_NONE)
        sh->status = status;
    return sh->status;
}

/* Does a pattern of the item match? -1: an expansion failed. */
static int case_matches(struct shell *sh, const struct case_item *item, struct str text)
{
    enum pattern_flags flags = PATTERN_EXTGLOB;
    if (sh->shopt & SHOPT_NOCASEMATCH)
        flags |= PATTERN_FOLD;
    for (size_t i = 0; i < item->count; i++) {
        struct str pattern;
        if (!expand_pattern(sh, item->patterns[i], sh->arena, &pattern))
            return -1;
        if (pattern_match(pattern, text, flags))
            return 1;
    }
    return 0;
}

static int exec_case(struct shell *sh, const struct node *n)
{
    before_compound(sh, n);
    struct arena_mark mark = arena_mark(sh->arena);
    struct str text;
    if (!expand_string(sh, n->choice.subject, sh->arena, &text)) {
        shell_discard(sh, sh->status ? sh->status : 1);
        return sh->status;
    }
    sh->status = 0;
    bool fall = false;
    for (size_t i = 0; i < n->choice.count && !shell_is_ending(sh); i++) {
        const struct case_item *item = &n->choice.items[i];
        int match = fall ? 1 : case_matches(sh, item, text);
        if (match < 0) {
            shell_discard(sh, sh->status ? sh->status : 1);
            return sh->status;
        }
        if (!match)
            continue;
        sh->status = 0;
        if (item->body)
            exec_node(sh, item->body);
        if (item->end == CASE_BREAK)
            break;
        fall = item->end == CASE_FALL;
    }
    arena_rewind(sh->arena, mark);
    return sh->status;
}

static int exec_arith(struct shell *sh, const struct node *n)
{
    before_compound(sh, n);
    if (sh->set & SET_XTRACE)
        xtrace_arith(sh, n->arith);
    struct arena_mark mark = arena_mark(sh->arena);
    int64_t value = 0;
    bool ok = expand_arith_in(sh, n->arith, "((: ", &value);
    arena_rewind(sh->arena, mark);
    if (!ok && sh->flow != FLOW_NONE)
        return sh->status;
    exec_set_pipe_status(sh, !(ok && value));
    return exec_finish(sh, !(ok && value));
}

static int define_function(struct shell *sh, const struct node *n)
{
    struct str name = n->function.name;
    const struct function *old = functions_find(sh->functions, name);
    if (old && old->is_readonly) {
        shell_err(sh, "%.*s: readonly function", STR_ARG(name));
        return exec_finish(sh, 1);
    }
    functions_set(&sh->functions, name, sh->script, n->function.body,
            sh->frame ? sh->frame->file : STR(""));
    return sh->status = 0;
}

static int dispatch(struct shell *sh, const struct node *n)
{
    switch (n->type) {
    case NODE_SIMPLE:
        return exec_simple(sh, n);
    case NODE_PIPELINE:
        return exec_pipeline(sh, n);
    case NODE_AND:
    case NODE_OR:
        return exec_and_or(sh, n);
    case NODE_SEQUENCE:
        return exec_sequence(sh, n);
    case NODE_BACKGROUND:
        return exec_background(sh, n);
    case NODE_SUBSHELL:
        return exec_subshell(sh, n);
    case NODE_GROUP:
        return exec_node(sh, n->pair.a);
    case NODE_IF:
        return exec_if(sh, n);
    case NODE_FOR:
        return exec_for(sh, n);
    case NODE_FOR_ARITH:
        return exec_for_arith(sh, n);
    case NODE_SELECT:
        return exec_select(sh, n);
    case NODE_WHILE:
    case NODE_UNTIL:
        return exec_while(sh, n);
    case NODE_CASE:
        return exec_case(sh, n);
    case NODE_COND:
        return exec_cond(sh, n);
    case NODE_ARITH:
        return exec_arith(sh, n);
    case NODE_FUNCTION:
        return define_function(sh, n);
    case NODE_COPROC: /* script_unsupported() refuses the script */
        break;
    }
    return sh->status = 2;
}

/* A compound command with redirects of its own. */
static int exec_redirected(struct shell *sh, const struct node *n)
{
    if (exec_compound_is_refused(sh, n))
        return exec_finish(sh, 126);
    struct arena_mark mark = arena_mark(sh->arena);
    struct substitution *before = sh->substitutions;
    struct saved_fd *saved = NULL;
    int status;
    if (redirect_apply(sh, n->redirects, n->redirect_count, &saved))
        status = dispatch(sh, n);
    else
        status = exec_finish(sh, 1);
    redirect_undo(sh, saved);
    substitutions_end(sh, before);
    arena_rewind(sh->arena, mark);
    return status;
}

int exec_node(struct shell *sh, const struct node *n)
{
    if (!n)
        return sh->status = 0;
    if (shell_is_ending(sh) || !budget_spend(sh->budget, 1) || (sh->set & SET_NOEXEC))
        return sh->status;
    if (n->redirect_count && n->type != NODE_SIMPLE && n->type != NODE_FUNCTION)
        return exec_redirected(sh, n);
    return dispatch(sh, n);
}
