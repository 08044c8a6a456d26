#include "shell/builtin/letters.h"

#include "shell/vars.h"

struct letters letters_of(struct cmd *c, const char *spec, const char *usage)
{
    return (struct letters){ .cmd = c, .spec = spec, .usage = usage, .index = 1 };
}

int letters_usage(struct cmd *c, const char *usage)
{
    cmd_err(c, "usage: %s", usage);
    return 2;
}

static int bad(struct letters *l, const char *message, char letter)
{
    struct cmd *c = l->cmd;
    char option[3] = { l->is_plus ? '+' : '-', letter, 0 };
    cmd_err(c, "%s: %s", option, message);
    letters_usage(c, l->usage);
    return CMD_BAD;
}

/* Go to the next word of options; false: there is none. */
static bool next_word(struct letters *l)
{
    struct cmd *c = l->cmd;
    if (l->index >= c->argc)
        return false;
    const char *word = c->argv[l->index];
    if (!strcmp(word, "--")) {
        l->index++;
        return false;
    }
    if (!(word[0] == '-' || (l->plus && word[0] == '+')) || !word[1])
        return false;
    l->is_plus = word[0] == '+';
    l->bundle = word + 1;
    l->index++;
    return true;
}

int letters_next(struct letters *l)
{
    if ((!l->bundle || !*l->bundle) && !next_word(l))
        return CMD_END;
    char letter = *l->bundle++;
    const char *known = letter == ':' ? NULL : strchr(l->spec, letter);
    if (!known)
        return bad(l, "invalid option", letter);
    if (known[1] != ':')
        return letter;
    struct cmd *c = l->cmd;
    if (*l->bundle)
        l->value = TAKE(l->bundle);
    else if (l->index < c->argc)
        l->value = c->argv[l->index++];
    else
        return bad(l, "option requires an argument", letter);
    return letter;
}

bool letters_number(struct cmd *c, const char *text, int64_t *out)
{
    if (str_int(str_of(text), out))
        return true;
    cmd_err(c, "%s: numeric argument required", text);
    return false;
}

bool letters_name(struct cmd *c, const char *text)
{
    if (var_name_is_valid(str_of(text)))
        return true;
    cmd_err(c, "`%s': not a valid identifier", text);
    return false;
}
