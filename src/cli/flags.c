#include "cli/flags.h"

#include "base/nearest.h"

static struct str name_at(const void *table, size_t i)
{
    return str_of(((const struct flag *)table)[i].name);
}

static struct str near_name(const struct flags *flags, struct str name)
{
    struct str near = STR("");
    for (; flags && !near.len; flags = flags->more)
        near = nearest_name(name, flags->table, flags->count, name_at);
    return near;
}

static bool unknown_flag(const struct flags *flags, struct str name, struct error *err)
{
    struct str near = near_name(flags, name);
    if (near.len)
        return error_set(err, ERR_INVALID, "unknown option '%.*s'; did you mean '%.*s'?",
                STR_ARG(name), STR_ARG(near));
    return error_set(
            err, ERR_INVALID, "unknown option '%.*s'; see --help", STR_ARG(name));
}

/* The flag of this name, and the table that it is in; or NULL. */
static const struct flag *find(const struct flags **in, struct str name)
{
    for (; *in; *in = (*in)->more)
        for (size_t i = 0; i < (*in)->count; i++)
            if (str_is(name, (*in)->table[i].name))
                return &(*in)->table[i];
    return NULL;
}

/* The flag at argv[*i]; takes the next word too if its value stands there. */
static bool read_flag(
        const struct flags *flags, int argc, char **argv, int *i, struct error *err)
{
    struct str value = str_of(argv[*i]), name = str_cut(&value, '=');
    bool joined = name.len < strlen(argv[*i]);
    const struct flags *in = flags;
    const struct flag *flag = find(&in, name);
    if (!flag)
        return unknown_flag(flags, name, err);
    if (joined && !flag->takes_value)
        return error_set(err, ERR_INVALID, "option '%s' takes no value", flag->name);
    if (!joined && flag->takes_value && ++*i >= argc)
        return error_set(err, ERR_INVALID, "option '%s' needs a value", flag->name);
    if (!flag->set)
        return true;
    const char *given = joined ? value.data : argv[*i];
    return flag->set(in->user, flag->takes_value ? given : NULL, err) ||
           error_context(err, "option '%s'", flag->name);
}

bool flags_read(const struct flags *flags, int argc, char **argv, struct error *err)
{
    bool open = true, fine = true;
    for (int i = 1; fine && i < argc; i++) {
        if (open && !strcmp(argv[i], "--"))
            open = false;
        else if (open && argv[i][0] == '-')
            fine = read_flag(flags, argc, argv, &i, err);
        else
            fine = flags->operand(flags->user, argv[i], err);
    }
    return fine;
}

bool flags_has(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
        if (!strcmp(argv[i], name))
            return true;
    return false;
}
