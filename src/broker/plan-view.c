#include "broker/plan-view.h"

struct list {
    struct view_path *items;
    size_t count;
};

static void add(struct list *list, enum view_rule rule, const char *path)
{
    list->items[list->count++] = (struct view_path){ .rule = rule, .path = path };
}

static size_t count_texts(const char *const *texts)
{
    size_t count = 0;
    while (texts && texts[count])
        count++;
    return count;
}

static void add_rule(struct list *list, const struct kernel_rule *rule,
        const struct command_plan *plan)
{
    switch (rule->kind) {
    case KERNEL_WRITABLE:
        add(list, VIEW_WRITABLE, rule->path.data);
        break;
    case KERNEL_READABLE: /* a program needs its libraries: the view shows all of / */
        add(list, VIEW_VISIBLE, rule->path.data);
        break;
    case KERNEL_READ_ONLY:
        add(list, VIEW_READ_ONLY, rule->path.data);
        break;
    case KERNEL_HIDDEN:
        if (!plan->trusted || !rule->trusted_may)
            add(list, VIEW_HIDDEN, rule->path.data);
        break;
    }
}

/* Who may talk to others may do so with the user's keys, which an agent process holds. */
static const char *key_agent(const struct command_plan *plan)
{
    static const char name[] = "SSH_AUTH_SOCK=/";
    for (size_t i = 0; plan->network && plan->env[i]; i++)
        if (!strncmp(plan->env[i], name, sizeof(name) - 1))
            return plan->env[i] + sizeof(name) - 2;
    return NULL;
}

/* Of two rules for one path the last counts, so what the plan says comes last. */
const struct view_path *plan_view(const struct path_policy *paths,
        const struct command_plan *plan, struct arena *arena, size_t *count)
{
    struct kernel_rules rules = { 0 };
    const struct policy_shell *section = plan->section;
    path_policy_kernel_rules(paths, arena, &rules);
    size_t most = rules.count + count_texts(plan->writable) +
                  count_texts(plan->read_only) + count_texts(plan->visible) +
                  section->writable_count + 1;
    struct list list = { arena_alloc(arena, (most + 1) * sizeof(*list.items)), 0 };
    for (size_t i = 0; i < rules.count; i++)
        add_rule(&list, &rules.items[i], plan);
    for (size_t i = 0; i < section->writable_count; i++)
        add(&list, VIEW_WRITABLE, arena_cstr(arena, section->writable[i].path));
    for (size_t i = 0; i < count_texts(plan->writable); i++)
        add(&list, VIEW_WRITABLE, plan->writable[i]);
    for (size_t i = 0; i < count_texts(plan->read_only); i++)
        add(&list, VIEW_READ_ONLY, plan->read_only[i]);
    for (size_t i = 0; i < count_texts(plan->visible); i++)
        add(&list, VIEW_VISIBLE, plan->visible[i]);
    const char *agent = key_agent(plan);
    if (agent)
        add(&list, VIEW_VISIBLE, agent);
    *count = list.count;
    return list.items;
}

static bool is_among(const char *const *texts, const char *text)
{
    for (; texts && *texts; texts++)
        if (!strcmp(*texts, text))
            return true;
    return false;
}

const char *const *plan_absent(const struct path_policy *paths,
        const struct command_plan *plan, struct arena *arena)
{
    static const char *const nothing[] = { NULL };
    if (plan->sandbox == SANDBOX_NONE)
        return nothing;
    const char *const *all = path_policy_absent(paths, arena);
    const char **kept = arena_zalloc(arena, (count_texts(all) + 1) * sizeof(*kept));
    size_t count = 0;
    for (size_t i = 0; all[i]; i++)
        if (!is_among((const char *const *)plan->writable, all[i]))
            kept[count++] = all[i];
    return kept;
}

struct command_spec plan_spec(const char *launcher, const struct path_policy *paths,
        const struct command_plan *plan, struct arena *arena)
{
    struct command_spec spec = {
        .launcher = launcher,
        .program = plan->program,
        .argv = plan->argv,
        .env = plan->env,
        .cwd = plan->cwd,
        .sandboxed = plan->sandbox != SANDBOX_NONE,
        .network = plan->network,
        .must_not_appear = plan_absent(paths, plan, arena),
        .quarantine = arena_printf(
                arena, "%.*s/.pyddock/quarantine", STR_ARG(path_policy_workspace(paths))),
    };
    if (spec.sandboxed)
        spec.paths = plan_view(paths, plan, arena, &spec.path_count);
    return spec;
}
