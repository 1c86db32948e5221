/* The list of tools, and what models send as their arguments. */
#include "support.h"
#include "tools/arguments.h"

#include <json-c/json.h>

static struct arguments arguments;
static struct sandlot_error error;

static enum arguments_state read_them(const char *tool, const char *text)
{
    arguments_clear(&arguments);
    sandlot_error_clear(&error);
    assert_non_null(tool_find(tool));
    return arguments_read(tool_find(tool), text, &arguments, &error);
}

static int clean(void **state)
{
    (void)state;
    arguments_clear(&arguments);
    sandlot_error_clear(&error);
    return 0;
}

static void expect_fine(const char *tool, const char *text)
{
    if (read_them(tool, text) != ARGUMENTS_FINE)
        fail_msg("%s %s: %s", tool, text, error.message);
}

static void expect_wrong(const char *tool, const char *text, const char *part)
{
    assert_int_equal(read_them(tool, text), ARGUMENTS_WRONG);
    assert_contains(error.message, part);
    assert_in_range(strlen(error.message), 10, 2000);
}

static void test_no_object(void **state)
{
    static const char *const texts[] = {"", "[]", "\"x\"", "null", "{", "{} x", "{'path':'a'}", "{\"a\":1,}", "\xff"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(read_them("ls", texts[i]), ARGUMENTS_NO_OBJECT);
        assert_int_equal(error.code, SANDLOT_CODE_USAGE);
    }
    assert_int_equal(read_them("ls", NULL), ARGUMENTS_FINE);
    assert_int_equal(read_them("ls", " {} \n"), ARGUMENTS_FINE);
}

/* 16 MiB of "{}," took 3.6 GB. */
static void test_many_values(void **state)
{
    char text[30002];

    (void)state;
    for (size_t i = 0; i < sizeof(text) - 1; i++)
        text[i] = "{},"[i % 3];
    memcpy(text, "{\"a\":[", 6);
    strcpy(text + sizeof(text) - 4, "]}");
    expect_wrong("ls", text, "more than 10000 values");
    memcpy(text, "{'\"':[", 6);
    expect_wrong("ls", text, "more than 10000 values");
}

static void test_null_is_absent(void **state)
{
    (void)state;
    expect_fine("read_file", "{\"file_path\":\"a\",\"offset\":null,\"limit\":null}");
    assert_false(argument(&arguments, "offset")->given);
    assert_false(argument(&arguments, "limit")->given);
    expect_wrong("read_file", "{\"file_path\":null}", "read_file needs the argument file_path");
    expect_wrong("execute", "{}", "execute needs the argument command");
    expect_wrong("edit_file", "{\"file_path\":\"a\",\"old_string\":\"b\"}", "new_string");
}

static void expect_offset(const char *value, int64_t number)
{
    AUTO_FREE char *text = text_format("{\"file_path\":\"a\",\"offset\":%s}", value);

    expect_fine("read_file", text);
    assert_true(argument(&arguments, "offset")->given);
    assert_int_equal(argument(&arguments, "offset")->number, number);
}

static void test_numbers(void **state)
{
    static const char *const wrong[] = {"10.5", "\"ten\"", "\"\"", "true", "[1]", "{}", "1e300", "\"1.5\""};

    (void)state;
    expect_offset("10", 10);
    expect_offset("10.0", 10);
    expect_offset("1e1", 10);
    expect_offset("\"10\"", 10);
    expect_offset("-3", -3);
    expect_offset("0", 0);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        AUTO_FREE char *text = text_format("{\"file_path\":\"a\",\"offset\":%s}", wrong[i]);

        expect_wrong("read_file", text, "offset must be a whole number");
    }
    expect_wrong("grep", "{\"pattern\":\"x\",\"max_count\":0}", "max_count must be at least 1");
}

static void expect_replace_all(const char *value, bool flag)
{
    AUTO_FREE char *text =
        text_format("{\"file_path\":\"a\",\"old_string\":\"b\",\"new_string\":\"c\",\"replace_all\":%s}", value);

    expect_fine("edit_file", text);
    assert_int_equal(argument(&arguments, "replace_all")->flag, flag);
}

static void test_booleans(void **state)
{
    (void)state;
    expect_replace_all("true", true);
    expect_replace_all("false", false);
    expect_replace_all("\"true\"", true);
    expect_replace_all("\"False\"", false);
    expect_wrong("edit_file", "{\"file_path\":\"a\",\"old_string\":\"b\",\"new_string\":\"c\",\"replace_all\":1}",
                 "replace_all must be true or false");
}

static void test_texts(void **state)
{
    (void)state;
    expect_fine("write_file", "{\"file_path\":\"a\",\"content\":\"x\\u0000y\\ud83d\\ude00\"}");
    assert_int_equal(argument(&arguments, "content")->length, 7);
    assert_memory_equal(argument(&arguments, "content")->text, "x\0y\xf0\x9f\x98\x80", 8);
    expect_fine("write_file", "{\"file_path\":\"a\",\"content\":\"\\ud800\"}");
    assert_string_equal(argument(&arguments, "content")->text, "\xef\xbf\xbd");
    expect_fine("write_file", "{\"file_path\":\"a\",\"content\":\"\"}");
    assert_true(argument(&arguments, "content")->given);
    expect_wrong("write_file", "{\"file_path\":\"a\",\"content\":{\"x\":1}}",
                 "content must be a string; for JSON send its text");
    expect_wrong("write_file", "{\"file_path\":\"a\",\"content\":[]}", "for JSON send its text");
    expect_wrong("write_file", "{\"file_path\":7,\"content\":\"\"}", "file_path must be a string, not an integer");
    expect_wrong("read_file", "{\"file_path\":\"a\\u0000b\"}", "file_path must not contain a NUL character");
    assert_int_equal(error.code, SANDLOT_CODE_INVALID_PATH);
    expect_wrong("execute", "{\"command\":\"a\\u0000b\"}", "command must not contain a NUL character");
    assert_int_equal(error.code, SANDLOT_CODE_USAGE);
}

static void test_aliases(void **state)
{
    (void)state;
    expect_fine("read_file", "{\"path\":\"a\"}");
    assert_string_equal(argument(&arguments, "file_path")->text, "a");
    expect_fine("read_file", "{\"path\":\"a\",\"file_path\":null}");
    assert_string_equal(argument(&arguments, "file_path")->text, "a");
    expect_fine("ls", "{\"file_path\":\"d\"}");
    assert_string_equal(argument(&arguments, "path")->text, "d");
    expect_fine("execute", "{\"cmd\":\"true\"}");
    assert_string_equal(argument(&arguments, "command")->text, "true");
    expect_fine("grep", "{\"pattern\":\"x\",\"max_results\":\"3\"}");
    assert_int_equal(argument(&arguments, "max_count")->number, 3);
    expect_wrong("read_file", "{\"path\":\"a\",\"file_path\":\"b\"}", "read_file has no argument 'path'");
}

static void test_unknown(void **state)
{
    (void)state;
    expect_wrong("read_file", "{\"file_path\":\"a\",\"offsett\":1}",
                 "read_file has no argument 'offsett'; did you mean 'offset'? Its arguments are: file_path, offset, "
                 "limit.");
    expect_wrong("delete", "{\"file_path\":\"a\",\"recursive\":true}",
                 "delete has no argument 'recursive'. Its arguments are: file_path.");
    expect_wrong("ls", "{\"\\n\":1}", "ls has no argument '\\n'");
    AUTO_FREE char *name = calloc(1, 5000);

    memset(name, 'x', 4999);
    AUTO_FREE char *text = text_format("{\"%s\":1}", name);

    expect_wrong("ls", text, "ls has no argument 'xxx");
}

static void test_names_of_other_tools(void **state)
{
    static const char *const grep[] = {"-i", "-A", "-B", "-C", "-n", "head_limit", "type", "multiline"};

    (void)state;
    for (size_t i = 0; i < sizeof(grep) / sizeof(grep[0]); i++) {
        AUTO_FREE char *text = text_format("{\"pattern\":\"x\",\"%s\":3}", grep[i]);
        AUTO_FREE char *off = text_format("{\"pattern\":\"x\",\"%s\":null}", grep[i]);

        expect_wrong("grep", text, "is not supported; use execute with grep");
        expect_fine("grep", off);
    }
    expect_fine("grep", "{\"pattern\":\"x\",\"multiline\":false}");
    expect_fine("execute", "{\"command\":\"true\",\"description\":\"says what\",\"run_in_background\":false}");
    expect_fine("execute", "{\"command\":\"true\",\"run_in_background\":true}");
    expect_fine("process", "{\"id\":\"p1\",\"wait\":\"50\",\"signal\":\"KILL\",\"offset\":0,\"close_input\":true}");
    expect_wrong("process", "{\"id\":\"p1\",\"wait\":51}", "wait must be from 0 to 50");
    expect_wrong("process", "{\"id\":\"p1\",\"signal\":\"NONE\"}", "signal must be one of TERM");
    expect_wrong("edit_file", "{\"path\":\"a\",\"edits\":[]}", "once for each replacement");
    expect_wrong("read_file", "{\"path\":\"a\",\"head\":5}", "set limit");
    expect_wrong("read_file", "{\"path\":\"a\",\"tail\":5}", "tail");
    expect_wrong("ls", "{\"description\":\"x\"}", "ls has no argument 'description'");
}

static void test_timeout(void **state)
{
    (void)state;
    expect_fine("execute", "{\"command\":\"true\",\"timeout\":3600}");
    expect_fine("execute", "{\"command\":\"true\",\"timeout\":0}");
    expect_wrong("execute", "{\"command\":\"true\",\"timeout\":-1}", "must not be negative");
    expect_wrong("execute", "{\"command\":\"true\",\"timeout\":120000}",
                 "timeout is in seconds, at most 3600; did you mean 120?");
    expect_wrong("execute", "{\"command\":\"true\",\"timeout\":3601}", "timeout is in seconds, at most 3600; 0 means");
    expect_wrong("execute", "{\"command\":\"true\",\"timeout\":9223372036854775807}", "at most 3600");
}

static void test_choices(void **state)
{
    (void)state;
    expect_fine("grep", "{\"pattern\":\"\",\"output_mode\":\"content\"}");
    expect_wrong("grep", "{\"pattern\":\"x\",\"output_mode\":\"lines\"}",
                 "output_mode must be one of files_with_matches, content, count; 'lines' is none of them");
    expect_wrong("grep", "{\"pattern\":\"x\",\"output_mode\":\"count\\u0000\"}", "output_mode must be one of");
}

/* ---- the list ---- */

static struct json_object *tools_with(bool execute)
{
    AUTO_FREE char *text = sandlot_tools(execute);
    AUTO_FREE char *again = sandlot_tools(execute);

    assert_non_null(text);
    assert_string_equal(text, again);
    assert_in_range(strlen(text), 1000, 6900);
    struct json_object *tools = json_tokener_parse(text);

    assert_true(json_object_is_type(tools, json_type_array));
    return tools;
}

static const char *text_in(struct json_object *object, const char *name)
{
    return json_object_get_string(json_object_object_get(object, name));
}

static bool flag_in(struct json_object *object, const char *name)
{
    struct json_object *value;

    assert_true(json_object_object_get_ex(object, name, &value));
    assert_true(json_object_is_type(value, json_type_boolean));
    return json_object_get_boolean(value);
}

static void test_list(void **state)
{
    static const char *const names[] = {"ls",   "read_file", "write_file", "edit_file", "glob",
                                        "grep", "execute",   "process",    "delete"};
    struct json_object *tools = tools_with(true);
    struct json_object *fewer = tools_with(false);

    (void)state;
    assert_int_equal(json_object_array_length(tools), 9);
    assert_int_equal(json_object_array_length(fewer), 7);
    for (size_t i = 0; i < 9; i++) {
        struct json_object *tool = json_object_array_get_idx(tools, i);
        struct json_object *notes = json_object_object_get(tool, "annotations");
        bool reads = i == 0 || i == 1 || i == 4 || i == 5;

        assert_string_equal(text_in(tool, "name"), names[i]);
        assert_in_range(strlen(text_in(tool, "description")), 50, 1500);
        assert_contains(text_in(tool, "description"), "inside the sandbox");
        assert_string_equal(text_in(notes, "title"), text_in(tool, "title"));
        assert_int_equal(flag_in(notes, "readOnlyHint"), reads);
        assert_int_equal(flag_in(notes, "destructiveHint"), !reads);
        assert_int_equal(flag_in(notes, "idempotentHint"), i != 3 && i != 6 && i != 7);
        assert_int_equal(flag_in(notes, "openWorldHint"), i == 6);
        if (i != 6 && i != 7)
            assert_string_equal(text_in(json_object_array_get_idx(fewer, i < 6 ? i : 6), "name"), names[i]);
    }
    json_object_put(tools);
    json_object_put(fewer);
    AUTO_FREE char *closed = schema_of_tools(true, false);

    assert_lacks(closed, "\"openWorldHint\":true");
}

static void check_property(const char *name, struct json_object *property)
{
    assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz_"), strlen(name));
    assert_true(json_object_is_type(json_object_object_get(property, "type"), json_type_string));
    assert_in_range(strlen(text_in(property, "description")), 5, 200);
    json_object_object_foreach(property, key, value)
    {
        assert_non_null(value);
        assert_non_null(strstr(" type description enum minimum maximum default ", key));
    }
}

static void test_schemas(void **state)
{
    struct json_object *tools = tools_with(true);

    (void)state;
    for (size_t i = 0; i < json_object_array_length(tools); i++) {
        struct json_object *schema = json_object_object_get(json_object_array_get_idx(tools, i), "inputSchema");
        struct json_object *required = json_object_object_get(schema, "required");
        struct json_object *properties = json_object_object_get(schema, "properties");

        assert_string_equal(text_in(schema, "type"), "object");
        assert_false(flag_in(schema, "additionalProperties"));
        json_object_object_foreach(schema, key, value)
        {
            (void)value;
            assert_non_null(strstr(" type properties required additionalProperties ", key));
        }
        json_object_object_foreach(properties, name, property) check_property(name, property);
        for (size_t j = 0; required && j < json_object_array_length(required); j++)
            assert_true(json_object_object_get_ex(
                properties, json_object_get_string(json_object_array_get_idx(required, j)), NULL));
    }
    json_object_put(tools);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_no_object, clean),
        cmocka_unit_test_teardown(test_many_values, clean),
        cmocka_unit_test_teardown(test_null_is_absent, clean),
        cmocka_unit_test_teardown(test_numbers, clean),
        cmocka_unit_test_teardown(test_booleans, clean),
        cmocka_unit_test_teardown(test_texts, clean),
        cmocka_unit_test_teardown(test_aliases, clean),
        cmocka_unit_test_teardown(test_unknown, clean),
        cmocka_unit_test_teardown(test_names_of_other_tools, clean),
        cmocka_unit_test_teardown(test_timeout, clean),
        cmocka_unit_test_teardown(test_choices, clean),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_schemas),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
