/*
 * test-worker.c - a worker that misbehaves on demand, for tests of the server.
 *
 * It speaks the wire like the real one.  Built as a program named paddock-worker in a
 * folder of its own; a test that wants the whole server copies the two side by side.
 * What `run` does is decided by its command:
 *   echo TEXT, pid, env, fds   answer with that
 *   notes JSON                 answer with that as the notes
 *   sleep MS                   answer late; SIGUSR1 ends the sleep
 *   hang                       never answer, whatever is asked
 *   die N, kill N              exit with a status, die of a signal
 *   garbage, twice, big        break the protocol
 *   set TEXT, get              keep a text from call to call; answer with it
 * The text is the state of a shell: `shell.save` answers with it, `shell.load` sets it.
 * Some texts are a behaviour: "no-save" fails to be saved, "die-save" and "hang-save" die
 * and hang then, "slow-save" takes 100 ms; the same with "-load" when they are loaded.
 */
#include "base/json.h"
#include "base/wire.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static volatile sig_atomic_t interrupted;
static char kept[256] = "nothing";

static void on_interrupt(int signal UNUSED)
{
    interrupted = 1;
}

static void reply_noted(bool is_error, struct str text, struct str notes)
{
    struct error err;
    struct wire_message m = { WIRE_REPLY, 3,
        { is_error ? STR("1") : STR("0"), text, notes } };
    if (!wire_send(3, &m, &err))
        _exit(9);
}

static void reply(bool is_error, struct str text)
{
    reply_noted(is_error, text, STR(""));
}

static void send_raw(struct str bytes)
{
    if (write(3, bytes.data, bytes.len) < 0)
        _exit(9);
}

static void reply_big(void)
{
    static const char block[1 << 16];
    send_raw((struct str){ "\xff\xff\xff\x0f\x04\x02", 6 });
    for (int i = 0; i < 4096; i++)
        send_raw((struct str){ block, sizeof(block) });
}

static void sleep_ms(long ms)
{
    struct timespec wait = { ms / 1000, ms % 1000 * 1000000 };
    interrupted = 0;
    nanosleep(&wait, NULL);
    reply(interrupted, interrupted ? STR("interrupted") : STR("slept"));
}

static void reply_env(void)
{
    auto_buf text = BUF(65536);
    for (char **e = environ; *e; e++)
        buf_addf(&text, "%s\n", *e);
    reply(false, buf_str(&text));
}

static void reply_fds(void)
{
    auto_buf text = BUF(65536);
    for (int fd = 0; fd < 1024; fd++) {
        char name[64], target[256];
        snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
        ssize_t len = readlink(name, target, sizeof(target) - 1);
        if (len > 0)
            buf_addf(&text, "%d %.*s\n", fd, (int)len, target);
    }
    reply(false, buf_str(&text));
}

static void die_of(int number)
{
    signal(number, SIG_DFL); /* a sanitizer would exit instead */
    raise(number);
}

static void set_or_get(const char *command)
{
    if (command[0] == 's')
        snprintf(kept, sizeof(kept), "%s", command + 4);
    reply(false, str_of(kept));
}

/* What a text like "die-save" says of this operation. */
static bool behaves(const char *text, const char *how, const char *operation)
{
    size_t len = strlen(how);
    return !strncmp(text, how, len) && !strcmp(text + len, operation);
}

/* False: it fails. */
static bool misbehave(const char *text, const char *operation)
{
    if (behaves(text, "die-", operation))
        _exit(5);
    while (behaves(text, "hang-", operation))
        pause();
    if (behaves(text, "slow-", operation))
        usleep(100000);
    return !behaves(text, "no-", operation);
}

static void save(void)
{
    auto_buf state = BUF(4096);
    buf_addf(&state, "{\"kept\":\"%s\"}", kept);
    if (misbehave(kept, "save"))
        reply(false, buf_str(&state));
    else
        reply(true, STR("a descriptor is open"));
}

static void load(const json_t *state)
{
    const char *text = json_string_value(json_object_get(state, "kept"));
    if (!text || !misbehave(text, "load")) {
        reply(true, STR("that is no state"));
        return;
    }
    snprintf(kept, sizeof(kept), "%s", text);
    reply(false, STR(""));
}

static void run(const char *command)
{
    long n = strchr(command, ' ') ? strtol(strchr(command, ' ') + 1, NULL, 10) : 0;
    auto_buf pid = BUF(64);
    buf_addf(&pid, "%d", getpid());
    if (!strncmp(command, "echo ", 5))
        reply(false, str_of(command + 5));
    else if (!strncmp(command, "set ", 4) || !strcmp(command, "get"))
        set_or_get(command);
    else if (!strncmp(command, "notes ", 6))
        reply_noted(false, STR("noted"), str_of(command + 6));
    else if (!strcmp(command, "pid"))
        reply(false, buf_str(&pid));
    else if (!strcmp(command, "env"))
        reply_env();
    else if (!strcmp(command, "fds"))
        reply_fds();
    else if (!strncmp(command, "sleep ", 6))
        sleep_ms(n);
    else if (!strcmp(command, "hang"))
        for (;;)
            pause();
    else if (!strncmp(command, "die ", 4))
        _exit((int)n);
    else if (!strncmp(command, "kill ", 5))
        die_of((int)n);
    else if (!strcmp(command, "garbage"))
        send_raw(STR("\x01\x00\x00\x00garbage"));
    else if (!strcmp(command, "twice"))
        send_raw(STR("\x0b\0\0\0\x04\x02\x01\0\0\0"
                     "0\0\0\0\0"
                     "\x0b\0\0\0\x04\x02\x01\0\0\0"
                     "0\0\0\0\0"));
    else if (!strcmp(command, "big"))
        reply_big();
    else
        reply(true, STR("unknown command"));
}

int main(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGUSR1, on_interrupt);
    struct wire_reader in;
    struct wire_message m;
    struct error err;
    wire_reader_init(&in, 3);
    if (!wire_receive(&in, &m, &err) || m.kind != WIRE_SETUP)
        return 8;
    if (strstr(m.fields[0].data, "\"test-start-fails\""))
        return 7;
    struct wire_message ready = { WIRE_READY, 1, { STR("{}") } };
    if (!wire_send(3, &ready, &err))
        return 8;
    while (wire_receive(&in, &m, &err)) {
        json_t *args;
        if (m.kind != WIRE_CALL || m.count != 2 || !json_parse(m.fields[1], &args, &err))
            return 8;
        const char *command = json_string_value(json_object_get(args, "command"));
        if (str_is(m.fields[0], "shell.save"))
            save();
        else if (str_is(m.fields[0], "shell.load"))
            load(args);
        else
            run(command ? command : "");
        json_decref(args);
    }
    wire_reader_finish(&in);
    return 0;
}
