#include "shell/value.h"
#include "shell/vars.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void set(struct vars *v, const char *name, const char *value)
{
    struct error err;
    assert_true(vars_set(v, str_of(name), str_of(value), &err));
}

static void set_index(struct vars *v, const char *name, int64_t index, const char *value)
{
    struct error err;
    assert_true(vars_set_index(v, str_of(name), index, str_of(value), &err));
}

static void check(struct vars *v, const char *name, const char *expected)
{
    struct str value = STR("(unset)");
    vars_get(v, str_of(name), &value);
    if (!str_is(value, expected))
        fail_msg("%s is '%.*s', not '%s'", name, STR_ARG(value), expected);
}

static void check_elements(struct vars *v, const char *name, const char *expected)
{
    auto_arena *arena = arena_create();
    auto_buf text = BUF(1000);
    struct str *keys, *values;
    size_t count;
    vars_elements(v, str_of(name), arena, &keys, &values, &count);
    for (size_t i = 0; i < count; i++)
        buf_addf(&text, "%.*s=%.*s;", STR_ARG(keys[i]), STR_ARG(values[i]));
    if (!str_is(buf_str(&text), expected))
        fail_msg("%s is '%.*s', not '%s'", name, STR_ARG(buf_str(&text)), expected);
}

static void add_flags(struct vars *v, const char *name, enum var_flags flags)
{
    struct error err;
    assert_true(vars_set_flags(v, str_of(name), flags, 0, &err));
}

static void test_scalars(void **state)
{
    (void)state;
    struct error err;
    struct vars *v = vars_create();
    check(v, "x", "(unset)");
    set(v, "x", "1");
    set(v, "x", "two");
    check(v, "x", "two");
    assert_true(vars_append(v, STR("x"), STR("+"), &err));
    struct str self;
    assert_true(vars_get(v, STR("x"), &self));
    assert_true(vars_append(v, STR("x"), self, &err));
    check(v, "x", "two+two+");
    assert_false(vars_set(v, STR("1x"), STR(""), &err));
    assert_string_equal(err.message, "`1x': not a valid identifier");
    assert_true(vars_unset(v, STR("x"), &err));
    check(v, "x", "(unset)");
    assert_int_equal(vars_flags(v, STR("x")), -1);
    assert_int_equal(vars_memory(v), 0);
    vars_destroy(v);
}

static void test_attributes(void **state)
{
    (void)state;
    struct error err;
    struct vars *v = vars_create();
    add_flags(v, "u", VAR_UPPER);
    assert_int_equal(vars_flags(v, STR("u")), VAR_UPPER | VAR_DECLARED);
    check(v, "u", "(unset)");
    set(v, "u", "abc");
    check(v, "u", "ABC");
    add_flags(v, "u", VAR_LOWER);
    assert_true(vars_append(v, STR("u"), STR("DEF"), &err));
    check(v, "u", "abcdef");
    set(v, "r", "1");
    add_flags(v, "r", VAR_READONLY | VAR_EXPORT);
    assert_false(vars_set(v, STR("r"), STR("2"), &err));
    assert_int_equal(err.code, ERR_DENIED);
    assert_string_equal(err.message, "r: readonly variable");
    assert_false(vars_unset(v, STR("r"), &err));
    assert_string_equal(err.message, "r: cannot unset: readonly variable");
    assert_false(vars_set_flags(v, STR("r"), 0, VAR_READONLY, &err));
    assert_true(vars_set_flags(v, STR("r"), 0, VAR_EXPORT, &err));
    assert_int_equal(vars_flags(v, STR("r")), VAR_READONLY);
    vars_push(v);
    assert_false(vars_local(v, STR("r"), &err));
    vars_pop(v);
    check(v, "r", "1");
    vars_destroy(v);
}

static void test_scopes(void **state)
{
    (void)state;
    struct error err;
    struct vars *v = vars_create();
    set(v, "x", "global");
    vars_push(v);
    assert_true(vars_local(v, STR("x"), &err));
    check(v, "x", "(unset)");
    set(v, "x", "local");
    vars_push(v); /* a function that it calls sees its locals */
    check(v, "x", "local");
    set(v, "x", "changed");
    set(v, "new", "1");
    assert_true(vars_unset(v, STR("x"), &err)); /* shows the global one again */
    check(v, "x", "global");
    vars_pop(v);
    check(v, "new", "1");
    assert_true(vars_local(v, STR("x"), &err));
    set(v, "x", "again");
    assert_true(vars_unset(v, STR("x"), &err)); /* stays local */
    check(v, "x", "(unset)");
    set(v, "x", "still local");
    vars_pop(v);
    check(v, "x", "global");
    vars_destroy(v);
}

static void test_arrays(void **state)
{
    (void)state;
    struct error err;
    struct vars *v = vars_create();
    set(v, "a", "zero");
    set_index(v, "a", 1000000000, "far");
    set_index(v, "a", 5, "five");
    set_index(v, "a", -1, "FAR");
    check_elements(v, "a", "0=zero;5=five;1000000000=FAR;");
    assert_true(vars_memory(v) < 10000);
    assert_int_equal(vars_end(v, STR("a")), 1000000001);
    check(v, "a", "zero");
    assert_true(vars_unset_element(v, STR("a"), STR("0"), &err));
    check(v, "a", "(unset)");
    assert_false(vars_set_index(v, STR("a"), -1000000002, STR(""), &err));
    assert_string_equal(err.message, "a[-1000000002]: bad array subscript");
    assert_true(vars_clear_array(v, STR("a"), false, &err));
    assert_int_equal(vars_count(v, STR("a")), 0);
    assert_true(vars_clear_array(v, STR("m"), true, &err));
    static const char *const keys[] = { "z", "a", "", "k k" };
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        assert_true(vars_set_key(v, STR("m"), str_of(keys[i]), STR("v"), &err));
    assert_true(vars_set_key(v, STR("m"), STR("a"), STR("w"), &err));
    assert_true(vars_unset_element(v, STR("m"), STR(""), &err));
    check_elements(v, "m", "z=v;a=w;k k=v;");
    assert_false(vars_set_flags(v, STR("m"), VAR_INDEXED, 0, &err));
    assert_true(vars_unset(v, STR("m"), &err));
    assert_int_equal(vars_memory(v), 0);
    vars_destroy(v);
}

static void test_forks(void **state)
{
    (void)state;
    struct error err;
    struct vars *v = vars_create();
    set(v, "x", "1");
    set_index(v, "a", 0, "one");
    vars_push(v);
    assert_true(vars_local(v, STR("l"), &err));
    set(v, "l", "local");
    struct vars *fork = vars_fork(v);
    set(fork, "x", "2");
    set(fork, "l", "other");
    set_index(fork, "a", 1, "two");
    check(v, "x", "1");
    check(v, "l", "local");
    check_elements(v, "a", "0=one;");
    set(v, "x", "3");
    set(v, "after", "1");
    check(fork, "x", "2");
    check(fork, "after", "(unset)");
    check_elements(fork, "a", "0=one;1=two;");
    vars_pop(fork);
    check(fork, "l", "(unset)");
    check(v, "l", "local");
    struct vars *grandchild = vars_fork(fork);
    vars_destroy(fork);
    vars_pop(v);
    vars_destroy(v);
    check(grandchild, "x", "2");
    assert_true(vars_unset(grandchild, STR("a"), &err));
    vars_destroy(grandchild);
}

static void test_namerefs(void **state)
{
    (void)state;
    struct error err;
    auto_arena *arena = arena_create();
    struct vars *v = vars_create();
    assert_true(vars_set_nameref(v, STR("r"), STR("x"), &err));
    set(v, "r", "through");
    check(v, "x", "through");
    assert_true(str_is(vars_target(v, STR("r"), arena), "x"));
    set_index(v, "r", 2, "element");
    check_elements(v, "x", "0=through;2=element;");
    assert_true(vars_set_nameref(v, STR("e"), STR("x[2]"), &err));
    check(v, "e", "element");
    set(v, "e", "changed");
    assert_true(vars_append(v, STR("e"), STR("!"), &err));
    check_elements(v, "r", "0=through;2=changed!;");
    assert_true(vars_unset(v, STR("r"), &err));
    assert_int_equal(vars_count(v, STR("x")), 0);
    assert_true(vars_unset_self(v, STR("r"), &err));
    assert_int_equal(vars_flags(v, STR("r")), -1);
    assert_true(vars_set_nameref(v, STR("c1"), STR("c2"), &err));
    assert_true(vars_set_nameref(v, STR("c2"), STR("c1"), &err));
    check(v, "c1", "(unset)");
    assert_false(vars_set(v, STR("c1"), STR("1"), &err));
    vars_destroy(v);
}

static void test_names(void **state)
{
    (void)state;
    auto_arena *arena = arena_create();
    struct vars *v = vars_create();
    set(v, "pb", "1");
    set(v, "pa", "1");
    set(v, "q", "1");
    vars_push(v);
    struct error err;
    assert_true(vars_local(v, STR("pb"), &err));
    struct str *names;
    size_t count;
    vars_names(v, STR("p"), arena, &names, &count);
    assert_int_equal(count, 2);
    assert_true(str_is(names[0], "pa") && str_is(names[1], "pb"));
    vars_destroy(v);
}

/* Against a plain table, in an order that splits and empties leaves. */
static void test_array_model(void **state)
{
    (void)state;
    enum { SIZE = 3000 };
    bool there[SIZE] = { false };
    struct array *a = array_create();
    uint32_t random = 1;
    for (int i = 0; i < 40000; i++) {
        random = random * 1664525 + 1013904223;
        int64_t index = (random >> 8) % SIZE;
        bool remove = (random >> 28) > (i < 20000 ? 4 : 12);
        if (remove)
            assert_int_equal(array_remove(a, index), there[index]);
        else
            array_set(a, index, value_create(STR("x")));
        there[index] = !remove;
    }
    size_t at[2] = { 0 }, count = 0;
    int64_t last = -1, index;
    for (struct value *value; array_next(a, at, &index, &value); count++) {
        assert_true(index > last && there[index]);
        last = index;
    }
    assert_int_equal(count, array_count(a));
    for (index = 0; index < SIZE; index++)
        assert_int_equal(array_get(a, index) != NULL, there[index]);
    array_unref(a);
}

static void test_map_grows_and_shrinks(void **state)
{
    (void)state;
    struct vars *v = vars_create();
    struct error err;
    for (int i = 0; i < 20000; i++) {
        auto_buf name = BUF(20);
        buf_addf(&name, "v%d", i);
        assert_true(vars_set(v, buf_str(&name), STR("1"), &err));
        if (i % 3)
            assert_true(vars_unset(v, buf_str(&name), &err));
    }
    check(v, "v0", "1");
    check(v, "v1", "(unset)");
    check(v, "v19998", "1");
    vars_destroy(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_forks),
        cmocka_unit_test(test_namerefs),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_array_model),
        cmocka_unit_test(test_map_grows_and_shrinks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
