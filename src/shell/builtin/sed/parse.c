#include "shell/builtin/sed/sed.h"

#include <ctype.h>

#define MAX_COMMANDS 100000
#define MAX_BLOCKS   500

struct label {
    struct label *next;
    struct str name;
    size_t at;
};

struct sed_parser {
    struct cmd *cmd;
    struct sed_script *script;
    const char *source; /* "-e expression #1", "file.sed: line 3" */
    struct str text;
    size_t at;
    struct label *labels;
    size_t blocks[MAX_BLOCKS]; /* open `{` */
    size_t depth;
    /* `a\` at the end of one -e goes on with the next. */
    struct sed_command *pending;
};

struct sed_parser *sed_parser_create(struct cmd *c, struct sed_script *script)
{
    struct sed_parser *p = arena_zalloc(c->arena, sizeof(*p));
    p->cmd = c;
    p->script = script;
    return p;
}

static bool fail(struct sed_parser *p, const char *message)
{
    cmd_err(p->cmd, "%s, char %zu: %s", p->source, p->at, message);
    return false;
}

static int peek(const struct sed_parser *p)
{
    return p->at < p->text.len ? (unsigned char)p->text.data[p->at] : -1;
}

static int next(struct sed_parser *p)
{
    int c = peek(p);
    if (c >= 0)
        p->at++;
    return c;
}

static void skip_blanks(struct sed_parser *p)
{
    while (peek(p) == ' ' || peek(p) == '\t')
        p->at++;
}

static void skip_space(struct sed_parser *p)
{
    while (peek(p) >= 0 && (isspace(peek(p)) || peek(p) == ';'))
        p->at++;
}

static uint64_t number(struct sed_parser *p)
{
    uint64_t n = 0;
    while (isdigit(peek(p)))
        n = n < UINT64_MAX / 20 ? n * 10 + (uint64_t)(next(p) - '0') : (p->at++, n);
    return n;
}

static int hex_value(int c)
{
    return isdigit(c) ? c - '0' : isxdigit(c) ? tolower(c) - 'a' + 10 : -1;
}

/* \xHH \oNNN \dNNN \cX and the letters of C; the character, or -1 if `c` is none of them.
 */
static int escape_value(struct sed_parser *p, int c)
{
    static const char letters[] = "a\ab\bf\fn\nr\rt\tv\v";
    const char *at = c == 'b' ? NULL : strchr(letters, c);
    if (c && at && !((at - letters) & 1))
        return (unsigned char)at[1];
    int base = c == 'x' ? 16 : c == 'o' ? 8 : c == 'd' ? 10 : 0;
    if (!base)
        return -1;
    int value = 0, digits = 0, most = base == 16 ? 2 : 3;
    while (digits < most && hex_value(peek(p)) >= 0 && hex_value(peek(p)) < base) {
        value = value * base + hex_value(next(p));
        digits++;
    }
    return digits ? value & 255 : -1;
}

/* A character that came from an escape must stay literal in a regular expression. */
static void add_literal(struct buf *out, int c)
{
    if (c && strchr("$*.[\\]^", c))
        buf_addc(out, '\\');
    buf_addc(out, (char)c);
}

/* Bytes of the bracket expression at `at`; 0 if it is not closed. */
static size_t bracket_length(struct str s, size_t at)
{
    size_t i = at + 1;
    if (i < s.len && s.data[i] == '^')
        i++;
    if (i < s.len && s.data[i] == ']')
        i++;
    for (; i < s.len && s.data[i] != ']' && s.data[i] != '\n'; i++) {
        char kind = i + 1 < s.len ? s.data[i + 1] : 0;
        if (s.data[i] != '[' || (kind != ':' && kind != '.' && kind != '='))
            continue;
        for (i += 2; i + 1 < s.len && !(s.data[i] == kind && s.data[i + 1] == ']'); i++)
            ;
        i++;
    }
    return i < s.len && s.data[i] == ']' ? i + 1 - at : 0;
}

/* A bracket expression, in which the delimiter is an ordinary character. */
static void copy_bracket(struct sed_parser *p, size_t len, struct buf *out)
{
    for (size_t end = p->at + len; p->at < end;) {
        int c = next(p);
        int value = c == '\\' && p->at < end ? escape_value(p, peek(p)) : -1;
        if (value >= 0 && strchr("nt", p->text.data[p->at]))
            p->at++;
        else
            value = c;
        buf_addc(out, (char)value);
    }
}

/*
 * What stands up to the next `delimiter`, which is consumed.  In a regular expression
 * escapes become characters; in a replacement they stay for parse_replacement().
 */
static bool delimited(struct sed_parser *p, int delimiter, bool regex, struct buf *out)
{
    for (int c; (c = next(p)) != delimiter;) {
        if (c < 0 || (c == '\n' && regex))
            return false;
        size_t bracket = c == '[' && regex ? bracket_length(p->text, p->at - 1) : 0;
        if (bracket) {
            p->at--;
            copy_bracket(p, bracket, out);
            continue;
        }
        if (c != '\\') {
            buf_addc(out, (char)c);
            continue;
        }
        c = next(p);
        if (c < 0)
            return false;
        if (c == delimiter) {
            /* The delimiter itself; an escaped special one keeps its meaning. */
            if (!regex && c == '&')
                buf_addc(out, '\\');
            buf_addc(out, (char)c);
            continue;
        }
        size_t before = p->at;
        int value = regex ? escape_value(p, c) : -1;
        if (value < 0) {
            p->at = before;
            buf_addc(out, '\\');
            buf_addc(out, (char)c);
        } else if (value == '\n' || isspace(value)) {
            buf_addc(out, (char)value);
        } else {
            add_literal(out, value);
        }
    }
    return true;
}

static void destroy_regex(void *re)
{
    regex_destroy(re);
}

/* Compile, or leave NULL for the empty one, which means the last that was used. */
static bool compile(struct sed_parser *p, struct str pattern, bool fold, bool lines,
        struct regex **out)
{
    *out = NULL;
    if (!pattern.len)
        return true;
    struct error err;
    enum regex_flags flags = (fold ? REGEX_FOLD : 0) | (lines ? REGEX_NEWLINE : 0);
    if (!regex_compile(pattern, p->script->extended ? REGEX_EXTENDED : REGEX_BASIC, flags,
                out, &err))
        return fail(p, err.message);
    arena_defer(p->cmd->arena, destroy_regex, *out);
    return true;
}

static bool regex_address(struct sed_parser *p, int delimiter, struct sed_address *out)
{
    auto_buf pattern = BUF(SED_MAX_TEXT);
    if (!delimited(p, delimiter, true, &pattern))
        return fail(p, "unterminated address regex");
    bool fold = false, lines = false;
    for (;; p->at++) {
        if (peek(p) == 'I')
            fold = true;
        else if (peek(p) == 'M')
            lines = true;
        else
            break;
    }
    out->type = SED_REGEX;
    return compile(p, buf_str(&pattern), fold, lines, &out->regex);
}

/* One address if there is one. */
static bool address(struct sed_parser *p, struct sed_address *out, bool second)
{
    int c = peek(p);
    *out = (struct sed_address){ .type = SED_NO_ADDRESS };
    if (c == '/' || c == '\\') {
        p->at++;
        int delimiter = c == '/' ? c : next(p);
        return delimiter >= 0 ? regex_address(p, delimiter, out)
                              : fail(p, "unterminated address regex");
    }
    if (c == '$') {
        p->at++;
        out->type = SED_LAST;
    } else if (isdigit(c)) {
        out->type = SED_LINE;
        out->n = number(p);
        if (peek(p) == '~' && !second) {
            p->at++;
            out->type = SED_STEP;
            out->step = number(p);
        }
    } else if (second && (c == '+' || c == '~')) {
        p->at++;
        if (!isdigit(peek(p)))
            return fail(p, "expected number");
        out->type = c == '+' ? SED_PLUS : SED_MULTIPLE;
        out->n = number(p);
    }
    return true;
}

static bool addresses(struct sed_parser *p, struct sed_command *cmd)
{
    if (!address(p, &cmd->from, false))
        return false;
    skip_blanks(p);
    if (cmd->from.type != SED_NO_ADDRESS && peek(p) == ',') {
        p->at++;
        skip_blanks(p);
        if (!address(p, &cmd->to, true))
            return false;
        if (cmd->to.type == SED_NO_ADDRESS)
            return fail(p, "unexpected `,'");
    } else if (cmd->from.type == SED_NO_ADDRESS && peek(p) == ',') {
        return fail(p, "unexpected `,'");
    }
    if (cmd->from.type == SED_LINE && !cmd->from.n && cmd->to.type != SED_REGEX)
        return fail(p, "invalid usage of line address 0");
    skip_blanks(p);
    if (peek(p) == '!') {
        p->at++;
        cmd->negated = true;
        skip_blanks(p);
        if (peek(p) == '!')
            return fail(p, "multiple `!'s");
    }
    return true;
}

/* A command must be followed by nothing, `;`, `}`, `#` or the end of its line. */
static bool end_of_command(struct sed_parser *p)
{
    skip_blanks(p);
    int c = peek(p);
    if (c == '}' || c == '#' || c < 0)
        return true;
    p->at++;
    if (c == '\n' || c == ';')
        return true;
    return fail(p, "extra characters after command");
}

static struct str rest_of_line(struct sed_parser *p)
{
    size_t start = p->at;
    while (peek(p) >= 0 && peek(p) != '\n')
        p->at++;
    struct str line = str_sub(p->text, start, p->at - start);
    next(p);
    return line;
}

static bool file_name(struct sed_parser *p, struct sed_command *cmd)
{
    skip_blanks(p);
    cmd->text = arena_str(p->cmd->arena, rest_of_line(p));
    return cmd->text.len || fail(p, "missing filename in r/R/w/W commands");
}

/* The file of a `w`: opened (and emptied) before the first line, once for each name. */
static bool output_file(struct sed_parser *p, struct sed_command *cmd)
{
    if (!file_name(p, cmd))
        return false;
    for (struct sed_output *o = p->script->outputs; o; o = o->next) {
        if (str_eq(o->name, cmd->text)) {
            cmd->output = o;
            return true;
        }
    }
    struct sed_output *o = arena_zalloc(p->cmd->arena, sizeof(*o));
    *o = (struct sed_output){ .next = p->script->outputs, .name = cmd->text };
    p->script->outputs = cmd->output = o;
    return true;
}

/* The text of a, i, c: up to a newline without a backslash before it.  False: a backslash
 * ends this -e, and the text goes on with the next. */
static bool text_lines(struct sed_parser *p, struct buf *out)
{
    bool whole = true;
    for (int c; (c = next(p)) >= 0 && c != '\n';) {
        if (c == '\\' && (c = next(p)) < 0)
            whole = false;
        else
            buf_addc(out, (char)c);
    }
    buf_addc(out, '\n');
    return whole;
}

static bool text_argument(struct sed_parser *p, struct sed_command *cmd)
{
    skip_blanks(p);
    auto_buf text = BUF(SED_MAX_TEXT);
    if (peek(p) == '\\') {
        p->at++;
        size_t after = p->at;
        skip_blanks(p);
        if (peek(p) == '\n')
            p->at++;
        else if (peek(p) >= 0)
            p->at = after; /* `a\  text`: the blanks are part of it */
        if (peek(p) < 0) {
            p->pending = cmd;
            return true;
        }
    }
    if (peek(p) < 0)
        return fail(p, "expected \\ after `a', `c' or `i'");
    if (!text_lines(p, &text))
        p->pending = cmd;
    cmd->text = arena_str(p->cmd->arena, buf_str(&text));
    return true;
}

static struct sed_piece *add_piece(struct sed_command *cmd, struct sed_piece *pieces)
{
    struct sed_piece *piece = &pieces[cmd->piece_count++];
    *piece = (struct sed_piece){ .group = -1 };
    return piece;
}

/* The letter-case escapes; they hold for the piece that follows. */
static bool case_escape(int c, struct sed_piece *state)
{
    switch (c) {
    case 'U':
    case 'L':
    case 'E':
        state->sets_case = true;
        state->first = SED_AS_IS;
        state->all = c == 'U' ? SED_UPPER : c == 'L' ? SED_LOWER : SED_AS_IS;
        return true;
    case 'u':
    case 'l':
        state->first = c == 'u' ? SED_UPPER : SED_LOWER;
        return true;
    default:
        return false;
    }
}

static bool finish_piece(struct sed_command *cmd, struct sed_piece *pieces,
        struct sed_piece *state, struct str text, int group)
{
    if (group < 0 && !text.len)
        return true;
    struct sed_piece *piece = add_piece(cmd, pieces);
    *piece = *state;
    piece->text = text;
    piece->group = group;
    *state = (struct sed_piece){ .group = -1 };
    return true;
}

/* What one escape of a replacement stands for, appended to `text` unless it ends it. */
static int replacement_escape(struct sed_parser *sub, struct buf *text)
{
    int c = next(sub);
    if (c < 0)
        return 0;
    if (isdigit(c) || strchr("ULEul", c))
        return c;
    size_t before = sub->at;
    int value = escape_value(sub, c);
    if (value < 0) {
        sub->at = before;
        value = c;
    }
    buf_addc(text, (char)value);
    return 0;
}

static bool parse_replacement(
        struct sed_parser *p, struct str source, struct sed_command *cmd)
{
    struct arena *arena = p->cmd->arena;
    struct sed_parser sub = { .text = source };
    struct sed_piece *pieces = arena_alloc(arena, (source.len + 1) * sizeof(*pieces));
    struct sed_piece state = { .group = -1 };
    auto_buf text = BUF(SED_MAX_TEXT);
    int groups = cmd->regex ? (int)regex_groups(cmd->regex) : 9;
    for (int c; (c = next(&sub)) >= 0;) {
        int special = c == '&' ? '0' : c == '\\' ? replacement_escape(&sub, &text) : 0;
        if (!special) {
            if (c != '\\')
                buf_addc(&text, (char)c);
            continue;
        }
        finish_piece(cmd, pieces, &state, arena_str(arena, buf_str(&text)), -1);
        buf_clear(&text);
        if (case_escape(special, &state))
            continue;
        int group = special - '0';
        if (group > groups) {
            cmd_err(p->cmd, "%s, char %zu: invalid reference \\%d on `s' command's RHS",
                    p->source, p->at, group);
            return false;
        }
        finish_piece(cmd, pieces, &state, STR(""), group);
    }
    finish_piece(cmd, pieces, &state, arena_str(arena, buf_str(&text)), -1);
    cmd->pieces = pieces;
    return true;
}

static bool s_flags(struct sed_parser *p, struct sed_command *cmd, bool *fold,
        bool *lines, bool *to_file)
{
    for (;;) {
        int c = next(p);
        if (c == 'g') {
            if (cmd->global)
                return fail(p, "multiple `g' options to `s' command");
            cmd->global = true;
        } else if (c == 'p') {
            if (cmd->print)
                return fail(p, "multiple `p' options to `s' command");
            cmd->print = true;
        } else if (c == 'i' || c == 'I') {
            *fold = true;
        } else if (c == 'm' || c == 'M') {
            *lines = true;
        } else if (c == 'e') {
            return fail(
                    p, "e/r/w commands: 'e' would start a program, which cannot be had");
        } else if (isdigit(c)) {
            p->at--;
            if (cmd->which)
                return fail(p, "multiple number options to `s' command");
            cmd->which = number(p);
            if (!cmd->which)
                return fail(p, "number option to `s' command may not be zero");
        } else if (c == 'w') {
            *to_file = true;
            return true;
        } else {
            if (c >= 0)
                p->at--;
            return true;
        }
    }
}

static bool parse_s(struct sed_parser *p, struct sed_command *cmd)
{
    int delimiter = next(p);
    auto_buf pattern = BUF(SED_MAX_TEXT);
    auto_buf replacement = BUF(SED_MAX_TEXT);
    if (delimiter < 0 || delimiter == '\n' || delimiter == '\\' ||
            !delimited(p, delimiter, true, &pattern) ||
            !delimited(p, delimiter, false, &replacement))
        return fail(p, "unterminated `s' command");
    bool fold = false, lines = false, to_file = false;
    if (!s_flags(p, cmd, &fold, &lines, &to_file))
        return false;
    if (!compile(p, buf_str(&pattern), fold, lines, &cmd->regex) ||
            !parse_replacement(p, buf_str(&replacement), cmd))
        return false;
    return to_file ? output_file(p, cmd) : end_of_command(p);
}

/* One character of a `y` list: an escape, or UTF-8. */
static struct str y_char(struct sed_parser *sub, struct arena *arena)
{
    size_t start = sub->at;
    int c = next(sub);
    if (c == '\\' && peek(sub) >= 0) {
        c = next(sub);
        char one = c == 'n' ? '\n' : c == 't' ? '\t' : (char)c;
        return arena_str(arena, (struct str){ &one, 1 });
    }
    while (c >= 0xc0 && peek(sub) >= 0 && (peek(sub) & 0xc0) == 0x80)
        sub->at++;
    return arena_str(arena, str_sub(sub->text, start, sub->at - start));
}

static bool parse_y(struct sed_parser *p, struct sed_command *cmd)
{
    int delimiter = next(p);
    auto_buf from = BUF(SED_MAX_TEXT);
    auto_buf to = BUF(SED_MAX_TEXT);
    if (delimiter < 0 || !delimited(p, delimiter, false, &from) ||
            !delimited(p, delimiter, false, &to))
        return fail(p, "unterminated `y' command");
    struct arena *arena = p->cmd->arena;
    struct sed_parser a = { .text = buf_str(&from) }, b = { .text = buf_str(&to) };
    cmd->map_from = arena_alloc(arena, (from.len + 1) * sizeof(struct str));
    cmd->map_to = arena_alloc(arena, (from.len + 1) * sizeof(struct str));
    while (peek(&a) >= 0 && peek(&b) >= 0) {
        cmd->map_from[cmd->map_count] = y_char(&a, arena);
        cmd->map_to[cmd->map_count++] = y_char(&b, arena);
    }
    if (peek(&a) >= 0 || peek(&b) >= 0)
        return fail(p, "strings for `y' command are different lengths");
    return end_of_command(p);
}

static struct str label_name(struct sed_parser *p, bool semicolon_ends)
{
    skip_blanks(p);
    size_t start = p->at;
    while (peek(p) >= 0 && peek(p) != '\n' &&
            !(semicolon_ends && (peek(p) == ';' || isspace(peek(p)))))
        p->at++;
    struct str name = str_sub(p->text, start, p->at - start);
    while (name.len && isspace((unsigned char)name.data[name.len - 1]))
        name.len--;
    return arena_str(p->cmd->arena, name);
}

static bool define_label(struct sed_parser *p, struct sed_command *cmd)
{
    if (cmd->from.type != SED_NO_ADDRESS)
        return fail(p, ": doesn't want any addresses");
    struct label *l = arena_zalloc(p->cmd->arena, sizeof(*l));
    *l = (struct label){ p->labels, label_name(p, true), p->script->count };
    if (!l->name.len)
        return fail(p, "\":\" lacks a label");
    p->labels = l;
    return true;
}

static bool close_block(struct sed_parser *p, struct sed_command *cmd)
{
    if (!p->depth)
        return fail(p, "unexpected `}'");
    if (cmd->from.type != SED_NO_ADDRESS)
        return fail(p, "} doesn't want any addresses");
    p->script->commands[p->blocks[--p->depth]].target = p->script->count;
    return end_of_command(p);
}

/* Exit status of q and Q, width of l: an optional number. */
static bool optional_number(struct sed_parser *p, struct sed_command *cmd)
{
    skip_blanks(p);
    cmd->value = isdigit(peek(p)) ? (int64_t)number(p) : -1;
    return end_of_command(p);
}

static bool arguments(struct sed_parser *p, struct sed_command *cmd)
{
    switch (cmd->name) {
    case 's':
        return parse_s(p, cmd);
    case 'y':
        return parse_y(p, cmd);
    case 'a':
    case 'i':
    case 'c':
        return text_argument(p, cmd);
    case 'b':
    case 't':
    case 'T':
        cmd->text = label_name(p, true);
        return end_of_command(p);
    case 'r':
    case 'R':
        return file_name(p, cmd);
    case 'w':
    case 'W':
        return output_file(p, cmd);
    case 'q':
    case 'Q':
        if (cmd->to.type != SED_NO_ADDRESS)
            return fail(p, "command only uses one address");
        return optional_number(p, cmd);
    case 'l':
    case 'L':
        return optional_number(p, cmd);
    case 'e':
        return fail(p, "e/r/w commands: 'e' would start a program, which cannot be had");
    default:
        return end_of_command(p);
    }
}

static bool command(struct sed_parser *p)
{
    struct sed_script *s = p->script;
    struct sed_command cmd = { .number = (uint32_t)s->count, .value = -1 };
    if (!addresses(p, &cmd))
        return false;
    int name = next(p);
    if (name < 0)
        return fail(p, "missing command");
    if (name == '#') {
        if (cmd.from.type != SED_NO_ADDRESS)
            return fail(p, "comments don't accept any addresses");
        rest_of_line(p);
        return true;
    }
    if (name == ':')
        return define_label(p, &cmd);
    if (name == '}')
        return close_block(p, &cmd);
    if (!strchr("{=abcdDeFgGhHilnNpPqQrRstTvwWxyz", name)) {
        cmd_err(p->cmd, "%s, char %zu: unknown command: `%c'", p->source, p->at, name);
        return false;
    }
    if (s->count >= MAX_COMMANDS)
        return fail(p, "too many commands");
    cmd.name = (char)name;
    GROW(s->commands, s->count, s->cap);
    s->commands[s->count++] = cmd;
    if (name == '{') {
        if (p->depth == MAX_BLOCKS)
            return fail(p, "blocks are nested too deep");
        p->blocks[p->depth++] = s->count - 1;
        return true;
    }
    if (name == 'v') {
        rest_of_line(p);
        return true;
    }
    return arguments(p, &s->commands[s->count - 1]);
}

bool sed_parse(struct sed_parser *p, struct str text, const char *source)
{
    p->text = text;
    p->at = 0;
    p->source = source;
    if (p->pending) {
        struct sed_command *cmd = TAKE(p->pending);
        auto_buf lines = BUF(SED_MAX_TEXT);
        buf_add(&lines, cmd->text);
        if (!text_lines(p, &lines))
            p->pending = cmd;
        cmd->text = arena_str(p->cmd->arena, buf_str(&lines));
    }
    if (str_starts(text, STR("#n\n")) && !p->script->count)
        p->script->silent = true;
    for (skip_space(p); peek(p) >= 0; skip_space(p))
        if (!command(p))
            return false;
    return true;
}

static bool resolve_label(struct sed_parser *p, struct sed_command *cmd)
{
    cmd->target = p->script->count;
    if (!cmd->text.len)
        return true;
    for (struct label *l = p->labels; l; l = l->next) {
        if (str_eq(l->name, cmd->text)) {
            cmd->target = l->at;
            return true;
        }
    }
    cmd_err(p->cmd, "can't find label for jump to `%.*s'", STR_ARG(cmd->text));
    return false;
}

bool sed_parse_end(struct sed_parser *p)
{
    if (p->pending && !p->pending->text.len) {
        p->at = p->text.len;
        return fail(p, "expected \\ after `a', `c' or `i'");
    }
    if (p->depth) {
        p->at = 0;
        return fail(p, "unmatched `{'");
    }
    for (size_t i = 0; i < p->script->count; i++) {
        struct sed_command *cmd = &p->script->commands[i];
        if (strchr("btT", cmd->name) && !resolve_label(p, cmd))
            return false;
    }
    return true;
}
