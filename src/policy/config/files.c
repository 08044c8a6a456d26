/* The sections about files, [filesystem] and [audit_log], and what is write-protected. */
#include "base/path.h"
#include "policy/config/internal.h"
#include "policy/protect.h"

#include <unistd.h>

#define MAX_KEEP      1000
#define MIN_LOG_BYTES 4096

struct str conf_absolute(const struct conf *c, struct str path)
{
    struct str workspace = c->policy->workspace;
    if (path.len && path.data[0] == '/')
        return path;
    if (path.len && path.data[0] == '~' && c->home)
        return str_of(
                arena_printf(c->arena, "%s%.*s", c->home, STR_ARG(str_from(path, 1))));
    return str_of(arena_printf(c->arena, "%.*s/%.*s", STR_ARG(workspace), STR_ARG(path)));
}

static bool check_home(struct conf *c, const char *section, const struct toml_item *item,
        struct str path)
{
    if (!path.len || path.data[0] != '~')
        return true;
    if (path.len > 1 && path.data[1] != '/')
        return conf_fail_item(c, section, item,
                "'%.*s': '~' stands for your own home only", STR_ARG(path));
    return (c->home && c->home[0] == '/') ||
           conf_fail_item(c, section, item, "'~' is used, and HOME is not set");
}

/* A pattern where a folder is wanted must not be taken for a folder of that name. */
static bool check_pattern(struct conf *c, const char *section,
        const struct toml_item *item, struct str path, const char *real)
{
    bool magic = false;
    for (size_t i = 0; i < path.len; i++)
        magic = magic || strchr("*?[", path.data[i]);
    if (!magic || access(real, F_OK) == 0)
        return true;
    return conf_fail_item(c, section, item,
            "'%.*s' is a pattern: name the folder, which stands for all below it, and "
            "leave out parts with [filesystem.guards]",
            STR_ARG(path));
}

static bool read_path(struct conf *c, const char *section, const struct toml_item *item,
        struct policy_path *out)
{
    struct str text = item->value.text;
    *out = (struct policy_path){ .text = text, .path = STR(""), .origin = item->origin };
    if (str_is(text, "*"))
        return true;
    if (!text.len || memchr(text.data, 0, text.len))
        return conf_fail_item(c, section, item, "must not be empty, nor contain a NUL");
    if (!check_home(c, section, item, text))
        return false;
    const char *real = protect_resolve(conf_absolute(c, text).data, c->arena);
    if (!real)
        return conf_fail_item(c, section, item, "'%.*s' leads nowhere: %s", STR_ARG(text),
                "its links go in a ring, or the path is too long");
    out->path = str_of(real);
    return check_pattern(c, section, item, text, real);
}

/* Any list of paths; "*" has the path "". */
static bool read_paths(struct conf *c, const char *section, const struct toml_item *item,
        struct policy_path **out, size_t *count)
{
    struct policy_texts texts;
    if (!conf_texts(c, section, item, &texts))
        return false;
    *out = arena_zalloc(c->arena, (texts.count + 1) * sizeof(**out));
    *count = texts.count;
    for (size_t i = 0; i < texts.count; i++) {
        struct toml_item one = item->value.items[i];
        one.key = item->key;
        if (!read_path(c, section, &one, &(*out)[i]))
            return false;
    }
    return true;
}

bool conf_paths(struct conf *c, const char *section, const struct toml_item *item,
        struct policy_path **out, size_t *count)
{
    if (!read_paths(c, section, item, out, count))
        return false;
    for (size_t i = 0; i < *count; i++)
        if (!(*out)[i].path.len) /* "*": everything may be written */
            (*out)[i].path = STR("/");
    return true;
}

static bool read_writable(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    struct policy *p = to;
    return conf_paths(c, section, item, &p->writable, &p->writable_count);
}

static bool read_readable(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    struct policy *p = to;
    if (!read_paths(c, section, item, &p->readable, &p->readable_count))
        return false;
    for (size_t i = 0; i < p->readable_count; i++)
        p->readable_all |= !p->readable[i].path.len;
    return true;
}

static bool read_guard(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    const char *words[GUARD_ALLOW + 1];
    struct policy_guard *out = to;
    unsigned word;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        words[i] = guard_disposition_name((enum guard_disposition)i);
    if (!conf_word(c, section, item, words, ARRAY_LEN(words), &word) ||
            !conf_regex(c, section, item, item->key, 0, &out->regex))
        return false;
    out->disposition = (enum guard_disposition)word;
    return item->key.len ||
           conf_fail_item(c, section, item, "an empty pattern matches every path");
}

static bool read_guards(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    struct policy *p = to;
    return conf_each(c, conf_name(c, section, item->key), item, read_guard,
            sizeof(*p->guards), &p->guards, &p->guard_count);
}

/* Where a list is not given: the workspace. */
static void default_path(
        struct conf *c, struct origin origin, struct policy_path **out, size_t *count)
{
    *out = arena_zalloc(c->arena, sizeof(**out));
    **out = (struct policy_path){
        .text = STR("."), .path = c->policy->workspace_real, .origin = origin
    };
    *count = 1;
}

static void warn_writable(
        struct conf *c, const char *section, const struct policy_path *path)
{
    /* The kernel is told at start what may be written: what is not there then is not. */
    if (access(path->path.data, F_OK))
        conf_warn(c, path->origin,
                "[%s] writable_paths: '%.*s' does not exist, and can be written only "
                "after it does and the server is started again",
                section, STR_ARG(path->text));
    if (c->policy->home.len && path_is_in(c->policy->home, path->path))
        conf_warn(c, path->origin,
                "[%s] writable_paths: '%.*s' has your home in it, and so what your shell "
                "and other programs run when they start",
                section, STR_ARG(path->text));
}

bool conf_filesystem(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    static const struct conf_key keys[] = {
        { "writable_paths", read_writable, 0 },
        { "readable_paths", read_readable, 0 },
        { "guards", read_guards, 0 },
    };
    struct policy *p = to;
    default_path(c, item->origin, &p->writable, &p->writable_count);
    default_path(c, item->origin, &p->readable, &p->readable_count);
    if (!conf_section(c, section, item, keys, ARRAY_LEN(keys), p))
        return false;
    for (size_t i = 0; i < p->writable_count; i++)
        warn_writable(c, section, &p->writable[i]);
    return true;
}

static bool read_log_path(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    struct policy_audit_log *log = to;
    struct str text;
    if (!conf_text(c, section, item, &text) || !check_home(c, section, item, text))
        return false;
    if (!text.len || (text.data[0] != '/' && text.data[0] != '~') ||
            memchr(text.data, 0, text.len))
        return conf_fail_item(
                c, section, item, "must be an absolute path, or begin with '~/'");
    const char *path = protect_normal(conf_absolute(c, text).data, c->arena);
    const char *name = strrchr(path, '/'); /* a link in the log's own place is refused */
    struct str folder = { path, (size_t)(name - path) };
    const char *real = protect_resolve(arena_cstr(c->arena, folder), c->arena);
    if (!real)
        return conf_fail_item(c, section, item, "leads nowhere");
    log->path = str_of(arena_printf(c->arena, "%s%s", real[1] ? real : "", name));
    log->origin = item->origin;
    return true;
}

static bool read_max_bytes(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    int64_t n;
    if (!conf_count(c, section, item, MIN_LOG_BYTES, (int64_t)1 << 40, &n))
        return false;
    *(uint64_t *)to = (uint64_t)n;
    return true;
}

static bool read_keep(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    int64_t n;
    if (!conf_count(c, section, item, 0, MAX_KEEP, &n))
        return false;
    *(unsigned *)to = (unsigned)n;
    return true;
}

bool conf_tools(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    static const struct conf_key keys[] = {
        { "run", conf_bool, offsetof(struct policy_tools, run) },
    };
    struct policy_tools *tools = &((struct policy *)to)->tools;
    return conf_section(c, section, item, keys, ARRAY_LEN(keys), tools);
}

bool conf_audit_log(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    static const struct conf_key keys[] = {
        { "path", read_log_path, 0 },
        { "max_bytes", read_max_bytes, offsetof(struct policy_audit_log, max_bytes) },
        { "keep", read_keep, offsetof(struct policy_audit_log, keep) },
        { "arguments", conf_bool, offsetof(struct policy_audit_log, arguments) },
    };
    struct policy_audit_log *log = &((struct policy *)to)->audit_log;
    log->origin = item->origin;
    return conf_section(c, section, item, keys, ARRAY_LEN(keys), log);
}
