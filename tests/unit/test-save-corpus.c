/* Of every script of tests/shell: a shell that ran it, was saved and loaded goes on as
 * one that was not.  What differs between two shells that were not (the time, what is
 * chosen by chance) tells nothing, and is tried again before it counts. */
#include "sanitized.h"
#include "shell/save.h"
#include "shell/shell.h"
#include "unit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#define MEMORY   ((uint64_t)64 << 20)
#define MAX_TEXT ((size_t)4 << 20)

struct world {
    struct vfs *vfs;
    struct shell *sh;
    struct buf out;
};

static const struct shell_limits limits = {
    .max_steps = 200000, .max_memory = (uint64_t)16 << 20, .max_depth = 200
};

/* What a script leaves behind. */
static const char probe[] =
        "echo \"$? [$_] ${PIPESTATUS[*]} $! $$ $BASHPID $# $0 $* $-\"\n"
        "declare -p; declare -f; declare -F; alias -p; set -o; shopt; trap -p; dirs -v\n"
        "umask; pwd; pwd -P; getopts abc: name -a -b; echo $name";

static struct shell *new_shell(struct vfs *vfs)
{
    static const char *const env[] = { "HOME=/", "PATH=/usr/bin:/bin", "odd.name=1",
        "empty=", NULL };
    const struct shell_options options = {
        .vfs = vfs, .name = "mcpath", .cwd = VPATH_ROOT, .env = env
    };
    return shell_create(&options);
}

static void begin(struct world *w)
{
    static const struct vfs_options options = { .umask = 022 };
    w->vfs = vfs_create(&options);
    assert_int_equal(vfs_mount_memory(w->vfs, VPATH_ROOT, MEMORY), 0);
    w->sh = new_shell(w->vfs);
    w->out = BUF(MAX_TEXT);
}

static void end(struct world *w)
{
    shell_destroy(w->sh);
    vfs_destroy(w->vfs);
    buf_finish(&w->out);
}

static void run(struct world *w, struct str text)
{
    bool exited;
    struct stream *in = stream_null(), *out = stream_buffer(&w->out);
    int status = shell_run(w->sh, text, &limits, NULL, in, out, out, &exited);
    stream_unref(in);
    stream_unref(out);
    buf_addf(&w->out, "[status %d]\n", status);
}

/* In the same world another shell goes on; false: this one cannot be saved. */
static bool sleep_and_wake(struct world *w, struct str script)
{
    struct error err;
    json_auto_t *state = NULL;
    auto_buf text = BUF(SHELL_SAVE_MAX);
    if (!shell_save(w->sh, &text, &err)) {
        assert_true(err.code == ERR_UNSUPPORTED || err.code == ERR_LIMIT);
        return false;
    }
    if (!json_parse(buf_str(&text), &state, &err))
        fail_msg("%s in %s", err.message, text.data);
    uint32_t mask = vfs_umask(w->vfs);
    shell_destroy(w->sh);
    vfs_set_umask(w->vfs, 022);
    w->sh = new_shell(w->vfs);
    if (!shell_load(w->sh, state, &err))
        fail_msg("%s after\n%.*s\n%s", err.message, STR_ARG(script), text.data);
    assert_int_equal(vfs_umask(w->vfs), mask);
    return true;
}

/* Of one file of tests. */
struct scripts {
    struct str *items;
    size_t count, cap;
};

static void take_line(struct buf *script, struct str line, struct scripts *to, bool ends)
{
    if (ends && script->len) {
        GROW(to->items, to->count, to->cap);
        to->items[to->count++] = (struct str){ str_copy(buf_str(script)), script->len };
        buf_clear(script);
    }
    buf_add(script, str_from(line, line.len < 2 ? line.len : 2));
    buf_addc(script, '\n');
}

static void read_scripts(const char *path, struct scripts *to)
{
    auto_buf content = BUF(MAX_TEXT), script = BUF(MAX_TEXT);
    FILE *f = fopen(path, "re");
    assert_non_null(f);
    char *room = buf_reserve(&content, MAX_TEXT - 1);
    content.len = fread(room, 1, MAX_TEXT - 1, f);
    fclose(f);
    struct str rest = buf_str(&content);
    while (rest.len) {
        struct str line = str_cut(&rest, '\n');
        if (str_starts(line, STR("$ ")) || str_starts(line, STR("> ")))
            take_line(&script, line, to, *line.data == '$');
    }
    take_line(&script, STR(""), to, true);
}

enum outcome { SAME, NOT_KEPT, NOT_COMPARABLE, DIFFERENT };

/* False: it was to sleep in between, and could not. */
static bool live(struct world *w, struct str first, struct str second, bool sleeps)
{
    begin(w);
    run(w, first);
    if (sleeps && !sleep_and_wake(w, first))
        return false;
    run(w, str_of(probe));
    run(w, second);
    run(w, str_of(probe));
    return true;
}

/* Two shells that stay awake do not do the same either. */
static bool differs_anyhow(struct world *w, struct str first, struct str second)
{
    struct world control;
    (void)live(&control, first, second, false);
    bool differs = !str_eq(buf_str(&w->out), buf_str(&control.out));
    end(&control);
    return differs;
}

/* After `first`, `second` does the same with and without the sleep. */
static enum outcome compare(struct str first, struct str second, bool reports)
{
    struct world awake, asleep;
    enum outcome outcome = SAME;
    (void)live(&awake, first, second, false);
    if (!live(&asleep, first, second, true))
        outcome = NOT_KEPT;
    else if (!str_eq(buf_str(&awake.out), buf_str(&asleep.out)))
        outcome = differs_anyhow(&awake, first, second) ? NOT_COMPARABLE : DIFFERENT;
    if (outcome == DIFFERENT && reports)
        print_error("after\n%.*s\nand\n%.*s\n--- awake\n%s\n--- after a sleep\n%s\n",
                STR_ARG(first), STR_ARG(second), awake.out.data, asleep.out.data);
    end(&awake);
    end(&asleep);
    return outcome;
}

struct counts {
    size_t of[DIFFERENT + 1];
};

static void try_file(const char *path, struct counts *counts)
{
    struct scripts scripts = { .items = NULL };
    read_scripts(path, &scripts);
    assert_true(scripts.count > 0);
    for (size_t i = 0; i < scripts.count; i += SANITIZED ? 2 : 1) {
        struct str next = scripts.items[(i + 1) % scripts.count];
        enum outcome outcome = DIFFERENT;
        for (int tries = 0; tries < 3 && outcome == DIFFERENT; tries++)
            outcome = compare(scripts.items[i], next, tries == 2);
        counts->of[outcome]++;
    }
    for (size_t i = 0; i < scripts.count; i++)
        free((char *)(uintptr_t)scripts.items[i].data);
    free(scripts.items);
}

static int is_test(const struct dirent *entry)
{
    return str_ends(str_of(entry->d_name), STR(".test"));
}

static void test_scripts(void **state UNUSED)
{
    struct dirent **entries;
    struct counts counts = { { 0 } };
    const char *only = getenv("ONLY");
    int count = scandir(TEST_DATA "/../shell", &entries, is_test, alphasort);
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/../shell/%s", TEST_DATA, entries[i]->d_name);
        if (!only || strstr(path, only))
            try_file(path, &counts);
        free(entries[i]);
    }
    free(entries);
    print_message("%zu the same, %zu not kept, %zu not comparable\n", counts.of[SAME],
            counts.of[NOT_KEPT], counts.of[NOT_COMPARABLE]);
    assert_int_equal(counts.of[DIFFERENT], 0);
    assert_true(only || counts.of[SAME] > (SANITIZED ? 1000 : 2000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scripts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
