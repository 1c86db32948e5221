/* sandlot_run_terminal: what it refuses, and how it stands between the caller and a provider. */
#include "operations/terminal.h"

#include "session/session.h"
#include "support.h"

#include <poll.h>
#include <sandlot/provider.h>
#include <sandlot/sandlot.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static struct seen {
    int calls;
    char command[32];
    char working_dir[32];
    char term[32];
    uint16_t rows, columns; /* at the start */
    uint16_t rows_later;    /* after the window has changed */
    bool still_resized;     /* the descriptor was readable after that */
    enum sandlot_status written;
} seen;

/* What the caller has and does. */
static struct caller {
    uint16_t rows, columns;
    bool stop;
    char output[256];
    size_t length;
} caller;

static enum sandlot_status fake_terminal(struct sandlot_call *call, void *provider, void *sandbox,
                                         const struct sandlot_terminal *terminal, struct sandlot_exit *result)
{
    char typed[16] = "";
    size_t length = 0;

    (void)provider;
    (void)sandbox;
    seen.calls++;
    snprintf(seen.command, sizeof(seen.command), "%s", terminal->command->command ? terminal->command->command : "-");
    snprintf(seen.working_dir, sizeof(seen.working_dir), "%s", terminal->command->working_dir);
    snprintf(seen.term, sizeof(seen.term), "%s", terminal->term);
    terminal->window(terminal, &seen.rows, &seen.columns);
    if (terminal->resized_fd >= 0) {
        struct pollfd resized = {terminal->resized_fd, POLLIN, 0};
        uint16_t columns;

        caller.rows = 40;
        eventfd_write(terminal->resized_fd, 1);
        terminal->window(terminal, &seen.rows_later, &columns);
        seen.still_resized = poll(&resized, 1, 0) != 0;
    }
    const struct sandlot_source *input = terminal->command->input;

    if (input->read(input, typed, sizeof(typed), &length) != SANDLOT_OK)
        return sandlot_fail(call, SANDLOT_CANCELLED, "no input");
    seen.written = terminal->output->write(terminal->output, typed, length);
    if (seen.written != SANDLOT_OK)
        return sandlot_fail(call, seen.written, "no output");
    result->exit_code = 42;
    if (strncmp(typed, "note", 4) == 0)
        result->note = "it was too large";
    return SANDLOT_OK;
}

static bool take(void *context, const void *bytes, size_t length)
{
    struct caller *own = context;

    assert_true(own->length + length < sizeof(own->output));
    memcpy(own->output + own->length, bytes, length);
    own->length += length;
    return !own->stop;
}

static void measure(void *context, uint16_t *rows, uint16_t *columns)
{
    const struct caller *own = context;

    *rows = own->rows;
    *columns = own->columns;
}

static struct registry_entry entry = {.name = (char *)(uintptr_t) "fake"};

/* Runs REQUEST at a provider with such a terminal, in which TYPED is typed. */
static int run(struct sandlot_terminal_request *request, bool capable, const char *typed, int *exit_code,
               struct sandlot_error *error)
{
    struct provider provider = {.entry = &entry, .table = {.terminal = capable ? fake_terminal : NULL}};
    struct sandlot_session session = {
        .provider = &provider, .working_dir = (char *)(uintptr_t) "/workspace", .turn_fd = -1};
    int pair[2];

    assert_int_equal(pipe(pair), 0);
    assert_int_equal(write(pair[1], typed, strlen(typed)), (ssize_t)strlen(typed));
    request->input_fd = pair[0];
    request->context = &caller;
    int result = sandlot_run_terminal(&session, request, exit_code, error);

    close(pair[0]);
    close(pair[1]);
    return result;
}

static struct sandlot_terminal_request new_request(void)
{
    memset(&seen, 0, sizeof(seen));
    caller = (struct caller){.rows = 30, .columns = 100};
    return (struct sandlot_terminal_request){
        .size = sizeof(struct sandlot_terminal_request), .resized_fd = -1, .window = measure, .output = take};
}

static void everything_goes_through(void **state)
{
    struct sandlot_terminal_request request = new_request();
    struct sandlot_error error = {0};
    int exit_code = 0;

    (void)state;
    request.resized_fd = eventfd(0, EFD_CLOEXEC);
    assert_int_equal(run(&request, true, "hi", &exit_code, &error), 0);
    assert_int_equal(exit_code, 42);
    assert_string_equal(seen.command, "-");
    assert_string_equal(seen.working_dir, "/workspace");
    assert_string_equal(seen.term, "xterm");
    assert_int_equal(seen.rows, 30);
    assert_int_equal(seen.columns, 100);
    assert_int_equal(seen.rows_later, 40);
    assert_false(seen.still_resized);
    assert_int_equal(caller.length, 2);
    assert_memory_equal(caller.output, "hi", 2);
    close(request.resized_fd);
}

static void unknown_size_is_the_usual(void **state)
{
    struct sandlot_terminal_request request = new_request();
    int exit_code;

    (void)state;
    request.window = NULL;
    assert_int_equal(run(&request, true, "hi", &exit_code, NULL), 0);
    assert_int_equal(seen.rows, 24);
    assert_int_equal(seen.columns, 80);
    request = new_request();
    caller.rows = 0;
    assert_int_equal(run(&request, true, "hi", &exit_code, NULL), 0);
    assert_int_equal(seen.rows, 24);
    assert_int_equal(seen.columns, 80);
}

static void note_is_shown(void **state)
{
    struct sandlot_terminal_request request = new_request();
    int exit_code;

    (void)state;
    assert_int_equal(run(&request, true, "note", &exit_code, NULL), 0);
    assert_int_equal(caller.length, strlen("note\r\n[it was too large]\r\n"));
    assert_memory_equal(caller.output, "note\r\n[it was too large]\r\n", caller.length);
}

static void receiver_may_stop(void **state)
{
    struct sandlot_terminal_request request = new_request();
    struct sandlot_error error = {0};
    int exit_code = 7;

    (void)state;
    caller.stop = true;
    assert_int_equal(run(&request, true, "hi", &exit_code, &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_CANCELLED);
    assert_int_equal(seen.written, SANDLOT_CANCELLED);
    assert_int_equal(exit_code, 7);
    sandlot_error_clear(&error);
}

static void provider_without_terminals(void **state)
{
    struct sandlot_terminal_request request = new_request();
    struct sandlot_error error = {0};
    int exit_code;

    (void)state;
    assert_int_equal(run(&request, false, "", &exit_code, &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_NOT_SUPPORTED);
    sandlot_error_clear(&error);
}

static void cancelled_before_it_began(void **state)
{
    struct sandlot_terminal_request request = new_request();
    struct sandlot_error error = {0};
    int exit_code;

    (void)state;
    request.cancellation = sandlot_cancellation_new();
    sandlot_cancel(request.cancellation);
    assert_int_equal(run(&request, true, "hi", &exit_code, &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_CANCELLED);
    assert_int_equal(seen.calls, 0);
    sandlot_error_clear(&error);
    sandlot_cancellation_free(request.cancellation);
}

static void refuses(struct sandlot_terminal_request *request)
{
    struct sandlot_error error = {0};
    int exit_code;

    assert_int_equal(sandlot_run_terminal(NULL, request, &exit_code, &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_USAGE);
    sandlot_error_clear(&error);
}

static void nonsense_is_refused(void **state)
{
    struct sandlot_terminal_request request;

    (void)state;
    request = new_request();
    request.command = "";
    refuses(&request);
    request = new_request();
    request.input_fd = -1;
    refuses(&request);
    request = new_request();
    request.output = NULL;
    refuses(&request);
    request = new_request();
    request.working_dir = "here";
    refuses(&request);
    request = new_request();
    request.term = "a/b";
    refuses(&request);
    request = new_request();
    request.size = 8;
    refuses(&request);
}

static void names_of_terminals(void **state)
{
    static const char *const good[] = {"xterm", "xterm-256color", "vt100", "screen.xterm", "rxvt+pcfkeys", "9term"};
    static const char *const bad[] = {"", "../x", "a/b", ".x", "-x", "a b", "a\nb", "a=b", "\x1b[c", "xtérm"};
    char longest[66];

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(terminal_name_is_valid(good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(terminal_name_is_valid(bad[i]));
    memset(longest, 'x', sizeof(longest));
    longest[65] = '\0';
    assert_false(terminal_name_is_valid(longest));
    longest[64] = '\0';
    assert_true(terminal_name_is_valid(longest));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_goes_through),
        cmocka_unit_test(unknown_size_is_the_usual),
        cmocka_unit_test(note_is_shown),
        cmocka_unit_test(receiver_may_stop),
        cmocka_unit_test(provider_without_terminals),
        cmocka_unit_test(cancelled_before_it_began),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(names_of_terminals),
    };

    return cmocka_run_group_tests_name("terminal", tests, NULL, NULL);
}
