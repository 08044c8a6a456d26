#include "cli/policy-script.h"

#include "base/json.h"
#include "broker/spawn.h"
#include "cli/cli.h"
#include "policy/place.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME       "paddock policy"
#define MAX_ANSWER ((size_t)64 << 20)
#define MAX_TEXT   ((size_t)64 << 20)
#define MAX_SHOWN  160    /* bytes of a word */
#define MAX_STEPS  100000 /* of looking up one path */
#define READ_SIZE  ((size_t)64 << 10)

/* --- the worker --- */

static bool start_worker(const char *path, int in, int out, pid_t *pid, struct error *err)
{
    char mode[] = "--analyse", locale[] = "LC_ALL=C.UTF-8";
    char *const argv[] = { (char *)(uintptr_t)path, mode, NULL };
    char *const env[] = { locale, NULL };
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    int errnum = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    if (!errnum)
        errnum = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (!errnum)
        errnum = posix_spawn(pid, path, &actions, NULL, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    return !errnum || error_errno(err, errnum, "cannot run '%s'", path);
}

static bool read_all(int fd, struct buf *out, struct error *err)
{
    for (;;) {
        char *room = buf_reserve(out, READ_SIZE);
        if (!room)
            return error_set(err, ERR_LIMIT, "the list of its commands is too long");
        ssize_t n = read(fd, room, READ_SIZE);
        if (n < 0 && errno != EINTR)
            return error_errno(err, errno, "cannot read from the worker");
        if (n == 0)
            return true;
        out->len += n > 0 ? (size_t)n : 0;
    }
}

static bool wait_for(pid_t pid, struct error *err)
{
    int status;
    char how[64];
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return error_errno(err, errno, "cannot wait for the worker");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    helper_describe_status(status, how, sizeof(how));
    return error_set(err, ERR_BUG, "the worker %s", how);
}

/* What a worker says of the script that is read from `in`. */
static bool ask_worker(int in, struct buf *answer, struct error *err)
{
    auto_free char *path = NULL;
    int ends[2];
    pid_t pid;
    if (!helper_find("paddock-worker", &path, err))
        return false;
    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_errno(err, errno, "cannot make a pipe");
    auto_fd int from = ends[0];
    bool started = start_worker(path, in, ends[1], &pid, err);
    close_fd(&ends[1]);
    if (!started)
        return false;
    bool got = read_all(from, answer, err);
    close_fd(&from);
    struct error ended = { 0 };
    if (wait_for(pid, &ended) || !got)
        return got;
    *err = ended;
    return false;
}

static bool take_apart(const char *file, json_t **out, struct error *err)
{
    bool is_input = !strcmp(file, "-");
    auto_fd int fd = is_input ? -1 : open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    auto_buf answer = BUF(MAX_ANSWER);
    if (!is_input && fd < 0)
        return error_errno(err, errno, "cannot open the script '%s'", file);
    if (!ask_worker(is_input ? STDIN_FILENO : fd, &answer, err) ||
            !json_parse(buf_str(&answer), out, err))
        return false;
    const char *why = json_string_value(json_object_get(*out, "error"));
    return !why || error_set(err, ERR_INVALID, "%s: %s", file, why);
}

/* --- what the policy says --- */

struct report {
    const struct policy_script *s;
    struct arena *arena;
    size_t refused, at_run_time;
};

static void set_text(json_t *item, const char *key, struct str text)
{
    json_object_set_new(item, key, json_text(text));
}

static void say_run_time(struct report *r, json_t *item, const char *reason)
{
    r->at_run_time++;
    set_text(item, "verdict", STR("run-time"));
    set_text(item, "reason", str_of(reason));
}

static void say_refused(struct report *r, json_t *item, const struct refusal *why)
{
    auto_buf text = BUF(MAX_TEXT);
    r->refused++;
    refusal_write(why, &text);
    set_text(item, "verdict", STR("refused"));
    set_text(item, "reason", buf_str(&text));
    json_object_set_new(item, "refusal", policy_refusal_json(why));
}

static void say_allowed(struct report *r UNUSED, json_t *item, const char *rule)
{
    set_text(item, "verdict", STR("allowed"));
    if (rule)
        set_text(item, "rule", str_of(rule));
}

static bool is_true(const json_t *item, const char *key)
{
    return json_is_true(json_object_get(item, key));
}

/* Where the command of `item` runs; false: that is only known at run time. */
static bool find_folder(const struct report *r, const json_t *item, struct str *out)
{
    struct str start = str_of(r->s->cwd ? r->s->cwd : "");
    struct str folder = json_get_str(item, "folder", STR(""));
    *out = folder.len ? folder : start;
    if (folder.len && start.len && folder.data[0] != '/')
        *out = str_of(
                arena_printf(r->arena, "%.*s/%.*s", STR_ARG(start), STR_ARG(folder)));
    return !json_object_get(item, "folder_since");
}

static const char *lost_folder(const struct report *r, const json_t *item)
{
    json_int_t line = json_integer_value(json_object_get(item, "folder_since"));
    if (!line)
        return "its folder is only known at run time";
    return arena_printf(r->arena,
            "its folder is only known at run time, because of line %lld",
            (long long)line);
}

/* A request as far as it is literal, and what of it is only known at run time (NULL:
 * nothing). */
static const char *make_request(
        const struct report *r, const json_t *item, struct command_request *out)
{
    const json_t *words = json_object_get(item, "words");
    const json_t *assigns = json_object_get(item, "assigns");
    size_t count = json_array_size(words), env_count = json_array_size(assigns);
    struct str *args = arena_alloc(r->arena, (count + 1) * sizeof(*args));
    struct env_override *env = arena_alloc(r->arena, (env_count + 1) * sizeof(*env));
    const char *missing = NULL;
    *out = (struct command_request){ .command = json_str(json_array_get(words, 0)),
        .args = args,
        .env = env,
        .env_count = env_count };
    if (!find_folder(r, item, &out->cwd))
        missing = lost_folder(r, item);
    for (size_t i = 0; i < env_count; i++) {
        const json_t *one = json_array_get(assigns, i);
        env[i] = (struct env_override){ json_get_str(one, "name", STR("")),
            json_get_str(one, "value", STR("")) };
        if (!json_is_string(json_object_get(one, "value")))
            missing = "its environment is only known at run time";
    }
    if (is_true(item, "elsewhere"))
        missing = "its folder is only known at run time";
    if (is_true(item, "gets_more"))
        missing = "it is given more arguments at run time";
    for (size_t i = 1; i < count; i++) {
        const json_t *word = json_array_get(words, i);
        if (json_is_string(word))
            args[out->arg_count++] = json_str(word);
        else
            missing = "its arguments are only known at run time";
    }
    return missing;
}

/* Is all known but where it runs? */
static bool has_literal_words(const json_t *item)
{
    const json_t *word;
    size_t i;
    json_array_foreach (json_object_get(item, "words"), i, word)
        if (!json_is_string(word))
            return false;
    return !is_true(item, "gets_more");
}

/* Refused whatever its arguments are, or wherever it runs. */
static bool is_certain(const struct refusal *why, bool only_folder)
{
    return !strcmp(why->code, "command") ||
           (only_folder && !strcmp(why->code, "command-arguments"));
}

static void judge_program(struct report *r, json_t *item)
{
    struct command_request request;
    struct command_plan plan = { 0 };
    const char *missing = make_request(r, item, &request);
    bool only_folder = json_object_get(item, "folder_since") && has_literal_words(item);
    auto_refusal why;
    refusal_init(&why);
    bool allowed = command_decide(r->s->commands, &request, r->arena, &plan, &why);
    bool is_path = memchr(request.command.data, '/', request.command.len) != NULL;
    if (!allowed && is_path) {
        say_run_time(r, item,
                "as a program it would be refused; a script of its own is run by the "
                "shell");
    } else if (!allowed && (!missing || is_certain(&why, only_folder))) {
        say_refused(r, item, &why);
    } else if (missing) {
        say_run_time(r, item,
                allowed ? missing
                        : arena_printf(r->arena, "%s; without that it would be refused",
                                  missing));
    } else {
        auto_buf rule = BUF(MAX_TEXT);
        struct origin origin;
        policy_write_rule(plan.section, request.args, request.arg_count, &rule, &origin);
        buf_addc(&rule, ' ');
        origin_write(&origin, &rule);
        buf_addc(&rule, 0);
        say_allowed(r, item, rule.data);
    }
}

static void judge_command(struct report *r, json_t *item)
{
    struct str kind = json_get_str(item, "kind", STR(""));
    if (str_is(kind, "builtin") || str_is(kind, "function"))
        set_text(item, "verdict", kind);
    else if (str_is(kind, "maybe-function"))
        say_run_time(r, item,
                arena_printf(r->arena,
                        "the function or alias of line %d, if it is defined by then",
                        (int)json_integer_value(json_object_get(item, "defined_at"))));
    else if (str_is(kind, "program"))
        judge_program(r, item);
    else
        say_run_time(r, item, "which command it is, is only known at run time");
}

static bool find_place(
        const struct report *r, struct str folder, struct str path, struct place *out)
{
    unsigned budget = MAX_STEPS;
    struct place base = { .path = r->s->policy->workspace_real };
    return (!folder.len || place_find(base.path, folder, PLACE_FOLLOW, r->arena, &budget,
                                   &base)) &&
           place_find(base.path, path, PLACE_FOLLOW, r->arena, &budget, out);
}

static void judge_path(struct report *r, json_t *item, struct str folder, struct str path)
{
    struct str how = json_get_str(item, "open", STR(""));
    struct place place;
    auto_refusal why;
    refusal_init(&why);
    bool reads = str_is(how, "read") || str_is(how, "read-write");
    bool writes = !str_is(how, "read");
    if (!find_place(r, folder, path, &place))
        say_run_time(r, item, "it leads nowhere now");
    else if ((reads && !path_allowed(r->s->paths, place.path, PATH_READ, &why)) ||
             (writes && !path_allowed(r->s->paths, place.path, PATH_WRITE, &why)))
        say_refused(r, item, &why);
    else
        say_allowed(r, item, NULL);
}

static void judge_redirect(struct report *r, json_t *item)
{
    const json_t *target = json_object_get(item, "target");
    struct str path = json_str(target), folder;
    bool has_folder = find_folder(r, item, &folder);
    if (is_true(item, "device"))
        say_allowed(r, item, NULL);
    else if (!json_is_string(target))
        say_run_time(r, item, "its path is only known at run time");
    else if (!has_folder && !str_starts(path, STR("/")))
        say_run_time(r, item, lost_folder(r, item));
    else
        judge_path(r, item, folder, path);
}

static void judge(struct report *r, json_t *list)
{
    json_t *item;
    size_t i;
    json_array_foreach (json_object_get(list, "commands"), i, item)
        judge_command(r, item);
    json_array_foreach (json_object_get(list, "redirects"), i, item)
        judge_redirect(r, item);
    r->at_run_time += json_array_size(json_object_get(list, "unknown"));
}

/* --- text for people --- */

static bool is_plain(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (strchr(" \t\n'\"\\$`*?[]()<>|&;#~", s.data[i]))
            return false;
    return s.len > 0;
}

static void write_word(const json_t *word, struct buf *out)
{
    bool is_literal = json_is_string(word);
    struct str text =
            is_literal ? json_str(word) : json_get_str(word, "runtime", STR(""));
    bool quoted = is_literal && !is_plain(text);
    buf_add(out, quoted ? STR("'") : STR(""));
    buf_add_shown(out, str_sub(text, 0, MAX_SHOWN));
    buf_add(out, text.len > MAX_SHOWN ? STR("...") : STR(""));
    buf_add(out, quoted ? STR("'") : STR(""));
}

static int line_of(const json_t *item)
{
    return (int)json_integer_value(json_object_get(item, "line"));
}

/* The reason may have several lines. */
static void write_reason(const json_t *item, struct buf *out)
{
    struct str rest = json_get_str(item, "reason", json_get_str(item, "rule", STR("")));
    while (rest.len) {
        struct str line = str_cut(&rest, '\n');
        buf_addf(out, "        %.*s\n", STR_ARG(line));
    }
}

static void write_command(const json_t *item, struct buf *out)
{
    const json_t *words = json_object_get(item, "words"), *word;
    struct str via = json_get_str(item, "via", STR(""));
    size_t i;
    buf_addf(out, "%5d: %-9s", line_of(item),
            json_string_value(json_object_get(item, "verdict")));
    json_array_foreach (words, i, word) {
        buf_addc(out, ' ');
        write_word(word, out);
    }
    buf_add(out, is_true(item, "gets_more") ? STR(" ...") : STR(""));
    if (via.len)
        buf_addf(out, "  (by %.*s)", STR_ARG(via));
    buf_addc(out, '\n');
    write_reason(item, out);
}

static void write_redirect(const json_t *item, struct buf *out)
{
    buf_addf(out, "%5d: %-9s %s ", line_of(item),
            json_string_value(json_object_get(item, "verdict")),
            json_string_value(json_object_get(item, "open")));
    write_word(json_object_get(item, "target"), out);
    buf_addc(out, '\n');
    write_reason(item, out);
}

static void write_unknown(const json_t *item, struct buf *out)
{
    struct str text = json_get_str(item, "text", STR(""));
    buf_addf(out, "%5d: %-9s ", line_of(item), "run-time");
    buf_add(out, json_get_str(item, "what", STR("")));
    buf_add(out, STR(": "));
    buf_add_shown(out, str_sub(text, 0, MAX_SHOWN));
    buf_add(out, text.len > MAX_SHOWN ? STR("...\n") : STR("\n"));
}

static void write_items(const json_t *list, const char *key, const char *title,
        void (*write)(const json_t *, struct buf *), struct buf *out)
{
    const json_t *item;
    size_t i;
    if (!json_array_size(json_object_get(list, key)))
        return;
    buf_addf(out, "%s\n", title);
    json_array_foreach (json_object_get(list, key), i, item)
        write(item, out);
}

static void print_report(const struct report *r, const json_t *list)
{
    auto_buf text = BUF(MAX_TEXT);
    write_items(list, "commands", "commands:", write_command, &text);
    write_items(list, "redirects", "redirects:", write_redirect, &text);
    write_items(list, "unknown", "not seen:", write_unknown, &text);
    buf_addf(&text, "%zu refused, %zu only known at run time\n", r->refused,
            r->at_run_time);
    cli_print(buf_str(&text));
}

int policy_script_test(const struct policy_script *s, struct arena *arena)
{
    struct report r = { .s = s, .arena = arena };
    struct error err = { 0 };
    json_t *list = NULL;
    if (!take_apart(s->file, &list, &err)) {
        json_decref(list);
        return cli_fail(NAME, 1, &err);
    }
    judge(&r, list);
    if (!s->json) {
        print_report(&r, list);
        json_decref(list);
    } else {
        json_object_set_new(list, "refused", json_integer((json_int_t)r.refused));
        json_object_set_new(list, "run_time", json_integer((json_int_t)r.at_run_time));
        policy_print_json(list);
    }
    return r.refused ? 1 : 0;
}
