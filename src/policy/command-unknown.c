/* What is said of a command that no section is for. */
#include "base/nearest.h"
#include "policy/command-parts.h"

#define MAX_CONFIGURED 1500 /* bytes of names in a refusal */

/* Tools of ours that do what a command is mostly called for. */
static const struct instead {
    const char *commands, *tool;
} instead[] = {
    { " cat head tail less more bat ", "fs_readfile reads files" },
    { " find fd ls tree locate ", "fs_find finds files and fs_stat describes one" },
    { " grep egrep fgrep rg ag ack ", "fs_grep searches in files" },
    { " rm rmdir unlink ", "fs_delete removes a file" },
    { " sed perl ed patch ", "fs_str_replace changes a file" },
    { " tee touch ", "fs_append writes to a file" },
};

static void hint_instead(struct arena *arena, struct str command, struct refusal *why)
{
    const char *word = arena_printf(arena, " %.*s ", STR_ARG(command));
    for (size_t i = 0; i < ARRAY_LEN(instead); i++)
        if (strstr(instead[i].commands, word))
            refuse_hint(why, "The tool %s.", instead[i].tool);
}

static struct str section_name(const void *list, size_t i)
{
    return ((const struct policy_shell *)list)[i].name;
}

/* "/usr/bin/git" is allowed as "git"; "gti" was "git". */
static void hint_name(
        const struct policy *policy, struct str command, struct refusal *why)
{
    const char *slash = command.len ? memrchr(command.data, '/', command.len) : NULL;
    struct str name = command;
    if (slash)
        name = str_from(command, (size_t)(slash - command.data) + 1);
    if (slash && command_section(policy, name)) {
        refuse_hint(why, "'%.*s' is configured by its name alone.", STR_ARG(name));
        return;
    }
    struct str near =
            nearest_name(name, policy->shells, policy->shell_count, section_name);
    if (near.len)
        refuse_hint(why, "Did you mean '%.*s'?", STR_ARG(near));
}

bool command_is_plain(const struct policy_shell *section)
{
    struct str name = section->name, text = section->command.text;
    return text.len == name.len + 2 && str_starts(text, STR("^")) &&
           str_starts(str_from(text, 1), name) && str_ends(text, STR("$"));
}

/* `git`, or `scripts ('jobs/.*')` where the name is not the command. */
static void hint_configured(const struct policy *policy, struct refusal *why)
{
    struct buf *out = &why->hint;
    size_t start = out->len;
    buf_addf(out, "%sConfigured commands: ", out->len ? " " : "");
    for (size_t i = 0; i < policy->shell_count; i++) {
        const struct policy_shell *section = &policy->shells[i];
        struct str name = section->name, text = section->command.text;
        if (out->len - start > MAX_CONFIGURED) {
            buf_addf(out, " and %zu more", policy->shell_count - i);
            break;
        }
        buf_addf(out, "%s%.*s", i ? ", " : "", STR_ARG(name));
        if (!command_is_plain(section))
            buf_addf(out, " ('%.*s')", STR_ARG(text));
    }
    buf_addc(out, '.');
}

void command_refuse_unknown(const struct command_step *step, struct refusal *why)
{
    const struct policy *policy = step->policy;
    struct str command = step->request->command;
    refusal_begin(why, "command", NULL);
    buf_add(&why->what, STR("Command "));
    refuse_quote(&why->what, command);
    buf_add(&why->what, STR(" is not allowed"));
    buf_add(&why->rule, STR("only what a [shell.*] section is for is started"));
    hint_name(policy, command, why);
    hint_instead(step->arena, command, why);
    bool is_line = memchr(command.data ? command.data : "", ' ', command.len);
    if (is_line)
        refuse_hint(why, "The command is one program name, its arguments go into args; "
                         "no shell reads it.");
    hint_configured(policy, why);
    (is_line ? refuse_message_last : refuse_message)(policy, command, why);
}
