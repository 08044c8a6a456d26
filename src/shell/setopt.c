#include "shell/setopt.h"

static const struct setopt set_table[] = {
    { "allexport", 'a', SET_ALLEXPORT, false },
    { "braceexpand", 'B', SET_BRACEEXPAND, true },
    { "emacs", 0, 0, false },
    { "errexit", 'e', SET_ERREXIT, false },
    { "errtrace", 'E', SET_ERRTRACE, false },
    { "functrace", 'T', SET_FUNCTRACE, false },
    { "hashall", 'h', 0, true },
    { "histexpand", 'H', 0, false },
    { "history", 0, 0, false },
    { "ignoreeof", 0, 0, false },
    { "interactive-comments", 0, 0, true },
    { "keyword", 'k', 0, false },
    { "monitor", 'm', 0, false },
    { "noclobber", 'C', SET_NOCLOBBER, false },
    { "noexec", 'n', SET_NOEXEC, false },
    { "noglob", 'f', SET_NOGLOB, false },
    { "nolog", 0, 0, false },
    { "notify", 'b', 0, false },
    { "nounset", 'u', SET_NOUNSET, false },
    { "onecmd", 't', 0, false },
    { "physical", 'P', SET_PHYSICAL, false },
    { "pipefail", 0, SET_PIPEFAIL, false },
    { "posix", 0, SET_POSIX, false },
    { "privileged", 'p', 0, false },
    { "verbose", 'v', SET_VERBOSE, false },
    { "vi", 0, 0, false },
    { "xtrace", 'x', SET_XTRACE, false },
};

static const struct setopt shopt_table[] = {
    { "autocd", 0, 0, false },
    { "checkwinsize", 0, 0, true },
    { "dotglob", 0, SHOPT_DOTGLOB, false },
    { "expand_aliases", 0, SHOPT_EXPAND_ALIASES, false },
    { "extglob", 0, SHOPT_EXTGLOB, false },
    { "extquote", 0, 0, true },
    { "failglob", 0, SHOPT_FAILGLOB, false },
    { "force_fignore", 0, 0, true },
    { "globasciiranges", 0, 0, true },
    { "globskipdots", 0, 0, true },
    { "globstar", 0, SHOPT_GLOBSTAR, false },
    { "inherit_errexit", 0, SHOPT_INHERIT_ERREXIT, false },
    { "interactive_comments", 0, 0, true },
    { "lastpipe", 0, SHOPT_LASTPIPE, false },
    { "localvar_inherit", 0, SHOPT_LOCALVAR_INHERIT, false },
    { "nocaseglob", 0, SHOPT_NOCASEGLOB, false },
    { "nocasematch", 0, SHOPT_NOCASEMATCH, false },
    { "nullglob", 0, SHOPT_NULLGLOB, false },
    { "patsub_replacement", 0, 0, true },
    { "promptvars", 0, 0, true },
    { "sourcepath", 0, 0, true },
    { "xpg_echo", 0, SHOPT_XPG_ECHO, false },
};

static const struct setopt *find(
        const struct setopt *table, size_t count, struct str name)
{
    for (size_t i = 0; i < count; i++)
        if (str_is(name, table[i].name))
            return &table[i];
    return NULL;
}

const struct setopt *setopt_at(size_t i)
{
    return i < ARRAY_LEN(set_table) ? &set_table[i] : NULL;
}

const struct setopt *setopt_find(struct str name)
{
    return find(set_table, ARRAY_LEN(set_table), name);
}

const struct setopt *setopt_by_letter(char letter)
{
    for (size_t i = 0; i < ARRAY_LEN(set_table); i++)
        if (set_table[i].letter == letter)
            return &set_table[i];
    return NULL;
}

const struct setopt *shopt_at(size_t i)
{
    return i < ARRAY_LEN(shopt_table) ? &shopt_table[i] : NULL;
}

const struct setopt *shopt_find(struct str name)
{
    return find(shopt_table, ARRAY_LEN(shopt_table), name);
}

bool setopt_is_on(const struct shell *sh, struct str name)
{
    const struct setopt *o = setopt_find(name);
    return o && setopt_value(sh->set, o);
}

void setopt_change(struct shell *sh, const struct setopt *o, bool on)
{
    sh->set = on ? sh->set | o->flag : sh->set & ~o->flag;
}

void shopt_change(struct shell *sh, const struct setopt *o, bool on)
{
    sh->shopt = on ? sh->shopt | o->flag : sh->shopt & ~o->flag;
}
