/* Scripts, run by the shells of this machine, and their frames through channels of every kind. */
#include "operations/derived/frame.h"
#include "operations/process.h"
#include "spawned.h"
#include "support.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "loader/loader.h"

#include <sys/wait.h>

/* ---- a session whose provider runs commands on this machine, and spoils their output ---- */

enum { OUTPUT_SIZE = 8 << 20 };

enum damage { NONE, TERMINAL, WRAPPED, CUT, HOLE, SILENT };

static struct fake {
    const char *const *shell; /* its words before the command; NULL: "sh -c" */
    enum damage damage;
    size_t at;        /* columns, or where something is missing */
    size_t hole;      /* bytes that are missing there */
    size_t length;    /* of what the command printed */
    const char *said; /* SILENT: instead of running the command */
    bool runs;
    unsigned changing_run; /* after this one, from 1, `change` happens; 0: never */
    void (*change)(void);
    struct sandlot_exit exit;
} fake;

/* To the next of many places. Valgrind, where each costs ten times more, sees as much in a tenth of them. */
static size_t stride(size_t usual)
{
    return getenv("SANDLOT_TEST_FEW") ? 10 * usual : usual;
}

static char *run_command(const char *command, size_t *length)
{
    static const char *const usual[] = {"sh", "-c", NULL};
    const char *const *shell = fake.shell ? fake.shell : usual;
    const char *words[8] = {NULL};
    char *output = malloc(OUTPUT_SIZE);
    size_t count = 0;

    assert_non_null(output);
    for (; shell[count]; count++)
        words[count] = shell[count];
    words[count] = command;
    struct spawned spawned = spawn_program(words[0], words, -1, true);

    *length = 0;
    for (ssize_t got; (got = read(spawned.output, output + *length, OUTPUT_SIZE - *length)) > 0;)
        *length += (size_t)got;
    close(spawned.output);
    assert_int_equal(waitpid(spawned.pid, NULL, 0), spawned.pid);
    return output;
}

static enum sandlot_status pass(const struct sandlot_sink *output, const char *text)
{
    return output->write(output, text, strlen(text));
}

/* Byte by byte, as the worst of channels. */
static enum sandlot_status spoil(const struct sandlot_sink *output, const char *bytes, size_t length)
{
    enum sandlot_status status = SANDLOT_OK;
    size_t column = 0;

    for (size_t i = 0; i < length && status == SANDLOT_OK; i++) {
        bool missing = i >= fake.at && (fake.damage == CUT || (fake.damage == HOLE && i < fake.at + fake.hole));

        if (missing)
            continue;
        if (fake.damage == WRAPPED && ++column > fake.at) {
            column = 1;
            status = pass(output, "\r\n");
        }
        if (status == SANDLOT_OK && fake.damage == TERMINAL && bytes[i] == '\n')
            status = pass(output, "\r");
        if (status == SANDLOT_OK)
            status = output->write(output, bytes + i, 1);
    }
    return status;
}

static enum sandlot_status run_badly(const char *command, const struct sandlot_sink *output)
{
    enum sandlot_status status = fake.damage == TERMINAL ? pass(output, command) : SANDLOT_OK;
    AUTO_FREE char *bytes = run_command(command, &fake.length);

    if (status == SANDLOT_OK)
        status = fake.damage == NONE ? output->write(output, bytes, fake.length) : spoil(output, bytes, fake.length);
    if (status == SANDLOT_OK && fake.damage == TERMINAL)
        status = pass(output, "\303\244\r\n$ logout\r\n");
    return status;
}

static enum sandlot_status execute(struct sandlot_call *call, void *instance, void *sandbox,
                                   const struct sandlot_command *command, const struct sandlot_sink *output,
                                   struct sandlot_exit *result)
{
    (void)instance, (void)sandbox;
    size_t size = result->size;

    fake.runs = true;
    enum sandlot_status status = fake.damage == SILENT ? pass(output, fake.said) : run_badly(command->command, output);

    fake.runs = false;
    if (fake.changing_run > 0 && --fake.changing_run == 0)
        fake.change();
    *result = fake.exit;
    result->size = size;
    return status == SANDLOT_OK ? status : (call->host->fail)(call, status, "stopped");
}

static struct registry_entry entry = {.name = (char *)"fake"};
static struct provider provider = {.entry = &entry, .table = {.execute = execute}};
static struct sandlot_session session = {.provider = &provider, .turn_fd = -1, .working_dir = (char *)"/"};

/* ---- what is received ---- */

static struct received {
    struct frame_bytes bytes;
    char word[64];
    unsigned ends;
} received;

static struct sandlot_error error;

static int take_word(void *context, const char *name, const char *value, struct sandlot_error *why)
{
    (void)context, (void)name, (void)why;
    snprintf(received.word, sizeof(received.word), "%s", value);
    return 0;
}

static int take_data(void *context, const char *name, const void *bytes, size_t length, struct sandlot_error *why)
{
    (void)context, (void)name;
    received.ends += length == 0;
    return length > 0 ? frame_bytes_add(&received.bytes, bytes, length, why) : 0;
}

static const struct frame_receiver receiver = {.word = take_word, .data = take_data};

static int run_script(const char *text)
{
    const struct file_call call = {.session = &session,
                                   .verb = FILE_READ,
                                   .path = "/nowhere/x",
                                   .shown = "x",
                                   .deadline_ms = sandlot_now_ms() + 60000,
                                   .cancel_fd = -1};
    struct script script;

    sandlot_error_clear(&error);
    frame_bytes_clear(&received.bytes);
    received = (struct received){.bytes.maximum = 1 << 20};
    script_init(&script);
    script_set(&script, "f", call.path);
    script_add(&script, text);
    int failed = frame_run(&call, &script, &receiver, &error);

    script_clear(&script);
    assert_int_equal(failed, error.code == SANDLOT_CODE_OK ? 0 : -1);
    return failed;
}

static int start(void **state)
{
    (void)state;
    fake = (struct fake){0};
    return 0;
}

static int end(void **state)
{
    (void)state;
    sandlot_error_clear(&error);
    frame_bytes_clear(&received.bytes);
    return 0;
}

static void assert_received(const char *bytes, size_t length)
{
    if (error.code != SANDLOT_CODE_OK)
        fail_msg("%s", error.message);
    assert_int_equal(received.bytes.length, length);
    assert_memory_equal(received.bytes.bytes, bytes, length);
    assert_int_equal(received.ends, 1);
}

#define SOME "s_word number 7\nprintf 'a\\000\\377\\r\\nb%0100d' 1 | s_data bytes\ns_end\n"

static void assert_some(void)
{
    char wanted[106] = "a\0\377\r\nb";

    memset(wanted + 6, '0', 99);
    wanted[105] = '1';
    assert_string_equal(received.word, "7");
    assert_received(wanted, sizeof(wanted));
}

/* ---- the tests ---- */

static void test_whole(void **state)
{
    (void)state;
    run_script(SOME);
    assert_some();
    run_script(": | s_data bytes\ns_end\n");
    assert_int_equal(error.code, SANDLOT_CODE_OK);
    assert_int_equal(received.bytes.length, 0);
    assert_int_equal(received.ends, 1);
}

static void test_lengths(void **state)
{
    (void)state;
    for (size_t length = 1; length < 130; length += stride(1)) {
        AUTO_FREE char *text = text_format("printf %%0%zud 0 | s_data bytes\ns_end\n", length);
        char wanted[130];

        memset(wanted, '0', sizeof(wanted));
        run_script(text);
        assert_received(wanted, length);
    }
}

static void test_encoders(void **state)
{
    (void)state;
    /* As if there were no base64. */
    run_script("s_code() { s_c='od -An -v -to1' s_k=o; }\n" SOME);
    assert_some();
    run_script("s_u() { printf 'begin-base64 644 -\\n'; base64 -w 60; printf '====\\n'; }\n"
               "s_code() { s_c=s_u s_k=u; }\n" SOME);
    assert_some();
    run_script("PATH=\n" SOME);
    assert_int_equal(error.code, SANDLOT_CODE_MISSING_TOOL);
    assert_non_null(strstr(error.message, "base64"));
}

static void test_terminal(void **state)
{
    (void)state;
    fake.damage = TERMINAL;
    run_script(SOME);
    assert_some();
}

static void test_wrapped(void **state)
{
    (void)state;
    fake.damage = WRAPPED;
    for (fake.at = 1; fake.at < 100; fake.at += 7) {
        run_script(SOME);
        assert_some();
    }
}

/* However little is missing at the end, it is noticed, unless it is only the last line end. */
static void test_cut(void **state)
{
    (void)state;
    run_script(SOME);
    size_t length = fake.length;

    fake.damage = CUT;
    for (fake.at = 0; fake.at < length - 1; fake.at += stride(1)) {
        run_script(SOME);
        assert_int_equal(error.code, SANDLOT_CODE_TRUNCATED_TRANSPORT);
    }
    fake.at = length - 1;
    run_script(SOME);
    assert_some();
}

/* What is missing in the middle: a record that was not received, or one that is damaged. */
static void test_hole(void **state)
{
    (void)state;
    run_script(SOME);
    size_t length = fake.length;

    fake.damage = HOLE;
    for (fake.hole = 1; fake.hole < 80; fake.hole += 13) {
        for (fake.at = 50; fake.at + fake.hole < length - 40; fake.at += stride(3)) {
            run_script(SOME);
            if (error.code == SANDLOT_CODE_OK)
                assert_some(); /* only line ends were lost */
            else
                assert_int_equal(error.code, SANDLOT_CODE_TRUNCATED_TRANSPORT);
        }
    }
}

static void test_shells(void **state)
{
    static const char *const shells[][4] = {
        {"bash", "-c", NULL}, {"dash", "-c", NULL}, {"busybox", "sh", "-c", NULL}, {"bash", "--posix", "-c", NULL}};

    (void)state;
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
        fake.shell = shells[i];
        AUTO_FREE char *probe = text_format("command -v %s >/dev/null", shells[i][0]);

        if (system(probe) != 0)
            continue;
        run_script(SOME);
        assert_some();
    }
}

static void test_failures(void **state)
{
    static const struct {
        const char *script;
        enum sandlot_code code;
    } rows[] = {
        {"s_fail eacces\n", SANDLOT_CODE_PERMISSION_DENIED},
        {"s_fail eisdir\n", SANDLOT_CODE_IS_DIRECTORY},
        {"s_fail kind\n", SANDLOT_CODE_NOT_A_FILE},
        {"s_fail damaged\n", SANDLOT_CODE_TRUNCATED_TRANSPORT},
        {"s_fail nonsense\n", SANDLOT_CODE_TRUNCATED_TRANSPORT},
        {"s_gone\n", SANDLOT_CODE_FILE_NOT_FOUND},
        {"s_need sh no_such_tool\n", SANDLOT_CODE_MISSING_TOOL},
        {"s_reason 'cat: /space: a/b: No space left on device'\n", SANDLOT_CODE_NO_SPACE},
        {"s_reason 'rm: /busy loop/x: Permission denied'\n", SANDLOT_CODE_PERMISSION_DENIED},
        {"echo x | { s_fail eacces; }\ns_end\n", SANDLOT_CODE_PERMISSION_DENIED},
        {"s_word number ''\nexit 0\n", SANDLOT_CODE_TRUNCATED_TRANSPORT},
        {"kill -9 $$\n", SANDLOT_CODE_TRUNCATED_TRANSPORT},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        run_script(rows[i].script);
        assert_int_equal(error.code, rows[i].code);
    }
}

/* Commands that never got as far as their frame. */
static void test_no_frame(void **state)
{
    static const struct {
        struct sandlot_exit exit;
        const char *said;
        enum sandlot_code code;
    } rows[] = {
        {{.exit_code = 127}, "sh: not found\n", SANDLOT_CODE_MISSING_TOOL},
        {{.exit_code = 137}, "", SANDLOT_CODE_PROVIDER_ERROR},
        {{.exit_code = 1, .note = "the memory limit"}, "", SANDLOT_CODE_PROVIDER_ERROR},
        {{.exit_code = 124, .timed_out = true}, "", SANDLOT_CODE_TIMEOUT},
        {{.exit_code = 0}, "", SANDLOT_CODE_TRUNCATED_TRANSPORT},
        {{.exit_code = SANDLOT_EXIT_UNKNOWN}, "quota\a exceeded \377", SANDLOT_CODE_TRUNCATED_TRANSPORT},
    };

    (void)state;
    fake.damage = SILENT;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fake.exit = rows[i].exit;
        fake.said = rows[i].said;
        run_script(SOME);
        assert_int_equal(error.code, rows[i].code);
        assert_null(strpbrk(error.message, "\n\a"));
    }
    assert_non_null(strstr(error.message, "exceeded"));
}

/* More than was asked for ends the command, and is an error. */
static void test_too_much(void **state)
{
    (void)state;
    run_script("head -c 2000000 /dev/zero | s_flow bytes\ns_end\n");
    assert_int_equal(error.code, SANDLOT_CODE_TRUNCATED_TRANSPORT);
    assert_non_null(strstr(error.message, "more"));
}

/* A script does not hold the mark of its own frame, and any value arrives as it is. */
static void test_script(void **state)
{
    static const char *const values[] = {"plain",
                                         "it's \"$x\" `y` \\n",
                                         "\n\nlines\n\n",
                                         "gr\303\274\303\237e",
                                         "not \377 UTF-8\n",
                                         "\r\ttabs\r\n",
                                         "-n",
                                         "%s%%"};
    struct script script;

    (void)state;
    script_init(&script);
    assert_non_null(script.text);
    assert_null(strstr(script.text, script.mark));
    assert_int_equal(strlen(script.mark), SCRIPT_MARK);
    assert_true(script_fits(&script));
    script_clear(&script);
    assert_false(script_fits(&script));
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        script_init(&script);
        script.length = 0;
        script_set(&script, "v", values[i]);
        script_add(&script, "printf %s \"$v\" | s_data bytes\n");
        script_print(&script, values[i], strlen(values[i]));
        script_add(&script, " | s_data bytes\ns_end\n");
        run_script(script.text);
        script_clear(&script);
        AUTO_FREE char *wanted = text_format("%s%s", values[i], values[i]);

        assert_int_equal(error.code, SANDLOT_CODE_OK);
        assert_int_equal(received.bytes.length, strlen(wanted));
        assert_memory_equal(received.bytes.bytes, wanted, strlen(wanted));
    }
}

static void test_print(void **state)
{
    char all[256];
    struct script script;

    (void)state;
    for (int i = 0; i < 256; i++)
        all[i] = (char)i;
    script_init(&script);
    script.length = 0;
    script_print(&script, all, sizeof(all));
    assert_int_equal(script.length, script_print_cost(all, sizeof(all)) + strlen("printf -- ''"));
    for (size_t i = 0; i < script.length; i++)
        assert_in_range(script.text[i], ' ', '~');
    script_add(&script, " | s_data bytes\ns_end\n");
    run_script(script.text);
    script_clear(&script);
    assert_received(all, sizeof(all));
}

/* ---- logs of background processes ---- */

#define PROCESS "home/" PROCESS_FOLDER "/p987/"

enum { LARGE = 5 << 20, PIECE = 1 << 20 };

struct log {
    char text[16]; /* its beginning */
    uint64_t length;
    uint64_t first;
    unsigned calls;
};

static bool take_log(void *context, uint64_t offset, const void *bytes, size_t length)
{
    struct log *log = context;
    const size_t used = log->length < sizeof(log->text) - 1 ? (size_t)log->length : sizeof(log->text) - 1;

    assert_false(fake.runs);
    log->first = log->calls++ == 0 ? offset : log->first;
    snprintf(log->text + used, sizeof(log->text) - used, "%.*s", (int)length, (const char *)bytes);
    log->length += length;
    return true;
}

static void make_process(void)
{
    umask(077);
    support_write(PROCESS "exit", "3 0 5 \n");
    support_write(PROCESS "command", "true");
}

/* Its log from byte 1 on. */
static void look_at_log(struct log *log, struct process_sight *sight)
{
    const struct file_call call = {.session = &session,
                                   .verb = FILE_READ,
                                   .path = "/",
                                   .shown = "p987",
                                   .deadline_ms = sandlot_now_ms() + 60000,
                                   .cancel_fd = -1};
    const struct process_look look = {.number = 987,
                                      .id = "p987",
                                      .log = true,
                                      .from = 1,
                                      .most = UINT64_MAX,
                                      .with_command = true,
                                      .output = take_log,
                                      .context = log};

    *log = (struct log){.length = 0};
    *sight = (struct process_sight){.process.size = sizeof(sight->process)};
    int failed = derived_processes.look(&call, &look, sight, &error);

    if (failed)
        fail_msg("%s", error.message);
    assert_string_equal(sight->process.command, "true");
    sandlot_process_clear(&sight->process);
}

/* Whoever reads a log takes his time, of which the command's deadline knows nothing: so the command has ended by then.
 */
static void test_log_when_the_command_has_ended(void **state)
{
    struct process_sight sight;
    struct log log;

    (void)state;
    fake = (struct fake){0};
    make_process();
    support_write(PROCESS "o.0", "one");
    support_write(PROCESS "o.3", "two");
    support_write(PROCESS "o.9", "four");
    look_at_log(&log, &sight);
    assert_string_equal(log.text, "netwofour");
    assert_int_equal(log.first, 1);
    assert_int_equal(log.calls, 2);
    assert_int_equal(sight.next, 13);
}

static void remove_oldest(void)
{
    assert_int_equal(unlink(support_path(PROCESS "o.0")), 0);
}

static void change_oldest(void)
{
    assert_int_equal(truncate(support_path(PROCESS "o.0"), LARGE + 1), 0);
}

/* The oldest part of a log, which is fetched as a file, goes before that, or while it is fetched: there is an answer
 * all the same, for without one a log that is printed fast would seem to be empty. */
static void test_part_of_a_log_that_goes(void **state)
{
    struct process_sight sight;
    struct log log;

    (void)state;
    make_process();
    support_write(PROCESS "o.0", "");
    assert_int_equal(truncate(support_path(PROCESS "o.0"), LARGE), 0);
    support_write(PROCESS "o.5242880", "next");
    fake = (struct fake){0};
    look_at_log(&log, &sight);
    assert_int_equal(log.length, LARGE - 1);
    fake = (struct fake){.changing_run = 2, .change = change_oldest};
    look_at_log(&log, &sight);
    assert_int_equal(log.first, 1);
    assert_int_equal(log.length, PIECE - 1);
    assert_int_equal(sight.next, PIECE);
    fake = (struct fake){.changing_run = 1, .change = remove_oldest};
    look_at_log(&log, &sight);
    assert_int_equal(log.first, LARGE);
    assert_string_equal(log.text, "next");
    assert_int_equal(sight.next, LARGE + 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_whole, start, end),
        cmocka_unit_test_setup_teardown(test_lengths, start, end),
        cmocka_unit_test_setup_teardown(test_encoders, start, end),
        cmocka_unit_test_setup_teardown(test_terminal, start, end),
        cmocka_unit_test_setup_teardown(test_wrapped, start, end),
        cmocka_unit_test_setup_teardown(test_cut, start, end),
        cmocka_unit_test_setup_teardown(test_hole, start, end),
        cmocka_unit_test_setup_teardown(test_shells, start, end),
        cmocka_unit_test_setup_teardown(test_failures, start, end),
        cmocka_unit_test_setup_teardown(test_no_frame, start, end),
        cmocka_unit_test_setup_teardown(test_too_much, start, end),
        cmocka_unit_test_setup_teardown(test_script, start, end),
        cmocka_unit_test_setup_teardown(test_print, start, end),
        SUPPORTED_TEST(test_log_when_the_command_has_ended),
        SUPPORTED_TEST(test_part_of_a_log_that_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
