#include "shell/exec.h"

#include <signal.h>

static void free_list(char ***traps)
{
    for (size_t i = 0; *traps && i < TRAP_COUNT; i++)
        free((*traps)[i]);
    free(*traps);
    *traps = NULL;
}

void trap_set(struct shell *sh, enum shell_trap which, const char *text)
{
    free_list(&sh->outer_traps);
    if (!sh->traps)
        sh->traps = xcalloc(TRAP_COUNT, sizeof(*sh->traps));
    char *copy = text ? xstrdup(text) : NULL;
    free(sh->traps[which]);
    sh->traps[which] = copy;
    if (text && which < TRAP_SIGNAL)
        sh->trap_mask &= ~(1u << which);
}

void trap_free(struct shell *sh)
{
    free_list(&sh->traps);
    free_list(&sh->outer_traps);
}

static bool is_harmless(int n)
{
    return n == SIGCHLD || n == SIGCONT || n == SIGURG || n == SIGWINCH || n == SIGSTOP ||
           n == SIGTSTP || n == SIGTTIN || n == SIGTTOU;
}

void trap_signal(struct shell *sh, int n)
{
    const char *text = sh->traps ? sh->traps[TRAP_SIGNAL + n] : NULL;
    if (n == SIGKILL) {
        if (sh->traps)
            trap_set(sh, TRAP_EXIT, NULL);
    } else if (text) {
        if (*text)
            trap_run(sh, TRAP_SIGNAL + n);
        return;
    }
    if (!is_harmless(n))
        shell_exit(sh, 128 + n);
}

void trap_pending(struct shell *sh)
{
    while (sh->pending && !sh->in_trap && sh->flow == FLOW_NONE) {
        int n = __builtin_ctzll(sh->pending) + 1;
        sh->pending &= sh->pending - 1;
        trap_signal(sh, n);
    }
}

/* EXIT belongs to the shell that set it; ERR and the like go on only when traced; an
 * ignored signal stays ignored. */
void trap_fork(struct shell *sub)
{
    char **traps = sub->traps;
    sub->traps = sub->outer_traps = NULL;
    for (size_t i = 0; traps && i < TRAP_COUNT; i++) {
        bool keep = i >= TRAP_SIGNAL                      ? traps[i] && !*traps[i]
                    : i == TRAP_ERR                       ? sub->set & SET_ERRTRACE
                    : i == TRAP_DEBUG || i == TRAP_RETURN ? sub->set & SET_FUNCTRACE
                                                          : false;
        if (keep && traps[i])
            trap_set(sub, i, traps[i]);
    }
    if (!traps)
        return;
    sub->outer_traps = xcalloc(TRAP_COUNT, sizeof(*traps));
    for (size_t i = 0; i < TRAP_COUNT; i++)
        sub->outer_traps[i] = traps[i] ? xstrdup(traps[i]) : NULL;
}

void trap_run(struct shell *sh, enum shell_trap which)
{
    if (sh->in_trap)
        return;
    struct arena_mark mark = arena_mark(sh->arena);
    struct str text = arena_str(sh->arena, str_of(sh->traps[which]));
    int status = sh->status;
    uint32_t line = sh->line;
    int deeper = which == TRAP_EXIT; /* for set -x it is no level of its own */
    sh->in_trap = true;
    sh->trace_level -= deeper;
    exec_text(sh, text, STR("trap"), 1);
    sh->trace_level += deeper;
    sh->in_trap = false;
    /* One that never ends would end every call to come, `trap - DEBUG` too. */
    if (which == TRAP_DEBUG && budget_stopped(sh->budget))
        trap_set(sh, which, NULL);
    if (sh->flow == FLOW_NONE)
        sh->status = status;
    sh->line = line;
    arena_rewind(sh->arena, mark);
}

int exec_text(struct shell *sh, struct str text, struct str name, uint32_t first_line)
{
    struct script *script;
    if (!exec_enter(sh))
        return sh->status;
    if (exec_parse(sh, text, name, first_line, &script)) {
        struct script *outer = sh->script;
        sh->script = script;
        sh->trace_level++;
        exec_node(sh, script->root);
        sh->trace_level--;
        sh->script = outer;
        script_unref(script);
    }
    exec_leave(sh);
    return sh->status;
}
