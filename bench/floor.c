/*
 * floor.c - the least that any stdio server must do: read a line, write canned bytes.
 *
 * What the benchmark measures of it is the harness: process start, pipes, the client.  A
 * real server is read against it.  No parser, no state, no care.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *body_for(const char *line)
{
    if (strstr(line, "\"initialize\""))
        return "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},"
               "\"serverInfo\":{\"name\":\"floor\",\"version\":\"0\"}}";
    return "{\"content\":[{\"type\":\"text\",\"text\":\"\"}]}";
}

static int answer(const char *line)
{
    const char *id = strstr(line, "\"id\":");
    if (!id)
        return 0;
    char out[512];
    int n = snprintf(out, sizeof(out), "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":%s}\n",
            strtol(id + 5, NULL, 10), body_for(line));
    return write(STDOUT_FILENO, out, (size_t)n) == n ? 0 : -1;
}

int main(void)
{
    static char in[1 << 16];
    size_t have = 0;
    ssize_t got;
    while ((got = read(STDIN_FILENO, in + have, sizeof(in) - have - 1)) > 0) {
        have += (size_t)got;
        char *line = in, *end;
        while ((end = memchr(line, '\n', have - (size_t)(line - in)))) {
            *end = 0;
            if (answer(line))
                return 1;
            line = end + 1;
        }
        have -= (size_t)(line - in);
        memmove(in, line, have);
    }
    return 0;
}
