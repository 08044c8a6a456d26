/*
 * A checkout that meets a file it may not change stops half-way, with part of the work
 * tree changed and the rest not.  So git itself is asked first which protected files
 * would change, and if there are any the command is refused whole.
 */
#include "base/path.h"
#include "policy/deputy/git-parts.h"

/* What is compared to know what a command would change; `%` is the first operand. */
enum compared {
    COMPARE_WORK_TREE, /* the work tree with % */
    COMPARE_HEAD,      /* HEAD with % */
    COMPARE_BRANCH,    /* where both sides parted with % */
    COMPARE_COMMIT,    /* the parent of % with it */
};

static const struct checkout {
    const char *command, *option; /* that makes it touch files; NULL: it always does */
    enum compared compared;
} checkouts[] = {
    { "checkout", NULL, COMPARE_HEAD },
    { "cherry-pick", NULL, COMPARE_COMMIT },
    { "merge", NULL, COMPARE_BRANCH },
    { "rebase", NULL, COMPARE_HEAD },
    { "reset", "--hard", COMPARE_WORK_TREE },
    { "reset", "--keep", COMPARE_HEAD },
    { "reset", "--merge", COMPARE_HEAD },
    { "revert", NULL, COMPARE_COMMIT },
    { "switch", NULL, COMPARE_HEAD },
};

/* Of SHA-1; git knows it whether it is stored or not. */
static const char empty_tree[] = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/* Where a rebase begins if it says so itself; `*base` stays otherwise. */
static void take_base(const struct option_word *word, struct str *base)
{
    if (option_is(word, "--onto") && word->has_value)
        *base = word->value;
    else if (str_is(word->text, "--root") && !base->len)
        *base = str_of(empty_tree);
}

/* What it takes the files from, or "": something else is done than what is in the table.
 */
static struct str find_revision(const struct git_call *call, const struct checkout *what)
{
    bool has_option = !what->option;
    struct str revision = STR(""), base = STR("");
    size_t operands = 0;
    struct option_reader r = git_reader(call);
    struct option_word word;
    while (option_next(&r, &word)) {
        if (!word.is_operand) {
            has_option = has_option || str_is(word.text, what->option);
            take_base(&word, &base);
        } else {
            operands += word.after_end ? 2 : 1;
            revision = word.text;
        }
    }
    if (base.len && !strcmp(what->command, "rebase"))
        return base;
    if (operands > 1)
        return STR(""); /* paths, or several revisions */
    if (!revision.len && what->compared == COMPARE_WORK_TREE)
        revision = STR("HEAD");
    return has_option ? revision : STR("");
}

static const char *revisions(struct arena *arena, enum compared compared, struct str rev)
{
    switch (compared) {
    case COMPARE_WORK_TREE:
        return arena_cstr(arena, rev);
    case COMPARE_HEAD:
        return arena_printf(arena, "HEAD..%.*s", STR_ARG(rev));
    case COMPARE_BRANCH:
        return arena_printf(arena, "HEAD...%.*s", STR_ARG(rev));
    case COMPARE_COMMIT:
        return arena_printf(arena, "%.*s^!", STR_ARG(rev));
    }
    return "HEAD";
}

static void add_path(
        const struct git_call *call, const char ***argv, const char *path, size_t *count)
{
    struct str tree = call->repo.tree, canonical = str_of(path);
    size_t skip = tree.len > 1 ? tree.len + 1 : 1;
    if (canonical.len <= skip || !path_is_in(canonical, tree) ||
            path_is_in(canonical, call->repo.dir))
        return;
    deputy_list_add(&call->base, argv,
            arena_printf(call->base.arena, ":(top,literal)%s", path + skip));
    ++*count;
}

/* Everything in the work tree that the kernel keeps as it is. */
static size_t add_protected(const struct git_call *call, const char ***argv)
{
    struct arena *arena = call->base.arena;
    struct kernel_rules rules = { 0 };
    size_t count = 0;
    path_policy_kernel_rules(call->base.paths, arena, &rules);
    for (size_t i = 0; i < rules.count; i++)
        if (rules.items[i].kind == KERNEL_READ_ONLY)
            add_path(call, argv, rules.items[i].path.data, &count);
    const char *const *absent = path_policy_absent(call->base.paths, arena);
    for (; *absent; absent++)
        add_path(call, argv, *absent, &count);
    return count;
}

static void ask_first(const struct git_call *call, enum compared compared, struct str rev)
{
    const struct deputy_call *base = &call->base;
    const char *const question[] = { "git", "-C", arena_cstr(base->arena, base->cwd),
        "diff", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv",
        "--end-of-options", revisions(base->arena, compared, rev), "--" };
    const char **argv = NULL;
    for (size_t i = 0; i < ARRAY_LEN(question); i++)
        deputy_list_add(base, &argv, question[i]);
    if (add_protected(call, &argv))
        base->plan->asks_first = argv;
}

void git_ask_first(const struct git_call *call)
{
    if (!call->command || !call->repo.found || call->base.plan->sandbox == SANDBOX_NONE)
        return;
    for (size_t i = 0; i < ARRAY_LEN(checkouts) && !call->base.plan->asks_first; i++) {
        if (strcmp(checkouts[i].command, call->command->name))
            continue;
        struct str revision = find_revision(call, &checkouts[i]);
        if (revision.len)
            ask_first(call, checkouts[i].compared, revision);
    }
}
