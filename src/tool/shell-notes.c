#include "tool/shell-notes.h"

#include "broker/approved.h"

#include <limits.h>
#include <unistd.h>

/* Without the first letter: some runtimes write these with a small one. */
static const char *const denied[] = { "ead-only file system", "ermission denied",
    "evice or resource busy" };
static const char *const unreachable[] = { "ould not resolve host",
    "emporary failure in name resolution", "etwork is unreachable", "ENOTFOUND",
    "EAI_AGAIN" };
/* What git says when the editor gave it nothing. */
static const char *const wordless[] = { "due to empty commit message",
    "no tag message?" };

static bool has(const struct command_stream *s, const char *const *phrases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(phrases[i]);
        if (memmem(s->head.data, s->head.len, phrases[i], len) ||
                memmem(s->tail.data, s->tail.len, phrases[i], len))
            return true;
    }
    return false;
}

/* Test runners print what failed to their output. */
static bool either_has(
        const struct command_result *r, const char *const *phrases, size_t count)
{
    return has(&r->err, phrases, count) || (r->status && has(&r->out, phrases, count));
}

static void begin(struct buf *out)
{
    if (out->len && out->data[out->len - 1] != '\n')
        buf_addc(out, '\n');
    buf_add(out, STR("[paddock: "));
}

/* A program that met the sandbox says only what the kernel said. */
static void tell_no_write(const struct policy_shell *section, struct buf *out)
{
    begin(out);
    buf_addf(out, "[shell.%.*s] ", STR_ARG(section->name));
    origin_write(&section->origin, out);
    buf_add(out, STR(" lets the command write only in the writable paths and in its own "
                     "temporary folder, never in what is protected. The owner of the "
                     "workspace can name more folders in 'writable_paths' of that "
                     "section, or set sandbox = \"none\"]\n"));
}

/* Nothing is made for a command where it may only write. */
static void tell_missing(const struct policy_shell *section, struct buf *out)
{
    for (size_t i = 0; i < section->writable_count; i++) {
        struct str path = section->writable[i].path;
        auto_buf name = BUF(PATH_MAX);
        buf_add(&name, path);
        if (!name.len || !access(name.data, F_OK))
            continue;
        begin(out);
        buf_addf(out,
                "'%.*s' of 'writable_paths' does not exist; the owner of the "
                "workspace has to make it]\n",
                STR_ARG(path));
    }
}

static void tell_no_network(const struct policy_shell *section, struct buf *out)
{
    begin(out);
    buf_addf(out, "[shell.%.*s] ", STR_ARG(section->name));
    origin_write(&section->origin, out);
    buf_add(out, STR(" gives the command no network. The owner of the workspace can set "
                     "network = true there]\n"));
}

/* "log | head" in a list of arguments is nothing that a program can make sense of. */
static void tell_operators(const char *const *argv, struct buf *out)
{
    static const char *const operators[] = { "&", "&&", "2>&1", ";", "<", ">", ">>", "|",
        "||" };
    for (size_t i = 1; argv[i]; i++) {
        if (str_which(str_of(argv[i]), operators, ARRAY_LEN(operators)) ==
                ARRAY_LEN(operators))
            continue;
        begin(out);
        buf_addf(out,
                "no shell reads the arguments: '%s' was given to the program as it is]\n",
                argv[i]);
        return;
    }
}

/* What the policy knew before: one line each. */
static void tell_lines(struct str lines, struct buf *out)
{
    while (lines.len) {
        struct str line = str_cut(&lines, '\n');
        begin(out);
        buf_addf(out, "%.*s]\n", STR_ARG(line));
    }
}

void shell_notes_write(const struct command_plan *plan,
        const struct command_result *result, struct buf *err_text)
{
    bool ended = result->end == COMMAND_EXITED, failed = ended && result->status;
    approved_notes(plan, result, err_text);
    bool was_denied = ended && plan->sandbox != SANDBOX_NONE &&
                      either_has(result, denied, ARRAY_LEN(denied));
    if (failed)
        tell_operators(plan->argv, err_text);
    if (failed && has(&result->err, wordless, ARRAY_LEN(wordless))) {
        begin(err_text);
        buf_add(err_text, STR("no editor is started for a command: give the text with an "
                              "option, as git does with -m]\n"));
    }
    if (failed && was_denied) {
        tell_no_write(plan->section, err_text);
        tell_missing(plan->section, err_text);
    }
    if (was_denied) /* git goes on after some of them, and exits with 0 */
        tell_lines(plan->if_failed, err_text);
    if (failed && !plan->network &&
            either_has(result, unreachable, ARRAY_LEN(unreachable)))
        tell_no_network(plan->section, err_text);
}
