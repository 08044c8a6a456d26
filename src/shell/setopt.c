#include "shell/setopt.h"

static const struct setopt set_table[] = {
    { "allexport", 'a', false, SET_ALLEXPORT, NULL },
    { "braceexpand", 'B', false, SET_BRACEEXPAND, NULL },
    { "emacs", 0, false, 0, "a line editor" },
    { "errexit", 'e', false, SET_ERREXIT, NULL },
    { "errtrace", 'E', false, SET_ERRTRACE, NULL },
    { "functrace", 'T', false, SET_FUNCTRACE, NULL },
    { "hashall", 'h', true, SETOPT_IDLE(0), NULL },
    { "histexpand", 'H', false, 0, "a history" },
    { "history", 0, false, 0, "a history" },
    { "ignoreeof", 0, false, SETOPT_IDLE(1), NULL },
    { "interactive-comments", 0, true, SETOPT_IDLE(2), NULL },
    { "keyword", 'k', false, 0, "assignments after the command" },
    { "monitor", 'm', false, 0, "job control" },
    { "noclobber", 'C', false, SET_NOCLOBBER, NULL },
    { "noexec", 'n', false, SET_NOEXEC, NULL },
    { "noglob", 'f', false, SET_NOGLOB, NULL },
    { "nolog", 0, false, SETOPT_IDLE(3), NULL },
    { "notify", 'b', false, SETOPT_IDLE(4), NULL },
    { "nounset", 'u', false, SET_NOUNSET, NULL },
    { "onecmd", 't', false, 0, "a shell that reads one command" },
    { "physical", 'P', false, SET_PHYSICAL, NULL },
    { "pipefail", 0, false, SET_PIPEFAIL, NULL },
    { "posix", 0, false, SET_POSIX, NULL },
    { "privileged", 'p', false, SETOPT_IDLE(5), NULL },
    { "verbose", 'v', false, SET_VERBOSE, NULL },
    { "vi", 0, false, 0, "a line editor" },
    { "xtrace", 'x', false, SET_XTRACE, NULL },
};

static const struct setopt shopt_table[] = {
    { "autocd", 0, false, SETOPT_IDLE(0), NULL },
    { "assoc_expand_once", 0, false, SETOPT_IDLE(1), NULL },
    { "cdable_vars", 0, false, SHOPT_CDABLE_VARS, NULL },
    { "cdspell", 0, false, SETOPT_IDLE(2), NULL },
    { "checkhash", 0, false, SETOPT_IDLE(3), NULL },
    { "checkjobs", 0, false, SETOPT_IDLE(4), NULL },
    { "checkwinsize", 0, true, SETOPT_IDLE(5), NULL },
    { "cmdhist", 0, true, SETOPT_IDLE(6), NULL },
    { "compat31", 0, false, 0, "the rules of an older bash" },
    { "compat32", 0, false, 0, "the rules of an older bash" },
    { "compat40", 0, false, 0, "the rules of an older bash" },
    { "compat41", 0, false, 0, "the rules of an older bash" },
    { "compat42", 0, false, 0, "the rules of an older bash" },
    { "compat43", 0, false, 0, "the rules of an older bash" },
    { "compat44", 0, false, 0, "the rules of an older bash" },
    { "complete_fullquote", 0, true, SETOPT_IDLE(7), NULL },
    { "direxpand", 0, false, SETOPT_IDLE(8), NULL },
    { "dirspell", 0, false, SETOPT_IDLE(9), NULL },
    { "dotglob", 0, false, SHOPT_DOTGLOB, NULL },
    { "execfail", 0, false, SHOPT_EXECFAIL, NULL },
    { "expand_aliases", 0, false, SHOPT_EXPAND_ALIASES, NULL },
    { "extdebug", 0, false, 0, "a debugger" },
    { "extglob", 0, false, SHOPT_EXTGLOB, NULL },
    { "extquote", 0, true, 0, "another reading of quotes" },
    { "failglob", 0, false, SHOPT_FAILGLOB, NULL },
    { "force_fignore", 0, true, SETOPT_IDLE(10), NULL },
    { "globasciiranges", 0, true, 0, "ranges by locale" },
    { "globskipdots", 0, true, 0, "names that are no files" },
    { "globstar", 0, false, SHOPT_GLOBSTAR, NULL },
    { "gnu_errfmt", 0, false, 0, "another form of messages" },
    { "histappend", 0, false, SETOPT_IDLE(11), NULL },
    { "histreedit", 0, false, SETOPT_IDLE(12), NULL },
    { "histverify", 0, false, SETOPT_IDLE(13), NULL },
    { "hostcomplete", 0, true, SETOPT_IDLE(14), NULL },
    { "huponexit", 0, false, SETOPT_IDLE(15), NULL },
    { "inherit_errexit", 0, false, SHOPT_INHERIT_ERREXIT, NULL },
    { "interactive_comments", 0, true, SETOPT_IDLE(16), NULL },
    { "lastpipe", 0, false, SHOPT_LASTPIPE, NULL },
    { "lithist", 0, false, SETOPT_IDLE(17), NULL },
    { "localvar_inherit", 0, false, SHOPT_LOCALVAR_INHERIT, NULL },
    { "localvar_unset", 0, false, 0, "another kind of unset" },
    { "login_shell", 0, false, 0, "a login" },
    { "mailwarn", 0, false, SETOPT_IDLE(18), NULL },
    { "no_empty_cmd_completion", 0, false, SETOPT_IDLE(19), NULL },
    { "nocaseglob", 0, false, SHOPT_NOCASEGLOB, NULL },
    { "nocasematch", 0, false, SHOPT_NOCASEMATCH, NULL },
    { "noexpand_translation", 0, false, SETOPT_IDLE(20), NULL },
    { "nullglob", 0, false, SHOPT_NULLGLOB, NULL },
    { "patsub_replacement", 0, true, SHOPT_NO_PATSUB, NULL },
    { "progcomp", 0, true, SETOPT_IDLE(21), NULL },
    { "progcomp_alias", 0, false, SETOPT_IDLE(22), NULL },
    { "promptvars", 0, true, SETOPT_IDLE(23), NULL },
    { "restricted_shell", 0, false, 0, "a restricted shell" },
    { "shift_verbose", 0, false, SHOPT_SHIFT_VERBOSE, NULL },
    { "sourcepath", 0, true, SHOPT_NO_SOURCEPATH, NULL },
    { "varredir_close", 0, false, SHOPT_VARREDIR_CLOSE, NULL },
    { "xpg_echo", 0, false, SHOPT_XPG_ECHO, NULL },
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

/* Does `flags` say what is wanted?  One without a flag stays what it is. */
static bool change(uint64_t *flags, const struct setopt *o, bool on)
{
    if (!o->flag)
        return on == o->on;
    *flags = on != o->on ? *flags | o->flag : *flags & ~o->flag;
    return true;
}

bool setopt_change(struct shell *sh, const struct setopt *o, bool on)
{
    return change(&sh->set, o, on);
}

bool shopt_change(struct shell *sh, const struct setopt *o, bool on)
{
    return change(&sh->shopt, o, on);
}
