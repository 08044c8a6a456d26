#include "shell/builtin/signals.h"

#include <strings.h>

static const char *const names[] = { NULL, "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT",
    "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM", "STKFLT",
    "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM",
    "PROF", "WINCH", "IO", "PWR", "SYS", NULL, NULL, "RTMIN", "RTMIN+1", "RTMIN+2",
    "RTMIN+3", "RTMIN+4", "RTMIN+5", "RTMIN+6", "RTMIN+7", "RTMIN+8", "RTMIN+9",
    "RTMIN+10", "RTMIN+11", "RTMIN+12", "RTMIN+13", "RTMIN+14", "RTMIN+15", "RTMAX-14",
    "RTMAX-13", "RTMAX-12", "RTMAX-11", "RTMAX-10", "RTMAX-9", "RTMAX-8", "RTMAX-7",
    "RTMAX-6", "RTMAX-5", "RTMAX-4", "RTMAX-3", "RTMAX-2", "RTMAX-1", "RTMAX" };

const char *signal_name(int number)
{
    return number > 0 && (size_t)number < ARRAY_LEN(names) ? names[number] : NULL;
}

int signal_number(const char *text)
{
    int64_t n;
    if (str_int(str_of(text), &n))
        return n >= 0 && n <= SIGNAL_MAX ? (int)n : -1;
    if (!strncasecmp(text, "SIG", 3))
        text += 3;
    for (size_t i = 1; i < ARRAY_LEN(names); i++)
        if (names[i] && !strcasecmp(text, names[i]))
            return (int)i;
    return -1;
}

bool signal_list(struct cmd *c)
{
    size_t shown = 0;
    for (size_t i = 1; i < ARRAY_LEN(names); i++) {
        if (!names[i])
            continue;
        const char *end = ++shown % 5 == 0 ? "\n" : "\t";
        if (!cmd_printf(c, "%2zu) SIG%s%s", i, names[i], end))
            return false;
    }
    return cmd_putc(c, '\n');
}
