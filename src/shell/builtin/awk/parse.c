/* Statements, rules and functions. */
#include "shell/builtin/awk/parse.h"

static struct awk_node *statement(struct parser *p);

static struct awk_node *block(struct parser *p)
{
    struct awk_node *n = awk_parse_node(p, N_BLOCK);
    struct awk_node **list = NULL;
    size_t cap = 0;
    awk_parse_expect(p, '{', "syntax error: missing {");
    awk_parse_skip_terminators(p);
    while (!awk_parse_at(p, '}') && !awk_parse_at(p, T_END)) {
        GROW(list, n->count, cap);
        list[n->count++] = statement(p);
        awk_parse_skip_terminators(p);
    }
    awk_parse_set_list(p, n, list);
    awk_parse_expect(p, '}', "syntax error: missing }");
    return n;
}

static void end_of_statement(struct parser *p)
{
    if (awk_parse_at(p, ';') || awk_parse_at(p, T_NEWLINE))
        awk_parse_advance(p);
    else if (!awk_parse_at(p, '}') && !awk_parse_at(p, T_END))
        awk_parse_fail(p, "syntax error");
}

static bool at_end_of_simple(const struct parser *p)
{
    return awk_parse_at(p, ';') || awk_parse_at(p, T_NEWLINE) || awk_parse_at(p, '}') ||
           awk_parse_at(p, T_END);
}

static void print_list(struct parser *p, struct awk_node *n)
{
    size_t cap = 0;
    struct awk_node **list = NULL;
    p->no_greater = true;
    while (!at_end_of_simple(p) && !awk_parse_at(p, '>') && !awk_parse_at(p, T_APPEND) &&
            !awk_parse_at(p, '|') && !p->failed) {
        GROW(list, n->count, cap);
        list[n->count++] = awk_parse_expression(p);
        if (!awk_parse_at(p, ','))
            break;
        awk_parse_advance(p);
        awk_parse_skip_newlines(p);
    }
    p->no_greater = false;
    /* print (a, b) > "file" */
    if (n->count == 1 && list[0]->type == N_GROUP && list[0]->count > 1) {
        n->count = list[0]->count;
        n->list = list[0]->list;
        free(list);
        return;
    }
    awk_parse_set_list(p, n, list);
}

static struct awk_node *print_statement(struct parser *p)
{
    struct awk_node *n = awk_parse_node(p, awk_parse_at(p, T_PRINT) ? N_PRINT : N_PRINTF);
    awk_parse_advance(p);
    print_list(p, n);
    if (awk_parse_at(p, '>') || awk_parse_at(p, T_APPEND) || awk_parse_at(p, '|')) {
        n->op = awk_parse_at(p, T_APPEND) ? 'A' : p->lex.token;
        awk_parse_advance(p);
        p->no_greater = true;
        n->a = awk_parse_concat(p);
        p->no_greater = false;
    }
    if (n->type == N_PRINTF && !n->count)
        awk_parse_fail(p, "syntax error: printf without a format");
    return n;
}

static struct awk_node *delete_statement(struct parser *p)
{
    struct awk_node *n = awk_parse_node(p, N_DELETE);
    awk_parse_advance(p);
    bool group = awk_parse_accept(p, '(');
    if (!awk_parse_at(p, T_NAME))
        awk_parse_fail(p, "syntax error: delete needs an array");
    n->a = awk_parse_variable(p);
    if (group)
        awk_parse_expect(p, ')', "syntax error: missing )");
    return n;
}

static struct awk_node *with_value(struct parser *p, enum awk_node_type type)
{
    struct awk_node *n = awk_parse_node(p, type);
    awk_parse_advance(p);
    if (!at_end_of_simple(p))
        n->a = awk_parse_expression(p);
    return n;
}

static struct awk_node *word_statement(struct parser *p, enum awk_node_type type)
{
    struct awk_node *n = awk_parse_node(p, type);
    awk_parse_advance(p);
    return n;
}

static struct awk_node *simple_statement(struct parser *p)
{
    switch (p->lex.token) {
    case T_PRINT:
    case T_PRINTF:
        return print_statement(p);
    case T_DELETE:
        return delete_statement(p);
    case T_NEXT:
        return word_statement(p, N_NEXT);
    case T_NEXTFILE:
        return word_statement(p, N_NEXTFILE);
    case T_BREAK:
        return word_statement(p, N_BREAK);
    case T_CONTINUE:
        return word_statement(p, N_CONTINUE);
    case T_EXIT:
        return with_value(p, N_EXIT);
    case T_RETURN:
        return with_value(p, N_RETURN);
    default:
        return awk_parse_node_ab(p, N_EXPRESSION, 0, awk_parse_expression(p), NULL);
    }
}

static struct awk_node *body(struct parser *p)
{
    awk_parse_skip_newlines(p);
    if (awk_parse_accept(p, ';'))
        return NULL;
    return statement(p);
}

static struct awk_node *condition(struct parser *p)
{
    awk_parse_expect(p, '(', "syntax error: missing (");
    struct awk_node *n = awk_parse_expression(p);
    awk_parse_expect(p, ')', "syntax error: missing )");
    return n;
}

static struct awk_node *if_statement(struct parser *p)
{
    struct awk_node *n = awk_parse_node(p, N_IF);
    awk_parse_advance(p);
    n->a = condition(p);
    n->b = body(p);
    struct awk_lexer saved = p->lex;
    awk_parse_skip_terminators(p);
    if (awk_parse_accept(p, T_ELSE))
        n->c = body(p);
    else
        p->lex = saved;
    return n;
}

static struct awk_node *while_statement(struct parser *p)
{
    struct awk_node *n = awk_parse_node(p, N_WHILE);
    awk_parse_advance(p);
    n->a = condition(p);
    n->b = body(p);
    return n;
}

static struct awk_node *do_statement(struct parser *p)
{
    struct awk_node *n = awk_parse_node(p, N_DO);
    awk_parse_advance(p);
    n->b = body(p);
    awk_parse_skip_terminators(p);
    awk_parse_expect(p, T_WHILE, "syntax error: do without while");
    n->a = condition(p);
    return n;
}

/* for (v in array); NULL and nothing consumed if it is the other kind. */
static struct awk_node *for_in(struct parser *p)
{
    struct awk_lexer saved = p->lex;
    if (!awk_parse_at(p, T_NAME))
        return NULL;
    struct awk_node *var = awk_parse_name_node(p, p->lex.value);
    awk_parse_advance(p);
    if (awk_parse_accept(p, T_IN) && awk_parse_at(p, T_NAME)) {
        struct awk_node *n = awk_parse_node(p, N_FOR_IN);
        n->a = var;
        n->b = awk_parse_name_node(p, p->lex.value);
        awk_parse_advance(p);
        if (awk_parse_accept(p, ')')) {
            n->c = body(p);
            return n;
        }
    }
    p->lex = saved;
    return NULL;
}

static struct awk_node *for_statement(struct parser *p)
{
    awk_parse_advance(p);
    awk_parse_expect(p, '(', "syntax error: missing (");
    struct awk_node *n = for_in(p);
    if (n)
        return n;
    n = awk_parse_node(p, N_FOR);
    if (!awk_parse_at(p, ';'))
        n->a = simple_statement(p);
    awk_parse_expect(p, ';', "syntax error: for needs two ;");
    awk_parse_skip_newlines(p);
    if (!awk_parse_at(p, ';'))
        n->b = awk_parse_expression(p);
    awk_parse_expect(p, ';', "syntax error: for needs two ;");
    awk_parse_skip_newlines(p);
    if (!awk_parse_at(p, ')'))
        n->c = simple_statement(p);
    awk_parse_expect(p, ')', "syntax error: missing )");
    n->d = body(p);
    return n;
}

static struct awk_node *case_clause(struct parser *p)
{
    struct awk_node *n = awk_parse_node(p, N_CASE);
    if (awk_parse_accept(p, T_CASE))
        n->a = awk_parse_at(p, '/') ? awk_parse_regex_literal(p) : awk_parse_unary(p);
    else
        awk_parse_expect(p, T_DEFAULT, "syntax error: case or default is missing");
    awk_parse_expect(p, ':', "syntax error: missing :");
    awk_parse_skip_terminators(p);
    struct awk_node *b = awk_parse_node(p, N_BLOCK);
    struct awk_node **list = NULL;
    size_t cap = 0;
    while (!awk_parse_at(p, T_CASE) && !awk_parse_at(p, T_DEFAULT) &&
            !awk_parse_at(p, '}') && !awk_parse_at(p, T_END)) {
        GROW(list, b->count, cap);
        list[b->count++] = statement(p);
        awk_parse_skip_terminators(p);
    }
    awk_parse_set_list(p, b, list);
    n->b = b;
    return n;
}

static struct awk_node *switch_statement(struct parser *p)
{
    struct awk_node *n = awk_parse_node(p, N_SWITCH);
    awk_parse_advance(p);
    n->a = condition(p);
    awk_parse_skip_newlines(p);
    awk_parse_expect(p, '{', "syntax error: missing {");
    awk_parse_skip_terminators(p);
    struct awk_node **list = NULL;
    size_t cap = 0;
    while (!awk_parse_at(p, '}') && !awk_parse_at(p, T_END)) {
        GROW(list, n->count, cap);
        list[n->count++] = case_clause(p);
    }
    awk_parse_set_list(p, n, list);
    awk_parse_expect(p, '}', "syntax error: missing }");
    return n;
}

static struct awk_node *compound(struct parser *p)
{
    switch (p->lex.token) {
    case '{':
        return block(p);
    case T_IF:
        return if_statement(p);
    case T_WHILE:
        return while_statement(p);
    case T_FOR:
        return for_statement(p);
    case T_SWITCH:
        return switch_statement(p);
    default:
        return NULL;
    }
}

static struct awk_node *statement(struct parser *p)
{
    if (!awk_parse_enter(p, "statements are nested too deep"))
        return awk_parse_node(p, N_BLOCK);
    struct awk_node *n = compound(p);
    if (!n) {
        n = awk_parse_at(p, T_DO) ? do_statement(p) : simple_statement(p);
        end_of_statement(p);
    }
    p->depth--;
    return n;
}

static void function_definition(struct parser *p)
{
    awk_parse_advance(p);
    if (!awk_parse_at(p, T_NAME) && !awk_parse_at(p, T_FUNC_NAME))
        awk_parse_fail(p, "syntax error: a function needs a name");
    size_t slot = awk_parse_function_slot(p->program, p->lex.value);
    awk_parse_advance(p);
    awk_parse_expect(p, '(', "syntax error: missing (");
    struct str names[256];
    size_t count = 0;
    for (awk_parse_skip_newlines(p);
            awk_parse_at(p, T_NAME) && count < ARRAY_LEN(names);) {
        names[count++] = p->lex.value;
        awk_parse_advance(p);
        awk_parse_skip_newlines(p);
        if (!awk_parse_accept(p, ','))
            break;
        awk_parse_skip_newlines(p);
    }
    awk_parse_expect(p, ')', "syntax error: missing ) after the parameters");
    awk_parse_skip_newlines(p);
    if (!p->failed && p->program->functions[slot].body)
        awk_parse_fail(p, "function name previously defined");
    p->parameters = names;
    p->parameter_count = count;
    struct awk_node *b = block(p);
    p->parameters = NULL;
    p->parameter_count = 0;
    p->program->functions[slot].parameters = count;
    p->program->functions[slot].body = b;
}

static void add_rule(struct parser *p, struct awk_rule rule)
{
    struct awk_program *g = p->program;
    GROW(g->rules, g->rule_count, g->rule_cap);
    g->rules[g->rule_count++] = rule;
}

static void rule(struct parser *p)
{
    struct awk_rule r = { .type = RULE_MAIN };
    switch (p->lex.token) {
    case T_FUNCTION:
        function_definition(p);
        return;
    case T_BEGIN:
        r.type = RULE_BEGIN;
        break;
    case T_END_RULE:
        r.type = RULE_END;
        break;
    case T_BEGINFILE:
        r.type = RULE_BEGINFILE;
        break;
    case T_ENDFILE:
        r.type = RULE_ENDFILE;
        break;
    default:
        break;
    }
    if (r.type != RULE_MAIN) {
        awk_parse_advance(p);
        if (!awk_parse_at(p, '{'))
            awk_parse_fail(p, "BEGIN and END blocks must have an action part");
    } else if (!awk_parse_at(p, '{')) {
        r.from = awk_parse_expression(p);
        if (awk_parse_accept(p, ',')) {
            awk_parse_skip_newlines(p);
            r.to = awk_parse_expression(p);
        }
    }
    if (awk_parse_at(p, '{'))
        r.body = block(p);
    add_rule(p, r);
}

static bool check_functions(struct parser *p)
{
    for (size_t i = 0; i < p->program->function_count; i++) {
        const struct awk_function *f = &p->program->functions[i];
        if (f->body)
            continue;
        cmd_err(p->cmd, "fatal: function `%.*s' not defined", STR_ARG(f->name));
        p->program->is_incomplete = true;
        return false;
    }
    return true;
}

bool awk_parse(struct cmd *c, struct awk_program *program, struct str text)
{
    if (text.len > AWK_MAX_PROGRAM) {
        cmd_err(c, "the program is larger than %zu bytes", (size_t)AWK_MAX_PROGRAM);
        return false;
    }
    awk_global_slot(program, STR("NF"));
    struct parser p = { .cmd = c, .program = program };
    /* A copy, so that it ends with a NUL for the searches in the lexer. */
    p.lex = (struct awk_lexer){
        .text = arena_str(program->arena, text), .line = 1, .arena = program->arena
    };
    awk_parse_advance(&p);
    for (awk_parse_skip_terminators(&p); !awk_parse_at(&p, T_END);
            awk_parse_skip_terminators(&p))
        rule(&p);
    return !p.failed && check_functions(&p);
}
