/*
 * command-parts.h - the steps of command.c, one file each; used inside policy/ and by its
 * tests.
 */
#ifndef POLICY_COMMAND_PARTS_H
#define POLICY_COMMAND_PARTS_H

#include "policy/command.h"
#include "policy/place.h"

/* What one decision may look up in the file system (see place.h). */
#define COMMAND_LOOKUPS 400000

/* What a step needs to know. */
struct command_step {
    const struct policy *policy;
    const struct path_policy *paths;
    const struct policy_shell *section;
    const struct command_request *request;
    struct arena *arena;
    unsigned budget;
};

/* command-rules.c: the section for a command, and what its patterns say of the
 * arguments, joined by single spaces. */
const struct policy_shell *command_section(
        const struct policy *policy, struct str command);
enum command_rules { RULES_ALLOW, RULES_DENY, RULES_UNLISTED /* nothing allows it */ };
enum command_rules command_rules_judge(
        const struct command_step *step, struct str joined, struct refusal *why);

/* command-unknown.c: there is no section for the command. */
void command_refuse_unknown(const struct command_step *step, struct refusal *why);

/* command-cwd.c: the real folder to start in. */
MUST_CHECK bool command_cwd(
        struct command_step *step, struct str *out, struct refusal *why);

/* program.c: what will be started, with the interpreter that its name asks for. */
struct program {
    const char *path;  /* absolute; NULL: there is none */
    const char **argv; /* NULL-terminated; the arguments are still missing */
    size_t argc;
};
struct program_places { /* the folders of PATH, real */
    const struct str *folders;
    size_t count;
    const struct str *skipped; /* relative, or where an agent may write; as written */
    size_t skipped_count;
};
void program_places_find(const struct policy *policy, struct str path,
        struct arena *arena, struct program_places *out);
/* The first program of that name in the folders; false: there is none. */
MUST_CHECK bool program_path(const struct program_places *places, struct str name,
        struct arena *arena, struct str *out);
MUST_CHECK bool program_find(struct command_step *step,
        const struct program_places *places, struct program *out, struct refusal *why);

/* args.c: do the arguments name a path that they may not?  `cwd` is real. */
MUST_CHECK bool args_check_paths(
        struct command_step *step, struct str cwd, struct refusal *why);

/* command-unknown.c: is the section for the command that has its name, and no other? */
bool command_is_plain(const struct policy_shell *section);

/* command-text.c: filling refusals. */
/* Append `text` in single quotes, on one line and not too long. */
void refuse_quote(struct buf *out, struct str text);

/* Append the setting of the section that decides about paths to the rule. */
void refuse_rule_arg_paths(const struct policy_shell *section, struct refusal *why);

/* The [deny_messages] text for `subject`, or "". */
struct str policy_message_find(const struct policy *policy, struct str subject);

/* Put the [deny_messages] text for `subject` before the other hints. */
void refuse_message(const struct policy *policy, struct str subject, struct refusal *why);

/* The same behind the other hints. */
void refuse_message_last(
        const struct policy *policy, struct str subject, struct refusal *why);

/* Append a sentence to the hint. */
void refuse_hint(struct refusal *why, const char *fmt, ...) PRINTF(2, 3);

#endif
