#include "policy/command-parts.h"
#include "policy/deputy/deputy.h"

#include <unistd.h>

struct command_policy {
    const struct policy *policy;
    const struct path_policy *paths;
    struct program_places places;
    const char ***snapshots; /* one for each [shell.*] section */
};

struct command_policy *command_policy_create(const struct policy *policy,
        const struct path_policy *paths, char *const *environment, struct arena *arena)
{
    struct command_policy *p = arena_zalloc(arena, sizeof(*p));
    p->policy = policy;
    p->paths = paths;
    program_places_find(policy, env_path(environment), arena, &p->places);
    p->snapshots = arena_zalloc(arena, (policy->shell_count + 1) * sizeof(char **));
    for (size_t i = 0; i < policy->shell_count; i++)
        p->snapshots[i] = env_snapshot(policy, &policy->shells[i], environment, arena);
    return p;
}

void command_files(const struct command_policy *p, struct arena *arena,
        const struct str **out, size_t *out_count)
{
    size_t count = p->policy->shell_count;
    struct str *files = arena_alloc(arena, (count + 1) * sizeof(*files));
    *out = files;
    *out_count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct policy_shell *section = &p->policy->shells[i];
        if (command_is_plain(section) &&
                program_path(&p->places, section->name, arena, &files[*out_count]))
            ++*out_count;
    }
}

static struct str joined(const struct command_request *r, struct arena *arena)
{
    size_t len = 0;
    for (size_t i = 0; i < r->arg_count; i++)
        len += r->args[i].len + 1;
    char *text = arena_alloc(arena, len + 1), *to = text;
    for (size_t i = 0; i < r->arg_count; i++) {
        if (i)
            *to++ = ' ';
        if (r->args[i].len)
            memcpy(to, r->args[i].data, r->args[i].len);
        to += r->args[i].len;
    }
    *to = 0;
    return (struct str){ text, (size_t)(to - text) };
}

/* What [deny_messages] looks at: "git push origin". */
static struct str whole(
        const struct command_request *r, struct str args, struct arena *arena)
{
    if (!args.len)
        return r->command;
    return str_of(arena_printf(arena, "%.*s %.*s", STR_ARG(r->command), STR_ARG(args)));
}

/* What the kernel takes: of one argument, and of all together on the largest stack. */
#define MAX_ARGUMENT  ((size_t)128 << 10)
#define MAX_ARGUMENTS ((size_t)6 << 20)

/* A quarter of the stack. */
static size_t most_arguments(void)
{
    long most = sysconf(_SC_ARG_MAX);
    return most > 0 && (size_t)most < MAX_ARGUMENTS ? (size_t)most : MAX_ARGUMENTS;
}

/* No program can be started with that, and to look for paths in it would take long. */
static bool is_too_long(const struct command_request *r, size_t most)
{
    size_t total = 0;
    for (size_t i = 0; i < r->arg_count; i++) {
        total += r->args[i].len + 1 + sizeof(char *);
        if (r->args[i].len >= MAX_ARGUMENT || total > most)
            return true;
    }
    return false;
}

static bool refuse_too_long(size_t most, struct refusal *why)
{
    refusal_begin(why, "command-arguments", NULL);
    buf_add(&why->what, STR("the arguments are too long to start a program with"));
    buf_addf(&why->rule, "one argument has less than %zu bytes, all together at most %zu",
            MAX_ARGUMENT, most);
    refuse_hint(why, "Write the text into a file and name the file (git commit -F FILE), "
                     "or split the list.");
    return false;
}

static bool has_nul(const struct command_request *r)
{
    for (size_t i = 0; i < r->arg_count; i++)
        if (r->args[i].len && memchr(r->args[i].data, 0, r->args[i].len))
            return true;
    return false;
}

static bool refuse_nul(struct refusal *why)
{
    refusal_begin(why, "command-arguments", NULL);
    buf_add(&why->what, STR("an argument with a NUL byte is not permitted"));
    buf_add(&why->rule, STR("arguments are C strings"));
    refuse_hint(why, "Put such bytes into a file and name the file.");
    return false;
}

/* What is started by itself, under any other name too. */
static deputy_fn *find_deputy(struct command_step *step, const char *program)
{
    struct place place;
    deputy_fn *deputy = deputy_find(step->request->command);
    if (deputy || !program ||
            !place_find(STR("/"), str_of(program), PLACE_FOLLOW, step->arena,
                    &step->budget, &place))
        return deputy;
    return deputy_find(place.path);
}

static const char **add_arguments(
        const struct command_step *step, struct program *program)
{
    for (size_t i = 0; i < step->request->arg_count; i++)
        program->argv[program->argc++] = arena_cstr(step->arena, step->request->args[i]);
    return program->argv;
}

static bool make_plan(const struct command_policy *p, struct command_step *step,
        struct command_plan *plan, struct refusal *why)
{
    struct str cwd;
    struct program program;
    if (!command_cwd(step, &cwd, why) || !args_check_paths(step, cwd, why) ||
            !program_find(step, &p->places, &program, why))
        return false;
    const struct policy_shell *section = step->section;
    *plan = (struct command_plan){
        .section = section,
        .argv = add_arguments(step, &program),
        .program = program.path,
        .env = p->snapshots[section - p->policy->shells],
        .cwd = cwd.data,
        .sandbox = section->sandbox,
        .network = section->network,
        .writable = arena_zalloc(step->arena, sizeof(char *)),
        .read_only = arena_zalloc(step->arena, sizeof(char *)),
    };
    return true;
}

/* What the patterns let pass: how is it done, and may it be done so? */
static bool decide(const struct command_policy *p, struct command_step *step,
        struct command_plan *plan, struct refusal *why)
{
    const struct command_request *r = step->request;
    if (!make_plan(p, step, plan, why))
        return false;
    if (!env_build(p->policy, step->section, plan->env, r->env, r->env_count,
                str_of(plan->cwd), step->arena, &plan->env, why))
        return false;
    deputy_fn *deputy = find_deputy(step, plan->program);
    return !deputy || deputy(p->policy, p->paths, step->arena, plan, why);
}

/* The patterns of the section.  Where none is for the arguments as they are, there may be
 * one for what they come to; `plain` is room for that. */
static bool is_listed(
        struct command_step *step, struct command_request *plain, struct refusal *why)
{
    enum command_rules result =
            command_rules_judge(step, joined(step->request, step->arena), why);
    if (result == RULES_UNLISTED && deputy_plain(step->request, step->arena, plain)) {
        step->request = plain;
        result = command_rules_judge(step, joined(plain, step->arena), why);
    }
    return result == RULES_ALLOW;
}

/* Before all else where a pattern said no; it is about the command, so that it comes last
 * where something is wrong with one argument. */
static void add_message(const struct command_step *step, struct refusal *why)
{
    struct str text = joined(step->request, step->arena);
    struct str subject = whole(step->request, text, step->arena);
    if (!strcmp(why->code, "command-arguments"))
        refuse_message(step->policy, subject, why);
    else if (strcmp(why->code, "environment") != 0)
        refuse_message_last(step->policy, subject, why);
}

bool command_decide(const struct command_policy *p, const struct command_request *request,
        struct arena *arena, struct command_plan *out, struct refusal *why)
{
    struct command_step step = {
        .policy = p->policy,
        .paths = p->paths,
        .section = command_section(p->policy, request->command),
        .request = request,
        .arena = arena,
        .budget = COMMAND_LOOKUPS,
    };
    if (!step.section) {
        command_refuse_unknown(&step, why);
        return false;
    }
    if (has_nul(request))
        return refuse_nul(why);
    size_t most = most_arguments();
    if (is_too_long(request, most))
        return refuse_too_long(most, why);
    struct command_request plain;
    struct command_plan plan;
    if (is_listed(&step, &plain, why) && decide(p, &step, &plan, why)) {
        *out = plan;
        return true;
    }
    add_message(&step, why);
    return false;
}
