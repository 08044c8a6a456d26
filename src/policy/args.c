#include "base/path.h"
#include "policy/args-text.h"
#include "policy/command-parts.h"
#include "policy/deputy/deputy.h"

#include <ctype.h>
#include <limits.h>
#include <pwd.h>
#include <unistd.h>

struct scan {
    struct command_step *step;
    struct str cwd, argument; /* the argument that is looked at */
    bool may_go_up;           /* there is a "..", maybe coded, somewhere in it */
    enum args_program program;
    struct refusal *why;
};

static void refuse_argument(const struct scan *s, const char *code, struct str path,
        const char *what, const struct origin *origin)
{
    const struct policy_shell *section = s->step->section;
    refusal_begin(s->why, code, origin ? origin : &section->origin);
    buf_add(&s->why->what, STR("argument "));
    refuse_quote(&s->why->what, s->argument);
    buf_add(&s->why->what, STR(" is not permitted: "));
    refuse_quote(&s->why->what, path);
    buf_addf(&s->why->what, " %s", what);
    refuse_rule_arg_paths(section, s->why);
}

static bool refuse_outside(const struct scan *s, struct str path)
{
    refuse_argument(s, "outside", path, "is outside the workspace", NULL);
    refuse_hint(s->why, "Name a path in the workspace '%.*s', relative to it.",
            STR_ARG(s->step->policy->workspace_real));
    return false;
}

static const char *protected_name(enum protected_kind kind)
{
    switch (kind) {
    case PROTECTED_POLICY:
        return "is in .pyddock/, which is write-protected";
    case PROTECTED_PACKAGE:
        return "is in a workspace module, which is write-protected";
    case PROTECTED_SCRIPTS:
        return "is in a script folder, which is write-protected";
    case PROTECTED_PROGRAM:
        return "belongs to this program and is write-protected";
    case PROTECTED_LOG:
        return "is a log of this program, which is write-protected";
    case PROTECTED_SERVER:
        return "is where an MCP server is started from, which is write-protected";
    }
    return "";
}

static bool refuse_protected(
        const struct scan *s, struct str path, const struct policy_protected *by)
{
    refuse_argument(s, "write-protected", path, protected_name(by->kind), &by->origin);
    buf_addf(&s->why->rule, " and the protected folder '%.*s'", STR_ARG(by->path));
    if (by->except.len)
        refuse_hint(s->why, "Files for the moment may lie below '%.*s'.",
                STR_ARG(by->except));
    refuse_hint(s->why, "The fs_* tools read what is there.");
    return false;
}

/* The rule of path_allowed() in a sentence about the argument. */
static bool refuse_guarded(const struct scan *s, struct str path)
{
    auto_buf what = BUF(s->why->what.max);
    buf_add(&what, STR("argument "));
    refuse_quote(&what, s->argument);
    buf_add(&what, STR(" is not permitted: it names "));
    refuse_quote(&what, path);
    buf_clear(&s->why->what);
    buf_add(&s->why->what, buf_str(&what));
    return false;
}

static bool refuse_endless(const struct scan *s, struct str part)
{
    refuse_argument(s, "path", part, "cannot be followed to its end", NULL);
    refuse_hint(s->why, "Links lead in a circle there, or the arguments have too many "
                        "paths: pass fewer.");
    return false;
}

static bool is_inside(const struct scan *s, struct str path)
{
    const struct policy_shell *section = s->step->section;
    if (path_is_in(path, s->step->policy->workspace_real) ||
            place_is_writable(s->step->policy, path))
        return true;
    return place_among(section->writable, section->writable_count, path);
}

/* Devices that tell and keep nothing, and the command's own streams. */
static bool is_harmless_device(struct str part)
{
    static const char *const names[] = { "/dev/null", "/dev/random", "/dev/stderr",
        "/dev/stdin", "/dev/stdout", "/dev/urandom", "/dev/zero" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(part, names[i]))
            return true;
    return false;
}

/* Could the command make something there?  What it may write is held by the kernel,
 * unless the section is without a sandbox. */
static bool may_create(const struct scan *s)
{
    return s->step->section->sandbox == SANDBOX_NONE;
}

static bool has_script_mark(struct str path)
{
    for (size_t i = 0; i < path.len; i++)
        if (strchr(",^$*?[](){}|+;\\\"'<>", path.data[i]))
            return true;
    return false;
}

/*
 * Outside, a text that names nothing is no path: "/foo/d" is a script for sed as long as
 * there is no "/foo", and so is "/foo/,/^bar/p" as long as there is no "/foo/,".
 */
static bool names_nothing(const struct scan *s, const struct place *place)
{
    if (place->exists || (may_create(s) && !access("/", W_OK)))
        return false;
    if (!place->parent_exists && has_script_mark(place->path))
        return true;
    struct str top = str_from(place->path, 1);
    const char *first =
            arena_printf(s->step->arena, "/%.*s", (int)strcspn(top.data, "/"), top.data);
    return access(first, F_OK);
}

static bool judge_place(
        const struct scan *s, const struct place *place, const struct args_part *part)
{
    struct command_step *step = s->step;
    bool is_there = place->exists || (may_create(s) && place->parent_exists);
    if (part->is_sentence && !is_there)
        return true;
    const struct policy_protected *by = place_protected(step->policy, place->path);
    if (by)
        return refuse_protected(s, place->path, by);
    if (!is_inside(s, place->path)) {
        bool is_absolute = part->text.data[0] == '/';
        if (is_absolute && names_nothing(s, place))
            return true;
        if (step->section->arg_paths == ARG_PATHS_WORKSPACE)
            return refuse_outside(s, place->path);
    }
    if (!place->exists && !place->parent_exists)
        return true;
    return path_allowed(step->paths, place->path, PATH_READ, s->why) ||
           refuse_guarded(s, place->path);
}

static bool goes_up(struct str path)
{
    while (path.len)
        if (str_is(str_cut(&path, '/'), ".."))
            return true;
    return false;
}

static bool judge_at(const struct scan *s, struct str base, const struct args_part *part)
{
    struct command_step *step = s->step;
    struct place place;
    if (!place_find_below(
                base, part->text, PLACE_FOLLOW, step->arena, &step->budget, &place))
        return refuse_endless(s, part->text);
    if (!judge_place(s, &place, part))
        return false;
    if (!goes_up(part->text))
        return true;
    /* A program may take "link/.." for nothing before it asks the kernel. */
    struct place tidy;
    if (!place_find_below(
                base, part->text, PLACE_BY_NAME, step->arena, &step->budget, &tidy) ||
            !place_find(STR("/"), tidy.path, PLACE_FOLLOW, step->arena, &step->budget,
                    &place))
        return refuse_endless(s, part->text);
    return judge_place(s, &place, part);
}

static bool exists_at(const struct scan *s, struct str base, struct str name)
{
    struct place place;
    return !place_find_below(
                   base, name, PLACE_FOLLOW, s->step->arena, &s->step->budget, &place) ||
           place.exists;
}

static bool is_file(const void *user, struct str name)
{
    const struct scan *s = user;
    return exists_at(s, s->cwd, name) ||
           exists_at(s, s->step->policy->workspace_real, name);
}

/* "~" and "~NAME": the folder, or {NULL, 0}. */
static struct str home_of(const struct scan *s, struct str name)
{
    if (!name.len)
        return s->step->policy->home;
    if (name.len > 32 || (!isalpha((unsigned char)name.data[0]) && name.data[0] != '_'))
        return (struct str){ NULL, 0 };
    struct passwd entry, *found = NULL;
    char text[4096];
    const char *user = arena_cstr(s->step->arena, name);
    if (getpwnam_r(user, &entry, text, sizeof(text), &found) || !found)
        return (struct str){ NULL, 0 };
    return arena_str(s->step->arena, str_of(entry.pw_dir));
}

static bool judge_home(const struct scan *s, const struct args_part *part)
{
    struct str rest = str_from(part->text, 1), name = str_cut(&rest, '/');
    struct str home = home_of(s, name);
    if (!home.len)
        return true;
    struct args_part at_home = *part;
    at_home.text = str_of(
            arena_printf(s->step->arena, "%.*s/%.*s", STR_ARG(home), STR_ARG(rest)));
    return judge_at(s, STR("/"), &at_home);
}

/* Nothing has a name that long, and so nothing is below it. */
static bool is_no_name(const struct scan *s, struct str text)
{
    struct str name = str_sub(text, 0, NAME_MAX + 1);
    return name.len > NAME_MAX && !memchr(name.data, '/', name.len) &&
           !(s->may_go_up && memmem(text.data, text.len, "..", 2));
}

/* It is fine where the command starts, and not from the workspace. */
static void hint_absolute(const struct scan *s, struct str text)
{
    struct place place;
    if (place_find_below(
                s->cwd, text, PLACE_FOLLOW, s->step->arena, &s->step->budget, &place))
        refuse_hint(s->why,
                "A relative path has to be fine from the workspace and from cwd; write "
                "it "
                "as '%s'.",
                place.path.data);
}

static bool judge(const struct scan *s, const struct args_part *part)
{
    if (is_no_name(s, part->text))
        return true;
    struct str text = part->text, workspace = s->step->policy->workspace_real;
    if (is_harmless_device(text))
        return true;
    size_t scheme = args_url_scheme(text);
    if (scheme && !is_file(s, str_sub(text, 0, scheme)))
        return true;
    if (text.data[0] == '/')
        return judge_at(s, STR("/"), part);
    if (text.data[0] == '~' && !judge_home(s, part))
        return false;
    if (!judge_at(s, s->cwd, part))
        return false;
    if (str_eq(s->cwd, workspace) || judge_at(s, workspace, part))
        return true;
    hint_absolute(s, text);
    return false;
}

static bool check_argument(struct scan *s)
{
    struct args_parts parts;
    struct str a = s->argument;
    s->may_go_up =
            a.len && (memchr(a.data, '%', a.len) || memmem(a.data, a.len, "..", 2));
    if (!args_find_parts(s->program, a, is_file, s, s->step->arena, &parts))
        return refuse_endless(s, a);
    bool ok = true;
    for (size_t i = 0; i < parts.count && ok; i++) {
        struct arena_mark mark = arena_mark(s->step->arena);
        ok = judge(s, &parts.items[i]);
        arena_rewind(s->step->arena, mark);
    }
    return ok;
}

static const bool *find_texts(const struct command_request *r, struct arena *arena)
{
    bool *is_text = arena_zalloc(arena, r->arg_count + 1);
    deputy_text_fn *find = deputy_text_find(r->command);
    if (find)
        find(r->args, r->arg_count, is_text);
    return is_text;
}

bool args_check_paths(struct command_step *step, struct str cwd, struct refusal *why)
{
    const struct command_request *r = step->request;
    if (step->section->arg_paths == ARG_PATHS_NONE)
        return true;
    const bool *is_text = find_texts(r, step->arena);
    struct scan scan = {
        .step = step,
        .cwd = cwd,
        .program = args_program_of(r->command),
        .why = why,
    };
    for (size_t i = 0; i < r->arg_count; i++) {
        struct arena_mark mark = arena_mark(step->arena);
        scan.argument = r->args[i];
        bool ok = is_text[i] || check_argument(&scan);
        arena_rewind(step->arena, mark);
        if (!ok)
            return false;
    }
    return true;
}
