/* Where output that is too long for an answer is kept, with a sandbox that does as the test says. */
#include "support.h"

#include <sandlot/sandlot.h>

static int double_execute(struct sandlot_session *session, const struct sandlot_execution *execution,
                          struct sandlot_result *result, struct sandlot_error *error);
static int double_write_file(struct sandlot_session *session, const struct sandlot_write *request,
                             struct sandlot_error *error);
static int double_remove_file(struct sandlot_session *session, const struct sandlot_remove *request,
                              struct sandlot_error *error);

#define sandlot_execute double_execute
#define sandlot_write_file double_write_file
#define sandlot_remove_file double_remove_file
#include "tools/saved_output.c" /* NOLINT(bugprone-suspicious-include) */

/* What the sandbox does, and what it saw. */
static struct {
    const char *answers[2]; /* what the shell prints, "%s" being the directory's name; NULL: it fails */
    int writes_fail;        /* so many writes */
    bool cancelled;
    int commands;
    char names[2][64];
    char removed[600];
    char written[600];
} sandbox;

static int double_execute(struct sandlot_session *session, const struct sandlot_execution *execution,
                          struct sandlot_result *result, struct sandlot_error *error)
{
    (void)session;
    const char *name = strstr(execution->command, NAME);
    int number = sandbox.commands++;

    if (sandbox.cancelled)
        return error_set(error, SANDLOT_CODE_CANCELLED, "cancelled");
    assert_in_range(number, 0, 1);
    assert_non_null(name);
    snprintf(sandbox.names[number], sizeof(sandbox.names[0]), "%.*s", (int)strcspn(name, " "), name);
    assert_contains(execution->command, number == 0 ? "cd -- \"${TMPDIR:-/tmp}\" &&" : "cd -- . &&");
    assert_contains(execution->command, "umask 077;");
    const char *answer = sandbox.answers[number];
    const char *place = answer ? strstr(answer, "%s") : NULL;

    result->has_exit_code = true;
    result->exit_code = answer ? 0 : 1;
    result->output = place ? text_format("%.*s%s%s", (int)(place - answer), answer, sandbox.names[number], place + 2)
                           : strdup(answer ? answer : "mkdir: no\n");
    result->output_length = strlen(result->output);
    return 0;
}

static int double_write_file(struct sandlot_session *session, const struct sandlot_write *request,
                             struct sandlot_error *error)
{
    (void)session;
    if (sandbox.writes_fail-- > 0)
        return error_set(error, SANDLOT_CODE_NO_SPACE, "the disk is full");
    snprintf(sandbox.written, sizeof(sandbox.written), "%s=%.*s", request->path, (int)request->content_length,
             (const char *)request->content);
    return 0;
}

static int double_remove_file(struct sandlot_session *session, const struct sandlot_remove *request,
                              struct sandlot_error *error)
{
    (void)session, (void)error;
    snprintf(sandbox.removed, sizeof(sandbox.removed), "%s", request->path);
    return 0;
}

static int reset(void **state)
{
    (void)state;
    memset(&sandbox, 0, sizeof(sandbox));
    return 0;
}

/* Saves "text"; the path, to be freed, or NULL with CODE. */
static char *save(enum sandlot_code code, const char *part)
{
    struct sandlot_error error = {0};
    char *path = saved_output(NULL, "text", 4, NULL, &error);

    assert_int_equal(error.code, code);
    if (part)
        assert_contains(error.message, part);
    sandlot_error_clear(&error);
    return path;
}

static void expect_saved(int place, const char *base)
{
    AUTO_FREE char *path = save(SANDLOT_CODE_OK, NULL);
    AUTO_FREE char *wanted = text_format("%s/%s/output.txt", base, sandbox.names[place]);
    AUTO_FREE char *written = text_format("%s=text", wanted);

    assert_string_equal(path, wanted);
    assert_string_equal(sandbox.written, written);
    assert_int_equal(strlen(sandbox.names[place]), strlen(NAME) + 32);
}

static void test_first_place(void **state)
{
    (void)state;
    sandbox.answers[0] = "\n/tmp/%s/output.txt";
    expect_saved(0, "/tmp");
    assert_int_equal(sandbox.commands, 1);
    assert_string_equal(sandbox.removed, "");
}

static void test_what_the_shell_says_at_its_start_is_passed_over(void **state)
{
    (void)state;
    sandbox.answers[0] = "bash: warning: setlocale\n\n/tmp/%s/output.txt";
    expect_saved(0, "/tmp");
}

static void test_second_place(void **state)
{
    (void)state;
    sandbox.answers[1] = "\n/w/%s/output.txt";
    expect_saved(1, "/w");
    assert_string_not_equal(sandbox.names[0], sandbox.names[1]);
}

static void test_full_disk_in_the_first_place(void **state)
{
    (void)state;
    sandbox.answers[0] = "\n/tmp/%s/output.txt";
    sandbox.answers[1] = "\n/w/%s/output.txt";
    sandbox.writes_fail = 1;
    expect_saved(1, "/w");
    AUTO_FREE char *removed = text_format("/tmp/%s", sandbox.names[0]);

    assert_string_equal(sandbox.removed, removed);
}

static void test_nowhere(void **state)
{
    (void)state;
    assert_null(save(SANDLOT_CODE_PERMISSION_DENIED, "no directory for it could be made"));
    reset(NULL);
    sandbox.answers[0] = sandbox.answers[1] = "\n/tmp/%s/output.txt";
    sandbox.writes_fail = 2;
    assert_null(save(SANDLOT_CODE_NO_SPACE, "the disk is full"));
}

static void test_answers_that_are_no_path(void **state)
{
    static const char *const answers[] = {"",
                                          "\n/tmp/other/output.txt",
                                          "\ntmp/%s/output.txt",
                                          "\n/tmp/%s/output.txt\n",
                                          "\n/tmp/\x1b[31m/%s/output.txt",
                                          "\n/tmp/%s/output.txt more"};

    (void)state;
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        reset(NULL);
        sandbox.answers[0] = sandbox.answers[1] = answers[i];
        assert_null(save(SANDLOT_CODE_PERMISSION_DENIED, NULL));
        assert_string_equal(sandbox.written, "");
    }
    AUTO_FREE char *deep = calloc(1, 700);

    memset(deep, 'd', 600);
    AUTO_FREE char *answer = text_format("\n/%s/%%s/output.txt", deep);

    reset(NULL);
    sandbox.answers[0] = sandbox.answers[1] = answer;
    assert_null(save(SANDLOT_CODE_PERMISSION_DENIED, NULL));
}

static void test_cancelled(void **state)
{
    (void)state;
    sandbox.cancelled = true;
    assert_null(save(SANDLOT_CODE_CANCELLED, NULL));
    assert_int_equal(sandbox.commands, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_first_place, reset),
        cmocka_unit_test_setup(test_what_the_shell_says_at_its_start_is_passed_over, reset),
        cmocka_unit_test_setup(test_second_place, reset),
        cmocka_unit_test_setup(test_full_disk_in_the_first_place, reset),
        cmocka_unit_test_setup(test_nowhere, reset),
        cmocka_unit_test_setup(test_answers_that_are_no_path, reset),
        cmocka_unit_test_setup(test_cancelled, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
