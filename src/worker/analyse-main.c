/*
 * `paddock policy test --script`: what a script on standard input would start and open,
 * as JSON on standard output.  The parser reads agent text, so it does that here, where
 * nothing can be reached: confined as any worker, with no folder at all.
 */
#include "base/json.h"
#include "base/log.h"
#include "shell/analyse.h"
#include "shell/parse.h"
#include "worker/view.h"
#include "worker/worker.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define NAME       "paddock-worker"
#define MAX_ANSWER ((size_t)64 << 20)
#define MAX_STEPS  ((uint64_t)50 << 20)
#define READ_SIZE  ((size_t)64 << 10)

static bool read_script(struct buf *out, struct error *err)
{
    for (;;) {
        char *room = buf_reserve(out, READ_SIZE);
        if (!room)
            return error_set(err, ERR_LIMIT, "the script is larger than %zu bytes",
                    PARSE_MAX_TEXT);
        ssize_t n = read(STDIN_FILENO, room, READ_SIZE);
        if (n < 0 && errno != EINTR)
            return error_errno(err, errno, "cannot read the script");
        if (n == 0)
            return true;
        out->len += n > 0 ? (size_t)n : 0;
    }
}

/* A string; {"runtime": TEXT} if it is only known at run time, or cannot be said in JSON.
 */
static json_t *word_json(const struct analyse_word *w)
{
    json_t *text = json_text(w->text);
    if (w->is_literal && str_eq(json_str(text), w->text))
        return text;
    return json_pack("{s:o}", "runtime", text);
}

static json_t *assigns_json(const struct analyse_command *c)
{
    json_t *list = json_array();
    for (size_t i = 0; i < c->assign_count; i++)
        json_array_append_new(
                list, json_pack("{s:o, s:o}", "name", json_text(c->assigns[i].name),
                              "value", word_json(&c->assigns[i].value)));
    return list;
}

/* "folder": where it is, or "folder_since": the line after which nobody knows. */
static void add_folder(json_t *json, const struct analyse_folder *folder)
{
    if (!folder->is_known)
        json_object_set_new(json, "folder_since", json_integer(folder->line));
    else if (folder->path.len)
        json_object_set_new(json, "folder", json_text(folder->path));
}

/* What is false or empty is left out: the list may be long. */
static json_t *command_json(const struct analyse_command *c)
{
    static const char *const kinds[] = {
        [ANALYSE_BUILTIN] = "builtin",
        [ANALYSE_FUNCTION] = "function",
        [ANALYSE_MAYBE] = "maybe-function",
        [ANALYSE_PROGRAM] = "program",
        [ANALYSE_DYNAMIC] = "dynamic",
    };
    json_t *words = json_array();
    for (size_t i = 0; i < c->count; i++)
        json_array_append_new(words, word_json(&c->words[i]));
    json_t *json = json_pack("{s:s, s:i, s:o}", "kind", kinds[c->kind], "line",
            (int)c->line, "words", words);
    if (*c->via)
        json_object_set_new(json, "via", json_text(str_of(c->via)));
    if (c->assign_count)
        json_object_set_new(json, "assigns", assigns_json(c));
    if (c->gets_more)
        json_object_set_new(json, "gets_more", json_true());
    if (c->is_elsewhere)
        json_object_set_new(json, "elsewhere", json_true());
    add_folder(json, &c->folder);
    if (c->defined_at)
        json_object_set_new(json, "defined_at", json_integer(c->defined_at));
    return json;
}

static json_t *redirect_json(const struct analyse_redirect *r)
{
    static const char *const ways[] = {
        [ANALYSE_READ] = "read",
        [ANALYSE_WRITE] = "write",
        [ANALYSE_APPEND] = "append",
        [ANALYSE_READ_WRITE] = "read-write",
    };
    json_t *json = json_pack("{s:s, s:i, s:o, s:b}", "open", ways[r->how], "line",
            (int)r->line, "target", word_json(&r->target), "device", r->is_device);
    add_folder(json, &r->folder);
    return json;
}

static json_t *analysis_json(const struct analysis *a)
{
    json_t *commands = json_array(), *redirects = json_array(), *unknown = json_array();
    for (size_t i = 0; i < a->count; i++)
        json_array_append_new(commands, command_json(&a->commands[i]));
    for (size_t i = 0; i < a->redirect_count; i++)
        json_array_append_new(redirects, redirect_json(&a->redirects[i]));
    for (size_t i = 0; i < a->unknown_count; i++)
        json_array_append_new(unknown,
                json_pack("{s:s, s:i, s:o}", "what", a->unknown[i].what, "line",
                        (int)a->unknown[i].line, "text", json_text(a->unknown[i].text)));
    return json_pack("{s:o, s:o, s:o}", "commands", commands, "redirects", redirects,
            "unknown", unknown);
}

static bool analyse(struct str text, struct arena *arena, json_t **out, struct error *err)
{
    const struct parse_options options = { .extglob = true };
    struct budget budget = { .steps = MAX_STEPS, .max_steps = MAX_STEPS };
    struct script *script;
    struct parse_error why;
    struct analysis analysis;
    if (!parse_script(text, STR("script"), &options, &script, &why))
        return error_set(err, ERR_INVALID, "line %u: %s", why.pos.line, why.message);
    bool done = script_analyse(script, &budget, arena, &analysis, err);
    script_unref(script);
    if (done)
        *out = analysis_json(&analysis);
    return done;
}

/* The list, or {"error": TEXT}. */
static bool answer(struct arena *arena, struct error *err)
{
    auto_buf script = BUF(PARSE_MAX_TEXT), text = BUF(MAX_ANSWER);
    json_auto_t *json = NULL;
    struct error why = { 0 };
    if (!read_script(&script, &why) || !analyse(buf_str(&script), arena, &json, &why))
        json = json_pack("{s:o}", "error", json_text(str_of(why.message)));
    json_write(json, &text);
    if (text.full)
        return error_set(err, ERR_LIMIT, "the list is too long");
    for (struct str rest = buf_str(&text); rest.len;) {
        ssize_t n = write(STDOUT_FILENO, rest.data, rest.len);
        if (n < 0 && errno != EINTR)
            return error_errno(err, errno, "cannot write the list");
        rest = str_from(rest, n > 0 ? (size_t)n : 0);
    }
    return true;
}

static bool confine_and_answer(struct arena *arena, struct error *err)
{
    const struct setup_root root = { .at = STR("/"), .kind = SETUP_MEMORY, .fd = -1 };
    const struct setup setup = {
        .name = STR("script"), .read_only = true, .roots = &root, .root_count = 1
    };
    struct confine_status status = { .is_independent = true };
    struct view view;
    if (!view_create(&setup, arena, &view, err))
        return false;
    signal(SIGPIPE, SIG_IGN);
    bool done = view_confine(&view, NULL, 0, arena, &status, err) && answer(arena, err);
    view_finish(&view);
    return done;
}

int worker_analyse_main(void)
{
    log_init(NAME);
    auto_arena *arena = arena_create();
    struct error err = { 0 };
    if (confine_and_answer(arena, &err))
        return 0;
    log_line(LOG_ERROR, "%s", err.message);
    return 1;
}
