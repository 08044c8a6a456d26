#include "command-world.h"
#include "scratch.h"

#include "policy/pyre/pyre.h"

#include "unit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct origin here = { ".pyddock/pyddock.toml", 7 };

const char *world_path(struct world *w, const char *path)
{
    return arena_printf(w->arena, "%s/%s", w->root, path);
}

static void make_folders(const char *path)
{
    auto_free char *copy = xstrdup(path);
    for (char *p = copy + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = 0;
        mkdir(copy, 0755);
        *p = '/';
    }
}

void world_file(struct world *w, const char *path, const char *text, unsigned mode)
{
    const char *full = world_path(w, path);
    make_folders(full);
    FILE *f = fopen(full, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(full, mode), 0);
}

void world_link(struct world *w, const char *target, const char *path)
{
    const char *full = world_path(w, path);
    make_folders(full);
    assert_int_equal(symlink(target, full), 0);
}

void world_variable(struct world *w, const char *name, const char *value)
{
    assert_true(w->variables + 1 < ARRAY_LEN(w->environment));
    w->environment[w->variables++] = arena_printf(w->arena, "%s=%s", name, value);
}

static void defer_pyre(void *p)
{
    pyre_destroy(p);
}

static struct policy_regex compile(struct world *w, const char *text, bool ignore_case)
{
    struct policy_regex regex = { .text = str_of(text), .origin = here };
    struct error err = { 0 };
    if (!pyre_create(regex.text, ignore_case ? PYRE_FOLD : 0, &regex.pattern, &err))
        fail_msg("%s: %s", text, err.message);
    arena_defer(w->arena, defer_pyre, regex.pattern);
    return regex;
}

struct policy_regexes world_regexes(
        struct world *w, const char *const *texts, bool ignore_case)
{
    size_t count = 0;
    while (texts[count])
        count++;
    struct policy_regex *items = arena_alloc(w->arena, (count + 1) * sizeof(*items));
    for (size_t i = 0; i < count; i++)
        items[i] = compile(w, texts[i], ignore_case);
    return (struct policy_regexes){ items, count };
}

struct policy_shell *world_section(struct world *w, const char *name, const char *command)
{
    assert_true(w->policy.shell_count < MAX_SECTIONS);
    struct policy_shell *section = &w->sections[w->policy.shell_count++];
    *section = (struct policy_shell){
        .name = str_of(name),
        .command = compile(w, command, false),
        .mode = MODE_ALLOW,
        .network = true,
        .origin = here,
    };
    return section;
}

void world_guard(struct world *w, const char *regex, enum guard_disposition disposition)
{
    size_t count = w->policy.guard_count;
    struct policy_guard *guards = arena_alloc(w->arena, (count + 1) * sizeof(*guards));
    if (count)
        memcpy(guards, w->policy.guards, count * sizeof(*guards));
    guards[count] = (struct policy_guard){ compile(w, regex, false), disposition };
    w->policy.guards = guards;
    w->policy.guard_count = count + 1;
}

void world_message(struct world *w, const char *regex, const char *text)
{
    size_t count = w->policy.message_count;
    struct policy_message *items = arena_alloc(w->arena, (count + 1) * sizeof(*items));
    if (count)
        memcpy(items, w->policy.messages, count * sizeof(*items));
    items[count] = (struct policy_message){ compile(w, regex, false), str_of(text) };
    w->policy.messages = items;
    w->policy.message_count = count + 1;
}

static void describe(struct world *w)
{
    struct str workspace = str_of(world_path(w, "ws"));
    w->writable[0] = (struct policy_path){ STR("."), workspace, here };
    w->protected[0] = (struct policy_protected){
        .kind = PROTECTED_POLICY,
        .path = str_of(world_path(w, "ws/.pyddock")),
        .except = str_of(world_path(w, "ws/.pyddock/tmp")),
    };
    w->protected[1] = (struct policy_protected){
        .kind = PROTECTED_SCRIPTS,
        .path = str_of(world_path(w, "ws/tools/jobs")),
        .origin = here,
    };
    w->policy = (struct policy){
        .workspace = workspace,
        .workspace_real = workspace,
        .home = str_of(world_path(w, "home")),
        .base = "built-in",
        .writable = w->writable,
        .writable_count = 1,
        .readable_all = true,
        .protected = w->protected,
        .protected_count = 2,
        .shells = w->sections,
        .has_shell = true,
    };
}

void world_create(struct world *w)
{
    *w = (struct world){ .arena = arena_create() };
    snprintf(w->root, sizeof(w->root), "/tmp/paddock-command-XXXXXX");
    scratch_make(w->root);
    world_file(w, "out/secret.txt", "outside\n", 0644);
    world_file(w, "home/.ssh/id", "key\n", 0600);
    world_file(w, "ws/notes.txt", "inside\n", 0644);
    world_file(w, "ws/src/main.c", "int main;\n", 0644);
    world_file(w, "ws/.pyddock/tmp/scratch.txt", "x\n", 0644);
    world_file(w, "ws/tools/jobs/run.sh", "echo run\n", 0644);
    world_link(w, "../out/secret.txt", "ws/outlink");
    world_link(w, "notes.txt", "ws/inlink");
    world_variable(w, "HOME", world_path(w, "home"));
    describe(w);
    refusal_init(&w->why);
}

void world_destroy(struct world *w)
{
    scratch_remove(w->root);
    refusal_finish(&w->why);
    arena_destroy(w->arena);
}

void world_ready(struct world *w)
{
    w->paths = path_policy_create(&w->policy, w->arena);
    w->commands = command_policy_create(&w->policy, w->paths, w->environment, w->arena);
}

bool world_try(
        struct world *w, const char *command, const char *const *args, const char *cwd)
{
    size_t count = 0;
    while (args[count])
        count++;
    struct str *list = arena_alloc(w->arena, (count + 1) * sizeof(*list));
    for (size_t i = 0; i < count; i++)
        list[i] = str_of(args[i]);
    struct command_request request = {
        .command = str_of(command),
        .args = list,
        .arg_count = count,
        .cwd = str_of(cwd),
    };
    refusal_clear(&w->why);
    w->plan = (struct command_plan){ 0 };
    return command_decide(w->commands, &request, w->arena, &w->plan, &w->why);
}

const char *world_refusal(struct world *w)
{
    auto_buf text = BUF(1 << 16);
    refusal_write(&w->why, &text);
    return arena_str(w->arena, buf_str(&text)).data;
}
