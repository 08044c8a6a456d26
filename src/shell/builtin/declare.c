/* declare typeset local export readonly: variables and their attributes */
#include "shell/assign.h"
#include "shell/builtin/attributes.h"
#include "shell/builtin/compound.h"
#include "shell/builtin/letters.h"
#include "shell/expand.h"

struct declare {
    struct cmd *c;
    unsigned add, remove; /* enum var_flags */
    bool local;           /* make the names local to the function */
    bool print, functions, function_names;
};

/* What an operand says: name, name=value, name[i]=value, name+=value, or an array. */
struct operand {
    struct str target; /* with its subscript */
    struct str name;
    struct str value;
    const struct assign *array; /* NULL: no name=(...) */
    bool has_value, append, indexed;
};

static bool parse_operand(struct cmd *c, int i, struct operand *o)
{
    struct shell *sh = c->shell;
    struct str text = str_of(c->argv[i]), subscript;
    *o = (struct operand){ .array = sh->arg_assigns ? sh->arg_assigns[i] : NULL };
    const char *equals = strchr(text.data, '=');
    const char *bracket = strchr(text.data, '[');
    if (bracket && equals && equals > bracket) /* the = may stand inside the brackets */
        equals = strstr(bracket, "]=") ? strstr(bracket, "]=") + 1
                                       : strstr(bracket, "]+=");
    o->has_value = equals != NULL;
    if (equals && *equals == ']')
        equals += 2;
    o->target = equals ? str_sub(text, 0, (size_t)(equals - text.data)) : text;
    if (equals)
        o->value = str_of(equals + 1);
    o->append = o->array ? o->array->flags & ASSIGN_APPEND
                         : equals && str_ends(o->target, STR("+"));
    if (o->append && !o->array)
        o->target.len--;
    if (assign_split(o->target, &o->name, &subscript, &o->indexed))
        return true;
    cmd_err(c, "`%s': not a valid identifier", c->argv[i]);
    return false;
}

static bool report(struct cmd *c, const struct error *err)
{
    cmd_err(c, "%s", err->message);
    return false;
}

static bool make_nameref(struct declare *d, const struct operand *o)
{
    struct error err;
    struct vars *vars = d->c->shell->vars;
    if (o->has_value ? !vars_set_nameref(vars, o->name, o->value, &err)
                     : !vars_set_flags(vars, o->name, VAR_NAMEREF, 0, &err))
        return report(d->c, &err);
    return true;
}

static bool set_value(struct declare *d, const struct operand *o, struct compound *array)
{
    struct shell *sh = d->c->shell;
    if (array)
        return compound_store(sh, o->name, array, o->append);
    if (!o->has_value)
        return true;
    return o->append ? assign_append(sh, d->c->name, o->target, o->value)
                     : assign_text(sh, d->c->name, o->target, o->value);
}

/* An array's elements are expanded before its name becomes local. */
static bool prepare_array(
        struct declare *d, const struct operand *o, struct compound *array)
{
    struct shell *sh = d->c->shell;
    int flags = vars_flags(sh->vars, o->name);
    bool assoc = d->add & VAR_ASSOC;
    if (!assoc && !(d->add & VAR_INDEXED) && flags >= 0)
        assoc = flags & VAR_ASSOC;
    return compound_expand(sh, o->array, assoc, sh->arena, array);
}

static bool declare_one(struct declare *d, int i)
{
    struct cmd *c = d->c;
    struct vars *vars = c->shell->vars;
    struct operand o;
    struct error err;
    struct compound array = { 0 };
    if (!parse_operand(c, i, &o))
        return false;
    if (o.array && !prepare_array(d, &o, &array))
        return shell_discard(c->shell, 1);
    if (d->local && !vars_local(vars, o.name, &err))
        return report(c, &err);
    if (d->add & VAR_NAMEREF)
        return make_nameref(d, &o);
    unsigned first = d->add & ~(unsigned)VAR_READONLY;
    if (array.assoc)
        first |= VAR_ASSOC;
    else if (o.array || (o.indexed && vars_flags(vars, o.name) < 0))
        first |= VAR_INDEXED;
    if (!vars_set_flags(vars, o.name, first, d->remove, &err))
        return report(c, &err);
    if (!set_value(d, &o, o.array ? &array : NULL))
        return false;
    if ((d->add & VAR_READONLY) && !vars_set_flags(vars, o.name, VAR_READONLY, 0, &err))
        return report(c, &err);
    return true;
}

static bool print_function(struct declare *d, struct str name)
{
    struct cmd *c = d->c;
    struct function *fn = functions_find(c->shell->functions, name);
    bool ok UNUSED;
    if (!fn)
        return false;
    if (d->function_names)
        ok = cmd_printf(c, "%.*s\n", STR_ARG(name));
    else
        ok = attributes_print_function(c, fn);
    return true;
}

static int print_all_functions(struct declare *d)
{
    struct str *names;
    size_t count;
    functions_names(d->c->shell->functions, d->c->arena, &names, &count);
    for (size_t i = 0; i < count; i++) {
        const struct function *fn = functions_find(d->c->shell->functions, names[i]);
        if (d->function_names &&
                !cmd_printf(d->c, "declare -f%s%s ", fn->is_readonly ? "r" : "",
                        fn->is_exported ? "x" : ""))
            return 1;
        print_function(d, names[i]);
    }
    return 0;
}

static bool print_variable(struct declare *d, const char *name)
{
    struct str n = str_of(name);
    if (vars_flags(d->c->shell->vars, n) < 0) {
        cmd_err(d->c, "%s: not found", name);
        return false;
    }
    bool ok UNUSED = attributes_print(d->c, n);
    return true;
}

static int run_operands(struct declare *d, int first)
{
    struct cmd *c = d->c;
    int status = 0;
    for (int i = first; i < c->argc; i++) {
        bool ok = d->functions ? print_function(d, str_of(c->argv[i]))
                  : d->print   ? print_variable(d, c->argv[i])
                               : declare_one(d, i);
        if (!ok)
            status = 1;
        if (c->shell->flow != FLOW_NONE)
            return c->shell->status;
    }
    return status;
}

static unsigned flag_of(int letter)
{
    switch (letter) {
    case 'a':
        return VAR_INDEXED;
    case 'A':
        return VAR_ASSOC;
    case 'i':
        return VAR_INTEGER;
    case 'l':
        return VAR_LOWER;
    case 'n':
        return VAR_NAMEREF;
    case 'r':
        return VAR_READONLY;
    case 'u':
        return VAR_UPPER;
    case 'c':
        return VAR_CAPITAL;
    case 't':
        return VAR_TRACED;
    case 'x':
        return VAR_EXPORT;
    default:
        return 0;
    }
}

static bool in_function(const struct shell *sh)
{
    for (const struct frame *f = sh->frame; f && f->parent; f = f->parent)
        if (!str_is(f->function, "source"))
            return true;
    return false;
}

static int list_all(struct declare *d)
{
    if (d->functions)
        return print_all_functions(d);
    bool plain = !d->print && !d->add;
    return attributes_print_all(d->c, d->add, plain) ? 0 : 1;
}

static const char declare_usage[] = "declare [-aAfFgiIlnrtux] [name[=value] ...] or "
                                    "declare -p [-aAfFilnrtux] [name ...]";

static int run_declare(struct cmd *c, bool local)
{
    struct declare d = { .c = c, .local = local };
    struct letters l = letters_of(c, "aAcfFgiIlnprtux", declare_usage);
    l.plus = true;
    for (int k; (k = letters_next(&l)) != CMD_END;) {
        if (k == CMD_BAD)
            return 2;
        *(l.is_plus ? &d.remove : &d.add) |= flag_of(k);
        d.print |= k == 'p';
        d.functions |= k == 'f' || k == 'F';
        d.function_names |= k == 'F';
        if (k == 'g')
            d.local = false;
    }
    return l.index < c->argc ? run_operands(&d, l.index) : list_all(&d);
}

static int cmd_declare(struct cmd *c)
{
    return run_declare(c, in_function(c->shell));
}

static bool print_locals(struct cmd *c)
{
    struct str *names;
    size_t count;
    vars_local_names(c->shell->vars, c->arena, &names, &count);
    for (size_t i = 0; i < count; i++)
        if (!attributes_print(c, names[i]))
            return false;
    return true;
}

/* `local -`: what the function does with `set` ends with it. */
static void keep_options(struct shell *sh)
{
    struct frame *f = sh->frame;
    while (str_is(f->function, "source"))
        f = f->parent;
    if (!f->keeps_set)
        f->set = sh->set;
    f->keeps_set = true;
}

static int cmd_local(struct cmd *c)
{
    if (!in_function(c->shell)) {
        cmd_err(c, "can only be used in a function");
        return 1;
    }
    if (c->argc == 1)
        return print_locals(c) ? 0 : 1;
    if (c->argc == 2 && !strcmp(c->argv[1], "-")) {
        keep_options(c->shell);
        return 0;
    }
    return run_declare(c, true);
}

/* export -f and readonly -f. */
static int mark_functions(struct declare *d, int first)
{
    struct cmd *c = d->c;
    int status = 0;
    for (int i = first; i < c->argc; i++) {
        struct function *fn = functions_own(&c->shell->functions, str_of(c->argv[i]));
        if (!fn) {
            cmd_err(c, "%s: not a function", c->argv[i]);
            status = 1;
        } else if ((d->add | d->remove) & VAR_EXPORT) {
            fn->is_exported = d->add & VAR_EXPORT;
        } else {
            fn->is_readonly = true;
        }
    }
    return status;
}

static int print_marked(struct declare *d)
{
    struct cmd *c = d->c;
    struct str *names;
    size_t count;
    functions_names(c->shell->functions, c->arena, &names, &count);
    for (size_t i = 0; i < count; i++) {
        const struct function *fn = functions_find(c->shell->functions, names[i]);
        bool exported = d->add & VAR_EXPORT;
        if (!(exported ? fn->is_exported : fn->is_readonly))
            continue;
        if (!attributes_print_function(c, fn) ||
                !cmd_printf(c, "declare -f%s %.*s\n", exported ? "x" : "r",
                        STR_ARG(names[i])))
            return 1;
    }
    return 0;
}

/* export and readonly: one attribute, always on the variable that is visible. */
static int run_attribute(
        struct cmd *c, unsigned flag, const char *spec, const char *usage)
{
    struct declare d = { .c = c, .add = flag };
    struct letters l = letters_of(c, spec, usage);
    for (int k; (k = letters_next(&l)) != CMD_END;) {
        if (k == CMD_BAD)
            return 2;
        if (k == 'n') {
            d.remove = d.add;
            d.add = 0;
        }
        d.add |= k == 'a' || k == 'A' ? flag_of(k) : 0;
        d.functions |= k == 'f';
        d.print |= k == 'p';
    }
    if (d.functions && l.index < c->argc)
        return mark_functions(&d, l.index);
    if (d.functions)
        return print_marked(&d);
    if (l.index >= c->argc)
        return attributes_print_all(c, flag, false) ? 0 : 1;
    d.print = false;
    return run_operands(&d, l.index);
}

static int cmd_export(struct cmd *c)
{
    return run_attribute(
            c, VAR_EXPORT, "fnp", "export [-fn] [name[=value] ...] or export -p");
}

static int cmd_readonly(struct cmd *c)
{
    return run_attribute(
            c, VAR_READONLY, "aAfp", "readonly [-aAf] [name[=value] ...] or readonly -p");
}

#define DECLARE_FLAGS (CMD_BUILTIN | CMD_SHELL | CMD_ASSIGNS)

const struct command command_declare = { .name = "declare",
    .run = cmd_declare,
    .usage = "[-aAfFgilnprux] [NAME[=VALUE]]...",
    .summary = "Give variables values and attributes, or show them.",
    .flags = DECLARE_FLAGS };

const struct command command_typeset = { .name = "typeset",
    .run = cmd_declare,
    .usage = "[-aAfFgilnprux] [NAME[=VALUE]]...",
    .summary = "The same as declare.",
    .flags = DECLARE_FLAGS };

const struct command command_local = { .name = "local",
    .run = cmd_local,
    .usage = "[OPTION] NAME[=VALUE]...",
    .summary = "Make variables local to the function.",
    .flags = DECLARE_FLAGS };

const struct command command_export = { .name = "export",
    .run = cmd_export,
    .usage = "[-np] [NAME[=VALUE]]...",
    .summary = "Mark variables for the environment of commands.",
    .flags = DECLARE_FLAGS | CMD_SPECIAL };

const struct command command_readonly = { .name = "readonly",
    .run = cmd_readonly,
    .usage = "[-aAp] [NAME[=VALUE]]...",
    .summary = "Make variables unchangeable.",
    .flags = DECLARE_FLAGS | CMD_SPECIAL };
