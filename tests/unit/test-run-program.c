/* Programs as commands of a shell: their pipes and their end.  Who starts them is this
 * test, which starts whatever it is asked for. */
#include "shell/program.h"
#include "shell/shell.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEMORY ((uint64_t)64 << 20)
#define MOST   20 /* programs at once */

struct child {
    struct program program;
    pid_t pid;
    struct child *next;
};

struct starter {
    struct programs programs;
    struct child *children;
    char asked[256];                 /* the last arguments and variables */
    unsigned asks;                   /* what would be started, and was not */
    unsigned started, running, most; /* in all; now; at once */
};

struct session {
    struct starter starter;
    struct vfs *vfs;
    struct shell *sh;
    struct buf out, err;
};

static void set_state(struct starter *s, struct program *p, enum program_state state)
{
    p->state = state;
    p->is_answered = true;
    p->has_ended = state != PROGRAM_RUNS;
    if (state == PROGRAM_RUNS && ++s->running > s->most)
        s->most = s->running;
}

static void exec_child(const struct program_request *r)
{
    for (int i = 0; i < 3; i++)
        dup2(r->streams[i], i);
    closefrom(3);
    signal(SIGPIPE, SIG_DFL);
    execvp(r->argv[0], r->argv);
    _exit(99);
}

static void start_child(
        struct starter *s, struct child *c, const struct program_request *r)
{
    c->pid = fork();
    if (!c->pid)
        exec_child(r);
    int pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
    struct epoll_event event = { .events = EPOLLIN, .data.fd = pidfd };
    assert_true(pidfd >= 0);
    assert_int_equal(epoll_ctl(s->programs.fd, EPOLL_CTL_ADD, pidfd, &event), 0);
    s->started++;
    set_state(s, &c->program, PROGRAM_RUNS);
}

static void note(struct starter *s, const struct program_request *r)
{
    struct buf text = BUF(sizeof(s->asked) - 1);
    for (int i = 0; i < r->argc; i++)
        buf_addf(&text, "%s%s", i ? " " : "", r->argv[i]);
    buf_addf(&text, " in %.*s", STR_ARG(r->cwd));
    for (size_t i = 0; i < r->env_count; i++)
        buf_addf(&text, " %s", r->env[i]);
    snprintf(s->asked, sizeof(s->asked), "%s", text.data);
    buf_finish(&text);
}

static int start(
        struct programs *programs, const struct program_request *r, struct program **out)
{
    struct starter *s = (struct starter *)programs;
    if (!strcmp(r->argv[0], "too-long"))
        return E2BIG;
    struct child *c = xcalloc(1, sizeof(*c));
    c->next = s->children;
    s->children = c;
    *out = &c->program;
    note(s, r);
    if (!strcmp(r->argv[0], "refused")) {
        c->program.text = xstrdup("it is refused");
        set_state(s, &c->program, PROGRAM_REFUSED);
    } else if (!strncmp(r->argv[0], "un", 2) || strchr(r->argv[0], '/')) {
        set_state(s, &c->program, PROGRAM_UNKNOWN);
    } else if (s->running >= MOST) {
        c->program.error = EAGAIN;
        set_state(s, &c->program, PROGRAM_FAILED);
    } else {
        start_child(s, c, r);
    }
    return 0;
}

/* The same decision, and nothing more. */
static int ask(
        struct programs *programs, const struct program_request *r, struct program **out)
{
    struct starter *s = (struct starter *)programs;
    struct child *c = xcalloc(1, sizeof(*c));
    c->next = s->children;
    s->children = c;
    *out = &c->program;
    s->asks++;
    note(s, r);
    if (!strcmp(r->argv[0], "refused")) {
        c->program.text = xstrdup("it is refused");
        set_state(s, &c->program, PROGRAM_REFUSED);
    } else {
        bool unknown = !strncmp(r->argv[0], "un", 2) || strchr(r->argv[0], '/');
        set_state(s, &c->program, unknown ? PROGRAM_UNKNOWN : PROGRAM_ALLOWED);
    }
    return 0;
}

static void reap(struct starter *s, struct child *c)
{
    if (c->program.state != PROGRAM_RUNS ||
            waitpid(c->pid, &c->program.status, WNOHANG) != c->pid)
        return;
    struct epoll_event event;
    if (epoll_wait(s->programs.fd, &event, 1, 0) == 1)
        close(event.data.fd);
    set_state(s, &c->program, PROGRAM_ENDED);
    c->program.notes = xstrdup("");
    s->running--;
}

static void take(struct programs *programs)
{
    struct starter *s = (struct starter *)programs;
    for (struct child *c = s->children; c; c = c->next)
        reap(s, c);
}

static void send_signal(
        struct programs *programs UNUSED, struct program *program, int number)
{
    kill(((struct child *)program)->pid, number);
}

static void forget(struct programs *programs, struct program *program)
{
    struct starter *s = (struct starter *)programs;
    struct child **at = &s->children;
    while (&(*at)->program != program)
        at = &(*at)->next;
    struct child *c = *at;
    *at = c->next;
    while (!program->has_ended) { /* it was killed, and the machine is busy */
        usleep(1000);
        reap(s, c);
    }
    free(program->text);
    free(program->notes);
    free(c);
}

static const struct program_ops ops = { start, ask, take, send_signal, forget };

static void begin(struct session *s)
{
    static const struct vfs_options options = { .umask = 022 };
    static const char *const env[] = { "FIRST=1", NULL };
    *s = (struct session){ .out = BUF(MEMORY), .err = BUF(1 << 20) };
    signal(SIGPIPE, SIG_IGN);
    s->starter.programs = (struct programs){ .ops = &ops,
        .fd = epoll_create1(EPOLL_CLOEXEC),
        .null = open("/dev/null", O_RDWR | O_CLOEXEC),
        .root = STR("/ws") };
    s->vfs = vfs_create(&options);
    assert_int_equal(vfs_mount_memory(s->vfs, VPATH_ROOT, MEMORY), 0);
    const struct shell_options shell = { .vfs = s->vfs,
        .name = "paddock",
        .cwd = VPATH_ROOT,
        .env = env,
        .programs = &s->starter.programs };
    s->sh = shell_create(&shell);
}

static void end(struct session *s)
{
    assert_null(s->starter.children);
    shell_destroy(s->sh);
    vfs_destroy(s->vfs);
    buf_finish(&s->out);
    buf_finish(&s->err);
    close_fd(&s->starter.programs.fd);
    close_fd(&s->starter.programs.null);
}

static int run_with(struct session *s, const char *text, volatile sig_atomic_t *alarm)
{
    bool exited;
    buf_clear(&s->out);
    buf_clear(&s->err);
    struct stream *in = stream_null();
    struct stream *out = stream_buffer(&s->out), *err = stream_buffer(&s->err);
    int status =
            shell_run(s->sh, str_of(text), &SHELL_LIMITS, alarm, in, out, err, &exited);
    stream_unref(in);
    stream_unref(out);
    stream_unref(err);
    return status;
}

static void expect(struct session *s, const char *text, int status, const char *out)
{
    int got = run_with(s, text, NULL);
    if (got != status || strcmp(buf_str(&s->out).len ? s->out.data : "", out) != 0)
        print_message("%s: %d: %s%s\n", text, got, s->out.data, s->err.data);
    assert_int_equal(got, status);
    assert_string_equal(s->out.len ? s->out.data : "", out);
}

static const struct {
    const char *text;
    int status;
    const char *out;
} cases[] = {
    { "echo x | command -p cat", 0, "x\n" },
    { "command -p cat", 0, "" },
    { "command -p cat <&-", 0, "" },
    { "command -p sh -c 'exit 7'", 7, "" },
    { "command -p sh -c 'kill -TERM $$'", 143, "" },
    { "command -p sh -c 'echo 1; echo 2 >&2; echo 3' 2>&1 | cat", 0, "1\n2\n3\n" },
    { "command -p sh -c 'echo 1; echo 2 >&2' 2>e >o; cat e o", 0, "2\n1\n" },
    { "yes | command -p head -n 1; echo ${PIPESTATUS[@]}", 0, "y\n141 0\n" },
    { "command -p yes | head -n 1; echo ${PIPESTATUS[@]}", 0, "y\n141 0\n" },
    { "yes | command -p true; echo ${PIPESTATUS[@]}", 0, "141 0\n" },
    { "seq 300000 | command -p cat | command -p cat | cksum; seq 300000 | cksum", 0,
            "2732413854 1988895\n2732413854 1988895\n" },
    { "seq 200000 >big; command -p tr 0 1 <big >copy; wc -c <copy", 0, "1288895\n" },
    { "seq 9 | while read a; do command -p true; echo $a; done | tail -n 1", 0, "9\n" },
    { "seq 3 >f; { read a; command -p true; read b; cat; } <f; echo $a$b", 0, "3\n12\n" },
    { "seq 3 >f; { command -p sh -c 'read a'; cat; } <f", 0, "2\n3\n" },
    { "{ command -p sh -c 'read a'; cat; } <<<$'1\\n2\\n3'", 0, "2\n3\n" },
    { "{ command -p true; grep -c .; } < <(seq 50000)", 0, "50000\n" },
    { "{ command -p true; tail -n 1; } < big", 0, "200000\n" },
    { "x=$(command -p echo hi); echo \"<$x>\"", 0, "<hi>\n" },
    { "for i in 1 2 3 4 5 6 7 8 9; do command -p sleep 0.01 & done; wait; echo done", 0,
            "done\n" },
    { "command -p true 3>f | command -p true | command -p true; echo $?", 0, "0\n" },
    { "timeout 0.1 command -p sleep 100", 124, "" },
    { "yes | timeout 0.1 command -p cat >/dev/null; echo ${PIPESTATUS[@]}", 0,
            "141 124\n" },
    { "timeout 0.1 command -p sh -c 'trap : TERM; while :; do sleep 0.1; done'", 124,
            "" },
    { "command -p sleep 100 & kill %1; wait %1", 143, "" },
    { "refused a; echo $?", 0, "126\n" },
    { "r=refused; $(echo $r) | cat; echo ${PIPESTATUS[@]}", 0, "126 0\n" },
    { "unheard-of; echo $?", 0, "127\n" },
    { "too-long; echo $?", 0, "126\n" },
};

static void test_cases(void **state UNUSED)
{
    struct session s;
    begin(&s);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        expect(&s, cases[i].text, cases[i].status, cases[i].out);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left */
    end(&s);
}

/* Refused with all of its pipeline: nothing is started, no file is made, none changed. */
static const char *const refused_early[] = {
    "refused | cat >made",
    "echo x >made | refused",
    "echo x | tee made | refused | command -p tee made",
    "command -p sh -c 'echo x' | refused a b",
    "refused >made",
    "refused >>made 2>&1",
    "refused &>made",
    "refused <>made",
    "(refused) >made",
    "{ refused; } >>made 2>&1",
    "for i in 1 2; do refused; done >made",
    "A=1 refused 'a b' \"c\"d >made",
    "refused \"$(echo x)\" >made",
    "refused |& tee made",
    "(refused a) | tee made",
    "{ refused a; } | tee made",
    "{ refused a && echo x; } | tee made",
    "( ( refused ) ) | tee made",
    "for i in 1 2; do refused; done | tee made",
    "for i in 1; do for j in 2; do refused a; done; done | tee made",
    "command refused | tee made",
    "command -p refused | tee made",
    "exec refused | tee made",
    "timeout 5 refused | tee made",
    "timeout -k 1 5 env A=1 command refused x | tee made",
    "env A=1 B=2 refused | tee made",
    "nice -n 5 refused | tee made",
    "nohup refused a | tee made",
    "setsid -w refused | tee made",
    "stdbuf -oL timeout 5 nice refused | tee made",
    "x=refused; $x a | tee made",
    "x='a b'; refused \"$x\" $x \"${x}c\" | tee made",
    "a=(refused 1 2); \"${a[@]}\" | tee made",
    "set -- 1 2; refused \"$@\" $# | tee made",
    "/usr/bin/refused | tee made",
    "f() { refused | tee made; }; f",
    "true && refused | tee made",
    "x=$(refused | tee made)",
    "true | { refused | tee made; }; (exit ${PIPESTATUS[1]})",
    "eval 'refused | tee made'",
    "trap 'refused | tee made' EXIT; exit 126",
    "refused | tee made & wait $!",
};

static void test_refused_early(void **state UNUSED)
{
    struct session s;
    begin(&s);
    for (size_t i = 0; i < ARRAY_LEN(refused_early); i++) {
        int status = run_with(&s, refused_early[i], NULL);
        if (status != 126 || strcmp(s.err.data, "paddock: it is refused\n") != 0)
            fail_msg("%s: %d: %s", refused_early[i], status, s.err.data);
        expect(&s, "test ! -e made; echo $?; trap - EXIT", 0, "0\n");
        assert_int_equal(s.starter.started, 0);
    }
    end(&s);
}

/* What only run time tells, and what a script is prepared for, goes on as in any shell.
 */
static const struct {
    const char *text;
    int status;
    const char *out;
} not_early[] = {
    { "refused || echo no", 0, "no\n" },
    { "refused | cat || echo no", 0, "no\n" },
    { "! refused | cat", 0, "" },
    { "if refused | cat; then echo yes; else echo $?; fi", 0, "126\n" },
    { "refused | cat; echo ${PIPESTATUS[@]} $?", 0, "126 126 126\n" },
    { "echo x >f; refused; cat f", 0, "x\n" },
    { "echo x >f; refused | cat; cat f", 0, "x\n" },
    { "{ refused || echo no; } | cat", 0, "no\n" },
    { "{ refused; echo $?; } | cat", 0, "126\n" },
    { "{ ! refused; } | cat; echo ${PIPESTATUS[0]}", 0, "0\n" },
    { "if refused; then :; else echo no; fi | cat", 0, "no\n" },
    { "until refused; do break; done | cat", 0, "" },
    { "{ echo a; refused; } | cat", 0, "a\n" },
    { "(true && refused) | cat; echo ${PIPESTATUS[@]}", 0, "126 0\n" },
    { "for i in; do refused; done | cat", 0, "" },
    { "for refused in true; do $refused; done | cat", 0, "" },
    { "x=true; for x in true; do $x a; done | cat", 0, "" },
    { "refused() { echo own; }; refused | cat; unset -f refused", 0, "own\n" },
    { "refused() { echo own; }; refused >f; timeout 1 refused | cat f -; unset -f "
      "refused",
            0, "own\nown\n" },
    { "command -v refused | cat; echo ${PIPESTATUS[@]}", 0, "1 0\n" },
    { "echo 1 2 | xargs refused | cat; echo ${PIPESTATUS[@]}", 0, "0 126 0\n" },
    { "{ refused || echo on; } >f; cat f", 0, "on\n" },
    { "(refused) 2>/dev/null; echo $?", 0, "126\n" },
    { "if refused; then :; else echo no; fi >f; cat f", 0, "no\n" },
    { "refused $(echo made >f) | cat; cat f", 0, "made\n" },
    { "refused \"${x:=a}\" | cat; echo \"$x\"", 0, "\n" },
    { "refused 2>/dev/null | cat; refused >/dev/null; echo $?", 0, "126\n" },
    { "unheard-of | cat; echo ${PIPESTATUS[@]}", 0, "127 0\n" },
    { "unheard-of >f; echo $?; test -e f && echo f", 0, "127\nf\n" },
    { "set -u; refused $nope | cat; echo ${PIPESTATUS[@]}", 0, "1 0\n" },
    { "set -n; refused | cat", 0, "" },
    { "set -e; refused | cat; echo no", 126, "" },
    { "cat <(refused | cat) - <<<a", 0, "a\n" },
    { "echo r | while read -r x; do ${x}efused; done; echo $?", 0, "126\n" },
    { "command -p echo a | command -p cat >f; cat f", 0, "a\n" },
};

static void test_not_early(void **state UNUSED)
{
    struct session aliased;
    begin(&aliased);
    expect(&aliased, "shopt -s expand_aliases; alias refused=echo", 0, "");
    expect(&aliased, "refused a | cat", 0, "a\n");
    end(&aliased);
    for (size_t i = 0; i < ARRAY_LEN(not_early); i++) {
        struct session s;
        begin(&s);
        expect(&s, not_early[i].text, not_early[i].status, not_early[i].out);
        end(&s);
    }
}

/* Where there is nothing to come before, there is nothing to ask. */
static void test_not_asked(void **state UNUSED)
{
    static const char *const scripts[] = {
        "command -p true; command -p true 2>&1; command -p true </dev/null >/dev/null",
        "echo x | cat | tail -1 >f",
        "refused; refused 2>&1; refused a $(echo b)",
        "echo a | xargs -n1 echo",
        "f() { :; }; f | f >f",
    };
    struct session s;
    begin(&s);
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++)
        run_with(&s, scripts[i], NULL);
    assert_int_equal(s.starter.asks, 0);
    end(&s);
}

/* What is asked for: expanded words, the folder, the variables that the script set. */
static void test_requests(void **state UNUSED)
{
    static const struct {
        const char *text, *asked;
    } asked[] = {
        { "x='a b'; refused \"$x\" *", "refused a b d ws in /" },
        { "cd d; refused; cd ..", "refused in /d" },
        { "A=1 refused", "refused in / A=1" },
        { "export FIRST=1 B=2; refused; unset B", "refused in / B=2" },
        { "FIRST=3 refused", "refused in / FIRST=3" },
        { "declare -ax list=(1 2); refused", "refused in /" },
        { "env C=4 refused", "refused in / C=4" },
        { "xargs refused x <<<'1 2'", "refused x 1 2 in /" },
        { "find d -exec refused {} \\;", "refused d in /" },
        { "command -p unls", "unls in /" },
        { "printf '#!/usr/bin/env refused\\n' >s; chmod +x s; ./s a",
                "refused ./s a in /" },
        { "/usr/bin/refused", "refused in /" },
        { "x='a b'; refused \"$x\" $x | cat", "refused a b a b in /" },
        { "FIRST=3 refused | cat", "refused in / FIRST=3" },
        { "export B=1; B=2 refused | env B=3 cat; unset B", "refused in / B=2" },
        { "env -- B=2 refused | cat", "refused in / B=2" },
        { "A=1 env A=2 B=3 refused | cat", "refused in / A=2 B=3" },
        { "/usr/bin/refused | cat", "refused in /" },
        { "cd ws; ./sub/unknown; cd ..", "sub/unknown in /ws" },
        { "/ws/sub/unknown", "sub/unknown in /" },
        { "ws/unknown", "unknown in /" },
        { "mkdir -p ws/sub; cd ws/sub; ../unknown; cd /", "unknown in /ws/sub" },
        { "ws/sub/../sub/./unknown", "sub/unknown in /" },
        { "mkdir -p ws/sub; ln -s sub ws/link; ws/link/unknown; ws/link/../unknown",
                "unknown in /" },
        { "ln -s ws/sub away; cd away; ../unknown; cd /", "unknown in /away" },
        { "ln -s / ws/out; ws/out/unknown", "/unknown in /" },
        { "printf '#!/usr/bin/env -S refused -a b\n' >s; chmod +x s; ./s c",
                "refused -a b ./s c in /" },
        { "printf '#!/usr/bin/refused -a b\n' >s; ./s c", "refused -a b ./s c in /" },
        { "printf '#!ws/sub/un\n' >s; ./s", "un ./s in /" },
    };
    struct session s;
    begin(&s);
    expect(&s, "mkdir d ws", 0, "");
    for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
        run_with(&s, asked[i].text, NULL);
        assert_string_equal(s.starter.asked, asked[i].asked);
    }
    assert_int_equal(s.starter.started, 0);
    end(&s);
}

static volatile sig_atomic_t flag;

static void on_alarm(int number UNUSED)
{
    flag = BUDGET_TIME;
}

static int add_to(void *user, struct str data)
{
    buf_add(user, data);
    return 0;
}

/* What is read by somebody who has no terminal; what is data stays as it is. */
static void test_shown(void **state UNUSED)
{
    static const struct {
        const char *text, *shown;
    } runs[] = {
        { "command -p printf '\\033[31mred\\033[0m\\n'", "red\n" },
        { "command -p printf '1%%\\r2%%\\r3%%\\ndone'", "3%\ndone" },
        { "command -p sh -c 'for i in 1 2 3; do printf \"\\r$i\"; sleep 0.02; done; "
          "echo'",
                "3\n" },
        { "command -p sh -c 'printf \"\\033[3\"; sleep 0.05; printf \"1mred\"'", "red" },
        { "command -p sh -c 'printf \"\\033[1mo\\n\"; printf \"\\033[1me\\n\" >&2'",
                "o\ne\n" },
        { "command -p printf 'a\\r\\nb\\377\\n'", "a\nb\xef\xbf\xbd\n" },
        { "command -p printf '\\033[1mx' | cat -v; echo", "^[[1mx\n" },
        { "command -p printf '\\033[1mx\\r\\n' >f; cat -v f", "^[[1mx^M\n" },
        { "x=$(command -p printf '\\033[1mx'); echo ${#x}", "5\n" },
        { "printf 'a\\rb\\n'", "a\rb\n" }, /* no program */
        { "command -p sh -c 'yes 123456789 | head -n 100000 | tr \"\\n\" \"\\r\"; echo'",
                "123456789\n" },
        { "command -p printf 'no newline'; echo; echo next", "no newline\nnext\n" },
    };
    struct session s;
    begin(&s);
    for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
        bool exited;
        buf_clear(&s.out);
        struct stream *in = stream_null(), *out = stream_screen(add_to, &s.out);
        shell_run(s.sh, str_of(runs[i].text), &SHELL_LIMITS, NULL, in, out, out, &exited);
        stream_unref(in);
        stream_unref(out);
        assert_string_equal(s.out.data, runs[i].shown);
    }
    end(&s);
}

/* A line that has no end is shown all the same, with every character of it. */
static void test_long_line(void **state UNUSED)
{
    struct session s;
    bool exited;
    begin(&s);
    struct stream *in = stream_null(), *out = stream_screen(add_to, &s.out);
    const char *text =
            "command -p sh -c \"yes x\u20ac\u20ac | head -n 300000 | tr -d '\\\\n'\"";
    shell_run(s.sh, str_of(text), &SHELL_LIMITS, NULL, in, out, out, &exited);
    stream_unref(in);
    stream_unref(out);
    assert_int_equal(s.out.len % 300000, 0);
    assert_null(memmem(s.out.data, s.out.len, "\xef\xbf\xbd", 3));
    end(&s);
}

/* More jobs than may have programs at once: in their order, and none waits for ever,
 * whatever waits for what in a job. */
static void test_turns(void **state UNUSED)
{
    static const struct {
        const char *text, *out;
    } runs[] = {
        { "for i in {1..40}; do command -p true & done; wait; echo end", "end\n" },
        { "for i in {1..40}; do command -p sleep 0.01; done & wait; echo end", "end\n" },
        { "for i in {1..18}; do command -p cat <<<$i & done | sort -n | tail -n 1",
                "18\n" },
        { "for i in {1..40}; do { for k in 1 2; do command -p true & done; wait; } & "
          "done; "
          "wait; echo end",
                "end\n" },
        { "for i in {1..30}; do command -p true & (kill $!); done; wait; echo end",
                "end\n" },
        { "for i in {1..20}; do timeout 0.01 command -p sleep 9 & done; wait; echo end",
                "end\n" },
        { "for i in {1..20}; do echo $i & done | sort -n | tail -n 1", "20\n" },
    };
    struct session s;
    begin(&s);
    for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
        s.starter.most = 0;
        expect(&s, runs[i].text, 0, runs[i].out);
        assert_in_range(s.starter.most, 0, MOST);
    }
    end(&s);
}

/* One pipeline is not told to wait for itself: what is too much is said. */
static void test_too_many(void **state UNUSED)
{
    struct session s;
    struct buf text = BUF(4096);
    begin(&s);
    buf_add(&text, STR("echo x"));
    for (int i = 0; i < MOST; i++)
        buf_add(&text, STR(" | command -p cat"));
    expect(&s, text.data, 0, "x\n");
    buf_add(&text, STR(" | command -p cat; echo ${PIPESTATUS[@]}"));
    run_with(&s, text.data, NULL);
    assert_non_null(strstr(s.out.data, "126"));
    assert_string_equal(s.err.data, "paddock: cat: Resource temporarily unavailable\n");
    buf_finish(&text);
    end(&s);
}

/* The time of a call is up: all of it ends, and soon. */
static void test_time(void **state UNUSED)
{
    static const char *const scripts[] = {
        "command -p sleep 100",
        "command -p sleep 100 | command -p sleep 100 | command -p cat",
        "yes | command -p cat | command -p sleep 100",
        "command -p sh -c 'trap \"\" TERM; exec sleep 100'",
        "while :; do command -p true; done",
        "command -p sleep 100 & wait",
    };
    const struct sigaction action = { .sa_handler = on_alarm };
    struct session s;
    begin(&s);
    sigaction(SIGALRM, &action, NULL);
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
        flag = 0;
        ualarm(200000, 0);
        assert_int_equal(run_with(&s, scripts[i], &flag), 124);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    }
    expect(&s, "echo again | command -p cat", 0, "again\n");
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_refused_early),
        cmocka_unit_test(test_not_early),
        cmocka_unit_test(test_not_asked),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_shown),
        cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
