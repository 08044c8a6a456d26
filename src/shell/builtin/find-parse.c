/* The grammar of find's expressions: commas, -o, -a (mostly left out), ! and ( ). */
#include "shell/builtin/find.h"

#include "shell/builtin/files.h"

#define MAX_NESTING 100

enum token {
    TOKEN_END,
    TOKEN_COMMA,
    TOKEN_OR,
    TOKEN_AND,
    TOKEN_NOT,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_PRIMARY
};

static enum token peek(const struct find_parser *p)
{
    static const struct {
        const char *text;
        enum token token;
    } operators[] = {
        { ",", TOKEN_COMMA },
        { "-o", TOKEN_OR },
        { "-or", TOKEN_OR },
        { "-a", TOKEN_AND },
        { "-and", TOKEN_AND },
        { "!", TOKEN_NOT },
        { "-not", TOKEN_NOT },
        { "(", TOKEN_OPEN },
        { ")", TOKEN_CLOSE },
    };
    if (p->next >= p->argc)
        return TOKEN_END;
    for (size_t i = 0; i < ARRAY_LEN(operators); i++)
        if (!strcmp(p->argv[p->next], operators[i].text))
            return operators[i].token;
    return TOKEN_PRIMARY;
}

static struct find_expr *new_expr(struct find_parser *p, find_eval_fn *eval)
{
    struct find_expr *e = arena_zalloc(p->f->c->arena, sizeof(*e));
    e->eval = eval;
    return e;
}

static void add(struct find_parser *p, struct find_expr *list, struct find_expr *item)
{
    if (list->count == list->cap) {
        size_t cap = list->cap ? list->cap * 2 : 4;
        struct find_expr **more = arena_alloc(p->f->c->arena, cap * sizeof(*more));
        if (list->count)
            memcpy(more, list->items, list->count * sizeof(*more));
        list->items = more;
        list->cap = cap;
    }
    list->items[list->count++] = item;
}

/* What must come after the operator before p->next does not. */
static bool missing_operand(struct find_parser *p)
{
    struct cmd *c = p->f->c;
    const char *before = p->next > 0 ? p->argv[p->next - 1] : "";
    switch (peek(p)) {
    case TOKEN_COMMA:
    case TOKEN_OR:
    case TOKEN_AND:
        cmd_err(c,
                "invalid expression; you have used a binary operator '%s' with nothing "
                "before it.",
                p->argv[p->next]);
        return false;
    case TOKEN_CLOSE:
        if (!p->depth)
            cmd_err(c, "you have too many ')'");
        else if (!strcmp(before, "("))
            cmd_err(c, "invalid expression; empty parentheses are not allowed.");
        else
            cmd_err(c, "expected an expression between '%s' and ')'", before);
        return false;
    case TOKEN_END:
    case TOKEN_NOT:
    case TOKEN_OPEN:
    case TOKEN_PRIMARY:
        break;
    }
    if (!strcmp(before, "("))
        cmd_err(c, "invalid expression; I was expecting to find a ')' somewhere but did "
                   "not see one.");
    else
        cmd_err(c, "expected an expression after '%s'", before);
    return false;
}

static bool parse_list(struct find_parser *p, struct find_expr **out);

static bool parse_group(struct find_parser *p, struct find_expr **out)
{
    p->next++;
    if (!parse_list(p, out))
        return false;
    if (peek(p) != TOKEN_CLOSE) {
        cmd_err(p->f->c,
                "invalid expression; I was expecting to find a ')' somewhere but "
                "did not see one.");
        return false;
    }
    p->next++;
    return true;
}

/* An operand among the expression, most likely a pattern that the shell expanded. */
static bool misplaced_path(struct find_parser *p, const char *arg)
{
    struct vfs_stat st;
    cmd_err(p->f->c, "paths must precede expression: `%s'", arg);
    if (p->previous && strstr("-name -iname -path -ipath -wholename", p->previous) &&
            !file_stat(p->f->c, arg, VFS_NOFOLLOW, &st))
        cmd_err(p->f->c, "possible unquoted pattern after predicate `%s'?", p->previous);
    return false;
}

static bool parse_unary(struct find_parser *p, struct find_expr **out)
{
    enum token token = peek(p);
    if (token == TOKEN_OPEN || token == TOKEN_NOT) {
        if (++p->depth > MAX_NESTING) {
            cmd_err(p->f->c, "expression nested too deeply");
            return false;
        }
        bool ok;
        if (token == TOKEN_OPEN)
            ok = parse_group(p, out);
        else {
            struct find_expr *inner;
            p->next++;
            ok = parse_unary(p, &inner);
            if (ok) {
                *out = new_expr(p, find_not);
                add(p, *out, inner);
            }
        }
        p->depth--;
        return ok;
    }
    if (token != TOKEN_PRIMARY)
        return missing_operand(p);
    const char *name = p->argv[p->next];
    if (name[0] != '-')
        return misplaced_path(p, name);
    *out = new_expr(p, NULL);
    p->next++;
    if (!find_parse_primary(p, name, *out))
        return false;
    p->previous = name;
    return true;
}

typedef bool parse_fn(struct find_parser *p, struct find_expr **out);

/* One or more of what `inner` reads, joined by `joint`; -a may be left out. */
static bool parse_joined(struct find_parser *p, parse_fn *inner, enum token joint,
        find_eval_fn *eval, struct find_expr **out)
{
    struct find_expr *list = new_expr(p, eval), *item;
    for (;;) {
        if (!inner(p, &item))
            return false;
        add(p, list, item);
        enum token next = peek(p);
        bool implied = joint == TOKEN_AND &&
                       (next == TOKEN_NOT || next == TOKEN_OPEN || next == TOKEN_PRIMARY);
        if (next != joint && !implied)
            break;
        p->next += next == joint;
    }
    *out = list->count == 1 ? list->items[0] : list;
    return true;
}

static bool parse_and(struct find_parser *p, struct find_expr **out)
{
    return parse_joined(p, parse_unary, TOKEN_AND, find_and, out);
}

static bool parse_or(struct find_parser *p, struct find_expr **out)
{
    return parse_joined(p, parse_and, TOKEN_OR, find_or, out);
}

static bool parse_list(struct find_parser *p, struct find_expr **out)
{
    return parse_joined(p, parse_or, TOKEN_COMMA, find_comma, out);
}

/* Without an action, what the expression selects is printed. */
static void add_print(struct find_parser *p)
{
    struct find_expr *all = new_expr(p, find_and);
    if (p->f->root)
        add(p, all, p->f->root);
    add(p, all, new_expr(p, find_print));
    p->f->root = all;
}

bool find_parse(struct find *f, int argc, char **argv, int from)
{
    struct find_parser p = { .f = f,
        .argv = argv,
        .argc = argc,
        .next = from,
        .syntax = REGEX_BASIC,
        .emacs = true };
    if (from < argc && !parse_list(&p, &f->root))
        return false;
    if (p.next < argc)
        return missing_operand(&p);
    if (!f->has_action)
        add_print(&p);
    if (f->has_delete && f->has_prune && !f->has_depth) {
        cmd_err(f->c,
                "The -delete action automatically turns on -depth, but -prune does "
                "nothing when -depth is in effect.  If you want to carry on anyway, "
                "just explicitly use the -depth option.");
        return false;
    }
    return true;
}
