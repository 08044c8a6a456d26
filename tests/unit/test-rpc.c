#include "protocol/raw.h"
#include "protocol/rpc.h"

#include "unit.h"

static void test_envelope(void **state UNUSED)
{
    static const struct {
        const char *text;
        int code; /* 0: fine */
        enum rpc_kind kind;
        const char *id; /* as raw text; "" for none */
    } cases[] = {
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}", 0, RPC_REQUEST, "1" },
        { "{\"method\":\"m\", \"id\" : -07e ,\"jsonrpc\":\"2.0\"}", RPC_PARSE_ERROR, 0,
                "" },
        { "{\"method\":\"m\", \"id\" : -7 ,\"jsonrpc\":\"2.0\"}", 0, RPC_REQUEST, "-7" },
        { "{\"jsonrpc\":\"2.0\",\"id\":12345678901234567890123,\"method\":\"m\"}", 0,
                RPC_REQUEST, "12345678901234567890123" },
        { "{\"jsonrpc\":\"2.0\",\"id\":\"a\\/\\u0062\",\"method\":\"m\"}", 0, RPC_REQUEST,
                "\"a\\/\\u0062\"" },
        { "{\"jsonrpc\":\"2.0\",\"\\u0069d\":3,\"method\":\"m\"}", 0, RPC_REQUEST, "3" },
        { "{\"x\":{\"id\":9},\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"m\"}", 0,
                RPC_REQUEST, "\"\"" },
        { "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}", 0, RPC_NOTIFICATION, "" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", 0, RPC_RESPONSE, "1" },
        { "{\"jsonrpc\":\"2.0\",\"error\":{}}", 0, RPC_RESPONSE, "" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"m\"}", RPC_INVALID_REQUEST, 0,
                "" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1e2,\"method\":\"m\"}", RPC_INVALID_REQUEST, 0,
                "" },
        { "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}", RPC_INVALID_REQUEST, 0,
                "" },
        { "{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"m\"}", RPC_INVALID_REQUEST, 0,
                "" },
        { "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"m\"}", RPC_INVALID_REQUEST, 0,
                "" },
        { "{\"jsonrpc\":\"1.0\",\"id\":5,\"method\":\"m\"}", RPC_INVALID_REQUEST, 0,
                "5" },
        { "{\"id\":5,\"method\":\"m\"}", RPC_INVALID_REQUEST, 0, "5" },
        { "{\"jsonrpc\":\"2.0\",\"id\":5}", RPC_INVALID_REQUEST, 0, "5" },
        { "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":6}", RPC_INVALID_REQUEST, 0, "5" },
        { "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"m\",\"params\":[]}",
                RPC_INVALID_REQUEST, 0, "5" },
        { "5", RPC_INVALID_REQUEST, 0, "" },
        { "null", RPC_INVALID_REQUEST, 0, "" },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"m\"}", RPC_PARSE_ERROR, 0,
                "" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *value;
        struct error err;
        struct str raw = str_of(cases[i].text);
        if (!json_parse(raw, &value, &err)) {
            assert_int_equal(cases[i].code, RPC_PARSE_ERROR);
            continue;
        }
        struct rpc_message m;
        struct rpc_fault fault = { 0 };
        bool fine = rpc_parse(value, raw, &m, &fault);
        assert_int_equal(fault.code, cases[i].code);
        if (fine)
            assert_int_equal(m.kind, cases[i].kind);
        assert_true(str_is(m.id, cases[i].id));
        json_decref(value);
    }
}

static void test_same_id(void **state UNUSED)
{
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        { "1", "1", true },
        { "1", "\"1\"", false },
        { "\"a/b\"", "\"a\\/b\"", true },
        { "\"a\"", "\"b\"", false },
        { "12345678901234567890123", "12345678901234567890124", false },
        { "1", "", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(
                rpc_same_id(str_of(cases[i].a), str_of(cases[i].b)), cases[i].same);
}

static void test_raw_parts(void **state UNUSED)
{
    struct str object = STR(" { \"a\" : [1,{\"b\":2}] , \"c\":\"}\\\"\" ,\"d\":-1 } ");
    assert_true(str_is(raw_member(object, "a"), "[1,{\"b\":2}]"));
    assert_true(str_is(raw_member(object, "c"), "\"}\\\"\""));
    assert_true(str_is(raw_member(object, "d"), "-1"));
    assert_null(raw_member(object, "b").data);
    assert_null(raw_member(STR("[1]"), "a").data);
    assert_null(raw_member(STR("{}"), "a").data);
    struct str rest = STR("[ 1 , \"],\" ,[2,3], {} ]"), element;
    static const char *const want[] = { "1", "\"],\"", "[2,3]", "{}" };
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_true(raw_next(&rest, &element));
        assert_true(str_is(element, want[i]));
    }
    assert_false(raw_next(&rest, &element));
}

static void test_replies(void **state UNUSED)
{
    auto_buf out = BUF(4096);
    struct rpc_fault fault;
    rpc_write_result(STR("\"\\u00e9\""), json_pack("{s:i}", "n", 1), &out);
    rpc_fault(&fault, RPC_INVALID_PARAMS, "bad \"%s\"", "x\xff");
    fault.data = json_pack("[i]", 1);
    rpc_write_fault(STR(""), &fault, &out);
    assert_string_equal(out.data,
            "{\"jsonrpc\":\"2.0\",\"id\":\"\\u00e9\",\"result\":{\"n\":1}}"
            "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32602,\"message\":"
            "\"bad \\\"x\xef\xbf\xbd\\\"\",\"data\":[1]}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_envelope),
        cmocka_unit_test(test_same_id),
        cmocka_unit_test(test_raw_parts),
        cmocka_unit_test(test_replies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
