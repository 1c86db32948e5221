/*
 * The asynchronous forms of what only boxes can show, through libsandlot.so and over `local`: background processes, the
 * network, changes. tests/unit/session_test.c has the other forms.
 */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sandlot/sandlot.h>

#include <cmocka.h>

static struct sandlot *sandlot;
static struct sandlot_session *session;

static int open_box(void **state)
{
    struct sandlot_error error = {0};

    (void)state;
    sandlot = sandlot_open(NULL, &error);
    session = sandlot ? sandlot_session_open(sandlot, NULL, &error) : NULL;
    if (!session)
        fprintf(stderr, "%s\n", error.message);
    return session ? 0 : -1;
}

static int close_box(void **state)
{
    (void)state;
    int failed = sandlot_session_close(session, NULL);

    sandlot_close(sandlot);
    return failed;
}

/* Waits for JOB, which must end with CODE, and frees it. */
static void ends(struct sandlot_job *job, enum sandlot_code code)
{
    struct sandlot_error error = {0};

    assert_non_null(job);
    sandlot_job_wait(job, -1, &error);
    if (error.code != code)
        print_error("%s\n", error.message ? error.message : "it did not fail");
    assert_int_equal(error.code, code);
    sandlot_error_clear(&error);
    sandlot_job_free(job);
}

/* ---- background processes ---- */

struct log {
    char text[256];
    size_t length;
    uint64_t offset; /* of the byte after the last one */
};

static bool keep(void *context, uint64_t offset, const void *bytes, size_t length)
{
    struct log *log = context;

    assert_int_equal(offset, log->offset);
    assert_true(log->length + length < sizeof(log->text));
    memcpy(log->text + log->length, bytes, length);
    log->length += length;
    log->offset += length;
    return true;
}

static bool count_process(void *context, const struct sandlot_process *process)
{
    assert_string_equal(process->command, "read line; echo \"got $line\"; sleep 3000");
    ++*(int *)context;
    return true;
}

static void start(const char *command, bool has_input, char id[SANDLOT_PROCESS_ID_SIZE])
{
    struct sandlot_start request = {.size = sizeof(request), .command = command, .has_input = has_input};

    id[0] = '\0';
    ends(sandlot_submit_start_process(session, &request, id, NULL), SANDLOT_CODE_OK);
    assert_int_equal(id[0], 'p');
}

/* All that it prints comes to a follower that waits for its end, with where to go on and how it ended. */
static void test_follow_to_the_end(void **state)
{
    char id[SANDLOT_PROCESS_ID_SIZE];
    struct log log = {0};
    struct sandlot_follow follow = {.size = sizeof(follow), .id = id, .wait_ms = -1, .output = keep, .context = &log};
    struct sandlot_process process = {.size = sizeof(process)};
    uint64_t next = 0;

    (void)state;
    start("echo one; sleep 0.3; echo two; exit 7", false, id);
    ends(sandlot_submit_follow_process(session, &follow, &next, &process, NULL), SANDLOT_CODE_OK);
    assert_string_equal(log.text, "one\ntwo\n");
    assert_int_equal(next, 8);
    assert_int_equal(process.state, SANDLOT_PROCESS_EXITED);
    assert_int_equal(process.exit_code, 7);
    assert_int_equal(process.output_total, 8);
    sandlot_process_clear(&process);
    log = (struct log){.offset = 4};
    follow.from = -4;
    ends(sandlot_submit_follow_process(session, &follow, NULL, NULL, NULL), SANDLOT_CODE_OK);
    assert_string_equal(log.text, "two\n");
    follow.id = "p99";
    ends(sandlot_submit_follow_process(session, &follow, NULL, NULL, NULL), SANDLOT_CODE_PROCESS_NOT_FOUND);
}

/* Input, the list and signals; a follower that is cancelled leaves the process alone. */
static void test_input_and_signals(void **state)
{
    char id[SANDLOT_PROCESS_ID_SIZE];
    struct log log = {0};
    struct sandlot_follow follow = {
        .size = sizeof(follow), .id = id, .wait_ms = -1, .first_news = true, .output = keep, .context = &log};
    struct sandlot_signal signal = {.size = sizeof(signal), .id = id, .name = "KILL"};
    struct sandlot_process process = {.size = sizeof(process)};
    uint64_t taken = 0;
    int count = 0;

    (void)state;
    start("read line; echo \"got $line\"; sleep 3000", true, id);
    ends(sandlot_submit_write_process(session, id, "this\n", 5, true, &taken, NULL), SANDLOT_CODE_OK);
    assert_int_equal(taken, 5);
    ends(sandlot_submit_follow_process(session, &follow, &(uint64_t){0}, NULL, NULL), SANDLOT_CODE_OK);
    assert_string_equal(log.text, "got this\n");
    ends(sandlot_submit_list_processes(session, count_process, &count, NULL), SANDLOT_CODE_OK);
    assert_int_equal(count, 1);
    follow.from = 9;
    struct sandlot_job *job = sandlot_submit_follow_process(session, &follow, NULL, NULL, NULL);

    sandlot_job_cancel(job);
    ends(job, SANDLOT_CODE_CANCELLED);
    ends(sandlot_submit_signal_process(session, &signal, NULL), SANDLOT_CODE_OK);
    follow.output = NULL;
    ends(sandlot_submit_follow_process(session, &follow, NULL, &process, NULL), SANDLOT_CODE_OK);
    assert_int_equal(process.exit_code, 137);
    sandlot_process_clear(&process);
    ends(sandlot_submit_signal_process(session, &signal, NULL), SANDLOT_CODE_PROCESS_ENDED);
    ends(sandlot_submit_write_process(session, id, "x", 1, false, &taken, NULL), SANDLOT_CODE_PROCESS_ENDED);
}

/* ---- network and ports ---- */

static void keep_mode(void *context, const struct sandlot_network_state *state)
{
    snprintf(context, 8, "%s", state->mode ? state->mode : "none");
}

static bool no_event(void *context, const struct sandlot_network_event *event)
{
    (void)event;
    ++*(int *)context;
    return true;
}

static void test_network(void **state)
{
    static const char *const allow[] = {"example.invalid", NULL};
    struct sandlot_network_change change = {.size = sizeof(change), .allow = allow};
    struct sandlot_port_url url = {.size = sizeof(url)};
    char mode[8] = "";
    int events = 0;

    (void)state;
    ends(sandlot_submit_change_network(session, &change, NULL), SANDLOT_CODE_OK);
    ends(sandlot_submit_show_network(session, keep_mode, mode, NULL), SANDLOT_CODE_OK);
    assert_string_equal(mode, "allow");
    ends(sandlot_submit_read_network_log(session, 0, no_event, &events, NULL), SANDLOT_CODE_OK);
    assert_int_equal(events, 0);
    ends(sandlot_submit_port_url(session, 80, 0, &url, NULL), SANDLOT_CODE_NOT_SUPPORTED);
}

/* ---- changes ---- */

static bool count_change(void *context, const struct sandlot_change *change)
{
    assert_string_equal(change->path, "made");
    ++*(int *)context;
    return true;
}

static bool count_applied(void *context, const struct sandlot_change *change, const struct sandlot_error *problem)
{
    assert_null(problem);
    return count_change(context, change);
}

static void test_changes(void **state)
{
    char folder[] = "/tmp/sandlot-jobs-XXXXXX";
    char made[64];
    struct sandlot_changes_request request = {.size = sizeof(request)};
    struct sandlot_write write = {.size = sizeof(write), .path = "made", .content = "text\n", .content_length = 5};
    struct stat status;
    int patch = memfd_create("patch", MFD_CLOEXEC);
    int count = 0;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(made, sizeof(made), "%s/made", folder);
    ends(sandlot_submit_list_changes(session, NULL, count_change, &count, NULL), SANDLOT_CODE_NOT_SUPPORTED);
    ends(sandlot_submit_import(session, folder, NULL, NULL), SANDLOT_CODE_OK);
    ends(sandlot_submit_write_file(session, &write, NULL), SANDLOT_CODE_OK);
    ends(sandlot_submit_list_changes(session, &request, count_change, &count, NULL), SANDLOT_CODE_OK);
    ends(sandlot_submit_export_changes(session, &request, SANDLOT_EXPORT_PATCH, patch, NULL), SANDLOT_CODE_OK);
    assert_true(lseek(patch, 0, SEEK_END) > 0);
    assert_int_equal(access(made, F_OK), -1);
    ends(sandlot_submit_apply_changes(session, &request, count_applied, &count, NULL), SANDLOT_CODE_OK);
    assert_int_equal(count, 2);
    assert_int_equal(stat(made, &status), 0);
    assert_int_equal(status.st_size, 5);
    unlink(made);
    rmdir(folder);
    close(patch);
}

static void write_here(const char *folder, const char *name, const char *text)
{
    char path[64];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static bool edit_meanwhile(void *folder, const struct sandlot_change *change, const struct sandlot_error *problem)
{
    assert_null(problem);
    if (strcmp(change->path, "first") == 0)
        write_here(folder, "second", "somebody's work\n");
    return true;
}

/* What somebody writes into the folder while the paths before are applied is not overwritten. */
static void test_changed_while_it_is_applied(void **state)
{
    static const char *const names[] = {"first", "second"};
    static const off_t lengths[] = {sizeof("box\n") - 1, sizeof("somebody's work\n") - 1};
    char folder[] = "/tmp/sandlot-jobs-XXXXXX";
    const struct sandlot_changes_request request = {.size = sizeof(request)};
    const struct sandlot_execution work = {.size = sizeof(work), .command = "echo box >first; echo box >second"};

    (void)state;
    assert_non_null(mkdtemp(folder));
    write_here(folder, "second", "");
    ends(sandlot_submit_import(session, folder, NULL, NULL), SANDLOT_CODE_OK);
    ends(sandlot_submit_execute(session, &work, NULL), SANDLOT_CODE_OK);
    ends(sandlot_submit_apply_changes(session, &request, edit_meanwhile, folder, NULL), SANDLOT_CODE_CONFLICT);
    for (int i = 0; i < 2; i++) {
        char path[64];
        struct stat status;

        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_size, lengths[i]);
        unlink(path);
    }
    rmdir(folder);
}

/* ---- the end of a job ---- */

/* Before its thread has left it, as a rule: neither may use what the other has freed. Nobody waits for it any other
 * way. */
static void test_freed_once_its_descriptor_tells(void **state)
{
    const struct sandlot_read request = {.size = sizeof(request), .path = "missing"};

    (void)state;
    for (int i = 0; i < 500; i++) {
        struct sandlot_page page = {.size = sizeof(page)};
        struct sandlot_job *job = sandlot_submit_read_file(session, &request, &page, NULL);
        struct pollfd end = {sandlot_job_descriptor(job), POLLIN, 0};

        assert_int_equal(poll(&end, 1, -1), 1);
        sandlot_job_free(job);
        assert_int_equal(fcntl(end.fd, F_GETFD), -1);
        sandlot_page_clear(&page);
    }
}

static bool close_now(void *context, const void *bytes, size_t length)
{
    (void)context, (void)bytes, (void)length;
    assert_int_equal(sandlot_session_close(session, NULL), 0);
    session = NULL;
    return true;
}

/* The job goes on using what the session has, and names its sandbox. */
static void test_session_closed_before_its_job_ends(void **state)
{
    const struct sandlot_execution request = {
        .size = sizeof(request), .command = "echo; sleep 3000", .output = close_now};
    struct sandlot_error error = {0};
    char expected[128];

    (void)state;
    snprintf(expected, sizeof(expected), "sandbox %s was not found", sandlot_session_id(session));
    struct sandlot_job *job = sandlot_submit_execute(session, &request, NULL);

    assert_int_equal(sandlot_job_wait(job, -1, &error), SANDLOT_JOB_FAILED);
    assert_int_equal(error.code, SANDLOT_CODE_SANDBOX_NOT_FOUND);
    assert_non_null(strstr(error.message, expected));
    sandlot_error_clear(&error);
    sandlot_job_free(job);
}

int main(void)
{
#define BOX_TEST(name) cmocka_unit_test_setup_teardown(name, open_box, close_box)
    const struct CMUnitTest tests[] = {
        BOX_TEST(test_follow_to_the_end),
        BOX_TEST(test_input_and_signals),
        BOX_TEST(test_network),
        BOX_TEST(test_changes),
        BOX_TEST(test_changed_while_it_is_applied),
        BOX_TEST(test_freed_once_its_descriptor_tells),
        BOX_TEST(test_session_closed_before_its_job_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
