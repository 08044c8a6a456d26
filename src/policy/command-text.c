#include "policy/command-parts.h"
#include "policy/pyre/pyre.h"

#include <stdarg.h>
#include <stdio.h>

#define MAX_SHOWN 200 /* bytes of an argument in a refusal */

struct str policy_message_find(const struct policy *policy, struct str subject)
{
    for (size_t i = 0; i < policy->message_count; i++) {
        const struct policy_message *m = &policy->messages[i];
        if (pyre_match(m->regex.pattern, PYRE_SEARCH, subject) == PYRE_YES)
            return m->text;
    }
    return STR("");
}

/* Not in the middle of a character. */
static size_t shown_length(struct str text)
{
    if (text.len <= MAX_SHOWN)
        return text.len;
    size_t len = MAX_SHOWN;
    while (len && ((unsigned char)text.data[len] & 0xC0) == 0x80)
        len--;
    return len;
}

void refuse_quote(struct buf *out, struct str text)
{
    size_t len = shown_length(text);
    buf_addc(out, '\'');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == '\n')
            buf_add(out, STR("\\n"));
        else if (c < 0x20 || c == 0x7F)
            buf_addf(out, "\\x%02x", c);
        else
            buf_addc(out, (char)c);
    }
    buf_add(out, len < text.len ? STR("...'") : STR("'"));
}

void refuse_rule_arg_paths(const struct policy_shell *section, struct refusal *why)
{
    static const char *const names[] = {
        [ARG_PATHS_WORKSPACE] = "workspace",
        [ARG_PATHS_PROTECTED] = "protected",
        [ARG_PATHS_NONE] = "none",
    };
    buf_addf(&why->rule, "[shell.%.*s] arg_paths = \"%s\"", STR_ARG(section->name),
            names[section->arg_paths]);
}

void refuse_message(const struct policy *policy, struct str subject, struct refusal *why)
{
    struct str message = policy_message_find(policy, subject);
    if (!message.len)
        return;
    auto_buf hint = BUF(why->hint.max);
    buf_addf(&hint, "[%.*s]", STR_ARG(message));
    if (why->hint.len)
        buf_addc(&hint, ' ');
    buf_add(&hint, buf_str(&why->hint));
    buf_clear(&why->hint);
    buf_add(&why->hint, buf_str(&hint));
}

struct str command_pattern(const struct policy_regex *pattern)
{
    static const char word_end[] = "(\\s|$)";
    struct str text = pattern->text;
    return str_ends(text, str_of(word_end))
                   ? str_sub(text, 0, text.len - strlen(word_end))
                   : text;
}

void refuse_message_last(
        const struct policy *policy, struct str subject, struct refusal *why)
{
    struct str message = policy_message_find(policy, subject);
    if (message.len)
        buf_addf(&why->hint, "%s[%.*s]", why->hint.len ? " " : "", STR_ARG(message));
}

void refuse_hint(struct refusal *why, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    buf_addf(&why->hint, "%s%s", why->hint.len ? " " : "", text);
}
