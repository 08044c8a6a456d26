/*
 * Real git in repositories that name programs in every way there is.  Each case is first
 * run without us, to see that the poison works, and then as it was planned.
 */
#include "command-world.h"
#include "policy/deputy/git-commands.h"
#include "unit.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH "/usr/local/bin:/usr/bin:/bin"

/* Branches main and topic that disagree about `a`, which is changed in the tree too. */
static const char base_script[] =
        "set -e\n"
        "git init -q -b main .\n"
        "git config user.name T; git config user.email t@example.org\n"
        "echo one > a; git add a; git commit -qm one\n"
        "git checkout -q -b topic; echo topic > a; git commit -qam topic\n"
        "git checkout -q main; echo main >> a\n";

/* Wait for it and return its exit status; stdin and the outputs are not ours. */
static int run(const char *program, const char *const *argv, const char *const *env,
        const char *cwd, const char *output)
{
    pid_t pid;
    int status;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(
            &actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawn_file_actions_addchdir_np(&actions, cwd);
    int failed = posix_spawn(&pid, program, &actions, NULL,
            (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)env);
    posix_spawn_file_actions_destroy(&actions);
    assert_int_equal(failed, 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Without us: with what the world's environment has, and E, the program that leaves a
 * trace. */
static int run_plain(struct world *w, const char *const *argv, const char *cwd)
{
    const char *env[ARRAY_LEN(w->environment) + 3];
    size_t count = 0;
    for (size_t i = 0; i < w->variables; i++)
        env[count++] = w->environment[i];
    env[count++] = arena_printf(w->arena, "E=%s/evil.sh", w->root);
    env[count] = NULL;
    return run(strcmp(argv[0], "git") ? "/bin/sh" : "/usr/bin/git", argv, env,
            world_path(w, cwd), world_path(w, "log"));
}

static void script(struct world *w, const char *text)
{
    const char *argv[] = { "sh", "-c", text, NULL };
    int status = run_plain(w, argv, "ws");
    if (status)
        fail_msg("%s: exit %d", text, status);
}

static bool has_proof(struct world *w)
{
    const char *proof = world_path(w, "proof");
    bool found = !access(proof, F_OK);
    unlink(proof);
    return found;
}

static void world_with_git(struct world *w)
{
    world_create(w);
    world_file(w, "evil.sh",
            arena_printf(w->arena, "#!/bin/sh\ntouch %s/proof\nexit 1\n", w->root), 0755);
    world_file(w, "home/.gitconfig", "[init]\n\tdefaultBranch = main\n", 0644);
    world_file(w, "ws/.pyddock/pyddock.toml", "# policy\n", 0644);
    world_section(w, "git", "^git$");
    world_guard(w, "/\\.git/", GUARD_READ_ONLY);
    world_variable(w, "PATH", PATH);
    world_variable(w, "GIT_CONFIG_NOSYSTEM", "1");
}

static int run_planned(struct world *w)
{
    assert_non_null(w->plan.program);
    return run(w->plan.program, w->plan.argv, w->plan.env, w->plan.cwd,
            world_path(w, "log"));
}

static struct str read_log(struct world *w)
{
    size_t max = 1 << 16;
    char *data = arena_zalloc(w->arena, max + 1);
    FILE *f = fopen(world_path(w, "log"), "re");
    assert_non_null(f);
    size_t n = fread(data, 1, max, f);
    fclose(f);
    while (n && data[n - 1] == '\n')
        n--;
    return (struct str){ data, n };
}

static bool is_in_log(struct world *w, const char *text)
{
    return strstr(read_log(w).data, text);
}

enum outcome { RUNS, REFUSED };

static const struct poison {
    const char *prepare; /* in the workspace; $E is what must not be run */
    const char *args[8];
    enum outcome outcome;
    const char *cwd; /* NULL: the workspace */
} poisons[] = {
    { "git config core.fsmonitor $E", { "status" }, RUNS, NULL },
    { "git config core.fsmonitor $E", { "diff" }, RUNS, NULL },
    { "git config core.fsmonitor $E", { "-C", "src", "status" }, RUNS, NULL },
    { "cp $E .git/hooks/pre-commit", { "commit", "-qam", "x" }, RUNS, NULL },
    { "cp $E .git/hooks/post-checkout", { "checkout", "-f", "topic" }, RUNS, NULL },
    { "cp $E .git/hooks/reference-transaction", { "tag", "v1" }, RUNS, NULL },
    { "mkdir h; cp $E h/pre-commit; git config core.hooksPath h",
            { "commit", "-qam", "x" }, RUNS, NULL },
    { "cp $E .git/hooks/post-index-change", { "add", "a" }, RUNS, NULL },
    { "git config diff.external $E", { "diff" }, RUNS, NULL },
    { "git config diff.external $E", { "diff", "HEAD", "--ext-diff" }, RUNS, NULL },
    { "git config diff.external $E", { "show", "--ext-diff" }, RUNS, NULL },
    { "echo '* diff=x' > .gitattributes; git config diff.x.command $E", { "diff" }, RUNS,
            NULL },
    { "echo '* diff=x' > .gitattributes; git config diff.x.textconv $E", { "diff" }, RUNS,
            NULL },
    { "echo '* diff=x' > .gitattributes; git config diff.x.textconv $E",
            { "diff", "--textconv" }, RUNS, NULL },
    { "echo '* diff=x' > .gitattributes; git config diff.x.textconv $E", { "blame", "a" },
            RUNS, NULL },
    { "echo '* diff=x' > .gitattributes; git config diff.x.textconv $E",
            { "grep", "--textconv", "one" }, RUNS, NULL },
    { "echo '* diff=x' > .gitattributes; git config diff.x.textconv $E",
            { "commit", "-v", "-a", "--dry-run" }, RUNS, NULL },
    { "echo '* diff=x' > .gitattributes; git config diff.x.textconv $E",
            { "cat-file", "--textconv", "HEAD:a" }, RUNS, NULL },
    { "printf '* diff=x\\n' > .git/info/attributes; git config diff.x.textconv $E",
            { "log", "-p" }, RUNS, NULL },
    { "echo '* filter=x' > .gitattributes; git config filter.x.clean $E", { "diff" },
            RUNS, NULL },
    { "echo '* filter=x' > .gitattributes; git config filter.x.clean $E; "
      "echo two > a",
            { "status" }, RUNS, NULL },
    { "echo '* filter=x' > .gitattributes; git config filter.x.clean $E", { "add", "a" },
            RUNS, NULL },
    { "echo '* filter=x' > .gitattributes; git config filter.x.process $E", { "diff" },
            RUNS, NULL },
    { "echo '* filter=X.y' > .gitattributes; git config filter.X.y.smudge $E",
            { "checkout", "-f", "topic" }, RUNS, NULL },
    { "echo '* filter=x' > .git/info/attributes; git config filter.x.smudge $E",
            { "archive", "HEAD" }, RUNS, NULL },
    { "echo '* filter=x' > .gitattributes\n"
      "printf '[filter \"x\"]\\n\\tclean = \"%s\" ;c\\n' $E >> .git/config",
            { "diff" }, RUNS, NULL },
    { "echo '* filter=x' > .gitattributes\n"
      "printf '[FILTER.X] CLEAN=%s\\n' $E >> .git/config",
            { "diff" }, RUNS, NULL },
    { "echo '* filter=x' > .gitattributes\n"
      "git config include.path more; printf '[filter \"x\"]\\nclean=%s' $E > .git/more",
            { "diff" }, RUNS, NULL },
    { "echo '* filter=x' > .gitattributes\n"
      "git config includeIf.onbranch:main.path more\n"
      "printf '[filter \"x\"]\\nclean=%s' $E > .git/more",
            { "diff" }, RUNS, NULL },
    { "echo '* filter=x' > .gitattributes\n"
      "git config extensions.worktreeConfig true; git config --worktree filter.x.clean "
      "$E",
            { "diff" }, RUNS, NULL },
    { "echo '* filter=x' > .gitattributes\n"
      "git config include.path ../more; printf '[filter \"x\"]\\nclean=%s' $E > more",
            { "diff" }, REFUSED, NULL },
    { "git commit -qam b; echo '* merge=x' > .git/info/attributes\n"
      "git config merge.x.driver $E",
            { "merge", "topic" }, RUNS, NULL },
    { "git commit -qam b; echo '* merge=x' > .git/info/attributes\n"
      "git config merge.x.driver $E",
            { "cherry-pick", "topic" }, RUNS, NULL },
    { "git config core.editor $E", { "commit", "-a" }, RUNS, NULL },
    { "git config sequence.editor $E; git checkout -q -f main",
            { "rebase", "-i", "topic" }, RUNS, NULL },
    { "git config core.sshCommand $E", { "ls-remote", "ssh://127.0.0.1:1/x" }, RUNS,
            NULL },
    { "git config core.gitProxy $E", { "ls-remote", "git://127.0.0.1:1/x" }, RUNS, NULL },
    { "git config alias.st '!'$E", { "st" }, REFUSED, NULL },
    { "git config trailer.x.command $E",
            { "commit", "--allow-empty", "-m", "x", "--trailer", "y=z" }, RUNS, NULL },
    { "git config tar.x.command $E", { "archive", "--format=x", "HEAD" }, RUNS, NULL },
    { "git config gpg.program $E; git config commit.gpgSign true",
            { "commit", "-qam", "x" }, RUNS, NULL },
    { "git config protocol.ext.allow always; git config remote.o.url \"ext::$E\"",
            { "fetch", "o" }, REFUSED, NULL },
    { "git config protocol.ext.allow always; git config remote.origin.url \"ext::$E\"",
            { "fetch" }, RUNS, NULL },
    { "git config protocol.ext.allow always\n"
      "git config \"url.ext::$E .insteadOf\" https://x/",
            { "fetch", "https://x/" }, REFUSED, NULL },
    { "git config remote.o.url .; git config remote.o.uploadpack $E", { "fetch", "o" },
            REFUSED, NULL },
    { "git config remote.origin.url .; git config remote.origin.uploadpack $E",
            { "fetch" }, RUNS, NULL },
    { "git config remote.origin.url .; git config remote.origin.uploadpack $E",
            { "remote", "show", "origin" }, REFUSED, NULL },
    { "git config remote.o.url .; git config remote.o.promisor true\n"
      "git config remote.o.uploadpack $E; git config extensions.partialClone o\n"
      "h=$(git rev-parse HEAD:a); rm -f .git/objects/${h%${h#??}}/${h#??}",
            { "show", "HEAD:a" }, RUNS, NULL },
    { "git init -q --bare x; git config remote.origin.url x\n"
      "cp $E x/hooks/post-receive",
            { "push", "x", "main" }, REFUSED, NULL },
    { "cp $E .git/hooks/post-receive", { "push", ".", "main:new" }, REFUSED, NULL },
    { "GIT_SEQUENCE_EDITOR='sh -c \"(echo break; echo exec $E) > $1\" x' "
      "git -c core.editor=: rebase -q -i --autostash topic || true",
            { "rebase", "--continue" }, REFUSED, NULL },
    { "git init -q sub; cd sub; git config user.name T; git config user.email t@x\n"
      "echo '* filter=x' > .gitattributes; echo 1 > s; git add .; git commit -qm s; cd "
      "..\n"
      "git add sub 2>&1; git -C sub config filter.x.clean $E; echo 2 > sub/s",
            { "status" }, RUNS, NULL },
    { "git init -q sub; cd sub; git config user.name T; git config user.email t@x\n"
      "echo '* filter=x' > .gitattributes; echo 1 > s; git add .; git commit -qm s; cd "
      "..\n"
      "git add sub 2>&1; git -C sub config filter.x.clean $E; echo 2 > sub/s",
            { "add", "-A" }, RUNS, NULL },
    { "mkdir .git/modules; git init -q --separate-git-dir .git/modules/sub sub; cd sub\n"
      "git config user.name T; git config user.email t@x\n"
      "echo '* filter=x' > .gitattributes; echo 1 > s; git add .; git commit -qm s; cd "
      "..\n"
      "git add sub 2>&1; git -C sub config filter.x.clean $E; echo 2 > sub/s\n"
      "git update-index --index-version 4",
            { "diff-files" }, RUNS, NULL },
    { "git init -q bare; mv bare/.git/* bare; rmdir bare/.git/* bare/.git || true\n"
      "git -C bare config core.worktree .; git -C bare config core.fsmonitor $E",
            { "status" }, REFUSED, "bare" },
    { "git init -q bare; mv bare/.git/* bare; rmdir bare/.git/* bare/.git || true\n"
      "git -C bare config core.worktree .; git -C bare config core.fsmonitor $E",
            { "-C", "bare", "status" }, REFUSED, NULL },
    { "git commit -qam b; git checkout -q topic; echo z > z; git add z; git commit -qm "
      "z\n"
      "git checkout -q main; git cherry-pick topic~1 topic || true; git add a\n"
      "mkdir git-merge-x; cp $E evil\n"
      "printf '[options]\\nstrategy = x/../evil\\n' > .git/sequencer/opts",
            { "cherry-pick", "--continue" }, REFUSED, NULL },
    { "git worktree add -q wt topic; git config core.fsmonitor $E", { "status" }, RUNS,
            "wt" },
    { "echo '* filter=x' > .git/info/attributes; git config filter.x.clean $E\n"
      "git worktree add -q wt topic; echo x > wt/a",
            { "diff" }, RUNS, "wt" },
};

static void copy_tree(struct world *w, const char *from, const char *to)
{
    script(w, arena_printf(w->arena, "rm -rf %s/%s; cp -a %s/%s %s/%s", w->root, to,
                      w->root, from, w->root, to));
}

static void try_poison(const struct poison *p)
{
    struct world w;
    world_with_git(&w);
    script(&w, arena_printf(w.arena, "(%s\n%s)", base_script, p->prepare));
    has_proof(&w); /* while it was prepared */
    world_ready(&w);
    const char *argv[10] = { "git" }, *cwd = p->cwd ? p->cwd : "";
    for (size_t i = 0; p->args[i]; i++)
        argv[i + 1] = p->args[i];
    copy_tree(&w, "ws", "kept");
    run_plain(&w, argv, arena_printf(w.arena, "ws/%s", cwd));
    if (!has_proof(&w))
        fail_msg("does nothing: %s: git %s", p->prepare, p->args[0]);
    script(&w, arena_printf(w.arena, "cd /; rm -rf %s/ws; mv %s/kept %s/ws", w.root,
                       w.root, w.root));
    bool planned = world_try(&w, "git", p->args, cwd);
    if (planned != (p->outcome == RUNS))
        fail_msg("%s: %s: git %s: %s", planned ? "planned" : "refused", p->prepare,
                p->args[0], planned ? "" : world_refusal(&w));
    if (planned)
        run_planned(&w);
    if (has_proof(&w))
        fail_msg("was run: %s: git %s", p->prepare, p->args[0]);
    world_destroy(&w);
}

static void test_poisons(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(poisons); i++)
        try_poison(&poisons[i]);
}

static void setup_world(struct world *w, const char *prepare)
{
    world_with_git(w);
    script(w, arena_printf(w->arena, "(%s\n%s)", base_script, prepare));
    world_ready(w);
}

static int plan_and_run(struct world *w, const char *const *args)
{
    if (!world_try(w, "git", args, ""))
        fail_msg("refused: git %s: %s", args[0], world_refusal(w));
    return run_planned(w);
}

#define ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* What people do all day, each in the state that the one before left. */
static void test_work(void **state)
{
    (void)state;
    struct world w;
    setup_world(&w, "");
    static const struct {
        const char *args[6];
        const char *shown;
    } steps[] = {
        { { "status", "--short" }, " M a" },
        { { "diff", "--stat" }, "1 file changed" },
        { { "stash" }, "Saved working directory" },
        { { "stash", "show", "-p" }, "+main" },
        { { "stash", "pop" }, "modified:" },
        { { "commit", "-qam", "on /main" }, "" },
        { { "log", "-1", "--format=%s" }, "on /main" },
        { { "checkout", "-q", "-b", "side" }, "" },
        { { "merge", "-q", "topic", "-X", "ours" }, "" },
        { { "tag", "v1" }, "" },
        { { "describe", "--tags" }, "v1" },
        { { "fetch", "." }, "" },
        { { "rebase", "-q", "-X", "theirs", "main" }, "" },
        { { "config", "core.hooksPath" }, NULL }, /* what is set is shown, not ours */
        { { "config", "user.name" }, "T" },
        { { "branch", "-D", "topic" }, "Deleted branch topic" },
        { { "show", "HEAD:a" }, "" },
        { { "blame", "a" }, "(T " },
        { { "shortlog", "-s", "HEAD" }, "T" },
        { { "range-diff", "main...side" }, "" },
        { { "diff", "--no-index", "a", "notes.txt" }, NULL },
        { { "rev-parse", "--show-toplevel" }, "/ws" },
        { { "grep", "-n", "inside" }, NULL },
        { { "switch", "main" }, "Switched" },
        { { "cherry-pick", "--allow-empty", "v1", "-m", "1" }, "" },
        { { "reset", "-q", "--hard" }, "" },
        { { "format-patch", "-1", "-o", "patches" }, "patches/" },
    };
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        int status = plan_and_run(&w, steps[i].args);
        if (!steps[i].shown ? !status : status || !is_in_log(&w, steps[i].shown))
            fail_msg("git %s %s: exit %d", steps[i].args[0], steps[i].args[1], status);
    }
    world_destroy(&w);
}

/* What a filter would have changed is not stored as it is; nor is anything lost. */
static void test_filters_are_not_left_out_silently(void **state)
{
    (void)state;
    struct world w;
    setup_world(&w, "echo '* filter=x' > .gitattributes; git config filter.x.clean $E\n"
                    "git config filter.x.smudge $E; git config filter.x.required true");
    assert_int_not_equal(plan_and_run(&w, ARGS("add", "a")), 0);
    assert_true(is_in_log(&w, "clean filter 'x' failed"));
    assert_non_null(strstr(w.plan.notes.data, "filter.x.clean of the repository"));
    assert_int_not_equal(plan_and_run(&w, ARGS("stash")), 0);
    assert_int_equal(plan_and_run(&w, ARGS("diff", "--cached", "--exit-code")), 0);
    assert_int_equal(plan_and_run(&w, ARGS("diff")), 0);
    assert_true(is_in_log(&w, "+main"));
    assert_int_equal(plan_and_run(&w, ARGS("checkout", "-f", "topic")), 0);
    assert_int_equal(plan_and_run(&w, ARGS("grep", "-q", "topic", "--", "a")), 0);
    assert_false(has_proof(&w));
    world_destroy(&w);
    setup_world(&w, "echo '* filter=x' > .gitattributes; git config filter.x.process $E");
    assert_int_not_equal(plan_and_run(&w, ARGS("add", "a")), 0);
    assert_int_not_equal(plan_and_run(&w, ARGS("stash")), 0);
    assert_int_equal(plan_and_run(&w, ARGS("diff")), 0);
    assert_true(is_in_log(&w, "+main"));
    assert_int_equal(plan_and_run(&w, ARGS("checkout", "-f", "topic")), 0);
    assert_false(has_proof(&w));
    world_destroy(&w);
}

static bool exists(struct world *w, const char *path)
{
    return !access(world_path(w, path), F_OK);
}

/* Protected folders are spared, without the kernel's help. */
static void test_clean_and_stash(void **state)
{
    (void)state;
    static const char *const cleans[] = { "-fdx", "-fdX", "-ffdx" };
    for (size_t i = 0; i < ARRAY_LEN(cleans); i++) {
        struct world w;
        setup_world(&w, "printf '.pyddock\\ntools\\n*.o\\n' > .gitignore; touch x.o");
        assert_int_equal(plan_and_run(&w, ARGS("clean", cleans[i])), 0);
        assert_false(exists(&w, "ws/x.o"));
        assert_true(exists(&w, "ws/.pyddock/pyddock.toml"));
        assert_true(exists(&w, "ws/tools/jobs/run.sh"));
        world_destroy(&w);
    }
    struct world w;
    setup_world(&w, "");
    assert_int_equal(plan_and_run(&w, ARGS("stash", "-u")), 0);
    assert_true(exists(&w, "ws/.pyddock/pyddock.toml"));
    assert_true(exists(&w, "ws/tools/jobs/run.sh"));
    assert_false(exists(&w, "ws/notes.txt"));
    assert_int_equal(plan_and_run(&w, ARGS("stash", "pop")), 0);
    assert_true(exists(&w, "ws/notes.txt"));
    world_destroy(&w);
}

/* `.git` that leads to what is not of this tree, and trees elsewhere. */
static void test_strange_repositories(void **state)
{
    (void)state;
    static const char other_tree[] =
            "mv .git ../out/r; echo \"gitdir: $PWD/../out/r\" > .git\n"
            "echo \"$PWD/../elsewhere/.git\" > ../out/r/gitdir";
    const char *const prepares[] = {
        "mv .git ../out/r; echo \"gitdir: $PWD/../out/r\" > .git",
        "mv .git ../out/r; ln -s ../out/r .git",
        "git config core.worktree \"$PWD/../out\"",
        "git config core.worktree /",
        other_tree,
        "printf '[include]\\n\\tpath = %s/inc\\n' $PWD >> .git/config; touch inc",
        "printf '[core\\n' >> .git/config",
        "echo x > .git/index",
    };
    for (size_t i = 0; i < ARRAY_LEN(prepares); i++) {
        struct world w;
        setup_world(&w, prepares[i]);
        if (world_try(&w, "git", ARGS("status"), ""))
            fail_msg("planned: %s", prepares[i]);
        assert_string_equal(w.why.code, "deputy");
        world_destroy(&w);
    }
    struct world w;
    setup_world(&w, "mkdir sub; mv .git sub/fake; echo 'gitdir: fake' > sub/.git");
    assert_false(world_try(&w, "git", ARGS("status"), "sub")); /* an agent may write it */
    world_destroy(&w);
}

static bool has_item(const char **list, const char *item)
{
    for (; *list; list++) {
        if (!strcmp(*list, item))
            return true;
    }
    return false;
}

/* Who may write the repository, and who may talk. */
static void test_profiles(void **state)
{
    (void)state;
    static const struct {
        const char *args[4];
        bool writes, talks;
    } table[] = {
        { { "status" }, false, false },
        { { "log" }, false, false },
        { { "branch" }, false, false },
        { { "branch", "--list", "x*" }, false, false },
        { { "branch", "x" }, true, false },
        { { "tag", "-l", "x*" }, false, false },
        { { "tag", "x" }, true, false },
        { { "stash", "list" }, false, false },
        { { "stash", "pop" }, true, false },
        { { "commit", "-m", "x" }, true, false },
        { { "remote", "-v" }, false, false },
        { { "remote", "show" }, false, false },
        { { "remote", "show", "-n", "origin" }, false, false },
        { { "remote", "show", "origin" }, false, true },
        { { "ls-remote", "https://example.org/x" }, false, true },
        { { "fetch" }, true, true },
        { { "pull" }, true, true },
        { { "version" }, false, false },
    };
    struct world w;
    setup_world(&w, "");
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        assert_true(world_try(&w, "git", table[i].args, ""));
        bool writes = has_item(w.plan.writable, world_path(&w, "ws/.git"));
        bool kept = has_item(w.plan.read_only, world_path(&w, "ws/.git/config")) &&
                    has_item(w.plan.read_only, world_path(&w, "ws/.git/hooks"));
        bool silent = has_item(w.plan.env, "GIT_ALLOW_PROTOCOL=");
        if (writes != table[i].writes || kept != writes || silent == table[i].talks ||
                w.plan.network != table[i].talks || w.plan.trusted != table[i].talks)
            fail_msg("git %s %s", table[i].args[0], table[i].args[1]);
    }
    world_destroy(&w);
}

/*
 * Keys and passwords are for a repository that nothing else can change meanwhile: below
 * the top of the workspace a command could, and could make one nearer to where git is.
 */
static void test_trust(void **state UNUSED)
{
    static const struct {
        const char *cwd;
        bool trusted;
    } table[] = { { "", true }, { "src", false }, { "nested", false } };
    struct world w;
    setup_world(&w, "");
    world_file(&w, "ws/src/x", "", 0644);
    world_file(&w, "ws/nested/.git/HEAD", "ref: refs/heads/main\n", 0644);
    world_file(&w, "ws/nested/.git/config", "", 0644);
    world_file(&w, "ws/nested/.git/objects/x", "", 0644);
    world_file(&w, "ws/nested/.git/refs/x", "", 0644);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const char *const args[] = { "fetch", "https://example.org/x", NULL };
        if (!world_try(&w, "git", args, table[i].cwd))
            fail_msg("%s: %s", table[i].cwd, world_refusal(&w));
        assert_true(w.plan.network);
        if (w.plan.trusted != table[i].trusted)
            fail_msg("'%s'", table[i].cwd);
    }
    world_destroy(&w);
}

static void expect_note(struct world *w, const char *const *args, const char *note)
{
    assert_true(world_try(w, "git", args, ""));
    struct str notes = w->plan.notes;
    if (note ? !notes.len || !strstr(notes.data, note) : notes.len > 0)
        fail_msg("git %s: '%.*s'", args[0], STR_ARG(notes));
}

/* What is not run is told to whom it matters, and to nobody else. */
static void test_notes(void **state)
{
    (void)state;
    struct world w;
    setup_world(&w, "cp $E .git/hooks/pre-commit; git config diff.x.textconv cat\n"
                    "git config filter.lfs.clean 'git-lfs clean -- %f'\n"
                    "git config core.fsmonitor true; git config remote.o.url ../x");
    expect_note(&w, ARGS("status"), NULL);
    expect_note(&w, ARGS("add", "a"), NULL);
    expect_note(&w, ARGS("commit", "-m", "x"), "the repository's hooks are not run");
    expect_note(&w, ARGS("diff"), "diff.x.textconv of the repository is not run (");
    expect_note(&w, ARGS("diff", "--ext-diff"), "--ext-diff is turned off");
    expect_note(&w, ARGS("switch", "-tc", "x"), "no upstream is stored");
    expect_note(&w, ARGS("branch", "-u", "x"), "no upstream is stored");
    world_destroy(&w);
    setup_world(&w,
            "git config lfs.customtransfer.x.path $E; git config core.fsmonitor $E\n"
            "git config filter.lfs.clean 'git-lfs clean -- %f'");
    expect_note(&w, ARGS("status"), "core.fsmonitor of the repository is not run");
    expect_note(&w, ARGS("add", "a"),
            "lfs.customtransfer.x.path of the repository is not run");
    assert_true(has_item(w.plan.env, "GIT_CONFIG_KEY_1=core.hooksPath"));
    assert_true(has_item(w.plan.env, "GIT_CONFIG_VALUE_1=/dev/null"));
    world_destroy(&w);
}

/* Variables of the server itself, or of a policy that locks none. */
static void test_environment(void **state)
{
    (void)state;
    static const char *const names[] = { "GIT_EXTERNAL_DIFF", "GIT_EDITOR", "EDITOR",
        "VISUAL", "GIT_SSH_COMMAND", "GIT_SSH", "GIT_ASKPASS", "GIT_PROXY_COMMAND",
        "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "PAGER" };
    static const char *const vectors[][4] = { { "diff" }, { "commit", "-a" },
        { "ls-remote", "ssh://127.0.0.1:1/x" }, { "ls-remote", "git://127.0.0.1:1/x" },
        { "rebase", "-i", "topic" } };
    struct world w;
    world_with_git(&w);
    script(&w, base_script);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        world_variable(&w, names[i], world_path(&w, "evil.sh"));
    world_variable(&w, "GIT_CONFIG_COUNT", "1");
    world_variable(&w, "GIT_CONFIG_KEY_0", "core.fsmonitor");
    world_variable(&w, "GIT_CONFIG_VALUE_0", world_path(&w, "evil.sh"));
    world_variable(&w, "GIT_SSL_CAINFO", world_path(&w, "out/secret.txt"));
    world_variable(&w, "GIT_SSL_CAPATH", world_path(&w, "ws"));
    world_variable(&w, "GIT_SSL_NO_VERIFY", "1");
    world_ready(&w);
    assert_true(world_try(&w, "git", ARGS("fetch"), ""));
    assert_true(has_item(w.plan.env, arena_printf(w.arena, "GIT_SSL_CAINFO=%s",
                                             world_path(&w, "out/secret.txt"))));
    assert_false(has_item(w.plan.env, "GIT_SSL_NO_VERIFY=1"));
    assert_false(has_item(w.plan.env,
            arena_printf(w.arena, "GIT_SSL_CAPATH=%s", world_path(&w, "ws"))));
    run_plain(&w, ARGS("git", "diff"), "ws");
    assert_true(has_proof(&w));
    for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
        plan_and_run(&w, vectors[i]);
        if (has_proof(&w))
            fail_msg("was run: git %s", vectors[i][0]);
    }
    world_destroy(&w);
}

/* The user's configuration holds, unless an agent may write it. */
static void test_home(void **state)
{
    (void)state;
    struct world w;
    setup_world(&w, "git config --unset user.name; git config --global user.name Home");
    assert_int_equal(plan_and_run(&w, ARGS("config", "user.name")), 0);
    assert_true(is_in_log(&w, "Home"));
    script(&w, "git config --global include.path $PWD/inc; touch inc");
    assert_int_not_equal(plan_and_run(&w, ARGS("config", "user.name")), 0);
    assert_non_null(strstr(w.plan.notes.data, "an agent may write it"));
    script(&w, "git config --global include.path /etc/none");
    assert_int_equal(plan_and_run(&w, ARGS("config", "user.name")), 0);
    w.writable[1] = (struct policy_path){ .path = str_of(world_path(&w, "home")) };
    w.policy.writable_count = 2;
    world_ready(&w);
    assert_int_not_equal(plan_and_run(&w, ARGS("config", "user.name")), 0);
    assert_non_null(strstr(w.plan.notes.data, "an agent may write it"));
    world_destroy(&w);
}

/* What lies outside is neither read as a file nor talked to. */
static void test_outside(void **state)
{
    (void)state;
    static const char *const vectors[][5] = {
        { "diff", "--no-index", "a", "outlink" },
        { "diff", "--no-index", "/dev/null", "../out/secret.txt" },
        { "diff", "a", "../out/secret.txt" },
        { "grep", "--no-index", "x", "../out" },
        { "fetch", "../out" },
        { "fetch", "file:///" },
        { "fetch", "linked" },
        { "fetch", "-oProxyCommand=id", "--", "-x" },
        { "fetch", "https://x/", "--upload-pack", "id" },
        { "pull", "../out" },
        { "ls-remote", "fd::0" },
        { "ls-remote", "transport::address" },
        { "ls-remote", "transport://x" },
        { "ls-remote", "::x" },
        { "fetch", "--multiple", "https://host/a", "../out" },
        { "remote", "show", "../out" },
        { "fetch", "bare" }, /* an agent could have made it */
        { "fetch", "other" },
        { "push", "." },
        { "push", "nested" },
    };
    struct world w;
    setup_world(&w, "ln -s ../out linked; ln -s ../out other.git\n"
                    "git init -q --bare bare; git init -q nested");
    w.sections[0].arg_paths = ARG_PATHS_NONE; /* the deputy alone */
    world_ready(&w);
    for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
        if (world_try(&w, "git", vectors[i], ""))
            fail_msg("planned: git %s %s", vectors[i][0], vectors[i][1]);
    }
    static const char *const fine[][3] = { { "fetch", "." }, { "fetch", "git@host:a/b" },
        { "ls-remote", "https://host/a" }, { "fetch", "host:a" }, { "fetch", "nested" },
        { "fetch", "upstream" }, { "push", "origin" }, { "pull", ".", "topic" },
        { "fetch", "[::1]:a" } };
    for (size_t i = 0; i < ARRAY_LEN(fine); i++) {
        if (!world_try(&w, "git", fine[i], ""))
            fail_msg("refused: git fetch %s", fine[i][1]);
    }
    world_destroy(&w);
}

/* These take the next argument if there is one, which git's list does not say. */
static bool takes_last(struct str name)
{
    static const char *const names[] = { "--contains", "--no-contains", "--merged",
        "--no-merged", "--points-at", "--cacheinfo", "--file" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_is(name, names[i]))
            return true;
    }
    return false;
}

/*
 * `word` is what git says: "--author=" takes a value, "--amend" none, or only an attached
 * one.  Taken for one that does, it would hide the argument behind it.
 */
static bool is_read_as_git(const struct git_command *command, struct str word)
{
    bool takes = str_ends(word, STR("="));
    struct str name = str_sub(word, 0, word.len - takes), args[2] = { name, STR("x") };
    struct option_reader r = { .options = &command->options, .args = args, .count = 2 };
    struct option_word read;
    assert_true(option_next(&r, &read));
    bool is_same = str_eq(read.option.name, name), swallows = read.has_value;
    bool is_wrong = is_same ? takes != swallows : swallows;
    if (!is_wrong || !read.option.name.len || takes_last(name))
        return true;
    print_error("git %s %.*s is taken for '%.*s'\n", command->name, STR_ARG(word),
            STR_ARG(read.option.name));
    return false;
}

/* Every option that git itself lists is read as git reads it. */
static void test_options_as_git(void **state)
{
    (void)state;
    struct world w;
    size_t count, options = 0, wrong = 0;
    const struct git_command *table = git_command_table(&count);
    setup_world(&w, "");
    for (size_t i = 0; i < count; i++) {
        if (table[i].refused)
            continue;
        run_plain(&w, ARGS("git", table[i].name, "--git-completion-helper-all"), "ws");
        struct str text = read_log(&w);
        while (text.len) {
            struct str word = str_cut(&text, ' ');
            if (word.len <= 2 || !str_starts(word, STR("--")))
                continue;
            wrong += !is_read_as_git(&table[i], word);
            options++;
        }
    }
    assert_true(options > 500);
    assert_int_equal(wrong, 0);
    world_destroy(&w);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_poisons),
        cmocka_unit_test(test_work),
        cmocka_unit_test(test_filters_are_not_left_out_silently),
        cmocka_unit_test(test_clean_and_stash),
        cmocka_unit_test(test_strange_repositories),
        cmocka_unit_test(test_profiles),
        cmocka_unit_test(test_trust),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_home),
        cmocka_unit_test(test_outside),
        cmocka_unit_test(test_options_as_git),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
