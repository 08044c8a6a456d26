#include "shell/builtin/interval.h"

#include <stdlib.h>
#include <string.h>

bool interval_parse(const char *text, double *seconds)
{
    static const struct {
        char suffix;
        double factor;
    } units[] = { { 0, 1 }, { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
    char *end;
    double n = strtod(text, &end);
    if (end == text || !(n >= 0) || (*end && end[1]))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (*end == units[i].suffix) {
            n *= units[i].factor;
            *seconds = n < INTERVAL_MAX ? n : INTERVAL_MAX;
            return true;
        }
    return false;
}
