/* What the folder of a background process says where the sandbox's root is open, and what it may not say. */
#include "operations/process.h"

#include "base/path.h"
#include "failing_allocator.h"
#include "support.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "/tmp/" PROCESS_FOLDER
#define STAT_OF(start) "7 (a) b) S 1 7 7 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 " start " 0 0\n"

enum { MOST_ALLOCATIONS = 1000, MOST_LOOKS = 20000 };

static enum sandlot_status open_root(struct sandlot_call *call, void *provider, void *sandbox,
                                     struct sandlot_root *root)
{
    (void)call;
    (void)provider;
    (void)sandbox;
    root->fd = open(support_path("root"), O_PATH | O_DIRECTORY);
    root->uid = geteuid();
    root->gid = getegid();
    return SANDLOT_OK;
}

static struct registry_entry entry = {.name = (char *)"fake"};
static struct provider provider = {.entry = &entry, .table = {.open_root = open_root}};
static struct sandlot_session session;
static int64_t deadline_ms; /* of the call whose log is read slowly */

static const char *in_root(const char *path)
{
    static char whole[PATH_MAX];

    snprintf(whole, sizeof(whole), "%s/root%s", support_folder, path);
    return whole;
}

static void make_folder(const char *path)
{
    assert_int_equal(mkdir(in_root(path), 0700), 0);
}

static void make(const char *path, const char *text)
{
    AUTO_CLOSE int fd = open(in_root(path), O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(path_write_all(fd, text, strlen(text)), 0);
}

static int start(void **state)
{
    if (support_start(state) || mkdir(support_path("root"), 0755))
        return -1;
    make_folder("/tmp");
    make_folder(FOLDER);
    make_folder(FOLDER "/p1");
    make_folder("/proc");
    make_folder("/proc/7");
    session = (struct sandlot_session){.provider = &provider, .turn_fd = -1, .working_dir = (char *)"/"};
    session_roots_init(&session.roots);
    return 0;
}

static int end(void **state)
{
    session_roots_clear(&session.roots);
    return support_end(state);
}

static struct file_call call_of(void)
{
    return (struct file_call){.session = &session,
                              .verb = FILE_READ,
                              .path = "/",
                              .shown = "p1",
                              .deadline_ms = sandlot_now_ms() + 60000,
                              .cancel_fd = -1};
}

/* What one look hands out. */
struct seen {
    char bytes[256];
    size_t length;
    uint64_t first;
};

static bool see(void *context, uint64_t offset, const void *bytes, size_t length)
{
    struct seen *seen = context;

    if (seen->length == 0)
        seen->first = offset;
    assert_true(seen->length + length < sizeof(seen->bytes));
    memcpy(seen->bytes + seen->length, bytes, length);
    seen->length += length;
    seen->bytes[seen->length] = '\0';
    return true;
}

static int look(uint64_t number, int64_t from, uint64_t most, struct seen *seen, struct process_sight *sight,
                struct sandlot_error *error)
{
    const struct file_call call = call_of();
    const struct process_look wanted = {.number = number,
                                        .id = "p1",
                                        .log = true,
                                        .from = from,
                                        .most = most,
                                        .with_command = true,
                                        .output = see,
                                        .context = seen};

    *seen = (struct seen){.length = 0};
    *sight = (struct process_sight){.process.size = sizeof(sight->process)};
    return native_processes.look(&call, &wanted, sight, error);
}

static enum sandlot_process_state state_now(void)
{
    struct seen seen;
    struct process_sight sight;

    assert_int_equal(look(1, 0, 10, &seen, &sight, NULL), 0);
    sandlot_process_clear(&sight.process);
    return sight.process.state;
}

static void test_states(void **state)
{
    const struct timespec old[2] = {{1, 0}, {1, 0}};

    (void)state;
    assert_int_equal(state_now(), SANDLOT_PROCESS_RUNNING); /* it is about to begin */
    assert_int_equal(utimensat(AT_FDCWD, in_root(FOLDER "/p1"), old, 0), 0);
    assert_int_equal(state_now(), SANDLOT_PROCESS_LOST); /* it never did */
    make(FOLDER "/p1/super", STAT_OF("500"));
    make("/proc/7/stat", STAT_OF("500"));
    make(FOLDER "/p1/exit", "                    \n");
    assert_int_equal(state_now(), SANDLOT_PROCESS_RUNNING);
    make("/proc/7/stat", STAT_OF("501"));
    assert_int_equal(state_now(), SANDLOT_PROCESS_LOST); /* another process has its number */
    make(FOLDER "/p1/super", "77777777777777777777 (x) S\n");
    assert_int_equal(state_now(), SANDLOT_PROCESS_LOST);
    make(FOLDER "/p1/exit", "3 0 1795397346 \n        \n");
    assert_int_equal(state_now(), SANDLOT_PROCESS_EXITED);
}

static void test_end(void **state)
{
    struct seen seen;
    struct process_sight sight;

    (void)state;
    make(FOLDER "/p1/meta", "1795397343 67108864 \n");
    make(FOLDER "/p1/exit", "143 1 1795397346 \n");
    make(FOLDER "/p1/command", "echo \377");
    assert_int_equal(look(1, 0, 10, &seen, &sight, NULL), 0);
    assert_string_equal(sight.process.id, "p1");
    assert_string_equal(sight.process.command, "echo \357\277\275");
    assert_true(sight.process.has_exit_code && sight.process.timed_out);
    assert_int_equal(sight.process.exit_code, 124);
    assert_int_equal(sight.process.started_at_ms, INT64_C(1795397343000));
    assert_int_equal(sight.process.ended_at_ms, INT64_C(1795397346000));
    sandlot_process_clear(&sight.process);
}

static void expect_log(int64_t from, uint64_t most, uint64_t first, const char *bytes, uint64_t next)
{
    struct seen seen;
    struct process_sight sight;

    assert_int_equal(look(1, from, most, &seen, &sight, NULL), 0);
    assert_string_equal(seen.bytes, bytes);
    if (*bytes)
        assert_int_equal(seen.first, first);
    assert_int_equal(sight.next, next);
    sandlot_process_clear(&sight.process);
}

static void test_log(void **state)
{
    (void)state;
    make(FOLDER "/p1/exit", "0 0 5 \n");
    make(FOLDER "/p1/o.100", "abcde");
    make(FOLDER "/p1/o.110", "klm"); /* the bytes between were dropped */
    make(FOLDER "/p1/o.0110", "no such number");
    make(FOLDER "/p1/o.99999999999999999999", "nor this");
    assert_int_equal(symlink("/etc/passwd", in_root(FOLDER "/p1/o.200")), 0);
    assert_int_equal(mkfifo(in_root(FOLDER "/p1/e.5"), 0600), 0);
    expect_log(0, 99, 100, "abcde", 105);
    expect_log(103, 99, 103, "de", 105);
    expect_log(103, 1, 103, "d", 104);
    expect_log(105, 99, 110, "klm", 113);
    expect_log(112, 99, 112, "m", 113);
    unlink(in_root(FOLDER "/p1/o.200"));
    expect_log(113, 99, 0, "", 113);
    expect_log(1000, 99, 0, "", 113);
    expect_log(-2, 99, 111, "lm", 113);
    expect_log(-1000, 99, 100, "abcde", 105);
    expect_log(INT64_MIN, 99, 100, "abcde", 105);
}

static bool see_late(void *context, uint64_t offset, const void *bytes, size_t length)
{
    uint64_t *next = context;

    (void)bytes;
    assert_int_equal(offset, *next);
    *next += length;
    while (sandlot_now_ms() < deadline_ms)
        poll(NULL, 0, 1);
    return true;
}

/* The time that whoever gets the log takes for it is not that of the look. */
static void test_slow_reader(void **state)
{
    const off_t size = 4 << 20;
    struct file_call call = call_of();
    uint64_t next = 0;
    const struct process_look wanted = {
        .number = 1, .id = "p1", .log = true, .most = UINT64_MAX, .output = see_late, .context = &next};
    struct process_sight sight = {.process.size = sizeof(sight.process)};

    (void)state;
    make(FOLDER "/p1/o.0", "");
    assert_int_equal(truncate(in_root(FOLDER "/p1/o.0"), size), 0);
    deadline_ms = call.deadline_ms = sandlot_now_ms() + 200;
    assert_int_equal(native_processes.look(&call, &wanted, &sight, NULL), 0);
    assert_int_equal(next, size);
    assert_int_equal(sight.next, size);
}

/* A program that prints as fast as it is read: whatever is handed out, there is more already. */
static bool print_more(void *context, uint64_t offset, const void *bytes, size_t length)
{
    unsigned *looks = context;
    char path[128];

    (void)bytes;
    snprintf(path, sizeof(path), FOLDER "/p1/o.%" PRIu64, offset + length);
    make(path, "more");
    snprintf(path, sizeof(path), FOLDER "/p1/o.%" PRIu64, offset);
    assert_int_equal(unlink(in_root(path)), 0);
    return ++*looks < MOST_LOOKS;
}

static enum sandlot_status never_execute(struct sandlot_call *call, void *instance, void *sandbox,
                                         const struct sandlot_command *command, const struct sandlot_sink *output,
                                         struct sandlot_exit *result)
{
    (void)call, (void)instance, (void)sandbox, (void)command, (void)output, (void)result;
    return SANDLOT_INTERNAL;
}

/* A follower with a limit of time ends with what there is by then, also where it comes without a pause. */
static void test_limit_of_time(void **state)
{
    unsigned looks = 0;
    struct sandlot_process process = {.size = sizeof(process)};
    struct sandlot_follow follow = {
        .size = sizeof(follow), .id = "p1", .wait_ms = 1, .output = print_more, .context = &looks};
    uint64_t next = 0;

    (void)state;
    make(FOLDER "/p1/o.0", "more");
    provider.table.execute = never_execute;
    assert_int_equal(sandlot_follow_process(&session, &follow, &next, &process, NULL), 0);
    provider.table.execute = NULL;
    assert_in_range(looks, 1, MOST_LOOKS - 1);
    assert_int_equal(next, looks * strlen("more"));
    assert_int_equal(process.state, SANDLOT_PROCESS_RUNNING);
    sandlot_process_clear(&process);
}

static void test_absent(void **state)
{
    struct seen seen;
    struct process_sight sight;
    struct sandlot_error error = {0};

    (void)state;
    make_folder(FOLDER "/p20");
    make_folder(FOLDER "/p021");
    make_folder(FOLDER "/px");
    assert_int_equal(symlink("p1", in_root(FOLDER "/p3")), 0);
    assert_int_equal(look(3, 0, 1, &seen, &sight, &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_PROCESS_NOT_FOUND);
    assert_contains(error.message, "p20");
    assert_lacks(error.message, "p021");
    assert_lacks(error.message, "p3");
    sandlot_error_clear(&error);
    assert_int_equal(process_number_of("p0"), 0);
    assert_int_equal(process_number_of("p01"), 0);
    assert_int_equal(process_number_of("12"), 0);
    assert_int_equal(process_number_of("p1234567890123456789"), 0);
    assert_int_equal(process_number_of("p12"), 12);
}

static bool count_process(void *context, struct sandlot_process *process)
{
    size_t *count = context;

    (*count)++;
    sandlot_process_clear(process);
    return true;
}

static void test_facts(void **state)
{
    static const char *const wrong[] = {"", "dead,0,0,0,0,,,0,0,0,0", "run,", "exitedx,1"};
    struct sandlot_process process = {.size = sizeof(process)};
    struct sandlot_error error = {0};

    (void)state;
    assert_int_equal(process_read_facts("running,,0,17,0,1,1,5,9,1,2", &process, &error), 0);
    assert_true(process.input_open && process.separate_errors && !process.has_exit_code);
    assert_int_equal(process.output_first, 5);
    assert_int_equal(process.output_total, 9);
    assert_int_equal(process.errors_total, 2);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(process_read_facts(wrong[i], &process, &error), -1);
        assert_int_equal(error.code, SANDLOT_CODE_TRUNCATED_TRANSPORT);
        sandlot_error_clear(&error);
    }
    assert_true(process_set_command(&process, "\303\244", 2));
    assert_string_equal(process.command, "\303\244");
    char *text = calloc(1, PROCESS_COMMAND + 2);

    memset(text, 'x', PROCESS_COMMAND + 1);
    memcpy(text + PROCESS_COMMAND - 1, "\303\244", 2); /* a character over the edge */
    assert_true(process_set_command(&process, text, PROCESS_COMMAND + 1));
    assert_int_equal(strlen(process.command), PROCESS_COMMAND - 1 + strlen("..."));
    free(text);
    sandlot_process_clear(&process);
}

static void test_memory(void **state)
{
    const struct file_call call = call_of();

    (void)state;
    if (!ALLOCATOR_REPLACED)
        skip();
    make(FOLDER "/p1/exit", "0 0 5 \n");
    make(FOLDER "/p1/command", "true");
    make(FOLDER "/p1/o.0", "text");
    for (long n = 0; n < MOST_ALLOCATIONS; n++) {
        struct sandlot_error error = {0};
        struct process_sight sight;
        struct seen seen;
        size_t count = 0;

        atomic_store(&countdown, n);
        int listed = native_processes.list(&call, count_process, &count, &error);
        int looked = listed == 0 ? look(1, 0, 99, &seen, &sight, &error) : -1;
        bool done = atomic_load(&countdown) >= 0;

        atomic_store(&countdown, -1);
        if (listed == 0)
            sandlot_process_clear(&sight.process);
        sandlot_error_clear(&error);
        if (!done)
            continue;
        assert_int_equal(looked, 0);
        assert_int_equal(count, 1);
        return;
    }
    fail_msg("it needs more than %d allocations", MOST_ALLOCATIONS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_states, start, end),
        cmocka_unit_test_setup_teardown(test_end, start, end),
        cmocka_unit_test_setup_teardown(test_log, start, end),
        cmocka_unit_test_setup_teardown(test_slow_reader, start, end),
        cmocka_unit_test_setup_teardown(test_limit_of_time, start, end),
        cmocka_unit_test_setup_teardown(test_absent, start, end),
        cmocka_unit_test(test_facts),
        cmocka_unit_test_setup_teardown(test_memory, start, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
