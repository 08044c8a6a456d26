/*
 * paddock call: starts this same program as `mcpath`, and is its client for one call.
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
        "usage: paddock call [--json] [MCPATH OPTION]... [ROOT] TOOL JSON\n"
        "Start `mcpath` with these options and this ROOT, call TOOL once with the\n"
        "arguments JSON over the protocol, and print the text of the result, or with\n"
        "--json the whole result. The status is 1 if the tool or the call failed.\n"
        "\n"
        "  paddock call . run '{\"command\": \"ls | wc -l\"}'\n";

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

static bool converse(struct server *s, const char *tool, json_t *args, json_t **result,
        struct error *err)
{
    json_auto_t *welcome = NULL;
    if (!send_message(s, request(1, "initialize", hello()), err) ||
            !receive_result(s, 1, &welcome, err) ||
            !send_message(s, notification("notifications/initialized"), err))
        return false;
    json_t *call = json_pack("{s:s, s:O}", "name", tool, "arguments", args);
    return send_message(s, request(2, "tools/call", call), err) &&
           receive_result(s, 2, result, err);
}

static void print_result(const json_t *result, bool as_json)
{
    auto_buf text = BUF(MAX_REPLY);
    const json_t *content = json_object_get(result, "content");
    if (as_json)
        json_write(result, &text);
    for (size_t i = 0; !as_json && i < json_array_size(content); i++)
        buf_add(&text, json_str(json_object_get(json_array_get(content, i), "text")));
    if (text.len && text.data[text.len - 1] != '\n')
        buf_addc(&text, '\n');
    cli_print(buf_str(&text));
}

static int call(char **argv, const char *tool, json_t *args, bool as_json)
{
    struct error err = { 0 };
    struct server server = { .to = -1, .from = -1, .in = BUF(MAX_REPLY) };
    json_auto_t *result = NULL;
    signal(SIGPIPE, SIG_IGN);
    bool good = start_server(argv, &server, &err) &&
                converse(&server, tool, args, &result, &err);
    stop_server(&server);
    if (!good)
        return cli_fail(NAME, 1, &err);
    print_result(result, as_json);
    return json_is_true(json_object_get(result, "isError")) ? 1 : 0;
}

/* What is not ours is for mcpath, as it stands; `argv` becomes its command line. */
static int take_own_options(int argc, char **argv, bool *as_json, bool *help)
{
    int count = 1;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--json"))
            *as_json = true;
        else if (!strcmp(argv[i], "--help"))
            *help = true;
        else
            argv[count++] = argv[i];
    }
    return count;
}

int cli_call(int argc, char **argv)
{
    char face[] = "mcpath"; /* what the program is called with decides what it is */
    bool as_json = false, help = false;
    struct error err = { 0 };
    json_auto_t *args = NULL;
    argc = take_own_options(argc, argv, &as_json, &help);
    if (help) {
        cli_print(str_of(usage));
        return 0;
    }
    if (argc < 3) {
        error_set(&err, ERR_INVALID, "TOOL and JSON are missing; see %s --help", NAME);
        return cli_fail(NAME, 2, &err);
    }
    const char *tool = argv[argc - 2];
    if (!json_parse(str_of(argv[argc - 1]), &args, &err)) {
        error_context(&err, "the arguments of the call");
        return cli_fail(NAME, 2, &err);
    }
    argv[0] = face;
    argv[argc - 2] = NULL;
    return call(argv, tool, args, as_json);
}
