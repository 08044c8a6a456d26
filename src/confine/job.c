#include "confine/job.h"

#include "base/json.h"

#include <string.h>

#define MAX_MESSAGE (WIRE_MAX_MESSAGE + 64)

enum field { OPTIONS, PROGRAM, CWD, ARGV, ENV, PATHS, FIELDS };

static const char rule_letters[] = {
    [VIEW_WRITABLE] = 'w',
    [VIEW_READ_ONLY] = 'r',
    [VIEW_HIDDEN] = 'h',
    [VIEW_VISIBLE] = 'v',
};

static void add_string(struct buf *out, const char *text)
{
    buf_add(out, (struct str){ text, strlen(text) + 1 });
}

static void add_strings(struct buf *out, const char *const *strings)
{
    for (; *strings; strings++)
        add_string(out, *strings);
}

static void add_paths(struct buf *out, const struct job *job)
{
    for (size_t i = 0; i < job->path_count; i++) {
        buf_addc(out, rule_letters[job->paths[i].rule]);
        add_string(out, job->paths[i].path);
    }
}

static void add_options(struct buf *out, const struct job *job)
{
    json_auto_t *options = json_pack("{s:b, s:b, s:I, s:I, s:i}", "sandboxed",
            job->sandboxed, "network", job->network, "max_processes",
            (json_int_t)job->max_processes, "tmp_bytes", (json_int_t)job->tmp_bytes,
            "max_landlock", job->max_landlock);
    json_write(options, out);
}

void job_write(const struct job *job, struct buf *out)
{
    auto_buf options = BUF(4096);
    auto_buf argv = BUF(MAX_MESSAGE), env = BUF(MAX_MESSAGE), paths = BUF(MAX_MESSAGE);
    add_options(&options, job);
    add_strings(&argv, job->argv);
    add_strings(&env, job->env);
    add_paths(&paths, job);
    const struct wire_message m = { WIRE_LAUNCH, FIELDS,
        { [OPTIONS] = buf_str(&options),
                [PROGRAM] = str_of(job->program),
                [CWD] = str_of(job->cwd),
                [ARGV] = buf_str(&argv),
                [ENV] = buf_str(&env),
                [PATHS] = buf_str(&paths) } };
    if (argv.full || env.full || paths.full)
        out->full = true;
    else
        wire_write(&m, out);
}

static size_t count_strings(struct str s)
{
    size_t count = 0;
    for (size_t i = 0; i < s.len; i++)
        count += !s.data[i];
    return count;
}

/* False: the last one has no end. */
static bool parse_strings(struct str s, struct arena *arena, const char *const **out)
{
    if (s.len && s.data[s.len - 1])
        return false;
    const char **strings = arena_zalloc(arena, (count_strings(s) + 1) * sizeof(*strings));
    const char *copy = arena_cstr(arena, s);
    for (size_t at = 0, i = 0; at < s.len; at += strlen(copy + at) + 1)
        strings[i++] = copy + at;
    *out = strings;
    return true;
}

static bool parse_path(const char *text, struct view_path *out)
{
    const char *letter = memchr(rule_letters, text[0], sizeof(rule_letters));
    if (!letter || text[1] != '/')
        return false;
    *out = (struct view_path){ (enum view_rule)(letter - rule_letters), text + 1 };
    return true;
}

static bool parse_paths(struct str s, struct arena *arena, struct job *out)
{
    const char *const *strings;
    if (!parse_strings(s, arena, &strings))
        return false;
    size_t count = 0;
    while (strings[count])
        count++;
    struct view_path *paths = arena_alloc(arena, (count + 1) * sizeof(*paths));
    for (size_t i = 0; i < count; i++)
        if (!parse_path(strings[i], &paths[i]))
            return false;
    out->paths = paths;
    out->path_count = count;
    return true;
}

static bool parse_options(struct str s, struct job *out)
{
    struct error ignored;
    json_auto_t *options = NULL;
    int sandboxed, network;
    json_int_t processes, tmp_bytes;
    if (!json_parse(s, &options, &ignored) ||
            json_unpack(options, "{s:b, s:b, s:I, s:I, s:i}", "sandboxed", &sandboxed,
                    "network", &network, "max_processes", &processes, "tmp_bytes",
                    &tmp_bytes, "max_landlock", &out->max_landlock))
        return false;
    out->sandboxed = sandboxed;
    out->network = network;
    out->max_processes = (unsigned)processes;
    out->tmp_bytes = (uint64_t)tmp_bytes;
    return processes >= 0 && processes <= UINT32_MAX && tmp_bytes >= 0;
}

static bool is_absolute(struct str path)
{
    return path.len && path.data[0] == '/' && !memchr(path.data, 0, path.len);
}

bool job_parse(const struct wire_message *m, struct arena *arena, struct job *out,
        struct error *err)
{
    struct job job = { .program = NULL };
    if (m->kind != WIRE_LAUNCH || m->count != FIELDS)
        return error_set(err, ERR_INVALID, "the message is no job");
    const struct str *fields = m->fields;
    if (!parse_options(fields[OPTIONS], &job) || !is_absolute(fields[PROGRAM]) ||
            !is_absolute(fields[CWD]) || !parse_strings(fields[ARGV], arena, &job.argv) ||
            !job.argv[0] || !parse_strings(fields[ENV], arena, &job.env) ||
            !parse_paths(fields[PATHS], arena, &job))
        return error_set(err, ERR_INVALID, "the job is malformed");
    job.program = arena_cstr(arena, fields[PROGRAM]);
    job.cwd = arena_cstr(arena, fields[CWD]);
    *out = job;
    return true;
}
