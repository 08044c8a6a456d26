/*
 * `paddock shell`: the same shell, confined in the same way, but with the descriptors
 * 0, 1 and 2 of whoever started it.  The script is read after confining.
 */
#include "base/log.h"
#include "shell/parse.h"
#include "worker/alarm.h"
#include "worker/view.h"
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAME        "paddock shell"
#define DOLLAR_ZERO "paddock"
#define MAX_SECONDS 1e6

static const char usage[] =
        "usage: paddock shell [OPTION]... [ROOT] [-c SCRIPT [NAME [ARG]...]]\n"
        "       paddock shell [OPTION]... [ROOT] FILE [ARG]...\n"
        "Run the virtual shell on the folder ROOT (default '.', or memory://), which it\n"
        "sees as '/'. FILE is a script outside of it. Without -c and FILE the script is\n"
        "standard input, line by line if that is a terminal.\n"
        "\n"
        "  -c SCRIPT        run SCRIPT\n"
        "  --read-only      change nothing\n"
        "  --deny PATTERN   hide names that match (may be repeated)\n"
        "  --timeout S      end each script after S seconds (default: never)\n"
        "  --help           show this text\n";

struct options {
    const char *root; /* NULL: "." */
    const char *script, *file;
    char **args; /* after -c SCRIPT or FILE */
    int arg_count;
    bool read_only, help;
    unsigned timeout_ms;
    struct str *deny; /* in the arena; room for all of argv */
    size_t deny_count;
};

static bool parse_timeout(const char *text, unsigned *ms, struct error *err)
{
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end || !isfinite(seconds) || seconds < 0 || seconds > MAX_SECONDS)
        return error_set(err, ERR_INVALID, "'%s' is no number of seconds", text);
    *ms = (unsigned)(seconds * 1000);
    return true;
}

/* `--name VALUE` or `--name=VALUE`; `*i` moves on to the value in the first case. */
static bool take_value(const char *name, int argc, char **argv, int *i,
        const char **value, struct error *err)
{
    size_t len = strlen(name);
    if (argv[*i][len] == '=') {
        *value = argv[*i] + len + 1;
        return true;
    }
    if (*i + 1 >= argc)
        return error_set(err, ERR_INVALID, "%s needs a value", name);
    *value = argv[++*i];
    return true;
}

static bool is_option(const char *arg, const char *name)
{
    size_t len = strlen(name);
    return !strncmp(arg, name, len) && (!arg[len] || (arg[1] == '-' && arg[len] == '='));
}

static bool parse_option(
        struct options *o, int argc, char **argv, int *i, struct error *err)
{
    const char *value = NULL;
    if (is_option(argv[*i], "-c"))
        return take_value("-c", argc, argv, i, &o->script, err);
    if (!strcmp(argv[*i], "--read-only")) {
        o->read_only = true;
    } else if (!strcmp(argv[*i], "--help")) {
        o->help = true;
    } else if (is_option(argv[*i], "--deny")) {
        if (!take_value("--deny", argc, argv, i, &value, err))
            return false;
        o->deny[o->deny_count++] = str_of(value);
    } else if (is_option(argv[*i], "--timeout")) {
        return take_value("--timeout", argc, argv, i, &value, err) &&
               parse_timeout(value, &o->timeout_ms, err);
    } else {
        return error_set(err, ERR_INVALID, "unknown option '%s'", argv[*i]);
    }
    return true;
}

static bool is_memory(const char *root)
{
    return !strncmp(root, "memory://", strlen("memory://"));
}

static bool is_folder(const char *path)
{
    struct stat st;
    return is_memory(path) || (!stat(path, &st) && S_ISDIR(st.st_mode));
}

/* `next` is the word after it: -c leaves no doubt what the one before it is. */
static bool is_meant_as_root(const char *path, const char *next)
{
    return is_folder(path) || (next && !strcmp(next, "-c"));
}

/* Options and the root first; the rest belongs to the script. */
static bool parse_options(int argc, char **argv, struct options *o, struct error *err)
{
    int i = 1;
    for (; i < argc; i++) {
        if (!strcmp(argv[i], "--")) {
            i++;
            break;
        }
        if (argv[i][0] == '-' && argv[i][1]) {
            if (!parse_option(o, argc, argv, &i, err))
                return false;
        } else if (!o->root && !o->script && is_meant_as_root(argv[i], argv[i + 1])) {
            o->root = argv[i];
        } else {
            break;
        }
    }
    if (!o->script && i < argc)
        o->file = argv[i];
    o->args = argv + i;
    o->arg_count = argc - i;
    return true;
}

static bool open_root(
        const char *path, struct arena *arena, struct setup_root *out, struct error *err)
{
    *out = (struct setup_root){ .at = STR("/"), .kind = SETUP_MEMORY, .fd = -1 };
    if (is_memory(path))
        return true;
    char real[PATH_MAX];
    out->kind = SETUP_LOCAL;
    out->fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (out->fd < 0 || !realpath(path, real))
        return error_errno(err, errno, "cannot open the folder '%s'", path);
    out->host_path = arena_str(arena, str_of(real));
    return true;
}

/* One line for each thing that this kernel cannot hold. */
static void report_problems(const struct confine_status *status)
{
    json_auto_t *json = confine_status_json(status);
    const json_t *problems = json_object_get(json, "problems");
    for (size_t i = 0; i < json_array_size(problems); i++)
        log_line(LOG_WARN, "%s", json_string_value(json_array_get(problems, i)));
}

struct session {
    struct shell *shell;
    struct shell_limits limits;
    volatile sig_atomic_t *alarm;
    struct stream *in, *out, *err;
    bool exited;
};

static int run(struct session *s, struct str text, struct stream *in)
{
    alarm_start(s->limits.timeout_ms);
    int status = shell_run(
            s->shell, text, &s->limits, s->alarm, in, s->out, s->err, &s->exited);
    alarm_stop();
    stream_flush(s->out);
    stream_flush(s->err);
    return status;
}

static bool is_incomplete(struct str text)
{
    const struct parse_options options = { .extglob = true };
    struct script *script;
    struct parse_error why;
    if (parse_script(text, STR(DOLLAR_ZERO), &options, &script, &why)) {
        script_unref(script);
        return false;
    }
    return why.is_incomplete;
}

static bool prompt(struct session *s, bool more)
{
    auto_buf text = BUF(8192);
    if (more)
        buf_add(&text, STR("> "));
    else
        buf_addf(&text, "%.*s$ ", STR_ARG(shell_cwd(s->shell).text));
    return stream_write(s->err, buf_str(&text)) && stream_flush(s->err);
}

/* Add the next line to `text`; Ctrl-C drops what was typed.  False: the input ended. */
static bool read_line(struct session *s, struct buf *text)
{
    struct str line;
    while (prompt(s, text->len > 0)) {
        if (stream_line(s->in, '\n', PARSE_MAX_TEXT, &line)) {
            buf_add(text, line);
            return true;
        }
        if (stream_error(s->in) != ECANCELED)
            return false;
        stream_clear_error(s->in);
        buf_clear(text);
        if (!stream_write(s->err, STR("\n")))
            return false;
    }
    return false;
}

/* A terminal: read lines until they are a whole script, run it, and again. */
static int run_lines(struct session *s)
{
    int status = 0;
    auto_buf text = BUF(PARSE_MAX_TEXT);
    alarm_catch_interrupt();
    while (!s->exited && read_line(s, &text)) {
        if (is_incomplete(buf_str(&text)) && !text.full)
            continue;
        status = run(s, buf_str(&text), s->in);
        buf_clear(&text);
        text.full = false;
    }
    if (text.len)
        status = run(s, buf_str(&text), s->in);
    return status;
}

/* The whole of `from` is the script. */
static int run_stream(struct session *s, struct stream *from, struct stream *in)
{
    auto_buf text = BUF(PARSE_MAX_TEXT);
    if (stream_read_all(from, &text))
        return run(s, buf_str(&text), in);
    if (text.full)
        log_line(LOG_ERROR, "the script is larger than %zu bytes", PARSE_MAX_TEXT);
    else
        log_line(LOG_ERROR, "cannot read the script: %s", strerror(stream_error(from)));
    return 126;
}

static int run_script(struct session *s, const struct options *o, int script_fd)
{
    if (o->script)
        return run(s, str_of(o->script), s->in);
    struct stream *from = stream_fd(script_fd), *nothing = stream_null();
    int status;
    if (o->file)
        status = run_stream(s, from, s->in);
    else if (isatty(script_fd))
        status = run_lines(s);
    else
        status = run_stream(s, from, nothing);
    stream_unref(from);
    stream_unref(nothing);
    return status;
}

static struct session open_session(const struct options *o, struct vfs *vfs)
{
    const struct shell_options options = {
        .vfs = vfs, .name = DOLLAR_ZERO, .cwd = VPATH_ROOT
    };
    struct session s = {
        .shell = shell_create(&options),
        .limits = SHELL_LIMITS,
        .alarm = alarm_install(),
        .in = stream_fd(STDIN_FILENO),
        .out = stream_fd(STDOUT_FILENO),
        .err = stream_fd(STDERR_FILENO),
    };
    s.limits.timeout_ms = o->timeout_ms;
    if (o->arg_count)
        shell_set_args(s.shell, o->args[0], o->arg_count - 1, o->args + 1);
    return s;
}

static void close_session(struct session *s)
{
    stream_unref(s->in);
    stream_unref(s->out);
    stream_unref(s->err);
    shell_destroy(s->shell);
}

static int confine_and_run(const struct options *o, const struct setup *setup,
        int script_fd, struct arena *arena, struct error *err)
{
    struct view view;
    if (!view_create(setup, arena, &view, err))
        return 1;
    /* It ends with its terminal or its pipe, as every program does. */
    struct confine_status status = { .is_independent = true };
    signal(SIGPIPE, SIG_IGN);
    setenv("TZ", ":/etc/localtime", 0); /* see main.c */
    tzset();
    const struct view_also also = { { script_fd }, .count = script_fd > STDERR_FILENO };
    if (!view_confine(&view, &also, 0, arena, &status, err))
        return 1;
    report_problems(&status);
    struct session session = open_session(o, view.vfs);
    int result = run_script(&session, o, script_fd);
    close_session(&session);
    view_finish(&view);
    return result;
}

static int run_options(const struct options *o, struct arena *arena, struct error *err)
{
    struct setup_root root;
    int script_fd = STDIN_FILENO;
    if (o->file && (script_fd = open(o->file, O_RDONLY | O_CLOEXEC)) < 0) {
        error_errno(err, errno, "cannot open the script '%s'", o->file);
        return errno == ENOENT ? 127 : 126;
    }
    if (!open_root(o->root ? o->root : ".", arena, &root, err))
        return 1;
    const struct setup setup = {
        .name = STR(DOLLAR_ZERO),
        .read_only = o->read_only,
        .deny = o->deny,
        .deny_count = o->deny_count,
        .roots = &root,
        .root_count = 1,
    };
    return confine_and_run(o, &setup, script_fd, arena, err);
}

int worker_shell_main(int argc, char **argv)
{
    log_init(NAME);
    auto_arena *arena = arena_create();
    struct options o = { .deny = arena_alloc(arena, (size_t)argc * sizeof(*o.deny)) };
    struct error err = { 0 };
    int status = 2;
    if (parse_options(argc, argv, &o, &err)) {
        if (o.help) {
            fputs(usage, stdout);
            fflush(stdout);
            return 0;
        }
        status = run_options(&o, arena, &err);
    }
    if (err.code)
        log_line(LOG_ERROR, "%s", err.message);
    return status;
}
