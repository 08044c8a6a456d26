#include "launching.h"

#include "can-mount.h"

#include "base/arena.h"

#include <errno.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static void install(struct sock_filter *code, unsigned short len)
{
    const struct sock_fprog program = { len, code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        _exit(3);
}

/* What a container refuses by default: namespaces and mounts. */
static void refuse_namespaces(void)
{
    static const struct {
        unsigned nr;
        uint32_t flags; /* of the first argument; 0: always */
    } refused[] = { { SYS_unshare, 0 }, { SYS_mount, 0 },
        { SYS_clone, CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET } };
    struct sock_filter code[32];
    unsigned short len = 0;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        code[len++] = (struct sock_filter)BPF_STMT(
                BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
        code[len++] = (struct sock_filter)BPF_JUMP(
                BPF_JMP | BPF_JEQ | BPF_K, refused[i].nr, 0, refused[i].flags ? 3 : 1);
        if (refused[i].flags) {
            code[len++] = (struct sock_filter)BPF_STMT(
                    BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args));
            code[len++] = (struct sock_filter)BPF_JUMP(
                    BPF_JMP | BPF_JSET | BPF_K, refused[i].flags, 0, 1);
        }
        code[len++] =
                (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    }
    code[len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    install(code, len);
}

void take_call_away(unsigned nr)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    install(code, ARRAY_LEN(code));
}

bool has_namespaces(void)
{
    return !getenv("PADDOCK_TEST_POOR");
}

static void become_user(void)
{
    if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
            setresuid(NOBODY, NOBODY, NOBODY))
        _exit(3);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* as after execve() */
}

static int run_as(bool is_user, bool is_poor, int (*tests)(void))
{
    fprintf(stderr, "# as %s%s\n", is_user ? "an ordinary user" : "ourselves",
            is_poor ? ", where namespaces are refused" : "");
    if (!is_poor && !can_mount(is_user ? NOBODY : geteuid()))
        return 0;
    pid_t pid = fork();
    if (!pid) {
        if (is_user)
            become_user();
        if (is_poor) {
            setenv("PADDOCK_TEST_POOR", "1", 1);
            refuse_namespaces();
        }
        _exit(tests() != 0);
    }
    int status;
    return waitpid(pid, &status, 0) != pid || status != 0;
}

/* Where also an ordinary user can make scenes, and start our launcher. */
static void prepare(char *folder, size_t size, const char *base)
{
    char command[512];
    snprintf(
            folder, size, "%s/paddock-launch-XXXXXX", access(base, W_OK) ? "/tmp" : base);
    if (!mkdtemp(folder) || chmod(folder, 01777))
        abort();
    snprintf(command, sizeof(command),
            "for f in \"$PADDOCK_LAUNCH\" \"$PADDOCK_HOSTILE\"; do "
            "[ -z \"$f\" ] || cp \"$f\" '%s'; done",
            folder);
    if (system(command))
        abort();
    setenv("PADDOCK_TEST_FOLDER", folder, 1);
}

int launching_main(const char *base, int (*tests)(void))
{
    char folder[128], command[256];
    int failures = 0;
    prepare(folder, sizeof(folder), base);
    for (int is_poor = 0; is_poor < 2; is_poor++) {
        failures += run_as(false, is_poor, tests);
        if (!geteuid())
            failures += run_as(true, is_poor, tests);
    }
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return failures + (system(command) != 0);
}

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
    *s = (struct scene){ .rule_count = 0 };
    snprintf(s->folder, sizeof(s->folder), "%s/XXXXXX", getenv("PADDOCK_TEST_FOLDER"));
    assert_non_null(mkdtemp(s->folder));
    snprintf(s->ws, sizeof(s->ws), "%s/ws", s->folder);
    snprintf(s->outside, sizeof(s->outside), "%s/outside", s->folder);
    assert_int_equal(mkdir(s->ws, 0755) | mkdir(s->outside, 0755), 0);
    assert_int_equal(uv_loop_init(&s->loop), 0);
    s->env[0] = "PATH=/usr/local/bin:/usr/bin:/bin";
    s->env[1] = "LC_ALL=C.UTF-8";
    snprintf(s->launcher, sizeof(s->launcher), "%s/paddock-launch",
            getenv("PADDOCK_TEST_FOLDER"));
    s->spec = (struct command_spec){ .launcher = s->launcher,
        .env = s->env,
        .cwd = s->ws,
        .sandboxed = true,
        .paths = s->rules,
        .timeout_ms = 30000,
        .keep_bytes = 65536,
        .keep_tail_bytes = 1024 };
    scene_rule(s, VIEW_WRITABLE, "ws");
}

void scene_end(struct scene *s)
{
    char command[256];
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

char *scene_inventory(const struct scene *s)
{
    static char text[8192];
    char command[512];
    snprintf(command, sizeof(command),
            "cd '%s' && find . -path ./ws -prune -o -printf '%%p %%m %%s %%T@ %%U\\n' | "
            "sort; "
            "find ws ! -type d -printf '%%p %%m %%s %%T@ %%U\\n' | sort; "
            "find ws/.git ws/deep/scripts ws/secret -printf '%%p %%m %%T@\\n'; "
            "find . -type f -exec cksum {} + | sort",
            s->folder);
    FILE *pipe = popen(command, "r");
    size_t len = fread(text, 1, sizeof(text) - 1, pipe);
    assert_int_equal(pclose(pipe), 0);
    text[len] = '\0';
    return strdup(text);
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

void expect_shell(
        struct scene *s, const char *script, int code, const char *out, const char *err)
{
    struct outcome o;
    scene_shell(s, script, &o);
    expect_exit(&o, code, out, err);
    outcome_finish(&o);
}
