#include "base/log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum log_level least = LOG_WARN;
static const char *program = "paddock";

void log_init(const char *name)
{
    static const char *const names[] = { "debug", "info", "warn", "error" };
    program = name;
    const char *want = getenv("PADDOCK_LOG");
    for (size_t i = 0; want && i < ARRAY_LEN(names); i++)
        if (!strcmp(want, names[i]))
            least = (enum log_level)i;
}

void log_line(enum log_level level, const char *fmt, ...)
{
    if (level < least)
        return;
    char line[1024];
    int n = snprintf(line, sizeof(line), "%s: ", program);
    va_list ap;
    va_start(ap, fmt);
    n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, ap);
    va_end(ap);
    size_t len = (size_t)n < sizeof(line) - 1 ? (size_t)n : sizeof(line) - 2;
    line[len++] = '\n';
    /* Whoever has our stderr may not read it; losing a line is better than waiting. */
    struct pollfd room = { .fd = STDERR_FILENO, .events = POLLOUT };
    if (poll(&room, 1, 0) != 1)
        return;
    ssize_t unused UNUSED = write(STDERR_FILENO, line, len);
}
