#include "fs-world.h"
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int set_up(void **state, unsigned timeout_ms)
{
    struct fs_world *w = xcalloc(1, sizeof(*w));
    *state = w;
    strcpy(w->folder, "/tmp/paddock-fs-XXXXXX");
    scratch_make(w->folder);
    auto_fd int root = open(w->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const struct setup_root roots[] = {
        { STR("/"), SETUP_LOCAL, SETUP_FIRST_ROOT_FD, str_of(w->folder) },
    };
    const struct setup setup = { .name = STR("paddock"),
        .max_output = 10000,
        .timeout_ms = timeout_ms,
        .roots = roots,
        .root_count = 1 };
    client_start(&w->client, &setup, root);
    return 0;
}

int fs_world_set_up(void **state)
{
    return set_up(state, 60000);
}

int fs_world_set_up_brief(void **state)
{
    return set_up(state, 300);
}

int fs_world_tear_down(void **state)
{
    struct fs_world *w = *state;
    client_finish(&w->client);
    scratch_remove(w->folder);
    free(w);
    return 0;
}

static const char *host_path(struct fs_world *w, const char *name, struct buf *out)
{
    buf_addf(out, "%s/%s", w->folder, name);
    return out->data;
}

/* The folders above a file. */
static void make_folders(struct fs_world *w, const char *name)
{
    auto_buf path = BUF(4096);
    for (const char *slash = name; (slash = strchr(slash, '/')); slash++) {
        buf_clear(&path);
        buf_addf(&path, "%s/%.*s", w->folder, (int)(slash - name), name);
        assert_true(!mkdir(path.data, 0755) || errno == EEXIST);
    }
}

void put(struct fs_world *w, const char *name, struct str content)
{
    auto_buf path = BUF(4096);
    make_folders(w, name);
    FILE *file = fopen(host_path(w, name, &path), "w");
    assert_non_null(file);
    assert_int_equal(fwrite(content.data, 1, content.len, file), content.len);
    assert_int_equal(fclose(file), 0);
}

void put_text(struct fs_world *w, const char *name, const char *text)
{
    put(w, name, str_of(text));
}

void put_folder(struct fs_world *w, const char *name)
{
    auto_buf path = BUF(4096);
    make_folders(w, name);
    assert_int_equal(mkdir(host_path(w, name, &path), 0755), 0);
}

bool has(struct fs_world *w, const char *name)
{
    auto_buf path = BUF(4096);
    struct stat st;
    return !lstat(host_path(w, name, &path), &st);
}

bool holds(struct fs_world *w, const char *name, struct str content)
{
    auto_buf path = BUF(4096);
    auto_buf have = BUF((size_t)64 << 20);
    auto_fd int fd = open(host_path(w, name, &path), O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : 1;
    while (got > 0) {
        got = read(fd, buf_reserve(&have, 65536), 65536);
        have.len += got > 0 ? (size_t)got : 0;
    }
    return !got && str_eq(buf_str(&have), content);
}

const char *call(struct fs_world *w, const char *tool, const char *args, bool *is_error)
{
    struct error err;
    json_t *json;
    auto_free char *text = xstrdup(args);
    for (char *p = text; (p = strchr(p, '\''));)
        *p = '"';
    if (!json_parse(str_of(text), &json, &err))
        fail_msg("%s: %s", args, err.message);
    *is_error = client_call(&w->client, tool, json);
    return w->client.text;
}

void expect(struct fs_world *w, const char *tool, const char *args, const char *text)
{
    bool is_error;
    const char *got = call(w, tool, args, &is_error);
    if (is_error || strcmp(got, text))
        fail_msg("%s %s: '%s', not '%s'", tool, args, got, text);
}

static void expect_parts(struct fs_world *w, bool is_error, const char *tool,
        const char *args, const char *part, const char *other)
{
    bool was_error;
    const char *got = call(w, tool, args, &was_error);
    if (was_error != is_error || !strstr(got, part) || (other && !strstr(got, other)))
        fail_msg("%s %s: %s'%s'", tool, args, was_error ? "error " : "", got);
}

void expect_error(struct fs_world *w, const char *tool, const char *args,
        const char *part, const char *other)
{
    expect_parts(w, true, tool, args, part, other);
}

void expect_part(struct fs_world *w, const char *tool, const char *args, const char *part,
        const char *other)
{
    expect_parts(w, false, tool, args, part, other);
}
