/* JSON-RPC messages as the MCP server takes them apart: grammar, kinds, ids that keep their spelling. */
#include "server/answers.h"
#include "server/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct message parse(const char *text)
{
    struct message message;

    message_parse(text, strlen(text), &message);
    return message;
}

static void expect_piece(struct piece piece, const char *wanted)
{
    if (!wanted) {
        assert_null(piece.text);
        return;
    }
    assert_non_null(piece.text);
    assert_int_equal(piece.length, strlen(wanted));
    assert_memory_equal(piece.text, wanted, piece.length);
}

static void expect_invalid(const char *text, enum rpc_code code, const char *id)
{
    struct message message = parse(text);

    assert_int_equal(message.type, MESSAGE_INVALID);
    assert_int_equal(message.error.code, code);
    assert_non_null(message.error.text);
    expect_piece(message.id, id);
}

static void expect_type(const char *text, enum message_type type, const char *id)
{
    struct message message = parse(text);

    assert_int_equal(message.type, type);
    expect_piece(message.id, id);
}

static void test_kinds(void **state)
{
    (void)state;
    expect_type("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", MESSAGE_REQUEST, "1");
    expect_type(" {\"method\" : \"ping\" , \"id\" : \"a\" , \"jsonrpc\":\"2.0\"} ", MESSAGE_REQUEST, "\"a\"");
    expect_type("{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", MESSAGE_NOTIFICATION, NULL);
    expect_type("{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":3}", MESSAGE_NOTIFICATION, NULL);
    expect_type("{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"_meta\":3}}", MESSAGE_NOTIFICATION, NULL);
    expect_type("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", MESSAGE_RESPONSE, "1");
    expect_type("{\"jsonrpc\":\"2.0\",\"error\":{}}", MESSAGE_RESPONSE, NULL);
    expect_type("[{\"jsonrpc\":\"2.0\"}]", MESSAGE_BATCH, NULL);
}

static void test_ids_keep_their_spelling(void **state)
{
    static const char *const ids[] = {
        "9007199254740993",   "-0",          "123456789012345678901234567890", "\"\"", "\"\\u0061\\/\"",
        "\"\\ud83d\\ude00\"", "\"\xc3\xa4\""};
    char text[200];

    (void)state;
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"m\"}", ids[i]);
        expect_type(text, MESSAGE_REQUEST, ids[i]);
    }
}

static void test_bad_ids(void **state)
{
    static const char *const ids[] = {"null", "1.0", "1e3", "{}", "[1]", "true", "\"\\ud800\""};
    char text[200];

    (void)state;
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"m\"}", ids[i]);
        expect_invalid(text, RPC_INVALID_REQUEST, NULL);
    }
}

static void test_invalid_requests(void **state)
{
    (void)state;
    expect_invalid("1", RPC_INVALID_REQUEST, NULL);
    expect_invalid("\"x\"", RPC_INVALID_REQUEST, NULL);
    expect_invalid("{}", RPC_INVALID_REQUEST, NULL);
    expect_invalid("{\"id\":7,\"method\":\"ping\"}", RPC_INVALID_REQUEST, "7");
    expect_invalid("{\"jsonrpc\":\"1.0\",\"id\":7,\"method\":\"ping\"}", RPC_INVALID_REQUEST, "7");
    expect_invalid("{\"jsonrpc\":2.0,\"id\":7,\"method\":\"ping\"}", RPC_INVALID_REQUEST, "7");
    expect_invalid("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":5}", RPC_INVALID_REQUEST, "7");
    expect_invalid("{\"jsonrpc\":\"2.0\",\"id\":7}", RPC_INVALID_REQUEST, "7");
    expect_invalid("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"params\":[]}", RPC_INVALID_PARAMS, "7");
    expect_invalid("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"params\":null}", RPC_INVALID_PARAMS, "7");
    expect_invalid("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"params\":{\"_meta\":1}}", RPC_INVALID_PARAMS, "7");
}

static void test_grammar(void **state)
{
    static const char *const bad[] = {"",
                                      "{",
                                      "}",
                                      "{]",
                                      "[1,]",
                                      "{\"a\":1,}",
                                      "{\"a\"}",
                                      "{a:1}",
                                      "'a'",
                                      "\"\\x\"",
                                      "\"\\u12g4\"",
                                      "\"a",
                                      "\"\t\"",
                                      "01",
                                      "1.",
                                      ".5",
                                      "+1",
                                      "1e",
                                      "nul",
                                      "truex",
                                      "1 2",
                                      "{} x",
                                      "NaN",
                                      "// a\n1",
                                      "\xef\xbb\xbf{}",
                                      "\"\xff\"",
                                      "\"\xed\xa0\x80\"",
                                      "\"\xc0\x80\""};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        expect_invalid(bad[i], RPC_PARSE_ERROR, NULL);
}

static void test_nul_is_no_json(void **state)
{
    static const char inside[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\0ng\"}";
    static const char behind[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\0";
    struct message message;

    (void)state;
    message_parse(inside, sizeof(inside) - 1, &message);
    assert_int_equal(message.error.code, RPC_PARSE_ERROR);
    message_parse(behind, sizeof(behind) - 1, &message);
    assert_int_equal(message.error.code, RPC_PARSE_ERROR);
}

/* DEPTH brackets around nothing. */
static enum rpc_code nested(size_t depth)
{
    char *text = malloc(2 * depth);
    struct message message;

    assert_non_null(text);
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    message_parse(text, 2 * depth, &message);
    free(text);
    return message.error.code;
}

static void test_depth(void **state)
{
    (void)state;
    assert_int_equal(nested(SCAN_DEEPEST), RPC_OK);
    assert_int_equal(nested(SCAN_DEEPEST + 1), RPC_PARSE_ERROR);
    assert_int_equal(nested(4 * 1024 * 1024), RPC_PARSE_ERROR);
}

static void test_members(void **state)
{
    struct message message =
        parse("{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"m\",\"params\":{ \"a\" : [ 1 , {\"b\":2} ,\"]\"] , "
              "\"\\u0062\":\"x\\n\\u00e4\\ud83d\\ude00\\ud800\" , \"c\":{} }}");
    struct piece element;
    size_t position = 0;
    size_t length;

    (void)state;
    expect_piece(message.id, "2"); /* the last one wins */
    expect_piece(piece_member(message.params, "c"), "{}");
    expect_piece(piece_member(message.params, "d"), NULL);
    expect_piece(piece_member(piece_member(message.params, "c"), "x"), NULL);
    struct piece array = piece_member(message.params, "a");

    assert_true(piece_next(array, &position, &element));
    expect_piece(element, "1");
    assert_true(piece_next(array, &position, &element));
    expect_piece(element, "{\"b\":2}");
    assert_true(piece_next(array, &position, &element));
    expect_piece(element, "\"]\"");
    assert_false(piece_next(array, &position, &element));
    char *text = piece_string(piece_member(message.params, "b"), &length);

    assert_string_equal(text, "x\n\xc3\xa4\xf0\x9f\x98\x80\xef\xbf\xbd");
    assert_int_equal(length, strlen(text));
    free(text);
}

static void test_same_id(void **state)
{
    static const struct {
        const char *a;
        const char *b;
        bool same;
    } cases[] = {{"1", "1", true},           {"1", "\"1\"", false},          {"\"a\"", "\"a\"", true},
                 {"1", "2", false},          {"\"a\"", "\"\\u0061\"", true}, {"\"a\"", "\"ab\"", false},
                 {"\"\\n\"", "\"n\"", false}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(message_same_id((struct piece){cases[i].a, strlen(cases[i].a)},
                                         (struct piece){cases[i].b, strlen(cases[i].b)}),
                         cases[i].same);
    assert_false(message_same_id((struct piece){0}, (struct piece){0}));
}

static void test_eras(void **state)
{
    (void)state;
    assert_false(parse("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}").modern);
    assert_false(parse("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{}}}").modern);
    assert_true(parse("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
                      "\"io.modelcontextprotocol/protocolVersion\":7}}}")
                    .modern);
    assert_true(parse("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}").modern);
}

/* Takes TEXT over. */
static void expect_text(char *text, const char *wanted)
{
    assert_non_null(text);
    assert_string_equal(text, wanted);
    free(text);
}

static void test_answers(void **state)
{
    (void)state;
    expect_text(answer_error(NULL, RPC_PARSE_ERROR, "a \"b\"", NULL),
                "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"a \\\"b\\\"\"}}");
    expect_text(
        answer_error("\"x\"", RPC_INVALID_PARAMS, "\xff", "{}"),
        "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":-32602,\"message\":\"\xef\xbf\xbd\",\"data\":{}}}");
    expect_text(answer_result("1", "", NULL, NULL), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    expect_text(answer_result("1", "\"a\":2", "{}", NULL),
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\",\"a\":2,\"_meta\":{"
                "\"io.modelcontextprotocol/serverInfo\":{}}}}");
    expect_text(answer_tool("1", "[]", "{ }", false, NULL),
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[],\"isError\":false}}");
    expect_text(answer_tool("1", "[]", "{\"k\":{\"l\":1}}", true, "{\"n\":1}"),
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\",\"content\":[],\"isError\":true,"
                "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"n\":1},\"k\":{\"l\":1}}}}");
    expect_text(answer_tool("1", "[{\"t\":\"}\"},{\"t\":1}]", "{\"k\":{\"l\":1}}", true, NULL),
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"t\":\"}\"},{\"t\":1,"
                "\"_meta\":{\"k\":{\"l\":1}}}],\"isError\":true}}");
    expect_text(answer_tool("1", "[{\"t\":1}]", "{\"k\":1}", false, "{\"n\":1}"),
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\","
                "\"content\":[{\"t\":1,\"_meta\":{\"k\":1}}],\"isError\":false,"
                "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"n\":1}}}}");
    expect_text(answer_tool("1", "[\"a\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xa6\"]", NULL, false, NULL),
                "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[\"a\\u2028\\u2029\xe2\x80\xa6\"],"
                "\"isError\":false}}");
    expect_text(notice_progress("\"t\"", 1005, "x", 1),
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":\"t\","
                "\"progress\":1.005,\"message\":\"x\"}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),   cmocka_unit_test(test_ids_keep_their_spelling),
        cmocka_unit_test(test_bad_ids), cmocka_unit_test(test_invalid_requests),
        cmocka_unit_test(test_grammar), cmocka_unit_test(test_nul_is_no_json),
        cmocka_unit_test(test_depth),   cmocka_unit_test(test_members),
        cmocka_unit_test(test_same_id), cmocka_unit_test(test_eras),
        cmocka_unit_test(test_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
