/* TOML 1.0 becomes a json-c tree; hostile documents become a problem with line and column. */
#include "config/toml_tree.h"

#include "support.h"

#include <math.h>

/* The tree of TEXT as JSON; the lines in *LINES if it is not NULL. */
static char *json_of(const char *text, struct json_object **lines)
{
    struct toml_problem problem;
    struct json_object *ignored;
    struct json_object *tree = toml_parse(text, strlen(text), &ignored, &problem);

    if (!tree)
        return text_format("%d:%d: %s", problem.line, problem.column, problem.message);
    char *json = strdup(json_object_to_json_string_ext(tree, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));

    json_object_put(tree);
    if (lines)
        *lines = ignored;
    else
        json_object_put(ignored);
    return json;
}

static void test_values(void **state)
{
    static const struct {
        const char *toml;
        const char *json;
    } rows[] = {
        {"", "{}"},
        {"# only a comment\n", "{}"},
        {"\xef\xbb\xbf"
         "a = 1",
         "{\"a\":1}"},
        {"a = 'x'\r\nb = 2\r\n", "{\"a\":\"x\",\"b\":2}"},
        {"a = \"q\\\"\\u00e9\\n\"", "{\"a\":\"q\\\"é\\n\"}"},
        {"a = '''x\n''y'''", "{\"a\":\"x\\n''y\"}"},
        {"a = \"\"\"\"q\"\"\"\"", "{\"a\":\"\\\"q\\\"\"}"},
        {"a = \"\"\"x\\\n   y\"\"\"", "{\"a\":\"xy\"}"},
        {"a = \"\"\"x\\\n \xc2\xa0\xe3\x80\x80y\"\"\"", "{\"a\":\"x\xc2\xa0\xe3\x80\x80y\"}"},
        {"a = 0x1_F", "{\"a\":31}"},
        {"a = -9223372036854775808", "{\"a\":-9223372036854775808}"},
        {"a = 9223372036854775807", "{\"a\":9223372036854775807}"},
        {"a = true", "{\"a\":true}"},
        {"a = 1.5e1", "{\"a\":15.0}"},
        {"a = 1979-05-27", "{\"a\":\"1979-05-27\"}"},
        {"a = 07:32:00.250", "{\"a\":\"07:32:00.25\"}"},
        {"a = 1979-05-27T07:32:00", "{\"a\":\"1979-05-27T07:32:00\"}"},
        {"a = 1979-05-27 07:32:00Z", "{\"a\":\"1979-05-27T07:32:00Z\"}"},
        {"a = 1979-05-27T00:32:00.999999-07:30", "{\"a\":\"1979-05-27T00:32:00.999999-07:30\"}"},
        {"a = [1, \"b\", [true]]", "{\"a\":[1,\"b\",[true]]}"},
        {"[a.b]\nc = {d.e = 1}", "{\"a\":{\"b\":{\"c\":{\"d\":{\"e\":1}}}}}"},
        {"[[a]]\nb = 1\n[[a]]\n", "{\"a\":[{\"b\":1},{}]}"},
        {"\"a b\".'c.d' = 1", "{\"a b\":{\"c.d\":1}}"},
        {"\"\" = 1", "{\"\":1}"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        AUTO_FREE char *json = json_of(rows[i].toml, NULL);

        assert_string_equal(json, rows[i].json);
    }
}

static void test_special_floats(void **state)
{
    struct toml_problem problem;
    struct json_object *lines;
    const char text[] = "a = nan\nb = -inf\n";
    struct json_object *tree = toml_parse(text, strlen(text), &lines, &problem);

    (void)state;
    assert_non_null(tree);
    assert_true(isnan(json_object_get_double(json_object_object_get(tree, "a"))));
    assert_true(isinf(json_object_get_double(json_object_object_get(tree, "b"))));
    json_object_put(tree);
    json_object_put(lines);
}

static void test_refused(void **state)
{
    static const struct {
        const char *toml;
        const char *problem;
    } rows[] = {
        {"a = 1\nb = \n", "2:"},
        {"a", "1:"},
        {"[x\n", "1:"},
        {"\n[=x]\n", "2:2: "},
        {"[\xef\xbb\xaf]", "1:2: "}, /* U+FEEF */
        {"[[{a=1}]]", "1:3: "},
        {"a = 1\na = 2\n", "2:"},
        {"a = 9223372036854775808", "1:"},
        {"a = 01", "1:"},
        {"a = 1e400", "1:10: Error while parsing floating-point: '1e400' is not representable in 64 bits"},
        {"a = \"\xff\"", "1:"},
        {"a = \"unclosed\nb = 1", "1:"},
        {"\n\n\"x\\u0000y\" = 1", "a key holds a NUL"},
        {"a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q = 1", "1:32: a key has too many parts"},
        {"\n[ a . b.\"c.#\".d.e.f.g.h.i.j.k.l.m.n.o.'p'.q ]", "2:"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        AUTO_FREE char *problem = json_of(rows[i].toml, NULL);

        assert_contains(problem, rows[i].problem);
    }
}

/* Dots in strings, numbers and comments are not parts of a key. */
static void test_harmless_dots(void **state)
{
    static const char *const rows[] = {
        "a = '....................'",
        "a = \"..........\\\"..........\"",
        "a = '''\n...\"..........'..........'''",
        "a = \"\"\"......\\\"\"\"..........\"\"\"\"\"",
        "# ....................\na = 1",
        "a = [1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5]",
        "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p = 1",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        AUTO_FREE char *json = json_of(rows[i], NULL);

        assert_contains(json, "{\"a\":");
    }
}

/* Documents that would overflow the stack of a careless reader: each half a megabyte of one thing. */
static void test_bombs(void **state)
{
    static const char *const units[] = {"[", "a.", "{a=", "[[a.", "\"a\".", "a={", "'", "\"\"\"", "[a]\n", "a=[{a="};
    enum { SIZE = 512 * 1024 };

    (void)state;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        AUTO_FREE char *text = malloc(SIZE + 16);
        size_t length = 0;

        strcpy(text, "x = ");
        for (length = i % 2 ? 0 : 4; length < SIZE; length += strlen(units[i]))
            memcpy(text + length, units[i], strlen(units[i]));
        text[length] = '\0';
        AUTO_FREE char *problem = json_of(text, NULL);

        assert_false(problem[0] == '{');
    }
}

static int line_at(struct json_object *lines, const char *table, const char *key)
{
    struct json_object *found = NULL;

    return json_object_object_get_ex(lines, table, &lines) && json_object_object_get_ex(lines, key, &found)
               ? json_object_get_int(found)
               : -1;
}

static void test_lines(void **state)
{
    struct json_object *lines = NULL;
    AUTO_FREE char *json =
        json_of("\n[t]\na = 1\n\nb = [\n 1,\n 2]\n\n[t.u]\nc = '''\nx'''\n[[v]]\n[[v]]\n\"\" = 3\n", &lines);

    (void)state;
    assert_contains(json, "\"c\":\"x\"");
    assert_int_equal(line_at(lines, "t", ""), 2);
    assert_int_equal(line_at(lines, "t", "a"), 3);
    assert_int_equal(line_at(lines, "t", "b"), 5);
    json_object_put(lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),        cmocka_unit_test(test_special_floats), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_harmless_dots), cmocka_unit_test(test_bombs),          cmocka_unit_test(test_lines),
    };

    return cmocka_run_group_tests_name("toml_tree", tests, NULL, NULL);
}
