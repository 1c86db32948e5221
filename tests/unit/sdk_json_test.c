/* JSON by path: what is built, what is read, and what the errors say. */
#include <sandlot/sdk/json.h>

#include "sdk_support.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MANY = 1000002 }; /* characters: with so many commas it is more than is read */

static void check_built(struct json_builder *builder, const char *wanted)
{
    size_t length = 99;
    char *text = json_finish(builder, &length);

    if (wanted) {
        assert_string_equal(text, wanted);
        assert_int_equal(length, strlen(wanted));
    } else {
        assert_null(text);
    }
    assert_null(builder->root);
    free(text);
}

static void test_build(void **state)
{
    struct json_builder b = {0};

    (void)state;
    check_built(&b, "{}");
    json_set_string(&b, "name", "x/\"y\"\n\xc3\xa4");
    json_set_string(&b, "absent", NULL);
    json_set_integer(&b, "resources.memory_mb", INT64_MAX);
    json_set_number(&b, "resources.cpu", 0.5);
    json_set_boolean(&b, "keep", true);
    json_set_null(&b, "region");
    json_set_string(&b, "command[]", "sh");
    json_set_string(&b, "command[]", "-c");
    json_set_string(&b, "mounts[0].path", "/a");
    json_set_string(&b, "mounts[0].mode", "ro");
    json_set_string(&b, "mounts[1].path", "/b");
    json_set_string(&b, "labels.\"a.b/c\"", "1");
    json_set_member(&b, "labels", "x[0].y", "2");
    json_set_member(&b, "labels", "none", NULL);
    json_set_object(&b, "labels");
    json_set_object(&b, "empty");
    json_set_array(&b, "list");
    json_set_text(&b, "extra", " [1,{\"a\":null}] ");
    check_built(&b,
                "{\"name\":\"x/\\\"y\\\"\\n\xc3\xa4\",\"resources\":{\"memory_mb\":9223372036854775807,\"cpu\":0.5},"
                "\"keep\":true,\"region\":null,\"command\":[\"sh\",\"-c\"],"
                "\"mounts\":[{\"path\":\"/a\",\"mode\":\"ro\"},{\"path\":\"/b\"}],"
                "\"labels\":{\"a.b/c\":\"1\",\"x[0].y\":\"2\"},\"empty\":{},\"list\":[],\"extra\":[1,{\"a\":null}]}");
    json_set_integer(&b, "[].id", 1);
    json_set_integer(&b, "[].id", 2);
    check_built(&b, "[{\"id\":1},{\"id\":2}]");
    json_set_array(&b, "");
    check_built(&b, "[]");
    json_set_member(&b, "", "k", "v");
    check_built(&b, "{\"k\":\"v\"}");
}

static void test_build_failures(void **state)
{
    static const char *const bad_paths[] = {
        "", ".a", "a..b", "a[", "a[x]", "a[9]", "a[0]b", "\"a", "a[999999999999999999999]"};
    struct json_builder b = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(bad_paths) / sizeof(*bad_paths); i++) {
        json_set_integer(&b, bad_paths[i], 1);
        json_set_integer(&b, "fine", 1);
        check_built(&b, NULL);
    }
    json_set_string(&b, "a", "\xff");
    check_built(&b, NULL);
    json_set_number(&b, "a", NAN);
    check_built(&b, NULL);
    json_set_integer(&b, "a", 1);
    json_set_integer(&b, "a.b", 1);
    check_built(&b, NULL);
    json_set_text(&b, "a", "{broken");
    check_built(&b, NULL);
    json_set_object(&b, "a");
    json_set_array(&b, "");
    check_built(&b, NULL);
}

static struct json_object *parse(const char *text)
{
    struct json_error error = {""};
    struct json_object *document = json_read_document(text, strlen(text), &error);

    if (!document)
        print_error("%s: %s\n", text, error.text);
    assert_non_null(document);
    return document;
}

static void test_documents(void **state)
{
    static const struct {
        const char *text;
        const char *error;
    } bad[] = {{"", "is empty"},         {"  \n", "is empty"},        {"{\"a\":1", "ends early, after 6 bytes"},
               {"{a:1}", "is not JSON"}, {"[1,]", "is not JSON"},     {"1 2", "is not JSON"},
               {"null", "is null"},      {"\"\xff\"", "is not JSON"}, {"[1 2]", "is not JSON"},
               {"tru", "early"},         {"{}x", "is not JSON"}};
    struct json_error error;
    char deep[300];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        strcpy(error.text, "");
        struct json_object *none = json_read_document(bad[i].text, strlen(bad[i].text), &error);

        if (none)
            print_error("%s was taken\n", bad[i].text);
        assert_null(none);
        if (!strstr(error.text, bad[i].error))
            print_error("%s: %s\n", bad[i].text, error.text);
        assert_non_null(strstr(error.text, bad[i].error));
    }
    char *many = malloc(MANY);

    assert_non_null(many);
    memset(many, ',', MANY);
    many[0] = '[';
    assert_null(json_read_document(many, MANY, &error));
    assert_string_equal(error.text, "has more values than fit into 128 MiB of memory");
    for (size_t i = 1; i < MANY; i++)
        many[i] = "{},"[(i - 1) % 3];
    many[MANY - 1] = ']';
    assert_null(json_read_document(many, MANY, &error));
    assert_string_equal(error.text, "has more values than fit into 128 MiB of memory");
    memcpy(many, "{'\"':[", 6);
    assert_null(json_read_document(many, MANY, &error));
    assert_string_equal(error.text, "has more values than fit into 128 MiB of memory");
    memset(many, ',', MANY);
    many[0] = many[MANY - 1] = '"';
    struct json_object *text = json_read_document(many, MANY, NULL);

    assert_non_null(text);
    json_object_put(text);
    free(many);
    memset(deep, '[', sizeof(deep));
    assert_null(json_read_document(deep, sizeof(deep), NULL));
    assert_null(json_read_document("\"a\0b\"", 5, NULL));
    assert_null(json_read_document("{}\0{", 4, NULL));
    assert_null(json_read_document("12\0", 3, NULL));
    json_object_put(parse("12"));
    json_object_put(parse(" \"x\" \r\n"));
    json_object_put(parse("true"));
}

static void test_read(void **state)
{
    struct json_object *document = parse(
        "{\"id\":\"x\",\"n\":7,\"big\":18446744073709551615,\"whole\":1e3,\"half\":0.5,\"yes\":true,\"none\":null,"
        "\"list\":[{\"a\":\"b\"},2],\"o\":{\"k.l\":\"m\"},\"nul\":\"a\\u0000b\",\"bad\":[NaN,-Infinity]}");
    const char *text = "untouched";
    int64_t number = -1;
    double real = -1;
    bool yes = false;
    struct json_object *inner = NULL;
    struct json_error error;

    (void)state;
    assert_true(json_read_string(document, "id", &text, &error));
    assert_string_equal(text, "x");
    assert_true(json_read_string(document, "list[0].a", &text, NULL));
    assert_string_equal(text, "b");
    assert_true(json_read_string(document, "o.\"k.l\"", &text, NULL));
    assert_string_equal(text, "m");
    assert_true(json_read_integer(document, "list[1]", &number, NULL));
    assert_int_equal(number, 2);
    assert_true(json_read_integer(document, "whole", &number, NULL));
    assert_int_equal(number, 1000);
    assert_true(json_read_number(document, "n", &real, NULL) && real == 7);
    assert_true(json_read_boolean(document, "yes", &yes, NULL) && yes);
    assert_true(json_read_array(document, "list", &inner, NULL) && json_object_array_length(inner) == 2);
    assert_true(json_read_object(document, "", &inner, NULL) && inner == document);

    text = "untouched";
#define WRONG(call, message)                      \
    do {                                          \
        error.text[0] = '\0';                     \
        assert_false(call);                       \
        assert_string_equal(error.text, message); \
    } while (0)
    WRONG(json_read_string(document, "n", &text, &error), "has a number at `n` where a string was expected");
    WRONG(json_find_string(document, "n", &text, &error), "has a number at `n` where a string was expected");
    WRONG(json_read_string(document, "gone", &text, &error), "has no `gone`");
    WRONG(json_read_string(document, "none", &text, &error), "has no `none`");
    WRONG(json_read_string(document, "gone.deeper[3]", &text, &error), "has no `gone`");
    WRONG(json_read_string(document, "list[2].a", &text, &error), "has no `list[2]`");
    WRONG(json_read_string(document, "list[1].a", &text, &error),
          "has a number at `list[1]` where an object was expected");
    WRONG(json_read_string(document, "id[0]", &text, &error), "has a string at `id` where an array was expected");
    WRONG(json_read_string(document, "nul", &text, &error), "has a NUL inside the text at `nul`");
    WRONG(json_read_integer(document, "half", &number, &error),
          "has a number at `half` where a whole number of 64 bits was expected");
    WRONG(json_read_integer(document, "big", &number, &error),
          "has a number at `big` where a whole number of 64 bits was expected");
    WRONG(json_read_number(document, "bad[0]", &real, &error),
          "has a number at `bad[0]` where a finite number was expected");
    WRONG(json_read_integer(document, "bad[1]", &number, &error),
          "has a number at `bad[1]` where a whole number of 64 bits was expected");
    WRONG(json_read_boolean(document, "n", &yes, &error), "has a number at `n` where a boolean was expected");
    WRONG(json_read_array(document, "", &inner, &error), "is an object where an array was expected");
    WRONG(json_read_string(document, "a..b", &text, &error), "cannot be asked for `a..b`, which is no path");
    assert_true(json_find_string(document, "gone", &text, &error));
    assert_true(json_find_string(document, "none", &text, &error));
    assert_true(json_find_integer(document, "gone.deeper", &number, NULL));
    assert_string_equal(text, "untouched");
    assert_false(json_read_string(NULL, "a", &text, &error));
    json_object_put(document);
}

static void test_fail(void **state)
{
    struct test_call call;
    const struct json_error error = {"has no `id`"};

    (void)state;
    test_call_open(&call, 0);
    assert_int_equal(json_fail(&call.call, "Acme's answer", &error), SANDLOT_INTERNAL);
    assert_non_null(strstr(call.message, "Acme's answer has no `id`; "));
    test_call_close(&call);
}

static enum sandlot_status keep(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    snprintf(sink->context, 16, "%.*s", (int)length, (const char *)bytes);
    return length == 3 ? SANDLOT_CANCELLED : SANDLOT_OK;
}

static void test_built(void **state)
{
    struct json_builder b = {0};
    struct json_builder element = {0};

    (void)state;
    json_set_integer(&element, "port", 80);
    json_set_built(&b, "ports[]", &element);
    assert_null(element.root);
    json_set_integer(&element, "port", 443);
    json_set_built(&b, "ports[]", &element);
    check_built(&b, "{\"ports\":[{\"port\":80},{\"port\":443}]}");

    json_set_string(&element, "text", "\xff"); /* what failed within fails the whole */
    json_set_built(&b, "ports[]", &element);
    assert_false(element.failed);
    check_built(&b, NULL);
}

static void test_says(void **state)
{
    static const char text[] = "{\"rows\":[{\"n\":\"a\"},7,{\"n\":\"b\",\"v\":1},{\"n\":\"b\",\"v\":2}],"
                               "\"two\":\"xy\",\"three\":\"xyz\",\"none\":\"\",\"null\":null}";
    struct json_object *document = json_read_document(text, strlen(text), NULL);
    struct json_object *rows = NULL;
    char kept[16] = "";
    const struct sandlot_sink sink = {.size = sizeof(sink), .context = kept, .write = keep};
    int64_t number = 0;
    uint64_t bytes = 5;

    (void)state;
    assert_true(json_says(document, "two", "xy"));
    assert_false(json_says(document, "two", "x"));
    assert_false(json_says(document, "rows", "x"));
    assert_false(json_says(document, "gone", ""));
    assert_false(json_says(NULL, "two", "xy"));
    assert_true(json_read_array(document, "rows", &rows, NULL));
    assert_true(json_read_integer(json_find_element(rows, "n", "b"), "v", &number, NULL));
    assert_int_equal(number, 1);
    assert_null(json_find_element(rows, "n", "c"));
    assert_null(json_find_element(NULL, "n", "a"));
    assert_int_equal(json_write_member(document, "two", &sink, &bytes), SANDLOT_OK);
    assert_string_equal(kept, "xy");
    assert_int_equal(bytes, 7);
    assert_int_equal(json_write_member(document, "three", &sink, NULL), SANDLOT_CANCELLED);
    static const char *const nothing[] = {"none", "null", "rows", "gone"};

    for (size_t i = 0; i < sizeof(nothing) / sizeof(*nothing); i++)
        assert_int_equal(json_write_member(document, nothing[i], &sink, &bytes), SANDLOT_OK);
    assert_int_equal(json_write_member(NULL, "two", &sink, &bytes), SANDLOT_OK);
    assert_string_equal(kept, "xyz");
    assert_int_equal(bytes, 7);
    json_object_put(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_build), cmocka_unit_test(test_build_failures), cmocka_unit_test(test_documents),
        cmocka_unit_test(test_read),  cmocka_unit_test(test_fail),           cmocka_unit_test(test_built),
        cmocka_unit_test(test_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
