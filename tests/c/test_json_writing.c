/* JSON values: built, changed, written. */

#include <math.h>

#include "support.h"

#define P(pointer) pointer, AGENT_NTS
#define INVALID AGENT_INVALID_ARGUMENT

static agent_json_t *parse(const char *text)
{
    agent_json_t *json = NULL;

    EXPECT_OK(agent_json_parse(text, AGENT_NTS, &json, &error));
    return json;
}

static void a_text_is_escaped_when_it_is_written(void)
{
    static const char hostile[] = "Oslo\",\"is_error\":false,\"x\":{\"\\\n\t\x01";
    agent_json_t *json = parse("{\"sky\": \"rain\"}"), *again;
    const char *back = NULL;
    size_t length = 0;

    CHECK_OK(agent_json_set_string(json, P("/city"), hostile, AGENT_NTS, &error));
    CHECK_OK(agent_json_set_string(json, P("/bytes"), "a\0b and more", 3, &error));
    CHECK_TEXT(agent_json_text(json, NULL), "{\"sky\":\"rain\",\"city\":\"Oslo\\\",\\\"is_error\\\":false,"
               "\\\"x\\\":{\\\"\\\\\\n\\t\\u0001\",\"bytes\":\"a\\u0000b\"}");
    again = parse(agent_json_text(json, NULL));
    CHECK(agent_json_count(again) == 3);
    CHECK_OK(agent_json_get_string(again, P("/city"), &back, NULL, &error));
    CHECK_TEXT(back, hostile);
    CHECK_OK(agent_json_get_string(again, P("/bytes"), &back, &length, &error));
    CHECK(length == 3 && memcmp(back, "a\0b", 4) == 0);
    CHECK(agent_json_equals(json, again));
    agent_json_free(again);
    agent_json_free(json);
}

static void containers_are_created_on_the_way(void)
{
    agent_json_t *json = parse("{\"details\": null}"), *list = parse("null");

    CHECK_OK(agent_json_set_string(json, P("/content/-/type"), "text", AGENT_NTS, &error));
    CHECK_OK(agent_json_set_string(json, P("/content/0/text"), "hi", AGENT_NTS, &error));
    CHECK_OK(agent_json_set_integer(json, P("/details/bytes"), 1024, &error));
    CHECK_TEXT(agent_json_text(json, NULL), "{\"details\":{\"bytes\":1024},\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}");
    CHECK_OK(agent_json_set_bool(list, P("/-"), true, &error));
    CHECK_OK(agent_json_set_json(list, P("/1"), P("[{}]"), &error)); /* the index after the last */
    CHECK_OK(agent_json_set_number(list, P("/0"), 0.5, &error));
    CHECK_TEXT(agent_json_text(list, NULL), "[0.5,[{}]]");
    CHECK_OK(agent_json_set_json(list, P(""), P(" {\"whole\" : 1} "), &error));
    CHECK_TEXT(agent_json_text(list, NULL), "{\"whole\":1}");
    agent_json_free(list);
    agent_json_free(json);
}

static void a_failed_change_changes_nothing(void)
{
    agent_json_t *json = parse("{\"list\": [1], \"city\": \"Oslo\"}");
    const char *before = agent_json_text(json, NULL);

    CHECK_FAILS(agent_json_set_bool(json, P("/list/2"), true, &error), INVALID,
                "there is no place for \"/list/2\": \"/list\" is an array of 1 element");
    CHECK_FAILS(agent_json_set_bool(json, P("/list/first/x"), true, &error), INVALID,
                "there is no place for \"/list/first\": \"/list\" is an array of 1 element");
    CHECK_FAILS(agent_json_set_bool(json, P("/city/x"), true, &error), INVALID,
                "there is no place for \"/city/x\": \"/city\" is a string");
    CHECK_FAILS(agent_json_set_json(json, P("/x"), P("{oops}"), &error), INVALID,
                "value is not JSON: expected a name in double quotes (line 1, column 2)");
    CHECK_FAILS(agent_json_set_string(json, P("/x"), P("\xc3("), &error), INVALID,
                "value is not UTF-8: invalid byte at offset 0");
    CHECK_FAILS(agent_json_set_number(json, P("/x"), NAN, &error), INVALID, "value is NaN, which JSON cannot express");
    CHECK_FAILS(agent_json_set_number(json, P("/x"), -INFINITY, &error), INVALID, "value is -inf, which JSON cannot express");
    CHECK_FAILS(agent_json_remove(json, P("/list/1"), &error), AGENT_NOT_FOUND,
                "there is no \"/list/1\": \"/list\" is an array of 1 element");
    CHECK_FAILS(agent_json_remove(json, P(""), &error), INVALID,
                "pointer is \"\", the whole value, which cannot be removed");
    CHECK(agent_json_text(json, NULL) == before); /* so what is borrowed stays valid, too */
    CHECK_TEXT(before, "{\"list\":[1],\"city\":\"Oslo\"}");
    agent_json_free(json);
}

static void a_change_is_in_every_text_above_it(void)
{
    agent_json_t *json = parse("{\"a\": {\"b\": [1, 2, 3]}, \"c\": 4}");

    CHECK_TEXT(agent_json_text(json, NULL), "{\"a\":{\"b\":[1,2,3]},\"c\":4}");
    CHECK_TEXT(agent_json_text(agent_json_get(json, P("/a")), NULL), "{\"b\":[1,2,3]}");
    CHECK_OK(agent_json_remove(json, P("/a/b/1"), &error));
    CHECK_TEXT(agent_json_text(agent_json_get(json, P("/a")), NULL), "{\"b\":[1,3]}");
    CHECK_TEXT(agent_json_text(json, NULL), "{\"a\":{\"b\":[1,3]},\"c\":4}");
    CHECK_OK(agent_json_set_json(json, P("/a/b/0"), P("\"x\""), &error));
    CHECK_TEXT(agent_json_text(agent_json_get(json, P("/a/b")), NULL), "[\"x\",3]");
    CHECK_OK(agent_json_remove(json, P("/c"), &error));
    CHECK_TEXT(agent_json_text(json, NULL), "{\"a\":{\"b\":[\"x\",3]}}");
    agent_json_free(json);
}

static void a_part_of_a_value_can_be_set_in_it(void)
{
    agent_json_t *json = parse("{\"a\": {\"b\": \"/a/copy\"}}");
    const char *text = NULL;

    CHECK_OK(agent_json_set(json, P("/c"), agent_json_get(json, P("/a")), &error));
    CHECK_OK(agent_json_set(json, P("/a/whole"), json, &error));
    CHECK_OK(agent_json_set(json, P("/c"), agent_json_get(json, P("/c/b")), &error));
    CHECK_TEXT(agent_json_text(json, NULL), "{\"a\":{\"b\":\"/a/copy\","
               "\"whole\":{\"a\":{\"b\":\"/a/copy\"},\"c\":{\"b\":\"/a/copy\"}}},"
               "\"c\":\"/a/copy\"}");
    /* The pointer and the text are the value's own. */
    CHECK_OK(agent_json_get_string(json, P("/a/b"), &text, NULL, &error));
    CHECK_OK(agent_json_set_string(json, text, AGENT_NTS, text, AGENT_NTS, &error));
    CHECK_OK(agent_json_remove(json, P("/a/whole"), &error));
    CHECK_OK(agent_json_get_string(json, P("/a/copy"), &text, NULL, &error));
    CHECK_OK(agent_json_set_json(json, text, AGENT_NTS, agent_json_text(json, NULL), AGENT_NTS, &error));
    CHECK_OK(agent_json_get_string(json, P("/c"), &text, NULL, &error));
    CHECK_OK(agent_json_remove(json, text, AGENT_NTS, &error));
    CHECK_TEXT(agent_json_text(json, NULL), "{\"a\":{\"b\":\"/a/copy\"},\"c\":\"/a/copy\"}");
    agent_json_free(json);
}

static void numbers_are_written_as_short_as_they_are(void)
{
    agent_json_t *json = parse("[]");

    CHECK_OK(agent_json_set_number(json, P("/-"), 7, &error));
    CHECK_OK(agent_json_set_number(json, P("/-"), -0.1, &error));
    CHECK_OK(agent_json_set_number(json, P("/-"), 9007199254740992.0, &error));
    CHECK_OK(agent_json_set_number(json, P("/-"), 1e300, &error));
    CHECK_OK(agent_json_set_integer(json, P("/-"), INT64_MIN, &error));
    CHECK_OK(agent_json_set_integer(json, P("/-"), 9007199254740993, &error));
    CHECK_TEXT(agent_json_text(json, NULL), "[7,-0.1,9007199254740992,1e+300,-9223372036854775808,9007199254740993]");
    agent_json_free(json);
}

static void nesting_is_bounded(void)
{
    agent_json_t *json = NULL, *inner;
    char text[400], pointer[400];
    int i;

    memset(text, '[', 127);
    memset(text + 127, ']', 127);
    CHECK_OK(agent_json_parse(text, 2 * 127, &json, &error));
    CHECK_FAILS(agent_json_set_json(json, P("/-"), text, 2 * 127, &error), INVALID,
                "\"/-\" would be nested deeper than 127 levels");
    CHECK_FAILS(agent_json_set(json, P("/-"), json, &error), INVALID, "\"/-\" would be nested deeper than 127 levels");
    agent_json_free(json);
    memset(text, '[', 128);
    memset(text + 128, ']', 128);
    CHECK_FAILS(agent_json_parse(text, 2 * 128, &json, &error), INVALID,
                "text is not JSON: it nests too deeply; use a flatter form (line 1, column 128)");
    /* Each round goes as deep as a pointer can. */
    json = parse("null");
    for (i = 0; i < 127; i++)
        memcpy(pointer + 2 * i, "/a", 3);
    CHECK_OK(agent_json_set_bool(json, P(pointer), true, &error));
    CHECK(agent_json_set_json(json, P(pointer), P("[]"), NULL) == INVALID);
    memcpy(pointer + 2 * i, "/a", 3);
    CHECK(agent_json_set_bool(json, P(pointer), true, NULL) == INVALID);
    inner = parse(agent_json_text(json, NULL));
    CHECK(agent_json_equals(json, inner));
    agent_json_free(inner);
    agent_json_free(json);
}

int main(void)
{
    RUN(a_text_is_escaped_when_it_is_written);
    RUN(containers_are_created_on_the_way);
    RUN(a_failed_change_changes_nothing);
    RUN(a_change_is_in_every_text_above_it);
    RUN(a_part_of_a_value_can_be_set_in_it);
    RUN(numbers_are_written_as_short_as_they_are);
    RUN(nesting_is_bounded);
    return finish();
}
