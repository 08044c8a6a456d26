/*
 * paddock call: starts this same program as a server, and is its client for some calls.
 */
#include "cli/cli.h"

#include "base/arena.h"
#include "base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME      "paddock call"
#define REVISION  "2025-06-18"
#define MAX_REPLY ((size_t)256 << 20)

static const char usage[] =
        "usage: paddock call [--json] [--show] [OPTION]... [ROOT] {TOOL JSON}...\n"
        "       paddock call [--json] [--show] serve [OPTION]... [DIR] {TOOL JSON}...\n"
        "Start `mcpath`, or `paddock serve`, with these options and this folder, call "
        "each\n"
        "TOOL with the arguments JSON over the protocol, in one session, and print the "
        "text\n"
        "of the results, or with --json the whole results. --show prints each call "
        "before "
        "its\n"
        "result. The status is 1 if the session or the last call failed.\n"
        "\n"
        "  paddock call . run '{\"command\": \"ls | wc -l\"}'\n"
        "  paddock call serve . fs_stat '{\"path\": \"README.md\"}'\n";

struct tool_call {
    const char *tool;
    json_t *args; /* an object */
};

struct calls {
    struct tool_call *items; /* in order */
    size_t count;
    bool as_json, show;
};

struct server {
    pid_t pid;
    int to, from;
    struct buf in;
    size_t used; /* bytes of `in` that the last line took */
};

static int spawn_program(char **argv, int in, int out, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    int error = posix_spawn(pid, "/proc/self/exe", &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static bool start_server(char **argv, struct server *s, struct error *err)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC))
        return error_errno(err, errno, "cannot make a pipe");
    auto_fd int their_in = in[0];
    s->to = in[1];
    if (pipe2(out, O_CLOEXEC))
        return error_errno(err, errno, "cannot make a pipe");
    auto_fd int their_out = out[1];
    s->from = out[0];
    int error = spawn_program(argv, their_in, their_out, &s->pid);
    return !error || error_errno(err, error, "cannot start the server");
}

static void stop_server(struct server *s)
{
    close_fd(&s->to); /* end of input: it goes */
    close_fd(&s->from);
    if (s->pid > 0)
        waitpid(s->pid, NULL, 0);
    buf_finish(&s->in);
}

static bool send_message(struct server *s, json_t *message, struct error *err)
{
    auto_buf line = BUF(MAX_REPLY);
    json_write(message, &line);
    json_decref(message);
    buf_addc(&line, '\n');
    for (struct str rest = buf_str(&line); rest.len;) {
        ssize_t n = write(s->to, rest.data, rest.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, errno, "the server ended");
        rest = str_from(rest, (size_t)n);
    }
    return true;
}

/* One more line into `*line`, which looks into s->in. */
static bool receive_line(struct server *s, struct str *line, struct error *err)
{
    if (s->used) {
        s->in.len -= s->used;
        memmove(s->in.data, s->in.data + s->used, s->in.len);
        s->used = 0;
    }
    for (size_t seen = 0;;) {
        struct str rest = str_from(buf_str(&s->in), seen);
        if (memchr(rest.data, '\n', rest.len)) {
            rest = buf_str(&s->in);
            *line = str_cut(&rest, '\n');
            s->used = line->len + 1;
            return true;
        }
        seen = s->in.len;
        char *to = buf_reserve(&s->in, 65536);
        if (!to)
            return error_set(err, ERR_LIMIT, "the reply is too large");
        ssize_t n = read(s->from, to, 65536);
        if (n < 0 && errno != EINTR)
            return error_errno(err, errno, "cannot read from the server");
        if (!n)
            return error_set(err, ERR_IO, "the server ended without an answer");
        s->in.len += n > 0 ? (size_t)n : 0;
    }
}

/* The result of the request `id`; notifications on the way are not for us. */
static bool receive_result(struct server *s, int id, json_t **result, struct error *err)
{
    for (;;) {
        struct str line;
        json_auto_t *reply = NULL;
        if (!receive_line(s, &line, err) || !json_parse(line, &reply, err))
            return false;
        const json_t *reply_id = json_object_get(reply, "id");
        if (!json_is_integer(reply_id) || json_integer_value(reply_id) != id)
            continue;
        struct str message = json_get_str(json_object_get(reply, "error"), "message",
                STR("the server sent no result"));
        *result = json_incref(json_object_get(reply, "result"));
        return *result || error_set(err, ERR_IO, "%.*s", STR_ARG(message));
    }
}

static json_t *request(int id, const char *method, json_t *params)
{
    return json_pack("{s:s, s:i, s:s, s:o}", "jsonrpc", "2.0", "id", id, "method", method,
            "params", params);
}

static json_t *notification(const char *method)
{
    return json_pack("{s:s, s:s}", "jsonrpc", "2.0", "method", method);
}

static json_t *hello(void)
{
    return json_pack("{s:s, s:{}, s:{s:s, s:s}}", "protocolVersion", REVISION,
            "capabilities", "clientInfo", "name", "paddock-call", "version",
            PADDOCK_VERSION);
}

static void print_block(const json_t *block, struct buf *text)
{
    struct str type = json_get_str(block, "mimeType", STR(""));
    buf_add(text, json_get_str(block, "text", STR("")));
    if (type.len)
        buf_addf(text, "\n[%.*s: %zu characters of base64, shown by --json]",
                STR_ARG(type), json_get_str(block, "data", STR("")).len);
}

static void print_result(const json_t *result, bool as_json)
{
    auto_buf text = BUF(MAX_REPLY);
    const json_t *content = json_object_get(result, "content");
    if (as_json)
        json_write(result, &text);
    for (size_t i = 0; !as_json && i < json_array_size(content); i++)
        print_block(json_array_get(content, i), &text);
    if (text.len && text.data[text.len - 1] != '\n')
        buf_addc(&text, '\n');
    cli_print(buf_str(&text));
}

/* "> run ls -l", or the whole arguments of a tool that has others. */
static void print_call(const struct tool_call *c)
{
    auto_buf text = BUF(MAX_REPLY);
    const json_t *command = json_object_get(c->args, "command");
    buf_addf(&text, "> %s ", c->tool);
    if (command && json_object_size(c->args) == 1)
        buf_add(&text, json_str(command));
    else
        json_write(c->args, &text);
    buf_addc(&text, '\n');
    cli_print(buf_str(&text));
}

static bool greet(struct server *s, struct error *err)
{
    json_auto_t *welcome = NULL;
    return send_message(s, request(1, "initialize", hello()), err) &&
           receive_result(s, 1, &welcome, err) &&
           send_message(s, notification("notifications/initialized"), err);
}

static bool call_one(struct server *s, int id, const struct tool_call *c, json_t **result,
        struct error *err)
{
    json_t *params = json_pack("{s:s, s:O}", "name", c->tool, "arguments", c->args);
    return send_message(s, request(id, "tools/call", params), err) &&
           receive_result(s, id, result, err);
}

static bool converse(
        struct server *s, const struct calls *calls, bool *is_error, struct error *err)
{
    if (!greet(s, err))
        return false;
    for (size_t i = 0; i < calls->count; i++) {
        json_auto_t *result = NULL;
        if (calls->show)
            print_call(&calls->items[i]);
        if (!call_one(s, (int)i + 2, &calls->items[i], &result, err))
            return false;
        print_result(result, calls->as_json);
        *is_error = json_is_true(json_object_get(result, "isError"));
    }
    return true;
}

static int run_calls(char **argv, const struct calls *calls)
{
    struct error err = { 0 };
    struct server server = { .to = -1, .from = -1, .in = BUF(MAX_REPLY) };
    bool is_error = false;
    signal(SIGPIPE, SIG_IGN);
    bool good = start_server(argv, &server, &err) &&
                converse(&server, calls, &is_error, &err);
    stop_server(&server);
    if (!good)
        return cli_fail(NAME, 1, &err);
    return is_error ? 1 : 0;
}

/* The pairs at the end of the command line, which is cut off before them. */
static bool take_calls(int *argc, char **argv, struct calls *calls, struct error *err)
{
    calls->items = xcalloc((size_t)*argc, sizeof(*calls->items));
    int first = *argc;
    while (first > 2 && argv[first - 1][0] == '{')
        first -= 2;
    if (first == *argc)
        return error_set(err, ERR_INVALID,
                "TOOL and JSON, an object, are missing; see %s --help", NAME);
    for (int i = first; i < *argc; i += 2) {
        struct tool_call *c = &calls->items[calls->count];
        c->tool = argv[i];
        if (!json_parse(str_of(argv[i + 1]), &c->args, err))
            return error_context(err, "the arguments of the call");
        calls->count++;
    }
    *argc = first;
    argv[first] = NULL;
    return true;
}

static void free_calls(struct calls *calls)
{
    for (size_t i = 0; i < calls->count; i++)
        json_decref(calls->items[i].args);
    free(calls->items);
}

/* What is not ours is for the server, as it stands; `argv` becomes its command line. */
static int take_own_options(int argc, char **argv, struct calls *calls, bool *help)
{
    int count = 1;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--json"))
            calls->as_json = true;
        else if (!strcmp(argv[i], "--show"))
            calls->show = true;
        else if (!strcmp(argv[i], "--help"))
            *help = true;
        else
            argv[count++] = argv[i];
    }
    return count;
}

int cli_call(int argc, char **argv)
{
    char mcpath[] = "mcpath", paddock[] = "paddock"; /* the name decides what it is */
    struct calls calls = { 0 };
    bool help = false;
    struct error err = { 0 };
    argc = take_own_options(argc, argv, &calls, &help);
    if (help) {
        cli_print(str_of(usage));
        return 0;
    }
    argv[0] = argc > 1 && !strcmp(argv[1], "serve") ? paddock : mcpath;
    bool ok = take_calls(&argc, argv, &calls, &err);
    int status = ok ? run_calls(argv, &calls) : cli_fail(NAME, 2, &err);
    free_calls(&calls);
    return status;
}
