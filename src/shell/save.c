#include "shell/save.h"

#include "base/utf8.h"
#include "shell/save-parts.h"

struct saver {
    struct shell *sh;
    struct buf *out;
    struct arena *arena;
};

void save_text(struct str s, struct buf *out)
{
    if (utf8_valid(s)) {
        json_write_text(s, out);
        return;
    }
    auto_buf wide = BUF(2 * s.len + 1);
    for (size_t i = 0; i < s.len; i++) {
        char code[4];
        size_t n = utf8_write((unsigned char)s.data[i], code);
        buf_add(&wide, (struct str){ code, n });
    }
    buf_add(out, STR("{\"bytes\":"));
    json_write_text(buf_str(&wide), out);
    buf_addc(out, '}');
}

static void put_text(struct saver *s, struct str text)
{
    save_text(text, s->out);
}

/* In a list: a comma before all but the first. */
static void put_item(struct saver *s, bool first, struct str text)
{
    if (!first)
        buf_addc(s->out, ',');
    put_text(s, text);
}

static void put_list(
        struct saver *s, const char *key, const struct str *items, size_t count)
{
    buf_addf(s->out, ",\"%s\":[", key);
    for (size_t i = 0; i < count; i++)
        put_item(s, !i, items[i]);
    buf_addc(s->out, ']');
}

static void put_args(struct saver *s)
{
    buf_add(s->out, STR(",\"args\":["));
    for (int i = 0; i <= s->sh->arg_count; i++)
        put_item(s, !i, str_of(s->sh->args[i]));
    buf_addc(s->out, ']');
}

static void put_numbers(struct saver *s)
{
    const struct shell *sh = s->sh;
    buf_addf(s->out, ",\"umask\":%u,\"set\":%llu,\"shopt\":%llu", vfs_umask(sh->vfs),
            (unsigned long long)sh->set, (unsigned long long)sh->shopt);
    buf_addf(s->out, ",\"pids\":[%d,%d,%d],\"seconds\":%lld", sh->pid, sh->next_pid,
            sh->last_background,
            (long long)((save_clock() - sh->started_ns) / SAVE_SECOND));
    if (sh->random_pid == sh->pid)
        buf_addf(s->out, ",\"random\":[%u,%u]", sh->random, sh->last_random);
    buf_addf(s->out, ",\"getopts\":[%zu,%lld]", sh->getopts_at,
            (long long)sh->getopts_index);
    buf_addf(s->out, ",\"status\":%d,\"pipe_status\":[", sh->status);
    for (size_t i = 0; i < sh->pipe_status_count; i++)
        buf_addf(s->out, "%s%d", i ? "," : "", sh->pipe_status[i]);
    buf_add(s->out, STR("],\"last_arg\":"));
    put_text(s, buf_str(&sh->last_arg));
}

/* Of an associative array the newest key of those that share a place is shown first, so
 * the last one is to be set first. */
static void put_elements(struct saver *s, struct str name, bool assoc)
{
    struct str *keys, *values;
    size_t count;
    vars_elements(s->sh->vars, name, s->arena, &keys, &values, &count);
    buf_addc(s->out, '[');
    for (size_t i = 0; i < count; i++) {
        size_t at = assoc ? count - 1 - i : i;
        put_item(s, !i, keys[at]);
        put_item(s, false, values[at]);
    }
    buf_addc(s->out, ']');
}

/* ["name",flags,value]: a text, null, or ["key","value",...]. */
static void put_var(struct saver *s, struct str name)
{
    struct vars *vars = s->sh->vars;
    unsigned flags = (unsigned)vars_flags(vars, name);
    struct str value = STR("");
    buf_addc(s->out, '[');
    put_text(s, name);
    buf_addf(s->out, ",%u,", flags);
    if (flags & (VAR_INDEXED | VAR_ASSOC)) {
        put_elements(s, name, flags & VAR_ASSOC);
    } else if (flags & VAR_NAMEREF) {
        put_text(s, vars_nameref(vars, name));
    } else if (vars_get(vars, name, &value)) {
        put_text(s, value);
    } else {
        buf_add(s->out, STR("null"));
    }
    buf_addc(s->out, ']');
}

static void put_vars(struct saver *s)
{
    struct str *names;
    size_t count;
    vars_names(s->sh->vars, STR(""), s->arena, &names, &count);
    buf_add(s->out, STR(",\"vars\":["));
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_addc(s->out, ',');
        put_var(s, names[i]);
    }
    buf_addc(s->out, ']');
}

/* ["name",flags,line,"file","body"] */
static void put_function(struct saver *s, const struct function *fn)
{
    auto_buf body = BUF(SHELL_SAVE_MAX);
    ast_print(fn->body, &body);
    buf_addc(s->out, '[');
    put_text(s, fn->name);
    buf_addf(s->out, ",%d,%u,",
            (fn->is_readonly ? SAVE_READONLY : 0) | (fn->is_exported ? SAVE_EXPORTED : 0),
            fn->body->pos.line);
    put_item(s, true, fn->file);
    put_item(s, false, buf_str(&body));
    buf_addc(s->out, ']');
    if (body.full)
        s->out->full = true;
}

static void put_functions(struct saver *s)
{
    struct str *names;
    size_t count;
    functions_names(s->sh->functions, s->arena, &names, &count);
    buf_add(s->out, STR(",\"functions\":["));
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_addc(s->out, ',');
        put_function(s, functions_find(s->sh->functions, names[i]));
    }
    buf_addc(s->out, ']');
}

/* [number,"action",...] */
static void put_traps(struct saver *s)
{
    char **traps = s->sh->traps;
    bool first = true;
    buf_add(s->out, STR(",\"traps\":["));
    for (int i = 0; traps && i < TRAP_COUNT; i++) {
        if (!traps[i])
            continue;
        buf_addf(s->out, "%s%d,", first ? "" : ",", i);
        put_text(s, str_of(traps[i]));
        first = false;
    }
    buf_addc(s->out, ']');
}

static bool check(const struct shell *sh, struct error *err)
{
    if (sh->lingering)
        return error_set(err, ERR_UNSUPPORTED,
                "a process substitution that 'exec' keeps open cannot be kept");
    for (int i = 0; i < sh->fd_top; i++)
        if (sh->fds[i])
            return error_set(
                    err, ERR_UNSUPPORTED, "descriptor %d is open, and cannot be kept", i);
    return true;
}

static void save(struct saver *s)
{
    const struct shell *sh = s->sh;
    buf_addf(s->out, "{\"version\":%d,\"cwd\":", SHELL_SAVE_VERSION);
    put_text(s, sh->cwd.text);
    put_numbers(s);
    put_args(s);
    put_vars(s);
    put_functions(s);
    put_list(s, "aliases", sh->aliases, sh->alias_count);
    put_list(s, "dirs", sh->dirs, sh->dir_count);
    put_traps(s);
    buf_addc(s->out, '}');
}

bool shell_save(struct shell *sh, struct buf *out, struct error *err)
{
    auto_buf text = BUF(SHELL_SAVE_MAX);
    auto_arena *arena = arena_create();
    struct saver s = { .sh = sh, .out = &text, .arena = arena };
    if (!check(sh, err))
        return false;
    save(&s);
    if (text.full)
        return error_set(err, ERR_LIMIT, "variables and functions take more than %zu KiB",
                SHELL_SAVE_MAX >> 10);
    if (!json_fits(buf_str(&text), err))
        return error_context(err, "variables and functions");
    struct error why;
    if (!load_check(buf_str(&text), &why))
        return error_set(
                err, ERR_UNSUPPORTED, "it could not be read again: %.200s", why.message);
    buf_add(out, buf_str(&text));
    return true;
}
