/* Statements, rules, and the program as a whole. */
#include "shell/builtin/awk/awk.h"

#include <stdio.h>

static void add_output_value(struct awk *a, const struct awk_value *v, struct buf *out)
{
    struct awk_string *s = awk_value_to_string(
            v, v->kind == AWK_NUMBER ? awk_number_format(a, V_OFMT) : "");
    buf_add(out, awk_string_str(s));
    awk_string_free(s);
}

static void exec_print(struct awk *a, struct awk_node *n)
{
    auto_buf out = BUF(a->cmd->budget->max_memory);
    if (!n->count)
        buf_add(&out, awk_get_record(a));
    for (size_t i = 0; i < n->count; i++) {
        if (i)
            buf_add(&out, awk_special_text(a, V_OFS));
        struct awk_value v = awk_eval(a, n->list[i]);
        add_output_value(a, &v, &out);
        awk_value_free(&v);
    }
    buf_add(&out, awk_special_text(a, V_ORS));
    if (awk_stopped(a))
        return;
    struct awk_string *name = n->a ? awk_text(a, n->a) : NULL;
    awk_write(a, n->op, name ? awk_string_str(name) : STR(""), buf_str(&out));
    if (name)
        awk_string_free(name);
}

static void exec_printf(struct awk *a, struct awk_node *n)
{
    auto_buf out = BUF(a->cmd->budget->max_memory);
    struct awk_value *args = xcalloc(n->count, sizeof(*args));
    for (size_t i = 0; i < n->count; i++)
        args[i] = awk_eval(a, n->list[i]);
    struct awk_string *format = awk_string_of(a, &args[0]);
    bool ok = awk_format(a, awk_string_str(format), args + 1, n->count - 1, &out);
    awk_string_free(format);
    for (size_t i = 0; i < n->count; i++)
        awk_value_free(&args[i]);
    free(args);
    if (!ok || awk_stopped(a))
        return;
    struct awk_string *name = n->a ? awk_text(a, n->a) : NULL;
    awk_write(a, n->op, name ? awk_string_str(name) : STR(""), buf_str(&out));
    if (name)
        awk_string_free(name);
}

/* The body of a loop; true: go round again. */
static bool loop_goes_on(struct awk *a, struct awk_node *body)
{
    if (body)
        awk_exec(a, body);
    if (a->flow == AWK_CONTINUE)
        a->flow = AWK_GO_ON;
    if (a->flow == AWK_BREAK) {
        a->flow = AWK_GO_ON;
        return false;
    }
    return a->flow == AWK_GO_ON && !a->failed && cmd_tick(a->cmd);
}

static void exec_for_in(struct awk *a, struct awk_node *n)
{
    struct awk_array *array = awk_array_of(a, n->b);
    if (!array)
        return;
    size_t count = awk_array_count(array);
    struct awk_string **keys = awk_array_keys(array);
    bool more = true;
    for (size_t i = 0; i < count; i++) {
        if (more && awk_array_find(array, awk_string_str(keys[i]))) {
            awk_assign(a, n->a, awk_value_input(awk_string_str(keys[i])));
            more = loop_goes_on(a, n->c);
        }
        awk_string_free(keys[i]);
    }
    free(keys);
}

static void exec_for(struct awk *a, struct awk_node *n)
{
    if (n->a)
        awk_exec(a, n->a);
    while (!awk_stopped(a) && (!n->b || awk_is_true(a, n->b))) {
        if (!loop_goes_on(a, n->d))
            break;
        if (n->c)
            awk_exec(a, n->c);
    }
}

static void exec_delete(struct awk *a, struct awk_node *n)
{
    struct awk_array *array = awk_array_of(a, n->a->type == N_INDEX ? n->a->a : n->a);
    if (!array)
        return;
    if (n->a->type != N_INDEX) {
        awk_array_clear(array);
        return;
    }
    struct awk_string *key = awk_subscript(a, n->a->list, n->a->count);
    awk_array_delete(array, awk_string_str(key));
    awk_string_free(key);
}

static bool case_matches(struct awk *a, struct awk_node *c, const struct awk_value *v)
{
    if (c->a->type == N_REGEX) {
        struct awk_string *s = awk_string_of(a, v);
        bool found = awk_search(a, awk_regex(a, c->a), awk_string_str(s), 0, NULL);
        awk_string_free(s);
        return found;
    }
    struct awk_value want = awk_eval(a, c->a);
    bool same = !awk_value_compare(v, &want, awk_number_format(a, V_CONVFMT));
    awk_value_free(&want);
    return same;
}

static void exec_switch(struct awk *a, struct awk_node *n)
{
    struct awk_value v = awk_eval(a, n->a);
    size_t from = n->count;
    for (size_t i = 0; i < n->count && from == n->count; i++)
        if (n->list[i]->a && case_matches(a, n->list[i], &v))
            from = i;
    for (size_t i = 0; i < n->count && from == n->count; i++)
        if (!n->list[i]->a)
            from = i;
    awk_value_free(&v);
    for (; from < n->count && a->flow == AWK_GO_ON; from++)
        awk_exec(a, n->list[from]->b);
    if (a->flow == AWK_BREAK)
        a->flow = AWK_GO_ON;
}

static void exec_exit(struct awk *a, struct awk_node *n)
{
    if (n->a)
        a->status = (int)((long long)awk_num(a, n->a) & 255);
    a->flow = AWK_EXIT;
}

static void exec_return(struct awk *a, struct awk_node *n)
{
    struct awk_value v =
            n->a ? awk_eval(a, n->a) : (struct awk_value){ .kind = AWK_UNSET };
    awk_value_free(&a->result);
    a->result = v;
    a->flow = AWK_RETURN;
}

static void exec_simple(struct awk *a, struct awk_node *n)
{
    struct awk_value v;
    switch ((int)n->type) {
    case N_EXPRESSION:
        v = awk_eval(a, n->a);
        awk_value_free(&v);
        break;
    case N_PRINT:
        exec_print(a, n);
        break;
    case N_PRINTF:
        exec_printf(a, n);
        break;
    case N_DELETE:
        exec_delete(a, n);
        break;
    case N_NEXT:
        a->flow = AWK_NEXT;
        break;
    case N_NEXTFILE:
        a->flow = AWK_NEXTFILE;
        break;
    case N_EXIT:
        exec_exit(a, n);
        break;
    case N_RETURN:
        exec_return(a, n);
        break;
    case N_BREAK:
        a->flow = AWK_BREAK;
        break;
    case N_CONTINUE:
        a->flow = AWK_CONTINUE;
        break;
    default:
        break;
    }
}

enum awk_flow awk_exec(struct awk *a, struct awk_node *n)
{
    a->line = n->line;
    if (a->failed || !cmd_tick(a->cmd) || !cmd_may_recurse(a->cmd))
        return a->flow = AWK_EXIT;
    switch ((int)n->type) {
    case N_BLOCK:
        for (size_t i = 0; i < n->count && a->flow == AWK_GO_ON; i++)
            awk_exec(a, n->list[i]);
        break;
    case N_IF:
        if (awk_is_true(a, n->a)) {
            if (n->b)
                awk_exec(a, n->b);
        } else if (n->c) {
            awk_exec(a, n->c);
        }
        break;
    case N_WHILE:
        while (!awk_stopped(a) && awk_is_true(a, n->a) && loop_goes_on(a, n->b))
            ;
        break;
    case N_DO:
        while (loop_goes_on(a, n->b) && awk_is_true(a, n->a))
            ;
        break;
    case N_FOR:
        exec_for(a, n);
        break;
    case N_FOR_IN:
        exec_for_in(a, n);
        break;
    case N_SWITCH:
        exec_switch(a, n);
        break;
    default:
        exec_simple(a, n);
        break;
    }
    if (awk_stopped(a))
        a->flow = AWK_EXIT;
    return a->flow;
}

static bool rule_applies(struct awk *a, struct awk_rule *r)
{
    if (!r->from)
        return true;
    if (!r->to)
        return awk_is_true(a, r->from);
    if (!r->active) {
        if (!awk_is_true(a, r->from))
            return false;
        r->active = true;
    }
    if (awk_is_true(a, r->to))
        r->active = false;
    return true;
}

static void run_body(struct awk *a, struct awk_rule *r)
{
    static struct awk_node print_record = { .type = N_PRINT };
    if (r->body)
        awk_exec(a, r->body);
    else
        exec_print(a, &print_record);
}

static void run_rules(struct awk *a, enum awk_rule_type type)
{
    for (size_t i = 0; i < a->program->rule_count && a->flow == AWK_GO_ON; i++) {
        struct awk_rule *r = &a->program->rules[i];
        if (r->type == type && (type != RULE_MAIN || rule_applies(a, r)) && !a->failed)
            run_body(a, r);
        if (awk_stopped(a))
            a->flow = AWK_EXIT;
    }
}

static bool has_rules(
        const struct awk_program *g, enum awk_rule_type a, enum awk_rule_type b)
{
    for (size_t i = 0; i < g->rule_count; i++)
        if (g->rules[i].type == a || g->rules[i].type == b)
            return true;
    return false;
}

static void run_records(struct awk *a)
{
    while (a->flow == AWK_GO_ON && !awk_stopped(a) && awk_next_record(a)) {
        run_rules(a, RULE_MAIN);
        if (a->flow == AWK_NEXTFILE)
            a->skip_file = true;
        if (a->flow == AWK_NEXT || a->flow == AWK_NEXTFILE)
            a->flow = AWK_GO_ON;
    }
}

static void set_text(struct awk *a, enum awk_special v, struct str text)
{
    a->globals[v] =
            (struct awk_cell){ .kind = CELL_VALUE, .value = awk_value_text(text) };
}

static void set_array_text(struct awk_array *array, struct str key, struct str value)
{
    struct awk_cell *c = awk_array_get(array, key);
    awk_cell_clear(c);
    *c = (struct awk_cell){ .kind = CELL_VALUE, .value = awk_value_input(value) };
}

static void set_environment(struct awk *a)
{
    struct awk_array *env = awk_array_create();
    a->globals[V_ENVIRON] = (struct awk_cell){ .kind = CELL_ARRAY, .array = env };
    size_t count;
    char **all = cmd_environment(a->cmd, &count);
    for (size_t i = 0; i < count; i++) {
        struct str value = str_of(all[i]);
        struct str name = str_cut(&value, '=');
        set_array_text(env, name, value);
    }
}

static void set_arguments(struct awk *a, int argc, char **argv)
{
    struct awk_array *array = awk_array_create();
    a->globals[V_ARGV] = (struct awk_cell){ .kind = CELL_ARRAY, .array = array };
    set_array_text(array, STR("0"), STR("awk"));
    for (int i = 0; i < argc; i++) {
        char key[16];
        int n = snprintf(key, sizeof(key), "%d", i + 1);
        set_array_text(array, (struct str){ key, (size_t)n }, str_of(argv[i]));
    }
    a->globals[V_ARGC] =
            (struct awk_cell){ .kind = CELL_VALUE, .value = awk_value_number(argc + 1) };
}

static void set_defaults(struct awk *a)
{
    static const enum awk_special numbers[] = { V_NF, V_NR, V_FNR, V_RSTART };
    set_text(a, V_FS, STR(" "));
    set_text(a, V_OFS, STR(" "));
    set_text(a, V_ORS, STR("\n"));
    set_text(a, V_RS, STR("\n"));
    set_text(a, V_SUBSEP, STR("\034"));
    set_text(a, V_CONVFMT, STR("%.6g"));
    set_text(a, V_OFMT, STR("%.6g"));
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        a->globals[numbers[i]] =
                (struct awk_cell){ .kind = CELL_VALUE, .value = awk_value_number(0) };
    a->globals[V_RLENGTH] =
            (struct awk_cell){ .kind = CELL_VALUE, .value = awk_value_number(-1) };
    set_environment(a);
}

static void free_regexes(struct awk *a)
{
    for (struct awk_node *n = a->regexes; n; n = n->next_regex)
        regex_destroy(TAKE(n->regex));
    a->regexes = NULL;
}

static void finish(struct awk *a)
{
    awk_record_finish(a);
    for (size_t i = 0; i < a->program->global_count; i++)
        awk_cell_clear(&a->globals[i]);
    free(a->globals);
    awk_value_free(&a->result);
    for (size_t i = 0; i < AWK_REGEX_CACHE; i++) {
        if (a->cache[i].source) {
            awk_string_free(a->cache[i].source);
            regex_destroy(a->cache[i].regex);
        }
    }
    free_regexes(a);
}

static void run_program(struct awk *a)
{
    run_rules(a, RULE_BEGIN);
    bool exited = a->flow == AWK_EXIT;
    if (!exited && has_rules(a->program, RULE_MAIN, RULE_END))
        run_records(a);
    if (!awk_stopped(a)) {
        a->flow = AWK_GO_ON;
        run_rules(a, RULE_END);
    }
    awk_close_all(a);
}

int awk_run(struct cmd *c, struct awk_program *program, int argc, char **argv,
        char *const *assignments, size_t assignment_count, const char *fs)
{
    struct awk *a = xcalloc(1, sizeof(*a));
    a->cmd = c;
    a->program = program;
    a->globals = xcalloc(program->global_count, sizeof(*a->globals));
    a->record = a->coming = BUF(c->budget->max_memory);
    a->record_valid = true;
    a->next_arg = 1;
    a->random = 42;
    set_defaults(a);
    set_arguments(a, argc, argv);
    if (fs) {
        struct awk_node target = { .type = N_GLOBAL, .slot = V_FS };
        auto_buf plain = BUF(AWK_MAX_PROGRAM);
        awk_unescape(str_of(fs), &plain);
        awk_assign(a, &target,
                awk_value_text(
                        str_is(buf_str(&plain), "t") ? STR("\t") : buf_str(&plain)));
    }
    for (size_t i = 0; i < assignment_count; i++)
        awk_command_line_assign(a, assignments[i]);
    run_program(a);
    int status = a->status;
    finish(a);
    free(a);
    return status;
}
