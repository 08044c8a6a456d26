#include "shell/builtin/signals.h"

#include <strings.h>

static const char *const names[] = { NULL, "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT",
    "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM", "STKFLT",
    "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM",
    "PROF", "WINCH", "IO", "PWR", "SYS" };

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
        if (!strcasecmp(text, names[i]))
            return (int)i;
    return -1;
}

bool signal_list(struct cmd *c)
{
    for (size_t i = 1; i < ARRAY_LEN(names); i++) {
        bool last = i % 5 == 0 || i + 1 == ARRAY_LEN(names);
        if (!cmd_printf(c, "%2zu) SIG%s%s", i, names[i], last ? "\n" : "\t"))
            return false;
    }
    return true;
}
