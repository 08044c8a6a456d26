#include "cli/options.h"

#include "base/utf8.h"
#include "cli/flags.h"
#include "policy/deny.h"

#define DEFAULT_MAX_OUTPUT 30000
#define DEFAULT_TIMEOUT_MS 55000

/* What is filled while the line is read. */
struct reading {
    struct mcpath_options *options;
    struct arena *arena;
    bool has_root;
};

static bool set_read_only(void *user, const char *unused UNUSED, struct error *err UNUSED)
{
    struct reading *r = user;
    r->options->read_only = true;
    return true;
}

static bool set_deny(void *user, const char *value, struct error *err)
{
    struct reading *r = user;
    const char *only[] = { value, NULL };
    struct deny_rules unused;
    if (!utf8_valid(str_of(value)))
        return error_set(err, ERR_INVALID, "the pattern is not UTF-8");
    if (!deny_rules_build(only, r->arena, &unused, err))
        return false;
    r->options->deny[r->options->deny_count++] = value;
    return true;
}

static bool parse_count(
        const char *text, int64_t least, int64_t most, unsigned *out, struct error *err)
{
    int64_t n;
    if (!str_int(str_of(text), &n) || n < least || n > most)
        return error_set(err, ERR_INVALID,
                "'%.80s' is not a whole number from %lld to %lld", text, (long long)least,
                (long long)most);
    *out = (unsigned)n;
    return true;
}

static bool set_max_output(void *user, const char *value, struct error *err)
{
    struct reading *r = user;
    unsigned n = 0;
    if (!parse_count(value, 0, OPTIONS_MAX_OUTPUT, &n, err))
        return false;
    r->options->max_output = n ? n : DEFAULT_MAX_OUTPUT;
    return true;
}

static bool set_max_steps(void *user, const char *value, struct error *err)
{
    struct reading *r = user;
    int64_t n = 0;
    if (!str_int(str_of(value), &n) || n < 1 || n > OPTIONS_MAX_STEPS)
        return error_set(err, ERR_INVALID, "'%.80s' is not a whole number from 1 to %lld",
                value, (long long)OPTIONS_MAX_STEPS);
    r->options->max_steps = (uint64_t)n;
    return true;
}

static bool set_max_depth(void *user, const char *value, struct error *err)
{
    struct reading *r = user;
    return parse_count(value, 1, OPTIONS_MAX_DEPTH, &r->options->max_depth, err);
}

static bool set_max_memory(void *user, const char *value, struct error *err)
{
    struct reading *r = user;
    return parse_count(value, 1, OPTIONS_MAX_MEMORY, &r->options->max_memory_mib, err);
}

/* Seconds with up to three decimals. */
static bool set_timeout(void *user, const char *value, struct error *err)
{
    struct reading *r = user;
    struct str fraction = str_of(value), whole = str_cut(&fraction, '.');
    int64_t seconds = 0, ms = 0;
    bool fine = str_int(whole, &seconds) && whole.data[0] != '-' && fraction.len <= 3 &&
                (!fraction.len || (str_int(fraction, &ms) && fraction.data[0] >= '0'));
    for (size_t i = fraction.len; i < 3; i++)
        ms *= 10;
    if (!fine || seconds > OPTIONS_MAX_TIMEOUT || seconds * 1000 + ms < 1)
        return error_set(err, ERR_INVALID,
                "'%.80s' is not a number of seconds from 0.001 to %d", value,
                OPTIONS_MAX_TIMEOUT);
    r->options->timeout_ms = (unsigned)(seconds * 1000 + ms);
    return true;
}

static bool is_mount_name(struct str name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-";
    for (size_t i = 0; i < name.len; i++)
        if (!memchr(allowed, name.data[i], sizeof(allowed) - 1))
            return false;
    return name.len && name.len <= 100 && name.data[0] != '.';
}

static bool set_mount(void *user, const char *value, struct error *err)
{
    struct reading *r = user;
    struct mcpath_options *o = r->options;
    struct str url = str_of(value), name = str_cut(&url, '=');
    struct mount *mount = &o->mounts[o->mount_count];
    if (!memchr(value, '=', strlen(value)) || !is_mount_name(name))
        return error_set(err, ERR_INVALID,
                "'%.200s' is not NAME=URL, with a NAME of letters, digits, '.', '_', '-'",
                value);
    mount->at = str_of(arena_printf(r->arena, "/mnt/%.*s", STR_ARG(name)));
    for (size_t i = 0; i < o->mount_count; i++)
        if (str_eq(o->mounts[i].at, mount->at))
            return error_set(
                    err, ERR_INVALID, "'%.*s' is mounted already", STR_ARG(name));
    if (o->mount_count + 1 >= SETUP_MAX_ROOTS)
        return error_set(err, ERR_INVALID, "at most %d mounts", SETUP_MAX_ROOTS - 1);
    o->mount_count++;
    return location_parse(url.data, &mount->location, err);
}

static const struct flag table[] = {
    { "--deny", true, set_deny },
    { "--help", false, NULL },
    { "--max-depth", true, set_max_depth },
    { "--max-memory", true, set_max_memory },
    { "--max-output", true, set_max_output },
    { "--max-steps", true, set_max_steps },
    { "--mount", true, set_mount },
    { "--read-only", false, set_read_only },
    { "--timeout", true, set_timeout },
    { "--version", false, NULL },
};

static bool read_root(void *user, const char *text, struct error *err)
{
    struct reading *r = user;
    if (r->has_root)
        return error_set(err, ERR_INVALID,
                "one folder can be served, and '%.200s' is a second one", text);
    r->has_root = true;
    return location_parse(text, &r->options->root, err);
}

bool mcpath_options_parse(int argc, char **argv, struct arena *arena,
        struct mcpath_options *out, struct error *err)
{
    struct mcpath_options o = { .root = { SETUP_LOCAL, "." },
        .help = flags_has(argc, argv, "--help") || flags_has(argc, argv, "-h"),
        .version = flags_has(argc, argv, "--version"),
        .max_output = DEFAULT_MAX_OUTPUT,
        .timeout_ms = DEFAULT_TIMEOUT_MS };
    http_options_init(&o.http, argc, arena);
    o.deny = arena_zalloc(arena, ((size_t)argc + 1) * sizeof(*o.deny));
    o.mounts = arena_zalloc(arena, ((size_t)argc + 1) * sizeof(*o.mounts));
    struct reading r = { &o, arena, false };
    const struct flags http = http_options_flags(&o.http);
    const struct flags flags = { table, ARRAY_LEN(table), read_root, &r, &http };
    if (!o.help && !o.version &&
            (!flags_read(&flags, argc, argv, err) || !http_options_check(&o.http, err)))
        return false;
    *out = o;
    return true;
}
