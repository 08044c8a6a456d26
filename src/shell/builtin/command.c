/* command builtin exec type hash: which command a name means */
#include "shell/builtin/letters.h"
#include "shell/builtin/shquote.h"
#include "shell/exec.h"
#include "shell/parse.h"

enum describe { DESCRIBE_NAME, DESCRIBE_SENTENCE, DESCRIBE_WORD };

/* A line; a failure to write is seen by the shell when the command has ended. */
static void say(struct cmd *c, const char *line)
{
    bool unused UNUSED = cmd_printf(c, "%s\n", line);
}

static bool is_keyword(const char *name)
{
    static const char *const keywords[] = { "if", "then", "else", "elif", "fi", "case",
        "esac", "for", "select", "while", "until", "do", "done", "in", "function", "time",
        "{", "}", "!", "[[", "]]", "coproc" };
    for (size_t i = 0; i < ARRAY_LEN(keywords); i++)
        if (!strcmp(name, keywords[i]))
            return true;
    return false;
}

static const struct str *find_alias(struct shell *sh, const char *name)
{
    for (size_t i = 0; i < sh->alias_count; i += 2)
        if (str_is(sh->aliases[i], name))
            return &sh->aliases[i + 1];
    return NULL;
}

static void describe_alias(
        struct cmd *c, const char *name, struct str text, enum describe how)
{
    struct str quoted = quote_single(text, c->arena);
    if (how == DESCRIBE_WORD)
        say(c, "alias");
    else if (how == DESCRIBE_SENTENCE)
        say(c, arena_printf(c->arena, "%s is aliased to `%.*s'", name, STR_ARG(text)));
    else
        say(c, arena_printf(c->arena, "alias %s=%.*s", name, STR_ARG(quoted)));
}

static void describe_function(
        struct cmd *c, const char *name, const struct function *fn, enum describe how)
{
    if (how != DESCRIBE_SENTENCE) {
        say(c, how == DESCRIBE_WORD ? "function" : name);
        return;
    }
    auto_buf text = BUF(c->budget->max_memory);
    buf_addf(&text, "%s is a function\n%s () \n", name, name);
    ast_print(fn->body, &text);
    say(c, buf_str(&text).data);
}

static void describe_simple(
        struct cmd *c, const char *name, const char *kind, enum describe how)
{
    if (how == DESCRIBE_SENTENCE)
        say(c, arena_printf(c->arena, "%s is a shell %s", name, kind));
    else
        say(c, how == DESCRIBE_WORD ? kind : name);
}

/* A real program, or a script: by its path, or in a folder of $PATH. */
static bool describe_file(struct cmd *c, const char *name, enum describe how)
{
    struct str file = exec_program_file(c->shell, name);
    const char *path =
            file.len ? arena_cstr(c->arena, file) : exec_script_file(c->shell, name);
    if (!path)
        return false;
    if (how == DESCRIBE_SENTENCE)
        say(c, arena_printf(c->arena, "%s is %s", name, path));
    else
        say(c, how == DESCRIBE_WORD ? "file" : path);
    return true;
}

/* False: there is no such command (nothing was printed). */
static bool describe(struct cmd *c, const char *name, enum describe how, bool functions)
{
    struct shell *sh = c->shell;
    const struct str *alias = find_alias(sh, name);
    struct function *fn = functions ? functions_find(sh->functions, str_of(name)) : NULL;
    if (alias && (sh->shopt & SHOPT_EXPAND_ALIASES))
        describe_alias(c, name, *alias, how);
    else if (is_keyword(name))
        describe_simple(c, name, "keyword", how);
    else if (fn)
        describe_function(c, name, fn, how);
    else if (exec_find_builtin(name))
        describe_simple(c, name, "builtin", how);
    else
        return describe_file(c, name, how);
    return true;
}

/* How many of the operands are commands; each is described. */
static int describe_all(
        struct cmd *c, int first, enum describe how, bool functions, bool quiet)
{
    int found = 0;
    for (int i = first; i < c->argc; i++) {
        if (describe(c, c->argv[i], how, functions))
            found++;
        else if (!quiet)
            cmd_err(c, "%s: not found", c->argv[i]);
    }
    return found;
}

static int cmd_command(struct cmd *c)
{
    enum describe how = DESCRIBE_NAME;
    bool describes = false, real = false;
    struct letters l = letters_of(c, "pvV", "command [-pVv] command [arg ...]");
    for (int k; (k = letters_next(&l)) != CMD_END;) {
        if (k == CMD_BAD)
            return 2;
        if (k == 'p') {
            real = true;
            continue;
        }
        describes = true;
        how = k == 'v' ? DESCRIBE_NAME : DESCRIBE_SENTENCE;
    }
    if (l.index >= c->argc)
        return 0;
    if (describes)
        return !describe_all(c, l.index, how, true, how == DESCRIBE_NAME);
    int argc = c->argc - l.index, status;
    char **argv = c->argv + l.index;
    if (real && exec_program(c->shell, argc, argv, &status))
        return status;
    return exec_lookup(c->shell, argc, argv, true);
}

static int cmd_builtin(struct cmd *c)
{
    int i = c->argc > 1 && !strcmp(c->argv[1], "--") ? 2 : 1;
    if (i >= c->argc)
        return 0;
    const struct command *command = command_find(str_of(c->argv[i]));
    if (!command) {
        cmd_err(c, "%s: not a shell builtin", c->argv[i]);
        return 1;
    }
    return exec_builtin(c->shell, command, c->argc - i, c->argv + i);
}

/* Only where a file is what is run. */
static int describe_files(struct cmd *c, int first)
{
    int found = 0;
    for (int i = first; i < c->argc; i++)
        if (describe_file(c, c->argv[i], DESCRIBE_NAME))
            found++;
    return found;
}

static int cmd_type(struct cmd *c)
{
    enum describe how = DESCRIBE_SENTENCE;
    bool functions = true, path = false;
    struct letters l = letters_of(c, "afptP", "type [-afptP] name [name ...]");
    for (int k; (k = letters_next(&l)) != CMD_END;) {
        if (k == CMD_BAD)
            return 2;
        if (k == 't')
            how = DESCRIBE_WORD;
        if (k == 'f')
            functions = false;
        if (k == 'p' || k == 'P')
            path = true;
    }
    int count = c->argc - l.index;
    if (path)
        return describe_files(c, l.index) == count ? 0 : 1;
    int found = describe_all(c, l.index, how, functions, how == DESCRIBE_WORD);
    return found == count ? 0 : 1;
}

static int cmd_exec(struct cmd *c)
{
    struct letters l =
            letters_of(c, "cla:", "exec [-cl] [-a name] [command [argument ...]]");
    for (int k; (k = letters_next(&l)) != CMD_END;)
        if (k == CMD_BAD)
            return 2;
    struct shell *sh = c->shell;
    if (l.index >= c->argc) {
        sh->keep_redirects = true;
        return 0;
    }
    char **argv = c->argv + l.index;
    int status = 127;
    bool known = exec_is_known(sh, argv[0]);
    if (known || strchr(argv[0], '/'))
        /* There is no process to replace: run it, then end, which looks the same. */
        status = exec_lookup(sh, c->argc - l.index, argv, true);
    else
        cmd_err(c, "%s: not found", argv[0]);
    if (!known && (sh->shopt & SHOPT_EXECFAIL))
        return status;
    shell_exit(sh, status);
    return status;
}

static int cmd_hash(struct cmd *c)
{
    struct letters l =
            letters_of(c, "lrp:dt", "hash [-lr] [-p pathname] [-dt] [name ...]");
    for (int k; (k = letters_next(&l)) != CMD_END;)
        if (k == CMD_BAD)
            return 2;
    int status = 0;
    for (int i = l.index; i < c->argc; i++)
        if (!exec_find_builtin(c->argv[i]) &&
                !exec_program_file(c->shell, c->argv[i]).len &&
                !functions_find(c->shell->functions, str_of(c->argv[i]))) {
            cmd_err(c, "%s: not found", c->argv[i]);
            status = 1;
        }
    return status;
}

const struct command command_command = { .name = "command",
    .run = cmd_command,
    .usage = "[-pVv] COMMAND [ARG]...",
    .summary =
            "Run a builtin even if a function has its name; -p: a real program even if "
            "a builtin has it; -v, -V: say what it is.",
    .flags = CMD_BUILTIN | CMD_SHELL | CMD_PREFIX };

const struct command command_builtin = { .name = "builtin",
    .run = cmd_builtin,
    .usage = "[COMMAND [ARG]...]",
    .summary = "Run a builtin even if a function has its name.",
    .flags = CMD_BUILTIN | CMD_SHELL | CMD_PREFIX };

const struct command command_type = { .name = "type",
    .run = cmd_type,
    .usage = "[-afptP] NAME...",
    .summary = "Say what a name would mean as a command.",
    .flags = CMD_BUILTIN };

const struct command command_exec = { .name = "exec",
    .run = cmd_exec,
    .usage = "[COMMAND [ARG]...] [REDIRECTION]...",
    .summary = "Keep the redirections for the rest of the script; with COMMAND: run it, "
               "then end.",
    .flags = CMD_BUILTIN | CMD_SPECIAL | CMD_SHELL };

const struct command command_hash = { .name = "hash",
    .run = cmd_hash,
    .usage = "[-r] [NAME]...",
    .summary = "Check that commands exist; there is nothing to remember.",
    .flags = CMD_BUILTIN };
