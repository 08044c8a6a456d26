/*
 * ignore.h - what .gitignore files leave out.
 *
 * As git reads them: comments, `!` takes back, a slash at the end means directories, a
 * slash elsewhere ties the rule to the file's own folder, `**` spans folders, the last
 * rule that matches decides.  A file nearer to the path decides before one above it.
 */
#ifndef SEARCH_IGNORE_H
#define SEARCH_IGNORE_H

#include "base/arena.h"
#include "base/str.h"

#define IGNORE_MAX_RULES 20000
#define IGNORE_MAX_BYTES ((size_t)4 << 20)

struct ignore_rule;

/* The rules of one file, in an arena. */
struct ignore_rules {
    struct ignore_rule *items;
    size_t count, cap;
};

/* Lines that cannot be rules are skipped, as git does; so is what is too much. */
void ignore_parse(struct str text, struct arena *arena, struct ignore_rules *out);

enum ignore_answer { IGNORE_SILENT, IGNORE_OUT, IGNORE_IN };

/* `path`: relative to the folder that the rules are for. */
enum ignore_answer ignore_ask(
        const struct ignore_rules *rules, struct str path, bool is_dir);

#endif
