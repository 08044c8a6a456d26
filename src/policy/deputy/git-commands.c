#include "policy/deputy/git-commands.h"

const struct options git_global_options = {
    "-C: -P --no-pager --no-replace-objects --no-lazy-fetch --no-optional-locks "
    "--no-advice --literal-pathspecs --glob-pathspecs --noglob-pathspecs "
    "--icase-pathspecs --version -v --help*! -h --paginate*! -p*! -c! --config-env! "
    "--exec-path! --git-dir^ --work-tree^ --namespace^ --super-prefix^ --attr-source^ "
    "--shallow-file^ --bare*^ --html-path --man-path --info-path",
    NULL,
};

/* Whatever shows differences takes these, documented or not; and so does every command
 * that reads its operands as revisions. */
static const struct options diff_options = {
    "--output> -O< --ext-diff*~ --textconv*~ --no-index --text --color --full-index "
    "--abbrev? --color-moved? --color-words? --dirstat? --format? --ignore-submodules? "
    "--pretty? "
    "--stat? --submodule? --word-diff? -B? -C? -M? -U? -X? --anchored= "
    "--color-moved-ws= --diff-algorithm= --diff-filter= --dst-prefix= --find-object= "
    "--ignore-matching-lines= --inter-hunk-context= --line-prefix= "
    "--output-indicator-context= --output-indicator-new= --output-indicator-old= "
    "--rotate-to= --skip-to= --src-prefix= --stat-count= --stat-graph-width= "
    "--stat-name-width= --stat-width= --word-diff-regex= --ws-error-highlight= -G= -I= "
    "-S= -l=",
    NULL,
};

static const struct options log_options = {
    "--after= --author= --before= --branches? --committer= --date= --decorate? "
    "--decorate-refs= --decorate-refs-exclude= --diff-merges= --disambiguate? "
    "--encoding? --exclude= --exclude-hidden= --filter? --glob= --grep= --grep-reflog= "
    "--max-age= --max-count= --min-age= --notes? --remotes? --show-notes? --since= "
    "--since-as-filter= --skip= --tags? --until= -L= -n=",
    &diff_options,
};

#define SIGNS      "-S?! --gpg-sign?! "
#define STRATEGIES "--strategy% -s% --strategy-option= -X= "
#define FETCHES                                                                   \
    "--upload-pack! --server-option= -o= --depth= --deepen= --shallow-since= "    \
    "--shallow-exclude= --refmap= --negotiation-tip= --filter= --all --multiple " \
    "--recurse-submodules?~ --recurse-submodules-default^ --submodule-prefix^ "
#define BLAMES                                                                      \
    "--contents< -S< --ignore-revs-file< --ignore-rev= -L= -C? -M? -n -l -b -c -e " \
    "-f -p -s -t -w"
#define REFS                                                                  \
    "--contains= --no-contains= --merged= --no-merged= --points-at= --sort= " \
    "--format= --color? --column? "

#define NONE              \
    {                     \
        "", &diff_options \
    }
#define TAKES(words)         \
    {                        \
        words, &diff_options \
    }
#define TAKES_LOG(words)    \
    {                       \
        words, &log_options \
    }

#define NEVER(command, why)                              \
    {                                                    \
        .name = command, .options = NONE, .refused = why \
    }

static const char runs_tool[] = "it starts a program that the configuration names";
static const char runs_argument[] = "it runs commands that its arguments name";
static const char keeps_secrets[] = "it reads and prints stored passwords";
static const char serves[] = "it is the other end of a connection";
static const char submodule_config[] = "submodules have repositories of their own";

/* Sorted. */
static const struct git_command commands[] = {
    { "add", GIT_WRITES | GIT_STORES, TAKES("--pathspec-from-file< --chmod="), NULL },
    { "am", GIT_WRITES | GIT_STORES | GIT_READS_FILES | GIT_CHECKS_OUT,
            TAKES(SIGNS
                    "--skip --directory= --empty= --exclude= --include= --patch-format= "
                    "--quoted-cr= --whitespace= -C= -p="),
            NULL },
    { "annotate", GIT_TEXTCONV, TAKES_LOG(BLAMES), NULL },
    { "apply", GIT_WRITES | GIT_STORES | GIT_READS_FILES | GIT_CHECKS_OUT,
            TAKES("--unsafe-paths*^ --build-fake-ancestor> --directory= --exclude= "
                  "--include= --whitespace= -C= -p="),
            NULL },
    { "archive", 0,
            TAKES("--output> -o> -l --remote^ --exec! --add-file< --add-virtual-file= "
                  "--format= --prefix= --mtime="),
            NULL },
    { "bisect", GIT_WRITES | GIT_TEXT | GIT_CHECKS_OUT, TAKES("--term-new= --term-old="),
            NULL },
    { "blame", GIT_TEXTCONV, TAKES_LOG(BLAMES), NULL },
    { "branch", GIT_WRITES | GIT_TEXT,
            TAKES(REFS "-l --list --set-upstream --set-upstream-to= --unset-upstream "
                       "--edit-description "
                       "-u= --track? -t? --abbrev?"),
            NULL },
    { "cat-file", GIT_TEXT,
            TAKES("--batch? --batch-check? --batch-command? --filter= --path= "
                  "--filters --textconv"),
            NULL },
    { "check-attr", 0, NONE, NULL },
    { "check-ignore", 0, NONE, NULL },
    { "check-mailmap", GIT_TEXT, TAKES("--mailmap-file< --mailmap-blob="), NULL },
    { "check-ref-format", GIT_TEXT, NONE, NULL },
    { "checkout", GIT_WRITES | GIT_CHECKS_OUT,
            TAKES("--pathspec-from-file< -b= -B= -l --orphan= --conflict= --track? -t? "
                  "--recurse-submodules?~"),
            NULL },
    { "cherry", GIT_TEXT, TAKES("--abbrev?"), NULL },
    { "cherry-pick", GIT_WRITES | GIT_TEXT | GIT_CHECKS_OUT,
            TAKES_LOG(
                    SIGNS "--strategy% --strategy-option= -X= --cleanup= --empty= "
                          "--mainline= -m= -n --commit --skip --continue --abort --quit"),
            NULL },
    { "clean", GIT_WRITES | GIT_CHECKS_OUT, TAKES("--exclude= -e= -X -n"), NULL },
    { "clone", GIT_WRITES | GIT_NETWORK | GIT_REMOTE,
            TAKES(FETCHES "-u! --config! -c! --template^ --separate-git-dir^ "
                          "--bundle-uri^ --reference< --reference-if-able< --recursive? "
                          "-l --branch= -b= --origin= --jobs= -j= --ref-format= "
                          "--revision="),
            NULL },
    { "commit", GIT_WRITES | GIT_STORES,
            TAKES(SIGNS "--file< -F< --template< -t< --pathspec-from-file< --message= "
                        "-m= --author= --date= --cleanup= --fixup= --squash= "
                        "--reedit-message= -c= --reuse-message= -C= --trailer= "
                        "--untracked-files? -u?"),
            NULL },
    { "commit-tree", GIT_WRITES | GIT_TEXT, TAKES(SIGNS "-F< -m= -p="), NULL },
    { "config", GIT_TEXT,
            TAKES("--get --get-all --get-regexp --get-urlmatch --get-color "
                  "--get-colorbool --list -l --path --global --add*^ --unset*^ "
                  "--unset-all*^ --replace-all*^ --rename-section*^ --remove-section*^ "
                  "--edit*^ -e*^ --file< -f< --int --blob= --type= -t= --default= "
                  "--value= "
                  "--url= --regexp --comment="),
            NULL },
    { "count-objects", 0, NONE, NULL },
    NEVER("credential", keeps_secrets),
    NEVER("credential-cache", keeps_secrets),
    NEVER("credential-store", keeps_secrets),
    NEVER("daemon", serves),
    { "describe", GIT_TEXT,
            TAKES("--abbrev? --candidates= --match= --exclude= --dirty? --broken?"),
            NULL },
    { "diff", GIT_DIFFS | GIT_TEXTCONV, TAKES_LOG("--no-index"), NULL },
    { "diff-files", GIT_DIFFS | GIT_TEXTCONV, TAKES_LOG(""), NULL },
    { "diff-index", GIT_DIFFS | GIT_TEXTCONV, TAKES_LOG(""), NULL },
    { "diff-tree", GIT_DIFFS | GIT_TEXTCONV, TAKES_LOG(""), NULL },
    NEVER("difftool", runs_tool),
    { "fetch", GIT_WRITES | GIT_NETWORK | GIT_REMOTE | GIT_TEXT,
            TAKES(FETCHES "--jobs= -j="), NULL },
    NEVER("filter-branch", runs_argument),
    { "fmt-merge-msg", 0, TAKES("--file< -F< -m= --message= --into-name= --log?"), NULL },
    { "for-each-ref", GIT_TEXT, TAKES(REFS "--count= --exclude="), NULL },
    NEVER("for-each-repo", runs_argument),
    { "format-patch", GIT_DIFFS | GIT_TEXTCONV,
            TAKES_LOG(
                    "-n -N --output-directory> -o> --signature-file< --description-file< "
                    "--add-header= --base= --cc= --to= --from? --in-reply-to= "
                    "--interdiff= --range-diff= --reroll-count= -v= --signature= "
                    "--start-number= --subject-prefix= --suffix= --creation-factor= "
                    "--cover-from-description= --filename-max-length="),
            NULL },
    { "fsck", GIT_TEXT, NONE, NULL },
    { "gc", GIT_WRITES, TAKES("--prune?"), NULL },
    { "grep", GIT_PATTERN | GIT_TEXTCONV,
            TAKES("-O?! --open-files-in-pager?! -f< -e= --no-index -o --only-matching "
                  "--max-count= -m= --max-depth= --threads= --context= -C= "
                  "--before-context= -B= --after-context= -A= --color? -G -I -l"),
            NULL },
    { "hash-object", GIT_WRITES | GIT_STORES | GIT_READS_FILES, TAKES("--path= -t="),
            NULL },
    NEVER("help", runs_tool),
    NEVER("hook", "hooks are not run"),
    { "init", GIT_WRITES,
            TAKES("--template^ --separate-git-dir^ --initial-branch= -b= "
                  "--object-format= --ref-format= --shared?"),
            NULL },
    NEVER("instaweb", runs_tool),
    { "interpret-trailers", GIT_READS_FILES,
            TAKES("--in-place*^ --trailer= --where= --if-exists= --if-missing="), NULL },
    { "log", GIT_DIFFS | GIT_TEXTCONV, TAKES_LOG(""), NULL },
    { "ls-files", 0,
            TAKES("--exclude-from< -X< --exclude= -x= --exclude-per-directory= "
                  "--with-tree= --format= --abbrev? -o"),
            NULL },
    { "ls-remote", GIT_NETWORK | GIT_REMOTE | GIT_TEXT,
            TAKES("--upload-pack! --exec! --server-option= -o= --sort="), NULL },
    { "ls-tree", 0, TAKES("--format= --abbrev? -l"), NULL },
    { "merge", GIT_WRITES | GIT_TEXT | GIT_CHECKS_OUT,
            TAKES(SIGNS STRATEGIES "--file< -F< --message= -m= --cleanup= --into-name= "
                                   "--log?"),
            NULL },
    { "merge-base", GIT_TEXT, NONE, NULL },
    { "merge-file", GIT_READS_FILES | GIT_WRITES_FILE,
            TAKES("-L= --marker-size= --diff-algorithm="), NULL },
    { "merge-tree", GIT_TEXT, TAKES("--merge-base= --strategy-option= -X="), NULL },
    NEVER("mergetool", runs_tool),
    { "mktag", GIT_WRITES, NONE, NULL },
    { "mv", GIT_WRITES | GIT_CHECKS_OUT, NONE, NULL },
    { "name-rev", GIT_TEXT, TAKES("--refs= --exclude="), NULL },
    { "notes", GIT_WRITES | GIT_TEXT,
            TAKES("--file< -F< --message= -m= --reuse-message= -C= --reedit-message= -c= "
                  "--ref= --strategy= -s="),
            NULL },
    { "prune", GIT_WRITES | GIT_TEXT, TAKES("--expire="), NULL },
    { "pull", GIT_WRITES | GIT_NETWORK | GIT_REMOTE | GIT_TEXT | GIT_CHECKS_OUT,
            TAKES(FETCHES SIGNS STRATEGIES "--exec! -x! --rebase? -r? --jobs? -j? --log? "
                                           "--signoff? --cleanup="),
            NULL },
    { "push", GIT_WRITES | GIT_NETWORK | GIT_REMOTE | GIT_TEXT,
            TAKES("--receive-pack! --exec! --repo^ --signed?! --push-option= -o= "
                  "--force-with-lease? --recurse-submodules^"),
            NULL },
    { "range-diff", GIT_TEXT | GIT_DIFFS, TAKES_LOG("--creation-factor="), NULL },
    { "read-tree", GIT_WRITES | GIT_CHECKS_OUT,
            TAKES("--index-output> --prefix= --exclude-per-directory= "
                  "--recurse-submodules?~"),
            NULL },
    { "rebase", GIT_WRITES | GIT_TEXT | GIT_CHECKS_OUT,
            TAKES(SIGNS STRATEGIES
                    "--exec! -x! --continue --skip --edit-todo --onto= --empty= "
                    "--whitespace= -C= --rebase-merges? -r?"),
            NULL },
    { "reflog", GIT_TEXT, TAKES_LOG("--expire= --expire-unreachable="), NULL },
    { "remote", GIT_TEXT, TAKES("-n -v --verbose -t= -m= -p"), NULL },
    NEVER("replace", "what a name stands for is not for agents to change"),
    { "rerere", GIT_WRITES, NONE, NULL },
    { "reset", GIT_WRITES | GIT_CHECKS_OUT,
            TAKES("--pathspec-from-file< --recurse-submodules?~"), NULL },
    { "restore", GIT_WRITES | GIT_CHECKS_OUT,
            TAKES("--pathspec-from-file< --source= -s= -S --conflict= "
                  "--recurse-submodules?~"),
            NULL },
    { "rev-list", 0, TAKES_LOG("--disk-usage?"), NULL },
    { "rev-parse", GIT_TEXT,
            TAKES_LOG("--abbrev-ref? --short? --default= --git-path= --prefix= "
                      "--resolve-git-dir:"),
            NULL },
    { "revert", GIT_WRITES | GIT_TEXT | GIT_CHECKS_OUT,
            TAKES_LOG(SIGNS "--strategy% --strategy-option= -X= --cleanup= --mainline= "
                            "-m= -n --commit --skip --continue --abort --quit"),
            NULL },
    { "rm", GIT_WRITES | GIT_CHECKS_OUT, TAKES("--pathspec-from-file<"), NULL },
    NEVER("send-email", runs_tool),
    NEVER("shell", serves),
    { "shortlog", GIT_DIFFS, TAKES_LOG("--group= -w? -n --committer"), NULL },
    { "show", GIT_DIFFS | GIT_TEXTCONV, TAKES_LOG(""), NULL },
    { "show-branch", GIT_TEXT, TAKES("--color? --more? --reflog? -g?"), NULL },
    { "show-ref", GIT_TEXT, TAKES("--abbrev? --exclude-existing? --hash? -s?"), NULL },
    { "sparse-checkout", GIT_WRITES | GIT_CHECKS_OUT, NONE, NULL },
    { "stash", GIT_WRITES | GIT_STORES | GIT_CHECKS_OUT,
            TAKES_LOG("--pathspec-from-file< --message= -m= -S? --all -a "
                      "--include-untracked -u"),
            NULL },
    { "status", 0,
            TAKES("--column? --find-renames? --ignored? --ignore-submodules? "
                  "--porcelain? --untracked-files? -M? -u?"),
            NULL },
    { "stripspace", 0, NONE, NULL },
    NEVER("submodule", submodule_config),
    { "switch", GIT_WRITES | GIT_TEXT | GIT_CHECKS_OUT,
            TAKES("--force --create= -c= --force-create= -C= --orphan= --conflict= "
                  "--track? -t? "
                  "--recurse-submodules?~"),
            NULL },
    { "symbolic-ref", GIT_WRITES | GIT_TEXT, TAKES("-m="), NULL },
    { "tag", GIT_WRITES | GIT_TEXT,
            TAKES(REFS "-l --list --sign*! -s*! --local-user! -u! --file< -F< --message= "
                       "-m= "
                       "--cleanup= --trailer= -n?"),
            NULL },
    { "update-index", GIT_WRITES | GIT_STORES,
            TAKES("--cacheinfo= --chmod= --index-version="), NULL },
    { "update-ref", GIT_WRITES | GIT_TEXT, TAKES("-m="), NULL },
    NEVER("upload-archive", serves),
    NEVER("upload-pack", serves),
    { "var", GIT_TEXT, NONE, NULL },
    { "verify-commit", GIT_TEXT, NONE, NULL },
    { "verify-pack", 0, NONE, NULL },
    { "verify-tag", GIT_TEXT, TAKES("--format="), NULL },
    { "version", GIT_TEXT, NONE, NULL },
    NEVER("web--browse", runs_tool),
    { "worktree", GIT_WRITES | GIT_CHECKS_OUT,
            TAKES("-b= -B= --reason= --expire= --orphan"), NULL },
    { "write-tree", GIT_WRITES, TAKES("--prefix="), NULL },
};

static int compare_name(const void *key, const void *row)
{
    return str_cmp(
            *(const struct str *)key, str_of(((const struct git_command *)row)->name));
}

const struct git_command *git_command_find(struct str name)
{
    return bsearch(&name, commands, ARRAY_LEN(commands), sizeof(*commands), compare_name);
}

const struct git_command *git_command_table(size_t *count)
{
    *count = ARRAY_LEN(commands);
    return commands;
}

bool git_strategy_is_builtin(struct str name)
{
    static const char *const builtin[] = { "octopus", "ort", "ours", "recursive",
        "resolve", "subtree" };
    for (size_t i = 0; i < ARRAY_LEN(builtin); i++) {
        if (str_is(name, builtin[i]))
            return true;
    }
    return false;
}
