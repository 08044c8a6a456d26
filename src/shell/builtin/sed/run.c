#include "shell/builtin/sed/sed.h"

#include <ctype.h>
#include <stdio.h>

/* What `a`, `r` and `R` put out at the end of the cycle. */
struct appended {
    struct appended *next;
    char kind;
    struct str text; /* the text, or the name of the file */
};

struct range {
    bool active;
    uint64_t end; /* last line of the range, 0: decided by a regex or `$` */
};

/* A file that `R` takes one line of at a time. */
struct line_file {
    struct line_file *next;
    struct str name;
    struct stream *stream;
};

struct run {
    struct cmd *cmd;
    struct sed_script *script;
    struct sed_input in;
    struct buf pattern, hold, scratch;
    bool ended;           /* the line in the pattern space had its newline */
    bool missing_newline; /* the last output lacks its newline */
    bool replaced;        /* for `t` */
    bool keep;            /* `D`: the next cycle reads nothing */
    bool quit;
    int status;
    struct range *ranges;
    struct appended *first, **last;
    struct line_file *line_files;
    struct regex *last_regex;
    bool failed; /* output refused, limit, or an error that was reported */
};

enum outcome { GO_ON, END_CYCLE, END_SILENTLY };

static bool stop(struct run *r)
{
    r->failed = r->quit = true;
    return false;
}

static bool put(struct run *r, struct str text)
{
    if (r->failed)
        return false;
    if (r->missing_newline) {
        r->missing_newline = false;
        if (!sed_emit(&r->in, (struct str){ &r->in.end, 1 }))
            return stop(r);
    }
    return sed_emit(&r->in, text) || stop(r);
}

static bool put_line(struct run *r, struct str text)
{
    if (!put(r, text))
        return false;
    if (!r->ended) {
        r->missing_newline = true;
        return true;
    }
    return put(r, (struct str){ &r->in.end, 1 });
}

static bool write_file(struct run *r, struct sed_output *o, struct str text)
{
    if (stream_write(o->stream, text) &&
            (!r->ended || stream_write(o->stream, (struct str){ &r->in.end, 1 })))
        return true;
    cmd_err(r->cmd, "couldn't write to %.*s: %s", STR_ARG(o->name),
            strerror(stream_error(o->stream)));
    r->status = 4;
    return stop(r);
}

static void queue(struct run *r, char kind, struct str text)
{
    struct appended *a = arena_alloc(r->cmd->arena, sizeof(*a));
    *a = (struct appended){ .kind = kind, .text = text };
    *r->last = a;
    r->last = &a->next;
}

static bool put_file(struct run *r, struct str name)
{
    struct stream *s;
    if (cmd_open(r->cmd, name.data, false, &s))
        return true; /* as sed: a file that is not there is empty */
    struct str view;
    bool ok = true;
    while (ok && stream_peek(s, &view)) {
        ok = put(r, view);
        stream_consume(s, view.len);
    }
    stream_unref(s);
    return ok;
}

static bool put_next_line(struct run *r, struct str name)
{
    struct line_file *f = r->line_files;
    while (f && !str_eq(f->name, name))
        f = f->next;
    if (!f) {
        f = arena_zalloc(r->cmd->arena, sizeof(*f));
        *f = (struct line_file){ .next = r->line_files, .name = name };
        if (cmd_open(r->cmd, name.data, false, &f->stream))
            f->stream = NULL;
        r->line_files = f;
    }
    struct str line;
    if (!f->stream || !stream_line(f->stream, r->in.end, SED_MAX_TEXT, &line))
        return true;
    bool whole = line.data[line.len - 1] == r->in.end;
    return put(r, line) && (whole || put(r, (struct str){ &r->in.end, 1 }));
}

static bool put_appended(struct run *r)
{
    struct appended *a = r->first;
    r->first = NULL;
    r->last = &r->first;
    for (; a; a = a->next) {
        bool ok = a->kind == 'a'   ? put(r, a->text)
                  : a->kind == 'r' ? put_file(r, a->text)
                                   : put_next_line(r, a->text);
        if (!ok)
            return false;
    }
    return true;
}

/* `l`: the line so that every byte can be seen, folded at `width`. */
static bool put_visible(struct run *r, int64_t width)
{
    static const char letters[] = "\aa\bb\ff\nn\rr\tt\vv\\\\";
    struct buf *out = &r->scratch;
    buf_clear(out);
    size_t column = 0;
    for (size_t i = 0; i < r->pattern.len; i++) {
        unsigned char ch = (unsigned char)r->pattern.data[i];
        char text[8];
        const char *name = NULL;
        for (const char *at = letters; *at && !name; at += 2)
            name = (unsigned char)*at == ch ? at + 1 : NULL;
        int n = name ? snprintf(text, sizeof(text), "\\%c", *name)
                     : snprintf(text, sizeof(text), isprint(ch) ? "%c" : "\\%03o", ch);
        if (width > 1 && column + (size_t)n > (size_t)width - 1) {
            buf_add(out, STR("\\\n"));
            column = 0;
        }
        buf_add(out, (struct str){ text, (size_t)n });
        column += (size_t)n;
    }
    buf_add(out, STR("$\n"));
    return put(r, buf_str(out));
}

static bool search(struct run *r, struct regex *re, size_t from, struct regex_match *m)
{
    if (!re)
        re = r->last_regex;
    if (!re) {
        cmd_err(r->cmd, "no previous regular expression");
        r->status = 1;
        return stop(r);
    }
    r->last_regex = re;
    enum regex_result result = regex_search(re, buf_str(&r->pattern), from, false, m);
    if (result == REGEX_LIMIT) {
        cmd_err(r->cmd, "regex input too hard: the match limit was exceeded");
        r->status = 4;
        return stop(r);
    }
    return result == REGEX_YES;
}

static bool match_one(struct run *r, const struct sed_address *a)
{
    switch (a->type) {
    case SED_NO_ADDRESS:
        return true;
    case SED_LINE:
        return r->in.line == a->n;
    case SED_LAST:
        return sed_input_is_last(&r->in);
    case SED_REGEX:
        return search(r, a->regex, 0, NULL);
    case SED_STEP:
        if (a->step < 1)
            return r->in.line == a->n;
        return r->in.line >= a->n && (r->in.line - a->n) % a->step == 0;
    case SED_PLUS:
    case SED_MULTIPLE:
        break;
    }
    return false;
}

/* The first line of a range matched: does it go on? */
static void begin_range(struct run *r, const struct sed_address *to, struct range *range)
{
    uint64_t line = r->in.line;
    range->end = 0;
    if (to->type == SED_LINE)
        range->end = to->n;
    else if (to->type == SED_PLUS)
        range->end = line + to->n;
    else if (to->type == SED_MULTIPLE)
        range->end = to->n ? (line + to->n - 1) / to->n * to->n : line;
    bool by_number = to->type != SED_REGEX && to->type != SED_LAST;
    range->active = !by_number || range->end > line;
}

static bool match_range(struct run *r, struct sed_command *cmd)
{
    struct range *range = &r->ranges[cmd->number];
    if (!range->active) {
        if (!match_one(r, &cmd->from))
            return false;
        begin_range(r, &cmd->to, range);
        return true;
    }
    if (cmd->to.type == SED_REGEX || cmd->to.type == SED_LAST) {
        range->active = !match_one(r, &cmd->to);
        return true;
    }
    range->active = r->in.line < range->end;
    return r->in.line <= range->end;
}

static bool is_addressed(struct run *r, struct sed_command *cmd)
{
    bool match = cmd->to.type == SED_NO_ADDRESS ? match_one(r, &cmd->from)
                                                : match_range(r, cmd);
    return match != cmd->negated;
}

/* `0,/re/` is a range that has begun before the first line. */
static void reset_ranges(struct run *r)
{
    for (size_t i = 0; i < r->script->count; i++) {
        const struct sed_command *cmd = &r->script->commands[i];
        r->ranges[i] =
                (struct range){ .active = cmd->to.type != SED_NO_ADDRESS &&
                                          cmd->from.type == SED_LINE && !cmd->from.n };
    }
}

static void add_cased(
        struct buf *out, struct str text, enum sed_case all, enum sed_case *first)
{
    size_t start = out->len;
    buf_add(out, text);
    if (out->full || !text.len)
        return;
    for (size_t i = start; i < out->len; i++) {
        enum sed_case how = i == start && *first != SED_AS_IS ? *first : all;
        unsigned char ch = (unsigned char)out->data[i];
        if (how != SED_AS_IS)
            out->data[i] = (char)(how == SED_UPPER ? toupper(ch) : tolower(ch));
    }
    *first = SED_AS_IS;
}

static void add_replacement(struct run *r, const struct sed_command *cmd,
        const struct regex_match *m, struct buf *out)
{
    enum sed_case all = SED_AS_IS, first = SED_AS_IS;
    for (size_t i = 0; i < cmd->piece_count; i++) {
        const struct sed_piece *piece = &cmd->pieces[i];
        if (piece->sets_case)
            all = piece->all;
        if (piece->first != SED_AS_IS)
            first = piece->first;
        struct str text = piece->text;
        if (piece->group >= 0) {
            bool set = (size_t)piece->group < m->groups && m->start[piece->group] >= 0;
            text = set ? str_sub(buf_str(&r->pattern), (size_t)m->start[piece->group],
                                 (size_t)(m->end[piece->group] - m->start[piece->group]))
                       : STR("");
        }
        add_cased(out, text, all, &first);
    }
}

static size_t char_length(struct str text, size_t at)
{
    size_t n = 1;
    while (at + n < text.len && ((unsigned char)text.data[at + n] & 0xc0) == 0x80)
        n++;
    return n;
}

static bool substitute(struct run *r, const struct sed_command *cmd)
{
    struct buf *out = &r->scratch;
    struct str text = buf_str(&r->pattern);
    struct regex_match m;
    size_t at = 0, last_end = SIZE_MAX;
    uint64_t count = 0, which = cmd->which ? cmd->which : 1;
    bool done = false;
    buf_clear(out);
    while (!done && at <= text.len && cmd_tick(r->cmd) && search(r, cmd->regex, at, &m)) {
        size_t start = (size_t)m.start[0], end = (size_t)m.end[0];
        buf_add(out, str_sub(text, at, start - at));
        bool after_match = start == end && start == last_end;
        if (!after_match && ++count >= which) {
            add_replacement(r, cmd, &m, out);
            r->replaced = done = true;
            if (cmd->global)
                done = false;
        } else {
            buf_add(out, str_sub(text, start, end - start));
        }
        at = last_end = end;
        if (start == end && !done) {
            size_t n = at < text.len ? char_length(text, at) : 1;
            buf_add(out, str_sub(text, at, n));
            at += n;
        }
    }
    if (count < which || r->failed)
        return false;
    buf_add(out, str_from(text, at));
    if (out->full) {
        budget_stop(r->cmd->budget, BUDGET_MEMORY);
        return stop(r);
    }
    struct buf old = r->pattern;
    r->pattern = *out;
    *out = old;
    return true;
}

static bool run_s(struct run *r, const struct sed_command *cmd)
{
    if (!substitute(r, cmd))
        return !r->failed;
    if (cmd->print && !put_line(r, buf_str(&r->pattern)))
        return false;
    return !cmd->output || write_file(r, cmd->output, buf_str(&r->pattern));
}

static void run_y(struct run *r, const struct sed_command *cmd)
{
    struct buf *out = &r->scratch;
    struct str text = buf_str(&r->pattern);
    buf_clear(out);
    for (size_t at = 0; at < text.len;) {
        struct str one = str_sub(text, at, char_length(text, at));
        struct str to = one;
        for (size_t i = 0; i < cmd->map_count; i++) {
            if (str_eq(cmd->map_from[i], one)) {
                to = cmd->map_to[i];
                break;
            }
        }
        buf_add(out, to);
        at += one.len;
    }
    struct buf old = r->pattern;
    r->pattern = *out;
    *out = old;
}

static void set_buf(struct run *r, struct buf *to, struct str text, bool append)
{
    if (append)
        buf_addc(to, r->in.end);
    else
        buf_clear(to);
    buf_add(to, text);
    if (to->full) {
        budget_stop(r->cmd->budget, BUDGET_MEMORY);
        stop(r);
    }
}

static struct str first_line(struct run *r)
{
    struct str rest = buf_str(&r->pattern);
    return str_cut(&rest, r->in.end);
}

static bool read_line(struct run *r)
{
    bool again = r->in.line > 0;
    if (!sed_input_line(&r->in, &r->pattern, &r->ended))
        return false;
    if (r->in.new_file && r->script->separate && again)
        reset_ranges(r);
    r->in.new_file = false;
    return true;
}

/* `n` and `N`: the next line; without one the script ends, printing what there is. */
static enum outcome next_line(struct run *r, bool append)
{
    if (sed_input_is_last(&r->in)) {
        bool more = r->script->separate && r->in.files[r->in.next];
        r->quit = !more;
        return r->script->posix && append ? END_SILENTLY : END_CYCLE;
    }
    if (append) {
        buf_addc(&r->pattern, r->in.end);
    } else {
        if (!r->script->silent && !put_line(r, buf_str(&r->pattern)))
            return END_SILENTLY;
        buf_clear(&r->pattern);
    }
    if (!put_appended(r) || !read_line(r))
        return END_SILENTLY;
    return GO_ON;
}

static enum outcome delete_first_line(struct run *r)
{
    size_t n = first_line(r).len;
    if (n == r->pattern.len)
        return END_SILENTLY;
    r->pattern.len -= n + 1;
    memmove(r->pattern.data, r->pattern.data + n + 1, r->pattern.len);
    r->keep = true;
    return END_SILENTLY;
}

static enum outcome change(struct run *r, const struct sed_command *cmd)
{
    bool in_range = cmd->to.type != SED_NO_ADDRESS && !cmd->negated;
    if (!in_range || !r->ranges[cmd->number].active)
        put(r, cmd->text);
    return END_SILENTLY;
}

static void put_number(struct run *r)
{
    char text[32];
    int n = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)r->in.line);
    put(r, (struct str){ text, (size_t)n });
}

static void exchange(struct run *r)
{
    struct buf old = r->pattern;
    r->pattern = r->hold;
    r->hold = old;
}

/* Commands that neither jump nor end the cycle. */
static void run_plain(struct run *r, const struct sed_command *cmd)
{
    switch (cmd->name) {
    case '=':
        put_number(r);
        break;
    case 'a':
    case 'r':
    case 'R':
        queue(r, cmd->name, cmd->text);
        break;
    case 'i':
        put(r, cmd->text);
        break;
    case 'F':
        put(r, str_of(r->in.name ? r->in.name : "-"));
        put(r, STR("\n"));
        break;
    case 'g':
    case 'G':
        set_buf(r, &r->pattern, buf_str(&r->hold), cmd->name == 'G');
        break;
    case 'h':
    case 'H':
        set_buf(r, &r->hold, buf_str(&r->pattern), cmd->name == 'H');
        break;
    case 'x':
        exchange(r);
        break;
    case 'l':
        put_visible(r, cmd->value >= 0 ? cmd->value : r->script->line_width);
        break;
    case 'p':
        put_line(r, buf_str(&r->pattern));
        break;
    case 'P':
        put(r, first_line(r));
        put(r, (struct str){ &r->in.end, 1 });
        break;
    case 's':
        run_s(r, cmd);
        break;
    case 'w':
        write_file(r, cmd->output, buf_str(&r->pattern));
        break;
    case 'W':
        write_file(r, cmd->output, first_line(r));
        break;
    case 'y':
        run_y(r, cmd);
        break;
    case 'z':
        buf_clear(&r->pattern);
        break;
    default:
        break;
    }
}

/* Where a jump leads; SIZE_MAX: nowhere, go on. */
static size_t jump(struct run *r, const struct sed_command *cmd)
{
    bool replaced = r->replaced;
    if (cmd->name == 'b')
        return cmd->target;
    if (cmd->name != 't' && cmd->name != 'T')
        return SIZE_MAX;
    r->replaced = false;
    return replaced == (cmd->name == 't') ? cmd->target : SIZE_MAX;
}

static enum outcome run_ending(struct run *r, const struct sed_command *cmd)
{
    switch (cmd->name) {
    case 'd':
        return END_SILENTLY;
    case 'D':
        return delete_first_line(r);
    case 'c':
        return change(r, cmd);
    case 'n':
    case 'N':
        return next_line(r, cmd->name == 'N');
    case 'q':
    case 'Q':
        r->quit = true;
        r->status = cmd->value >= 0 ? (int)(cmd->value & 255) : 0;
        return cmd->name == 'q' ? END_CYCLE : END_SILENTLY;
    default:
        run_plain(r, cmd);
        return GO_ON;
    }
}

static enum outcome run_commands(struct run *r)
{
    for (size_t i = 0; i < r->script->count;) {
        struct sed_command *cmd = &r->script->commands[i++];
        if (!cmd_tick(r->cmd)) {
            stop(r);
            return END_SILENTLY;
        }
        bool addressed = is_addressed(r, cmd);
        if (r->failed)
            return END_SILENTLY;
        if (cmd->name == '{') {
            i = addressed ? i : cmd->target;
            continue;
        }
        if (!addressed)
            continue;
        size_t to = jump(r, cmd);
        enum outcome what = to == SIZE_MAX ? run_ending(r, cmd) : GO_ON;
        if (what != GO_ON || r->failed)
            return r->failed ? END_SILENTLY : what;
        if (to != SIZE_MAX)
            i = to;
    }
    return END_CYCLE;
}

static void cycle(struct run *r)
{
    enum outcome what = run_commands(r);
    if (r->failed)
        return;
    if (what == END_CYCLE && !r->script->silent)
        put_line(r, buf_str(&r->pattern));
    if (!r->failed)
        put_appended(r);
}

static bool open_outputs(struct run *r)
{
    for (struct sed_output *o = r->script->outputs; o; o = o->next) {
        int errnum = cmd_create(r->cmd, o->name.data, VFS_TRUNCATE, &o->stream);
        if (!errnum)
            continue;
        cmd_err(r->cmd, "couldn't open file %.*s: %s", STR_ARG(o->name),
                strerror(errnum));
        r->status = 4;
        return false;
    }
    return true;
}

static void finish(struct run *r)
{
    for (struct sed_output *o = r->script->outputs; o; o = o->next)
        stream_unref(o->stream);
    for (struct line_file *f = r->line_files; f; f = f->next)
        stream_unref(f->stream);
    stream_unref(TAKE(r->in.current));
    buf_finish(&r->in.replacement);
    buf_finish(&r->pattern);
    buf_finish(&r->hold);
    buf_finish(&r->scratch);
}

int sed_run(struct cmd *c, struct sed_script *script, char **files)
{
    struct run r = { .cmd = c, .script = script, .ended = true };
    size_t max = c->budget->max_memory;
    r.pattern = r.hold = r.scratch = BUF(max);
    r.last = &r.first;
    r.ranges = arena_zalloc(c->arena, (script->count + 1) * sizeof(*r.ranges));
    sed_input_init(&r.in, c, script, files);
    reset_ranges(&r);
    bool ok = open_outputs(&r);
    while (ok && !r.quit) {
        if (!r.keep)
            buf_clear(&r.pattern);
        if (!r.keep && !read_line(&r))
            break;
        r.keep = false;
        r.replaced = false;
        cycle(&r);
    }
    if (!r.failed)
        sed_input_finish(&r.in);
    finish(&r);
    return r.status ? r.status : r.in.status;
}
