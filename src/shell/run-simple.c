/* Simple commands: assignments, lookup, functions, builtins. */
#include "shell/exec.h"
#include "shell/parse.h"

#include <errno.h>

#define CANNOT_RUN 126

/* The words of a command, and which of them are assignments to a declaring builtin. */
struct call {
    struct fields args;
    const struct assign **assigns; /* parallel to args; NULL: none of them */
    size_t assign_cap;
};

void exec_push(struct shell *sh, struct fields *f, char *item)
{
    if (f->count + 1 >= f->cap) {
        size_t cap = f->cap ? f->cap * 2 : 8;
        char **items = arena_alloc(sh->arena, cap * sizeof(*items));
        if (f->count)
            memcpy(items, f->items, f->count * sizeof(*items));
        f->items = items;
        f->cap = cap;
    }
    f->items[f->count++] = item;
    f->items[f->count] = NULL;
}

/* Make `assigns` long enough for `count` fields. */
static void reserve_assigns(struct shell *sh, struct call *call, size_t count)
{
    if (count <= call->assign_cap)
        return;
    const struct assign **assigns = arena_zalloc(sh->arena, count * 2 * sizeof(*assigns));
    if (call->assigns)
        memcpy(assigns, call->assigns, call->assign_cap * sizeof(*assigns));
    call->assigns = assigns;
    call->assign_cap = count * 2;
}

/* "name[index]+=value" */
static char *assignment_text(
        struct shell *sh, const struct assign *a, struct str index, struct str value)
{
    char *text = arena_alloc(sh->arena, a->name.len + index.len + value.len + 5);
    char *at = mempcpy(text, a->name.data, a->name.len);
    if (a->index) {
        *at++ = '[';
        at = mempcpy(at, index.data, index.len);
        *at++ = ']';
    }
    if (a->flags & ASSIGN_APPEND)
        *at++ = '+';
    *at++ = '=';
    at = mempcpy(at, value.data, value.len);
    *at = 0;
    return text;
}

/*
 * `export x=$y`: one field whatever $y holds.  A scalar becomes the text "x=value", which
 * the builtin cuts again; an array stays a tree.
 */
static bool push_assign(struct shell *sh, struct call *call, const struct assign *a)
{
    if (a->flags & ASSIGN_ARRAY) {
        exec_push(sh, &call->args, arena_cstr(sh->arena, a->name));
        reserve_assigns(sh, call, call->args.count);
        call->assigns[call->args.count - 1] = a;
        return true;
    }
    struct str value, index = { "", 0 };
    if (a->index && !expand_string(sh, a->index, sh->arena, &index))
        return false;
    if (!expand_string(sh, a->value, sh->arena, &value))
        return false;
    exec_push(sh, &call->args, assignment_text(sh, a, index, value));
    return true;
}

/* The builtin that the command's literal name stands for now, or NULL. */
static const struct command *named_builtin(const struct shell *sh, const struct node *n)
{
    const struct command *command = n->simple.builtin;
    if (!command || functions_find(sh->functions, n->simple.args[0].word->literal))
        return NULL;
    return command;
}

static bool expand_args(struct shell *sh, const struct node *n, struct call *call)
{
    struct fields *args = &call->args;
    bool assigns = false;
    for (size_t i = 0; i < n->simple.arg_count; i++) {
        const struct arg *arg = &n->simple.args[i];
        const struct word *w = arg->word;
        if (assigns && arg->assign) {
            if (!push_assign(sh, call, arg->assign))
                return false;
        } else if (w->is_literal && !w->has_braces) {
            exec_push(sh, args, (char *)(uintptr_t)w->literal.data);
        } else if (!expand_word(sh, w, sh->arena, args)) {
            return false;
        }
        if (i == 0 && n->simple.builtin && n->simple.builtin->flags & CMD_ASSIGNS)
            assigns = named_builtin(sh, n);
    }
    exec_push(sh, args, NULL); /* the end of argv */
    args->count--;
    if (call->assigns)
        reserve_assigns(sh, call, args->count);
    return true;
}

static bool assign_all(struct shell *sh, const struct node *n)
{
    for (size_t i = 0; i < n->simple.assign_count; i++) {
        const struct assign *a = &n->simple.assigns[i];
        if (!expand_assign(sh, a, sh->arena))
            return shell_discard(sh, sh->status ? sh->status : 1);
    }
    return true;
}

/* A command without a name: redirects come and go, assignments stay. */
static int run_assignments(struct shell *sh, const struct node *n)
{
    struct saved_fd *saved = NULL;
    int status = 1;
    if (redirect_apply(sh, n->redirects, n->redirect_count, &saved))
        status = assign_all(sh, n) && !sh->captured ? 0 : sh->status;
    redirect_undo(sh, saved);
    return status;
}

static bool set_temporary(struct shell *sh, const struct assign *a)
{
    struct error err;
    struct str value, old;
    if (!expand_string(sh, a->value, sh->arena, &value))
        return shell_discard(sh, sh->status ? sh->status : 1);
    if (UNLIKELY(sh->set & SET_XTRACE))
        xtrace_assign(sh, a, value);
    if ((a->flags & ASSIGN_APPEND) && vars_get(sh->vars, a->name, &old))
        value = str_of(arena_printf(sh->arena, "%.*s%.*s", STR_ARG(old), STR_ARG(value)));
    if (vars_local(sh->vars, a->name, &err) && vars_set(sh->vars, a->name, value, &err) &&
            vars_set_flags(sh->vars, a->name, VAR_EXPORT, 0, &err))
        return true;
    shell_err(sh, "%s", err.message); /* and the command runs all the same */
    return true;
}

/* `IFS=, read a b`: the scope that was pushed ends with the command. */
static bool assign_temporary(struct shell *sh, const struct node *n)
{
    for (size_t i = 0; i < n->simple.assign_count; i++) {
        const struct assign *a = &n->simple.assigns[i];
        bool plain = !(a->flags & ASSIGN_ARRAY) && !a->index;
        if (plain ? !set_temporary(sh, a) : !expand_assign(sh, a, sh->arena))
            return false;
    }
    return true;
}

static unsigned masked_traps(const struct shell *sh)
{
    unsigned mask = 0;
    if (!(sh->set & SET_ERRTRACE))
        mask |= 1u << TRAP_ERR;
    if (!(sh->set & SET_FUNCTRACE))
        mask |= 1u << TRAP_DEBUG | 1u << TRAP_RETURN;
    return mask;
}

/* Run a function with argv[1..] as $1...; its redirects included. */
static int exec_function(struct shell *sh, struct function *fn, int argc, char **argv)
{
    if (!exec_enter(sh))
        return sh->status;
    function_ref(fn);
    struct frame frame = {
        .parent = sh->frame, .function = fn->name, .file = fn->file, .call_line = sh->line
    };
    struct saved_args saved;
    struct script *script = sh->script;
    int loops = sh->loop_depth;
    unsigned mask = sh->trap_mask;
    args_enter(sh, (size_t)argc - 1, argv + 1, &saved);
    vars_push(sh->vars);
    sh->frame = &frame;
    sh->script = fn->script;
    sh->loop_depth = 0;
    sh->trap_mask |= masked_traps(sh);

    exec_node(sh, fn->body);
    if (sh->flow == FLOW_RETURN)
        sh->flow = FLOW_NONE;
    if (trap_is_set(sh, TRAP_RETURN))
        trap_run(sh, TRAP_RETURN);

    sh->trap_mask = mask;
    sh->loop_depth = loops;
    sh->script = script;
    sh->frame = frame.parent;
    if (frame.keeps_set)
        sh->set = frame.set;
    vars_pop(sh->vars);
    args_leave(sh, &saved);
    sh->line = frame.call_line;
    function_unref(fn);
    exec_leave(sh);
    return sh->status;
}

static bool asks_help(const struct command *command, int argc, char **argv)
{
    if (!command->usage || argc < 2)
        return false;
    if (command->flags & CMD_BUILTIN)
        return argc == 2 && !strcmp(argv[1], "--help");
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
        if (!strcmp(argv[i], "--help"))
            return true;
        if ((command->flags & CMD_PREFIX) && argv[i][0] != '-')
            return false;
    }
    return false;
}

/* A builtin could not write what it wanted to; its status. */
static int output_failed(struct cmd *c, const struct command *command)
{
    struct shell *sh = c->shell;
    int errnum = stream_error(c->out);
    if (errnum == EPIPE) { /* as SIGPIPE would */
        if (command->flags & CMD_BUILTIN)
            shell_exit(sh, 141);
        return 141;
    }
    if (errnum != ECANCELED)
        cmd_err(c, "write error: %s", strerror(errnum));
    if (!stream_is_pipe(c->out))
        stream_clear_error(c->out);
    return 1;
}

int exec_builtin(struct shell *sh, const struct command *command, int argc, char **argv)
{
    struct arena_mark mark = arena_mark(sh->arena);
    struct cmd c = { .name = argv[0],
        .command = command,
        .argc = argc,
        .argv = argv,
        .in = stream_ref(shell_fd(sh, 0)),
        .out = stream_ref(shell_fd(sh, 1)),
        .err = stream_ref(shell_fd(sh, 2)),
        .vfs = sh->vfs,
        .cwd = sh->cwd,
        .arena = sh->arena,
        .budget = sh->budget,
        .shell = sh };
    int status =
            asks_help(command, argc, argv) ? cmd_help(&c, command) : command->run(&c);
    if (!stream_flush(c.out) || c.out_failed)
        if (c.out_failed || stream_error(c.out) != EBADF)
            status = output_failed(&c, command);
    stream_flush(c.err);
    stream_unref(c.in);
    stream_unref(c.out);
    stream_unref(c.err);
    arena_rewind(sh->arena, mark);
    if (UNLIKELY(sched_is_cancelled(sh->sched))) /* a stage of a job that was killed */
        shell_exit(sh, 143);
    return sh->flow == FLOW_EXIT ? sh->status : status;
}

/* "/bin/ls" means the builtin, unless the view has such a file. */
static const struct command *find_by_path(const char *name)
{
    static const char *const folders[] = { "/bin/", "/usr/bin/", "/usr/local/bin/" };
    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        if (str_starts(str_of(name), str_of(folders[i])))
            return command_find(str_of(name + strlen(folders[i])));
    return NULL;
}

/* "NAME: command not found" with the nearest offered name; 127. */
static int exec_not_found(struct shell *sh, const char *name)
{
    const char *nearest = command_nearest(name);
    const char *refused = script_unsupported_command(str_of(name));
    if (refused)
        shell_err(sh, "%s: not supported here", refused);
    else if (nearest)
        shell_err(sh, "%s: command not found (did you mean '%s'?)", name, nearest);
    else
        shell_err(sh, "%s: command not found (help lists what there is)", name);
    return 127;
}

const struct command *exec_find_builtin(const char *name)
{
    const struct command *command = command_find(str_of(name));
    return command || name[0] != '/' ? command : find_by_path(name);
}

int exec_lookup(struct shell *sh, int argc, char **argv, bool no_functions)
{
    struct function *fn =
            no_functions ? NULL : functions_find(sh->functions, str_of(argv[0]));
    if (fn)
        return exec_function(sh, fn, argc, argv);
    bool is_path = strchr(argv[0], '/');
    int status;
    if (is_path && exec_program(sh, argc, argv, &status))
        return status;
    const struct command *command = exec_find_builtin(argv[0]);
    if (command)
        return exec_builtin(sh, command, argc, argv);
    if (!is_path && exec_program(sh, argc, argv, &status))
        return status;
    char *file = is_path ? argv[0] : exec_search_path(sh, argv[0], true);
    if (!file)
        return exec_not_found(sh, argv[0]);
    argv[0] = file;
    return exec_file(sh, argc, argv);
}

int exec_argv(struct shell *sh, int argc, char **argv, struct stream *in,
        struct stream *out, struct stream *err)
{
    struct saved_fd *saved = NULL;
    redirect_put(sh, 0, in, &saved);
    redirect_put(sh, 1, out, &saved);
    redirect_put(sh, 2, err, &saved);
    int status = sh->status = exec_lookup(sh, argc, argv, false);
    redirect_undo(sh, saved);
    return status;
}

static int run_named(struct shell *sh, const struct node *n, const struct call *call)
{
    struct saved_fd *saved = NULL;
    bool scoped = n->simple.assign_count > 0;
    int status = 1;
    if (UNLIKELY(sh->set & SET_XTRACE))
        xtrace_args(sh, call->args.count, call->args.items);
    if (scoped)
        vars_push(sh->vars);
    if (redirect_apply(sh, n->redirects, n->redirect_count, &saved) &&
            (!scoped || assign_temporary(sh, n))) {
        const struct assign *const *outer = sh->arg_assigns;
        sh->arg_assigns = call->assigns;
        int argc = (int)call->args.count;
        const struct command *builtin = named_builtin(sh, n);
        status = builtin ? exec_builtin(sh, builtin, argc, call->args.items)
                         : exec_lookup(sh, argc, call->args.items, false);
        sh->arg_assigns = outer;
    } else if (sh->flow != FLOW_NONE) {
        status = sh->status;
    }
    if (scoped)
        vars_pop(sh->vars);
    if (sh->keep_redirects)
        redirect_keep(saved);
    else
        redirect_undo(sh, saved);
    sh->keep_redirects = false;
    return status;
}

static int run_simple(struct shell *sh, const struct node *n)
{
    struct call call = { 0 };
    if (!expand_args(sh, n, &call)) {
        shell_discard(sh, sh->status ? sh->status : 1);
        return sh->status;
    }
    if (!call.args.count)
        return run_assignments(sh, n);
    if (UNLIKELY(call.args.items[0][0] == 'r') && exec_is_careless(sh, n, &call.args))
        return 1;
    if (UNLIKELY(n->redirect_count) && exec_command_is_refused(sh, n, &call.args))
        return CANNOT_RUN;
    const char *last = call.args.items[call.args.count - 1]; /* builtins permute argv */
    int status = run_named(sh, n, &call);
    buf_clear(&sh->last_arg);
    buf_add(&sh->last_arg, str_of(last));
    return status;
}

void exec_set_pipe_status(struct shell *sh, int status)
{
    if (UNLIKELY(!sh->pipe_status_cap))
        GROW(sh->pipe_status, sh->pipe_status_count, sh->pipe_status_cap);
    sh->pipe_status[0] = status;
    sh->pipe_status_count = 1;
}

int exec_simple(struct shell *sh, const struct node *n)
{
    exec_position(sh, n, n->source);
    if (UNLIKELY(trap_is_set(sh, TRAP_DEBUG)))
        trap_run(sh, TRAP_DEBUG);
    struct arena_mark mark = arena_mark(sh->arena);
    struct substitution *before = sh->substitutions;
    sh->captured = false;
    int status = run_simple(sh, n);
    if (UNLIKELY(sh->substitutions != before))
        substitutions_end(sh, before);
    arena_rewind(sh->arena, mark);
    exec_set_pipe_status(sh, status);
    return exec_finish(sh, status);
}
