/*
 * A server that does what its arguments say:
 *
 *   fake-mcp [--log FILE] METHOD=ACTION[~ACTION]...
 *
 * An action is a line to send, in which $id is the id that was received and $long 5,000
 * control characters, or one of the words below.  What has no rule is answered well.  The
 * method `start` stands for the time before anything is read, `end` for the end of stdin,
 * and with `M#2=` the second request M is meant.  Each line that was received is appended
 * to FILE.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static char **rules;
static FILE *log_file;

static void put(const char *text, size_t len)
{
    while (len) {
        ssize_t n = write(STDOUT_FILENO, text, len);
        if (n < 0 && errno != EINTR)
            return;
        text += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
}

/* So many bytes or a little less: `what` is always whole. */
static void fill(int fd, long count, const char *what)
{
    static char block[65536];
    size_t len = strlen(what), size = sizeof(block) / len * len;
    for (size_t i = 0; i < size; i++)
        block[i] = what[i % len];
    for (size_t left = (size_t)count / len * len; left;) {
        ssize_t n = write(fd, block, left < size ? left : size);
        if (n < 0)
            return;
        memmove(block, block + n % (ssize_t)len, size - len);
        for (size_t i = size - len; i < size; i++)
            block[i] = block[i - len];
        left -= (size_t)n;
    }
}

static void hang(void)
{
    for (;;)
        pause();
}

/* A process that has left in every way that there is, and does not mean to end. */
static void detach(const char *pid_file)
{
    if (fork())
        return;
    setsid();
    if (fork())
        _exit(0);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    FILE *f = fopen(pid_file, "w");
    fprintf(f, "%d\n", getpid());
    fclose(f);
    hang();
}

static void tell_world(const char *id)
{
    char text[4096];
    int len = snprintf(text, sizeof(text),
            "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\","
            "\"text\":\"env",
            id);
    for (char **v = environ; *v; v++)
        len += snprintf(text + len, sizeof(text) - (size_t)len, " %s", *v);
    len += snprintf(text + len, sizeof(text) - (size_t)len, " fds");
    for (int fd = 0; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            len += snprintf(text + len, sizeof(text) - (size_t)len, " %d", fd);
    len += snprintf(text + len, sizeof(text) - (size_t)len, "\"}]}}\n");
    put(text, (size_t)len);
}

static void send_long(const char *id, long lines)
{
    char head[200];
    int len = snprintf(head, sizeof(head),
            "{\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"", id);
    put(head, (size_t)len);
    fill(STDOUT_FILENO, lines * 14, "line of text\\n");
    put("\"}]}}\n", 6);
}

static void send_line(const char *text, const char *id)
{
    const char *at;
    while ((at = strchr(text, '$'))) {
        put(text, (size_t)(at - text));
        text = at + 1;
        if (!strncmp(text, "id", 2)) {
            put(id, strlen(id));
            text += 2;
        } else if (!strncmp(text, "long", 4)) {
            fill(STDOUT_FILENO, 5000 * 6, "\\u0001");
            text += 4;
        }
    }
    put(text, strlen(text));
    put("\n", 1);
}

static void act(const char *action, const char *id)
{
    long n = 0;
    if (sscanf(action, "exit %ld", &n) == 1)
        _exit((int)n);
    else if (sscanf(action, "lines %ld", &n) == 1)
        send_long(id, n);
    else if (sscanf(action, "sleep %ld", &n) == 1)
        nanosleep(&(struct timespec){ n / 1000, n % 1000 * 1000000 }, NULL);
    else if (sscanf(action, "flood %ld", &n) == 1)
        fill(STDOUT_FILENO, n, "x");
    else if (sscanf(action, "blanks %ld", &n) == 1)
        fill(STDOUT_FILENO, n, "\n");
    else if (sscanf(action, "messages %ld", &n) == 1)
        fill(STDOUT_FILENO, n, "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n");
    else if (sscanf(action, "pings %ld", &n) == 1)
        fill(STDOUT_FILENO, n, "{\"id\":7,\"method\":\"ping\"}\n");
    else if (sscanf(action, "errors %ld", &n) == 1)
        fill(STDERR_FILENO, n, "all is lost\n");
    else if (!strncmp(action, "error ", 6))
        fprintf(stderr, "%s\n", action + 6);
    else if (!strncmp(action, "detach ", 7))
        detach(action + 7);
    else if (!strncmp(action, "raw ", 4))
        put(action + 4, strlen(action + 4));
    else if (!strcmp(action, "kill"))
        raise(SIGKILL);
    else if (!strcmp(action, "hang"))
        hang();
    else if (!strcmp(action, "stay"))
        signal(SIGTERM, SIG_IGN);
    else if (!strcmp(action, "close-out"))
        close(STDOUT_FILENO);
    else if (!strcmp(action, "close-in"))
        close(STDIN_FILENO);
    else if (!strcmp(action, "world"))
        tell_world(id);
    else if (strcmp(action, "nothing") != 0)
        send_line(action, id);
}

/* The rule for the nth request of this method, or NULL. */
static const char *find_rule(const char *method, int nth)
{
    char numbered[80];
    const char *found = NULL;
    snprintf(numbered, sizeof(numbered), "%s#%d", method, nth);
    for (char **r = rules; *r; r++) {
        size_t len = strcspn(*r, "=");
        if (len == strlen(numbered) && !strncmp(*r, numbered, len))
            return *r + len + 1;
        if (len == strlen(method) && !strncmp(*r, method, len))
            found = *r + len + 1;
    }
    return found;
}

static void answer_well(const char *method, const char *id)
{
    char text[512];
    const char *result = "{}";
    if (!strcmp(method, "initialize"))
        result = "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
                 "\"serverInfo\":{\"name\":\"fake\",\"version\":\"1\"}}";
    else if (!strcmp(method, "tools/call"))
        result = "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}";
    else if (!strcmp(method, "tools/list"))
        result = "{\"tools\":[{\"name\":\"one\"},{\"name\":\"two\"}]}";
    if (!*id)
        return;
    snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}", id,
            result);
    send_line(text, id);
}

static void serve(const char *method, const char *id)
{
    static struct {
        char method[64];
        int count;
    } seen[16];
    int i = 0;
    while (i < 15 && seen[i].count && strcmp(seen[i].method, method) != 0)
        i++;
    snprintf(seen[i].method, sizeof(seen[i].method), "%s", method);
    const char *rule = find_rule(method, ++seen[i].count);
    if (!rule) {
        answer_well(method, id);
        return;
    }
    char *actions = strdup(rule), *rest = actions;
    for (char *action; (action = strsep(&rest, "~"));)
        act(action, id);
    free(actions);
}

/* What stands behind `"KEY":` up to a comma, quote or brace; it is our own client that
 * wrote the line. */
static void find_value(const char *line, const char *key, char *out, size_t size)
{
    const char *at = strstr(line, key);
    size_t len = 0;
    if (at) {
        at += strlen(key);
        len = strcspn(at, ",}\"");
    }
    snprintf(out, size, "%.*s", (int)len, at ? at : "");
}

static void receive(const char *line)
{
    char method[64], id[32];
    if (log_file) {
        fputs(line, log_file);
        fflush(log_file);
    }
    find_value(line, "\"method\":\"", method, sizeof(method));
    find_value(line, "\"id\":", id, sizeof(id));
    serve(*method ? method : "answer", id);
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t cap = 0;
    rules = argv + 1;
    setvbuf(stdin, NULL, _IOFBF, 1 << 16);
    if (argc > 2 && !strcmp(argv[1], "--log")) {
        log_file = fopen(argv[2], "a");
        fcntl(fileno(log_file), F_SETFD, FD_CLOEXEC);
        rules += 2;
    }
    if (find_rule("start", 1))
        serve("start", "0");
    while (getline(&line, &cap, stdin) > 0)
        receive(line);
    if (find_rule("end", 1))
        serve("end", "0");
    free(line);
    return 0;
}
