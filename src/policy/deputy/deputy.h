/*
 * deputy.h - programs that start other programs when told to: git, p4, docker.
 *
 * The patterns of a section judge the text of the arguments.  A deputy is judged by what
 * the arguments, the configuration of the repository and the environment would make it
 * do: options in any spelling that run a program or write a file, configuration that
 * names commands, remote helpers.  What can be neutralised is (more options, more
 * variables), the rest is refused.  Used for a command whose program is that deputy,
 * whatever the section is called.
 */
#ifndef POLICY_DEPUTY_H
#define POLICY_DEPUTY_H

#include "policy/command.h"

/*
 * Look at `plan` (argv, env and cwd are filled; argv[0] as it was asked for) and change
 * it: arguments, variables, what the kernel is to hold, notes.  False: refused.
 */
typedef bool deputy_fn(const struct policy *policy, const struct path_policy *paths,
        struct arena *arena, struct command_plan *plan, struct refusal *why);

/* The deputy for a program, by the last component of its name; NULL: it is none. */
deputy_fn *deputy_find(struct str command);

/*
 * Set `is_text[i]` for the arguments that the program takes as plain text and never as a
 * path (a commit message, a search pattern, a format), also where text and option are one
 * argument.  They are not scanned for paths, so in doubt leave them alone.
 */
typedef void deputy_text_fn(const struct str *args, size_t count, bool *is_text);

/* NULL: nothing is known about the arguments of this program. */
deputy_text_fn *deputy_text_find(struct str command);

/*
 * The same request in fewer words: what `git -C DIR --no-pager log` asks for is `git log`
 * in DIR.  It is judged like any other.  False: there are no words to take away.
 */
typedef bool deputy_plain_fn(const struct command_request *request, struct arena *arena,
        struct command_request *out);
deputy_plain_fn deputy_plain;

#endif
