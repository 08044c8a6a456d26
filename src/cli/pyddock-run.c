#include "cli/pyddock-run.h"

#include "cli/cli.h"
#include "cli/flags.h"
#include "cli/interpreter.h"
#include "cli/servers.h"
#include "cli/workspace.h"
#include "policy/log/audit.h"
#include "tool/time-limit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME "pyddock run"

static const char usage[] =
        "usage: pyddock run [OPTION]... CODE|FILE.py [--] [ARGUMENT]...\n"
        "Run Python in the sandbox of run_python, with the current folder as the "
        "workspace\n"
        "and its policy. What it prints is printed, then the value of its last "
        "expression.\n"
        "What follows CODE is for the snippet: sys.argv[1:].\n"
        "\n"
        "  --config FILE      the whole policy, instead of what is in .pyddock\n"
        "  --debug            record every decision in .pyddock/tmp/audit.jsonl\n"
        "  --no-install       do not install what it imports and [imports] allows\n"
        "  --timeout SECONDS  stop it then (default: that of the policy)\n"
        "  --help             print this text\n";

struct options {
    const char *config, *code; /* or NULL */
    char **args;
    int arg_count;
    bool debug, no_install;
    unsigned timeout_ms; /* 0: that of the policy */
};

struct run {
    uv_loop_t loop;
    struct packages *packages;
    json_t *modules;   /* what the snippet imports; NULL: not known */
    bool in_line;      /* what was printed last has no newline */
    bool begins_again; /* with these modules installed */
    const struct policy *policy;
    struct python *python;
    unsigned timeout_ms;
    bool ended;
    int status;
};

static bool set_config(void *user, const char *value, struct error *err UNUSED)
{
    struct options *o = user;
    o->config = value;
    return true;
}

static bool set_debug(void *user, const char *unused UNUSED, struct error *err UNUSED)
{
    struct options *o = user;
    o->debug = true;
    return true;
}

static bool set_no_install(
        void *user, const char *unused UNUSED, struct error *err UNUSED)
{
    struct options *o = user;
    o->no_install = true;
    return true;
}

static bool set_timeout(void *user, const char *value, struct error *err)
{
    struct options *o = user;
    char *end;
    double seconds = strtod(value, &end);
    if (!*value || *end || !(seconds > 0 && seconds <= 1e6))
        return error_set(err, ERR_INVALID,
                "must be a positive number of seconds, not '%.80s'", value);
    o->timeout_ms = seconds < 0.001 ? 1 : (unsigned)(seconds * 1e3);
    return true;
}

static const struct flag table[] = {
    { "--config", true, set_config },
    { "--debug", false, set_debug },
    { "--help", false, NULL },
    { "--no-install", false, set_no_install },
    { "--timeout", true, set_timeout },
};

/* How many words from argv[0] on are options: all that stands before the code. */
static int count_options(int argc, char **argv)
{
    int i = 1;
    while (i < argc && argv[i][0] == '-' && strcmp(argv[i], "--")) {
        bool valued = !strcmp(argv[i], "--config") || !strcmp(argv[i], "--timeout");
        i += valued ? 2 : 1;
    }
    return i < argc ? i : argc;
}

static bool read_options(int argc, char **argv, struct options *o, struct error *err)
{
    const struct flags flags = { table, ARRAY_LEN(table), NULL, o, NULL };
    int i = count_options(argc, argv);
    if (!flags_read(&flags, i, argv, err))
        return false;
    if (i < argc && !strcmp(argv[i], "--"))
        i++;
    if (i == argc)
        return error_set(err, ERR_INVALID,
                "CODE or FILE.py is missing; usage: pyddock run [OPTION]... "
                "CODE|FILE.py [--] [ARGUMENT]...");
    o->code = argv[i++];
    if (i < argc && !strcmp(argv[i], "--"))
        i++;
    o->args = argv + i;
    o->arg_count = argc - i;
    return true;
}

/* "job.py" is the name of a file, not an attribute of something. */
static bool is_file_name(const char *code)
{
    return str_ends(str_of(code), STR(".py")) && !strchr(code, '\n');
}

static bool check_file(const char *name, struct error *err)
{
    struct stat st;
    if (!stat(name, &st) && S_ISREG(st.st_mode))
        return true;
    error_set(err, ERR_NOT_FOUND, "File not found: '%.300s'", name);
    return error_hint(err, "Code that ends in '.py' needs a newline at its end.");
}

static void on_printed(void *user, bool to_stderr, struct str bytes)
{
    struct run *r = user;
    FILE *to = to_stderr ? stderr : stdout;
    fwrite(bytes.data, 1, bytes.len, to);
    if (fflush(to) || ferror(to)) { /* nobody reads it any more */
        r->ended = true;
        r->status = 128 + SIGPIPE;
    }
    if (!to_stderr)
        r->in_line = bytes.data[bytes.len - 1] != '\n';
}

static void tell_end(const struct run *r, const struct python_result *result)
{
    auto_buf text = BUF(4096);
    if (result->end == PYTHON_TIMED_OUT)
        time_limit_tell(r->policy, "snippet", r->timeout_ms, &text);
    else if (result->error.message[0])
        buf_addf(&text, NAME ": %s\n", result->error.message);
    fwrite(text.data ? text.data : "", 1, text.len, stderr);
}

static void on_done(void *user, const struct python_result *result)
{
    struct run *r = user;
    r->begins_again = result->end == PYTHON_NOT_YET;
    r->ended = true;
    if (r->begins_again)
        return;
    tell_end(r, result);
    if (result->has_result)
        printf("%s%.*s\n", r->in_line ? "\n" : "", STR_ARG(result->result));
    if (result->was_cut)
        fprintf(stderr, NAME ": the value is longer than what is shown\n");
    if (json_array_size(result->images))
        fprintf(stderr, NAME ": %zu images are not shown\n",
                json_array_size(result->images));
    r->status = result->end == PYTHON_DIED    ? 128 - result->exit_code
                : result->end == PYTHON_ENDED ? result->exit_code
                                              : 1;
}

static json_t *argument_list(const struct options *o)
{
    json_t *list = json_array();
    for (int i = 0; i < o->arg_count; i++)
        json_array_append_new(list, json_text(str_of(o->args[i])));
    return list;
}

static bool run_loop(struct run *r, const struct options *o, struct error *err)
{
    struct python_run *run;
    json_auto_t *args = argument_list(o);
    bool file = is_file_name(o->code);
    const struct python_request request = {
        .code = file ? STR("") : str_of(o->code),
        .file = file ? str_of(o->code) : STR(""),
        .argv = args,
        .timeout_ms = r->timeout_ms,
    };
    if (!python_run(r->python, &request, on_done, r, &run, err))
        return false;
    while (!r->ended)
        uv_run(&r->loop, UV_RUN_ONCE);
    return true;
}

/* What is told is asked for when it is needed. */
static void on_renew(void *user UNUSED)
{
}

/* Asked once; what is not there by then is missing. */
static bool can_import(void *user, const json_t *modules)
{
    struct run *r = user;
    if (r->modules || !packages_pending(r->packages, modules).len)
        return true;
    r->modules = json_deep_copy(modules);
    return false;
}

static void install(struct run *r)
{
    packages_start_for(r->packages, r->modules);
    while (packages_is_busy(r->packages))
        uv_run(&r->loop, UV_RUN_ONCE);
}

static bool run_in(struct run *r, const struct options *o,
        const struct run_python_config *config, struct error *err)
{
    struct python_config python = config->python;
    config->tell(config->user, &python);
    python.printed = on_printed;
    python.printed_user = r;
    if (config->packages)
        python.can_import = can_import;
    r->ended = false;
    r->python = python_create(&python);
    bool ran = run_loop(r, o, err);
    python_destroy(r->python);
    return ran;
}

/* Once more, if packages had to be installed first. */
static bool run_with_packages(struct run *r, const struct options *o,
        const struct run_python_config *config, struct error *err)
{
    r->packages = config->packages;
    bool ran = run_in(r, o, config, err);
    if (!ran || !r->begins_again)
        return ran;
    install(r);
    return run_in(r, o, config, err);
}

static bool run_snippet(struct run *r, const struct options *o, const struct workspace *w,
        const char *launcher, struct error *err)
{
    auto_arena *arena = arena_create();
    const struct peers_config servers = { .loop = &r->loop,
        .launcher = launcher,
        .policy = w->policy,
        .paths = w->paths,
        .definitions = &w->servers };
    uv_loop_init(&r->loop);
    struct peers *peers = servers_open(&servers, arena);
    const struct interpreter_request request = { .name = NAME,
        .policy = w->policy,
        .paths = w->paths,
        .commands = w->commands,
        .launcher = launcher,
        .peers = peers,
        .installs = !o->no_install,
        .audit = w->audit };
    struct interpreter *interpreter = interpreter_open(&r->loop, &request, on_renew, r);
    const struct run_python_config *config = interpreter_config(interpreter);
    bool ran = !config->missing || error_set(err, ERR_NOT_FOUND, "%s", config->missing);
    if (ran)
        ran = run_with_packages(r, o, config, err);
    json_decref(r->modules);
    interpreter_close(interpreter);
    peers_destroy(peers);
    uv_run(&r->loop, UV_RUN_DEFAULT);
    uv_loop_close(&r->loop);
    return ran;
}

static bool run(const struct options *o, int *status, struct error *err)
{
    auto_arena *arena = arena_create();
    auto_free char *launcher = NULL;
    const struct workspace_request request = { ".", o->config, o->debug };
    struct workspace w;
    /* Our memory and environment hold what no command of the same user is to read. */
    prctl(PR_SET_DUMPABLE, 0);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a log that may not grow is an error, not our end */
    if ((is_file_name(o->code) && !check_file(o->code, err)) ||
            !helper_find("paddock-launch", &launcher, err) ||
            !workspace_open(&request, arena, &w, err))
        return false;
    struct run r = { .policy = w.policy,
        .timeout_ms = o->timeout_ms ? o->timeout_ms : w.policy->timeout_ms };
    bool ran = run_snippet(&r, o, &w, launcher, err);
    *status = r.status;
    audit_close(w.audit);
    return ran;
}

int pyddock_run(int argc, char **argv)
{
    struct error err = { 0 };
    struct options o = { .code = NULL };
    int status, options = count_options(argc, argv);
    if (flags_has(options, argv, "--help") || flags_has(options, argv, "-h")) {
        cli_print(str_of(usage));
        return 0;
    }
    if (!read_options(argc, argv, &o, &err))
        return cli_fail(NAME, 2, &err);
    return run(&o, &status, &err) ? status : cli_fail(NAME, 1, &err);
}
