#include "base/nearest.h"
#include "policy/command-parts.h"
#include "policy/pyre/pyre.h"

#define MAX_LISTED 1200 /* bytes of patterns listed in a refusal */

static bool has_control(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.data[i] < 0x20 || s.data[i] == 0x7F)
            return true;
    return false;
}

/* The first that matches, and no other: a later section is no second chance.  A name with
 * a line break in it is none, though Python's `$` would let it pass. */
const struct policy_shell *command_section(
        const struct policy *policy, struct str command)
{
    if (!command.len || has_control(command))
        return NULL;
    for (size_t i = 0; i < policy->shell_count; i++) {
        const struct policy_shell *section = &policy->shells[i];
        enum pyre_result result =
                pyre_match(section->command.pattern, PYRE_MATCH, command);
        if (result != PYRE_NO)
            return result == PYRE_YES ? section : NULL;
    }
    return NULL;
}

static void list_patterns(struct buf *out, const struct policy_regexes *patterns)
{
    size_t limit = out->len + MAX_LISTED;
    for (size_t i = 0; i < patterns->count; i++) {
        if (out->len > limit) {
            buf_addf(out, " and %zu more", patterns->count - i);
            return;
        }
        struct str text = command_pattern(&patterns->items[i]);
        buf_addf(out, "%s%.*s", i ? ", " : "", STR_ARG(text));
    }
}

/* The text that an expression begins with: "config --get" of "^config --get(\s|$)". */
static struct str literal_start(struct arena *arena, struct str regex)
{
    auto_buf text = BUF(256);
    size_t i = regex.len && regex.data[0] == '^' ? 1 : 0;
    for (; i < regex.len; i++) {
        char c = regex.data[i];
        if (c == '\\' && i + 1 < regex.len && strchr(".-/_ ", regex.data[i + 1]))
            c = regex.data[++i];
        else if (strchr("\\^$.|?*+()[]{}", c))
            break;
        buf_addc(&text, c);
    }
    bool repeated = i < regex.len && strchr("?*{", regex.data[i]) && text.len;
    text.len -= repeated;
    return arena_str(arena, buf_str(&text));
}

static struct str first_word(struct str text)
{
    return str_cut(&text, ' ');
}

static struct str word_at(const void *list, size_t i)
{
    return first_word(((const struct str *)list)[i]);
}

/* Does the policy itself say what to do instead of just this?  Not, if it says the same
 * of whatever the command is asked for. */
static bool has_message(const struct command_step *step, struct str joined)
{
    struct str command = step->request->command;
    const char *any = arena_printf(step->arena, "%.*s ", STR_ARG(command));
    const char *whole = arena_printf(step->arena, "%s%.*s", any, STR_ARG(joined));
    struct str own = policy_message_find(step->policy, str_of(whole));
    return own.len && !str_eq(own, policy_message_find(step->policy, str_of(any)));
}

/* Name the allowed patterns that begin as the arguments do, or nearly so: "push" is not
 * meant to be "pull" when there is a message about pushing. */
static void hint_nearest(
        const struct command_step *step, struct str joined, struct refusal *why)
{
    const struct policy_shell *section = step->section;
    size_t count = section->allow.count;
    struct str *starts = arena_alloc(step->arena, (count + 1) * sizeof(*starts));
    for (size_t i = 0; i < count; i++)
        starts[i] = literal_start(step->arena, section->allow.items[i].text);
    struct str word = first_word(joined);
    if (!word.len)
        return;
    struct str near = nearest_name(word, starts, count, word_at);
    size_t named = 0;
    if (near.len && !str_eq(near, word) && has_message(step, joined))
        return;
    for (size_t i = 0; near.len && i < count && named < 4; i++) {
        if (!str_eq(first_word(starts[i]), near))
            continue;
        struct str text = command_pattern(&section->allow.items[i]);
        buf_addf(&why->hint, "%s'%.*s'", named++ ? ", " : "Nearest: ", STR_ARG(text));
    }
    if (named)
        buf_addc(&why->hint, '.');
}

static enum command_rules refuse_denied(const struct command_step *step,
        struct str joined, const struct policy_regex *deny, struct refusal *why)
{
    refusal_begin(why, "command-arguments", &deny->origin);
    buf_add(&why->what, STR("Arguments "));
    refuse_quote(&why->what, joined);
    buf_addf(&why->what, " matched deny pattern '%.*s'", STR_ARG(deny->text));
    buf_addf(&why->rule, "[shell.%.*s] deny has '%.*s'", STR_ARG(step->section->name),
            STR_ARG(deny->text));
    refuse_hint(why, "Leave out what the pattern names.");
    return RULES_DENY;
}

static enum command_rules refuse_unlisted(
        const struct command_step *step, struct str joined, struct refusal *why)
{
    const struct policy_shell *section = step->section;
    refusal_begin(why, "command-arguments", &section->origin);
    if (!section->allow.count) {
        buf_addf(&why->what, "No argument patterns are allowed for '%.*s'",
                STR_ARG(step->request->command));
        buf_addf(&why->rule, "[shell.%.*s] mode = \"deny\" without allow",
                STR_ARG(section->name));
        refuse_hint(why, "This command is switched off; use another tool.");
        return RULES_UNLISTED;
    }
    buf_add(&why->what, STR("Arguments "));
    refuse_quote(&why->what, joined);
    buf_addf(
            &why->what, " are not permitted for '%.*s'", STR_ARG(step->request->command));
    buf_addf(&why->rule,
            "[shell.%.*s] mode = \"deny\"; Allowed patterns: ", STR_ARG(section->name));
    list_patterns(&why->rule, &section->allow);
    hint_nearest(step, joined, why);
    if (!has_message(step, joined))
        refuse_hint(why, "The arguments, joined by spaces, must begin with what one of "
                         "the allowed patterns matches.");
    return RULES_UNLISTED;
}

/* Deny first, in both modes.  An expression that gives up denies, and does not allow. */
enum command_rules command_rules_judge(
        const struct command_step *step, struct str joined, struct refusal *why)
{
    const struct policy_shell *section = step->section;
    for (size_t i = 0; i < section->deny.count; i++) {
        const struct policy_regex *deny = &section->deny.items[i];
        if (pyre_match(deny->pattern, PYRE_SEARCH, joined) != PYRE_NO)
            return refuse_denied(step, joined, deny, why);
    }
    if (section->mode == MODE_ALLOW)
        return RULES_ALLOW;
    for (size_t i = 0; i < section->allow.count; i++) {
        const struct policy_regex *allow = &section->allow.items[i];
        if (pyre_match(allow->pattern, PYRE_MATCH, joined) == PYRE_YES)
            return RULES_ALLOW;
    }
    return refuse_unlisted(step, joined, why);
}
