#include "shell/builtin/tabs.h"

#include "shell/builtin/number.h"
#include "shell/builtin/quote.h"

static bool add_stop(struct cmd *c, struct str word, struct tabs *tabs)
{
    char how =
            word.len && (word.data[0] == '/' || word.data[0] == '+') ? word.data[0] : 0;
    uint64_t n;
    struct str number = str_from(word, how != 0);
    if (!number_plain(number, &n)) {
        cmd_err(c, "tab size contains invalid character(s): %s",
                quote(c, arena_cstr(c->arena, word)));
        return false;
    }
    if (how) {
        tabs->every = n;
        tabs->from_last = how == '+';
        return true;
    }
    if (!n) {
        cmd_err(c, "tab size cannot be 0");
        return false;
    }
    if (tabs->count && n <= tabs->stops[tabs->count - 1]) {
        cmd_err(c, "tab sizes must be ascending");
        return false;
    }
    if (tabs->count == MAX_TABS) {
        cmd_err(c, "too many tab stops");
        return false;
    }
    tabs->stops[tabs->count++] = n;
    return true;
}

bool tabs_parse(struct cmd *c, const char *text, struct tabs *tabs)
{
    struct str rest = str_of(text);
    while (rest.len) {
        size_t len = 0;
        while (len < rest.len && !strchr(", \t", rest.data[len]))
            len++;
        if (len && !add_stop(c, str_sub(rest, 0, len), tabs))
            return false;
        rest = str_from(rest, len + 1);
    }
    return true;
}

void tabs_finish(struct tabs *tabs)
{
    if (!tabs->count && !tabs->every)
        tabs->every = 8;
    if (tabs->count == 1 && !tabs->every) {
        tabs->every = tabs->stops[0];
        tabs->count = 0;
    }
}

bool tabs_next(const struct tabs *tabs, uint64_t column, uint64_t *stop)
{
    for (size_t i = 0; i < tabs->count; i++)
        if (tabs->stops[i] > column) {
            *stop = tabs->stops[i];
            return true;
        }
    if (!tabs->every)
        return false;
    uint64_t from = tabs->from_last && tabs->count ? tabs->stops[tabs->count - 1] : 0;
    *stop = column + tabs->every - (column - from) % tabs->every;
    return true;
}

void tabs_rewrite_old(struct cmd *c)
{
    for (int i = 1; i < c->argc && strcmp(c->argv[i], "--"); i++) {
        const char *arg = c->argv[i];
        if (arg[0] == '-' && arg[1] >= '0' && arg[1] <= '9')
            c->argv[i] = arena_printf(c->arena, "-t%s", arg + 1);
        else if (!strcmp(arg, "-t") || !strcmp(arg, "--tabs"))
            i++;
    }
}
