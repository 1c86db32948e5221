/* The host's side of a call: what a provider may say, and what becomes of it. */
#include "loader/host.h"

#include "base/log.h"
#include "base/redact.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above first */
#include <cmocka.h>

#undef fail /* cmocka's; here it is a service of the host */

static struct {
    enum sandlot_message_level level;
    char text[256];
    int count;
} logged;

static void receive(void *context, enum sandlot_message_level level, const char *text)
{
    (void)context;
    logged.level = level;
    snprintf(logged.text, sizeof(logged.text), "%s", text);
    logged.count++;
}

static int setup(void **state)
{
    (void)state;
    memset(&logged, 0, sizeof(logged));
    log_set_receiver(receive, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    log_set_receiver(NULL, NULL);
    redact_clear();
    return 0;
}

static void expect_error(const struct host_call *call, enum sandlot_status status, bool created, enum sandlot_code code,
                         const char *message)
{
    struct sandlot_error error = {0};

    assert_int_equal(host_call_error(call, status, "cannot create a sandbox", created, &error), -1);
    assert_int_equal(error.code, code);
    assert_string_equal(error.message, message);
    sandlot_error_clear(&error);
}

static void table_describes_this_abi(void **state)
{
    (void)state;
    struct host_call call;

    host_call_init(&call, "acme", NULL, 1234, 7);
    assert_int_equal(call.call.size, sizeof(struct sandlot_call));
    assert_int_equal(call.call.deadline_ms, 1234);
    assert_int_equal(call.call.cancel_fd, 7);
    assert_int_equal(call.call.host->size, sizeof(struct sandlot_host));
    assert_int_equal(call.call.host->abi_major, SANDLOT_ABI_MAJOR);
    assert_int_equal(call.call.host->abi_minor, SANDLOT_ABI_MINOR);
    assert_true(SANDLOT_HAS(call.call.host, created));
    host_call_clear(&call);
}

static void first_message_counts(void **state)
{
    (void)state;
    struct host_call call;

    host_call_init(&call, "acme", NULL, 0, -1);
    assert_int_equal(sandlot_fail(&call.call, SANDLOT_AUTH, "the key %s is expired; renew it", "K1"), SANDLOT_AUTH);
    assert_int_equal(sandlot_fail(&call.call, SANDLOT_INTERNAL, "something else"), SANDLOT_INTERNAL);
    expect_error(&call, SANDLOT_AUTH, false, SANDLOT_CODE_AUTH,
                 "acme: cannot create a sandbox: the key K1 is expired; renew it");
    host_call_clear(&call);
}

/* At every length: no word is cut in two, and the cut is seen. */
static void long_message_is_cut_between_words(void **state)
{
    (void)state;
    char text[1200];

    for (int before = 1000; before < 1030; before++) {
        struct host_call call;
        struct sandlot_error error = {0};

        host_call_init(&call, "acme", NULL, 0, -1);
        snprintf(text, sizeof(text), "%0*d s3cret s3cret s3cret s3cret", before, 0);
        sandlot_fail(&call.call, SANDLOT_INTERNAL, "%s", text);
        host_call_error(&call, SANDLOT_INTERNAL, "what", false, &error);
        const char *last = strrchr(error.message, ' ');

        assert_true(last && strcmp(last, " ...") == 0);
        for (const char *at = error.message; (at = strstr(at, "s3")); at++)
            assert_true(strncmp(at, "s3cret ", 7) == 0);
        sandlot_error_clear(&error);
        host_call_clear(&call);
    }
}

static void success_is_no_error(void **state)
{
    (void)state;
    struct host_call call;
    struct sandlot_error error = {0};

    host_call_init(&call, "acme", NULL, 0, -1);
    sandlot_fail(&call.call, SANDLOT_INTERNAL, "said, but mended");
    assert_int_equal(host_call_error(&call, SANDLOT_OK, "what", false, &error), 0);
    assert_int_equal(error.code, SANDLOT_CODE_OK);
    host_call_clear(&call);
}

static void bad_argument_is_usage_only_before_creation(void **state)
{
    (void)state;
    struct host_call call;

    host_call_init(&call, "acme", NULL, 0, -1);
    sandlot_fail(&call.call, SANDLOT_INVALID_ARGUMENT, "no such region; choose another");
    expect_error(&call, SANDLOT_INVALID_ARGUMENT, false, SANDLOT_CODE_USAGE,
                 "acme: cannot create a sandbox: no such region; choose another");
    expect_error(&call, SANDLOT_INVALID_ARGUMENT, true, SANDLOT_CODE_PROVIDER_ERROR,
                 "acme: cannot create a sandbox: no such region; choose another");
    host_call_clear(&call);
}

static void silent_provider_gets_a_sentence(void **state)
{
    (void)state;
    struct host_call call;

    host_call_init(&call, "acme", NULL, 0, -1);
    call.call.host->fail(&call.call, SANDLOT_EXHAUSTED, NULL);
    call.call.host->fail(&call.call, SANDLOT_EXHAUSTED, " \n");
    /* Every status, and one that the ABI does not know, has a sentence of more than a few words. */
    for (int status = SANDLOT_NOT_FOUND; status <= SANDLOT_INTERNAL + 1; status++) {
        struct sandlot_error error = {0};

        assert_int_equal(host_call_error(&call, (enum sandlot_status)status, "it failed", false, &error), -1);
        assert_int_not_equal(error.code, SANDLOT_CODE_OK);
        assert_true(strlen(error.message) > strlen("acme: it failed: ") + 30);
        sandlot_error_clear(&error);
    }
    host_call_clear(&call);
}

static void message_becomes_one_proper_line(void **state)
{
    (void)state;
    struct host_call call;
    char *endless = malloc(100000);

    assert_non_null(endless);
    host_call_init(&call, "acme", NULL, 0, -1);
    call.call.host->fail(&call.call, SANDLOT_INTERNAL, "bad byte \xff, line\nbreak\r\n");
    expect_error(&call, SANDLOT_INTERNAL, false, SANDLOT_CODE_PROVIDER_ERROR,
                 "acme: cannot create a sandbox: bad byte \xef\xbf\xbd, line\\nbreak");
    host_call_clear(&call);

    memset(endless, 'x', 99999);
    endless[99999] = '\0';
    call.call.host->fail(&call.call, SANDLOT_INTERNAL, endless);
    assert_int_equal(strlen(call.message), 4096);
    host_call_clear(&call);
    free(endless);
}

static void log_carries_the_name_and_hides_secrets(void **state)
{
    (void)state;
    struct host_call call;

    redact_add("hunter22");
    host_call_init(&call, "acme", NULL, 0, -1);
    call.call.host->log(&call.call, SANDLOT_LOG_INFO, "logging in with hunter22\n");
    assert_string_equal(logged.text, "acme: logging in with ***");
    assert_int_equal(logged.level, SANDLOT_MESSAGE_INFO);
    call.call.host->log(&call.call, (enum sandlot_log_level)99, "odd level");
    assert_int_equal(logged.level, SANDLOT_MESSAGE_DEBUG);
    call.call.host->log(&call.call, SANDLOT_LOG_ERROR, NULL);
    assert_int_equal(logged.count, 2);
    /* a secret across the bound of a message is not cut in two */
    char *endless = calloc(1, 4096 + 8);

    memset(endless, 'x', 4092);
    strcat(endless, "hunter22");
    call.call.host->fail(&call.call, SANDLOT_INTERNAL, endless);
    assert_null(strstr(call.message, "hunt"));
    free(endless);
    host_call_clear(&call);
}

static void environment_is_looked_up_with_prefix(void **state)
{
    (void)state;
    struct host_call call;

    setenv("HOST_TEST_PLAIN", "plain", 1);
    setenv("SANDLOT_HOST_TEST_PLAIN", "prefixed", 1);
    struct environment *environment = environment_load(true);

    host_call_init(&call, "acme", environment, 0, -1);
    assert_string_equal(call.call.host->environment(&call.call, "HOST_TEST_PLAIN"), "prefixed");
    assert_null(call.call.host->environment(&call.call, "HOST_TEST_ABSENT"));
    assert_null(call.call.host->environment(&call.call, ""));
    assert_null(call.call.host->environment(&call.call, NULL));
    call.environment = NULL;
    assert_null(call.call.host->environment(&call.call, "HOST_TEST_PLAIN"));
    host_call_clear(&call);
    environment_free(environment);
    unsetenv("HOST_TEST_PLAIN");
    unsetenv("SANDLOT_HOST_TEST_PLAIN");
}

struct heard {
    char id[32];
    char working_dir[32];
    char what[32];
    uint64_t done;
    int created;
};

static void hear_created(void *context, const char *id, const char *working_dir)
{
    struct heard *heard = context;

    snprintf(heard->id, sizeof(heard->id), "%s", id);
    snprintf(heard->working_dir, sizeof(heard->working_dir), "%s", working_dir ? working_dir : "none");
    heard->created++;
}

static void hear_progress(void *context, const char *what, uint64_t done, uint64_t total)
{
    struct heard *heard = context;

    snprintf(heard->what, sizeof(heard->what), "%s", what);
    heard->done = done * 100 / total;
}

static void created_and_progress_are_passed_on(void **state)
{
    (void)state;
    struct host_call call;
    struct heard heard = {0};

    host_call_init(&call, "acme", NULL, 0, -1);
    call.call.host->created(&call.call, "unheard", NULL);
    call.call.host->progress(&call.call, "unheard", 1, 1);
    call.context = &heard;
    call.created = hear_created;
    call.progress = hear_progress;
    call.call.host->created(&call.call, "box-1", "/home/acme");
    assert_string_equal(heard.id, "box-1");
    assert_string_equal(heard.working_dir, "/home/acme");
    call.call.host->created(&call.call, "box-2", "");
    assert_string_equal(heard.working_dir, "none");
    call.call.host->progress(&call.call, "pulling", 1, 4);
    call.call.host->progress(&call.call, NULL, 9, 9);
    assert_string_equal(heard.what, "pulling");
    assert_int_equal(heard.done, 25);
    assert_int_equal(logged.count, 0);

    /* An id that is none is a fault that somebody must hear of. */
    call.call.host->created(&call.call, NULL, NULL);
    call.call.host->created(&call.call, "", NULL);
    assert_int_equal(heard.created, 2);
    assert_int_equal(logged.count, 2);
    assert_int_equal(logged.level, SANDLOT_MESSAGE_WARNING);
    host_call_clear(&call);
}

static void *fail_often(void *context)
{
    struct host_call *call = context;

    for (int i = 0; i < 1000; i++)
        sandlot_fail(&call->call, SANDLOT_INTERNAL, "failure");
    return NULL;
}

static void services_work_on_many_threads(void **state)
{
    (void)state;
    struct host_call call;
    pthread_t threads[4];

    host_call_init(&call, "acme", NULL, 0, -1);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, fail_often, &call), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_string_equal(call.message, "failure");
    host_call_clear(&call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(table_describes_this_abi, setup, teardown),
        cmocka_unit_test_setup_teardown(first_message_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(long_message_is_cut_between_words, setup, teardown),
        cmocka_unit_test_setup_teardown(success_is_no_error, setup, teardown),
        cmocka_unit_test_setup_teardown(bad_argument_is_usage_only_before_creation, setup, teardown),
        cmocka_unit_test_setup_teardown(silent_provider_gets_a_sentence, setup, teardown),
        cmocka_unit_test_setup_teardown(message_becomes_one_proper_line, setup, teardown),
        cmocka_unit_test_setup_teardown(log_carries_the_name_and_hides_secrets, setup, teardown),
        cmocka_unit_test_setup_teardown(environment_is_looked_up_with_prefix, setup, teardown),
        cmocka_unit_test_setup_teardown(created_and_progress_are_passed_on, setup, teardown),
        cmocka_unit_test_setup_teardown(services_work_on_many_threads, setup, teardown),
    };

    return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
