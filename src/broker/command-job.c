#include "broker/command-job.h"

#include "confine/job.h"

#include <sys/sysinfo.h>

#define MAX_EXTRA 4 /* paths that are made visible beside those of the spec */

/* Not /run, where sockets are that the private one is to hide. */
static bool is_temporary(const char *path)
{
    static const char *const folders[] = { "/tmp/", "/var/tmp/", "/dev/shm/" };
    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        if (!strncmp(path, folders[i], strlen(folders[i])))
            return true;
    return false;
}

static void add(struct view_path *paths, size_t *count, const char *path)
{
    if (is_temporary(path))
        paths[(*count)++] = (struct view_path){ VIEW_VISIBLE, path };
}

static const char *find_home(const char *const *env)
{
    for (; *env; env++)
        if (!strncmp(*env, "HOME=", 5))
            return *env + 5;
    return "";
}

/* What a private folder would hide although the command needs it. */
static size_t add_visible(
        const struct command_spec *spec, struct arena *arena, struct view_path *paths)
{
    size_t count = 0;
    struct str folder = { spec->program,
        (size_t)(strrchr(spec->program, '/') - spec->program) };
    add(paths, &count, arena_cstr(arena, folder));
    add(paths, &count, spec->program);
    add(paths, &count, spec->cwd);
    add(paths, &count, find_home(spec->env));
    return count;
}

/* It is memory, after all. */
static uint64_t default_tmp_bytes(void)
{
    struct sysinfo info;
    if (sysinfo(&info))
        return COMMAND_TMP_BYTES;
    uint64_t quarter = (uint64_t)info.totalram * info.mem_unit / 4;
    return quarter < COMMAND_TMP_BYTES ? quarter : COMMAND_TMP_BYTES;
}

bool command_job_write(
        const struct command_spec *spec, struct buf *out, struct error *err)
{
    auto_arena *arena = arena_create();
    assert(spec->program[0] == '/' && spec->cwd[0] == '/');
    struct view_path *paths =
            arena_alloc(arena, (spec->path_count + MAX_EXTRA) * sizeof(*paths));
    size_t count = add_visible(spec, arena, paths);
    if (spec->path_count)
        memcpy(paths + count, spec->paths, spec->path_count * sizeof(*paths));
    const struct job job = { .program = spec->program,
        .cwd = spec->cwd,
        .argv = spec->argv,
        .env = spec->env,
        .paths = paths,
        .path_count = count + spec->path_count,
        .sandboxed = spec->sandboxed,
        .network = spec->network,
        .max_processes =
                spec->max_processes ? spec->max_processes : COMMAND_MAX_PROCESSES,
        .tmp_bytes = spec->tmp_bytes ? spec->tmp_bytes : default_tmp_bytes(),
        .max_landlock = spec->max_landlock };
    job_write(&job, out);
    if (out->full)
        return error_set(err, ERR_LIMIT, "the command's arguments are too long");
    return true;
}
