#include "launching.h"

#include "base/arena.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

char *scene_path(const struct scene *s, const char *name)
{
    static char paths[64][256];
    static unsigned next;
    char *path = paths[next++ % ARRAY_LEN(paths)];
    snprintf(path, sizeof(paths[0]), "%s/%s", s->folder, name);
    return path;
}

void scene_rule(struct scene *s, enum view_rule rule, const char *name)
{
    assert_true(s->rule_count < MAX_RULES);
    s->rules[s->rule_count++] = (struct view_path){ rule, strdup(scene_path(s, name)) };
    s->spec.path_count = s->rule_count;
}

void scene_write(const struct scene *s, const char *name, const char *text)
{
    FILE *file = fopen(scene_path(s, name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

bool scene_has(const struct scene *s, const char *name)
{
    struct stat st;
    return !lstat(scene_path(s, name), &st);
}

void scene_begin(struct scene *s)
{
    *s = (struct scene){ .folder = "/tmp/paddock-launch-XXXXXX" };
    assert_non_null(mkdtemp(s->folder));
    snprintf(s->ws, sizeof(s->ws), "%s/ws", s->folder);
    snprintf(s->outside, sizeof(s->outside), "%s/outside", s->folder);
    assert_int_equal(mkdir(s->ws, 0755) | mkdir(s->outside, 0755), 0);
    assert_int_equal(uv_loop_init(&s->loop), 0);
    s->env[0] = "PATH=/usr/local/bin:/usr/bin:/bin";
    s->env[1] = "LC_ALL=C.UTF-8";
    s->spec = (struct command_spec){ .launcher = getenv("PADDOCK_LAUNCH"),
        .env = s->env,
        .cwd = s->ws,
        .sandboxed = true,
        .paths = s->rules,
        .timeout_ms = 30000,
        .keep_bytes = 65536,
        .keep_tail_bytes = 1024 };
    assert_non_null(s->spec.launcher);
    scene_rule(s, VIEW_WRITABLE, "ws");
}

void scene_end(struct scene *s)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", s->folder);
    uv_run(&s->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&s->loop), 0);
    for (size_t i = 0; i < s->rule_count; i++) {
        union {
            const char *in;
            char *out;
        } path = { s->rules[i].path };
        free(path.out);
    }
    assert_int_equal(system(command), 0);
}

static char *copy(struct str s)
{
    char *text = xmalloc(s.len + 1);
    memcpy(text, s.data, s.len);
    text[s.len] = '\0';
    return text;
}

static char *describe_strays(const struct command_result *r)
{
    auto_buf text = BUF(65536);
    for (size_t i = 0; i < r->stray_count; i++)
        buf_addf(&text, "%.*s -> %.*s%s\n", STR_ARG(r->strays[i].path),
                STR_ARG(r->strays[i].moved_to), r->strays[i].is_left ? "!" : "");
    return copy(buf_str(&text));
}

static void on_done(void *user, const struct command_result *r)
{
    struct outcome *o = user;
    *o = (struct outcome){ .end = r->end,
        .status = r->status,
        .error = r->error,
        .out = copy(r->out.head),
        .err = copy(r->err.head),
        .out_len = r->out.head.len,
        .err_len = r->err.head.len,
        .out_dropped = r->out.dropped,
        .err_dropped = r->err.dropped,
        .out_tail = { copy(r->out.tail), r->out.tail.len },
        .left_running = r->left_running,
        .duration_ms = r->duration_ms,
        .confinement = copy(r->confinement),
        .strays = describe_strays(r),
        .is_done = true };
}

void outcome_finish(struct outcome *o)
{
    union {
        const char *in;
        char *out;
    } tail = { o->out_tail.data };
    free(o->out);
    free(o->err);
    free(o->confinement);
    free(o->strays);
    free(tail.out);
}

struct command *scene_start(
        struct scene *s, const char *const *argv, struct outcome *o, struct error *err)
{
    struct command *c = NULL;
    *o = (struct outcome){ .is_done = false };
    s->spec.argv = argv;
    s->spec.program = argv[0];
    return command_start(&s->loop, &s->spec, on_done, o, &c, err) ? c : NULL;
}

void scene_wait(struct scene *s, struct outcome *o)
{
    while (!o->is_done && uv_run(&s->loop, UV_RUN_ONCE))
        ;
    assert_true(o->is_done);
    uv_run(&s->loop, UV_RUN_DEFAULT); /* its handles close */
}

void scene_run(struct scene *s, const char *const *argv, struct outcome *o)
{
    struct error err = { 0 };
    if (!scene_start(s, argv, o, &err))
        fail_msg("%s", err.message);
    scene_wait(s, o);
}

void scene_shell(struct scene *s, const char *script, struct outcome *o)
{
    const char *const argv[] = { "/bin/sh", "-c", script, NULL };
    scene_run(s, argv, o);
}

void expect_exit(const struct outcome *o, int code, const char *out, const char *err)
{
    if (o->end != COMMAND_EXITED)
        fail_msg("end %d: %s", o->end, o->error.message);
    if (out)
        assert_string_equal(o->out, out);
    if (err)
        assert_string_equal(o->err, err);
    assert_true(WIFEXITED(o->status));
    assert_int_equal(WEXITSTATUS(o->status), code);
}
