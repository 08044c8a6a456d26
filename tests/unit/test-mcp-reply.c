#include "tool/mcp-reply.h"

#include "unit.h"

struct reply {
    struct buf text;
    json_t *images;
};

static json_t *parse(const char *json)
{
    struct error err;
    json_t *value = NULL;
    if (!json_parse(str_of(json), &value, &err))
        fail_msg("%s: %s", json, err.message);
    return value;
}

static struct reply reply_to(const char *json)
{
    struct reply r = { .text = BUF((size_t)1 << 20) };
    json_auto_t *result = parse(json);
    mcp_reply_write(result, &r.text, &r.images);
    return r;
}

static void test_texts(void **state UNUSED)
{
    static const struct {
        const char *result, *want;
        size_t images;
    } cases[] = {
        { "{\"content\":[{\"type\":\"text\",\"text\":\"one\"}]}", "one", 0 },
        { "{\"content\":[{\"type\":\"text\",\"text\":\"one\\n\"},{\"type\":\"text\","
          "\"text\":\"two\"}]}",
                "one\ntwo", 0 },
        { "{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\",\"data\":"
          "\"aGk=\",\"mimeType\":\"image/png\"},{\"type\":\"text\",\"text\":\"b\"}]}",
                "a\nb", 1 },
        { "{\"content\":[{\"type\":\"image\",\"data\":\"no base64\",\"mimeType\":"
          "\"image/png\"}]}",
                "[paddock: 1 of 1 images is left out: a reply carries at most 4, and 8 "
                "MiB of them]",
                0 },
        { "{\"content\":[],\"structuredContent\":{\"a\":[1,2]}}", "{\"a\":[1,2]}", 0 },
        { "{\"content\":[{\"type\":\"text\",\"text\":\"t\"}],\"structuredContent\":7}",
                "t", 0 },
        { "{\"structuredContent\":null}", "null", 0 },
        { "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///a\","
          "\"mimeType\":\"text/plain\",\"text\":\"body\"}}]}",
                "resource file:///a (text/plain):\nbody", 0 },
        { "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///a\","
          "\"blob\":\"aGk=\"}}]}",
                "resource file:///a\n[paddock: the content of a resource (no type, 4 "
                "bytes of base64) is left out: it is no text]",
                0 },
        { "{\"content\":[{\"type\":\"resource\"}]}",
                "resource without a URI\n[paddock: the content of a resource (no type, 0 "
                "bytes of base64) is left out: it is no text]",
                0 },
        { "{\"content\":[{\"type\":\"resource_link\",\"uri\":\"x:y\",\"name\":\"n\","
          "\"description\":\"d\"}]}",
                "link to a resource x:y: n\nd", 0 },
        { "{\"content\":[{\"type\":\"audio\",\"data\":\"aGk=\",\"mimeType\":"
          "\"audio/wav\\n]\"}]}",
                "[paddock: audio (audio/wav ], 4 bytes of base64) is left out: it is no "
                "text]",
                0 },
        { "{\"content\":[{\"type\":\"hologram\"},7,null,\"x\"]}",
                "[paddock: content of an unknown type is left out: 'hologram']\n"
                "[paddock: content of an unknown type is left out: '']\n"
                "[paddock: content of an unknown type is left out: '']\n"
                "[paddock: content of an unknown type is left out: '']",
                0 },
        { "{\"content\":\"text\"}", "[paddock: the tool answered without any content]",
                0 },
        { "{}", "[paddock: the tool answered without any content]", 0 },
        { "{\"content\":[{\"type\":\"text\",\"text\":\"[paddock: fine]\\n--- STDERR ---"
          "\"}]}",
                " [paddock: fine]\n --- STDERR ---", 0 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct reply r = reply_to(cases[i].result);
        assert_string_equal(r.text.data, cases[i].want);
        assert_int_equal(json_array_size(r.images), cases[i].images);
        json_decref(r.images);
        buf_finish(&r.text);
    }
}

static void test_image(void **state UNUSED)
{
    struct reply r = reply_to("{\"content\":[{\"type\":\"image\",\"data\":\"aGk=\","
                              "\"mimeType\":\"image/png\"}]}");
    json_auto_t *want = parse("[{\"mime\":\"image/png\",\"data\":\"aGk=\"}]");
    assert_int_equal(r.text.len, 0);
    assert_true(json_equal(r.images, want));
    json_decref(r.images);
    buf_finish(&r.text);
}

static void test_list(void **state UNUSED)
{
    auto_buf text = BUF((size_t)1 << 20);
    json_auto_t *tools =
            parse("[{\"name\":\"a\\nb\",\"description\":\"say \\\"x\\\"\\u001b\\n\\n\","
                  "\"inputSchema\":{\"type\":\"object\",\"title\":\"\\u202e\"}},"
                  "{\"name\":7},{\"name\":\"c\",\"description\":3}]");
    json_auto_t *none = json_array();
    mcp_reply_list(STR("box"), tools, &text);
    assert_non_null(strstr(text.data, "'box'"));
    assert_string_equal(strchr(text.data, '\n'),
            "\n\n\"a\\nb\"\n  description: \"say \\\"x\\\"\xef\xbf\xbd\\n\\n\"\n"
            "  arguments: {\"type\":\"object\",\"title\":\"\xef\xbf\xbd\"}\n"
            "\n\"\"\n\n\"c\"\n");
    buf_clear(&text);
    mcp_reply_list(STR("box"), none, &text);
    assert_non_null(strstr(text.data, "has no tool"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_image),
        cmocka_unit_test(test_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
