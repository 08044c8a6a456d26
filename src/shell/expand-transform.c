/* ${x@Q} and its kind, declarations as `declare -p` prints them, prompts. */
#include "shell/expansion.h"
#include "shell/letter.h"
#include "shell/parse.h"

#include <time.h>

static const struct node *first_command(const struct node *n)
{
    while (n && (n->type == NODE_SEQUENCE || n->type == NODE_PIPELINE))
        n = n->type == NODE_SEQUENCE ? n->sequence.items[0] : n->pipeline.stages[0];
    return n && n->type == NODE_SIMPLE ? n : NULL;
}

static bool parse_small(struct shell *sh, struct str text, struct script **script)
{
    struct parse_options options = { .extglob = true };
    struct parse_error err;
    if (parse_script(text, STR("paddock"), &options, script, &err))
        return true;
    return expand_fail(sh, "%s", err.message);
}

/* Escapes of $'...' decoded. */
static bool decode_escapes(
        struct shell *sh, struct str text, struct arena *arena, struct str *out)
{
    auto_buf source = BUF(text.len * 2 + 16);
    struct script *script;
    buf_add(&source, STR(": $'"));
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '\\' && i + 1 < text.len)
            buf_addc(&source, text.data[i++]);
        else if (text.data[i] == '\'' || text.data[i] == '\\')
            buf_addc(&source, '\\');
        buf_addc(&source, text.data[i]);
    }
    buf_addc(&source, '\'');
    if (!parse_small(sh, buf_str(&source), &script))
        return false;
    const struct node *n = first_command(script->root);
    bool ok = n && n->simple.arg_count > 1 &&
              expand_as(sh, n->simple.args[1].word, EXPAND_STRING, arena, out);
    script_unref(script);
    return ok;
}

/* Expanded as the body of a here-document is: quotes are ordinary characters. */
static bool expand_body(
        struct shell *sh, struct str text, struct arena *arena, struct str *out)
{
    auto_buf source = BUF(text.len + 64);
    struct script *script;
    buf_add(&source, STR(": <<end_of_the_prompt\n"));
    buf_add(&source, text);
    buf_add(&source, STR("\nend_of_the_prompt\n"));
    if (!parse_small(sh, buf_str(&source), &script))
        return false;
    const struct node *n = first_command(script->root);
    bool ok = n && n->redirect_count &&
              expand_as(sh, n->redirects[0].target, EXPAND_STRING, arena, out);
    script_unref(script);
    if (ok && out->len)
        out->len--; /* the newline before the delimiter */
    return ok;
}

/* \d \t \T \@ \A; false for other letters. */
static bool add_time(struct buf *out, char letter)
{
    char text[64];
    struct tm tm;
    time_t now = time(NULL);
    localtime_r(&now, &tm);
    size_t n = 0;
    if (letter == 'd')
        n = strftime(text, sizeof(text), "%a %b %d", &tm);
    else if (letter == 't')
        n = strftime(text, sizeof(text), "%H:%M:%S", &tm);
    else if (letter == 'T')
        n = strftime(text, sizeof(text), "%I:%M:%S", &tm);
    else if (letter == '@')
        n = strftime(text, sizeof(text), "%I:%M %p", &tm);
    else if (letter == 'A')
        n = strftime(text, sizeof(text), "%H:%M", &tm);
    buf_add(out, (struct str){ text, n });
    return n;
}

/* $PWD with the home directory as ~, or its last component. */
static void add_directory(struct shell *sh, struct buf *out, bool last_only)
{
    struct str cwd = sh->cwd.text, home = STR("");
    vars_get(sh->vars, STR("HOME"), &home);
    bool at_home = home.len > 1 && str_starts(cwd, home) &&
                   (cwd.len == home.len || cwd.data[home.len] == '/');
    if (at_home && (!last_only || cwd.len == home.len)) {
        buf_addc(out, '~');
        cwd = str_from(cwd, home.len);
    } else if (last_only && cwd.len > 1) {
        const char *slash = memrchr(cwd.data, '/', cwd.len);
        cwd = str_from(cwd, (size_t)(slash - cwd.data) + 1);
    }
    buf_add(out, cwd);
}

static void add_user(struct shell *sh, struct buf *out)
{
    struct str user = STR("user");
    vars_get(sh->vars, STR("USER"), &user);
    buf_add(out, user);
}

/* What \LETTER stands for. */
static void add_prompt_escape(struct shell *sh, struct buf *out, char letter)
{
    switch (letter) {
    case 'u':
        add_user(sh, out);
        break;
    case 'h':
    case 'H':
    case 's':
        buf_add(out, str_of(sh->name));
        break;
    case 'w':
    case 'W':
        add_directory(sh, out, letter == 'W');
        break;
    case 'n':
    case 'r':
        buf_addc(out, letter == 'n' ? '\n' : '\r');
        break;
    case 'a':
    case 'e':
        buf_addc(out, letter == 'a' ? '\a' : '\033');
        break;
    case '$':
    case '\\':
        buf_addc(out, letter);
        break;
    case '[':
    case ']':
        break;
    default:
        if (!add_time(out, letter))
            buf_addf(out, "\\%c", letter);
    }
}

/* Text that the expansion that follows must leave alone. */
static void add_literal(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] && strchr("\\$`", text.data[i]))
            buf_addc(out, '\\');
        buf_addc(out, text.data[i]);
    }
}

/* A prompt as ${x@P}, PS1 and PS4 mean it: \u \w \$ ... decoded, then expanded as in
 * double quotes. */
static bool expand_prompt(
        struct shell *sh, struct str text, struct arena *arena, struct str *out)
{
    auto_buf decoded = BUF(sh->budget->max_memory);
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] != '\\' || i + 1 == text.len) {
            buf_addc(&decoded, text.data[i]);
            continue;
        }
        auto_buf piece = BUF(8192);
        add_prompt_escape(sh, &piece, text.data[++i]);
        add_literal(&decoded, buf_str(&piece));
    }
    if (decoded.full)
        return budget_stop(sh->budget, BUDGET_MEMORY);
    return expand_body(sh, buf_str(&decoded), arena, out);
}

static void add_attributes(struct buf *out, int flags)
{
    static const struct {
        int flag;
        char letter;
    } letters[] = {
        { VAR_INDEXED, 'a' },
        { VAR_ASSOC, 'A' },
        { VAR_INTEGER, 'i' },
        { VAR_NAMEREF, 'n' },
        { VAR_READONLY, 'r' },
        { VAR_EXPORT, 'x' },
        { VAR_LOWER, 'l' },
        { VAR_UPPER, 'u' },
    };
    for (size_t i = 0; i < ARRAY_LEN(letters); i++)
        if (flags & letters[i].flag)
            buf_addc(out, letters[i].letter);
}

/* A key as it stands between [ and ]. */
static struct str quote_key(struct str key, struct arena *arena)
{
    struct str quoted = expand_quote_backslash(key, arena);
    bool plain = str_eq(quoted, key) && !str_is(key, "@");
    return plain ? key : expand_quote_double(key, arena);
}

static void add_elements(struct shell *sh, struct str name, int flags,
        struct arena *arena, struct buf *out)
{
    struct str *keys, *values;
    size_t count;
    vars_elements(sh->vars, name, arena, &keys, &values, &count);
    buf_addc(out, '(');
    for (size_t i = 0; i < count; i++) {
        struct str key = flags & VAR_ASSOC ? quote_key(keys[i], arena) : keys[i];
        struct str value = expand_quote_double(values[i], arena);
        buf_addf(out, "%s[", i && !(flags & VAR_ASSOC) ? " " : "");
        buf_add(out, key);
        buf_add(out, STR("]="));
        buf_add(out, value);
        if (flags & VAR_ASSOC)
            buf_addc(out, ' ');
    }
    buf_addc(out, ')');
}

static bool finish(
        struct shell *sh, struct buf *text, struct arena *arena, struct str *out)
{
    if (text->full || !expand_room(sh, arena, text->len))
        return budget_stop(sh->budget, BUDGET_MEMORY);
    *out = arena_str(arena, buf_str(text));
    return true;
}

/* `declare -a a=([0]="1")`: what declare -p prints, without the newline; false if there
 * is no such variable.  Namerefs are shown as themselves. */
static bool expand_declaration(
        struct shell *sh, struct str name, struct arena *arena, struct str *out)
{
    int flags = vars_flags(sh->vars, name);
    struct str value = STR("");
    if (flags < 0)
        return false;
    auto_buf text = BUF(sh->budget->max_memory);
    buf_add(&text, STR("declare -"));
    add_attributes(&text, flags);
    if (text.data[text.len - 1] == '-')
        buf_addc(&text, '-');
    buf_addc(&text, ' ');
    buf_add(&text, name);
    if (flags & VAR_DECLARED)
        return finish(sh, &text, arena, out);
    buf_addc(&text, '=');
    if (flags & (VAR_INDEXED | VAR_ASSOC)) {
        add_elements(sh, name, flags, arena, &text);
    } else {
        if (flags & VAR_NAMEREF)
            value = vars_nameref(sh->vars, name);
        else
            vars_get(sh->vars, name, &value);
        buf_add(&text, expand_quote_double(value, arena));
    }
    return finish(sh, &text, arena, out);
}

/* The variable behind a nameref. */
static struct str real_name(struct expansion *e, struct str name)
{
    int flags = vars_flags(e->sh->vars, name);
    return flags >= 0 && flags & VAR_NAMEREF ? vars_target(e->sh->vars, name, e->arena)
                                             : name;
}

/* @A of a scalar or of one element: an assignment, with the attributes there are. */
static bool describe_scalar(struct expansion *e, const struct operand *o, struct str *out)
{
    auto_buf text = BUF(e->sh->budget->max_memory);
    struct str name = real_name(e, o->name);
    int flags = vars_flags(e->sh->vars, name);
    flags = flags < 0 ? 0 : flags & ~VAR_DECLARED;
    if (flags) {
        buf_add(&text, STR("declare -"));
        add_attributes(&text, flags);
        buf_addc(&text, ' ');
    }
    if (o->is_set || flags)
        buf_add(&text, name);
    if (o->is_set) {
        buf_addc(&text, '=');
        buf_add(&text, expand_quote(o->text, e->arena));
    }
    return finish(e->sh, &text, e->arena, out);
}

/* @A of "$@": a `set` command. */
static bool describe_positional(struct expansion *e, struct operand *o)
{
    struct str *items = arena_alloc(e->arena, (o->count + 2) * sizeof(*items));
    items[0] = STR("set");
    items[1] = STR("--");
    for (size_t i = 0; i < o->count; i++)
        items[i + 2] = expand_quote(o->items[i], e->arena);
    o->items = items;
    o->count += 2;
    return true;
}

static bool describe(struct expansion *e, struct operand *o)
{
    if (o->is_positional)
        return describe_positional(e, o);
    if (!o->is_list && !var_name_is_valid(o->name)) { /* $1, $? */
        o->text = STR("");
        return true;
    }
    if (!o->is_list)
        return describe_scalar(e, o, &o->text);
    struct str name = real_name(e, o->name), text = STR("");
    if (vars_flags(e->sh->vars, name) >= 0 &&
            !expand_declaration(e->sh, name, e->arena, &text))
        return false;
    o->is_list = !o->star;
    o->text = text;
    o->items = arena_alloc(e->arena, 3 * sizeof(*o->items));
    o->count = 0; /* "declare", "-a", "name=(...)" */
    for (; o->is_list && o->count < 2 && text.len; o->count++)
        o->items[o->count] = str_cut(&text, ' ');
    if (o->is_list && text.len)
        o->items[o->count++] = text;
    return true;
}

/* @a: for a list, once for each element. */
static bool list_attributes(struct expansion *e, struct operand *o)
{
    auto_buf text = BUF(32);
    int flags = vars_flags(e->sh->vars, real_name(e, o->name));
    if (flags >= 0)
        add_attributes(&text, flags);
    struct str letters = arena_str(e->arena, buf_str(&text));
    o->text = letters;
    for (size_t i = 0; i < o->count; i++)
        o->items[i] = letters;
    return true;
}

/* @K: keys and values as one text; @k: as fields. */
static bool pair_up(struct expansion *e, struct operand *o, bool as_fields)
{
    struct str *keys, *values;
    size_t count;
    vars_elements(e->sh->vars, o->name, e->arena, &keys, &values, &count);
    if (as_fields) {
        o->items = arena_alloc(e->arena, (count * 2 + 1) * sizeof(*o->items));
        for (size_t i = 0; i < count; i++) {
            o->items[i * 2] = keys[i];
            o->items[i * 2 + 1] = values[i];
        }
        o->count = count * 2;
        return true;
    }
    auto_buf text = BUF(e->sh->budget->max_memory);
    int flags = vars_flags(e->sh->vars, real_name(e, o->name));
    bool assoc = flags >= 0 && flags & VAR_ASSOC;
    for (size_t i = 0; i < count; i++) {
        if (i && !assoc)
            buf_addc(&text, ' ');
        buf_add(&text, assoc ? quote_key(keys[i], e->arena) : keys[i]);
        buf_addc(&text, ' ');
        buf_add(&text, expand_quote_double(values[i], e->arena));
        if (assoc)
            buf_addc(&text, ' ');
    }
    o->is_list = false;
    return finish(e->sh, &text, e->arena, &o->text);
}

static bool transform_text(struct expansion *e, char letter, struct str *text)
{
    auto_buf out = BUF(e->sh->budget->max_memory);
    uint32_t code;
    size_t first;
    switch (letter) {
    case 'Q':
    case 'K':
    case 'k':
        *text = expand_quote(*text, e->arena);
        return true;
    case 'E':
        return decode_escapes(e->sh, *text, e->arena, text);
    case 'P':
        return expand_prompt(e->sh, *text, e->arena, text);
    case 'U':
    case 'L':
        letter_add_all(&out, *text, letter == 'U' ? LETTER_UPPER : LETTER_LOWER);
        return finish(e->sh, &out, e->arena, text);
    case 'u':
        first = text->len ? letter_decode(*text, &code) : 0;
        letter_add_all(&out, str_sub(*text, 0, first), LETTER_UPPER);
        buf_add(&out, str_from(*text, first));
        return finish(e->sh, &out, e->arena, text);
    default:
        return expand_fail(e->sh, "@%c: bad substitution", letter);
    }
}

bool operand_transform(struct expansion *e, const struct param *p, struct operand *o)
{
    if (p->transform == 'a')
        return list_attributes(e, o);
    if (p->transform == 'A')
        return describe(e, o);
    if (o->is_list && !o->is_positional && (p->transform == 'K' || p->transform == 'k'))
        return pair_up(e, o, p->transform == 'k');
    if (!o->is_list)
        return !o->is_set || transform_text(e, p->transform, &o->text);
    for (size_t i = 0; i < o->count; i++)
        if (!budget_spend(e->sh->budget, 1) ||
                !transform_text(e, p->transform, &o->items[i]))
            return false;
    return true;
}
