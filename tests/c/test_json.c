/* JSON values: parsed, read by pointer, visited, compared. */

#include "support.h"

#define P(pointer) pointer, AGENT_NTS
#define INVALID AGENT_INVALID_ARGUMENT

static const char TEXT[] =
    "{\"city\": \"Tromso \\\"north\\\"\", \"a/b\": {\"m~n\": 1}, \"\": 2, \"list\": [10, [true], null], \"wet\": false,"
    " \"nothing\": null}";

static agent_json_t *parse(const char *text)
{
    agent_json_t *json = NULL;

    EXPECT_OK(agent_json_parse(text, AGENT_NTS, &json, &error));
    return json;
}

static void strings_numbers_and_booleans_are_read_by_pointer(void)
{
    agent_json_t *json = parse(TEXT);
    const char *text = NULL;
    size_t length = 0;
    double number = 0;
    int64_t integer = 0;
    bool flag = true;

    CHECK_OK(agent_json_get_string(json, P("/city"), &text, &length, &error));
    CHECK_TEXT(text, "Tromso \"north\"");
    CHECK(length == strlen(text));
    CHECK_OK(agent_json_get_number(json, P("/a~1b/m~0n"), &number, &error));
    CHECK(number == 1);
    CHECK_OK(agent_json_get_integer(json, P("/"), &integer, &error));
    CHECK(integer == 2);
    CHECK_OK(agent_json_get_integer(json, "/list/0 and more", strlen("/list/0"), &integer, &error));
    CHECK(integer == 10);
    CHECK_OK(agent_json_get_bool(json, P("/wet"), &flag, &error));
    CHECK(!flag);
    CHECK_OK(agent_json_get_bool(json, P("/list/1/0"), &flag, &error));
    CHECK(flag);
    /* A part is read like the whole. */
    CHECK_OK(agent_json_get_number(agent_json_get(json, P("/a~1b")), P("/m~0n"), &number, &error));
    CHECK_OK(agent_json_get_number(agent_json_get(json, P("/list/0")), P(""), &number, &error));
    CHECK(number == 10);
    agent_json_free(json);
}

static void what_is_missing_is_named(void)
{
    agent_json_t *json = parse(TEXT), *empty = parse("{}");
    const char *text = "untouched";
    size_t length = 77;
    double number = 5;

    CHECK_FAILS(agent_json_get_string(json, P("/a~1b/city"), &text, &length, &error), AGENT_NOT_FOUND,
                "there is no \"/a~1b/city\": \"/a~1b\" is an object with m~n");
    CHECK_FAILS(agent_json_get_string(empty, P("/city"), &text, &length, &error), AGENT_NOT_FOUND,
                "there is no \"/city\": the value is an empty object");
    CHECK_FAILS(agent_json_get_number(json, P("/list/3"), &number, &error), AGENT_NOT_FOUND,
                "there is no \"/list/3\": \"/list\" is an array of 3 elements");
    CHECK_FAILS(agent_json_get_number(json, P("/list/1/1"), &number, &error), AGENT_NOT_FOUND,
                "there is no \"/list/1/1\": \"/list/1\" is an array of 1 element");
    CHECK_FAILS(agent_json_get_number(json, P("/city/x/y"), &number, &error), AGENT_NOT_FOUND,
                "there is no \"/city/x\": \"/city\" is a string");
    CHECK_FAILS(agent_json_get_number(json, P("/nothing"), &number, &error), AGENT_NOT_FOUND, "\"/nothing\" is null");
    CHECK_FAILS(agent_json_get_number(json, P("/nothing/x"), &number, &error), AGENT_NOT_FOUND,
                "there is no \"/nothing/x\": \"/nothing\" is null");
    /* These are keys of members, and not of elements. */
    CHECK(agent_json_get_number(json, P("/list/00"), &number, NULL) == AGENT_NOT_FOUND);
    CHECK(agent_json_get_number(json, P("/list/+1"), &number, NULL) == AGENT_NOT_FOUND);
    CHECK(agent_json_get_number(json, P("/list/-"), &number, NULL) == AGENT_NOT_FOUND);
    CHECK(agent_json_get_number(json, P("/list/"), &number, NULL) == AGENT_NOT_FOUND);
    CHECK(agent_json_get_number(json, P("/list/99999999999999999999"), &number, NULL) == AGENT_NOT_FOUND);
    CHECK(number == 5 && length == 77);
    CHECK_TEXT(text, "untouched");
    agent_json_free(empty);
    agent_json_free(json);
}

static void a_long_list_of_members_is_cut(void)
{
    agent_json_t *json = parse("{}");
    char pointer[8];
    double number;
    int i;

    for (i = 0; i < 25; i++) {
        snprintf(pointer, sizeof pointer, "/k%d", i);
        CHECK_OK(agent_json_set_bool(json, P(pointer), true, &error));
    }
    CHECK(agent_json_get_number(json, P("/x"), &number, &error) == AGENT_NOT_FOUND);
    CHECK_CONTAINS(agent_error_message(error, NULL), "is an object with k0, k1, ");
    CHECK_CONTAINS(agent_error_message(error, NULL), ", k19 and 5 more");
    agent_error_free(error);
    error = NULL;
    agent_json_free(json);
}

static void a_wrong_type_is_named(void)
{
    agent_json_t *json = parse(TEXT);
    const char *text = NULL;
    double number;
    int64_t integer;
    bool flag;

    CHECK_FAILS(agent_json_get_string(json, P("/list"), &text, NULL, &error), INVALID,
                "\"/list\" is an array of 3 elements, not a string");
    CHECK_FAILS(agent_json_get_string(json, P("/wet"), &text, NULL, &error), INVALID, "\"/wet\" is false, not a string");
    CHECK_FAILS(agent_json_get_number(json, P("/city"), &number, &error), INVALID, "\"/city\" is a string, not a number");
    CHECK_FAILS(agent_json_get_integer(json, P("/city"), &integer, &error), INVALID,
                "\"/city\" is a string, not a whole number of 64 bits");
    CHECK_FAILS(agent_json_get_bool(json, P("/list/0"), &flag, &error), INVALID,
                "\"/list/0\" is the number 10, not true or false");
    CHECK_FAILS(agent_json_get_bool(json, P(""), &flag, &error), INVALID,
                "the value is an object with city, a/b, , list, wet, nothing, not true or false");
    agent_json_free(json);
}

static void an_invalid_pointer_is_refused(void)
{
    agent_json_t *json = parse(TEXT);
    double number;

    CHECK_FAILS(agent_json_get_number(json, P("wet"), &number, &error), INVALID,
                "pointer is not a JSON pointer: \"wet\" does not begin with a slash; expected \"/wet\"");
    CHECK_FAILS(agent_json_get_number(json, P("/a~b"), &number, &error), INVALID,
                "pointer is not a JSON pointer: \"a~b\" has a tilde without 0 or 1 after it");
    CHECK_FAILS(agent_json_set_bool(json, P("/a~"), true, &error), INVALID,
                "pointer is not a JSON pointer: \"a~\" has a tilde without 0 or 1 after it");
    CHECK_FAILS(agent_json_remove(json, P("wet"), &error), INVALID,
                "pointer is not a JSON pointer: \"wet\" does not begin with a slash; expected \"/wet\"");
    CHECK_FAILS(agent_json_get_number(json, P("/\xff"), &number, &error), INVALID,
                "pointer is not UTF-8: invalid byte at offset 1");
    CHECK(!agent_json_get(json, P("wet")));
    CHECK(!agent_json_get(json, P("/\xff")));
    agent_json_free(json);
}

static void elements_and_members_are_visited_in_order(void)
{
    agent_json_t *json = parse(TEXT);
    const agent_json_t *list = agent_json_get(json, P("/list"));
    size_t length = 9;

    CHECK(agent_json_count(json) == 6);
    CHECK_TEXT(agent_json_key(json, 1, &length), "a/b");
    CHECK(length == 3);
    CHECK(agent_json_at(json, 1) == agent_json_get(json, P("/a~1b")));
    CHECK_TEXT(agent_json_key(json, 2, NULL), "");
    CHECK(!agent_json_key(json, 6, &length));
    CHECK(length == 0);
    CHECK(!agent_json_at(json, 6));
    CHECK(agent_json_count(list) == 3);
    CHECK(agent_json_type(agent_json_at(list, 2)) == AGENT_JSON_NULL);
    CHECK(!agent_json_at(list, 3));
    CHECK(!agent_json_key(list, 0, NULL));
    CHECK(agent_json_count(agent_json_get(json, P("/city"))) == 0);
    CHECK(!agent_json_at(agent_json_get(json, P("/city")), 0));
    agent_json_free(json);
}

static void a_member_is_found_by_its_key(void)
{
    agent_json_t *json = parse(TEXT);

    CHECK(agent_json_member(json, P("a/b")) == agent_json_at(json, 1));
    CHECK(agent_json_member(json, "a/b and more", 3) == agent_json_at(json, 1));
    CHECK(agent_json_member(json, P("")) == agent_json_at(json, 2));
    CHECK(!agent_json_member(json, P("/city")));
    CHECK(!agent_json_member(json, P("\xff")));
    CHECK(!agent_json_member(agent_json_member(json, P("list")), P("0")));
    CHECK(!agent_json_member(NULL, P("city")));
    CHECK(!agent_json_member(json, NULL, 0));
    agent_json_free(json);
}

static void each_value_has_a_type(void)
{
    agent_json_t *json = parse(TEXT);

    CHECK(agent_json_type(json) == AGENT_JSON_OBJECT);
    CHECK(agent_json_type(agent_json_get(json, P("/list"))) == AGENT_JSON_ARRAY);
    CHECK(agent_json_type(agent_json_get(json, P("/city"))) == AGENT_JSON_STRING);
    CHECK(agent_json_type(agent_json_get(json, P("/list/0"))) == AGENT_JSON_NUMBER);
    CHECK(agent_json_type(agent_json_get(json, P("/wet"))) == AGENT_JSON_BOOL);
    CHECK(agent_json_type(agent_json_get(json, P("/nothing"))) == AGENT_JSON_NULL);
    CHECK(agent_json_type(agent_json_get(json, P("/missing"))) == AGENT_JSON_NONE);
    agent_json_free(json);
}

static void equality_is_of_values(void)
{
    static const char *const same[][2] = {
        {"{\"a\": 1, \"b\": [true, null]}", "{\"b\":[true,null],\"a\":1.0}"}, {"\"\\u00e9\"", "\"\xc3\xa9\""}, {"1e2", "100"},
        {"{\"a\": 1, \"a\": 2}", "{\"a\": 2}"},
    };
    static const char *const different[][2] = {
        {"[1, 2]", "[2, 1]"}, {"{\"a\": 1}", "{\"a\": 1, \"b\": null}"}, {"{\"a\": 1, \"b\": 2}", "{\"a\": 1, \"c\": 2}"},
        {"1", "\"1\""}, {"false", "null"}, {"9007199254740993", "9007199254740992"},
    };
    size_t i;

    for (i = 0; i < sizeof same / sizeof *same + sizeof different / sizeof *different; i++) {
        bool equal = i < sizeof same / sizeof *same;
        const char *const *pair = equal ? same[i] : different[i - sizeof same / sizeof *same];
        agent_json_t *a = parse(pair[0]), *b = parse(pair[1]);

        if (!EXPECT(agent_json_equals(a, b) == equal) || !EXPECT(agent_json_equals(b, a) == equal))
            printf("      %s and %s\n", pair[0], pair[1]);
        agent_json_free(a);
        agent_json_free(b);
    }
}

static void whole_numbers_are_exact(void)
{
    agent_json_t *json = parse("[9007199254740993, -9223372036854775808, 18446744073709551615, 18446744073709551616, 7.0, 7.5,"
                               " 9223372036854775807, 9223372036854775808, 1e300, -9223372036854775808.0, 9.3e18]");
    static const struct {
        const char *pointer;
        int64_t value;
    } fit[] = {{"/0", 9007199254740993}, {"/1", INT64_MIN}, {"/4", 7}, {"/6", INT64_MAX}, {"/9", INT64_MIN}};
    static const char *const unfit[] = {"/2", "/3", "/5", "/7", "/8", "/10"};
    int64_t integer = 3;
    double number = 0;
    size_t i;

    for (i = 0; i < sizeof fit / sizeof *fit; i++) {
        CHECK_OK(agent_json_get_integer(json, P(fit[i].pointer), &integer, &error));
        CHECK(integer == fit[i].value);
    }
    for (i = 0; i < sizeof unfit / sizeof *unfit; i++)
        CHECK(agent_json_get_integer(json, P(unfit[i]), &integer, NULL) == INVALID);
    CHECK_FAILS(agent_json_get_integer(json, P("/2"), &integer, &error), INVALID,
                "\"/2\" is the number 18446744073709551615, not a whole number of 64 bits");
    CHECK_TEXT(agent_json_text(agent_json_get(json, P("/2")), NULL), "18446744073709551615");
    CHECK_TEXT(agent_json_text(agent_json_get(json, P("/3")), NULL), "1.8446744073709552e+19");
    CHECK_OK(agent_json_get_number(json, P("/0"), &number, &error));
    CHECK(number == 9007199254740992.0);
    CHECK_OK(agent_json_get_number(json, P("/8"), &number, &error));
    CHECK(number == 1e300);
    agent_json_free(json);
}

static void what_is_not_json_is_refused(void)
{
    agent_json_t *json = NULL;

    CHECK_FAILS(agent_json_parse(P(""), &json, &error), INVALID,
                "text is not JSON: it is empty");
    CHECK_FAILS(agent_json_parse(P("{\"a\": 1}\n x"), &json, &error), INVALID,
                "text is not JSON: there is more after the end of the JSON; give one value (line 2, column 2)");
    CHECK_FAILS(agent_json_parse(P("\"\xff\""), &json, &error), INVALID, "text is not UTF-8: invalid byte at offset 1");
    CHECK_FAILS(agent_json_parse(P("1e999"), &json, &error), INVALID,
                "text is not JSON: the number is too large (line 1, column 5)");
    CHECK_FAILS(agent_json_parse("[]", SIZE_MAX - 1, &json, &error), INVALID,
                "text: a length of 18446744073709551614 bytes is not possible");
    CHECK(!json);
}

static void an_unpaired_surrogate_is_replaced(void)
{
    agent_json_t *json = parse("[\"\\ud83d\", \"\\ud83d\\ude00\"]");

    CHECK_TEXT(agent_json_text(json, NULL), "[\"\xef\xbf\xbd\",\"\xf0\x9f\x98\x80\"]");
    agent_json_free(json);
}

/* strcmp() would see "Oslo" where the tool sees more. */
static void found_c1_a_string_with_a_nul_is_read_by_its_length(void)
{
    agent_json_t *json = parse("{\"city\": \"Oslo\\u0000; rm\"}");
    const char *text = "none";
    size_t length = 0;

    CHECK_FAILS(agent_json_get_string(json, P("/city"), &text, NULL, &error), INVALID,
                "the string at \"/city\" contains the character U+0000, at which a C string ends; pass value_length and use it");
    CHECK_TEXT(text, "none");
    CHECK_OK(agent_json_get_string(json, P("/city"), &text, &length, &error));
    CHECK(length == 9 && memcmp(text, "Oslo\0; rm", length) == 0);
    agent_json_free(json);
}

static void null_arguments_are_named(void)
{
    agent_json_t *json = parse("{\"a\": 1}");
    const char *text = NULL;
    size_t length = 9;
    double number;
    int64_t integer;
    bool flag;

    CHECK_NULL(agent_json_parse(NULL, 0, &json, &error), "text");
    CHECK_NULL(agent_json_parse(P("{}"), NULL, &error), "json");
    CHECK_NULL(agent_json_get_string(NULL, P("/a"), &text, NULL, &error), "json");
    CHECK_NULL(agent_json_get_string(json, NULL, 0, &text, NULL, &error), "pointer");
    CHECK_NULL(agent_json_get_string(json, P("/a"), NULL, NULL, &error), "value");
    CHECK_NULL(agent_json_get_number(NULL, P("/a"), &number, &error), "json");
    CHECK_NULL(agent_json_get_number(json, P("/a"), NULL, &error), "value");
    CHECK_NULL(agent_json_get_integer(NULL, P("/a"), &integer, &error), "json");
    CHECK_NULL(agent_json_get_integer(json, P("/a"), NULL, &error), "value");
    CHECK_NULL(agent_json_get_bool(NULL, P("/a"), &flag, &error), "json");
    CHECK_NULL(agent_json_get_bool(json, P("/a"), NULL, &error), "value");
    CHECK_NULL(agent_json_set(NULL, P("/a"), json, &error), "json");
    CHECK_NULL(agent_json_set(json, NULL, 0, json, &error), "pointer");
    CHECK_NULL(agent_json_set(json, P("/a"), NULL, &error), "value");
    CHECK_NULL(agent_json_set_json(NULL, P("/a"), P("1"), &error), "json");
    CHECK_NULL(agent_json_set_json(json, P("/a"), NULL, 0, &error), "value");
    CHECK_NULL(agent_json_set_string(NULL, P("/a"), P("x"), &error), "json");
    CHECK_NULL(agent_json_set_string(json, P("/a"), NULL, 0, &error), "value");
    CHECK_NULL(agent_json_set_number(NULL, P("/a"), 1, &error), "json");
    CHECK_NULL(agent_json_set_integer(json, NULL, 0, 1, &error), "pointer");
    CHECK_NULL(agent_json_set_bool(NULL, P("/a"), true, &error), "json");
    CHECK_NULL(agent_json_remove(NULL, P("/a"), &error), "json");
    CHECK_NULL(agent_json_remove(json, NULL, 0, &error), "pointer");
    CHECK(agent_json_type(NULL) == AGENT_JSON_NONE);
    CHECK(!agent_json_get(NULL, P("/a")) && !agent_json_get(json, NULL, 0));
    CHECK(agent_json_count(NULL) == 0 && !agent_json_at(NULL, 0));
    CHECK(!agent_json_key(NULL, 0, &length) && length == 0);
    length = 9;
    CHECK(!agent_json_text(NULL, &length) && length == 0);
    CHECK(!agent_json_equals(NULL, NULL) && !agent_json_equals(json, NULL));
    CHECK_TEXT(agent_json_text(json, NULL), "{\"a\":1}");
    agent_json_free(NULL);
    agent_json_free(json);
}

static void *borrow_text(void *json) { return (void *)(uintptr_t)agent_json_text(agent_json_get(json, P("/list")), NULL); }

static void several_threads_read_one_value(void)
{
    agent_json_t *json = parse(TEXT);
    pthread_t threads[4];
    void *text = NULL;
    size_t i;

    for (i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, borrow_text, json) == 0);
    for (i = 0; i < 4; i++) {
        CHECK(pthread_join(threads[i], &text) == 0);
        CHECK(text == borrow_text(json));
    }
    CHECK_TEXT(text, "[10,[true],null]");
    agent_json_free(json);
}

int main(void)
{
    RUN(strings_numbers_and_booleans_are_read_by_pointer);
    RUN(what_is_missing_is_named);
    RUN(a_long_list_of_members_is_cut);
    RUN(a_wrong_type_is_named);
    RUN(an_invalid_pointer_is_refused);
    RUN(elements_and_members_are_visited_in_order);
    RUN(a_member_is_found_by_its_key);
    RUN(each_value_has_a_type);
    RUN(equality_is_of_values);
    RUN(whole_numbers_are_exact);
    RUN(what_is_not_json_is_refused);
    RUN(an_unpaired_surrogate_is_replaced);
    RUN(found_c1_a_string_with_a_nul_is_read_by_its_length);
    RUN(null_arguments_are_named);
    RUN(several_threads_read_one_value);
    return finish();
}
