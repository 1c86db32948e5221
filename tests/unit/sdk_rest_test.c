/* Requests with JSON both ways: what is sent, what answers mean, and who owns what. */
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/rest.h>

#include "failing_allocator.h"
#include "sdk_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct server server;
static struct http_client *client;
static struct test_call call;
static int status;
static const char *text;
static char sent[256];

static void handle(struct peer *peer)
{
    peer_body(peer, sent, sizeof(sent) - 1, NULL);
    peer_answer(peer, status, "", text);
}

static int set_up(void **state)
{
    (void)state;
    test_call_open(&call, 120000);
    server_open(&server, handle, NULL);
    const struct http_options options = {.service = "Acme", .base_url = server.url, .attempts = 1};

    return http_client_open(&call.call, &options, &client) == SANDLOT_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    http_client_close(client);
    server_close(&server);
    test_call_close(&call);
    return 0;
}

static struct rest_request a_request(struct json_builder *body)
{
    *body = (struct json_builder){0};
    json_set_string(body, "name", "box");
    return (struct rest_request){.method = "POST", .target = http_target("/boxes/{}", "a/b"), .body = body};
}

static void goes_well(void **state)
{
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct json_builder body;
    const struct rest_request request = a_request(&body);
    int64_t number = 0;

    (void)state;
    status = 201;
    text = "{\"n\":7}";
    assert_int_equal(rest_send(&call.call, client, &request, &response, &answer), SANDLOT_OK);
    assert_int_equal(response.status, 201);
    assert_string_equal(sent, "{\"name\":\"box\"}");
    assert_true(json_read_integer(answer, "n", &number, NULL));
    assert_int_equal(number, 7);
    assert_null(body.root);
}

/* What is not asked for is not looked at. */
static void nobody_wants_the_answer(void **state)
{
    const struct rest_request request = {.method = "PUT", .target = http_target("/x"), .text = "[1]"};

    (void)state;
    status = 200;
    text = "no JSON";
    assert_int_equal(rest_send(&call.call, client, &request, NULL, NULL), SANDLOT_OK);
    assert_string_equal(sent, "[1]");
}

static void answers_mean_something(void **state)
{
    static const int accepted[] = {409, 0};
    static const struct {
        int status;
        const char *text;
        bool answered;
        enum sandlot_status expected;
        const char *said;
    } cases[] = {{200, "", false, SANDLOT_OK, ""},
                 {200, "", true, SANDLOT_INTERNAL, "Acme's answer"},
                 {200, "{", false, SANDLOT_INTERNAL, "Acme's answer"},
                 {409, "{}", true, SANDLOT_OK, ""},
                 {404, "{\"message\":\"no such box\"}", false, SANDLOT_NOT_FOUND, "no such box"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        AUTO_RESPONSE struct http_response response = {0};
        struct json_object *answer = (struct json_object *)&call; /* is not left as it was */
        const struct rest_request request = {
            .method = "GET", .target = http_target("/x"), .accepted = accepted, .answered = cases[i].answered};

        call.message[0] = '\0';
        call.status = SANDLOT_OK;
        status = cases[i].status;
        text = cases[i].text;
        assert_int_equal(rest_send(&call.call, client, &request, &response, &answer), cases[i].expected);
        assert_int_equal(response.status, cases[i].status);
        assert_null(answer);
        assert_non_null(strstr(call.message, cases[i].said));
    }
}

static void a_body_that_cannot_be_written(void **state)
{
    struct json_object *answer = NULL;
    struct json_builder body;
    const struct rest_request request = a_request(&body);

    (void)state;
    json_set_string(&body, "name", "\xff");
    assert_int_equal(rest_send(&call.call, client, &request, NULL, &answer), SANDLOT_INVALID_ARGUMENT);
    assert_non_null(strstr(call.message, "request to Acme cannot be written"));
    assert_int_equal(atomic_load(&server.requests), 0);
}

static void what_is_dropped_is_released(void **state)
{
    struct json_builder body;
    long before = atomic_load(&allocated);
    const struct rest_request request = a_request(&body);

    (void)state;
    assert_int_equal(rest_drop(&request, SANDLOT_AUTH), SANDLOT_AUTH);
    assert_int_equal(atomic_load(&allocated), before);
}

/* Memory that runs out before anything is sent is told, and nothing is sent. */
static void without_memory(void **state)
{
    (void)state;
    if (!ALLOCATOR_REPLACED)
        skip();
    struct json_builder body;
    const struct rest_request request = a_request(&body);

    atomic_store(&countdown, 0);
    enum sandlot_status failed = rest_send(&call.call, client, &request, NULL, NULL);

    atomic_store(&countdown, -1);
    assert_int_equal(failed, SANDLOT_INVALID_ARGUMENT);
    assert_non_null(strstr(call.message, "memory is short"));
    assert_int_equal(atomic_load(&server.requests), 0);
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static char heard[128];

static enum sandlot_status add(struct sandlot_call *own, const struct sandlot_listing *listing,
                               struct json_object *item)
{
    (void)own;
    assert_non_null(listing);
    strcat(heard, json_object_get_string(item));
    return strcmp(json_object_get_string(item), "bad") == 0 ? SANDLOT_INTERNAL : SANDLOT_OK;
}

static void next(const struct sandlot_listing *listing, const char *cursor)
{
    (void)listing;
    strcat(heard, "->");
    strcat(heard, cursor);
}

static enum sandlot_status list(const char *items, const char *cursor, const char *expected)
{
    const struct sandlot_listing listing = {.size = sizeof(listing), .next = next};
    AUTO_DOCUMENT struct json_object *document = items ? json_read_document(items, strlen(items), NULL) : NULL;

    heard[0] = '\0';
    enum sandlot_status result = rest_list(&call.call, &listing, document, cursor, add);

    assert_string_equal(heard, expected);
    return result;
}

static void pages(void **state)
{
    (void)state;
    assert_int_equal(list("[\"a\",\"b\"]", "c1", "ab->c1"), SANDLOT_OK);
    assert_int_equal(list("[\"a\"]", "", "a"), SANDLOT_OK);
    assert_int_equal(list("[]", NULL, ""), SANDLOT_OK);
    assert_int_equal(list(NULL, "c2", "->c2"), SANDLOT_OK);
    assert_int_equal(list("[\"a\",\"bad\",\"b\"]", "c3", "abad"), SANDLOT_INTERNAL);
}

static enum sandlot_status keep_entry(const struct sandlot_listing *listing, const struct sandlot_listed *listed)
{
    (void)listing;
    snprintf(heard + strlen(heard), sizeof(heard) - strlen(heard), "%s,%s,%s,%lld;", listed->id, listed->state,
             listed->run_label ? listed->run_label : "-", (long long)listed->created_at_ms);
    return SANDLOT_OK;
}

static bool shout(struct json_object *item, struct sandlot_listed *listed)
{
    if (json_says(item, "state", "up"))
        listed->state = "UP";
    return !json_says(item, "id", "hidden");
}

static void check_entries(const struct rest_entry *entry, const char *answer, const char *cursor,
                          enum sandlot_status expected, const char *told)
{
    const struct sandlot_listing listing = {.size = sizeof(listing), .add = keep_entry, .next = next};
    AUTO_DOCUMENT struct json_object *document = answer ? json_read_document(answer, strlen(answer), NULL) : NULL;

    *heard = '\0';
    call.message[0] = '\0';
    call.status = SANDLOT_OK;
    assert_int_equal(rest_list_entries(&call.call, &listing, document, cursor, entry), expected);
    assert_string_equal(heard, told);
}

static void entries(void **state)
{
    static const struct rest_entry entry = {
        .what = "Acme's list", .id = "id", .created_at = "at", .run_label = "labels.run", .state = "state"};

    (void)state;
    check_entries(&entry,
                  "[{\"id\":\"a\",\"at\":\"1970-01-01T00:00:01Z\",\"labels\":{\"run\":\"r\"},\"state\":\"up\"},"
                  "{\"id\":\"b\",\"at\":2000},{\"id\":\"c\",\"state\":null}]",
                  "n", SANDLOT_OK, "a,up,r,1000;b,unknown,-,2000;c,unknown,-,0;->n");
    check_entries(&entry, "[{\"id\":\"a\"},{\"state\":\"up\"}]", "n", SANDLOT_INTERNAL, "a,unknown,-,0;");
    assert_non_null(strstr(call.message, "Acme's list has no `id`"));
    check_entries(&entry, "[{\"id\":\"a\",\"at\":true}]", NULL, SANDLOT_INTERNAL, "");
    check_entries(&entry, NULL, NULL, SANDLOT_OK, "");
}

/* Where a page stands in its answer, what of it is told, and how. */
static void whole_answers(void **state)
{
    static const struct rest_entry entry = {.what = "Acme's list",
                                            .items = "data.boxes",
                                            .next = "data.next",
                                            .id = "id",
                                            .state = "state",
                                            .usual_state = "fine",
                                            .left_out = "gone",
                                            .adapt = shout};
    static const char page[] =
        "{\"data\":{\"boxes\":[{\"id\":\"a\",\"state\":\"up\"},{\"id\":\"b\",\"state\":\"gone\"},"
        "{\"id\":\"hidden\"},{\"id\":\"c\"}],\"next\":\"n\"}}";

    (void)state;
    check_entries(&entry, page, NULL, SANDLOT_OK, "a,UP,-,0;c,fine,-,0;->n");
    check_entries(&entry, page, "m", SANDLOT_OK, "a,UP,-,0;c,fine,-,0;->m");
    check_entries(&entry, page, "", SANDLOT_OK, "a,UP,-,0;c,fine,-,0;");
    check_entries(&entry, "{\"data\":{}}", NULL, SANDLOT_INTERNAL, "");
    assert_non_null(strstr(call.message, "Acme's list has no `data.boxes`"));
    check_entries(&entry, NULL, NULL, SANDLOT_INTERNAL, "");
    check_entries(&entry, "{\"data\":{\"boxes\":[],\"next\":7}}", NULL, SANDLOT_INTERNAL, "");
    assert_non_null(strstr(call.message, "data.next"));
}

/* A refusal that was accepted says of itself which request it answers. */
static void a_refusal_that_is_told_later(void **state)
{
    static const int accepted[] = {409, 0};
    AUTO_RESPONSE struct http_response response = {0};
    struct json_builder body;
    struct rest_request request = a_request(&body);

    (void)state;
    request.accepted = accepted;
    status = 409;
    text = "{\"message\":\"busy\"}";
    assert_int_equal(rest_send(&call.call, client, &request, &response, NULL), SANDLOT_OK);
    assert_int_equal(http_response_fail(&call.call, client, NULL, &response), SANDLOT_UNAVAILABLE);
    assert_non_null(strstr(call.message, "Acme answered POST "));
    assert_non_null(strstr(call.message, "with status 409: \"busy\"; try again later"));
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {EACH(goes_well),
                                       EACH(nobody_wants_the_answer),
                                       EACH(answers_mean_something),
                                       EACH(a_body_that_cannot_be_written),
                                       EACH(what_is_dropped_is_released),
                                       EACH(without_memory),
                                       EACH(pages),
                                       EACH(entries),
                                       EACH(whole_answers),
                                       EACH(a_refusal_that_is_told_later)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
