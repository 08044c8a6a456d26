/*
 * `paddock-python --snippet SETUP CODE [ARG]...`: one snippet in this very process, under
 * the same rules but without the kernel's.  For tests of the rules alone; no server
 * starts it.
 */
#include "python/embed.h"
#include "python/main.h"
#include "python/run.h"
#include "python/zygote.h"

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_SETUP ((size_t)64 << 20)

static void print_outcome(const struct outcome *o)
{
    auto_buf text = BUF((size_t)64 << 20);
    for (size_t i = 0; i < json_array_size(o->images); i++) {
        const json_t *image = json_array_get(o->images, i);
        struct str data = json_get_str(image, "data", STR(""));
        buf_addf(&text, "IMAGE: %.*s %.*s\n",
                STR_ARG(json_get_str(image, "mime", STR(""))), STR_ARG(data));
    }
    if (o->has_result)
        buf_addf(&text, "RESULT: %.*s\n", STR_ARG(buf_str(&o->result)));
    if (o->retry_network)
        buf_addf(&text, "RETRY: network\n");
    buf_addf(&text, "EXIT: %d%s\n", o->exit_code, o->timed_out ? " (timeout)" : "");
    ssize_t n = write(STDOUT_FILENO, text.data, text.len);
    (void)n;
}

static json_t *words(int argc, char **argv)
{
    json_t *list = json_array();
    for (int i = 0; i < argc; i++)
        json_array_append_new(list, json_text(str_of(argv[i])));
    return list;
}

static bool prepare(const char *file, struct arena *arena, struct python_setup *setup,
        struct error *err)
{
    struct str text;
    int error = file_read(file, MAX_SETUP, arena, &text);
    if (error)
        return error_errno(err, error, "'%s'", file);
    if (!python_setup_parse(text, arena, setup, err))
        return false;
    guard.setup = setup;
    guard.arena = arena;
    struct str workspace = path_policy_workspace(setup->paths);
    if (chdir(arena_cstr(arena, workspace)))
        return error_errno(err, errno, "cannot enter '%.*s'", STR_ARG(workspace));
    return embed_start(err);
}

/* Of a test, if it gave us one. */
static int find_broker(void)
{
    int type;
    socklen_t len = sizeof(type);
    bool is_one = !getsockopt(BROKER_FD, SOL_SOCKET, SO_TYPE, &type, &len) &&
                  type == SOCK_SEQPACKET;
    return is_one ? BROKER_FD : -1;
}

int snippet_main(int argc, char **argv)
{
    struct error err = { 0 };
    struct python_setup setup;
    struct outcome outcome;
    auto_arena *arena = arena_create();
    if (argc < 3) {
        fputs("usage: paddock-python --snippet SETUP CODE [ARG]...\n", stderr);
        return 2;
    }
    if (!prepare(argv[1], arena, &setup, &err)) {
        log_line(LOG_ERROR, "%s", err.message);
        return 1;
    }
    json_auto_t *arguments = words(argc - 3, argv + 3);
    const struct snippet snippet = {
        .code = str_of(argv[2]), .argv = arguments, .timeout_ms = 10000
    };
    guard.broker = find_broker();
    guard.armed = HAS_RULES;
    outcome_init(&outcome);
    run_snippet(&snippet, &outcome);
    print_outcome(&outcome);
    outcome_finish(&outcome);
    return 0;
}
